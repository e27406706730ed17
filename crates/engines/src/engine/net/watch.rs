//! What is sampled beside the ends of a connection: what was sent, the processor time of each end,
//! and what TCP knows.

use std::sync::atomic::Ordering::Relaxed;

use super::job::NetJob;
use super::socket::{self, TcpInfo};
use super::work::{EndCounters, NetLoad};
use crate::engine::load::control::LoadControl;
use experiment::measurement::network;
use facts::counters::series::ColumnKind;

impl NetJob {
    /// More columns of a trial that sends both ways at once.
    pub fn columns_of_both(&self) -> impl Iterator<Item = (String, ColumnKind)> {
        let names = [network::OUTGOING, network::INCOMING];
        names.into_iter().filter(|_| self.both).map(|name| (name.to_owned(), ColumnKind::Counter))
    }

    /// Their values: what arrived at the peer, and here. Of two machines each has cells for what it
    /// gets alone, and that is in both columns: `peer_protocol` knows which of them is meant.
    pub fn row_of_both(&self, shared: &LoadControl) -> impl Iterator<Item = u64> {
        let whole = shared.cells.len() == self.streams;
        let arrived = |here: bool| {
            let cells = shared.cells.iter().enumerate();
            let some = cells.filter(|(stream, _)| !whole || self.comes_in(*stream) == here);
            some.map(|(_, cell)| cell.read_bytes.load(Relaxed)).sum()
        };
        [arrived(false), arrived(true)].into_iter().filter(|_| self.both)
    }
}

/// One row, in the order of [`experiment::measurement::network::COLUMNS`].
pub fn row(work: &NetLoad) -> Vec<u64> {
    let sum = |of: &dyn Fn(&EndCounters) -> u64| work.senders.iter().map(of).sum::<u64>();
    let infos: Vec<TcpInfo> =
        work.senders_here().iter().filter_map(|socket| socket::info(socket).ok()).collect();
    let mean = |of: &dyn Fn(&TcpInfo) -> u64| {
        infos.iter().map(of).sum::<u64>().checked_div(infos.len() as u64).unwrap_or(0)
    };
    let mut row = vec![
        sum(&|count| count.bytes.load(Relaxed)),
        sum(&EndCounters::cpu_ns),
        work.receivers.iter().map(EndCounters::cpu_ns).sum(),
        infos.iter().map(|info| info.retransmits).sum(),
        mean(&|info| info.rtt_ns),
        mean(&|info| info.window_bytes),
        sum(&|count| count.zerocopy_done.load(Relaxed)),
        sum(&|count| count.zerocopy_copied.load(Relaxed)),
        infos.iter().map(|info| info.busy_ns).sum(),
        infos.iter().map(|info| info.receiver_limited_ns).sum(),
        infos.iter().map(|info| info.buffer_limited_ns).sum(),
        infos.iter().map(|info| info.rtt_min_ns).min().unwrap_or(0),
    ];
    row.extend(work.job.row_of_both(&work.shared));
    row
}
