//! What the links of disks and of network ports carry, of what the inventory says of them.

use facts::inventory::ceiling;
use facts::inventory::ceiling::Capacity;
use facts::inventory::server::{Hop, Interface};

/// A link between a controller and a disk, at the rate that it negotiated.
pub fn hop(hop: &Hop, transport: &str) -> Option<Capacity> {
    let bits_per_s = hop.bits_per_s?;
    let lanes = hop.lanes.max(1);
    match transport {
        "usb" => ceiling::usb(bits_per_s / 1e6),
        "sata" if lanes == 1 => ceiling::sata(bits_per_s / 1e9),
        _ => ceiling::sas(bits_per_s / 1e9, lanes),
    }
}

/// A network port: what its speed now and its shaping let through, or its fastest mode when it is
/// down.
pub fn port(port: &Interface) -> Option<Capacity> {
    if port.bits_per_s.is_some() || port.shaped.is_some() {
        return port.capacity();
    }
    let fastest = ceiling::ethernet(port.max_bits_per_s?, port.mtu_bytes)?;
    let derivation = format!("{} (its fastest mode; it has no link now)", fastest.derivation);
    Some(Capacity { derivation, assumed: true, ..fastest })
}
