//! Scalable Informatics, *JackRabbit Benchmark Results*, after February 2007.
//!
//! Two dual-core Opterons at 2.6 GHz, 16 GB of DDR2-533, 46 SATA disks of 750 GB for data and two
//! of 250 GB for the system, two RAID controllers with 1 GB of battery-backed cache each: a stripe
//! (RAID 0) over two volumes of RAID 6, with XFS on it. Ubuntu 6.10 with Linux 2.6.20. No card is
//! named and no slot, so there is no recording of the machine. All pictures of the text are lost;
//! what its sentences say of them is here. The text bears no date: the kernel is of February 2007.

use super::{Column, Row, Set, Table, row};
use crate::measurement::reported::{Bound, ReportedPath};

mod iozone;
mod slips;

/// The set.
pub const SET: Set = Set {
    name: "jackrabbit-2007",
    about: "A server of 46 disks by its maker: dbench, bonnie++ beyond memory, regions of caches",
    title: "JackRabbit Benchmark Results",
    by: "Scalable Informatics, 2007",
    date: "2007",
    host: "jackrabbit1",
    configurations: &[],
    tables: &[
        PEAKS,
        NETWORKS,
        DBENCH,
        ONE_COPY,
        FOUR_COPIES,
        STREAMS,
        EXPECTED,
        iozone::RECORDS_AS_FILES,
        iozone::READS_OF_RECORDS_AS_FILES,
        iozone::BY_RECORD_ABOVE,
        iozone::BY_RECORD_RANGE,
        iozone::EDGES,
        iozone::SEEKS,
        iozone::SEEKS_OF_AN_IO,
        iozone::SUMMARY,
        iozone::SUMMARY_UNCACHED,
        iozone::SUMMARY_DELTA,
    ],
    slips: slips::SLIPS,
};

const fn column(name: &'static str, unit: &'static str, bound: Bound) -> Column {
    Column { name, unit, bound }
}

/// What its makers say that slots can carry: not measured.
const PEAKS: Table = Table {
    name: "Peak rates of slots",
    place: "section Architected to scale",
    common: &[],
    columns: &[column("peak_bytes_per_s", "", Bound::Exact)],
    rows: &[
        row(
            &[("label", "44-lanes-pcie")],
            &["22 GB/s"],
            "Each JackRabbit unit includes multi PCIe lanes providing in excess of 44 lanes (22 \
             GB/s) of internal IO bandwidth.",
        ),
        row(
            &[("label", "one-of-2-buses-pcix")],
            &["850 MB/s"],
            "An additional 2 PCIx busses are available, providing 2 x 850 MB/s of bandwidth",
        ),
    ],
};

/// What its makers say of networks: not measured.
const NETWORKS: Table = Table {
    name: "What the network was said to carry",
    place: "section Architected to scale",
    common: &[],
    columns: &[
        column("nominal_network_bytes_per_s", "", Bound::Exact),
        column("expected_network_bytes_per_s", "", Bound::About),
    ],
    rows: &[
        row(
            &[("label", "quad-gigabit-bonded")],
            &["400MB/s", ""],
            "Each unit has a quad Gigabit Ethernet adapter, which may be channel bonded. This \
             provides a default of 400MB/s in network bandwidth.",
        ),
        row(
            &[("label", "3-quad-gigabit")],
            &["1.2 GB/s", ""],
            "An additional 2 quad Gigabit Ethernet adapters options are available, for a maximum \
             of 1.2 GB/s bandwidth to a Gigabit-class network per chassis.",
        ),
        row(
            &[("label", "infiniband-ddr-dual-port")],
            &["", "4 GB/s"],
            "With a dual port, DDR Infiniband connection, Scalable Informatics JackRabbit would \
             have approximately 4 GB/s of network bandwidth.",
        ),
        row(
            &[("label", "10-gb-ethernet-single-port")],
            &["", "1 GB/s"],
            "With a single port 10 Gb Ethernet card, Scalable Informatics JackRabbit would have \
             approximately 1 GB/s of network bandwidth.",
        ),
    ],
};

