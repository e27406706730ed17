//! (pure) What shapes that which an interface sends.

use serde::{Deserialize, Serialize};

/// The rate of a token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shaped {
    /// Bytes per second, of frames as the kernel has them: with their headers, without preamble,
    /// checksum and gap.
    pub bytes_per_s: u64,
    /// Bytes that it counts for each packet besides its own (`overhead`).
    pub overhead_bytes: i16,
    /// A packet counts as this many bytes at least (`mpu`).
    pub least_bytes: u16,
}
