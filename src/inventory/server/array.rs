//! State of arrays: md, btrfs, LVM and other device mapper stacks.

use serde::{Deserialize, Serialize};

use super::Reading;
use crate::inventory::{Device, Mount};

/// An array of disks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Array {
    /// The kernel's name (`md0`, `dm-3`), or the UUID of a btrfs.
    pub name: String,
    /// What the administrator calls it: `/dev/mapper/vg-data`, a btrfs label.
    pub alias: Option<String>,
    /// `md`, `btrfs`, `lvm`, `crypt`, ...
    pub kind: String,
    /// RAID level or profile: `raid5`, `raid1c3`, `linear`.
    pub level: Option<String>,
    /// Chunk, bytes.
    pub chunk_bytes: Option<u64>,
    /// Kernel names of its members.
    pub members: Vec<String>,
    /// Kernel names of the disks at the bottom.
    pub disks: Vec<String>,
    /// `clean`, `active`, `inactive`, ...
    pub state: Option<String>,
    /// Members that are missing or failed.
    pub missing: Option<u64>,
    /// What it is busy with: `resync`, `recover`, `check`, `reshape`; `None` when idle or unknown.
    pub busy_with: Option<String>,
    /// How far that is, 0 to 1.
    pub done_share: Option<f64>,
    /// The file that says the state.
    pub place: String,
}

/// Reads them.
pub fn read(_reading: &mut Reading<'_>, _devices: &[Device], _mounts: &[Mount]) -> Vec<Array> {
    Vec::new()
}
