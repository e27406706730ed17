//! Figures that stand in sentences.

use super::super::{Row, Table};
use super::{THROUGHPUT, about, column, row};
use crate::measurement::reported::Bound;
use crate::published::Column;

const fn up_to(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::UpTo }
}

const fn above(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::Above }
}

pub const PLANNED: Table = Table {
    name: "What shall be bought",
    place: "section Data Integrity Checks",
    common: &[],
    columns: &[column("servers", ""), about("disks_of_all_servers", "")],
    rows: &[row(
        &[("label", "all-servers")],
        &["100", "1600"],
        "With the very large numbers of disks to contend with in a 100 server (~1600), data \
         integrity issues become a concern.",
    )],
};

const NOT_OVERNIGHT: &[(&str, &str)] = &[(
    "not-overnight",
    "12 000 iterations of 2 GiB are 2.1e14 bits and take 61 hours at 118 MB/s; 1 200 are meant",
)];

pub const INTEGRITY: Table = Table {
    name: "Files read over and over against their checksum, without an error",
    place: "sections Data Integrity Checks and Data Integrity",
    common: &[],
    columns: &[
        column("iterations", ""),
        above("iterations", ""),
        about("bits_read", ""),
        up_to("bit_error_rate", ""),
        up_to("promised_bit_error_rate", ""),
    ],
    rows: &[
        Row {
            notes: NOT_OVERNIGHT,
            ..row(
                &[("label", "integrity-of-asa"), ("file-size", "2GiB")],
                &["12000", "", "2e13", "", ""],
                "The script completed 12000 iterations of reading a random-byte file. This file \
                 was created with dd if=/dev/urandom of=./random.dat bs=1M count=2048 This probed \
                 data integrity at the level of 2e13 bits without seeing any bit errors.",
            )
        },
        row(
            &[("label", "promise-of-maxtor")],
            &["", "", "", "", "1/10E14"],
            "Maxtor claims about their drives that they have less than 1 non-recoverable data \
             error per 10E14bits read.",
        ),
        row(
            &[("label", "integrity-of-rackable"), ("file-size", "1GiB")],
            &["15800", "", "3e14", "", ""],
            "15800 iterations of reading a 1 GB file from the IDE RAID arrays without any bit \
             errors (nearly one week of running on both arrays). This corresponds to ~3e14 bits \
             read without error.",
        ),
        row(
            &[("label", "integrity-of-fcdfcode1"), ("file-size", "8GiB")],
            &["", "1100", "", "1/8e13", ""],
            "we have successfully read an 8GB file >1100 times with no data bit errors. This \
             correponds to a bit error rate (BER) of < 1/8e13.",
        ),
    ],
};

const LINK_SAYS: &str = "we are only able to get near the full bandwidth of the gigabit link (118 \
                         MB/s or 940 Mbits/s) with so called \"Jumbo Frames\" (9000 byte IP \
                         packets).";

pub const LINK: Table = Table {
    name: "The full bandwidth of the gigabit link",
    place: "section Memory-to-Memory",
    common: &[],
    columns: &[column("full_bandwidth_bytes_per_s", "")],
    rows: &[
        row(&[("label", "gigabit-link")], &["118 MB/s"], LINK_SAYS),
        row(&[("label", "gigabit-link-in-bits")], &["940 Mbits/s"], LINK_SAYS),
    ],
};

pub const SWAPPING: Table = Table {
    name: "Readers at which the server of 1 GB began to swap",
    place: "section Raid 50 - Striping Across Raid 5 Arrays",
    common: &[],
    columns: &[column("swapping_from_streams", "")],
    rows: &[row(
        &[("label", "polywell-swapping"), ("raid", "raid0"), ("hardware-raid", "raid5")],
        &["60"],
        "In fact, we started swapping in and out the dd threads starting at 60 simultaneous \
         threads on our 1GB RAM system, which caused incorrect results (this is why they're not \
         shown).",
    )],
};

pub const SLOW_DISK: Table = Table {
    name: "The disks while the way from disk to memory was measured",
    place: "section Disk-to-Memory",
    common: &[],
    columns: &[about("local_throughput_bytes_per_s", "MB/s")],
    rows: &[row(
        &[("label", "asa-during-disk-to-memory")],
        &["70"],
        "we were only getting approximately 70 MB/s for local disk reads, rather than the 83 MB/s \
         previously shown",
    )],
};

/// The driver is told how many interrupts the card may make in a second; no more of 200 than that
/// throughput fell is told.
pub const MODERATION: Table = Table {
    name: "Clients behind a switch, and fewer interrupts",
    place: "section Interrupt Moderation",
    common: &[],
    columns: &[
        about("throughput_bytes_per_s", "MB/s"),
        column("server_cpu_share", "%"),
        about("interrupts_per_packet", ""),
        column("lowest_gain_share", "%"),
        column("highest_gain_share", "%"),
        column("highest_harmless_interrupts_per_s", "/sec"),
        column("lowest_harmless_interrupts_per_s", "/sec"),
        column("harmful_interrupts_per_s", "/sec"),
    ],
    rows: &[
        row(
            &[("label", "clients-behind-a-switch")],
            &["45", "100", "", "", "", "", "", ""],
            "simultaneous clients (here, truly multiple clients connected to the server through a \
             Cisco 2950 switch - FE client connection, Gigabit server connection) accessing data \
             on the server would max out the throughput at ~45 MB/s with 100% server CPU \
             utilization.",
        ),
        row(
            &[("label", "without-interrupt-moderation")],
            &["", "", "1", "", "", "", "", ""],
            "the gigabit card was issuing ~1 CPU interrupt per IP packet sent along the PCI bus.",
        ),
        row(
            &[("label", "interrupt-moderation")],
            &["", "", "", "5", "10", "", "", ""],
            "enabling DIM increases aggregate dd read throughput to simultaneous client by 5-10%, \
             and decreases CPU utilization and interrupt rate as expected.",
        ),
        row(
            &[("label", "interrupt-moderation-by-rate")],
            &["", "", "", "", "", "15000", "1000", "200"],
            "This increase in throughput was fairly insensitive to the number of interrupts per \
             second specified in the device driver over a range of 15000 to 1000 int/sec, however \
             throughput decrease if this was made too small (200 int/sec was tested) due to \
             increased packet latency.",
        ),
    ],
};

