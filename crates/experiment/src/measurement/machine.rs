//! What the machine did while a trial ran, as shares and rates.

use std::collections::BTreeMap;

use super::named::Figures;
use super::{Measurement, PEER, Window};
use base::stats::Estimate;
use facts::counters::series::Series;

/// The counter that has them.
const SOURCE: &str = "stat";

/// What there can be, by name.
pub const COUNTERS: [&str; 3] = ["cpu_busy_share", "interrupts_per_s", "context_switches_per_s"];

/// The same of the other machine of a trial on two, in the same order.
const OF_PEER: [&str; COUNTERS.len()] =
    ["peer_cpu_busy_share", "peer_interrupts_per_s", "peer_context_switches_per_s"];

/// [`COUNTERS`] by name, over the window in which all streams ran, or the whole trial when there
/// was none. What was not counted, or not counted over all of that time, is left out.
pub fn counters(measurement: &Measurement) -> BTreeMap<&'static str, f64> {
    if let Some(digest) = &measurement.digest {
        return digest.machine.clone();
    }
    let (start_ns, end_ns) = match measurement.window {
        Some(window) => (window.start_ns as i64, window.end_ns as i64),
        None => (0, measurement.elapsed_ns as i64),
    };
    let values = counted(measurement, SOURCE, start_ns, end_ns);
    let named = COUNTERS.into_iter().zip(values);
    named.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The same as figures of a trial over a network, of both its machines: where both ends are on
/// one, it is that of both together. So they stand in tables and in SQL.
pub fn figures(measurement: &Measurement, window: &Window, figures: &mut Figures) {
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let there = format!("{PEER}{SOURCE}");
    for (names, source) in [(COUNTERS, SOURCE), (OF_PEER, &there)] {
        for (name, value) in names.into_iter().zip(counted(measurement, source, start_ns, end_ns)) {
            if let Some(value) = value {
                figures.insert(name.into(), Estimate::bare(value));
            }
        }
    }
}

/// In the order of [`COUNTERS`]: `cpu_busy_share` of all processors, and what there was a second.
fn counted(
    measurement: &Measurement,
    source: &str,
    start_ns: i64,
    end_ns: i64,
) -> [Option<f64>; COUNTERS.len()] {
    let stat = measurement.counters.iter().find(|series| series.source == source);
    let Some(stat) = stat.filter(|_| end_ns > start_ns) else { return Default::default() };
    let seconds = (end_ns - start_ns) as f64 / 1e9;
    let rate = |column: &str| Some(stat.growth(column, start_ns, end_ns)? / seconds);
    [busy_share(stat, start_ns, end_ns), rate("interrupts"), rate("context_switches")]
}

/// Time that was neither idle nor waiting for I/O, of all processors together.
fn busy_share(stat: &Series, start_ns: i64, end_ns: i64) -> Option<f64> {
    let (mut busy, mut total) = (0.0, 0.0);
    for column in stat.columns.iter().filter(|column| column.name.ends_with("_ns")) {
        let grown = stat.growth(&column.name, start_ns, end_ns)?;
        total += grown;
        if !column.name.ends_with(".idle_ns") && !column.name.ends_with(".iowait_ns") {
            busy += grown;
        }
    }
    (total > 0.0).then(|| busy / total)
}

#[cfg(test)]
mod tests {
    use super::super::Window;
    use super::*;
    use facts::counters::series::{Column, ColumnKind};

    fn measured(columns: &[(&str, [u64; 3])]) -> Measurement {
        let columns = columns.iter().map(|(name, values)| Column {
            name: (*name).into(),
            kind: ColumnKind::Counter,
            values: values.to_vec(),
        });
        let stat = Series {
            source: "stat".into(),
            at_ns: vec![0, 1_000_000_000, 3_000_000_000],
            columns: columns.collect(),
        };
        let window = Window { start_ns: 1_000_000_000, end_ns: 3_000_000_000, ..Window::default() };
        Measurement { window: Some(window), counters: vec![stat], ..Measurement::default() }
    }

    #[test]
    fn only_the_window_counts_and_waiting_is_not_busy() {
        let counters = counters(&measured(&[
            ("cpu0.user_ns", [0, 900, 1000]),
            ("cpu0.iowait_ns", [0, 0, 300]),
            ("cpu0.idle_ns", [0, 0, 0]),
            ("cpu1.idle_ns", [0, 0, 400]),
            ("interrupts", [0, 5, 25]),
        ]));
        assert_eq!(counters.get("cpu_busy_share"), Some(&0.125));
        assert_eq!(counters.get("interrupts_per_s"), Some(&10.0));
        assert_eq!(counters.get("context_switches_per_s"), None);
    }

    /// Of the other machine stood in no table and no SQL what its interrupts and switches were.
    #[test]
    fn both_machines_are_told_and_a_lone_one_is_not_doubled() {
        let mut both = measured(&[("interrupts", [0, 5, 25]), ("context_switches", [0, 0, 8])]);
        let window = both.window.expect("a window");
        let mut alone = Figures::new();
        figures(&both, &window, &mut alone);
        assert_eq!((alone["interrupts_per_s"].value, alone.len()), (10.0, 2));
        let there = measured(&[("interrupts", [0, 100, 104]), ("cpu0.user_ns", [0, 0, 100])]);
        let stat = there.counters.into_iter().map(|it| Series { source: "peer/stat".into(), ..it });
        both.counters.extend(stat);
        let mut found = Figures::new();
        figures(&both, &window, &mut found);
        let value = |name: &str| found.get(name).map(|figure| figure.value);
        assert_eq!(value("interrupts_per_s"), Some(10.0));
        assert_eq!(value("context_switches_per_s"), Some(4.0));
        assert_eq!(value("peer_interrupts_per_s"), Some(2.0));
        assert_eq!(value("peer_cpu_busy_share"), Some(1.0));
        assert_eq!(value("peer_context_switches_per_s"), None);
    }

    #[test]
    fn what_was_not_counted_is_left_out() {
        assert!(counters(&Measurement::default()).is_empty());
        let mut measured = measured(&[("cpu0.user_ns", [0, 900, 1000])]);
        measured.window = Some(Window { end_ns: 9_000_000_000, ..Window::default() });
        assert!(counters(&measured).is_empty(), "the rows do not reach that far");
    }
}
