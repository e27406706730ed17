//! How fast a link of PCI Express is, and what its packets carry.

use std::io::Read;
use std::path::Path;

use crate::sys::Host;

pub mod config;

/// The largest payload in force of the function at `place` in /sys, bytes; takes root.
pub fn payload_bytes(host: &Host, place: &Path) -> Option<u32> {
    let mut bytes = Vec::new();
    let file = host.open(place.join("config")).ok()?;
    file.take(config::LENGTH_BYTES).read_to_end(&mut bytes).ok()?;
    config::express(&bytes)?.payload_bytes
}
