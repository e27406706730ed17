//! (pure) The course of a trial's load: how long it was timed, and its rates from sample to sample.
//!
//! A trial that times whole rounds lets the clock stand between them; its load then has the column
//! `timed_ns`, and time is what that column counts.

use super::Window;
use base::stats::mean;
use facts::counters::series::Series;

/// The column of a load whose clock stands at times: how long it was timed, ns.
pub const TIMED: &str = "timed_ns";

/// How long the load was timed within the window, seconds: all of it, unless its clock stood.
pub fn timed_seconds(load: &Series, window: &Window) -> f64 {
    match load.column(TIMED) {
        None => window.seconds(),
        Some(_) => {
            let grown = load.growth(TIMED, window.start_ns as i64, window.end_ns as i64);
            grown.map_or(0.0, |ns| ns / 1e9)
        }
    }
}

/// Rates per second of the sum of the counters `columns`, one for each of the sampling intervals
/// that lie wholly inside the window, oldest first. Where the clock stood at times, as many equal
/// stretches of timed time.
pub fn rates(load: &Series, columns: &[&str], window: &Window) -> Vec<f64> {
    let (start, end) = (window.start_ns as i64, window.end_ns as i64);
    let first = load.at_ns.partition_point(|&at| at < start);
    let last = load.at_ns.partition_point(|&at| at <= end);
    let clock: Vec<f64> = match load.column(TIMED) {
        Some(column) => column.values.iter().map(|&ns| ns as f64).collect(),
        None => load.at_ns.iter().map(|&at| at as f64).collect(),
    };
    let total = |row: usize| -> f64 {
        let of = columns.iter().filter_map(|name| load.column(name)?.values.get(row));
        of.map(|&value| value as f64).sum()
    };
    let rows: Vec<(f64, f64)> =
        (first..last.min(clock.len())).map(|row| (clock[row], total(row))).collect();
    match load.column(TIMED) {
        Some(_) => stretches(&rows),
        None => {
            let rate = |two: &[(f64, f64)]| {
                let length = two[1].0 - two[0].0;
                (length > 0.0).then(|| (two[1].1 - two[0].1).max(0.0) * 1e9 / length)
            };
            rows.windows(2).filter_map(rate).collect()
        }
    }
}

/// Cuts rows of (time, total) into equal stretches of time, as many as there are intervals in
/// which time went on; totals between rows are interpolated.
fn stretches(rows: &[(f64, f64)]) -> Vec<f64> {
    let moves = rows.windows(2).filter(|two| two[1].0 > two[0].0).count();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Vec::new() };
    let length = (last.0 - first.0) / moves.max(1) as f64;
    if length <= 0.0 {
        return Vec::new();
    }
    let mut row = 0;
    let mut at = |time: f64| {
        while row + 2 < rows.len() && rows[row + 1].0 < time {
            row += 1;
        }
        let (low, high) = (rows[row], rows[(row + 1).min(rows.len() - 1)]);
        let share = (time - low.0) / (high.0 - low.0);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        low.1 + (high.1 - low.1) * share
    };
    let totals: Vec<f64> = (0..=moves).map(|step| at(first.0 + step as f64 * length)).collect();
    totals.windows(2).map(|two| (two[1] - two[0]).max(0.0) * 1e9 / length).collect()
}

/// The mean of a gauge's rows between two instants; `None` when there is no row.
pub(super) fn level(series: &Series, name: &str, start_ns: i64, end_ns: i64) -> Option<f64> {
    let column = series.column(name)?;
    let inside = series.at_ns.iter().zip(&column.values);
    let inside = inside.filter(|(at, _)| (start_ns..=end_ns).contains(*at));
    let values: Vec<f64> = inside.map(|(_, value)| *value as f64).collect();
    (!values.is_empty()).then(|| mean(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Amount;
    use facts::counters::series::{Column, ColumnKind};

    fn load(at_ms: &[i64], bytes: &[u64], timed_ms: Option<&[u64]>) -> Series {
        let column = |name: &str, values: Vec<u64>| Column {
            name: name.to_owned(),
            kind: ColumnKind::Counter,
            values,
        };
        let mut columns = vec![column("read_bytes", bytes.to_vec())];
        let timed = timed_ms.map(|ms| ms.iter().map(|ms| ms * 1_000_000).collect());
        columns.extend(timed.map(|values| column(TIMED, values)));
        let at_ns = at_ms.iter().map(|ms| ms * 1_000_000).collect();
        Series { source: "load".into(), at_ns, columns }
    }

    fn window(start_ms: u64, end_ms: u64) -> Window {
        let (start_ns, end_ns) = (start_ms * 1_000_000, end_ms * 1_000_000);
        Window { start_ns, end_ns, done: Amount::default() }
    }

    #[test]
    fn without_a_clock_that_stands_rates_are_those_of_the_intervals_inside_the_window() {
        let load = load(&[0, 10, 20, 40], &[0, 100, 300, 300], None);
        let window = window(5, 40);
        assert_eq!(rates(&load, &["read_bytes"], &window), [20_000.0, 0.0]);
        assert_eq!(timed_seconds(&load, &window), 0.035);
    }

    #[test]
    fn time_in_which_the_clock_stood_does_not_count() {
        // 10 bytes each timed millisecond; the clock stands for half of the time, unevenly.
        let at: Vec<i64> = (0..=10).map(|row| row * 10).collect();
        let timed = [0, 10, 10, 10, 20, 30, 30, 35, 40, 45, 50];
        let bytes: Vec<u64> = timed.iter().map(|ms| ms * 10).collect();
        let load = load(&at, &bytes, Some(&timed));
        let window = window(0, 100);
        assert!((timed_seconds(&load, &window) - 0.05).abs() < 1e-9);
        let rates = rates(&load, &["read_bytes", "write_bytes"], &window);
        assert_eq!(rates.len(), 7);
        assert!(rates.iter().all(|rate| (rate - 10_000.0).abs() < 1e-6), "{rates:?}");
    }

    #[test]
    fn a_clock_that_never_went_yields_no_rates() {
        let load = load(&[0, 10, 20], &[0, 5, 9], Some(&[7, 7, 7]));
        assert!(rates(&load, &["read_bytes"], &window(0, 20)).is_empty());
        assert_eq!(timed_seconds(&load, &window(0, 20)), 0.0);
        assert!(rates(&Series::default(), &["read_bytes"], &window(0, 20)).is_empty());
    }
}
