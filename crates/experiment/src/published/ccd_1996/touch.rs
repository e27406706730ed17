//! What csh's `time` printed of touching 10 000 files, touching them again, and unlinking them.
//!
//! Its line has user and system seconds, the time on the clock, the processor's share, mean memory
//! for text and for data, blocks read and written, major page faults and swaps.

use super::super::{Column, Row, Table};
use super::row;
use crate::measurement::reported::Bound;

const fn column(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::Exact }
}

const fn timed(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
) -> Row {
    row(settings, cells, "")
}

/// How many disks the stripe had that was mounted async is not told; a CMD had a write-back cache
/// of 64 MB.
pub const TABLE: Table = Table {
    name: "Touching 10000 files, touching them again, and unlinking them",
    place: "output of time",
    common: &[("files", "10000")],
    columns: &[
        column("user_s", ""),
        column("system_s", ""),
        column("elapsed_s", ""),
        column("cpu_share", ""),
        column("text_memory_bytes", "k"),
        column("data_memory_bytes", "k"),
        column("input_blocks", ""),
        column("output_blocks", ""),
        column("major_faults", ""),
        column("swaps", ""),
    ],
    rows: &[
        timed(
            &[("label", "single"), ("operation", "create"), ("disks", "1")],
            &["0.277u", "56.454s", "3:54.02", "24.2%", "10", "170", "166", "20314", "14", "0"],
        ),
        timed(
            &[("label", "single"), ("operation", "touch"), ("disks", "1")],
            &["0.193u", "2.796s", "1:49.61", "2.7%", "17", "190", "2", "10000", "0", "0"],
        ),
        timed(
            &[("label", "single"), ("operation", "unlink"), ("disks", "1")],
            &["0.199u", "4.792s", "1:52.40", "4.4%", "167", "226", "1", "10000", "6", "0"],
        ),
        timed(
            &[("label", "raidion"), ("operation", "create"), ("card", "streamlogic-raidion")],
            &["0.245u", "57.470s", "1:16.07", "75.8%", "10", "171", "159", "20314", "15", "0"],
        ),
        timed(
            &[("label", "raidion"), ("operation", "touch"), ("card", "streamlogic-raidion")],
            &["0.174u", "2.797s", "0:11.59", "25.5%", "16", "176", "2", "10000", "0", "0"],
        ),
        timed(
            &[("label", "raidion"), ("operation", "unlink"), ("card", "streamlogic-raidion")],
            &["0.171u", "4.838s", "0:13.55", "36.9%", "160", "216", "1", "10000", "3", "0"],
        ),
        timed(
            &[
                ("label", "cmd"),
                ("operation", "create"),
                ("card", "cmd-5500"),
                ("card-memory", "64MB"),
            ],
            &["0.192u", "56.159s", "1:08.75", "81.9%", "10", "169", "166", "20314", "29", "0"],
        ),
        timed(
            &[
                ("label", "cmd"),
                ("operation", "touch"),
                ("card", "cmd-5500"),
                ("card-memory", "64MB"),
            ],
            &["0.187u", "2.764s", "0:09.25", "31.7%", "16", "185", "1", "10000", "0", "0"],
        ),
        timed(
            &[
                ("label", "cmd"),
                ("operation", "unlink"),
                ("card", "cmd-5500"),
                ("card-memory", "64MB"),
            ],
            &["0.216u", "4.757s", "0:11.07", "44.8%", "164", "220", "2", "10000", "0", "0"],
        ),
        timed(
            &[
                ("label", "ccd-async"),
                ("operation", "create"),
                ("raid", "raid0"),
                ("mount-options", "async"),
            ],
            &["0.230u", "58.327s", "0:59.14", "99.0%", "10", "170", "165", "314", "6", "0"],
        ),
        timed(
            &[
                ("label", "ccd-async"),
                ("operation", "touch"),
                ("raid", "raid0"),
                ("mount-options", "async"),
            ],
            &["0.203u", "2.576s", "0:02.61", "106.1%", "20", "192", "1", "0", "0", "0"],
        ),
        timed(
            &[
                ("label", "ccd-async"),
                ("operation", "unlink"),
                ("raid", "raid0"),
                ("mount-options", "async"),
            ],
            &["0.182u", "4.264s", "0:04.68", "94.8%", "168", "222", "1", "305", "6", "0"],
        ),
    ],
};
