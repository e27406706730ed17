//! Small reads anywhere.

use super::Workload;

pub const RANDOM_READ: Workload = Workload {
    name: "random-read",
    about: "4 KiB reads anywhere in the files, as a database does",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "random-read"), ("block-size", "4KiB"), ("queue-depth", "32")],
};
