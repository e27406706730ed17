//! One array behind Fibre Channel: which RAID, which file system.

use super::super::{Row, Table};
use super::{THROUGHPUT, read};

/// Its column of RAID 3 is the ext2 of the next table.
pub const RAID: Table = Table {
    name: "Raid configurations of a Fibre Channel array",
    place: "section Raid Configurations",
    common: &[
        ("label", "level3-fibre-channel"),
        ("access", "read"),
        ("file-size", "512MiB"),
        ("block-size", "1MiB"),
        ("card", "chaparral-k7413"),
        ("disks", "8"),
    ],
    columns: &[THROUGHPUT],
    rows: RAIDS,
};

#[rustfmt::skip]
const RAIDS: &[Row] = &[
    read(&[("hardware-raid", "raid0"), ("streams", "1")], &["42"]),
    read(&[("hardware-raid", "raid0"), ("streams", "2")], &["48"]),
    read(&[("hardware-raid", "raid0"), ("streams", "4")], &["59"]),
    read(&[("hardware-raid", "raid0"), ("streams", "8")], &["59"]),
    read(&[("hardware-raid", "raid0"), ("streams", "16")], &["60"]),
    read(&[("hardware-raid", "raid0"), ("streams", "32")], &["59"]),
    read(&[("hardware-raid", "raid0"), ("streams", "60")], &["50"]),
    read(&[("hardware-raid", "raid0"), ("streams", "100")], &["44"]),
    read(&[("hardware-raid", "raid3"), ("streams", "1")], &["39"]),
    read(&[("hardware-raid", "raid3"), ("streams", "2")], &["47"]),
    read(&[("hardware-raid", "raid3"), ("streams", "4")], &["57"]),
    read(&[("hardware-raid", "raid3"), ("streams", "8")], &["53"]),
    read(&[("hardware-raid", "raid3"), ("streams", "16")], &["57"]),
    read(&[("hardware-raid", "raid3"), ("streams", "32")], &["55"]),
    read(&[("hardware-raid", "raid3"), ("streams", "60")], &["46"]),
    read(&[("hardware-raid", "raid3"), ("streams", "100")], &["40"]),
    read(&[("hardware-raid", "raid5"), ("streams", "1")], &["39"]),
    read(&[("hardware-raid", "raid5"), ("streams", "2")], &["47"]),
    read(&[("hardware-raid", "raid5"), ("streams", "4")], &["59"]),
    read(&[("hardware-raid", "raid5"), ("streams", "8")], &["59"]),
    read(&[("hardware-raid", "raid5"), ("streams", "16")], &["60"]),
    read(&[("hardware-raid", "raid5"), ("streams", "32")], &["58"]),
    read(&[("hardware-raid", "raid5"), ("streams", "60")], &["48"]),
    read(&[("hardware-raid", "raid5"), ("streams", "100")], &["44"]),
];

pub const FILE_SYSTEMS: Table = Table {
    name: "Journaling file systems on the Fibre Channel array",
    place: "section Journaling Filesystems",
    common: &[
        ("label", "level3-fibre-channel"),
        ("access", "read"),
        ("file-size", "512MiB"),
        ("block-size", "1MiB"),
        ("card", "chaparral-k7413"),
        ("disks", "8"),
        ("hardware-raid", "raid3"),
    ],
    columns: &[THROUGHPUT],
    rows: SYSTEMS,
};

#[rustfmt::skip]
const SYSTEMS: &[Row] = &[
    read(&[("filesystem", "ext2"), ("streams", "1")], &["39"]),
    read(&[("filesystem", "ext2"), ("streams", "2")], &["47"]),
    read(&[("filesystem", "ext2"), ("streams", "4")], &["57"]),
    read(&[("filesystem", "ext2"), ("streams", "8")], &["53"]),
    read(&[("filesystem", "ext2"), ("streams", "16")], &["57"]),
    read(&[("filesystem", "ext2"), ("streams", "32")], &["55"]),
    read(&[("filesystem", "ext2"), ("streams", "60")], &["46"]),
    read(&[("filesystem", "ext2"), ("streams", "100")], &["40"]),
    read(&[("filesystem", "ext3"), ("streams", "1")], &["38"]),
    read(&[("filesystem", "ext3"), ("streams", "2")], &["46"]),
    read(&[("filesystem", "ext3"), ("streams", "4")], &["57"]),
    read(&[("filesystem", "ext3"), ("streams", "8")], &["52"]),
    read(&[("filesystem", "ext3"), ("streams", "16")], &["57"]),
    read(&[("filesystem", "ext3"), ("streams", "32")], &["55"]),
    read(&[("filesystem", "ext3"), ("streams", "60")], &["44"]),
    read(&[("filesystem", "ext3"), ("streams", "100")], &["39"]),
    read(&[("filesystem", "reiserfs"), ("streams", "1")], &["37"]),
    read(&[("filesystem", "reiserfs"), ("streams", "2")], &["50"]),
    read(&[("filesystem", "reiserfs"), ("streams", "4")], &["57"]),
    read(&[("filesystem", "reiserfs"), ("streams", "8")], &["52"]),
    read(&[("filesystem", "reiserfs"), ("streams", "16")], &["56"]),
    read(&[("filesystem", "reiserfs"), ("streams", "32")], &["54"]),
    read(&[("filesystem", "reiserfs"), ("streams", "60")], &["42"]),
    read(&[("filesystem", "reiserfs"), ("streams", "100")], &["34"]),
    read(&[("filesystem", "xfs"), ("streams", "1")], &["42"]),
    read(&[("filesystem", "xfs"), ("streams", "2")], &["48"]),
    read(&[("filesystem", "xfs"), ("streams", "4")], &["59"]),
    read(&[("filesystem", "xfs"), ("streams", "8")], &["52"]),
    read(&[("filesystem", "xfs"), ("streams", "16")], &["58"]),
    read(&[("filesystem", "xfs"), ("streams", "32")], &["55"]),
    read(&[("filesystem", "xfs"), ("streams", "60")], &["49"]),
    read(&[("filesystem", "xfs"), ("streams", "100")], &["43"]),
    read(&[("filesystem", "jfs"), ("streams", "1")], &["43"]),
    read(&[("filesystem", "jfs"), ("streams", "2")], &["49"]),
    read(&[("filesystem", "jfs"), ("streams", "4")], &["58"]),
    read(&[("filesystem", "jfs"), ("streams", "8")], &["56"]),
    read(&[("filesystem", "jfs"), ("streams", "16")], &["58"]),
    read(&[("filesystem", "jfs"), ("streams", "32")], &["56"]),
    read(&[("filesystem", "jfs"), ("streams", "60")], &["44"]),
    read(&[("filesystem", "jfs"), ("streams", "100")], &["39"]),
];
