//! (pure) Processors with their caches and NUMA nodes.

use serde::{Deserialize, Serialize};

/// The processors of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// What the processor calls itself.
    pub model: Option<String>,
    /// Packages.
    pub sockets: Option<u64>,
    /// Cores in all that are online.
    pub cores: Option<u64>,
    /// CPUs (threads) that are online, in the kernel's list notation: `0-7,9`.
    pub online: String,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`, ... (cpu/smt/control).
    pub smt: Option<String>,
    /// Governors of the clock rate, each once.
    pub governors: Vec<String>,
    /// Driver of the clock rate: `intel_pstate`, `acpi-cpufreq`, ...
    pub clock_driver: Option<String>,
    /// Highest clock rate, kHz.
    pub max_khz: Option<u64>,
    /// Microcode version.
    pub microcode: Option<String>,
    /// Caches, from the nearest: those alike in size and in how many CPUs share one as one, in the
    /// order of their CPUs, as cores of two kinds have caches of their own kind.
    pub caches: Vec<Cache>,
    /// NUMA nodes; one where the kernel knows of none.
    pub nodes: Vec<Node>,
}

/// A cache of a processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// CPUs that share it.
    pub cpus: u64,
    /// How many of it the machine has.
    pub count: u64,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its CPUs, in the kernel's list notation.
    pub cpus: String,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Distance to every node, in order of `nodes` (10 is itself).
    pub distances: Vec<u64>,
}
