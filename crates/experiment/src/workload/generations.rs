//! What is written is read back, and written over, over and over.

use super::Workload;

pub const GENERATIONS: Workload = Workload {
    name: "generations",
    about: "Files written, read back in order and at random, and partly written over, all checked",
    engines: &["integrity"],
    settings: &[("verify", "crc32c"), ("block-size", "1MiB")],
};
