//! What the machine did while a trial ran, as shares and rates.

use std::collections::BTreeMap;

use super::Measurement;
use facts::counters::series::Series;

/// What there can be, by name.
pub const COUNTERS: [&str; 3] = ["cpu_busy_share", "interrupts_per_s", "context_switches_per_s"];

/// `cpu_busy_share` of all processors, `interrupts_per_s`, `context_switches_per_s`, over the
/// window in which all streams ran, or the whole trial when there was none. What was not counted,
/// or not counted over all of that time, is left out.
pub fn counters(measurement: &Measurement) -> BTreeMap<&'static str, f64> {
    if let Some(digest) = &measurement.digest {
        return digest.machine.clone();
    }
    let mut counters = BTreeMap::new();
    let (start_ns, end_ns) = match measurement.window {
        Some(window) => (window.start_ns as i64, window.end_ns as i64),
        None => (0, measurement.elapsed_ns as i64),
    };
    let stat = measurement.counters.iter().find(|series| series.source == "stat");
    let Some(stat) = stat.filter(|_| end_ns > start_ns) else { return counters };
    let seconds = (end_ns - start_ns) as f64 / 1e9;
    let rates =
        [("interrupts_per_s", "interrupts"), ("context_switches_per_s", "context_switches")];
    for (name, column) in rates {
        if let Some(growth) = stat.growth(column, start_ns, end_ns) {
            counters.insert(name, growth / seconds);
        }
    }
    if let Some(share) = busy_share(stat, start_ns, end_ns) {
        counters.insert("cpu_busy_share", share);
    }
    counters
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
    use facts::counters::series::{Column, Kind};

    fn measured(columns: &[(&str, [u64; 3])]) -> Measurement {
        let columns = columns.iter().map(|(name, values)| Column {
            name: (*name).into(),
            kind: Kind::Counter,
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

    #[test]
    fn what_was_not_counted_is_left_out() {
        assert!(counters(&Measurement::default()).is_empty());
        let mut measured = measured(&[("cpu0.user_ns", [0, 900, 1000])]);
        measured.window = Some(Window { end_ns: 9_000_000_000, ..Window::default() });
        assert!(counters(&measured).is_empty(), "the rows do not reach that far");
    }
}
