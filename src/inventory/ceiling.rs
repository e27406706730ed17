//! What each kind of link can carry, with its derivation.
//!
//! The nominal rate, what encoding leaves of it, and what headers leave of that. Which links lie on
//! the way of a disk or a network card is `analysis::path`'s business.

use serde::{Deserialize, Serialize};

use super::server::pci::Pace;

/// What a link can carry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capacity {
    /// What encoding leaves, bytes per second in each direction. What makers print.
    pub encoded_bytes_per_s: f64,
    /// What packet headers or framing leave for data, bytes per second in each direction.
    pub bytes_per_s: f64,
    /// How it was computed, as a clause: `2.5 GT/s x 4 lanes x 8/10 bits is 1000 MB/s; ...`.
    pub derivation: String,
    /// Whether something in it was assumed rather than read.
    pub assumed: bool,
}

/// A PCI Express link; `payload_bytes` is the largest payload in force, 128 bytes (the smallest
/// that there is) when it was not read. `None` for a pace that no generation has.
pub fn pcie(_pace: Pace, _payload_bytes: Option<u32>) -> Option<Capacity> {
    None
}
