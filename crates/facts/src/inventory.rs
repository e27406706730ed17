//! (pure) What a server is made of: types, and what follows from them without another look.
//!
//! Reading them from a machine is the business of `host::inventory`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod caching;
mod changes;
pub mod ceiling;
pub mod device;
pub mod disk;
mod layer;
mod leaf;
pub mod limit;
pub mod machine;
pub mod mount;
pub mod pcie;
mod print;
pub mod qdisc;
pub mod server;

pub use caching::Caching;
pub use changes::changes;
pub use device::{Device, DeviceKind, is_wire};
pub use layer::{CachingLayer, LayerReads, caching_layers};
pub use leaf::{Leaf, Matter, leaves};
pub use limit::{choosing_among, turns_allow};
pub use machine::{Machine, cpus};
pub use mount::Mount;

/// A limit that holds whatever the software does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Bytes per second; `None` when only operations are bounded. On the generous side: what the
    /// line code leaves.
    pub bytes_per_s: Option<f64>,
    /// What headers leave of that for data, where the size of packets is known.
    #[serde(default)]
    pub data_bytes_per_s: Option<f64>,
    /// Random reads per second, with one operation at a time in flight on each disk; `None` when
    /// only bytes are bounded.
    pub ops_per_s: Option<f64>,
    /// Where the limit comes from, as a clause: "the link runs at 6 Gb/s".
    pub why: String,
}

/// What a directory lies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The directory, absolute and without links.
    pub directory: String,
    /// Its file system's type, as in /proc/self/mountinfo.
    pub filesystem: String,
    /// The type of the file system that holds the files: on overlay, that of the upper directory,
    /// or of the uppermost lower one where nothing can be written. Else the same. Empty when it
    /// cannot be seen from here, as in a container.
    pub holding_filesystem: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Options of the mount and of the file system, comma separated.
    pub mount_options: String,
    /// What is mounted: a device, a server's directory, a word.
    pub source: String,
    /// Kernel names of the block devices that the file system lies on directly; several on btrfs;
    /// those of its pool on ZFS; none on FUSE, tmpfs and network file systems.
    pub on: Vec<String>,
    /// Kernel names of the disks at the bottom of `on`. A loop device counts as a disk.
    pub disks: Vec<String>,
    /// `on`, what these lie on, and so on down to the disks; each once, upper before lower.
    pub devices: Vec<Device>,
    /// Room; `None` on a recording, or when the kernel cannot say.
    pub total_bytes: Option<u64>,
    /// What we may fill, bytes.
    pub available_bytes: Option<u64>,
    /// Mounted read-only.
    pub read_only: bool,
    /// Whether /proc/PID/io counts what its process reads here.
    pub process_io_reliable: bool,
    /// Whether the bytes come over a wire: a network file system, or only network block devices.
    pub remote: bool,
    /// Whether the files are memory.
    pub memory: bool,
    /// What the disks together cannot exceed, where that is known of each.
    pub ceiling: Option<Ceiling>,
    /// The pool that it lies on, of ZFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<OnPool>,
}

/// What a directory on ZFS lies on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OnPool {
    /// The pool's name.
    pub name: String,
    /// The dataset that is mounted.
    pub dataset: String,
    /// Version of ZFS in the kernel.
    pub version: Option<String>,
    /// Kernel names of the devices that hold what was read before (L2ARC).
    pub cache_devices: Vec<String>,
    /// Properties of the dataset that matter to speed and safety, as `zfs get -p` has them.
    pub settings: BTreeMap<String, String>,
    /// Why its devices are not known, as a clause; `None` where they are.
    pub unseen: Option<String>,
}

impl OnPool {
    /// The dataset, where fsync does nothing on it (zfsprops(7): `sync=disabled`).
    pub fn unsafe_dataset(&self) -> Option<&str> {
        let is_off = self.settings.get("sync").is_some_and(|sync| sync == "disabled");
        is_off.then_some(self.dataset.as_str())
    }
}

impl Target {
    /// Kernel names of all devices, for the counters.
    pub fn device_names(&self) -> Vec<String> {
        self.devices.iter().map(|device| device.name.clone()).collect()
    }

    /// The hardware at the bottom of all that it lies on.
    pub fn leaves(&self) -> Vec<Leaf> {
        leaves(&self.devices, &self.on)
    }
}
