//! Brian Tao, *CCD vs. hardware RAIDs (more numbers)*, freebsd-scsi, 10 November 1996.
//!
//! A Pentium Pro at 199.31 MHz with 128 MB of memory, an Adaptec 2940 Ultra (wide) and Quantum
//! XP32150W disks, under FreeBSD 2.2-961014-SNAP. Disks that its concatenated disk driver (ccd)
//! stripes are held against one disk and against two RAIDs in hardware. A firmware and an operating
//! system of that time cannot be told as a recording of Linux, so there is none of the machine.
//! Each test ran once, as far as the text tells.

use super::{Column, Row, Set, Slip, Table, row};
use crate::measurement::reported::{Bound, ReportedPath};

mod bonnie;
mod touch;

/// The set.
pub const SET: Set = Set {
    name: "ccd-1996",
    about: "Striping in software against RAIDs in hardware: streams, names and price",
    title: "CCD vs. hardware RAIDs (more numbers)",
    by: "Tao, 1996",
    date: "November 1996",
    host: "news-in.ican.net",
    configurations: &[],
    tables: &[DISKS, HARDWARE, IOZONE, bonnie::TABLE, touch::TABLE, UNTAR, PRICE],
    slips: SLIPS,
};

const fn column(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::Exact }
}

/// The same sizes are also printed in MB of 2^20 bytes: 2151, 2050 and 2151.
const DISKS: Table = Table {
    name: "Three of the disks, as the kernel found them",
    place: "messages of the kernel",
    common: &[("disk-model", "quantum-xp32150w")],
    columns: &[
        column("capacity_bytes", "512 byte sectors"),
        column("cylinders", ""),
        column("heads", ""),
        column("mean_sectors_per_track", ""),
    ],
    rows: &[
        row(&[("label", "sd0-firmware-L912")], &["4406960", "3907", "10", "112"], ""),
        row(&[("label", "sd1-firmware-81HB")], &["4199760", "3907", "10", "107"], ""),
        row(&[("label", "sd2-firmware-L912")], &["4406960", "3907", "10", "112"], ""),
    ],
};

const CMD_SAYS: &str = "Stripe size used was 64K, to match those on the hardware RAID's. The \
                        CMD-5500 was the faster of the two hardware RAIDs, clocking in at 14MB/s \
                        writing and 11MB/s reading to a 256MB file on a RAID 0 filesystem.";

const CMD_NOTES: &[(&str, &str)] = &[(
    "other-test-disagrees",
    "bonnie's block rates of a CMD, printed in the same message, are about half of these: 7176 \
     K/sec written, 6136 K/sec read; the text does not say what differed",
)];

const HARDWARE: Table = Table {
    name: "iozone on the faster of two RAIDs in hardware",
    place: "fourth paragraph",
    common: &[
        ("card", "cmd-5500"),
        ("hardware-raid", "raid0"),
        ("chunk-size", "64KiB"),
        ("file-size", "256MiB"),
    ],
    columns: &[column("throughput_bytes_per_s", "")],
    rows: &[
        Row { notes: CMD_NOTES, ..row(&[("access", "write")], &["14MB/s"], CMD_SAYS) },
        Row { notes: CMD_NOTES, ..row(&[("access", "read")], &["11MB/s"], CMD_SAYS) },
    ],
};

