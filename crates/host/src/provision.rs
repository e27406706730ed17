//! Arrays, file systems, mounts: made and unmade, one file a kind.
//!
//! What is to be made is a [`Layout`]; which settings ask for it is the business of `campaign`.
//! Everything made is noted in the journal before it is made, and unmade from the journal alone.

use std::path::{Path, PathBuf};

use crate::inventory::disk::Disk;
use crate::journal::{Journal, Said};
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, clock};

mod array;
mod check;
pub mod danger;
pub mod filesystem;
mod lacks;
mod make;
mod precondition;
mod snapshot;
pub mod share;
mod step;
mod steps;
mod volumes;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use array::disks_of_data;
pub use check::Senseless;
pub use make::make;
pub use snapshot::Held;

/// What is made of the target's disks before a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The disks it takes, in the order of the target.
    pub disks: Vec<Disk>,
    /// `single`, `raid0`, `raid1`, `raid4`, `raid5`, `raid6`, `raid10`, `raid50`, `raid60`,
    /// and for btrfs its own levels when `volumes` is `btrfs`.
    pub raid: String,
    /// Who makes the array: `md`, `btrfs` or `lvm`.
    pub volumes: String,
    /// Bytes that lie on one disk before the next one's turn; `None` for the tool's default.
    pub chunk_bytes: Option<u64>,
    /// `ext4`, `xfs`, `btrfs`, ...
    pub filesystem: String,
    /// Words for mkfs, as the plan gives them.
    pub mkfs_options: Vec<String>,
    /// Words for mount -o, without spaces; empty for the defaults.
    pub mount_options: String,
    /// `internal`, or the disk that holds an external journal.
    pub journal: Option<Disk>,
    /// `clean`, `initialising`, `degraded`, `rebuilding`.
    pub array_state: String,
    /// `none`, `lvm`, `btrfs`.
    pub snapshot: String,
    /// `none`, `discard`, `fill`, `fill-twice`, `random`.
    pub precondition: String,
}

/// How long each step took, ns: measured figures of every trial on the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Times {
    /// Filling or discarding the disks; 0 without.
    pub precondition_ns: u64,
    /// Making the array, until it was in the state asked for; 0 without.
    pub array_ns: u64,
    /// mkfs, until its bytes were durable.
    pub mkfs_ns: u64,
    /// mount.
    pub mount_ns: u64,
}

/// Who makes an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Volumes {
    /// Nobody: one disk.
    None,
    Md,
    Btrfs,
    Lvm,
}

/// A layout that is made and mounted. Dropping it unmakes nothing: the journal holds what is to be
/// undone.
#[derive(Debug)]
pub struct Made {
    /// Where its files go.
    pub mount_point: PathBuf,
    /// How long each step took.
    pub times: Times,
    /// What the record of every trial on it must say: kind and text.
    pub notes: Vec<(String, String)>,
    layout: Layout,
    group: String,
    /// Where the journal stood before.
    since: usize,
}

impl Made {
    /// Unmakes it, newest first; what could not be unmade stays in the journal.
    pub fn unmake(self, host: &Host, journal: &mut Journal) -> Vec<Said> {
        journal.undo_layout(host, self.since)
    }
}

impl Layout {
    /// Whether it makes sense at all, on any machine.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(&self) -> Result<(), Senseless> {
        check::check(self)
    }

    /// What this machine lacks for it, with what would bring it: then the trial is skipped.
    pub fn lacks(&self, host: &Host) -> Option<String> {
        lacks::first(self, host)
    }

    /// What would be run, in order, with stand-ins for what is chosen at random. Lines that begin
    /// with `#` are done without a command.
    pub fn commands(&self, at: &Path) -> Vec<String> {
        let steps = steps::all(self, &step::Ids::shown(self.disks.len()), at);
        steps.iter().map(|step| step.shown(self)).collect()
    }

    /// How much preconditioning writes to the disks, bytes.
    pub fn precondition_bytes(&self) -> u64 {
        let passes = match self.precondition.as_str() {
            "fill" => 1,
            "fill-twice" => 2,
            _ => 0,
        };
        let sizes = self.disks.iter().map(|disk| disk.size_bytes);
        sizes.fold(0u64, u64::saturating_add).saturating_mul(passes)
    }

    /// The disks, and that of an external journal.
    fn all_disks(&self) -> impl Iterator<Item = &Disk> {
        self.disks.iter().chain(&self.journal)
    }

    fn volumes(&self) -> Volumes {
        match self.volumes.as_str() {
            "lvm" => Volumes::Lvm,
            _ if self.raid == "single" && self.disks.len() < 2 => Volumes::None,
            "btrfs" => Volumes::Btrfs,
            _ => Volumes::Md,
        }
    }
}

/// How people hear of what takes long, and end it.
struct Progress<'a> {
    tell: &'a mut dyn FnMut(&str),
    stop: &'a Stop,
    told_ns: u64,
}

impl<'a> Progress<'a> {
    /// At most one line in so long.
    const EVERY_NS: u64 = 1_000_000_000;

    fn new(tell: &'a mut dyn FnMut(&str), stop: &'a Stop) -> Progress<'a> {
        Progress { tell, stop, told_ns: 0 }
    }

    /// Tells it now.
    fn say(&mut self, text: &str) {
        (self.tell)(text);
        self.told_ns = clock::monotonic_ns();
    }

    /// Tells it unless something was told just now.
    fn tell(&mut self, text: &str) {
        if clock::monotonic_ns().saturating_sub(self.told_ns) >= Progress::EVERY_NS {
            self.say(text);
        }
    }

    /// An error once the user has asked to stop.
    fn check(&self, what: &str) -> Result<(), Error> {
        match self.stop.asked() {
            true => Err(Error::new(what, "it was stopped")),
            false => Ok(()),
        }
    }
}
