//! How long tests took: lower is better. The five rows of data that the text prints, and what it
//! says of making and mounting file systems, of gains, and of failures.

use super::super::{Column, Row, Table};
use super::{column, row};
use crate::measurement::reported::Bound;

const fn elapsed(name: &'static str) -> Column {
    column(name, "s", Bound::Exact)
}

/// The text gives these rows to R; it prints 0.0 for what was not run. It prints no unit: section
/// 8.1 calls these the overall run times, which section 4.1 has in seconds. So BONNIE is a time
/// here, while what bonnie++ itself says, in the text's sentences, are rates.
///
/// The read-ahead is printed as 256. That is the kernel's count of sectors of 512 bytes.
pub const TABLE: Table = Table {
    name: "Run times of seven tests of 16 disks with ext3",
    place: "section 8.2, other.16d.r5+6",
    common: &[("disks", "16"), ("read-ahead", "128KiB"), ("filesystem", "ext3")],
    columns: &[
        elapsed("mkfs_elapsed_s"),
        elapsed("mount_elapsed_s"),
        elapsed("bonnie_elapsed_s"),
        elapsed("kernel_elapsed_s"),
        elapsed("iozone_elapsed_s"),
        elapsed("ncecat_elapsed_s"),
        elapsed("dbench_elapsed_s"),
    ],
    rows: &[
        Row {
            notes: &[("dbench-not-run", "DBENCH is printed as 0.0: it was not run"), READ_AHEAD],
            ..row(
                &[("card", "3ware-16"), ("hardware-raid", "raid6"), ("label", "row-1")],
                &[
                    "1507.12798",
                    "0.966668",
                    "158.819063",
                    "835.115628",
                    "905.026998",
                    "124.557138",
                    "",
                ],
                "3ware|16|16|6|256|ext3|1507.12798|0.966668|158.819063|\
                 835.115628|905.026998|124.557138|0.0",
            )
        },
        Row {
            notes: &[("dbench-not-run", "DBENCH is printed as 0.0: it was not run"), READ_AHEAD],
            ..row(
                &[("card", "areca-16"), ("hardware-raid", "raid6"), ("label", "row-2")],
                &[
                    "1754.609643",
                    "62.738649",
                    "218.925547",
                    "735.370265",
                    "729.249532",
                    "101.68025",
                    "",
                ],
                "areca|16|16|6|256|ext3|1754.609643|62.738649|218.925547|\
                 735.370265|729.249532|101.68025|0.0",
            )
        },
        Row {
            notes: &[
                ("ncecat-not-run", "NCECAT is printed as 0.0: it was not run"),
                SAME,
                READ_AHEAD,
            ],
            ..row(
                &[("card", "areca-16"), ("hardware-raid", "raid5"), ("label", "row-3")],
                &[
                    "626.779672",
                    "104.035842",
                    "137.148965",
                    "705.861009",
                    "622.139284",
                    "",
                    "148.997351",
                ],
                "areca|16|16|5|256|ext3|626.779672|104.035842|137.148965|\
                 705.861009|622.139284|0.0|148.997351",
            )
        },
        Row {
            notes: &[
                ("ncecat-not-run", "NCECAT is printed as 0.0: it was not run"),
                SAME,
                READ_AHEAD,
            ],
            ..row(
                &[("card", "areca-16"), ("hardware-raid", "raid5"), ("label", "row-4")],
                &[
                    "1835.480147",
                    "135.926012",
                    "134.950901",
                    "730.114779",
                    "626.945034",
                    "",
                    "150.213541",
                ],
                "areca|16|16|5|256|ext3|1835.480147|135.926012|134.950901|\
                 730.114779|626.945034|0.0|150.213541",
            )
        },
        Row {
            notes: &[
                (
                    "ncecat-and-dbench-not-run",
                    "NCECAT and DBENCH are printed as 0.0: they were not run",
                ),
                SAME,
                READ_AHEAD,
            ],
            ..row(
                &[("card", "areca-16"), ("hardware-raid", "raid5"), ("label", "row-5")],
                &["1893.842949", "81.943981", "185.853155", "727.25922", "639.094527", "", ""],
                "areca|16|16|5|256|ext3|1893.842949|81.943981|185.853155|\
                 727.25922|639.094527|0.0|0.0",
            )
        },
    ],
};

const READ_AHEAD: (&str, &str) = (
    "read-ahead-unit",
    "the read-ahead is printed as 256, taken for sectors of 512 bytes, not for bytes",
);

const SAME: (&str, &str) = (
    "settings-not-told",
    "three rows have the same printed settings; what differed between them, perhaps memory or \
     whether the array was initialising, the text does not tell",
);

