//! (pure) Mounted file systems, and how full they are.

use serde::{Deserialize, Serialize};

/// A mounted file system that holds files of people: on block devices, in memory, or from a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Where.
    pub mount_point: String,
    /// Type.
    pub filesystem: String,
    /// What is mounted.
    pub source: String,
    /// Options of the mount and of the file system, comma separated.
    pub options: String,
    /// Kernel names of the block devices that it lies on directly.
    pub on: Vec<String>,
    /// Size, bytes; `None` when it did not answer in time, or on a recording that lacks it.
    pub total_bytes: Option<u64>,
    /// What may still be written, bytes.
    pub available_bytes: Option<u64>,
}
