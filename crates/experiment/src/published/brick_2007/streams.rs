//! Throughputs that stand in sentences, most of them bonnie++'s: higher is better.
//!
//! With 8 GB of memory what was written went to the page cache first, as the text says. How large
//! the files were is told once, of XFS: 2 GB.

use super::super::{Row, Table};
use super::{ReportedPath, column, row};
use crate::measurement::reported::Bound;

const SAYS: &str = "Bandwidth on large writes on a 16-disk RAID6 array was measured at >2GB/s on a \
                    large memory system and up to ~800MB/s on a RAM-constrained system. Large \
                    reads were slower, reflecting the ability of writes to be partially cached, \
                    but were still measured at up to 570MB/s on a 16-disk RAID6. Small reads and \
                    writes were significantly slower, ( ~60MB/s) reflecting the seek overhead in \
                    complicated read/write patterns.";

const CACHED: &[(&str, &str)] =
    &[("from-a-cache", "its author: \"the write speed was a function of the file cache\"")];

pub const WRITTEN: Table = Table {
    name: "Large writes to 16 disks, in the summary",
    place: "section 1",
    common: &[
        ("label", "summary"),
        ("access", "write"),
        ("hardware-raid", "raid6"),
        ("disks", "16"),
    ],
    columns: &[
        column("throughput_bytes_per_s", "", Bound::Above),
        column("highest_throughput_bytes_per_s", "", Bound::UpTo),
    ],
    rows: &[
        Row { notes: CACHED, ..row(&[("memory-limit", "8GiB")], &["2GB/s", ""], SAYS) },
        row(&[("memory-limit", "512MiB")], &["", "800MB/s"], SAYS),
    ],
};

pub const READ: Table = Table {
    name: "Large reads of 16 disks, in the summary",
    place: "section 1",
    common: &[("label", "summary"), ("access", "read"), ("hardware-raid", "raid6")],
    columns: &[column("throughput_bytes_per_s", "", Bound::UpTo)],
    rows: &[Row {
        way: ReportedPath::Disks,
        notes: &[(
            "other-figures",
            "section 4.2.2 has 570 MB/s with little memory, ~600 MB/s with all of it, and 688 MB/s \
             as the fastest of all arrays",
        )],
        ..row(&[("disks", "16")], &["570MB/s"], SAYS)
    }],
};

pub const SMALL: Table = Table {
    name: "Small reads and writes",
    place: "sections 1 and 4.2.2",
    common: &[],
    columns: &[column("throughput_bytes_per_s", "", Bound::About)],
    rows: &[
        row(&[("label", "small-reads-and-writes")], &["60MB/s"], SAYS),
        row(
            &[("label", "smaller-files-and-one-disk")],
            &["60MB/s"],
            "All filesystems were much less impressive when dealing with smaller files reading and \
             writing at close to single device speeds of 60MB/s.",
        ),
    ],
};

const XFS_SAYS: &str = "With the full 8GB RAM enabled, the system was able to write 2GB files at \
                        more than 2GB/s, a truly phenomenal rate. Reading was slower at ~600MB/s, \
                        but still impressive. Obviously, the write speed was a function of the \
                        file cache (since the theoretical maximum would be about 1GB/s, based on \
                        aggregate single disk write speeds), but even with only 512MB RAM enabled, \
                        it was still able to write at about 800MB/s and read at 570MB/s on block \
                        operations using the full 16 disks in RAID6.";

pub const XFS_ABOVE: Table = Table {
    name: "XFS with all of the memory, writing",
    place: "section 4.2.2",
    common: &[("label", "of-xfs"), ("filesystem", "xfs"), ("memory-limit", "8GiB")],
    columns: &[
        column("throughput_bytes_per_s", "", Bound::Above),
        column("expected_of_disks_bytes_per_s", "", Bound::About),
    ],
    rows: &[Row {
        notes: CACHED,
        ..row(&[("access", "write"), ("file-size", "2GiB")], &["2GB/s", "1GB/s"], XFS_SAYS)
    }],
};

pub const XFS_ABOUT: Table = Table {
    name: "XFS reading, and XFS with little memory",
    place: "section 4.2.2",
    common: &[("label", "of-xfs"), ("filesystem", "xfs")],
    columns: &[
        column("throughput_bytes_per_s", "", Bound::About),
        column("read_throughput_bytes_per_s", "", Bound::Exact),
    ],
    rows: &[
        row(&[("access", "read"), ("memory-limit", "8GiB")], &["600MB/s", ""], XFS_SAYS),
        row(
            &[
                ("access", "write"),
                ("memory-limit", "512MiB"),
                ("hardware-raid", "raid6"),
                ("disks", "16"),
            ],
            &["800MB/s", ""],
            XFS_SAYS,
        ),
        row(
            &[
                ("access", "read"),
                ("memory-limit", "512MiB"),
                ("hardware-raid", "raid6"),
                ("disks", "16"),
            ],
            &["", "570MB/s"],
            XFS_SAYS,
        ),
    ],
};
