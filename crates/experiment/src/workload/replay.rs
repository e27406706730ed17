//! What a file server does to its disks.

use super::Workload;

pub const REPLAY: Workload = Workload {
    name: "replay",
    about: "What clients of a file server ask of its disks, replayed from a loadfile of dbench",
    engines: &["replay"],
    settings: &[("warm-up", "2s")],
};