pub const MKFS_ABOUT: Table = Table {
    name: "Making ext3",
    place: "section 1",
    common: &[("filesystem", "ext3"), ("label", "of-3.5-tb")],
    columns: &[column("mkfs_elapsed_s", "", Bound::About)],
    rows: &[row(
        &[("hardware-raid", "raid5")],
        &["17m"],
        "The Ext3 filesystem uses the same on-disk structure as the non-journaling ext2 \
         filesystem, and thus requires initialization time proportional to the RAID size, ~17m for \
         a 3.5TB RAID5 filesystem.",
    )],
};

pub const MKFS_UP_TO: Table = Table {
    name: "Making XFS",
    place: "section 4.2.2",
    common: &[("label", "up-to-8-tb")],
    columns: &[column("mkfs_elapsed_s", "", Bound::UpTo)],
    rows: &[row(
        &[("filesystem", "xfs")],
        &["3s"],
        "Initializing XFS was almost instantaneous (<3s) on every RAID size I tried (up to 8TB).",
    )],
};

const RATIOS_SAY: &str = "On the 3.5TB filesystem, Reiserfs took about 10x as long as JFS and Ext3 \
                          took about 10X longer than Reiserfs.";

pub const MKFS_RATIOS: Table = Table {
    name: "Making file systems: one time as a multiple of another",
    place: "section 4.1.4",
    common: &[],
    columns: &[column("mkfs_elapsed_ratio", "", Bound::About)],
    rows: &[
        row(&[("filesystem", "reiserfs"), ("label", "to-jfs")], &["10x"], RATIOS_SAY),
        row(&[("filesystem", "ext3"), ("label", "to-reiserfs")], &["10X"], RATIOS_SAY),
        Row {
            notes: &[(
                "not-by-size",
                "proportional to the size, RAID 0 would take longer: it holds more than RAID 5",
            )],
            ..row(
                &[("hardware-raid", "raid0"), ("label", "reiserfs-and-ext3-to-raid5")],
                &["1/2"],
                "Reiserfs and Ext3 took time proportional to the RAID size (so that RAID0 took \
                 ~1/2 the time that RAID5 did for the same number of disks).",
            )
        },
    ],
};

pub const MOUNT: Table = Table {
    name: "Mounting ReiserFS and ext3",
    place: "section 4.1.5",
    common: &[("label", "reiserfs-and-ext3-of-7.5-tb")],
    columns: &[
        column("lowest_mount_elapsed_s", "s", Bound::Exact),
        column("highest_mount_elapsed_s", "s", Bound::Exact),
    ],
    rows: &[row(
        &[],
        &["5", "140"],
        "RFS and Ext3 took longer and also took highly variable amounts of time to mount the \
         array, in the worst case, ranging from 5-140s to mount the largest 7.5TB array",
    )],
};

pub const GAINS: Table = Table {
    name: "What more read-ahead and more disks brought",
    place: "sections 4.2.1 and 4.2.3",
    common: &[],
    columns: &[
        column("gain_share", "", Bound::Exact),
        column("gain_about_share", "", Bound::About),
    ],
    rows: &[
        row(
            &[("label", "ncecat-read-ahead-of-8k")],
            &["30%", ""],
            "The NCECAT test was the only time when readahead had a significant effect on the \
             execution speed, when setting it to 8K led to a 30% increase in speed. However, \
             increasing readahead beyond 8k led to a DECREASE in performance in most cases.",
        ),
        row(
            &[("label", "kernel-from-8-disks"), ("disks", "12")],
            &["", "15%"],
            "There was a small (~15%) but significant increase in speed in the kernel compile when \
             the # of spindles was increased from 8 to 12, altho raising them to 16 did not \
             increase the speed further.",
        ),
    ],
};

/// Of ReiserFS nothing is told.
pub const FAILURES: Table = Table {
    name: "Failures in all tests",
    place: "section 4.2.2",
    common: &[("label", "failures")],
    columns: &[column("failures", "", Bound::Exact)],
    rows: &[
        row(
            &[("filesystem", "jfs"), ("card", "areca")],
            &["2"],
            "There were 2 instances when benchmarks failed due to JFS failing when running under \
             the Areca controller. This only happened under heavy load, and only with the JFS \
             testing.",
        ),
        row(
            &[("filesystem", "ext3"), ("card", "3ware")],
            &["1"],
            "I did record 1 failure with ext3 under the kernel compile test with the 3ware card.",
        ),
        row(
            &[("filesystem", "xfs")],
            &["0"],
            "There was never a failure that I could pin on XFS during my benchmarks.",
        ),
    ],
};
