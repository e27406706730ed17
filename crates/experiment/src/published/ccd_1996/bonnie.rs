//! The table of bonnie: a file of 256 MB, twice the memory, on five arrays.

use super::super::{Column, Row, Table};
use super::row;
use crate::measurement::reported::Bound;

const fn rate(name: &'static str) -> Column {
    Column { name, unit: "K/sec", bound: Bound::Exact }
}

const fn share(name: &'static str) -> Column {
    Column { name, unit: "%", bound: Bound::Exact }
}

const fn seeks(name: &'static str) -> Column {
    Column { name, unit: "/sec", bound: Bound::Exact }
}

const COLUMNS: &[Column] = &[
    rate("char_write_throughput_bytes_per_s"),
    share("char_write_cpu_share"),
    rate("block_write_throughput_bytes_per_s"),
    share("block_write_cpu_share"),
    rate("rewrite_throughput_bytes_per_s"),
    share("rewrite_cpu_share"),
    rate("char_read_throughput_bytes_per_s"),
    share("char_read_cpu_share"),
    rate("block_read_throughput_bytes_per_s"),
    share("block_read_cpu_share"),
    seeks("seeks_per_s"),
    share("seeks_cpu_share"),
];

const NOT_TOLD: &[(&str, &str)] =
    &[("array-not-told", "the message tells neither its disks nor how they were joined here")];

/// One stripes over three disks, another over five; 64K lie on a disk before the next one's turn.
pub const TABLE: Table = Table {
    name: "bonnie on one disk, two RAIDs in hardware and two stripes of ccd",
    place: "table of bonnie",
    common: &[("file-size", "256MiB")],
    columns: COLUMNS,
    rows: &[
        row(
            &[("label", "single"), ("disks", "1")],
            &[
                "3473", "29.0", "3555", "7.6", "1659", "5.4", "4782", "44.6", "3716", "5.6",
                "105.2", "2.0",
            ],
            "",
        ),
        Row {
            notes: NOT_TOLD,
            ..row(
                &[("label", "raidion"), ("card", "streamlogic-raidion")],
                &[
                    "985", "8.2", "954", "1.9", "772", "2.2", "4754", "44.3", "5110", "5.6",
                    "120.8", "1.7",
                ],
                "",
            )
        },
        Row {
            notes: NOT_TOLD,
            ..row(
                &[("label", "cmd"), ("card", "cmd-5500")],
                &[
                    "7213", "59.4", "7176", "16.1", "3521", "11.1", "7328", "68.4", "6136", "6.7",
                    "187.8", "2.7",
                ],
                "",
            )
        },
        row(
            &[("label", "ccd3"), ("raid", "raid0"), ("disks", "3"), ("chunk-size", "64KiB")],
            &[
                "10965", "88.2", "11356", "28.9", "7134", "23.2", "10302", "96.5", "12596", "20.3",
                "163.7", "3.0",
            ],
            "",
        ),
        row(
            &[("label", "ccd5"), ("raid", "raid0"), ("disks", "5"), ("chunk-size", "64KiB")],
            &[
                "12129", "97.1", "14036", "35.0", "8299", "27.0", "10233", "96.3", "14351", "23.5",
                "181.0", "3.4",
            ],
            "",
        ),
    ],
};
