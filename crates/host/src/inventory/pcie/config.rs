//! The PCI Express capability in a function's configuration space.
//!
//! Everybody may read its first 64 bytes, root the rest (kernel: Documentation/PCI/sysfs-pci.rst).

/// As many bytes as everybody may read.
pub const FRONT_BYTES: usize = 64;
/// The space that capabilities lie in. More is not read: each 4 bytes are a request to the card.
pub const LENGTH_BYTES: u64 = 256;

/// What the PCI Express capability says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpressCapability {
    /// Largest payload that it may send, bytes.
    pub payload_bytes: Option<u32>,
    /// Largest read that it may ask for, bytes.
    pub read_request_bytes: Option<u32>,
    /// Active-state power management that is on.
    pub aspm: Option<&'static str>,
}

/// Reads it; `None` where there is none, or the card does not answer (all bits are set).
pub fn express(bytes: &[u8]) -> Option<ExpressCapability> {
    let at = find(bytes, 0x10)?;
    let size = |code: u16| (code <= 5).then(|| 128_u32 << code);
    // PCI Express Base 6.0, 7.5.3.4 (Device Control) and 7.5.3.7 (Link Control).
    let control = word(bytes, at + 8).filter(|control| *control != 0xffff)?;
    // What is built into the root complex has no link (7.5.3.2: types 9 and 10).
    let kind = word(bytes, at + 2)? >> 4 & 0xf;
    let link = word(bytes, at + 16).filter(|_| !matches!(kind, 9 | 10));
    Some(ExpressCapability {
        payload_bytes: size(control >> 5 & 7),
        read_request_bytes: size(control >> 12 & 7),
        aspm: link.map(|link| aspm_in_words(link & 1 != 0, link & 2 != 0)),
    })
}

/// The least of a configuration space that says so much: Device Control, and the two power states
/// of Link Control where they are known.
pub fn made(device_control: u16, link_control: Option<u16>) -> Vec<u8> {
    const AT: usize = FRONT_BYTES;
    let mut bytes = vec![0; LENGTH_BYTES as usize];
    bytes[0x06] = 0x10;
    bytes[0x34] = AT as u8;
    // Of what is built into the root complex no link is read.
    let kind: u8 = if link_control.is_some() { 0x02 } else { 0x92 };
    bytes[AT..AT + 4].copy_from_slice(&[0x10, 0, kind, 0]);
    bytes[AT + 8..AT + 10].copy_from_slice(&device_control.to_le_bytes());
    bytes[AT + 16..AT + 18].copy_from_slice(&link_control.unwrap_or(0).to_le_bytes());
    bytes
}

/// As lspci calls the states.
pub fn aspm_in_words(l0s: bool, l1: bool) -> &'static str {
    match (l0s, l1) {
        (false, false) => "off",
        (true, false) => "L0s",
        (false, true) => "L1",
        (true, true) => "L0s L1",
    }
}

/// Where the capability `id` begins. The list is a chain of offsets (PCI Local Bus 3.0, 6.7), which
/// a broken card may close to a ring.
fn find(bytes: &[u8], id: u8) -> Option<usize> {
    let status = word(bytes, 0x06)?;
    if word(bytes, 0)? == 0xffff || status & 0x10 == 0 {
        return None;
    }
    let is_cardbus = bytes.get(0x0e)? & 0x7f == 2;
    let mut at = usize::from(*bytes.get(if is_cardbus { 0x14 } else { 0x34 })? & 0xfc);
    // As many as fit.
    for _ in 0..(256 - FRONT_BYTES) / 4 {
        if at < FRONT_BYTES {
            return None;
        }
        if *bytes.get(at)? == id {
            return Some(at);
        }
        at = usize::from(*bytes.get(at + 1)? & 0xfc);
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A function whose capabilities are power management at 0x40 and PCI Express at 0x70.
    fn space(control: u16, link: u16) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[..2].copy_from_slice(&0x8086_u16.to_le_bytes());
        bytes[0x06] = 0x10;
        bytes[0x34] = 0x40;
        bytes[0x40..0x42].copy_from_slice(&[0x01, 0x70]);
        bytes[0x70..0x74].copy_from_slice(&[0x10, 0x00, 0x02, 0x00]);
        bytes[0x78..0x7a].copy_from_slice(&control.to_le_bytes());
        bytes[0x80..0x82].copy_from_slice(&link.to_le_bytes());
        bytes
    }

    #[test]
    fn payload_read_request_and_power_states_are_read() {
        // As lspci -vvv decodes 0x2910: MaxPayload 128 bytes, MaxReadReq 512 bytes.
        let express = express(&space(0x2910, 0x0042)).unwrap();
        assert_eq!((express.payload_bytes, express.read_request_bytes), (Some(128), Some(512)));
        assert_eq!(express.aspm, Some("L1"));
        let other = super::express(&space(0x5137, 0x0040)).unwrap();
        assert_eq!((other.payload_bytes, other.read_request_bytes), (Some(256), Some(4096)));
        assert_eq!(other.aspm, Some("off"));
        let reserved = super::express(&space(0x70f0, 0x0003)).unwrap();
        assert_eq!((reserved.payload_bytes, reserved.read_request_bytes), (None, None));
        assert_eq!(reserved.aspm, Some("L0s L1"));
    }

    #[test]
    fn what_everybody_may_read_and_what_is_gone_says_nothing() {
        let whole = space(0x2910, 0x0042);
        for end in 0..whole.len() {
            let cut = express(&whole[..end]);
            assert_eq!(cut.is_some(), end >= 0x7a, "cut at {end}");
            assert!(cut.is_none_or(|cut| cut.payload_bytes == Some(128)));
        }
        assert_eq!(express(&vec![0xff; 256]), None);
        assert_eq!(express(&vec![0; 256]), None);
    }

    #[test]
    fn a_list_that_is_a_ring_ends() {
        let mut bytes = space(0x2910, 0);
        bytes[0x41] = 0x50;
        bytes[0x51] = 0x40;
        assert_eq!(express(&bytes), None);
        bytes[0x41] = 0x43;
        assert_eq!(express(&bytes), None);
        bytes[0x41] = 0x04;
        assert_eq!(express(&bytes), None, "no capability lies in the header");
    }

    #[test]
    fn what_is_built_into_the_root_complex_has_no_link() {
        let mut bytes = space(0x2910, 0x0003);
        bytes[0x72] = 0x92;
        assert_eq!(express(&bytes).unwrap().aspm, None);
    }

    proptest! {
        #[test]
        fn no_bytes_whatever_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let size = |size: Option<u32>| size.is_none_or(|size| (128..=4096).contains(&size));
            let express = express(&bytes).unwrap_or_default();
            prop_assert!(size(express.payload_bytes) && size(express.read_request_bytes));
        }
    }
}
