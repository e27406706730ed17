//! What each kind of link can carry, with its derivation.
//!
//! The nominal rate, what encoding leaves of it, and what headers leave of that. Everything is on
//! the generous side: what is not taken off on every packet is not taken off at all, so that
//! honest figures stay below. Which links lie on the way of a disk or a network card is
//! `analysis::path`'s business.

use serde::{Deserialize, Serialize};

use super::pcie::Pace;

mod network;
mod storage;

pub use network::{ethernet, token_bucket};
pub use storage::{sas, sata, usb};

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

/// The largest payload where it was not read: the smallest that there is, and what many machines
/// run at.
pub const ASSUMED_PAYLOAD_BYTES: u32 = 128;

/// Header of a write below 4 GiB and of every completion of a read: three double words. Writes
/// above 4 GiB take 16 bytes (PCI Express Base 6.0, 2.2.1); the smaller keeps the ceiling high.
const HEADER_BYTES: u32 = 12;
/// Up to 5 GT/s start and end symbols (2 bytes), sequence number (2), LCRC (4); from 8 GT/s on the
/// start token, which holds the sequence number (4), and LCRC (4). 3.6.2, 4.2.1.2, 4.2.2.3.1.
const FRAMING_BYTES: u32 = 8;
/// The widest link that there is.
const LANES_MAX: u32 = 32;

/// Bits in and bits out of a line code.
#[derive(Clone, Copy)]
struct Code(f64, f64);

impl Code {
    fn share(self) -> f64 {
        self.0 / self.1
    }
}

/// A PCI Express link; `payload_bytes` is the largest payload in force, 128 bytes (the smallest
/// that there is) when it was not read, or is none that a packet can have. `None` for a pace that
/// no generation has.
///
/// Acknowledgements, flow control, clock compensation and the requests that fetch data are not
/// taken off. What a wide payload is cut into (read completions often have 64 bytes) is not either.
pub fn pcie(pace: Pace, payload_bytes: Option<u32>) -> Option<Capacity> {
    let (code, flits) = code(pace.gt_per_s)?;
    let lanes = Some(pace.lanes).filter(|lanes| (1..=LANES_MAX).contains(lanes))?;
    let encoded = pace.gt_per_s * 1e9 * f64::from(lanes) * code.share() / 8.0;
    let read = payload_bytes.filter(|bytes| bytes.is_power_of_two());
    let read = read.filter(|bytes| (128..=4096).contains(bytes));
    let payload = read.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let around = HEADER_BYTES + if flits { 0 } else { FRAMING_BYTES };
    let bytes_per_s = encoded * f64::from(payload) / f64::from(payload + around);
    let Code(of, total) = code;
    let unit = if flits { "bytes" } else { "bits" };
    let assumed = match read {
        Some(_) => "",
        None => " (assumed: the payload was not read, and larger ones leave more)",
    };
    let derivation = format!(
        "{} GT/s x {lanes} lane{} x {of}/{total} {unit} is {}; {around} bytes around each \
         {payload} bytes of payload{assumed} leave {}",
        pace.gt_per_s,
        if lanes == 1 { "" } else { "s" },
        megabytes(encoded),
        megabytes(bytes_per_s),
    );
    Some(Capacity {
        encoded_bytes_per_s: encoded,
        bytes_per_s,
        derivation,
        assumed: read.is_none(),
    })
}

/// The line code of a generation, and whether it is FLIT mode, in which 236 of 256 bytes are of
/// packets and framing is in the rest (PCI Express Base 6.0, 4.2.3). 1 and 2: 8b/10b (4.2.1.1);
/// 3 to 5: 128b/130b (4.2.2.1).
fn code(gt_per_s: f64) -> Option<(Code, bool)> {
    if [2.5, 5.0].contains(&gt_per_s) {
        Some((Code(8.0, 10.0), false))
    } else if [8.0, 16.0, 32.0].contains(&gt_per_s) {
        Some((Code(128.0, 130.0), false))
    } else if [64.0, 128.0].contains(&gt_per_s) {
        Some((Code(236.0, 256.0), true))
    } else {
        None
    }
}

