//! Tables 3 and 4: how busy each CPU was while three cards sent, without and with pinning.
//!
//! A CPU is a thread of the four cores of the only processor: 0 and 4 are the first core's.

use super::super::{Column, Row, Table};
use crate::measurement::reported::{Bound, ReportedPath};

const fn share(name: &'static str) -> Column {
    Column { name, unit: "%", bound: Bound::Exact }
}

const SHARES: &[Column] = &[
    share("cpu_user_share"),
    share("cpu_system_share"),
    share("cpu_nice_share"),
    share("cpu_idle_share"),
    share("cpu_iowait_share"),
    share("cpu_irq_share"),
    share("cpu_softirq_share"),
    share("cpu_steal_share"),
];

const fn cpu(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
) -> Row {
    let (configuration, way) = (Some("x4"), ReportedPath::Untold);
    Row { settings, configuration, way, says: "", cells, notes: &[] }
}

pub const WITHOUT_PINNING: Table = Table {
    name: "CPU usage of three UDP streams without pinning",
    place: "table 3",
    common: &[("cpu-pinning", "none")],
    columns: SHARES,
    rows: &[
        cpu(&[("label", "cpu-0")], &["2.0", "60.8", "0.0", "12.0", "0.0", "0.7", "24.6", "0.0"]),
        cpu(&[("label", "cpu-1")], &["2.0", "4.6", "0.0", "91.4", "0.0", "0.0", "2.0", "0.0"]),
        cpu(&[("label", "cpu-2")], &["0.0", "3.9", "0.0", "96.1", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-3")], &["0.0", "2.6", "0.0", "97.4", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-4")], &["0.0", "3.1", "0.0", "96.2", "0.0", "0.0", "0.6", "0.0"]),
        cpu(&[("label", "cpu-5")], &["0.7", "0.3", "0.0", "99.0", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-6")], &["0.0", "0.0", "0.0", "100.0", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-7")], &["0.0", "0.0", "0.0", "100.0", "0.0", "0.0", "0.0", "0.0"]),
    ],
};

pub const WITH_PINNING: Table = Table {
    name: "CPU usage of three UDP streams, each pinned to a core",
    place: "table 4",
    common: &[("cpu-pinning", "1-3")],
    columns: SHARES,
    rows: &[
        cpu(&[("label", "cpu-0")], &["0.3", "0.0", "0.0", "99.0", "0.0", "0.0", "0.7", "0.0"]),
        Row {
            notes: &[(
                "as-printed",
                "these shares add up to 50.1 %, those of other CPUs to 100 %: one is misprinted",
            )],
            ..cpu(&[("label", "cpu-1")], &["0.6", "34.6", "0.0", "9.8", "0.0", "0.0", "5.1", "0.0"])
        },
        cpu(&[("label", "cpu-2")], &["2.9", "31.0", "0.0", "59.6", "0.0", "0.0", "6.6", "0.0"]),
        cpu(&[("label", "cpu-3")], &["0.0", "19.2", "0.0", "76.3", "0.0", "0.0", "4.5", "0.0"]),
        cpu(&[("label", "cpu-4")], &["2.0", "0.0", "0.0", "98.0", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-5")], &["0.0", "0.0", "0.0", "100.0", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-6")], &["0.0", "0.0", "0.0", "100.0", "0.0", "0.0", "0.0", "0.0"]),
        cpu(&[("label", "cpu-7")], &["0.0", "0.0", "0.0", "100.0", "0.0", "0.0", "0.0", "0.0"]),
    ],
};
