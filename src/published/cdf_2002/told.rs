//! Figures that stand in sentences.

use super::super::{Row, Table};
use super::{THROUGHPUT, about, column, row};
use crate::measurement::reported::Bound;
use crate::published::Column;

const fn up_to(name: &'static str, unit: &'static str) -> Column {
    Column { name, unit, bound: Bound::UpTo }
}

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
        about("bits_read", ""),
        up_to("bit_error_rate", ""),
        up_to("promised_bit_error_rate", ""),
    ],
    rows: &[
        Row {
            notes: NOT_OVERNIGHT,
            ..row(
                &[("label", "integrity-of-asa"), ("file-size", "2GiB")],
                &["12000", "2e13", "", ""],
                "The script completed 12000 iterations of reading a random-byte file. This probed \
                 data integrity at the level of 2e13 bits without seeing any bit errors.",
            )
        },
        row(
            &[("label", "promise-of-maxtor")],
            &["", "", "", "1/10E14"],
            "Maxtor claims about their drives that they have less than 1 non-recoverable data \
             error per 10E14bits read.",
        ),
        row(
            &[("label", "integrity-of-rackable")],
            &["15800", "3e14", "", ""],
            "15800 iterations of reading a 1 GB file from the IDE RAID arrays without any bit \
             errors (nearly one week of running on both arrays). This corresponds to ~3e14 bits \
             read without error.",
        ),
        row(
            &[("label", "integrity-of-fcdfcode1")],
            &["1100", "", "1/8e13", ""],
            "we have successfully read an 8GB file >1100 times with no data bit errors. This \
             correponds to a bit error rate (BER) of < 1/8e13.",
        ),
    ],
};

pub const LINK: Table = Table {
    name: "The full bandwidth of the gigabit link",
    place: "section Memory-to-Memory",
    common: &[],
    columns: &[column("full_bandwidth_bytes_per_s", "")],
    rows: &[row(
        &[("label", "gigabit-link")],
        &["118 MB/s"],
        "we are only able to get near the full bandwidth of the gigabit link (118 MB/s or 940 \
         Mbits/s) with so called \"Jumbo Frames\" (9000 byte IP packets).",
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

pub const MODERATION: Table = Table {
    name: "Clients behind a switch, one interrupt for each packet",
    place: "section Interrupt Moderation",
    common: &[],
    columns: &[about("throughput_bytes_per_s", "MB/s"), column("server_cpu_share", "%")],
    rows: &[row(
        &[("label", "clients-behind-a-switch")],
        &["45", "100"],
        "simultaneous clients accessing data on the server would max out the throughput at ~45 \
         MB/s with 100% server CPU utilization.",
    )],
};

pub const GAINS: Table = Table {
    name: "What interrupt moderation and jumbo frames brought, as the text sums up",
    place: "sections Interrupt Moderation and Attempts at NFS Optimization",
    common: &[],
    columns: &[column("lowest_gain_share", "%"), column("highest_gain_share", "%")],
    rows: &[
        row(
            &[("label", "interrupt-moderation")],
            &["5", "10"],
            "enabling DIM increases aggregate dd read throughput to simultaneous client by 5-10%, \
             and decreases CPU utilization and interrupt rate as expected.",
        ),
        row(
            &[("label", "jumbo-frames-on-nfs")],
            &["30", "35"],
            "Notice that we see ~30-35% increase in throughput for 512 MB file reads over NFS.",
        ),
    ],
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

pub const VOLUMES: Table = Table {
    name: "The volumes of the Rackable server",
    place: "section Throughput of the Rackable server",
    common: &[("filesystem", "ext3")],
    columns: &[column("capacity_bytes", "GB")],
    rows: &[
        row(&[("label", "first-volume-of-rackable")], &["751"], VOLUMES_SAY),
        row(&[("label", "second-volume-of-rackable")], &["902"], VOLUMES_SAY),
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
