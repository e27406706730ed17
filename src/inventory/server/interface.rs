//! Network interfaces: speed, driver, queues, offloads, coalescing, interrupts.

use serde::{Deserialize, Serialize};

use super::Reading;

/// A network interface; loopback is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// The kernel's name.
    pub name: String,
    /// `ethernet`, `bond`, `bridge`, `veth`, `infiniband`, `virtio`, `vlan`, ...
    pub kind: String,
    /// `up`, `down`, ...
    pub state: Option<String>,
    /// Speed now, bit/s.
    pub bits_per_s: Option<f64>,
    /// The fastest mode that it offers, bit/s.
    pub max_bits_per_s: Option<f64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Largest packet, bytes.
    pub mtu_bytes: Option<u64>,
    /// Driver.
    pub driver: Option<String>,
    /// The driver's and the firmware's versions.
    pub versions: Option<String>,
    /// Address of the PCI function below it.
    pub controller: Option<String>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Receive queues.
    pub rx_queues: Option<u64>,
    /// Transmit queues.
    pub tx_queues: Option<u64>,
    /// Ring sizes now and at most, receive and transmit.
    pub rings: Option<Rings>,
    /// Offloads that are on, by ethtool's names: `tcp-segmentation-offload`, ...
    pub offloads: Vec<String>,
    /// Coalescing: name and value, such as `rx-usecs` 50.
    pub coalescing: Vec<(String, u64)>,
    /// Interfaces below: of a bond, a bridge, a VLAN.
    pub below: Vec<String>,
    /// Its interrupts and the CPUs that may take them.
    pub interrupts: Vec<Interrupt>,
    /// Queueing discipline of the root.
    pub qdisc: Option<String>,
}

/// Ring sizes in descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rings {
    /// Receive, now.
    pub rx: u64,
    /// Receive, at most.
    pub rx_max: u64,
    /// Transmit, now.
    pub tx: u64,
    /// Transmit, at most.
    pub tx_max: u64,
}

/// An interrupt and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupt {
    /// Its number.
    pub number: u64,
    /// What the kernel calls it: `eth0-TxRx-3`.
    pub name: String,
    /// CPUs that take it now (effective_affinity_list), else that may (smp_affinity_list).
    pub cpus: String,
}

/// Reads them.
pub fn read(_reading: &mut Reading<'_>) -> Vec<Interface> {
    Vec::new()
}
