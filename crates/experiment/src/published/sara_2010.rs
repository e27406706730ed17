//! Ronald van der Pol and Freek Dijkstra, *D1.1 Server Scalability*, SARA, March 2010.
//!
//! One Dell PowerEdge T610: six Intel X25-M SSDs behind a PERC 6/i, up to three 10GE cards. Figures
//! 2, 3, 5 and 6 of the text are lost; what its sentences say of them is here. A reading of a
//! file of 8 or 32 GByte by IOzone was repeated three times; the spread is not told.

use super::{Column, Configuration, Row, Set, Slip, Table};
use crate::measurement::reported::{Bound, ReportedPath};

mod processors;

/// The set.
pub const SET: Set = Set {
    name: "sara-2010",
    about: "Towards 40 Gb/s from one server: SSDs, RAID controllers, PCI Express, 10GE cards",
    title: "D1.1 Server Scalability",
    by: "van der Pol and Dijkstra, 2010",
    date: "March 2010",
    host: "Dell PowerEdge T610",
    configurations: CONFIGURATIONS,
    tables: &[
        SPECIFIED,
        ONE_DISK,
        LEVELS,
        TWO_CONTROLLERS,
        RATES,
        SLOTS,
        UDP,
        processors::WITHOUT_PINNING,
        processors::WITH_PINNING,
        EXPECTED,
    ],
    slips: SLIPS,
};

const CONFIGURATIONS: &[Configuration] = &[
    Configuration {
        name: "x4",
        about: "as it came: the PERC 6/i in its own slot, three 10GE cards in slots 1, 2 and 3",
        recording: include_str!("../../../../tests/fixtures/sys/t610-x4.txt"),
    },
    Configuration {
        name: "x8",
        about: "partly disassembled: the PERC 6/i in a slot of eight lanes",
        recording: include_str!("../../../../tests/fixtures/sys/t610-x8.txt"),
    },
];

const fn column(name: &'static str, bound: Bound) -> Column {
    Column { name, unit: "", bound }
}

/// A row that was measured on no machine of the text.
const fn elsewhere(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
    says: &'static str,
) -> Row {
    Row { settings, configuration: None, way: ReportedPath::Untold, says, cells, notes: &[] }
}

const SPECIFIED: Table = Table {
    name: "What others say of one SSD",
    place: "section 3.1",
    common: &[("access", "read"), ("disks", "1"), ("disk-model", "intel-x25-m")],
    columns: &[column("throughput_bytes_per_s", Bound::UpTo)],
    rows: &[
        elsewhere(
            &[("label", "specification-of-intel")],
            &["250 MB/s"],
            "The Intel specification for the X25-M SSDs claims a maximum throughput of 250 MB/s \
             sustained read speed.",
        ),
        elsewhere(
            &[("label", "gasior-techreport-15931")],
            &["154 MB/s"],
            "External parties have achieved up to 154 MB/s in practice.",
        ),
    ],
};

const ONE_DISK: Table = Table {
    name: "Sequential read of one SSD",
    place: "section 3.3",
    common: &[("access", "read"), ("disk-model", "intel-x25-m")],
    columns: &[
        column("throughput_bytes_per_s", Bound::Above),
        column("highest_throughput_bytes_per_s", Bound::Above),
    ],
    rows: &[Row {
        settings: &[("disks", "1")],
        configuration: Some("x4"),
        way: ReportedPath::Disks,
        says: "We got very good sustained read performance for a single disk, easily exceeding 200 \
               MB/s and sometimes even over 250 MB/s.",
        cells: &["200 MB/s", "250 MB/s"],
        notes: &[],
    }],
};

const LEVELS: Table = Table {
    name: "Sequential read of several SSDs: the level above which more of them do not bring it",
    place: "section 3.3",
    common: &[("access", "read"), ("disk-model", "intel-x25-m"), ("card", "perc-6i")],
    columns: &[column("level_off_throughput_bytes_per_s", Bound::About)],
    rows: &[
        Row {
            settings: &[("slot", "x4"), ("disks", "5")],
            configuration: Some("x4"),
            way: ReportedPath::Disks,
            says: "The read speed does not grow linearly with the number of disks, levelling off \
                   around five solid state disks. The levelling off in figure 2 occurs around 813 \
                   MiByte/s, or 6.82 Gb/s.",
            cells: &["813 MiByte/s"],
            notes: &[],
        },
        Row {
            settings: &[("slot", "x8"), ("disks", "6")],
            configuration: Some("x8"),
            way: ReportedPath::Disks,
            says: "The result of the tests was a levelling off at 980 MiByte/s instead of 813 \
                   MiByte/s. (Section 6: a disk I/O throughput of 8.22 Gb/s with 6 SSD disks.)",
            cells: &["980 MiByte/s"],
            notes: &[(
                "authors-not-sure",
                "its authors: \"At this moment, we are not sure why there is still leveling off in \
                 a x8 slot\"",
            )],
        },
    ],
};

