//! Arrays, file systems, mounts: made and unmade, one file a kind.
//!
//! What is to be made is a [`Layout`]; which settings ask for it is the business of `campaign`.
//! Everything made is noted in the journal before it is made, and unmade from the journal alone.

use crate::inventory::disk::Disk;

pub mod danger;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
