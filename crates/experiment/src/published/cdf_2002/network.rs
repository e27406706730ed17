//! Over a gigabit link: from memory, from disk through a socket, by NFS, and what tunes it.

use super::super::{Column, Row, Table};
use super::{THROUGHPUT, column, sent};

const INTERRUPTS: Column = column("interrupts_per_s", "/s");
const SWITCHES: Column = column("context_switches_per_s", "/s");

/// Interrupts and context switches are the receiver's, by `vmstat 5`.
pub const MEMORY: Table = Table {
    name: "TCP from memory to memory by packet and message",
    place: "section Memory-to-Memory",
    common: &[("label", "memory-to-memory")],
    columns: &[INTERRUPTS, SWITCHES, THROUGHPUT],
    rows: &[
        sent(&[("mtu", "1000"), ("message-size", "10B")], &["34k", "34k", "7"]),
        sent(&[("mtu", "1000"), ("message-size", "100B")], &["41k", "41k", "70"]),
        sent(&[("mtu", "1000"), ("message-size", "1000B")], &["58k", "85", "67"]),
        sent(&[("mtu", "1000"), ("message-size", "10000B")], &["58k", "100", "67"]),
        sent(&[("mtu", "1000"), ("message-size", "100000B")], &["56k", "200", "67"]),
        sent(&[("mtu", "9000"), ("message-size", "10B")], &["32k", "32k", "8"]),
        sent(&[("mtu", "9000"), ("message-size", "100B")], &["19k", "13k", "71"]),
        sent(&[("mtu", "9000"), ("message-size", "1000B")], &["20k", "15k", "118"]),
        sent(&[("mtu", "9000"), ("message-size", "10000B")], &["21k", "15k", "118"]),
        sent(&[("mtu", "9000"), ("message-size", "100000B")], &["21k", "15k", "118"]),
    ],
};

/// From a local file of the ASA server, read into a buffer and sent.
pub const DISK: Table = Table {
    name: "TCP from disk to memory by packet and message",
    place: "section Disk-to-Memory",
    common: &[("label", "asa-disk-to-memory")],
    columns: &[INTERRUPTS, SWITCHES, THROUGHPUT],
    rows: &[
        sent(&[("mtu", "1500"), ("message-size", "100B")], &["38k", "42k", "30"]),
        sent(&[("mtu", "1500"), ("message-size", "1000B")], &["42k", "5k", "65"]),
        sent(&[("mtu", "1500"), ("message-size", "10000B")], &["39k", "4k", "46"]),
        sent(&[("mtu", "1500"), ("message-size", "100000B")], &["33k", "3k", "44"]),
        sent(&[("mtu", "9000"), ("message-size", "100B")], &["12k", "11k", "43"]),
        sent(&[("mtu", "9000"), ("message-size", "1000B")], &["15k", "14k", "63"]),
        sent(&[("mtu", "9000"), ("message-size", "10000B")], &["13k", "10k", "62"]),
        sent(&[("mtu", "9000"), ("message-size", "100000B")], &["10k", "7k", "58"]),
    ],
};

const NO_FIGURE: &[(&str, &str)] = &[("no-figure", "a dash stands in the place of the throughput")];

/// Linux 2.4.3 on the server, "no mount options": buffers of 8k and UDP are its defaults, as the
/// section Attempts at NFS Optimization tells.
pub const NFS: Table = Table {
    name: "NFS from the ASA server, both ends",
    place: "section NFS Performance",
    common: &[
        ("label", "asa"),
        ("access", "read"),
        ("file-size", "512MiB"),
        ("block-size", "1MiB"),
        ("card", "2-3ware-7850"),
        ("hardware-raid", "raid5"),
        ("disk-model", "wd-100-gb-7200"),
        ("nfs-read-size", "8KiB"),
        ("nfs-transport", "udp"),
        ("interface-mtu", "1500"),
    ],
    columns: &[
        column("client_cpu_share", "%"),
        column("client_interrupts_per_s", "/s"),
        column("client_context_switches_per_s", "/s"),
        column("server_cpu_share", "%"),
        column("server_interrupts_per_s", "/s"),
        column("server_context_switches_per_s", "/s"),
        THROUGHPUT,
    ],
    rows: &[
        sent(&[("streams", "1")], &["34", "10k", "12k", "50", "10k", "20k", "34"]),
        sent(&[("streams", "2")], &["24", "5k", "9k", "31", "6k", "10k", "42"]),
        sent(&[("streams", "4")], &["27", "6k", "15k", "31", "8k", "12k", "35"]),
        sent(&[("streams", "8")], &["32", "6k", "32k", "30", "9k", "14k", "27"]),
        sent(&[("streams", "16")], &["25", "5k", "40k", "16", "6k", "9k", "23"]),
        sent(&[("streams", "32")], &["31", "4k", "55k", "10", "2k", "5k", "11"]),
        sent(&[("streams", "60")], &["67", "3k", "72k", "8", "3k", "4k", "7"]),
        Row {
            notes: NO_FIGURE,
            ..sent(&[("streams", "100")], &["98", "1k", "63k", "5", "2k", "3k", ""])
        },
    ],
};

