//! Bytes from the memory, or the files, of one end of a network to the memory of the other.

use super::Workload;

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
