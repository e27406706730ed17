//! Whether a trial had settled (rule 5).

use serde::{Serialize, Serializer};

use super::stopped::stopped;
use super::{Measurement, Window};
use crate::knob::{self, Access, Settings};
use base::stats::settled;
use base::stats::steady::ROUNDS;
use facts::counters::series::Series;

/// A round of reading, ns.
pub const READ_ROUND_NS: u64 = 1_000_000_000;

/// A round of writing, ns: five short rounds would call an SSD steady inside its SLC cache.
pub const WRITE_ROUND_NS: u64 = 10_000_000_000;

/// The verdict. In JSON: true, false, or null when it was not tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steady {
    /// Whether the last five rounds meet SNIA's criterion.
    Tested(bool),
    /// Why it could not be tested, as a clause: "the window holds 2 rounds of 1 s, not 5".
    NotTested(String),
}

impl Serialize for Steady {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Steady::Tested(settled) => to.serialize_some(settled),
            Steady::NotTested(_) => to.serialize_none(),
        }
    }
}

/// Whether the trial had settled: rounds of 1 s, or of 10 s when it wrote at all, are cut from the
/// load's samples, backwards from the end of the window, and the last five must meet SNIA's
/// criterion ([`settled`]).
pub fn steady(measurement: &Measurement, settings: &Settings) -> Steady {
    if let Some(digest) = &measurement.digest {
        return digest.steady.clone();
    }
    if measurement.programs.is_some() {
        let why = "a program is timed from its start to its end, settled or not";
        return Steady::NotTested(why.to_owned());
    }
    if let Some(reported) = &measurement.reported {
        return Steady::NotTested(format!("reported by {}, without samples", reported.by));
    }
    let Some(window) = measurement.window else {
        return Steady::NotTested("there was no time in which all streams ran".to_owned());
    };
    if stopped(measurement).is_some() {
        return Steady::NotTested("the load did not run all the time".to_owned());
    }
    let round_ns = round_of(settings, &window);
    let rounds = rounds(&measurement.load, &window, round_ns);
    if rounds.len() < ROUNDS {
        let seconds = round_ns / 1_000_000_000;
        let held = rounds.len();
        return Steady::NotTested(format!(
            "the window holds {held} rounds of {seconds} s, not {ROUNDS}"
        ));
    }
    Steady::Tested(settled(&rounds))
}

/// Length of a round of a load that has run, ns: that of writing when anything was written, by
/// whatever engine, and when names were changed, which is written in the end as well.
pub(super) fn round_of(settings: &Settings, window: &Window) -> u64 {
    let names = settings.get(knob::OPERATION);
    let changed = !matches!(names, "" | "open" | "stat" | "readdir");
    match changed || window.done.write_bytes > 0 {
        true => WRITE_ROUND_NS,
        false => round_ns(settings.get(knob::ACCESS)),
    }
}

/// Length of a round for an `access`, ns.
pub fn round_ns(access: Option<Access>) -> u64 {
    match access.is_some_and(Access::writes) {
        true => WRITE_ROUND_NS,
        false => READ_ROUND_NS,
    }
}

/// Bytes moved in each whole round that fits into the window, oldest first; operations, where no
/// bytes were.
pub fn rounds(load: &Series, window: &Window, round_ns: u64) -> Vec<f64> {
    let count = window.end_ns.saturating_sub(window.start_ns) / round_ns.max(1);
    let of_names = window.done.metadata_ops > 0 && window.done.bytes() == 0;
    let columns: &[&str] =
        if of_names { &["metadata_ops"] } else { &["read_bytes", "write_bytes"] };
    let bytes = |from: u64| {
        let (start, end) = (from as i64, (from + round_ns) as i64);
        let grown: Vec<f64> =
            columns.iter().filter_map(|name| load.growth(name, start, end)).collect();
        (!grown.is_empty()).then(|| grown.iter().sum())
    };
    (1..=count).rev().map_while(|back| bytes(window.end_ns - back * round_ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::counters::series::{Column, ColumnKind};

    /// A load that moves `rates[i]` bytes in second i, and a window over all of it.
    fn measured(rates: &[u64], column: &str) -> Measurement {
        let mut total = 0;
        let mut values = vec![0];
        for rate in rates {
            total += rate;
            values.push(total);
        }
        let at_ns = (0..values.len() as i64).map(|second| second * 1_000_000_000).collect();
        let columns = vec![Column { name: column.into(), kind: ColumnKind::Counter, values }];
        let end_ns = rates.len() as u64 * 1_000_000_000;
        Measurement {
            window: Some(Window { start_ns: 0, end_ns, done: super::super::Amount::default() }),
            load: Series { source: "load".into(), at_ns, columns },
            ..Measurement::default()
        }
    }

    fn access(word: &str) -> Settings {
        let json = serde_json::json!({ "access": word });
        Settings::from_json("file", &json)
    }

    #[test]
    fn even_reading_over_five_seconds_is_steady_and_falling_is_not() {
        let even = measured(&[100, 101, 99, 100, 100, 102], "read_bytes");
        assert_eq!(steady(&even, &access("read")), Steady::Tested(true));
        let falling = measured(&[100, 90, 80, 70, 60], "read_bytes");
        assert_eq!(steady(&falling, &access("read")), Steady::Tested(false));
        // It had fallen before the last five rounds.
        let fell = measured(&[900, 500, 100, 100, 100, 100, 100], "read_bytes");
        assert_eq!(steady(&fell, &access("read")), Steady::Tested(true));
    }

    #[test]
    fn a_short_trial_is_not_tested_and_writing_needs_rounds_of_10_s() {
        let short = measured(&[100; 4], "read_bytes");
        assert!(matches!(steady(&short, &access("read")), Steady::NotTested(_)));
        let writing = measured(&[100; 49], "write_bytes");
        for word in ["write", "random-write", "random-mix", "update", "random-update"] {
            assert!(matches!(steady(&writing, &access(word)), Steady::NotTested(_)), "{word}");
        }
        let longer = measured(&[100; 50], "write_bytes");
        assert_eq!(steady(&longer, &access("write")), Steady::Tested(true));
    }

    /// A file server's load, half of it writes, was called steady after five seconds, as loads
    /// without the knob `access` were taken for readers: an SSD is inside its SLC cache then.
    #[test]
    fn loads_of_other_engines_need_the_rounds_of_writing_when_they_write() {
        let verdict = |engine: &str, settings: serde_json::Value, write_bytes: u64| {
            let mut measured = measured(&[100; 20], "read_bytes");
            let window = measured.window.as_mut().unwrap();
            window.done.write_bytes = write_bytes;
            steady(&measured, &Settings::from_json(engine, &settings))
        };
        let none = serde_json::json!({});
        assert!(matches!(verdict("replay", none.clone(), 1), Steady::NotTested(_)));
        assert_eq!(verdict("mail", none, 0), Steady::Tested(true));
        let of_names =
            |operation: &str| verdict("tree", serde_json::json!({ "operation": operation }), 0);
        assert!(matches!(of_names("touch"), Steady::NotTested(_)));
        assert_eq!(of_names("stat"), Steady::Tested(true));
    }

    #[test]
    fn it_reads_true_false_and_null_in_json() {
        let json = |verdict: Steady| serde_json::to_string(&verdict).unwrap();
        assert_eq!(json(Steady::Tested(true)), "true");
        assert_eq!(json(Steady::Tested(false)), "false");
        assert_eq!(json(Steady::NotTested("short".into())), "null");
    }
}