pub const JUMBO: Table = Table {
    name: "NFS from the ASA server with jumbo frames",
    place: "section Attempts at NFS Optimization",
    common: &[
        ("label", "asa"),
        ("access", "read"),
        ("file-size", "512MiB"),
        ("block-size", "1MiB"),
        ("hardware-raid", "raid5"),
        ("disk-model", "wd-100-gb-7200"),
        ("nfs-read-size", "8KiB"),
        ("nfs-transport", "udp"),
        ("interface-mtu", "9000"),
    ],
    columns: &[THROUGHPUT],
    rows: &[
        sent(&[("card", "3ware-7850"), ("streams", "1")], &["47"]),
        sent(&[("card", "3ware-7850"), ("streams", "2")], &["28"]),
        sent(&[("card", "3ware-7850"), ("streams", "4")], &["19"]),
        sent(&[("card", "3ware-7850"), ("streams", "8")], &["17"]),
        sent(&[("card", "3ware-7850"), ("streams", "16")], &["11"]),
        sent(&[("card", "3ware-7850"), ("streams", "32")], &["8"]),
        sent(&[("card", "3ware-7850"), ("streams", "60")], &["7"]),
        Row { notes: NO_FIGURE, ..sent(&[("card", "3ware-7850"), ("streams", "100")], &[""]) },
        sent(&[("card", "2-3ware-7850"), ("streams", "1")], &["44"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "2")], &["54"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "4")], &["45"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "8")], &["37"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "16")], &["30"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "32")], &["14"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "60")], &["11"]),
        sent(&[("card", "2-3ware-7850"), ("streams", "100")], &["10"]),
    ],
};

/// Linux 2.4.17 with patches for NFS over TCP. How many readers there were is not told; the window
/// is what net.core.rmem_default and rmem_max were set to, 64k unless told.
pub const TUNING: Table = Table {
    name: "NFS by its buffer, packet, protocol and socket window",
    place: "section Attempts at NFS Optimization, second table",
    common: &[("label", "asa-2.4.17-patched")],
    columns: &[THROUGHPUT],
    rows: TRIED,
};

const TRIED: &[Row] = &[
    sent(
        &[
            ("nfs-read-size", "8KiB"),
            ("interface-mtu", "1500"),
            ("nfs-transport", "udp"),
            ("socket-buffer-max", "as-is"),
        ],
        &["34"],
    ),
    sent(
        &[
            ("nfs-read-size", "32KiB"),
            ("interface-mtu", "1500"),
            ("nfs-transport", "udp"),
            ("socket-buffer-max", "as-is"),
        ],
        &["47"],
    ),
    sent(
        &[
            ("nfs-read-size", "8KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "udp"),
            ("socket-buffer-max", "as-is"),
        ],
        &["47"],
    ),
    sent(
        &[
            ("nfs-read-size", "8KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "tcp"),
            ("socket-buffer-max", "as-is"),
        ],
        &["35"],
    ),
    sent(
        &[
            ("nfs-read-size", "32KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "tcp"),
            ("socket-buffer-max", "as-is"),
        ],
        &["56"],
    ),
    sent(
        &[
            ("nfs-read-size", "32KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "tcp"),
            ("socket-buffer-max", "256KiB"),
        ],
        &["56"],
    ),
    sent(
        &[
            ("nfs-read-size", "32KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "tcp"),
            ("socket-buffer-max", "1MiB"),
        ],
        &["55"],
    ),
    sent(
        &[
            ("nfs-read-size", "32KiB"),
            ("interface-mtu", "9000"),
            ("nfs-transport", "tcp"),
            ("socket-buffer-max", "4MiB"),
        ],
        &["56"],
    ),
];

pub const TUNED: Table = Table {
    name: "NFS tuned, from two controllers",
    place: "section Attempts at NFS Optimization, third table",
    common: &[
        ("label", "asa-2.4.17-patched"),
        ("access", "read"),
        ("file-size", "512MiB"),
        ("block-size", "1MiB"),
        ("card", "2-3ware-7850"),
        ("hardware-raid", "raid5"),
        ("disk-model", "wd-100-gb-7200"),
        ("nfs-read-size", "32KiB"),
        ("nfs-transport", "udp"),
        ("interface-mtu", "9000"),
    ],
    columns: &[THROUGHPUT],
    rows: &[
        sent(&[("streams", "1")], &["55"]),
        sent(&[("streams", "2")], &["72"]),
        sent(&[("streams", "4")], &["63"]),
        sent(&[("streams", "8")], &["69"]),
        sent(&[("streams", "16")], &["52"]),
        sent(&[("streams", "32")], &["33"]),
        sent(&[("streams", "60")], &["26"]),
        sent(&[("streams", "100")], &["19"]),
    ],
};
