//! Small reads and writes anywhere.

use super::Workload;

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
