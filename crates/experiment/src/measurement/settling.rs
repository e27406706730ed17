//! How the rate of a trial went: whether it moved to the end, from when on it had settled, and
//! where it fell, as a drive's does whose fast cache is full.

use super::steady::{WRITE_ROUND_NS, round_of, rounds};
use super::stopped::stopped;
use super::{Measurement, Window, course};
use crate::knob::Settings;
use base::stats::fall::{self, fall};
use base::stats::replicates::{CellValue, Replicates};
use base::stats::steady::ROUNDS;
use base::stats::{Estimate, Interval, mean, settled};

/// Bins that the course is cut into before a line is drawn through them.
const BINS_MAX: usize = 60;

/// The course of one trial whose window holds five rounds or more.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Bytes per second of the first round (operations per second where no bytes were moved).
    pub first: f64,
    /// The same of the last five rounds: their mean, the least and the most of them.
    pub last: (f64, f64, f64),
    /// What is added from the start of the window to its end, along a straight line, as a share of
    /// the mean rate; `None` where there are too few samples for an interval.
    pub change: Option<Estimate>,
    /// How long after the start of the window the rounds begin of which every five in a row had
    /// settled, ns; `None` where the last five had not.
    pub settled_after_ns: Option<u64>,
    /// Where the rate of a load that writes fell.
    pub fall: Option<Fall>,
}

/// A fall of the rate of a load that writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fall {
    /// How long after the start of the window, ns; its interval is at least a 95 % one.
    pub after_ns: Estimate,
    /// How many bytes had been written by then since the load began, likewise.
    pub bytes: Estimate,
    /// Bytes per second before it.
    pub before: Estimate,
    /// Bytes per second after it.
    pub after: Estimate,
}

/// How the rate of a trial went; `None` where its steadiness cannot be tested either.
pub fn settling(measurement: &Measurement, settings: &Settings) -> Option<Settling> {
    if let Some(digest) = &measurement.digest {
        return digest.settling.clone();
    }
    let window = measurement.window?;
    let told = measurement.programs.is_some() || measurement.reported.is_some();
    if told || stopped(measurement).is_some() {
        return None;
    }
    let round_ns = round_of(settings, &window);
    let rounds = rounds(&measurement.load, &window, round_ns);
    let (first, five) = (*rounds.first()?, rounds.len().checked_sub(ROUNDS)?);
    let five = &rounds[five..];
    let per_s = |amount: f64| amount * 1e9 / round_ns as f64;
    let least = five.iter().copied().fold(f64::MAX, f64::min);
    let most = five.iter().copied().fold(0.0, f64::max);
    Some(Settling {
        round_ns,
        first: per_s(first),
        last: (per_s(mean(five)), per_s(least), per_s(most)),
        change: change(measurement, &window),
        settled_after_ns: settled_after(&rounds).map(|round| {
            // Rounds are cut from the end: what is over stands before the first.
            let all = rounds.len() as u64 * round_ns;
            window.end_ns.saturating_sub(window.start_ns + all) + round as u64 * round_ns
        }),
        fall: (round_ns == WRITE_ROUND_NS).then(|| fall_of(measurement, &window)).flatten(),
    })
}

/// The first round from which on every five in a row had settled.
fn settled_after(rounds: &[f64]) -> Option<usize> {
    let from = rounds.windows(ROUNDS).rposition(|five| !settled(five)).map_or(0, |last| last + 1);
    (from + ROUNDS <= rounds.len()).then_some(from)
}

/// What the load is measured by.
fn columns(window: &Window) -> &'static [&'static str] {
    match window.done.bytes() {
        0 => &["metadata_ops"],
        _ => &["read_bytes", "write_bytes"],
    }
}

/// The line through the rates of the window, over their mean.
fn change(measurement: &Measurement, window: &Window) -> Option<Estimate> {
    let rates = course::rates(&measurement.load, columns(window), window);
    let average = mean(&rates);
    if rates.is_empty() || average <= 0.0 {
        return None;
    }
    let length = rates.len().div_ceil(BINS_MAX);
    let bins = rates.chunks_exact(length).map(|bin| mean(bin) / average);
    let runs: Vec<CellValue> = bins.map(|value| CellValue { cell: 0, value, scale: 1.0 }).collect();
    Some(Replicates::from_values(&runs).drift()?.change)
}

