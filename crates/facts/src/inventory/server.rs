//! (pure) The whole server, one file a subsystem.

use super::{Device, Machine};
use serde::{Deserialize, Serialize};

mod array;
mod drive;
mod firmware;
mod interface;
mod interrupt;
mod memory;
mod part;
mod pci;
mod processors;
mod setting;
pub mod unread;
mod usage;
pub mod zfs;

pub use array::Array;
pub use drive::{Drive, Health, Hop, is_drive};
pub use firmware::{Firmware, Slot};
pub use interface::{Interface, Rings};
pub use interrupt::Interrupt;
pub use memory::{Memory, Module};
pub use part::{Fact, Part, Thing};
pub use pci::{Function, Link};
pub use processors::{Cache, Node, Processors};
pub use setting::Setting;
pub use unread::Unread;
pub use usage::Usage;
pub use zfs::Zfs;

/// What a server is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// Kernel, processors in short, memory in short.
    pub machine: Machine,
    /// Board, chassis and firmware.
    pub firmware: Firmware,
    /// Processors with their caches and NUMA nodes.
    pub processors: Processors,
    /// Memory and its modules.
    pub memory: Memory,
    /// Every PCI function, by address.
    pub pci: Vec<Function>,
    /// Every block device, by name: disks, partitions, arrays.
    pub devices: Vec<Device>,
    /// More about those of `devices` that are whole disks.
    pub drives: Vec<Drive>,
    /// State of md arrays, btrfs, LVM and other stacks.
    pub arrays: Vec<Array>,
    /// ZFS: pools, datasets and its cache in memory; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zfs: Option<Zfs>,
    /// Mounted file systems on block devices or from servers, and how full they are.
    pub filesystems: Vec<Usage>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Settings of the kernel that matter to a storage server.
    pub settings: Vec<Setting>,
    /// What else was read, each by the name of its subsystem; nothing of those that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What could not be read, and why.
    pub unread: Vec<Unread>,
}
