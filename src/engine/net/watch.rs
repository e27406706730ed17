//! What is sampled beside the ends of a connection: what was sent, the processor time of each end,
//! and what TCP knows.

use std::sync::atomic::Ordering::Relaxed;

use super::end::{Count, Work};
use super::socket::{self, Info};

/// One row, in the order of [`crate::measurement::network::COLUMNS`].
pub fn row(work: &Work) -> Vec<u64> {
    let sum = |of: &dyn Fn(&Count) -> u64| work.senders.iter().map(of).sum::<u64>();
    let infos: Vec<Info> =
        work.outgoing.iter().filter_map(|socket| socket::info(socket).ok()).collect();
    let mean = |of: &dyn Fn(&Info) -> u64| {
        infos.iter().map(of).sum::<u64>().checked_div(infos.len() as u64).unwrap_or(0)
    };
    vec![
        sum(&|count| count.bytes.load(Relaxed)),
        sum(&Count::cpu_ns),
        work.receivers.iter().map(Count::cpu_ns).sum(),
        infos.iter().map(|info| info.retransmits).sum(),
        mean(&|info| info.rtt_ns),
        mean(&|info| info.window_bytes),
        sum(&|count| count.zerocopy_done.load(Relaxed)),
        sum(&|count| count.zerocopy_copied.load(Relaxed)),
        infos.iter().map(|info| info.busy_ns).sum(),
        infos.iter().map(|info| info.receiver_limited_ns).sum(),
        infos.iter().map(|info| info.buffer_limited_ns).sum(),
        infos.iter().map(|info| info.rtt_min_ns).min().unwrap_or(0),
    ]
}
