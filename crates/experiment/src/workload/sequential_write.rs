//! Writing files from one end to the other.

use super::Workload;

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
