//! *CDF Central Analysis Facility - Server Evaluation*, Fermilab, 2001 and 2002.
//!
//! Servers of 1 to 2 TB that were to deliver data sets to farms of worker nodes, read by N copies
//! of dd at once: "aggregate throughput in MB/s" of files of 512 MB, in blocks of 1M unless told.
//!
//! - `level3-fibre-channel`: a Tyan Thunder LE with two Pentium III at 1 GHz, 256 MB, a QLogic
//!   ISP2200 in a slot of 64 bits and a Chaparral K7413 with eight SCSI disks of 170 GB (1.3 TB);
//!   Linux 2.4.16.
//! - `asa` and `polywell`: two Pentium III at 1 GHz, 1 GB, two 3ware 7850 with eight disks each
//!   (Western Digital, 100 GB, 7200 revolutions a minute); Linux 2.4.2 and 2.4.3, ext2 (as section
//!   Local disk read performance tells).
//! - `rackable-160-gb` and `rackable-100-gb`: an SDS2 board, 512 MB, two 3ware 7850 with six and
//!   seven disks, of Maxtor (160 GB, 5400 revolutions a minute) and then those of `asa`; Linux
//!   2.4.7-10smp with a driver and firmware of 3ware that were beta.
//! - `fcdfcode1`: an Arena Indy 2400 (Ultra 160 SCSI to IDE) with twelve of the Maxtor disks.
//!
//! The link is a fibre between two SysKonnect SK-9843, from `asa` to a client of two Athlons. A
//! server at Duke is described too (two Pentium III at 866 MHz, a 3ware 7800), without a figure.
//!
//! A card `2-3ware-7850` is two of them, read by turns from a directory on each. The text names no
//! slots, so there is no recording of any machine. Where a table prints the columns of another one
//! again, they stand here once. Each test ran once, as far as the text tells, and it bears neither
//! names nor a date: its kernels are of 2001 and 2002.

use super::{Column, Row, Set, Slip, row};
use crate::measurement::reported::{Bound, ReportedPath};

mod disks;
mod network;
mod servers;
mod told;

/// The set.
pub const SET: Set = Set {
    name: "cdf-2002",
    about: "Servers for a physics experiment: arrays, controllers, 1 to 100 readers, TCP and NFS",
    title: "CDF Central Analysis Facility - Server Evaluation",
    by: "CDF, 2002",
    date: "2002",
    host: "asa, polywell, rackable, fcdfcode1",
    configurations: &[],
    tables: &[
        disks::RAID,
        disks::FILE_SYSTEMS,
        servers::ASA,
        servers::POLYWELL,
        servers::RAID_50,
        told::SWAPPING,
        told::PLANNED,
        told::INTEGRITY,
        network::MEMORY,
        told::LINK,
        network::DISK,
        told::SLOW_DISK,
        network::NFS,
        told::MODERATION,
        network::JUMBO,
        told::JUMBO_GAIN,
        network::TUNING,
        network::TUNED,
        told::ROOTD,
        told::TEMPERATURES,
        told::VOLUMES,
        servers::RACKABLE,
        told::MAXTOR,
        told::AGAINST_ASA,
        servers::RACKABLE_100,
        servers::FCDFCODE1,
    ],
    slips: SLIPS,
};

const fn column(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::Exact }
}

const fn about(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::About }
}

const THROUGHPUT: Column = column("throughput_bytes_per_s", "MB/s");

/// A row of a printed table of reading from disks.
const fn read(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
) -> Row {
    Row { way: ReportedPath::Disks, ..row(settings, cells, "") }
}

/// A row of a printed table of what came over a network.
const fn sent(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
) -> Row {
    Row { way: ReportedPath::Network, ..row(settings, cells, "") }
}

