//! (pure) What a trial over a network says besides the bytes that arrived: what each end cost, and
//! what TCP knew of the connections.

use super::course::level;
use super::named::Figures;
use super::{Measurement, Window, datagrams, machine};
use base::stats::Estimate;
use facts::counters::series::ColumnKind;

/// The series that the engine `net` takes beside the load.
pub const SOURCE: &str = "tcp";

/// Its columns: sums over all streams, but for the gauges: means, and of `rtt_min_ns` the least.
/// The three times are TCP's own account (tcp_info): bytes were waiting to be sent or acknowledged,
/// and of that the receiver's window, or the send buffer, let no more go.
pub const COLUMNS: [(&str, ColumnKind); 12] = [
    ("sent_bytes", ColumnKind::Counter),
    ("sender_cpu_ns", ColumnKind::Counter),
    ("receiver_cpu_ns", ColumnKind::Counter),
    ("retransmits", ColumnKind::Counter),
    ("rtt_ns", ColumnKind::Gauge),
    ("cwnd_bytes", ColumnKind::Gauge),
    ("zerocopy_sends", ColumnKind::Counter),
    ("zerocopy_copied", ColumnKind::Counter),
    ("busy_ns", ColumnKind::Counter),
    ("receiver_limited_ns", ColumnKind::Counter),
    ("buffer_limited_ns", ColumnKind::Counter),
    ("rtt_min_ns", ColumnKind::Gauge),
];

/// Two more columns of a trial that sends both ways at once: what arrived at the peer, and here.
pub const OUTGOING: &str = "outgoing.received_bytes";
/// See [`OUTGOING`].
pub const INCOMING: &str = "incoming.received_bytes";

/// Whether the receiver knows it, and not the sender.
pub fn is_of_receiver(column: &str) -> bool {
    column == "receiver_cpu_ns"
}

/// - `sent_throughput_bytes_per_s`: what the sender's kernel took in the window over its length.
/// - `outgoing_throughput_bytes_per_s`, `incoming_throughput_bytes_per_s`: with `direction=both`,
///   what arrived at the peer and here in the window over its length.
/// - `sender_cpu_seconds_per_gb`, `receiver_cpu_seconds_per_gb`: processor time of the threads of
///   each end in the window, for each 10^9 bytes that arrived in it.
/// - `cpu_seconds_per_gib`: that of both ends together, for each GiB that arrived.
/// - `disk_throughput_bytes_per_s`: what the block devices under the files gave in the window, of
///   whatever reads them, over its length; of files that are sent alone.
/// - `retransmits`: segments that were sent again in the window.
/// - `rtt_ns_mean`, `cwnd_bytes_mean`: means of the samples in the window (TCP_INFO of the sender).
/// - `cpu_busy_share`, `interrupts_per_s`, `context_switches_per_s`, and with `peer_` before them
///   those of the other machine: see [`machine::figures`].
/// - `zerocopy_copied_share`: of sends that were to be without a copy, those that were copied.
pub fn figures(measurement: &Measurement, window: &Window, figures: &mut Figures) {
    let all = &measurement.counters;
    let sources = [SOURCE, datagrams::SOURCE];
    let found = all.iter().find(|series| sources.contains(&series.source.as_str()));
    let Some(series) = found else { return };
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let growth = |name: &str| series.growth(name, start_ns, end_ns);
    let mut add = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value {
            figures.insert(name.into(), Estimate::bare(value));
        }
    };
    let gigabytes = window.done.read_bytes as f64 / 1e9;
    let per_gb = |name: &str| growth(name).map(|ns| ns / 1e9 / gigabytes);
    let rate = |name: &str| growth(name).map(|it| it / window.seconds());
    add("sent_throughput_bytes_per_s", rate("sent_bytes"));
    add("outgoing_throughput_bytes_per_s", rate(OUTGOING));
    add("incoming_throughput_bytes_per_s", rate(INCOMING));
    add("sender_cpu_seconds_per_gb", per_gb("sender_cpu_ns"));
    add("receiver_cpu_seconds_per_gb", per_gb("receiver_cpu_ns"));
    let both = growth("sender_cpu_ns").zip(growth("receiver_cpu_ns")).map(|(a, b)| a + b);
    let gibibytes = window.done.read_bytes as f64 / f64::from(1 << 30);
    add("cpu_seconds_per_gib", both.map(|ns| ns / 1e9 / gibibytes));
    add("disk_throughput_bytes_per_s", of_disks(measurement, window));
    add("retransmits", growth("retransmits"));
    add("rtt_ns_mean", level(series, "rtt_ns", start_ns, end_ns));
    add("cwnd_bytes_mean", level(series, "cwnd_bytes", start_ns, end_ns));
    datagrams::figures(measurement, window, figures);
    machine::figures(measurement, window, figures);
    let mut add = |name: &'static str, value: f64| {
        figures.insert(name.into(), Estimate::bare(value));
    };
    let last = |name: &str| series.column(name)?.values.last().copied();
    if let (Some(sends @ 1..), Some(copied)) = (last("zerocopy_sends"), last("zerocopy_copied")) {
        add("zerocopy_copied_share", copied as f64 / sends as f64);
    }
}

