//! What memory and one core can do at most, measured in seconds.
//!
//! Nothing here knows of trials. `inspect` prints it; a campaign keeps it beside its inventory, so
//! that the analysis can hold figures against it.

use serde::{Deserialize, Serialize};

/// Bandwidths that were measured. All bytes are counted as the program sees them: a triad moves
/// three words for each of its steps (McCalpin, STREAM, 1995), what the caches fetch in order to
/// write is not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bandwidth {
    /// By NUMA node.
    pub nodes: Vec<NodeBandwidth>,
    /// Bytes per second that one core copies from memory to memory, as it must between the page
    /// cache and a program; bytes copied, not moved twice.
    pub copy_bytes_per_s: Option<f64>,
}

/// Bandwidth of the memory of a node to the CPUs of that node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeBandwidth {
    /// The node's number.
    pub node: u32,
    /// Threads that ran, one a core.
    pub threads: u64,
    /// a = b + s c, bytes per second.
    pub triad_bytes_per_s: Option<f64>,
    /// Reading alone, bytes per second.
    pub read_bytes_per_s: Option<f64>,
}