/// `dbench -t 60 N`, version 3.04; most of its I/O is in caches, the text says.
const DBENCH: Table = Table {
    name: "dbench by its number of clients",
    place: "section Dbench",
    common: &[("label", "dbench"), ("filesystem", "xfs"), ("stop", "60s")],
    columns: &[column("throughput_bytes_per_s", "", Bound::Exact)],
    rows: &[
        row(&[("streams", "20")], &["958 MB/s"], ""),
        row(&[("streams", "50")], &["865 MB/s"], ""),
        row(&[("streams", "100")], &["682 MB/s"], ""),
    ],
};

/// As in the line with commas that bonnie++ 1.03 prints. It has no units: by bonnie++'s own tables
/// rates are in K/sec of 1024 bytes, and a share is of one processor.
const BONNIE: &[Column] = &[
    column("block_write_throughput_bytes_per_s", "K/sec", Bound::Exact),
    column("block_write_cpu_share", "%", Bound::Exact),
    column("rewrite_throughput_bytes_per_s", "K/sec", Bound::Exact),
    column("rewrite_cpu_share", "%", Bound::Exact),
    column("block_read_throughput_bytes_per_s", "K/sec", Bound::Exact),
    column("block_read_cpu_share", "%", Bound::Exact),
    column("seeks_per_s", "/sec", Bound::Exact),
    column("seeks_cpu_share", "%", Bound::Exact),
];

const ONE_COPY: Table = Table {
    name: "bonnie++, one copy",
    place: "section Bonnie++",
    common: &[("label", "bonnie++"), ("filesystem", "xfs"), ("streams", "1")],
    columns: BONNIE,
    rows: &[row(
        &[("file-size", "32104MiB")],
        &["585906", "88", "288982", "51", "906829", "80", "384.4", "0"],
        "jackrabbit1,32104M,,,585906,88,288982,51,,,906829,80,384.4,0,,,,,,,,,,,,,",
    )],
};

/// `bonnie++ -r 16384 -s 32g:32k -u root -y -f -n0` four times in one directory.
const FOUR_COPIES: Table = Table {
    name: "bonnie++, each of four copies at once",
    place: "section Bonnie++",
    common: &[
        ("filesystem", "xfs"),
        ("streams", "4"),
        ("file-size", "32GiB"),
        ("block-size", "32KiB"),
    ],
    columns: BONNIE,
    rows: &[
        row(
            &[("label", "bonnie++-copy-1")],
            &["131022", "21", "76012", "14", "180677", "17", "116.4", "0"],
            "jackrabbit1,32G:32k,,,131022,21,76012,14,,,180677,17,116.4,0,,,,,,,,,,,,,",
        ),
        row(
            &[("label", "bonnie++-copy-2")],
            &["130855", "21", "76127", "14", "180814", "17", "113.4", "0"],
            "jackrabbit1,32G:32k,,,130855,21,76127,14,,,180814,17,113.4,0,,,,,,,,,,,,,",
        ),
        row(
            &[("label", "bonnie++-copy-3")],
            &["144861", "23", "73766", "13", "180639", "17", "112.9", "0"],
            "jackrabbit1,32G:32k,,,144861,23,73766,13,,,180639,17,112.9,0,,,,,,,,,,,,,",
        ),
        row(
            &[("label", "bonnie++-copy-4")],
            &["130949", "21", "73615", "13", "181276", "18", "110.5", "0"],
            "jackrabbit1,32G:32k,,,130949,21,73615,13,,,181276,18,110.5,0,,,,,,,,,,,,,",
        ),
    ],
};

const ONE_SAYS: &str = "This indicates that for this test, 32GB files were used, the system \
                        sustained 586 MB/s of streaming writes (uncached), 289 MB/s rewriting \
                        (uncached read, modify, uncached write), and 907 MB/s of streaming reads \
                        (uncached).";