const TWO_CONTROLLERS: Table = Table {
    name: "Sequential read of several SSDs behind two controllers",
    place: "section 3.3",
    common: &[("access", "read"), ("disk-model", "intel-x25-m"), ("filesystem", "btrfs")],
    columns: &[column("throughput_bytes_per_s", Bound::Exact)],
    rows: &[Row {
        settings: &[("card", "perc-6i+areca-1680")],
        configuration: None,
        way: ReportedPath::Disks,
        says: "In order to eliminate the bottleneck of a single RAID controller, two RAID \
               controllers were used. However, this did not result in a better performance. The \
               performance for Btrfs remained the same at 815 MiByte/s, and the performance of ZFS \
               even dropped a little.",
        cells: &["815 MiByte/s"],
        notes: &[(
            "way-not-told",
            "the text tells neither the second controller's slot nor how the disks were dealt out; \
             section 3.5 calls these results inconclusive, with Btrfs yielding higher performance",
        )],
    }],
};

const RATES: Table = Table {
    name: "Peak rates of memory, lanes and chipset",
    place: "sections 2 and 4",
    common: &[],
    columns: &[column("peak_bytes_per_s", Bound::Exact)],
    rows: &[
        elsewhere(&[("label", "memory-channel-ddr3-1333")], &["10667 MB/s"], ""),
        elsewhere(&[("label", "lane-pcie-1.0")], &["250 MB/s"], ""),
        elsewhere(&[("label", "lane-pcie-2.0")], &["500 MB/s"], ""),
        elsewhere(&[("label", "36-lanes-intel-5520")], &["18 GB/s"], ""),
    ],
};

const SLOTS: Table = Table {
    name: "Effective data rates of PCI Express slots",
    place: "table 1",
    common: &[],
    columns: &[column("peak_bytes_per_s", Bound::Exact)],
    rows: &[
        elsewhere(&[("label", "pcie-1.0"), ("slot", "x4")], &["8 Gb/s"], ""),
        elsewhere(&[("label", "pcie-1.0"), ("slot", "x8")], &["16 Gb/s"], ""),
        elsewhere(&[("label", "pcie-2.0"), ("slot", "x4")], &["16 Gb/s"], ""),
        elsewhere(&[("label", "pcie-2.0"), ("slot", "x8")], &["32 Gb/s"], ""),
    ],
};

const fn udp(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
) -> Row {
    let (configuration, way) = (Some("x4"), ReportedPath::Network);
    Row { settings, configuration, way, says: "", cells, notes: &[] }
}

/// Sent by iperf in datagrams of 63 KiB at an MTU of 9000 bytes, all three at once, and dropped at
/// the switch. Slot 1 has four lanes, 2 and 3 have eight.
const UDP: Table = Table {
    name: "UDP throughput of three 10GE cards at once",
    place: "table 2",
    common: &[("card", "intel-e10g41at2")],
    columns: &[column("throughput_bytes_per_s", Bound::Exact)],
    rows: &[
        udp(&[("slot", "1"), ("cpu-pinning", "none")], &["6.74 Gb/s"]),
        udp(&[("slot", "2"), ("cpu-pinning", "none")], &["9.24 Gb/s"]),
        udp(&[("slot", "3"), ("cpu-pinning", "none")], &["9.23 Gb/s"]),
        udp(&[("slot", "1+2+3"), ("cpu-pinning", "none")], &["25.21 Gb/s"]),
        udp(&[("slot", "1"), ("cpu-pinning", "1-3")], &["6.91 Gb/s"]),
        udp(&[("slot", "2"), ("cpu-pinning", "1-3")], &["9.93 Gb/s"]),
        udp(&[("slot", "3"), ("cpu-pinning", "1-3")], &["9.93 Gb/s"]),
        udp(&[("slot", "1+2+3"), ("cpu-pinning", "1-3")], &["26.77 Gb/s"]),
    ],
};

