//! The whole server: what it is made of, one file a subsystem.
//!
//! Facts only. What is measured, and what joins facts with measurements, is left to `bandwidth` and
//! `analysis`. Nothing here needs root: what only root may read is listed as not read, with the
//! reason. What a file says that is no number becomes none.

use serde::{Deserialize, Serialize};

use super::{Device, Machine, Mount};
use crate::sys::Host;

pub mod address;
pub mod array;
pub mod drive;
pub mod firmware;
pub mod interface;
pub mod interrupt;
pub mod memory;
mod patient;
pub mod pci;
pub mod processors;
pub mod reading;
pub mod setting;
mod smbios;
pub mod usage;

pub use array::Array;
pub use drive::Drive;
pub use firmware::Firmware;
pub use interface::Interface;
pub use memory::Memory;
pub use pci::Function;
pub use processors::Processors;
pub use reading::{Reading, Unread};
pub use setting::Setting;
pub use usage::Usage;

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
    /// Mounted file systems on block devices or from servers, and how full they are.
    pub filesystems: Vec<Usage>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Settings of the kernel that matter to a storage server.
    pub settings: Vec<Setting>,
    /// What could not be read, and why.
    pub unread: Vec<Unread>,
}

/// Reads about the processors alone.
pub fn processors(host: &Host) -> Processors {
    processors::read(&mut Reading::new(host))
}

/// Reads the inventory of the whole server.
pub fn server(host: &Host) -> Server {
    let mut reading = Reading::new(host);
    let mounts: Vec<Mount> = super::mounts(host).unwrap_or_default();
    let devices = super::device::all(host, &mounts);
    let mut server = Server {
        machine: super::machine(host),
        firmware: firmware::read(&mut reading),
        processors: processors::read(&mut reading),
        memory: memory::read(&mut reading),
        pci: pci::read(&mut reading),
        drives: drive::read(&mut reading, &devices),
        arrays: array::read(&mut reading, &devices, &mounts),
        filesystems: usage::read(&mut reading, &mounts),
        interfaces: interface::read(&mut reading),
        settings: setting::read(&mut reading),
        devices,
        unread: Vec::new(),
    };
    server.unread = reading.into_unread();
    server
}

#[cfg(test)]
mod tests;
