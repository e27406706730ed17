//! (pure) What is to be made of disks: arrays, file systems, mounts.

use crate::inventory::disk::Disk;

mod check;
pub mod filesystem;
pub mod level;
pub mod precondition;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use check::Senseless;
pub use level::disks_of_data;

/// What is made of the target's disks before a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The disks it takes, in the order of the target.
    pub disks: Vec<Disk>,
    /// `single`, `raid0`, `raid1`, `raid4`, `raid5`, `raid6`, `raid10`, `raid50`, `raid60`,
    /// and for btrfs and ZFS their own levels when `volumes` is theirs.
    pub raid: String,
    /// Who makes the array: `md`, `btrfs`, `lvm` or `zfs`.
    pub volumes: String,
    /// Bytes that lie on one disk before the next one's turn; `None` for the tool's default.
    pub chunk_bytes: Option<u64>,
    /// `ext4`, `xfs`, `btrfs`, ...
    pub filesystem: String,
    /// Words for mkfs, as the plan gives them.
    pub mkfs_options: Vec<String>,
    /// Words for mount -o, without spaces; empty for the defaults.
    pub mount_options: String,
    /// Properties of the dataset that is made on a pool of ZFS (zfsprops(7)), in order.
    pub properties: Vec<(String, String)>,
    /// The disk that holds an external journal, or the pool's log; `None` where it lies within.
    pub journal: Option<Disk>,
    /// `clean`, `initialising`, `degraded`, `rebuilding`, `rebuilt`.
    pub array_state: String,
    /// `none`, `lvm`, `btrfs`, `zfs`.
    pub snapshot: String,
    /// `none`, `discard`, `fill`, `fill-twice`, `random`.
    pub precondition: String,
    /// Whether the file system is checked before each trial that is measured.
    pub fsck: bool,
    /// Whether it is told before each of them to discard what it does not use.
    pub fstrim: bool,
}

/// How long each step took, ns: measured figures of every trial on the layout; those of fsck and
/// fstrim are of the trial alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Times {
    /// Filling or discarding the disks; 0 without.
    pub precondition_ns: u64,
    /// Making the array, until it was in the state asked for, without its rebuild; 0 without.
    pub array_ns: u64,
    /// From a blank disk's addition to the array until it was in sync again; 0 without.
    pub rebuild_ns: u64,
    /// mkfs, until its bytes were durable.
    pub mkfs_ns: u64,
    /// mount.
    pub mount_ns: u64,
    /// Checking the file system, before this trial; 0 without.
    pub fsck_ns: u64,
    /// fstrim, before this trial; 0 without.
    pub fstrim_ns: u64,
    /// What fstrim says that it discarded, bytes.
    pub fstrim_bytes: u64,
}

/// Who makes an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volumes {
    /// Nobody: one disk.
    None,
    /// md(4).
    Md,
    /// btrfs itself.
    Btrfs,
    /// LVM.
    Lvm,
    /// A pool of ZFS, of one disk too.
    Zfs,
}

impl Layout {
    /// Whether it makes sense at all, on any machine.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(&self) -> Result<(), Senseless> {
        check::check(self)
    }

    /// How much preconditioning writes to the disks, bytes.
    pub fn precondition_bytes(&self) -> u64 {
        let passes = precondition::passes(&self.precondition);
        let sizes = self.disks.iter().map(|disk| disk.size_bytes);
        sizes.fold(0u64, u64::saturating_add).saturating_mul(u64::from(passes.all()))
    }

    /// The disks, and that of an external journal.
    pub fn all_disks(&self) -> impl Iterator<Item = &Disk> {
        self.disks.iter().chain(&self.journal)
    }

    /// Who makes the array.
    pub fn volumes(&self) -> Volumes {
        match self.volumes.as_str() {
            "lvm" => Volumes::Lvm,
            "zfs" => Volumes::Zfs,
            _ if self.raid == "single" && self.disks.len() < 2 => Volumes::None,
            "btrfs" => Volumes::Btrfs,
            _ => Volumes::Md,
        }
    }

    /// In a few words, for messages.
    pub fn brief(&self) -> String {
        let disks = self.disks.len();
        let who = match self.volumes() {
            Volumes::None => String::new(),
            _ => format!(" of {disks} disks by {}", self.volumes),
        };
        let kind = filesystem::kind(&self.filesystem).map_or("?", |kind| kind.name);
        format!("{kind} on {}{who}", self.raid)
    }
}
