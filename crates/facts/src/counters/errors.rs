//! (pure) What a machine counted of errors, before a trial and after it.

use serde::{Deserialize, Serialize};

/// A counter of errors, before a trial and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// Whose: `sda`, `0000:41:00.0`, `mc0`, `md0 sdb`, a file system's identifier and device.
    pub of: String,
    /// Of what, more than one of them: `uncorrectable sectors`.
    pub what: String,
    /// Who told: `smartctl`, `nvme log`, or the name of the file in /sys.
    pub from: String,
    /// Before the trial; `None` where it was not told then.
    pub before: Option<u64>,
    /// After it.
    pub after: Option<u64>,
}

impl Counted {
    /// By how much it grew; `None` where it did not, or where one of both is not known. One that is
    /// lower than before was begun anew, or is not a count of events: nothing is claimed of it.
    pub fn more(&self) -> Option<u64> {
        self.after?.checked_sub(self.before?).filter(|more| *more > 0)
    }

    /// Whether it was read both times.
    pub fn is_known(&self) -> bool {
        self.before.is_some() && self.after.is_some()
    }
}

impl std::fmt::Display for Counted {
    /// `sda counted 3 more uncorrectable sectors (5, then 8; smartctl)`.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = |count: Option<u64>| count.map_or("not told".to_owned(), |it| it.to_string());
        let (before, after) = (told(self.before), told(self.after));
        let Counted { of, what, from, .. } = self;
        match self.more() {
            Some(1) => {
                let one = what.strip_suffix('s').unwrap_or(what);
                write!(to, "{of} counted 1 more {one} ({before}, then {after}; {from})")
            }
            Some(more) => {
                write!(to, "{of} counted {more} more {what} ({before}, then {after}; {from})")
            }
            None => write!(to, "{of} counted {what}: {before}, then {after} ({from})"),
        }
    }
}

/// What drives count in their own memory: the key in the inventory, and in words.
pub const DRIVES: &[(&str, &str)] = &[
    ("reallocated_sectors", "reallocated sectors"),
    ("pending_sectors", "pending sectors"),
    ("uncorrectable_sectors", "uncorrectable sectors"),
    ("media_errors", "media errors"),
    ("logged_errors", "logged errors"),
    ("link_errors", "link CRC errors"),
];
