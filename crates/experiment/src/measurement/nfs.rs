//! (pure) What a trial over NFS says besides its bytes: the requests that they took, and what each
//! end cost.

use super::named::Figures;
use super::{Measurement, Window};
use base::stats::Estimate;
use facts::counters::series::Series;

/// The series that a client counts.
pub const CLIENT: &str = "mountstats";
/// The series that a server counts.
pub const SERVER: &str = "nfs-server";
/// What waits in the connections between them.
pub const CONNECTIONS: &str = "nfs-connections";

/// The figure that all trials over NFS have.
pub const REQUESTS: &str = "nfs_requests_per_s";

/// Whether the files of a trial lie on NFS.
pub fn is_nfs(measurement: &Measurement) -> bool {
    measurement.evidence.filesystem.split('+').any(|name| matches!(name, "nfs" | "nfs4"))
}

/// Of all NFS mounts of the client, in the window:
///
/// - `nfs_requests_per_s`: requests of any kind, and `nfs_retransmissions`: those sent again.
/// - `nfs_read_rtt_ns_mean`, `nfs_write_rtt_ns_mean`: from sending a READ or WRITE until its answer
///   has come; `nfs_read_execute_ns_mean`, `nfs_write_execute_ns_mean`: with the time in the
///   client's own queue. The kernel counts both in whole milliseconds.
/// - `nfs_read_bytes_mean`, `nfs_write_bytes_mean`: what one of them moved, heads with it.
/// - `client_cpu_seconds_per_gb`: processor time of the load for each 10^9 bytes moved.
/// - `server_cpu_seconds_per_gb`, `server_context_switches_per_s`: of the NFS server's threads,
///   where that is this machine's own; `interrupts_per_s` and `context_switches_per_s`: of the
///   machine, which is then both ends.
pub fn figures(measurement: &Measurement, window: &Window, figures: &mut Figures) {
    if !is_nfs(measurement) {
        return;
    }
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let series = |name: &str| measurement.counters.iter().find(|series| series.source == name);
    let growth = |source: &str, column: &str| grown(series(source)?, column, start_ns, end_ns);
    let mut add = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            figures.insert(name.into(), Estimate::bare(value));
        }
    };
    let (seconds, gigabytes) = (window.seconds(), window.done.bytes() as f64 / 1e9);
    let of = |column: &str| growth(CLIENT, column);
    let each = |sum: &str, requests: &str| {
        let requests = of(requests).filter(|requests| *requests > 0.0)?;
        Some(of(sum)? / requests)
    };
    let in_ns = |ms: Option<f64>| ms.map(|ms| ms * 1e6);
    add(REQUESTS, of("requests").map(|count| count / seconds));
    add("nfs_retransmissions", of("retransmissions"));
    add("nfs_read_rtt_ns_mean", in_ns(each("read_rtt_ms", "read_requests")));
    add("nfs_read_execute_ns_mean", in_ns(each("read_execute_ms", "read_requests")));
    add("nfs_read_bytes_mean", each("read_received_bytes", "read_requests"));
    add("nfs_write_rtt_ns_mean", in_ns(each("write_rtt_ms", "write_requests")));
    add("nfs_write_execute_ns_mean", in_ns(each("write_execute_ms", "write_requests")));
    add("nfs_write_bytes_mean", each("write_sent_bytes", "write_requests"));
    add("client_cpu_seconds_per_gb", growth("process", "cpu_ns").map(|ns| ns / 1e9 / gigabytes));
    if measurement.evidence.served.is_some() {
        let cpu_ns = growth(SERVER, "cpu_ns");
        add("server_cpu_seconds_per_gb", cpu_ns.map(|ns| ns / 1e9 / gigabytes));
        let switches = growth(SERVER, "context_switches");
        add("server_context_switches_per_s", switches.map(|count| count / seconds));
        add("interrupts_per_s", growth("stat", "interrupts").map(|count| count / seconds));
        let switches = growth("stat", "context_switches");
        add("context_switches_per_s", switches.map(|count| count / seconds));
    }
}

