//! Planted falls, slopes and run-ins; the statistics alone are tested in `stats::fall` and
//! `stats::replicates`.

use super::*;
use crate::analysis::Severity;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing::{campaign, settings as simulated};
use experiment::knob::testing::settings;
use experiment::measurement::{Amount, Measurement, Outcome, Window};
use experiment::plan::Trial as Planned;
use facts::counters::series::{Column, ColumnKind, Series};

/// Trial `number` of a load that moved so many bytes in each tenth of a second.
fn record(number: u32, access: &str, rates: &[f64]) -> Record {
    let mut total = 0.0;
    let mut values = vec![0];
    for rate in rates {
        total += rate / 10.0;
        values.push(total as u64);
    }
    let writes = access == "write";
    let (read, write) = if writes { (0, total as u64) } else { (total as u64, 0) };
    let done = Amount { read_bytes: read, write_bytes: write, read_ops: 9, ..Amount::default() };
    let name = if writes { "write_bytes" } else { "read_bytes" };
    let at_ns = (0..values.len() as i64).map(|tenth| tenth * 100_000_000).collect();
    let columns = vec![Column { name: name.into(), kind: ColumnKind::Counter, values }];
    let end_ns = rates.len() as u64 * 100_000_000;
    let measurement = Measurement {
        window: Some(Window { start_ns: 0, end_ns, done }),
        load: Series { source: "load".into(), at_ns, columns },
        ..Measurement::default()
    };
    let trial = Planned {
        number,
        replicate: number,
        group: "g".to_owned(),
        settings: settings("file", &[("access", access)]),
        first_file: 0,
        seed: 1,
        planned: None,
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

/// Rates around 1 GB/s times `shape`, with noise that resembles its neighbours.
fn rates(seed: u64, count: usize, phi: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let noise = Random::new(seed).ar1(count, phi, 0.0, 0.03);
    let at = |(place, noise): (usize, f64)| 1e9 * shape(place as f64 / 10.0) * noise.exp();
    noise.into_iter().enumerate().map(at).collect()
}

#[test]
fn a_planted_fall_is_told_with_its_time_and_its_bytes() {
    let (mut time, mut bytes) = (Coverage::default(), Coverage::default());
    for seed in seeds() {
        let at = Random::new(seed + 5_000).between(10.0, 45.0);
        let shape = |second| if second < at { 1.0 } else { 0.3 };
        let rates = rates(seed, 600, 0.5, shape);
        // What went before it, not what would have at a level that does not wander.
        let before: f64 = rates[..(at * 10.0).ceil() as usize].iter().sum::<f64>() / 10.0;
        let record = record(1, "write", &rates).light();
        let measurement = record.outcome.measurement().unwrap();
        let found = settling(measurement, &record.trial.settings).unwrap().fall;
        time.add(found.as_ref().and_then(|fall| fall.after_ns.interval), at * 1e9);
        bytes.add(found.as_ref().and_then(|fall| fall.bytes.interval), before);
    }
    // Its interval is at least a 95 % one.
    time.check_least("time");
    bytes.check_least("bytes");
    assert!(time.given_share() > 0.95 && bytes.given == time.given, "{time:?} {bytes:?}");
}

#[test]
fn an_even_load_is_told_of_in_one_sentence_and_nothing_is_claimed() {
    let mut claims = [0; 2];
    for seed in seeds() {
        for (place, access, count) in [(0, "read", 100), (1, "write", 600)] {
            let flat = |replicate: u64| rates(seed * 3 + replicate, count, 0.9, |_| 1.0);
            let records: Vec<Record> =
                (0..3).map(|of| record(of as u32 + 1, access, &flat(of))).collect();
            let found = answer(&records);
            assert!(found[0].claim.ends_with("3 tested trials had settled."), "{found:?}");
            claims[place] += u32::from(found.len() > 1);
        }
    }
    for claims in claims {
        assert!(f64::from(claims) / seeds().count() as f64 <= null_limit(), "{claims}");
    }
}

#[test]
fn what_had_not_settled_is_told_with_the_way_it_went() {
    let slope = |second: f64| 1.0 - 0.05 * second;
    let settled = record(2, "read", &rates(2, 100, 0.5, |_| 1.0));
    let short = record(3, "read", &rates(3, 30, 0.5, |_| 1.0));
    let found = answer(&[record(1, "read", &rates(1, 100, 0.5, slope)), settled, short]);
    let [many, way] = &found[..] else { panic!("{found:#?}") };
    let reason = "1 was not tested: the window holds 3 rounds of 1 s, not 5.";
    assert_eq!(many.claim, format!("1 of 2 tested trials had settled. {reason}"));
    assert!(way.whole().contains("1 of 3 trials had not settled. In trial 1 the rate fell to the"));
    assert!(way.whole().contains(" % to ") && way.whole().contains("in the last five"), "{way:?}");
    assert_eq!((way.severity, &way.evidence), (Severity::Warning, &vec![1]));
}

#[test]
fn a_run_in_is_told_and_one_slow_start_of_three_is_not() {
    let climbs = |second: f64| if second < 4.0 { 0.3 + 0.175 * second } else { 1.0 };
    let of = |late: u32| {
        let one = |number: u32| match number <= late {
            true => record(number, "read", &rates(u64::from(number), 150, 0.5, climbs)),
            false => record(number, "read", &rates(u64::from(number), 150, 0.5, |_| 1.0)),
        };
        answer(&[one(1), one(2), one(3)])
    };
    let found = of(3);
    assert!(found[1].whole().contains("settled only after up to "), "{found:?}");
    assert!(found[1].whole().contains("(3 of 3 trials)"), "{found:?}");
    assert_eq!(of(1).len(), 1, "{:?}", of(1));
}

/// The simulated device takes writes as fast as its cache does until that is full.
#[test]
fn the_write_cache_of_a_simulated_device_is_found() {
    let load = [("access", "write"), ("streams", "4"), ("stop", "60s"), ("block-size", "1MiB")];
    let cache = [("sim-write-cache", "20GB"), ("sim-capacity", "500MB/s"), ("file-size", "64GiB")];
    let settings = simulated(&[&load[..], &cache, &[("sim-noise", "0.05")]].concat());
    let found = answer(&campaign(&[("writing".to_owned(), settings)], 1, 1));
    let fall = found.iter().find(|finding| finding.whole().contains("fell once and stayed low"));
    let claim = fall.unwrap_or_else(|| panic!("{found:#?}")).whole();
    assert!(claim.contains("in 1 of 1 trial ") && claim.contains("GiB"), "{claim}");
}

/// A volume with credits gave 150 MB/s and then 37 to a load that only read: one mean of both was
/// told, and not a word.
#[test]
fn a_burst_of_reading_is_a_warning_with_both_rates() {
    let mut missed = 0;
    for seed in seeds() {
        let at = Random::new(seed + 6_000).between(3.0, 12.0);
        let shape = |second| if second < at { 0.15 } else { 0.037 };
        let mut one = record(1, "read", &rates(seed, 200, 0.5, shape));
        let Outcome::Done(measurement) = &mut one.outcome else { panic!("it was done") };
        let window = measurement.window.as_mut().unwrap();
        window.done.read_ops = window.done.read_bytes >> 20;
        let found = answer(&[one.light()]);
        let told = found.iter().find(|finding| finding.whole().contains("a credit or a cache"));
        missed += u32::from(told.is_none());
        let Some(told) = told else { continue };
        assert_eq!((told.severity, &told.evidence[..]), (Severity::Warning, &[1][..]));
        assert!(told.whole().contains("in 1 of 1 trial the rate fell once"), "{}", told.claim);
    }
    assert!(f64::from(missed) / seeds().count() as f64 <= 0.02, "{missed} missed");
}
