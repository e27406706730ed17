//! (pure) What memory and one core can do at most.

use serde::{Deserialize, Serialize};

/// Bandwidths that were measured. All bytes are counted as the program sees them: a triad moves
/// three words for each of its steps (McCalpin, STREAM, 1995), what the caches fetch in order to
/// write is not counted. In a build without optimisation they are the compiler's, not the memory's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bandwidth {
    /// By NUMA node; nodes without CPUs that we may use are left out.
    pub nodes: Vec<NodeBandwidth>,
    /// Bytes per second that one core copies from memory into a buffer of 256 KiB that it uses
    /// again and again, as a buffered read does from the page cache; bytes copied, not moved twice.
    pub copy_bytes_per_s: Option<f64>,
    /// The same into memory that no cache holds: what a program that keeps all it reads may get.
    pub copy_to_memory_bytes_per_s: Option<f64>,
}

/// Bandwidth of the memory of a node to the CPUs of that node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeBandwidth {
    /// The node's number.
    pub node: u32,
    /// Threads that ran, one a core.
    pub threads: u64,
    /// Size of each of the three arrays, bytes, all threads together.
    pub array_bytes: u64,
    /// a = b + s c, bytes per second.
    pub triad_bytes_per_s: Option<f64>,
    /// Reading alone, bytes per second.
    pub read_bytes_per_s: Option<f64>,
}

impl Bandwidth {
    /// What all nodes together deliver to their own cores, bytes per second, where each was
    /// measured.
    pub fn read_bytes_per_s(&self) -> Option<f64> {
        let each: Option<Vec<f64>> = self.nodes.iter().map(|node| node.read_bytes_per_s).collect();
        each.filter(|each| !each.is_empty()).map(|each| each.iter().sum())
    }
}
