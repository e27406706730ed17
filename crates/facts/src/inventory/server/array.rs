//! (pure) State of md arrays, btrfs, LVM and other stacks.

use serde::{Deserialize, Serialize};

use crate::inventory::Caching;

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
    /// Kernel names of its members: those that are there, spares and failed ones among them.
    pub members: Vec<String>,
    /// How it keeps on some members what the others hold, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
    /// How many members it has when it is whole, without spares; `None` where that is not told.
    pub whole: Option<u64>,
    /// Kernel names of the disks at the bottom.
    pub disks: Vec<String>,
    /// `clean`, `active`, `inactive`, ...
    pub state: Option<String>,
    /// Members that are missing or failed.
    pub missing: Option<u64>,
    /// Errors of its members, as the array counts them: on btrfs since its counters were last
    /// reset, on md since it was started.
    pub errors: Option<u64>,
    /// What it is busy with: `resync`, `recover`, `check`, `reshape`, on btrfs `balance` and its
    /// like; `None` when idle or unknown.
    pub busy_with: Option<String>,
    /// How far that is, 0 to 1.
    pub done_share: Option<f64>,
    /// The file that says whether it is whole.
    pub place: String,
    /// What that file says, where it is more than that it is there.
    pub said: Option<String>,
}
