//! (pure) Limits that were set before the first byte moved.

use serde::{Deserialize, Serialize};

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bounded {
    /// Bytes read from a device, per second.
    ReadBytes,
    /// Bytes written to a device, per second.
    WriteBytes,
    /// Read operations of a device, per second.
    ReadOps,
    /// Write operations of a device, per second.
    WriteOps,
    /// Processor time, in CPUs: seconds a second.
    CpuTime,
}

/// A limit, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Of what.
    pub what: Bounded,
    /// The block device that it is for, by its kernel name.
    #[serde(default)]
    pub device: Option<String>,
    /// In the unit of `what`.
    pub most: f64,
    /// The file and what it says.
    pub from: String,
}
