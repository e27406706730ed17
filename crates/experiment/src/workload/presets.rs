//! What the engines of our own do: one preset each.

use super::Workload;

pub const SEQUENTIAL_READ: Workload = Workload {
    name: "sequential-read",
    about: "Large reads from one end to the other, as a file server or a backup does",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "read"), ("block-size", "1MiB"), ("queue-depth", "16")],
};

pub const SEQUENTIAL_WRITE: Workload = Workload {
    name: "sequential-write",
    about: "Large writes from one end to the other, durable at the end",
    engines: &["file", "sim", "fio"],
    settings: &[
        ("access", "write"),
        ("block-size", "1MiB"),
        ("queue-depth", "16"),
        ("fsync", "end"),
    ],
};

pub const RANDOM_READ: Workload = Workload {
    name: "random-read",
    about: "4 KiB reads anywhere in the files, as a database does",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "random-read"), ("block-size", "4KiB"), ("queue-depth", "32")],
};

pub const RANDOM_WRITE: Workload = Workload {
    name: "random-write",
    about: "4 KiB writes anywhere in the files",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "random-write"), ("block-size", "4KiB"), ("queue-depth", "32")],
};

pub const MIXED: Workload = Workload {
    name: "mixed",
    about: "4 KiB, seven reads to three writes, anywhere in the files",
    engines: &["file", "sim", "fio"],
    settings: &[
        ("access", "random-mix"),
        ("read-share", "0.7"),
        ("block-size", "4KiB"),
        ("queue-depth", "32"),
    ],
};

pub const GENERATIONS: Workload = Workload {
    name: "generations",
    about: "Files written, read back in order and at random, and partly written over, all checked",
    engines: &["integrity"],
    settings: &[("verify", "crc32c"), ("block-size", "1MiB")],
};

pub const ACKNOWLEDGED: Workload = Workload {
    name: "acknowledged",
    about: "Blocks written over at random, each flushed and noted in a log elsewhere",
    engines: &["flush-test"],
    settings: &[("verify", "crc32c"), ("block-size", "4KiB")],
};

pub const REPLAY: Workload = Workload {
    name: "replay",
    about: "What clients of a file server ask of its disks, replayed from a loadfile of dbench",
    engines: &["replay"],
    settings: &[("warm-up", "2s")],
};

pub const MAILBOX: Workload = Workload {
    name: "mailbox",
    about: "Small files created, appended to, read and deleted, as a mail server does (postmark)",
    engines: &["mail"],
    settings: &[("warm-up", "2s"), ("block-size", "4KiB")],
};

pub const SQLITE: Workload = Workload {
    name: "sqlite",
    about: "Transactions of a bank on SQLite, each made durable (TPC-B's profile)",
    engines: &["database"],
    settings: &[("warm-up", "2s")],
};

pub const TCP_STREAM: Workload = Workload {
    name: "tcp-stream",
    about: "TCP from memory to memory, as fast as it goes",
    engines: &["net"],
    settings: &[("warm-up", "1s")],
};

pub const FILE_STREAM: Workload = Workload {
    name: "file-stream",
    about: "Files from a disk over TCP to their readers, cold, as fast as they go",
    engines: &["net-file"],
    settings: &[("warm-up", "1s"), ("direct", "false")],
};

pub const UDP_STREAM: Workload = Workload {
    name: "udp-stream",
    about: "Datagrams from memory to memory, at a rate or as fast as it goes",
    engines: &["net-udp"],
    settings: &[("warm-up", "1s")],
};

pub const CONCATENATE: Workload = Workload {
    name: "concatenate",
    about: "Large netCDF files read, rearranged and written as one (ncecat)",
    engines: &["concat"],
    settings: &[("files", "8"), ("file-size", "256MiB"), ("block-size", "16MiB")],
};

pub const COMMAND: Workload = Workload {
    name: "command",
    about: "Any program, timed, `streams` copies at once: command='...'",
    engines: &["command"],
    settings: &[],
};

/// The fifth source's kernel compile, of a tree that every machine has: what it asks of storage is
/// many small files read and written. Durable with `sync`, which is timed with it.
pub const COMPILE: Workload = Workload {
    name: "compile",
    about: "2000 C files compiled by make, as many at once as processors, and made durable",
    engines: &["command"],
    settings: &[
        ("shell", "true"),
        (
            "prepare",
            "if ! command -v make >/dev/null || ! command -v cc >/dev/null; then \
             echo 'make and a C compiler are not installed here: apt-get install build-essential' \
             >&2; exit 77; fi; \
             {brickyard} generate sources --out {directory}/tree --files 2000 && \
             sync -f {directory}",
        ),
        (
            "command",
            "make --silent --directory={directory}/tree --jobs={cpus} && \
             sync -f {directory}/tree",
        ),
        ("cleanup", "rm -rf {directory}/tree"),
        ("timeout", "1h"),
    ],
};
