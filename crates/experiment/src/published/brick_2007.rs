//! Harry Mangalam, *The Storage Brick*, University of California at Irvine, 2007.
//!
//! A chassis of three units with four Opteron cores, 8 GB of memory and 16 Seagate SATA disks of
//! 500 GB behind one of four controllers: Areca ARC-1220 (8 ports) and ARC-1261ML (16 ports), 3ware
//! 9650SE with 8 and with 16 ports. Linux 2.6.20-15, 64 bits (Kubuntu Feisty). The slots are not
//! told, so there is no recording of the machine. The data were published apart from the text and
//! the pictures are lost: of the data, the five rows that the text prints remain; what its
//! sentences say of the rest is here and cannot be reckoned again.

use super::{Column, Row, Set, row};
use crate::measurement::reported::{Bound, ReportedPath};

mod money;
mod slips;
mod streams;
mod times;
mod top20;

/// The set.
pub const SET: Set = Set {
    name: "brick-2007",
    about: "Cheap storage for a university: four RAID cards, four file systems, seven tests",
    title: "The Storage Brick",
    by: "Mangalam, 2007",
    date: "2007",
    host: "Storage Brick",
    configurations: &[],
    tables: &[
        money::PER_GB,
        money::SYSTEMS_PER_GB,
        money::SYSTEMS,
        money::CAPACITIES,
        money::LANES,
        streams::WRITTEN,
        streams::READ,
        streams::SMALL,
        streams::XFS_ABOVE,
        streams::XFS_ABOUT,
        times::TABLE,
        times::MKFS_ABOUT,
        times::MKFS_UP_TO,
        times::MKFS_RATIOS,
        times::MOUNT,
        times::GAINS,
        times::FAILURES,
        top20::TIMES,
        top20::BEST_TIMES,
        top20::RATES,
        top20::READ_AHEAD,
        top20::KERNEL,
        top20::NCECAT,
        top20::IOZONE,
        top20::BONNIE,
        top20::TOP_50,
    ],
    slips: slips::SLIPS,
};

const fn column(name: &'static str, unit: &'static str, bound: Bound) -> Column {
    Column { name, unit, bound }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Table;

    fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> u32 {
        rows.map(|row| row.cells[0].parse::<u32>().unwrap()).sum()
    }

    /// Where the text tells all file systems of its 20 fastest, they are 20; but once: a slip.
    #[test]
    fn the_file_systems_of_the_20_fastest_are_20_but_where_a_slip_says_otherwise() {
        let test = |table: &'static Table, label: &'static str| {
            let of = move |row: &&Row| row.settings.contains(&("label", label));
            let one = |row: &&Row| row.settings.iter().any(|(name, _)| *name == "filesystem");
            sum(table.rows.iter().filter(of).filter(one))
        };
        assert_eq!(test(&top20::NCECAT, "ncecat-0.5-gb"), 21);
        assert!(slips::SLIPS.iter().any(|slip| slip.but.contains("21")));
        assert_eq!(test(&top20::NCECAT, "ncecat-8-gb"), 20);
        assert_eq!(test(&top20::IOZONE, "iozone"), 20);
        for label in
            ["char-read", "block-read", "char-write", "block-write-8-gb", "block-write-0.5-gb"]
        {
            assert_eq!(test(&top20::BONNIE, label), 20, "{label}");
        }
    }

    /// The text prints 0.0 for what was not run: no time is 0, and every hole says why it is one.
    #[test]
    fn what_was_not_run_has_no_figure_and_a_note() {
        let mut holes = 0;
        for row in times::TABLE.rows {
            assert!(row.cells.iter().all(|cell| *cell != "0.0"));
            let empty = row.cells.iter().filter(|cell| cell.is_empty()).count();
            let noted = row.notes.iter().any(|(kind, _)| kind.ends_with("not-run"));
            assert_eq!(empty > 0, noted, "{row:?}");
            assert_eq!(empty, row.says.matches("|0.0").count(), "{row:?}");
            holes += empty;
        }
        assert_eq!(holes, 6);
    }
}
