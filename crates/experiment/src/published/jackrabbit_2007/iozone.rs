//! What sentences say of the lost pictures of iozone, of seeks, and in sum.

use super::super::{Row, Table};
use super::{column, row};
use crate::measurement::reported::Bound;

const RAID_CACHE: &[(&str, &str)] = &[(
    "from-a-cache",
    "its authors: \"these measurements are all bound by the size of the RAID cache, which is \
     larger than the IO measurements themselves\"",
)];

const RECORDS_SAY: &str = "As the size of the IO increases, the random write and re-writing \
                           performance increases from slightly below 800 MB/s to above 1100 MB/s.";

/// Files and records from 1 MB to 1 GB.
pub const RECORDS_AS_FILES: Table = Table {
    name: "iozone with records as large as their file, 1 MB to 1 GB: writing",
    place: "section IOzone, figure Measured Bandwidth",
    common: &[("label", "record-is-file"), ("filesystem", "xfs")],
    columns: &[
        column("lowest_throughput_bytes_per_s", "", Bound::UpTo),
        column("highest_throughput_bytes_per_s", "", Bound::Above),
    ],
    rows: &[
        Row {
            notes: RAID_CACHE,
            ..row(&[("access", "random-write")], &["800 MB/s", "1100 MB/s"], RECORDS_SAY)
        },
        Row {
            notes: RAID_CACHE,
            ..row(&[("access", "rewrite")], &["800 MB/s", "1100 MB/s"], RECORDS_SAY)
        },
    ],
};

pub const READS_OF_RECORDS_AS_FILES: Table = Table {
    name: "iozone with records as large as their file, 1 MB to 1 GB: reading",
    place: "section IOzone, figure Measured Bandwidth",
    common: &[("label", "record-is-file"), ("filesystem", "xfs")],
    columns: &[column("highest_throughput_bytes_per_s", "", Bound::About)],
    rows: &[Row {
        notes: RAID_CACHE,
        ..row(
            &[("access", "read")],
            &["1300 MB/s"],
            "The reading, re-reading, and related operations increase to about 1300 MB/s.",
        )
    }],
};

/// Over most of the range of file sizes, up to 16 GB.
pub const BY_RECORD_ABOVE: Table = Table {
    name: "iozone over most file sizes up to 16 GB: what most operations exceed",
    place: "sections 64 kB record size and 1 MB record size",
    common: &[("label", "most-operations"), ("filesystem", "xfs")],
    columns: &[column("throughput_bytes_per_s", "", Bound::Above)],
    rows: &[
        row(
            &[("block-size", "64KiB")],
            &["1 GB/s"],
            "First, the re-fwrite and the writer are the only tests which dip below 1 GB/s over \
             most of the range of the test.",
        ),
        row(
            &[("block-size", "1MiB")],
            &["1 GB/s"],
            "The observations show most operations performing in excess of 1 GB/s.",
        ),
    ],
};

pub const BY_RECORD_RANGE: Table = Table {
    name: "iozone over most file sizes up to 16 GB: specific writing operations",
    place: "section 1 MB record size",
    common: &[("label", "specific-writing-operations"), ("filesystem", "xfs")],
    columns: &[
        column("highest_throughput_bytes_per_s", "", Bound::Exact),
        column("lowest_throughput_bytes_per_s", "", Bound::Exact),
    ],
    rows: &[row(
        &[("block-size", "1MiB"), ("access", "write")],
        &["800 MB/s", "600 MB/s"],
        "Specific writing operations performing in the 800-600 MB/s range over most of the region.",
    )],
};

/// With 16 GB of memory, 2 x 1 GB of memory on RAID cards and 1 MB of cache in each processor.
pub const EDGES: Table = Table {
    name: "Sizes beyond which iozone's throughput falls or rises",
    place: "sections IOzone, 64 kB record size and 1 MB record size",
    common: &[("filesystem", "xfs")],
    columns: &[
        column("edge_of_file_bytes", "", Bound::About),
        column("edge_of_record_bytes", "", Bound::About),
    ],
    rows: &[
        row(
            &[("block-size", "64KiB"), ("label", "edge-of-cpu-cache")],
            &["1 MB", ""],
            "Third, there is a fall off in performance after about 1 MB files, as they are now \
             outside processor cache size.",
        ),
        row(
            &[("block-size", "64KiB"), ("label", "edge-of-raid-cache")],
            &["1 GB", ""],
            "Fourth, there is a slight fall off in performance after 1 GB file size, when RAID \
             cache is rendered ineffective.",
        ),
        row(
            &[("block-size", "64KiB"), ("label", "edge-of-page-cache")],
            &["10 GB", ""],
            "Second, there is a significant fall off in performance after 10 GB (10,000.00 MB) in \
             file size, as buffer cache is rendered ineffective.",
        ),
        row(
            &[("block-size", "1MiB"), ("label", "edge-of-raid-cache")],
            &["1 GB", ""],
            "The RAID cache effect is seen through 1 GB file size (1000 MB).",
        ),
        row(
            &[("block-size", "1MiB"), ("label", "edge-of-page-cache")],
            &["10 GB", ""],
            "The system buffer cache effect is seen through about 10 GB, and beyond that the \
             system is in transition to the large file size (uncached) performance.",
        ),
        row(
            &[("access", "random-read"), ("label", "edge-of-seeks")],
            &["", "5 MB"],
            "This suggests that there is a seek dominated region below about 5 MB in record size, \
             and a \"streaming\" transition region above that.",
        ),
        row(
            &[("access", "random-read"), ("label", "edge-of-seeks-again")],
            &["", "4 MB"],
            "The sharp transition at about 4 MB in record size occurs as the stripe across RAID6 \
             units allows a parallelization of the seeks across multiple controllers.",
        ),
    ],
};

