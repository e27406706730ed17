//! What Ethernet carries.

use super::{Capacity, megabytes};

/// Where the MTU was not read.
const ASSUMED_MTU_BYTES: u64 = 1500;

/// Preamble and start (8), header (14), checksum (4), gap (12): IEEE 802.3, 3.1.1 and 4.4.2.
const FRAMING_BYTES: u64 = 38;
/// IPv4 (20), TCP (20) and its time stamps (12), which Linux sends by default (RFC 7323).
const HEADER_BYTES: u64 = 52;
/// The smallest MTU of an interface with IPv4 (RFC 791), and the largest packet.
const MTU_BYTES: std::ops::RangeInclusive<u64> = 68..=65_535;

/// An Ethernet link of `bits_per_s` that carries TCP over IPv4 in packets of at most `mtu_bytes`,
/// 1500 when it was not read. `None` for no rate and for an MTU that IPv4 cannot have.
///
/// The rate is what is left after the line code, as the names of Ethernet's speeds mean it. A VLAN
/// tag (4 bytes), acknowledgements and retransmissions are not taken off. A card that is handed
/// large segments still cuts them into packets of the MTU.
pub fn ethernet(bits_per_s: f64, mtu_bytes: Option<u64>) -> Option<Capacity> {
    // 10 Tb/s: none is as fast, and a driver that says more says nonsense.
    let bits_per_s = Some(bits_per_s).filter(|rate| *rate >= 1e6 && *rate <= 1e13)?;
    let mtu = Some(mtu_bytes.unwrap_or(ASSUMED_MTU_BYTES)).filter(|mtu| MTU_BYTES.contains(mtu))?;
    let (data, wire) = (mtu - HEADER_BYTES, mtu + FRAMING_BYTES);
    let encoded = bits_per_s / 8.0;
    let bytes_per_s = encoded * data as f64 / wire as f64;
    let assumed = if mtu_bytes.is_none() { " (assumed)" } else { "" };
    let derivation = format!(
        "{} Gb/s is {}; at an MTU of {mtu}{assumed} TCP has {data} of {wire} bytes on the wire: {}",
        bits_per_s / 1e9,
        megabytes(encoded),
        megabytes(bytes_per_s),
    );
    let assumed = mtu_bytes.is_none();
    Some(Capacity { encoded_bytes_per_s: encoded, bytes_per_s, derivation, assumed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_has_1448_of_1538_bytes_on_the_wire() {
        let link = ethernet(1e9, Some(1500)).unwrap();
        assert_eq!(link.bytes_per_s, 125e6 * 1448.0 / 1538.0);
        assert_eq!((link.bytes_per_s * 8.0 / 1e6).round(), 941.0, "what iperf shows on 1 Gb/s");
        let jumbo = ethernet(10e9, Some(9000)).unwrap();
        assert_eq!(jumbo.bytes_per_s, 1.25e9 * 8948.0 / 9038.0);
        assert_eq!(
            ethernet(10e9, None).unwrap().derivation,
            "10 Gb/s is 1250 MB/s; at an MTU of 1500 (assumed) TCP has 1448 of 1538 bytes on the \
             wire: 1177 MB/s"
        );
    }

    #[test]
    fn rates_and_packets_that_there_are_not_carry_nothing() {
        for rate in [0.0, -1e9, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(ethernet(rate, None), None, "{rate}");
        }
        for mtu in [0, 52, 67, 65_536, u64::MAX] {
            assert_eq!(ethernet(1e9, Some(mtu)), None, "{mtu}");
        }
    }
}
