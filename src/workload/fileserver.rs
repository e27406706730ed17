//! What a file server does to its disks.

use super::Workload;

pub const FILESERVER: Workload = Workload {
    name: "fileserver",
    about: "What clients of a file server ask of its disks, replayed from a loadfile of dbench",
    engines: &["replay"],
    settings: &[("warm-up", "2s")],
};
