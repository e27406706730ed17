//! Bytes from the memory of one end of a network to that of the other.

use super::Workload;

pub const TCP_STREAM: Workload = Workload {
    name: "tcp-stream",
    about: "TCP from memory to memory, as fast as it goes",
    engines: &["net"],
    settings: &[("warm-up", "1s")],
};
