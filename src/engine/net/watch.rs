//! Samples both ends of all streams beside them: what was sent, the processor time of each end, and
//! what TCP knows of the connections.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::end::{Count, Work};
use super::socket::{self, Info};
use crate::measurement::{Column, Kind, Series, network};
use crate::sys::clock::monotonic_ns;

const SAMPLE: Duration = Duration::from_millis(100);

/// Samples until `stop` is dropped, and tells when the first row is there. Rows are on the
/// monotonic clock.
pub fn sample(work: &Work, begun: &Sender<()>, stop: &Receiver<()>) -> Series {
    let column = |(name, kind): &(&str, Kind)| Column {
        name: (*name).to_owned(),
        kind: *kind,
        values: Vec::new(),
    };
    let mut series = Series {
        source: network::SOURCE.to_owned(),
        at_ns: Vec::new(),
        columns: network::COLUMNS.iter().map(column).collect(),
    };
    let mut over = false;
    loop {
        let at_ns = monotonic_ns() as i64;
        let row = row(work);
        series.at_ns.push(at_ns);
        for (column, value) in series.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
        // Whoever waits for it may be gone when the trial failed.
        let _ = begun.send(());
        // The window ends before the sampling does, so a last row reaches over its end.
        if over {
            return series;
        }
        over = !matches!(stop.recv_timeout(SAMPLE), Err(RecvTimeoutError::Timeout));
    }
}

/// One row, in the order of [`network::COLUMNS`].
fn row(work: &Work) -> [u64; network::COLUMNS.len()] {
    let sum = |of: &dyn Fn(&Count) -> u64| work.senders.iter().map(of).sum::<u64>();
    let sockets = work.connections.iter().map(|connection| &connection.sender);
    let infos: Vec<Info> = sockets.filter_map(|socket| socket::info(socket).ok()).collect();
    let mean = |of: &dyn Fn(&Info) -> u64| {
        infos.iter().map(of).sum::<u64>().checked_div(infos.len() as u64).unwrap_or(0)
    };
    [
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
