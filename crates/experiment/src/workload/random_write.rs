//! Small writes anywhere.

use super::Workload;

pub const RANDOM_WRITE: Workload = Workload {
    name: "random-write",
    about: "4 KiB writes anywhere in the files",
    engines: &["file", "sim", "fio"],
    settings: &[("access", "random-write"), ("block-size", "4KiB"), ("queue-depth", "32")],
};