/// Growth of a column over all scopes, each a mount.
fn grown(series: &Series, column: &str, start_ns: i64, end_ns: i64) -> Option<f64> {
    let is_it = |name: &str| {
        name == column || name.strip_suffix(column).is_some_and(|scope| scope.ends_with('.'))
    };
    let of = series.columns.iter().filter(|one| is_it(&one.name));
    of.filter_map(|one| series.growth(&one.name, start_ns, end_ns)).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::evidence::NfsServerEvidence;
    use crate::measurement::{Amount, Evidence};
    use facts::counters::series::{Column, ColumnKind};

    fn series(source: &str, columns: &[(&str, u64)]) -> Series {
        let column = |(name, last): &(&str, u64)| Column {
            name: (*name).to_owned(),
            kind: ColumnKind::Counter,
            values: vec![0, last / 2, *last],
        };
        Series {
            source: source.to_owned(),
            at_ns: vec![0, 1_000_000_000, 2_000_000_000],
            columns: columns.iter().map(column).collect(),
        }
    }

    fn measured(filesystem: &str, here: bool) -> Figures {
        let done = Amount { read_bytes: 2_000_000_000, read_ops: 2000, ..Amount::default() };
        let window = Window { start_ns: 0, end_ns: 2_000_000_000, done };
        let evidence = Evidence {
            filesystem: filesystem.into(),
            served: here.then(NfsServerEvidence::default),
            ..Evidence::default()
        };
        let counters = vec![
            series(
                "mountstats",
                &[
                    ("/a.b.requests", 400),
                    ("/c.requests", 40),
                    ("/a.b.retransmissions", 3),
                    ("/a.b.read_requests", 100),
                    ("/a.b.read_rtt_ms", 500),
                    ("/a.b.read_execute_ms", 700),
                    ("/a.b.read_received_bytes", 12_800_000),
                    ("/a.b.write_requests", 0),
                    ("/a.b.write_rtt_ms", 0),
                ],
            ),
            series("process", &[("cpu_ns", 1_000_000_000)]),
            series("nfs-server", &[("cpu_ns", 3_000_000_000), ("context_switches", 50)]),
            series("stat", &[("interrupts", 2000), ("context_switches", 900)]),
        ];
        let measurement =
            Measurement { evidence, counters, window: Some(window), ..Measurement::default() };
        let mut all = Figures::new();
        figures(&measurement, &window, &mut all);
        all
    }

    #[test]
    fn requests_are_of_all_mounts_and_times_are_of_one_request() {
        let all = measured("nfs4", true);
        let value = |name: &str| all.get(name).map(|estimate| estimate.value);
        assert_eq!(value(REQUESTS), Some(220.0));
        assert_eq!(value("nfs_retransmissions"), Some(3.0));
        assert_eq!(value("nfs_read_rtt_ns_mean"), Some(5e6));
        assert_eq!(value("nfs_read_execute_ns_mean"), Some(7e6));
        assert_eq!(value("nfs_read_bytes_mean"), Some(128_000.0));
        assert_eq!(value("nfs_write_rtt_ns_mean"), None, "nothing was written");
        assert_eq!(value("client_cpu_seconds_per_gb"), Some(0.5));
        assert_eq!(value("server_cpu_seconds_per_gb"), Some(1.5));
        assert_eq!(value("server_context_switches_per_s"), Some(25.0));
        let machine = (value("interrupts_per_s"), value("context_switches_per_s"));
        assert_eq!(machine, (Some(1000.0), Some(450.0)));
    }

    /// The threads of a server here that serves others say nothing of another machine's.
    #[test]
    fn another_machine_s_server_has_no_cost_here_and_a_disk_has_no_requests() {
        let away = measured("nfs", false);
        assert!(away.contains_key(REQUESTS) && !away.contains_key("server_cpu_seconds_per_gb"));
        assert!(measured("ext4", true).is_empty());
    }
}