/// What `iozone 256 65536` and `iozone 512 65536` printed: twice and four times the memory.
const IOZONE: Table = Table {
    name: "iozone on three disks striped by ccd",
    place: "output of iozone",
    common: &[
        ("raid", "raid0"),
        ("disks", "3"),
        ("chunk-size", "64KiB"),
        ("block-size", "64KiB"),
        ("disk-model", "quantum-xp32150w"),
    ],
    columns: &[column("elapsed_s", "seconds"), column("throughput_bytes_per_s", "bytes/second")],
    rows: &[
        row(
            &[("access", "write"), ("file-size", "256MiB"), ("label", "ccd-256-mb")],
            &["24.000000", "11184810"],
            "The ccd filesystem hit 11MB/s writing and almost 21MB/s reading a 256MB file.",
        ),
        Row {
            notes: &[(
                "authors-not-sure",
                "its author: \"This looked like there was a cache effect (F/W SCSI-2 peaks at \
                 20MB/s, does it not?)\"",
            )],
            ..row(
                &[("access", "read"), ("file-size", "256MiB"), ("label", "ccd-256-mb")],
                &["12.804688", "20963842"],
                "The ccd filesystem hit 11MB/s writing and almost 21MB/s reading a 256MB file.",
            )
        },
        row(
            &[("access", "write"), ("file-size", "512MiB"), ("label", "ccd-512-mb")],
            &["45.968750", "11679040"],
            "I repeated the iozone with 512MB; this time it reported about 11.5MB/s writing and \
             17.5MB/sec reading.",
        ),
        Row {
            way: ReportedPath::Disks,
            ..row(
                &[("access", "read"), ("file-size", "512MiB"), ("label", "ccd-512-mb")],
                &["30.593750", "17548385"],
                "I repeated the iozone with 512MB; this time it reported about 11.5MB/s writing \
                 and 17.5MB/sec reading.",
            )
        },
    ],
};

const UNTAR: Table = Table {
    name: "Unpacking the source tree of FreeBSD from another disk",
    place: "sixth paragraph",
    common: &[("label", "untar-ccd"), ("raid", "raid0"), ("mount-options", "async")],
    columns: &[column("elapsed_s", "")],
    rows: &[row(
        &[("files", "15556")],
        &["62 seconds"],
        "Mounted async, the CCD filesystem is *fast*. The 15556-file FreeBSD source tree can be \
         untarred onto it from another drive in 62 seconds flat.",
    )],
};

const PRICE: Table = Table {
    name: "Price of seven disks in their enclosure, and of a GB against a RAID in hardware",
    place: "seventh paragraph",
    common: &[("label", "enclosure-with-disks-of-2-gb")],
    columns: &[
        Column { name: "price_usd", unit: "", bound: Bound::About },
        Column { name: "price_per_gb_ratio", unit: "", bound: Bound::About },
    ],
    rows: &[row(
        &[("disks", "7")],
        &["US$5200", "one-third"],
        "So for about US$5200 (rack enclosure, seven 2GB fast/wide drives), you get something that \
         can be just as fast or faster than a hardware RAID, at about one-third the $/GB cost \
         (less if you don't go for the fancy enclosure).",
    )],
};

const SLIPS: &[Slip] = &[Slip {
    place: "output of time, CCD-async",
    printed: "retouch: 0.203u 2.576s 0:02.61 106.1%",
    but: "the only processor cannot have worked for 2.779 s in 2.61 s: the clock of processor \
          times and that of the elapsed time disagree",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::value;

    fn of(cell: &str) -> f64 {
        value(cell).unwrap()
    }

    /// iozone prints the size of its file, a time, and the quotient of the two.
    #[test]
    fn what_iozone_printed_agrees_with_its_times() {
        for row in IOZONE.rows {
            let size = if row.settings[1].1 == "256MiB" { 268_435_456.0 } else { 536_870_912.0 };
            assert!((size / of(row.cells[0]) - of(row.cells[1])).abs() < 1.0, "{row:?}");
        }
    }

    /// The shell divides times that it first cuts to hundredths. One share is above 100 %: a slip.
    #[test]
    fn the_shares_of_a_processor_follow_from_its_times() {
        assert_eq!(touch::TABLE.rows.len(), 12);
        for row in touch::TABLE.rows {
            let [user, system, elapsed, share] = [0, 1, 2, 3].map(|place| of(row.cells[place]));
            let cut = |seconds: f64| (seconds * 100.0 + 1e-6).floor() / 100.0;
            let wanted = (cut(user) + cut(system)) / elapsed;
            assert!((0.0..0.001 + 1e-9).contains(&(wanted - share)), "{row:?}: {wanted}");
            assert_eq!(share > 1.0, SLIPS[0].printed.contains(row.cells[3]), "{row:?}");
        }
    }
}