const FOUR_SAYS: &str = "Or 537 MB/s aggregate streaming writes, 300 MB/s aggregate rewriting, and \
                         724 MB/s aggregate streaming reads, all on a set of files 32 GB in size, \
                         using a 32k chunk size.";

const fn reading(row: Row) -> Row {
    Row { way: ReportedPath::Disks, ..row }
}

const THOUSANDS: &[(&str, &str)] = &[(
    "k-as-1000",
    "the text takes bonnie++'s K for 1000 bytes; of 1024 bytes this is 2.4 % more",
)];

const fn summed(row: Row) -> Row {
    Row { notes: THOUSANDS, ..row }
}

/// What the text makes of the two tables before.
const STREAMS: Table = Table {
    name: "Streams outside of all caches, as the text sums bonnie++ up",
    place: "section Bonnie++",
    common: &[("label", "told-of-bonnie++"), ("filesystem", "xfs")],
    columns: &[column("throughput_bytes_per_s", "", Bound::Exact)],
    rows: &[
        summed(row(&[("streams", "1"), ("access", "write")], &["586 MB/s"], ONE_SAYS)),
        summed(row(&[("streams", "1"), ("access", "rewrite")], &["289 MB/s"], ONE_SAYS)),
        summed(reading(row(&[("streams", "1"), ("access", "read")], &["907 MB/s"], ONE_SAYS))),
        summed(row(&[("streams", "4"), ("access", "write")], &["537 MB/s"], FOUR_SAYS)),
        summed(row(&[("streams", "4"), ("access", "rewrite")], &["300 MB/s"], FOUR_SAYS)),
        summed(reading(row(&[("streams", "4"), ("access", "read")], &["724 MB/s"], FOUR_SAYS))),
    ],
};

const EXPECTED_SAYS: &str = "Assuming that the bandwidth is well partitioned between threads, one \
                             might expect 586/4 MB/s of 146.5 MB/s writing per thread. Similarly, \
                             for rewriting 289/4 MB/s or 72.3 MB/s, and for reading 907/4 MB/s or \
                             227 MB/s.";

/// Not measured: quarters of what one copy did.
const EXPECTED: Table = Table {
    name: "What the text expected of each of four copies of bonnie++",
    place: "section Bonnie++",
    common: &[("label", "expected-of-bonnie++"), ("filesystem", "xfs"), ("streams", "4")],
    columns: &[column("expected_bytes_per_s", "", Bound::Exact)],
    rows: &[
        row(&[("access", "write")], &["146.5 MB/s"], EXPECTED_SAYS),
        row(&[("access", "rewrite")], &["72.3 MB/s"], EXPECTED_SAYS),
        row(&[("access", "read")], &["227 MB/s"], EXPECTED_SAYS),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::value;

    /// K as thousands gives what the sentences say, but for one sum: a slip.
    #[test]
    fn the_sentences_about_bonnie_follow_from_its_lines_with_k_as_1000() {
        let thousands = |table: &Table, place: usize| -> f64 {
            table.rows.iter().map(|row| value(row.cells[place]).unwrap()).sum::<f64>() / 1000.0
        };
        let all = [&ONE_COPY, &FOUR_COPIES].map(|table| [0, 2, 4].map(|at| thousands(table, at)));
        for (sum, row) in all.iter().flatten().zip(STREAMS.rows) {
            let printed = (value(row.cells[0]).unwrap() / 1e6).round();
            // One sum of six is cut, 537.7 to 537; the others are rounded.
            let follows = printed == sum.round() || printed == sum.floor();
            assert_eq!(follows, row.cells[0] != "724 MB/s", "{sum} {printed}");
        }
        assert!(slips::SLIPS.iter().any(|slip| slip.printed.starts_with("724 MB/s")));
        for (row, quarter) in EXPECTED.rows.iter().zip([586.0, 289.0, 907.0]) {
            let printed = value(row.cells[0]).unwrap() / 1e6;
            assert!((printed - quarter / 4.0).abs() <= 0.26, "{printed}");
        }
    }
}
