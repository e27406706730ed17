//! (pure) Block devices, and what lies on what.

use super::Ceiling;
use super::caching::Caching;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// A block device; see Documentation/ABI/stable/sysfs-block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The kernel's name, such as `nvme0n1p3`.
    pub name: String,
    /// Major and minor number, such as `259:3`.
    pub number: String,
    /// What it is.
    pub kind: DeviceKind,
    /// RAID level or device-mapper target, where it is one: `raid5`, `crypt`.
    pub layout: Option<String>,
    /// Names of the devices that it lies on directly.
    pub below: Vec<String>,
    /// The file that a loop device shows; of a volume of ZFS what holds that.
    pub backing: Option<Backing>,
    /// How it keeps on some of `below` what the others hold, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
    /// Why it is not known whether one of `below` is a cache of the others, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// Size, bytes; 0, which is left out, where nothing tells it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size_bytes: u64,
    /// What its driver says; virtual disks often say `true` whatever they lie on.
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// Read-ahead, KiB.
    pub read_ahead_kib: Option<u64>,
    /// Largest request, KiB.
    pub max_sectors_kib: Option<u64>,
    /// Smallest addressable block, bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest block that it writes without reading, bytes.
    pub physical_block_bytes: Option<u64>,
    /// `write back` when it may hold writes in memory until it is told to flush, else
    /// `write through`.
    pub write_cache: Option<String>,
    /// Whether it has queues that can be polled for completions.
    pub poll_queues: Option<bool>,
    /// How it is attached, as far as its place in /sys tells: `nvme`, `sata`, `sas`, `virtio`, ...
    pub transport: String,
    /// What its maker calls it.
    pub model: Option<String>,
    /// Its serial number, where it can be read.
    pub serial: Option<String>,
    /// What its link runs at, in words.
    pub link: Option<String>,
    /// What it cannot exceed.
    pub ceiling: Option<Ceiling>,
}

/// What a block device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Lies on no other block device: a drive, a RAID card's volume, a virtual disk.
    Disk,
    /// Part of a disk or of another device.
    Partition,
    /// Made of others, by md or the device mapper.
    Stacked,
    /// A file shown as a device.
    Loop,
}

/// The file that a loop device shows, or the volume of ZFS that a device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backing {
    /// The file; the volume's name, such as `tank/vm`.
    pub file: String,
    /// Type of the file system that holds it; empty when it cannot be seen from here.
    pub filesystem: String,
    /// Devices that this lies on directly.
    pub devices: Vec<String>,
    /// Whether the file is read and written around the page cache; `None` when that is not told.
    #[serde(default)]
    pub direct_io: Option<bool>,
    /// Whether its blocks may take less room on the devices than they hold: compression is on, or
    /// nothing tells that it is off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packed: bool,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Device {
    /// One of which nothing more is known.
    #[cfg(any(test, feature = "testing"))]
    pub fn bare(name: &str, kind: DeviceKind) -> Device {
        Device {
            name: name.to_owned(),
            number: String::new(),
            kind,
            layout: None,
            below: Vec::new(),
            backing: None,
            caching: None,
            opaque: None,
            size_bytes: 0,
            rotational: None,
            scheduler: None,
            read_ahead_kib: None,
            max_sectors_kib: None,
            logical_block_bytes: None,
            physical_block_bytes: None,
            write_cache: None,
            poll_queues: None,
            transport: String::new(),
            model: None,
            serial: None,
            link: None,
            ceiling: None,
        }
    }

    /// Whether it is a volume of ZFS, whose reads go through the memory of that (the ARC).
    pub fn is_volume_of_zfs(&self) -> bool {
        self.transport == "zvol"
    }

    /// Whether what it shows lies on another machine.
    pub fn over_a_wire(&self) -> bool {
        is_wire(&self.transport)
    }
}

/// Whether a transport comes from another machine.
pub fn is_wire(transport: &str) -> bool {
    const WIRES: [&str; 7] =
        ["network", "iscsi", "fibre-channel", "srp", "nvme-tcp", "nvme-rdma", "nvme-fc"];
    WIRES.contains(&transport)
}

/// The bottom of `on`: what lies on nothing else. A loop device is a bottom.
pub fn disks(devices: &[Device], on: &[String]) -> Vec<String> {
    let mut disks: Vec<String> = Vec::new();
    let mut next: VecDeque<&String> = on.iter().collect();
    // Devices cannot lie on themselves, but a recording may say so.
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    while let Some(name) = next.pop_front() {
        if !seen.insert(name) {
            continue;
        }
        let Some(device) = devices.iter().find(|device| device.name == *name) else { continue };
        if device.below.is_empty() {
            disks.push(name.clone());
        }
        next.extend(&device.below);
    }
    disks
}
