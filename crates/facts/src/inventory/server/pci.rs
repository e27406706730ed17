//! (pure) PCI functions and their links.

use serde::{Deserialize, Serialize};

use super::Interrupt;
use crate::inventory::pcie::Pace;

/// A PCI function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Function {
    /// Domain, bus, device and function: `0000:03:00.0`.
    pub address: String,
    /// The bridge above it; `None` at a root.
    pub parent: Option<String>,
    /// The root complex that it hangs on: `pci0000:00`.
    pub root: String,
    /// Base class, subclass and interface, as 24 bits: 0x010802 is NVMe, 0xff0000
    /// none that there is, or that could be read.
    pub class: u32,
    /// Vendor; left out where nothing tells it.
    #[serde(skip_serializing_if = "is_zero")]
    pub vendor: u16,
    /// Device; left out where nothing tells it.
    #[serde(skip_serializing_if = "is_zero")]
    pub device: u16,
    /// Subsystem's vendor and device.
    pub subsystem: Option<(u16, u16)>,
    /// Maker's and device's names, from the system's pci.ids.
    pub name: Option<String>,
    /// The kernel's driver.
    pub driver: Option<String>,
    /// The driver's version, where the module tells one.
    pub driver_version: Option<String>,
    /// NUMA node; `None` when the firmware does not say.
    pub numa_node: Option<u32>,
    /// Number or name of the slot that it is in (/sys/bus/pci/slots).
    pub slot: Option<String>,
    /// What it is in words: `bridge`, `NVMe controller`, `Ethernet controller`, ...
    pub kind: String,
    /// The link towards the bridge above; for a bridge, the link of the port itself. `None` on
    /// what is no PCI Express.
    pub link: Option<Link>,
    /// Largest payload of a packet in force, bytes; takes root (config space).
    pub payload_bytes: Option<u32>,
    /// Largest read request, bytes; takes root.
    pub read_request_bytes: Option<u32>,
    /// Active-state power management in force on the link: `L0s`, `L1`, `L0s L1`, `off`.
    pub aspm: Option<String>,
    /// Runtime power state: `active`, `suspended`.
    pub runtime_status: Option<String>,
    /// Names of what the kernel made of it: block devices without partitions, network interfaces,
    /// SCSI hosts, NVMe and InfiniBand devices.
    pub children: Vec<String>,
    /// Its interrupts and the CPUs that take them; of storage and network controllers only.
    pub interrupts: Vec<Interrupt>,
}

/// No vendor has that number, and no device of one.
fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Speed and width of a PCI Express link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// What it runs at now.
    pub current: Option<Pace>,
    /// What this end of it could do.
    pub max: Option<Pace>,
}
