//! What Ethernet carries, and what a token bucket lets through.

use super::{Capacity, megabytes};
use crate::inventory::qdisc::Shaped;
use base::value;

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

/// Header of an Ethernet frame as the kernel counts it: addresses and type (IEEE 802.3, 3.1.1).
const FRAME_HEADER_BYTES: u64 = 14;

/// A token bucket that lets TCP over IPv4 through, in packets of at most `mtu_bytes`, 1500 when it
/// was not read. `None` for a rate of 0 and for an MTU that IPv4 cannot have.
///
/// It counts a frame as the kernel has it: the packet and its header of 14 bytes, the headers of
/// each packet that a large segment will be cut into, and the overhead that it was told of. So more
/// gets through than through a wire of that rate, on which each frame has 24 bytes more.
/// Acknowledgements that go the same way, and retransmissions, are not taken off.
pub fn token_bucket(shaped: Shaped, mtu_bytes: Option<u64>) -> Option<Capacity> {
    let mtu = Some(mtu_bytes.unwrap_or(ASSUMED_MTU_BYTES)).filter(|mtu| MTU_BYTES.contains(mtu))?;
    let rate = Some(shaped.bytes_per_s as f64).filter(|rate| *rate > 0.0)?;
    let data = mtu - HEADER_BYTES;
    let frame = (mtu + FRAME_HEADER_BYTES).checked_add_signed(shaped.overhead_bytes.into())?;
    let frame = frame.max(shaped.least_bytes.into());
    if frame < data {
        return None;
    }
    let bytes_per_s = rate * data as f64 / frame as f64;
    let assumed = if mtu_bytes.is_none() { " (assumed)" } else { "" };
    let derivation = format!(
        "a token bucket of {} Gb/s lets {} of frames go; at an MTU of {mtu}{assumed} TCP has \
         {data} of the {frame} bytes that it counts for each: {}",
        value::significant(rate * 8.0 / 1e9),
        megabytes(rate),
        megabytes(bytes_per_s),
    );
    let assumed = mtu_bytes.is_none();
    Some(Capacity { encoded_bytes_per_s: rate, bytes_per_s, derivation, assumed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(bytes_per_s: u64, overhead_bytes: i16, mtu: Option<u64>) -> Option<Capacity> {
        token_bucket(Shaped { bytes_per_s, overhead_bytes, least_bytes: 64 }, mtu)
    }

    #[test]
    fn a_token_bucket_counts_frames_without_what_is_around_them_on_the_wire() {
        let megabits = |link: Option<Capacity>| (link.unwrap().bytes_per_s * 8.0 / 1e6).round();
        assert_eq!(megabits(bucket(125_000_000, 0, Some(1500))), 956.0);
        assert_eq!(megabits(bucket(125_000_000, 0, Some(9000))), 993.0);
        // With what a wire has around each frame it is a wire.
        assert_eq!(megabits(bucket(125_000_000, 24, Some(1500))), 941.0);
        assert_eq!(
            bucket(125_000_000, 0, Some(1500)).unwrap().derivation,
            "a token bucket of 1.00 Gb/s lets 125 MB/s of frames go; at an MTU of 1500 TCP has \
             1448 of the 1514 bytes that it counts for each: 120 MB/s"
        );
        assert!(bucket(1, 0, None).unwrap().assumed);
    }

    #[test]
    fn buckets_that_there_are_not_let_nothing_be_known() {
        let none =
            [(0, 0, 1500), (1, -100, 1500), (1, i16::MIN, 9000), (1, 0, 67), (1, 0, 1 << 40)];
        for (rate, overhead, mtu) in none {
            assert_eq!(bucket(rate, overhead, Some(mtu)), None, "{rate} {overhead} {mtu}");
        }
    }

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