/// Not measured: what the authors expected that 40 Gb/s from disk to network would take.
const EXPECTED: Table = Table {
    name: "What 40 Gb/s from disk to network was expected to take",
    place: "section 6",
    common: &[("label", "expected-for-40-gb-per-s")],
    columns: &[
        column("expected_throughput_bytes_per_s", Bound::Exact),
        column("expected_controllers_min", Bound::Exact),
        column("expected_controllers_max", Bound::Exact),
        column("expected_disks_min", Bound::Exact),
        column("expected_disks_max", Bound::Exact),
        column("expected_nics", Bound::Exact),
    ],
    rows: &[elsewhere(
        &[],
        &["40 Gb/s", "5", "6", "40", "50", "2"],
        "SARA expects to be able to reach 40 Gb/s of network I/O with two dual port PCI Express \
         2.0 x8 NICs. Getting the data from disk with this speed probably requires 5 to 6 PCI \
         Express 2.0 x8 RAID controller cards and 40 to 50 SSD disks.",
    )],
};

const SLIPS: &[Slip] = &[
    Slip {
        place: "section 6",
        printed: "The data rate of a PCI Express 2.0 x8 slot is 16 Gb/s.",
        but: "its own table 1 says 32; 16 Gb/s is what a card of generation 1 gets there, as \
              the PERC 6/i is one",
    },
    Slip {
        place: "section 6",
        printed: "With the PERC RAID controller in a x4 slot the leveling off occurred at around \
                  8.2 Gb/s.",
        but: "that was in the x8 slot; the sentence before it has the 6.8 Gb/s of the x4 slot",
    },
    Slip {
        place: "sections 2 and 4",
        printed: "a PCI Express 1.0 x4 slot for the PERC RAID controller; one x4 PCI Express 2.0 \
                  slot for the PERC controller",
        but: "the same slot is of generation 1 in one and 2 in the other; the link runs at the \
              speed of the card either way, 2.5 GT/s",
    },
    Slip {
        place: "sections 3.4 and 5",
        printed: "Ubuntu 8.10, Linux 2.6.31; Ubuntu 9.10 with a Linux 2.6.31 kernel",
        but: "Linux 2.6.31 came with Ubuntu 9.10",
    },
    Slip {
        place: "section 3.3 and 3.5",
        printed: "The performance for Btrfs remained the same; Btrfs yielding higher performance",
        but: "of the two controllers together both cannot be true",
    },
    Slip {
        place: "table 4",
        printed: "CPU 1: 0.6, 34.6, 0.0, 9.8, 0.0, 0.0, 5.1, 0.0",
        but: "they add up to 50.1 %; every other CPU's to 100 %",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Reported;
    use crate::published::value;

    fn reported() -> Vec<Reported> {
        let records = SET.records().unwrap().into_iter();
        records.map(|r| r.outcome.measurement().unwrap().reported.clone().unwrap()).collect()
    }

    /// The text gives both levels in two units, and the total beside its parts.
    #[test]
    fn figures_that_the_text_prints_twice_agree() {
        let rate = |configuration: &str| {
            let all = reported();
            let of = all.iter().filter(|it| it.configuration.as_deref() == Some(configuration));
            let levels: Vec<f64> = of
                .filter_map(|it| it.rate())
                .filter(|(_, level)| *level)
                .map(|it| it.0.value)
                .collect();
            assert_eq!(levels.len(), 1);
            levels[0]
        };
        for (configuration, printed) in [("x4", "6.82 Gb/s"), ("x8", "8.22 Gb/s")] {
            let ratio = rate(configuration) / value(printed).unwrap();
            assert!((ratio - 1.0).abs() < 1e-3, "{configuration}: {ratio}");
        }
        let all: Vec<f64> = UDP.rows.iter().map(|row| value(row.cells[0]).unwrap()).collect();
        for four in all.chunks(4) {
            assert!((four[..3].iter().sum::<f64>() / four[3] - 1.0).abs() < 1e-3, "{four:?}");
        }
    }

    /// Tables 3 and 4: only one CPU's shares are not 100 %, and that one has a note and a slip.
    #[test]
    fn the_shares_of_each_cpu_add_up_or_say_that_they_do_not() {
        for table in [processors::WITHOUT_PINNING, processors::WITH_PINNING] {
            assert_eq!(table.rows.len(), 8);
            for row in table.rows {
                let sum: f64 = row.cells.iter().map(|cell| value(cell).unwrap()).sum();
                assert_eq!((sum - 100.0).abs() > 0.15, !row.notes.is_empty(), "{row:?}: {sum}");
            }
        }
    }

    #[test]
    fn disagreeing_sentences_are_told_and_not_mended() {
        assert!(
            SLIPS.iter().any(|slip| slip.printed.contains("16 Gb/s") && slip.but.contains("32"))
        );
        let eight = reported().into_iter().filter(|it| it.says.contains("980 MiByte/s")).count();
        assert_eq!(eight, 1);
    }
}
