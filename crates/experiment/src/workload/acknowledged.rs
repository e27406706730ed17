//! What is flushed must survive a power cut.

use super::Workload;

pub const ACKNOWLEDGED: Workload = Workload {
    name: "acknowledged",
    about: "Blocks written over at random, each flushed and noted in a log elsewhere",
    engines: &["flush-test"],
    settings: &[("verify", "crc32c"), ("block-size", "4KiB")],
};
