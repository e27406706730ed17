//! Links of disks: SATA, SAS and USB.

use super::{Capacity, megabytes};

/// A SATA link at 1.5, 3 or 6 Gb/s; `None` at any other rate.
///
/// Eight bits travel as ten; of each 256 double words two are ALIGN; a frame carries up to 8192
/// bytes of data and 16 of start, header, checksum and end (Serial ATA 3.5, link and transport
/// layer). Commands and the exchange before each frame are not taken off.
pub fn sata(gigabits: f64) -> Option<Capacity> {
    let encoded = [1.5, 3.0, 6.0].contains(&gigabits).then_some(gigabits * 1e9 / 10.0)?;
    let bytes_per_s = encoded * 254.0 / 256.0 * 8192.0 / 8208.0;
    let derivation = format!(
        "{gigabits} Gb/s x 8/10 bits is {}; 2 of 256 double words, and 16 bytes around each 8192 \
         bytes of data, leave {}",
        megabytes(encoded),
        megabytes(bytes_per_s),
    );
    Some(Capacity { encoded_bytes_per_s: encoded, bytes_per_s, derivation, assumed: false })
}

/// A SAS port of `phys` links, each at 1.5, 3, 6, 12 or 22.5 Gb/s; `None` at any other rate and for
/// no links, or more than an expander can have (128).
///
/// Up to 12 Gb/s eight bits travel as ten; at 22.5 Gb/s 128 as 150. A frame carries up to 1024
/// bytes of data and 36 of start, header, checksum and end (SAS Protocol Layer 4). Opening of
/// connections and rate matching are not taken off.
pub fn sas(gigabits: f64, phys: u32) -> Option<Capacity> {
    let (of, total) = match gigabits {
        22.5 => (128.0, 150.0),
        old if [1.5, 3.0, 6.0, 12.0].contains(&old) => (8.0, 10.0),
        _ => return None,
    };
    let phys = Some(phys).filter(|phys| (1..=128).contains(phys))?;
    let encoded = gigabits * 1e9 * f64::from(phys) * of / total / 8.0;
    let bytes_per_s = encoded * 1024.0 / 1060.0;
    let derivation = format!(
        "{gigabits} Gb/s x {phys} link{} x {of}/{total} bits is {}; 36 bytes around each 1024 \
         bytes of data leave {}",
        if phys == 1 { "" } else { "s" },
        megabytes(encoded),
        megabytes(bytes_per_s),
    );
    Some(Capacity { encoded_bytes_per_s: encoded, bytes_per_s, derivation, assumed: false })
}

/// A USB link at the rate that /sys/bus/usb/devices/*/speed says, 10^6 bit/s: 12, 480, 5000, 10000
/// or 20000; `None` at any other, and at 1.5, where disks do not work.
///
/// At 12 and 480 the standard itself says what bulk transfers carry at most: 19 packets of 64
/// bytes in 1 ms, 13 of 512 bytes in 125 us (USB 2.0, tables 5-9 and 5-10). Above, packets carry
/// 1024 bytes and 32 of headers and framing (USB 3.2, 7.2 and 8.3); at 5000 eight bits travel as
/// ten, then 128 as 132. A link of two lanes of 5000 says 10000 too: the better code is taken.
pub fn usb(megabits: f64) -> Option<Capacity> {
    let packets = |count: f64, bytes: f64, us: f64| {
        let bytes_per_s = count * bytes / us * 1e6;
        let derivation = format!(
            "{megabits} Mb/s, of which bulk transfers have {count} packets of {bytes} bytes each \
             {us} us: {}",
            megabytes(bytes_per_s)
        );
        let encoded_bytes_per_s = megabits * 1e6 / 8.0;
        Capacity { encoded_bytes_per_s, bytes_per_s, derivation, assumed: false }
    };
    let coded = |of: f64, total: f64| {
        let encoded = megabits * 1e6 * of / total / 8.0;
        let bytes_per_s = encoded * 1024.0 / 1056.0;
        let derivation = format!(
            "{} Gb/s x {of}/{total} bits is {}; 32 bytes around each 1024 bytes of data leave {}",
            megabits / 1e3,
            megabytes(encoded),
            megabytes(bytes_per_s),
        );
        Capacity { encoded_bytes_per_s: encoded, bytes_per_s, derivation, assumed: false }
    };
    match megabits {
        12.0 => Some(packets(19.0, 64.0, 1000.0)),
        480.0 => Some(packets(13.0, 512.0, 125.0)),
        5000.0 => Some(coded(8.0, 10.0)),
        plus if plus == 10_000.0 || plus == 20_000.0 => Some(coded(128.0, 132.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(link: Option<Capacity>) -> (f64, f64) {
        let link = link.unwrap();
        ((link.encoded_bytes_per_s / 1e6).round(), (link.bytes_per_s / 1e6).round())
    }

    #[test]
    fn disk_links_carry_what_the_standards_print() {
        assert_eq!([1.5, 3.0, 6.0].map(|rate| rates(sata(rate)).0), [150.0, 300.0, 600.0]);
        assert_eq!(rates(sata(6.0)).1, 594.0);
        // Link rates as printed for SAS-2 to SAS-4: 600, 1200 and 2400 MB/s a link.
        assert_eq!([6.0, 12.0, 22.5].map(|rate| rates(sas(rate, 1)).0), [600.0, 1200.0, 2400.0]);
        assert_eq!(rates(sas(12.0, 4)), (4800.0, 4637.0));
        assert_eq!(rates(usb(480.0)), (60.0, 53.0), "53.248 MB/s, USB 2.0, table 5-10");
        assert_eq!(rates(usb(12.0)).1, 1.0);
        assert_eq!(rates(usb(5000.0)), (500.0, 485.0));
        assert_eq!(rates(usb(10_000.0)).0, 1212.0);
        assert_eq!(
            sas(6.0, 8).unwrap().derivation,
            "6 Gb/s x 8 links x 8/10 bits is 4800 MB/s; 36 bytes around each 1024 bytes of data \
             leave 4637 MB/s"
        );
    }

    #[test]
    fn rates_that_no_link_has_carry_nothing() {
        for rate in [0.0, -6.0, 6.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!((sata(rate), sas(rate, 4), usb(rate)), (None, None, None), "{rate}");
        }
        assert_eq!((sas(6.0, 0), sas(6.0, 129), sas(6.0, u32::MAX)), (None, None, None));
    }
}
