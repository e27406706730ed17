//! The whole server: what it is made of, one file a subsystem.
//!
//! A new subsystem is a file beside this one and a line in [`SUBSYSTEMS`]. What it tells as a
//! [`Part`] is kept, printed and documented by that alone; a field of [`Server`] is for what an
//! analysis computes with.
//!
//! Facts only. What is measured, and what joins facts with measurements, is left to `bandwidth` and
//! `analysis`. Nothing here needs root: what only root may read is listed as not read, with the
//! reason. What a file says that is no number becomes none.

use crate::sys::Host;
use facts::inventory::server::{Part, Processors, Server, Thing};
use facts::inventory::{Device, Mount};

pub mod address;
pub mod array;
pub mod drive;
mod fibre_channel;
pub mod firmware;
pub mod interface;
pub mod interrupt;
pub mod memory;
pub mod pasted;
mod patient;
pub mod pci;
pub mod processors;
pub mod reading;
pub mod setting;
pub mod smbios;
pub mod usage;
pub mod zfs;

pub use reading::Reading;

/// A subsystem.
#[derive(Debug)]
pub struct Subsystem {
    /// Kebab-case.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Reads it.
    pub read: Read,
}

/// How a subsystem is read.
#[derive(Clone, Copy, Debug)]
pub enum Read {
    /// Into a field of [`Server`], of which the schema of `inspect` knows the form.
    Field(fn(&mut Reading<'_>, &Known, &mut Server)),
    /// As a part that tells of itself.
    Part {
        /// As a heading.
        title: &'static str,
        /// Each fact that it may tell, and what that is.
        facts: &'static [(&'static str, &'static str)],
        /// The fact by which one of them is known when the kernel names it anew; empty where
        /// there is none.
        identity: &'static str,
        /// Facts that load, wear and reboots move: a part of which they differ is the same part.
        moving: &'static [&'static str],
        /// Files whose text says whose machine it is: a recording has a stand-in for it.
        private: &'static [&'static str],
        /// Everything of it that is there.
        things: fn(&mut Reading<'_>) -> Vec<Thing>,
    },
}

/// What several subsystems look at, read once.
#[derive(Debug, Default)]
pub struct Known {
    /// What is mounted.
    pub mounts: Vec<Mount>,
    /// Every block device.
    pub devices: Vec<Device>,
}

/// In the order in which they are read.
pub const SUBSYSTEMS: &[Subsystem] = &[
    Subsystem {
        name: "firmware",
        about: "Board, chassis and firmware, by SMBIOS",
        read: Read::Field(|reading, _, server| server.firmware = firmware::read(reading)),
    },
    Subsystem {
        name: "processors",
        about: "Processors with their caches and NUMA nodes",
        read: Read::Field(|reading, _, server| server.processors = processors::read(reading)),
    },
    Subsystem {
        name: "memory",
        about: "Memory, its modules and their errors",
        read: Read::Field(|reading, _, server| server.memory = memory::read(reading)),
    },
    Subsystem {
        name: "pci",
        about: "Every PCI function, with its link and its interrupts",
        read: Read::Field(|reading, _, server| server.pci = pci::read(reading)),
    },
    Subsystem {
        name: "drives",
        about: "Whole disks: their links and their health",
        read: Read::Field(|reading, known, server| {
            server.drives = drive::read(reading, &known.devices);
        }),
    },
    Subsystem {
        name: "zfs",
        about: "Pools of ZFS with their vdevs and datasets, and the ARC",
        read: Read::Field(|reading, known, server| {
            server.zfs = zfs::read(reading, &known.mounts);
        }),
    },
    Subsystem {
        name: "arrays",
        about: "State of md arrays, btrfs, LVM, multipath and ZFS",
        read: Read::Field(|reading, known, server| {
            server.arrays = array::read(reading, &known.devices, server.zfs.as_ref());
        }),
    },
    Subsystem {
        name: "filesystems",
        about: "Mounted file systems, and how full they are",
        read: Read::Field(|reading, known, server| {
            server.filesystems = usage::read(reading, &known.mounts, server.zfs.as_ref());
        }),
    },
    Subsystem {
        name: "interfaces",
        about: "Network interfaces: their links, queues and offloads",
        read: Read::Field(|reading, _, server| server.interfaces = interface::read(reading)),
    },
    Subsystem {
        name: "settings",
        about: "Settings of the kernel that matter to a storage server",
        read: Read::Field(|reading, _, server| server.settings = setting::read(reading)),
    },
    fibre_channel::FIBRE_CHANNEL,
    pasted::TEXTS,
];

/// Whether the text of a file of this name says whose machine it is, by some subsystem's entry.
pub fn is_private(file: &str) -> bool {
    SUBSYSTEMS.iter().any(|subsystem| match subsystem.read {
        Read::Part { private, .. } => private.contains(&file),
        Read::Field(_) => false,
    })
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
    let known = Known { mounts, devices };
    let mut server = Server { machine: super::machine(host), ..Server::default() };
    for Subsystem { name, read, .. } in SUBSYSTEMS {
        match read {
            Read::Field(read) => read(&mut reading, &known, &mut server),
            Read::Part { title, identity, moving, things, .. } => {
                let (name, title) = ((*name).to_owned(), (*title).to_owned());
                let mut things = things(&mut reading);
                things.iter_mut().for_each(|thing| thing.know(identity, moving));
                server.parts.extend((!things.is_empty()).then_some(Part { name, title, things }));
            }
        }
    }
    server.devices = known.devices;
    server.unread = reading.into_unread();
    pasted::own_up(host, &mut server);
    server
}

#[cfg(test)]
mod tests;