/// Bytes per second that the devices under the files gave in the window; `None` where there are
/// none, or one was not counted.
fn of_disks(measurement: &Measurement, window: &Window) -> Option<f64> {
    let devices = &measurement.evidence.devices;
    let series = measurement.counters.iter().find(|series| series.source == "diskstats")?;
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let grown = |device: &String| series.growth(&format!("{device}.read_bytes"), start_ns, end_ns);
    let all: Option<f64> = devices.iter().map(grown).sum();
    all.filter(|_| !devices.is_empty()).map(|bytes| bytes / window.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Amount;
    use facts::counters::series::{Column, Series};

    fn measurement(zerocopy: [u64; 2]) -> Measurement {
        let columns = COLUMNS.iter().map(|(name, kind)| {
            let values = match *name {
                "sent_bytes" => vec![0, 2_000_000_000, 4_000_000_000],
                "sender_cpu_ns" => vec![0, 500_000_000, 1_000_000_000],
                "receiver_cpu_ns" => vec![0, 1_000_000_000, 2_000_000_000],
                "retransmits" => vec![5, 5, 9],
                "rtt_ns" => vec![9_999, 100, 300],
                "cwnd_bytes" => vec![1, 1000, 3000],
                "zerocopy_sends" => vec![0, 5, zerocopy[0]],
                _ => vec![0, 0, zerocopy[1]],
            };
            Column { name: (*name).to_owned(), kind: *kind, values }
        });
        let at_ns = vec![0, 1_000_000_000, 2_000_000_000];
        let series = Series { source: SOURCE.into(), at_ns, columns: columns.collect() };
        Measurement { counters: vec![series], ..Measurement::default() }
    }

    fn window() -> Window {
        let done = Amount { read_bytes: 1_500_000_000, ..Amount::default() };
        Window { start_ns: 1_000_000_000, end_ns: 2_000_000_000, done }
    }

    #[test]
    fn each_end_has_its_cost_of_the_bytes_that_arrived_in_the_window() {
        let mut found = Figures::new();
        figures(&measurement([40, 10]), &window(), &mut found);
        let value = |name: &str| found[name].value;
        assert_eq!(value("sent_throughput_bytes_per_s"), 2e9);
        assert!((value("sender_cpu_seconds_per_gb") - 1.0 / 3.0).abs() < 1e-12);
        assert!((value("receiver_cpu_seconds_per_gb") - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((value("retransmits"), value("rtt_ns_mean")), (4.0, 200.0));
        assert_eq!((value("cwnd_bytes_mean"), value("zerocopy_copied_share")), (2000.0, 0.25));
    }

    #[test]
    fn what_was_not_counted_has_no_figure() {
        let mut found = Figures::new();
        figures(&measurement([0, 0]), &window(), &mut found);
        assert!(!found.contains_key("zerocopy_copied_share"));
        let mut none = Figures::new();
        figures(&Measurement::default(), &window(), &mut none);
        assert!(none.is_empty());
    }
}
