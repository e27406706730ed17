//! Reading files from one end to the other.

use super::Workload;

pub const SEQUENTIAL_READ: Workload = Workload {
    name: "sequential-read",
    about: "Large reads from one end to the other, as a file server or a backup does",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "read"), ("block-size", "1MiB"), ("queue-depth", "16")],
};
