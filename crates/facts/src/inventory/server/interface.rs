//! (pure) Network interfaces.

use serde::{Deserialize, Serialize};

use super::Interrupt;
use crate::inventory::ceiling::{self, Capacity};
use crate::inventory::qdisc::Shaped;

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
    /// Speed now, bit/s; `None` where nobody says, as of a port without a cable, or where it is
    /// made up, as of a veth.
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
    /// Coalescing: name and value, such as `rx-usecs` 50. What is 0 is left out, as drivers also
    /// say 0 of what they do not support.
    pub coalescing: Vec<(String, u64)>,
    /// Interfaces below: of a bond, a bridge, a VLAN.
    pub below: Vec<String>,
    /// Its interrupts and the CPUs that may take them.
    pub interrupts: Vec<Interrupt>,
    /// Queueing discipline of the root.
    pub qdisc: Option<String>,
    /// The rate at which that lets packets go, of a token bucket.
    pub shaped: Option<Shaped>,
}

impl Interface {
    /// What TCP can carry through it: by its speed now and by the token bucket that shapes what it
    /// sends, whichever is less. `None` when neither is known.
    pub fn capacity(&self) -> Option<Capacity> {
        let wire = self.bits_per_s.and_then(|rate| ceiling::ethernet(rate, self.mtu_bytes));
        let shaped = self.shaped.and_then(|shaped| ceiling::token_bucket(shaped, self.mtu_bytes));
        let less = |a: &Capacity, b: &Capacity| a.bytes_per_s.total_cmp(&b.bytes_per_s);
        wire.into_iter().chain(shaped).min_by(less)
    }
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
