//! What a load over a network takes of this machine.

use super::job::NetJob;
use crate::engine::Error;
use crate::engine::load::room;
use host::sys::Host;

/// Socket buffers of one connection that the kernel may fill, bytes (net.ipv4.tcp_rmem and
/// tcp_wmem, as they come).
const SOCKETS_BYTES: u64 = 10 << 20;

/// Refuses what does not fit into the machine.
///
/// # Errors
/// `Unsupported`, with what would fit.
pub fn check_room(job: &NetJob) -> Result<(), Error> {
    let (host, streams) = (Host::live(), job.streams);
    let helpers = job.helpers();
    room::check_threads(&host, (2 + helpers) * streams)?;
    let buffers = (1 + job.depth.max(1) as u64) * job.message_bytes as u64;
    // A helper's pipe holds as much as a thread needs and more: pages of the file, which it reads.
    let threads = (2 + helpers as u64) * room::THREAD_BYTES;
    let each = threads + SOCKETS_BYTES + buffers;
    room::check_memory(&host, streams, each)?;
    room::check_descriptors(3 * ((1 + helpers) * streams) as u64, "this load", "lower streams")
}