fn fall_of(measurement: &Measurement, window: &Window) -> Option<Fall> {
    let load = &measurement.load;
    // Where the clock of a load stands at times, its samples have no place in time.
    if window.done.write_bytes == 0 || load.column(course::TIMED).is_some() {
        return None;
    }
    let fall::Fall { place, before, after } =
        fall(&course::rates(load, &["read_bytes", "write_bytes"], window))?;
    let first = load.at_ns.partition_point(|&at| at < window.start_ns as i64);
    let at = |values: f64| load.at_ns.get(first + values.round() as usize).copied();
    let start = window.start_ns as i64;
    let after_ns = |values: f64| Some((at(values)? - start) as f64);
    let written = load.column("write_bytes")?;
    let began = *written.values.first()?;
    let bytes = |values: f64| {
        let row = first + values.round() as usize;
        Some(written.values.get(row)?.saturating_sub(began) as f64)
    };
    Some(Fall { after_ns: moved(&place, after_ns)?, bytes: moved(&place, bytes)?, before, after })
}

/// An estimate in other units.
fn moved(of: &Estimate, to: impl Fn(f64) -> Option<f64>) -> Option<Estimate> {
    let interval = match of.interval {
        Some(ends) => Some(Interval { low: to(ends.low)?, high: to(ends.high)? }),
        None => None,
    };
    Some(Estimate { value: to(of.value)?, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Amount;
    use facts::counters::series::{Column, ColumnKind, Series};

    /// A load that moves `rates[i]` bytes in each tenth of a second.
    fn measured(rates: &[u64], column: &str) -> Measurement {
        let mut total = 1000;
        let mut values = vec![total];
        for rate in rates {
            total += rate;
            values.push(total);
        }
        let at_ns = (0..values.len() as i64).map(|tenth| tenth * 100_000_000).collect();
        let columns = vec![Column { name: column.into(), kind: ColumnKind::Counter, values }];
        let bytes = total - 1000;
        let done = match column {
            "write_bytes" => Amount { write_bytes: bytes, write_ops: 1, ..Amount::default() },
            _ => Amount { read_bytes: bytes, read_ops: 1, ..Amount::default() },
        };
        let end_ns = rates.len() as u64 * 100_000_000;
        Measurement {
            window: Some(Window { start_ns: 0, end_ns, done }),
            load: Series { source: "load".into(), at_ns, columns },
            ..Measurement::default()
        }
    }

    fn of(measurement: &Measurement, access: &str) -> Option<Settling> {
        let json = serde_json::json!({ "access": access });
        settling(measurement, &Settings::from_json("file", &json))
    }

    #[test]
    fn a_load_that_climbs_for_three_seconds_settles_after_them() {
        let mut rates: Vec<u64> = (0..30).map(|tenth| 10 + tenth * 3).collect();
        rates.extend([100; 70]);
        let found = of(&measured(&rates, "read_bytes"), "read").unwrap();
        assert_eq!((found.round_ns, found.settled_after_ns), (1_000_000_000, Some(3_000_000_000)));
        assert_eq!(found.last, (1000.0, 1000.0, 1000.0));
        assert!(found.first < 300.0 && found.fall.is_none(), "{found:?}");
        assert_eq!(of(&measured(&rates[..40], "read_bytes"), "read"), None, "four rounds");
    }

    #[test]
    fn a_drive_whose_cache_is_full_falls_there_and_reading_never_does() {
        let mut rates = vec![2000; 200];
        rates.extend(vec![500; 400]);
        let found = of(&measured(&rates, "write_bytes"), "write").unwrap().fall.unwrap();
        let ends = found.after_ns.interval.unwrap();
        assert!(ends.covers(20e9) && ends.high - ends.low <= 2e9, "{found:?}");
        assert!(found.bytes.interval.unwrap().covers(400_000.0), "{found:?}");
        assert_eq!((found.before.value, found.after.value), (20_000.0, 5_000.0));
        assert_eq!(of(&measured(&rates, "read_bytes"), "read").unwrap().fall, None);
        let even = of(&measured(&[2000; 600], "write_bytes"), "write").unwrap();
        assert_eq!((even.fall, even.settled_after_ns), (None, Some(0)));
    }

    #[test]
    fn a_rate_that_falls_to_the_end_has_not_settled_and_says_by_how_much_it_fell() {
        let rates: Vec<u64> = (0..100).map(|tenth| 1000 - tenth * 5 + (tenth * 7) % 5).collect();
        let found = of(&measured(&rates, "read_bytes"), "read").unwrap();
        assert_eq!(found.settled_after_ns, None);
        let change = found.change.unwrap();
        assert!((change.value + 0.65).abs() < 0.02, "{change:?}");
        assert!(!change.interval.unwrap().covers(0.0), "{change:?}");
    }
}
