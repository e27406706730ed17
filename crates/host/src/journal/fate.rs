//! What became of what was to be undone, in words.

use std::fmt;

use crate::sys::Error;

/// What became of one thing that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOutcome {
    /// The file or directory.
    pub path: String,
    /// What became of it.
    pub fate: Fate,
}

/// See [`UndoOutcome`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It held the first and holds the second again, by reading it back.
    Restored(String, String),
    /// It would be written: it holds the first, and held the second before.
    WouldRestore(String, String),
    /// It held this already.
    AsBefore(String),
    /// The directory is gone.
    Removed,
    /// The directory would be removed.
    WouldRemove,
    /// Device or directory is not there any more.
    Gone,
    /// Another device has its name now.
    AnotherDevice,
    /// Of an earlier boot, which took the value with it: what it was before.
    EarlierBoot(String),
    /// Somebody else wrote this, and before us it was that; left alone.
    ChangedByOthers(String, String),
    /// On a disk that nothing tells from another since the machine was started anew.
    Unrecognised,
    /// Could not be undone; stays in the journal.
    Failed(Error),
}

impl UndoOutcome {
    /// Whether it could not be undone.
    pub fn failed(&self) -> bool {
        matches!(self.fate, Fate::Failed(_))
    }

    /// Whether it is still to be undone.
    pub fn is_left(&self) -> bool {
        matches!(self.fate, Fate::Failed(_) | Fate::WouldRestore(..) | Fate::WouldRemove)
    }
}

impl fmt::Display for UndoOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.fate {
            Fate::Restored(from, to) => write!(f, "restored {path}: {to} (was {from})"),
            Fate::WouldRestore(from, to) => write!(f, "would write {to} to {path} (is {from})"),
            Fate::AsBefore(value) => write!(f, "{path} holds {value}, as before"),
            Fate::Removed => write!(f, "removed {path}"),
            Fate::WouldRemove => write!(f, "would remove {path}"),
            Fate::Gone => write!(f, "{path} is not there any more: nothing to restore"),
            Fate::AnotherDevice => {
                write!(f, "left {path} alone: it belongs to another device now")
            }
            Fate::EarlierBoot(value) => write!(
                f,
                "left {path} alone: it was changed before the machine was started anew, which \
                 undid it (it held {value})"
            ),
            Fate::ChangedByOthers(now, before) => write!(
                f,
                "left {path} alone: it holds {now}, which somebody else wrote (before us: {before})"
            ),
            Fate::Unrecognised => write!(
                f,
                "left {path} alone: that disk has no serial number, and the machine was started \
                 anew since (`wipefs` shows whether it is still there)"
            ),
            Fate::Failed(error) => write!(f, "could not undo {path}: {error}"),
        }
    }
}