/// Not measured: what its authors know of the disks. T = L + S / B, they say, with the latency L of
/// a seek, the size S of a transfer and the rate B of a disk.
pub const SEEKS: Table = Table {
    name: "What one disk of 7200 revolutions a minute does",
    place: "section 1 MB record size",
    common: &[("label", "disk-of-750-gb"), ("disks", "1")],
    columns: &[
        column("lowest_seek_s", "", Bound::Exact),
        column("highest_ops_per_s", "", Bound::UpTo),
        column("outer_bytes_per_s", "", Bound::Exact),
        column("inner_bytes_per_s", "", Bound::About),
        column("disk_cache_bytes", "", Bound::Exact),
    ],
    rows: &[row(
        &[],
        &["8.5 ms", "117 IOPs", "70 MB/s", "40 MB/s", "16 MB"],
        "As these are 7.2k RPM drives, each seek costs at least 8.5 ms, or a maximum of 117 IOPs \
         per drive. Each disk has a 16 MB cache on board, and can read at 70 MB/s in the outer \
         rim, and about 40 MB/s on the inner rim.",
    )],
};

const SEEKS_SAY: &str = "Moreover, the RAID6 chunk size is on the order of 8-128kB, so a 1 MB IO \
                         operation, would require between 128 down to 8 seek operations to \
                         retrieve data. Each seek operation would require reading 2 parity, and \
                         one data block. The total transfer time would be bound by the individual \
                         disk latencies, and their 24 to 384 seeks.";

const PARITY: &[(&str, &str)] = &[(
    "parity-not-read",
    "reading from a healthy RAID 6 touches no parity: the seeks are a third",
)];

/// Not measured: reckoned by its authors.
pub const SEEKS_OF_AN_IO: Table = Table {
    name: "What reading 1 MB from the RAID 6 was reckoned to take, by its chunk",
    place: "section 1 MB record size",
    common: &[("block-size", "1MiB"), ("access", "random-read")],
    columns: &[
        column("reckoned_blocks", "", Bound::Exact),
        column("reckoned_seeks", "", Bound::Exact),
        column("reckoned_reads_of_a_block", "", Bound::Exact),
    ],
    rows: &[
        Row { notes: PARITY, ..row(&[("chunk-size", "8KiB")], &["128", "384", "3"], SEEKS_SAY) },
        Row { notes: PARITY, ..row(&[("chunk-size", "128KiB")], &["8", "24", "3"], SEEKS_SAY) },
    ],
};

pub const SUMMARY: Table = Table {
    name: "What the text concludes of all operations",
    place: "section Summary",
    common: &[("label", "summary"), ("filesystem", "xfs")],
    columns: &[column("throughput_bytes_per_s", "", Bound::Above)],
    rows: &[row(
        &[],
        &["1GB/s"],
        "Sustained performance in excess of 1GB/s is commonly observed for operations tested.",
    )],
};

pub const SUMMARY_UNCACHED: Table = Table {
    name: "What the text concludes of operations outside of caches",
    place: "section Summary",
    common: &[("label", "summary-uncached"), ("filesystem", "xfs")],
    columns: &[
        column("lowest_throughput_bytes_per_s", "", Bound::Exact),
        column("highest_throughput_bytes_per_s", "", Bound::Exact),
    ],
    rows: &[row(
        &[],
        &["500 MB/s", "1 GB/s"],
        "For non-cached operations, performance from 500 MB/s to 1 GB/s is observed for most \
         operations. Moreover, this performance was obtained with a simple stripe across 2 RAID6 \
         block devices.",
    )],
};

pub const SUMMARY_DELTA: Table = Table {
    name: "What the text concludes of larger records and larger files",
    place: "section Summary",
    common: &[("label", "summary-delta"), ("filesystem", "xfs")],
    columns: &[
        column("lowest_decrease_share", "", Bound::About),
        column("highest_decrease_share", "", Bound::About),
    ],
    rows: &[row(
        &[],
        &["20%", "30%"],
        "The performance delta for larger records and larger files is on the order of 20-30%.",
    )],
};