/// `1000 MB/s`, `53.2 MB/s`: all digits before the point, as makers print them.
fn megabytes(bytes_per_s: f64) -> String {
    let megabytes = bytes_per_s / 1e6;
    let digits = usize::from(megabytes < 100.0);
    format!("{megabytes:.digits$} MB/s")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(gt_per_s: f64, lanes: u32, payload: Option<u32>) -> Option<Capacity> {
        pcie(Pace { gt_per_s, lanes }, payload)
    }

    #[test]
    fn links_carry_what_the_makers_print_less_headers() {
        let link = of(2.5, 4, Some(128)).unwrap();
        assert_eq!((link.encoded_bytes_per_s, link.assumed), (1e9, false));
        assert_eq!((link.bytes_per_s / 1e6).round(), 865.0);
        assert_eq!(
            link.derivation,
            "2.5 GT/s x 4 lanes x 8/10 bits is 1000 MB/s; 20 bytes around each 128 bytes of \
             payload leave 865 MB/s"
        );
        // Per lane and direction, as PCI-SIG's frequently asked questions print them: 250, 500,
        // 985, 1969, 3938 MB/s; in FLIT mode 242/256 is printed at times, which counts the bytes
        // of the data link layer as well.
        let lane = |gt| (of(gt, 1, Some(256)).unwrap().encoded_bytes_per_s / 1e6).round();
        assert_eq!([2.5, 5.0, 8.0, 16.0, 32.0].map(lane), [250.0, 500.0, 985.0, 1969.0, 3938.0]);
        let flits = of(64.0, 16, Some(256)).unwrap();
        assert_eq!(flits.encoded_bytes_per_s, 118e9);
        assert_eq!(flits.bytes_per_s, 118e9 * 256.0 / 268.0);
        // Two to three parts in a hundred below what a drive of 7 GB/s claims to read.
        let gen4 = of(16.0, 4, Some(256)).unwrap();
        assert_eq!((gen4.bytes_per_s / 1e6).round(), 7306.0);
    }

    #[test]
    fn a_payload_that_was_not_read_is_said_to_be_assumed() {
        for payload in [None, Some(0), Some(100), Some(64), Some(8192), Some(u32::MAX)] {
            let link = of(8.0, 8, payload).unwrap();
            assert!(link.assumed && link.derivation.contains("assumed"), "{payload:?}");
            assert_eq!(link.bytes_per_s, of(8.0, 8, Some(128)).unwrap().bytes_per_s);
        }
    }

    #[test]
    fn a_pace_that_no_generation_has_carries_nothing() {
        for (gt, lanes) in [
            (0.0, 4),
            (-2.5, 4),
            (2.4, 4),
            (f64::NAN, 4),
            (f64::INFINITY, 4),
            (8.0, 0),
            (8.0, 33),
            (8.0, 255),
            (8.0, u32::MAX),
        ] {
            assert_eq!(of(gt, lanes, Some(128)), None, "{gt} x{lanes}");
        }
    }

    /// What must hold of whatever is given.
    fn sane(link: Option<Capacity>, raw_bytes_per_s: f64) -> bool {
        link.is_none_or(|link| {
            link.bytes_per_s > 0.0
                && link.bytes_per_s <= link.encoded_bytes_per_s
                && link.encoded_bytes_per_s <= raw_bytes_per_s
                && link.encoded_bytes_per_s.is_finite()
        })
    }

    proptest! {
        #[test]
        fn no_link_carries_more_than_its_raw_rate(
            gt in prop_oneof![proptest::sample::select(&[2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0]),
                any::<f64>()],
            lanes in prop_oneof![1_u32..=32, any::<u32>()],
            payload in proptest::option::of(prop_oneof![
                proptest::sample::select(&[128_u32, 256, 512, 1024, 2048, 4096]), any::<u32>()]),
            rate in prop_oneof![0.0..1e12, any::<f64>()],
            count in any::<u32>(),
            mtu in proptest::option::of(prop_oneof![0_u64..70_000, any::<u64>()]),
        ) {
            prop_assert!(sane(of(gt, lanes, payload), gt * 1e9 * f64::from(lanes) / 8.0));
            prop_assert!(sane(sata(rate), rate * 1e9 / 8.0));
            prop_assert!(sane(sas(rate, count), rate * 1e9 * f64::from(count) / 8.0));
            prop_assert!(sane(usb(rate), rate * 1e6 / 8.0));
            prop_assert!(sane(ethernet(rate, mtu), rate / 8.0));
        }

        #[test]
        fn more_lanes_and_larger_packets_carry_more(
            gt in proptest::sample::select(&[2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0]),
            lanes in 1_u32..32,
            shift in 0_u32..5,
            mtu in 128_u64..65_535,
            rate in 1e6..1e12,
        ) {
            let payload = 128_u32 << shift;
            let here = of(gt, lanes, Some(payload)).unwrap().bytes_per_s;
            prop_assert!(of(gt, lanes + 1, Some(payload)).unwrap().bytes_per_s > here);
            prop_assert!(of(gt, lanes, Some(payload * 2)).unwrap().bytes_per_s > here);
            prop_assert!(of(gt, lanes, None).unwrap().bytes_per_s <= here);
            let frames = |mtu| ethernet(rate, Some(mtu)).unwrap().bytes_per_s;
            prop_assert!(frames(mtu + 1) > frames(mtu));
            for rate in [3.0, 6.0, 12.0, 22.5] {
                let wide = |phys| sas(rate, phys).unwrap().bytes_per_s;
                prop_assert!(wide(lanes + 1) > wide(lanes));
            }
        }
    }
}
