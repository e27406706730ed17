//! (pure) What a trial of datagrams says besides the bytes that arrived: what was lost, what came
//! late or twice, and how evenly the rest came.

use super::course::level;
use super::named::Figures;
use super::{Measurement, Window};
use base::stats::Estimate;
use facts::counters::series::{ColumnKind, Series};

/// The series that the engine `net-udp` takes beside the load.
pub const SOURCE: &str = "udp";

/// Its columns: sums over all streams, but for the gauge, a mean. Datagrams that were received are
/// different ones; one that came again is a duplicate.
pub const COLUMNS: [(&str, ColumnKind); 8] = [
    ("sent_bytes", ColumnKind::Counter),
    ("sender_cpu_ns", ColumnKind::Counter),
    ("receiver_cpu_ns", ColumnKind::Counter),
    ("sent_datagrams", ColumnKind::Counter),
    ("received_datagrams", ColumnKind::Counter),
    ("duplicate_datagrams", ColumnKind::Counter),
    ("reordered_datagrams", ColumnKind::Counter),
    ("jitter_ns", ColumnKind::Gauge),
];

/// Whether the sender knows it, and not the receiver.
pub fn is_of_sender(column: &str) -> bool {
    ["sent_bytes", "sender_cpu_ns", "sent_datagrams"].contains(&column)
}

/// One more, where each datagram is taken by itself: those that found the receiver's socket full.
pub const SOCKET_DROPPED: &str = "socket_dropped_datagrams";

/// The column of what arrived over link `number`, from 1, where there are several.
pub fn of_link(number: usize) -> String {
    format!("link{number}.received_bytes")
}

/// How many datagrams a whole trial sent and received: from its first datagram to
/// the last that came after its end.
pub struct DatagramCount {
    /// Handed to the kernel.
    pub sent: u64,
    /// Different ones that arrived.
    pub received: u64,
    /// That found the receiver's socket full; `None` where it takes several as one, of which the
    /// kernel counts one.
    pub dropped: Option<u64>,
}

impl DatagramCount {
    /// Of a trial; `None` when it sent no datagrams.
    pub fn from_measurement(measurement: &Measurement) -> Option<DatagramCount> {
        DatagramCount::in_series(series(measurement)?)
    }

    /// The same of what was taken beside the load.
    pub fn in_series(series: &Series) -> Option<DatagramCount> {
        let sent = last(series, "sent_datagrams").filter(|sent| *sent > 0)?;
        let received = last(series, "received_datagrams")?;
        Some(DatagramCount { sent, received, dropped: last(series, SOCKET_DROPPED) })
    }

    /// That did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// The same as a share of those that were sent.
    pub fn lost_share(&self) -> f64 {
        self.lost() as f64 / self.sent as f64
    }

    /// Lost before they came to the receiver's socket, as a share of those that were sent.
    pub fn on_the_way_share(&self) -> Option<f64> {
        Some(self.lost().saturating_sub(self.dropped?) as f64 / self.sent as f64)
    }
}

fn series(measurement: &Measurement) -> Option<&Series> {
    measurement.counters.iter().find(|series| series.source == SOURCE)
}

fn last(series: &Series, name: &str) -> Option<u64> {
    series.column(name)?.values.last().copied()
}

/// Of the whole trial, from its first datagram to the last that came after its end:
/// - `datagrams_sent`, `datagrams_lost`: handed to the kernel; of these, never seen by a receiver.
/// - `loss_share`: the one over the other.
/// - `datagrams_dropped_by_socket`: of those that were lost, those that came to the receiver's
///   socket and found it full (SO_MEMINFO).
/// - `datagrams_reordered`: came after one that was sent later (RFC 4737, section 3.3).
/// - `datagrams_duplicated`: came once more.
///
/// In the window:
/// - `jitter_ns_mean`: interarrival jitter (RFC 3550, section 6.4.1), the mean of all streams.
/// - `link1_throughput_bytes_per_s` and so on: what arrived over each link, of several.
pub fn figures(measurement: &Measurement, window: &Window, figures: &mut Figures) {
    let Some((series, count)) =
        series(measurement).zip(DatagramCount::from_measurement(measurement))
    else {
        return;
    };
    let mut add = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value {
            figures.insert(name.into(), Estimate::bare(value));
        }
    };
    let total = |name: &str| last(series, name).map(|count| count as f64);
    add("datagrams_sent", Some(count.sent as f64));
    add("datagrams_lost", Some(count.lost() as f64));
    add("loss_share", Some(count.lost_share()));
    let dropped = count.dropped.map(|dropped| dropped.min(count.lost()) as f64);
    add("datagrams_dropped_by_socket", dropped);
    add("datagrams_reordered", total("reordered_datagrams"));
    add("datagrams_duplicated", total("duplicate_datagrams"));
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    add("jitter_ns_mean", level(series, "jitter_ns", start_ns, end_ns));
    for number in 1.. {
        let Some(bytes) = series.growth(&of_link(number), start_ns, end_ns) else { break };
        let name = format!("link{number}_throughput_bytes_per_s");
        figures.insert(name.into(), Estimate::bare(bytes / window.seconds()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Amount;
    use facts::counters::series::Column;

    fn measurement(sent: u64, received: u64, dropped: u64) -> Measurement {
        let column = |name: String, kind, values| Column { name, kind, values };
        let mut columns: Vec<Column> = COLUMNS
            .iter()
            .map(|(name, kind)| {
                let value = match *name {
                    "sent_datagrams" => sent,
                    "received_datagrams" => received,
                    "reordered_datagrams" => 3,
                    "jitter_ns" => 250,
                    _ => 0,
                };
                column((*name).to_owned(), *kind, vec![0, value, value])
            })
            .collect();
        columns.push(column(
            SOCKET_DROPPED.to_owned(),
            ColumnKind::Counter,
            vec![0, dropped, dropped],
        ));
        for (number, bytes) in [(1, 500), (2, 700)] {
            columns.push(column(of_link(number), ColumnKind::Counter, vec![0, bytes, 2 * bytes]));
        }
        let at_ns = vec![0, 1_000_000_000, 2_000_000_000];
        let series = Series { source: SOURCE.into(), at_ns, columns };
        Measurement { counters: vec![series], ..Measurement::default() }
    }

    #[test]
    fn loss_is_of_the_whole_trial_and_a_full_socket_is_told_apart() {
        let window = Window { start_ns: 0, end_ns: 2_000_000_000, done: Amount::default() };
        let mut found = Figures::new();
        figures(&measurement(1000, 900, 40), &window, &mut found);
        let value = |name: &str| found[name].value;
        assert_eq!((value("datagrams_lost"), value("loss_share")), (100.0, 0.1));
        assert_eq!(
            (value("datagrams_dropped_by_socket"), value("datagrams_reordered")),
            (40.0, 3.0)
        );
        assert_eq!(value("link1_throughput_bytes_per_s"), 500.0);
        assert_eq!(value("link2_throughput_bytes_per_s"), 700.0);
        let count = DatagramCount::from_measurement(&measurement(1000, 900, 40)).unwrap();
        assert!((count.on_the_way_share().unwrap() - 0.06).abs() < 1e-12);
    }

    #[test]
    fn what_sent_no_datagrams_has_no_figure_of_them() {
        let window = Window { start_ns: 0, end_ns: 1, done: Amount::default() };
        for nothing in [Measurement::default(), measurement(0, 0, 0)] {
            let mut found = Figures::new();
            figures(&nothing, &window, &mut found);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