const SLIPS: &[Slip] = &[
    Slip {
        place: "section Data Integrity Checks",
        printed: "run overnight; 12000 iterations of a file of 2048 MB; at the level of 2e13 bits",
        but: "12 000 such iterations are 2.1e14 bits, and 61 hours at 118 MB/s; 1 200 are meant",
    },
    Slip {
        place: "section Data Integrity Checks",
        printed: "less than 1 non-recoverable data error per 10E14bits read",
        but: "as a number that is 1e15; makers promise 1e14, and the weeks that the text reckons \
              with are those of 1e14",
    },
    Slip {
        place: "section Data Integrity of the Rackable server",
        printed: "15800 iterations of reading a 1 GB file; ~3e14 bits",
        but: "they are 1.3e14 bits (of 1 GiB 1.4e14); of both arrays twice that, if each read as \
              much",
    },
    Slip {
        place: "section Data Integrity of fcdfcode1",
        printed: "a bit error rate (BER) of < 1/8e13",
        but: "so many bits without error bound the rate to that with 63 % confidence only; with \
              95 % it is 3.7e-14",
    },
    Slip {
        place: "section Throughput of the Rackable server",
        printed: "The Maxtor 100GB drives are 7200 RPM with 2 ms average seek time",
        but: "the drives of 100 GB are Western Digital's in all of the other sections, and no disk \
              of 7200 revolutions a minute seeks in 2 ms on average",
    },
    Slip {
        place: "section Throughput of the Rackable server",
        printed: "25% worse than the ASA server for one read thread; 28% lower RPM",
        but: "by its table 28 % with one controller and 20 % with two; 5400 is 25 % below 7200",
    },
    Slip {
        place: "section Memory-to-Memory",
        printed: "IP packet size(bytes) 1000",
        but: "Ethernet's packets of usual size have 1500 bytes, as all of the other tables say; \
              which was set cannot be told: 67 MB/s at 58k are 1155 bytes an interrupt",
    },
    Slip {
        place: "sections Memory-to-Memory and Disk-to-Memory",
        printed: "TCP packet size(bytes) 10000, 100000",
        but: "no packet of IP with 1000, 1500 or 9000 bytes holds them: it is what the sender \
              hands to the kernel by one call, kept as message-size",
    },
    Slip {
        place: "section Polywell Server",
        printed: "3Ware 7850 8-port Ultra-IDE RAID-5 Controller; 16 WD 100GB",
        but: "a card of eight ports holds eight of them; the other sections tell of two \
              controllers",
    },
    Slip {
        place: "section Rackable 3U Server",
        printed: "RAID 5- 7 drives ( 6 RAID, 1 for OS, boot drive )",
        but: "two arrays of six disks would be alike, but the volumes have 751 and 902 GB, which \
              are as five to six: seven disks are in the second one",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Table, value};

    fn of(table: &Table, settings: &[(&str, &str)]) -> f64 {
        let is = |row: &&Row| settings.iter().all(|it| row.settings.contains(it));
        let mut rows = table.rows.iter().filter(is);
        let (first, second) = (rows.next().unwrap(), rows.next());
        assert!(second.is_none(), "{settings:?}");
        value(first.cells.last().unwrap()).unwrap()
    }

    /// The table of file systems was made "all for Raid 3": its ext2 is the RAID 3 of the other.
    #[test]
    fn raid_3_and_its_ext2_are_the_same_figures() {
        for streams in ["1", "2", "4", "8", "16", "32", "60", "100"] {
            let streams = ("streams", streams);
            let raid = of(&disks::RAID, &[("hardware-raid", "raid3"), streams]);
            assert_eq!(raid, of(&disks::FILE_SYSTEMS, &[("filesystem", "ext2"), streams]));
        }
    }

    /// 118 MB/s are told to be 940 Mb/s.
    #[test]
    fn the_fullest_link_of_the_table_is_the_one_that_the_text_names() {
        let all = network::MEMORY.rows.iter().map(|row| value(row.cells[2]).unwrap());
        assert_eq!(all.fold(0.0, f64::max), value(told::LINK.rows[0].cells[0]).unwrap() / 1e6);
        assert!(told::LINK.rows[0].says.contains("118 MB/s or 940 Mbits/s"));
    }

    /// A slip says by how much the text is off.
    #[test]
    fn the_server_of_slow_disks_lost_what_the_slip_says_and_not_what_the_text_says() {
        let one = [("card", "3ware-7850"), ("streams", "1")];
        let two = [("card", "2-3ware-7850"), ("streams", "1")];
        let lost = |at: &[(&str, &str)]| 1.0 - of(&servers::RACKABLE, at) / of(&servers::ASA, at);
        assert!((lost(&one) - 0.28).abs() < 0.005 && (lost(&two) - 0.20).abs() < 0.006);
        assert!(SLIPS.iter().any(|slip| slip.but.contains("28 % with one controller and 20 %")));
    }

    /// A note says by how much the tables differ from "~30-35%".
    #[test]
    fn jumbo_frames_brought_what_the_note_says() {
        let gain = |streams: &'static str| {
            let two = [("card", "2-3ware-7850"), ("streams", streams)];
            of(&network::JUMBO, &two) / of(&network::NFS, &two[1..]) - 1.0
        };
        let all = ["1", "2", "4", "8", "16", "32", "60"].map(gain);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let least = percent(all.into_iter().fold(f64::MAX, f64::min)).replace(" %", "");
        let most = percent(all.into_iter().fold(0.0, f64::max));
        let said = format!("it is {least} to {most}, and {} with one", percent(all[0]));
        assert!(told::JUMBO_GAIN.rows[0].notes[0].1.contains(&said), "{said}");
    }

    /// Arrays of seven disks and of six hold what six disks and five do.
    #[test]
    fn the_volumes_are_as_six_to_five() {
        let of = |row: usize| value(told::VOLUMES.rows[row].cells[0]).unwrap();
        assert!((of(1) / of(0) - 6.0 / 5.0).abs() < 0.002);
    }
}