const BY_TABLES: &[(&str, &str)] = &[(
    "more-by-its-tables",
    "by the text's tables of two controllers it is 27 to 57 %, and 29 % with one reader",
)];

pub const JUMBO_GAIN: Table = Table {
    name: "What jumbo frames brought, as the text sums up",
    place: "section Attempts at NFS Optimization",
    common: &[],
    columns: &[about("lowest_gain_share", "%"), about("highest_gain_share", "%")],
    rows: &[Row {
        notes: BY_TABLES,
        ..row(
            &[("label", "jumbo-frames-on-nfs")],
            &["30", "35"],
            "Notice that we see ~30-35% increase in throughput for 512 MB file reads over NFS.",
        )
    }],
};

const ROOTD_SAYS: &str = "The maximum read throughput we were able to get reading a root file over \
                          rootd was 51 MB/s local I/O and 36 MB/s over gigabit ethernet";

pub const ROOTD: Table = Table {
    name: "A file over rootd",
    place: "section rootd",
    common: &[],
    columns: &[THROUGHPUT],
    rows: &[
        row(&[("label", "rootd-on-the-same-machine")], &["51"], ROOTD_SAYS),
        row(&[("label", "rootd-over-the-link")], &["36"], ROOTD_SAYS),
    ],
};

pub const TEMPERATURES: Table = Table {
    name: "Disks after a night under load",
    place: "section Cooling considerations",
    common: &[],
    columns: &[
        column("lowest_temperature_deg_f", ""),
        column("highest_temperature_deg_f", ""),
        about("concern_from_temperature_deg_f", ""),
    ],
    rows: &[row(
        &[("label", "disks-of-rackable")],
        &["82", "85", "90"],
        "The disks varied in temperature from 82 to 85 deg F, similar to the ASA and Polywell and \
         reasonably well below the point at which one might become concerned (roughly 90F as a \
         general rule of thumb).",
    )],
};

const VOLUMES_SAY: &str = "Two separate ext3 volumes (751GB and 902GB) used for benchmarking, one \
                           for each 3ware controller";

const SEVEN_DISKS: &[(&str, &str)] = &[(
    "seven-disks",
    "902 is to 751 as six is to five: RAID 5 of seven disks and of six, though one of these \
     is said to be the system's alone",
)];

pub const VOLUMES: Table = Table {
    name: "The volumes of the Rackable server",
    place: "section Throughput of the Rackable server",
    common: &[("filesystem", "ext3")],
    columns: &[column("capacity_bytes", "GB")],
    rows: &[
        row(&[("label", "first-volume-of-rackable")], &["751"], VOLUMES_SAY),
        Row {
            notes: SEVEN_DISKS,
            ..row(&[("label", "second-volume-of-rackable")], &["902"], VOLUMES_SAY)
        },
    ],
};

const MAXTOR_SAYS: &str = "The Maxtor 100GB drives are 7200 RPM with 2 ms average seek time \
                           whereas the 160GB drives are 5400 RPM with 12 ms average seek time.";

const DOUBTED: &[(&str, &str)] = &[(
    "doubtful",
    "in all of the other sections the disks of 100 GB are Western Digital's, and no disk of 7200 \
     revolutions a minute seeks in 2 ms on average",
)];

/// What makers say of two disks.
pub const MAXTOR: Table = Table {
    name: "Two disks as their makers describe them",
    place: "section Throughput of the Rackable server",
    common: &[],
    columns: &[column("revolutions_per_minute", ""), column("mean_seek_s", "ms")],
    rows: &[
        Row { notes: DOUBTED, ..row(&[("label", "disk-of-100-gb")], &["7200", "2"], MAXTOR_SAYS) },
        row(&[("label", "disk-of-160-gb")], &["5400", "12"], MAXTOR_SAYS),
    ],
};

const AGAINST_SAYS: &str = "the Rackable server read throughput is 25% worse than the ASA server \
                            for one read thread, which is consistent with the 28% lower RPM for \
                            the 160GB Maxtor disks. The throughput decrease for the Rackable \
                            server becomes more substantial as the number of threads increases, \
                            becoming a factor of 2-3 at the highest threading.";

pub const AGAINST_ASA: Table = Table {
    name: "The Rackable server against the ASA server, as the text sums up",
    place: "section Throughput of the Rackable server",
    common: &[],
    columns: &[
        column("lost_share", "%"),
        column("lost_revolutions_share", "%"),
        column("lowest_lost_factor", ""),
        column("highest_lost_factor", ""),
    ],
    rows: &[
        row(
            &[("label", "rackable-against-asa"), ("streams", "1")],
            &["25", "28", "", ""],
            AGAINST_SAYS,
        ),
        row(
            &[("label", "rackable-against-asa"), ("streams", "100")],
            &["", "", "2", "3"],
            AGAINST_SAYS,
        ),
    ],
};
