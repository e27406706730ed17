//! The whole server: what it is made of, one file a subsystem.
//!
//! Facts only. What is measured, and what joins facts with measurements, is left to `bandwidth` and
//! `analysis`. Nothing here needs root: what only root may read is listed as not read, with the
//! reason. What a file says that is no number becomes none.

use crate::sys::Host;
use facts::inventory::Mount;

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

use facts::inventory::server::{Processors, Server};
pub use reading::Reading;

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
