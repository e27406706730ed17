//! Arrays, file systems, mounts: made and unmade, one file a kind.
//!
//! What is to be made is a [`Layout`]; which settings ask for it is the business of `campaign`.
//! Everything made is noted in the journal before it is made, and unmade from the journal alone.

use crate::inventory::disk::Disk;

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

// Stand-ins until the branch `provision` is merged.
use std::path::{Path, PathBuf};

use crate::journal::{Journal, Said};
use crate::sys::{Error, Host};
pub mod danger;

impl Layout {
    pub fn check(&self) -> Result<(), String> {
        let least = match self.raid.as_str() {
            "raid5" => 3,
            "raid6" => 4,
            "raid0" | "raid1" => 2,
            _ => 1,
        };
        match self.disks.len() < least {
            true => Err(format!("{} needs {least} disks", self.raid)),
            false => Ok(()),
        }
    }
    pub fn lacks(&self, _: &Host) -> Option<String> {
        None
    }
    pub fn commands(&self, _: &Path) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Debug)]
pub struct Made {
    pub mount_point: PathBuf,
    pub times: Times,
    pub notes: Vec<String>,
}

impl Made {
    pub fn unmake(self, _: &Host, _: &mut Journal) -> Vec<Said> {
        Vec::new()
    }
}

pub fn make(
    _: &Host,
    _: &Layout,
    _: &mut Journal,
    at: &Path,
    _: &mut dyn FnMut(&str),
) -> Result<Made, Error> {
    Err(Error::new(format!("cannot make {}", at.display()), "stand-in"))
}
