//! Planted tails: how long they are, where they depart, and how many operations they take.

use super::*;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use experiment::knob::testing::settings;
use experiment::knob::{self, Settings};
use experiment::measurement::figures::{Figures, Rates};
use experiment::measurement::limit::testing::Scene;
use experiment::measurement::origin::Verdict;
use experiment::measurement::{Amount, Operation, Outcome, latency_histogram};

/// A trial of so many operations, its latencies in ns as a light record has them.
fn record(number: u32, settings: Settings, ops: u64, latencies: [f64; 4]) -> Record {
    let mut record = Scene::default().record(number);
    let names = ["latency_ns_p50", "latency_ns_p99", "latency_ns_p999", "latency_ns_max"];
    let of = names.into_iter().zip(latencies);
    let figures: Figures = of.map(|(name, ns)| (name.into(), Estimate::bare(ns))).collect();
    record.trial.settings = settings;
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
    measurement.window.as_mut().unwrap().done = Amount { read_ops: ops, ..Amount::default() };
    let mut record = record.light();
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
    let digest = measurement.digest.as_mut().unwrap();
    digest.rates = Rates::among(&figures);
    digest.figures = figures.into();
    record
}

/// Depths 1 to 32, three replicates each; `tail` is p99.9 over the median at each depth.
fn depths(seed: u64, ops: u64, tail: impl Fn(f64) -> f64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let mut noise = |deviation: f64| (deviation * random.normal()).exp();
    let mut all = Vec::new();
    for (place, depth) in ["1", "2", "4", "8", "16", "32"].into_iter().enumerate() {
        let at: f64 = depth.parse().unwrap();
        for replicate in 0..3 {
            let knobs = [("access", "random-read"), ("block-size", "4KiB"), ("queue-depth", depth)];
            let p50 = 1e5 * at.sqrt() * noise(0.02);
            let p999 = p50 * tail(at) * noise(0.1);
            let latencies = [p50, p50 * 1.5, p999, p999 * 3.0];
            all.push(record(
                place as u32 * 3 + replicate,
                settings("file", &knobs),
                ops,
                latencies,
            ));
        }
    }
    all
}

#[test]
fn the_planted_tail_is_covered_and_the_longest_is_told() {
    let mut coverage = Coverage::default();
    for seed in seeds() {
        // One load alone, so that none is chosen for being long.
        let records = &depths(seed, 10_000, |_| 20.0)[..3];
        let trials: Vec<Latencies<'_>> = records.iter().filter_map(latencies).collect();
        coverage.add(in_logs(&ratios(&trials, 0)).and_then(|times| times.interval), 20.0);
    }
    coverage.check("p99.9 over the median");
    let found = answer(&depths(1, 10_000, |depth| if depth == 16.0 { 50.0 } else { 5.0 }));
    let claim = found[0].whole();
    assert!(claim.starts_with("Random reading at depth 16 (direct, "), "{claim}");
    assert!(claim.contains("has the longest tail") && claim.contains("p99.9 is 4"), "{claim}");
    assert!(claim.contains(" times (") && claim.contains("The next of 6 loads"), "{claim}");
    assert_eq!(found[0].evidence, [12, 13, 14]);
}

#[test]
fn the_step_at_which_a_tail_departs_is_found_and_none_where_it_does_not() {
    let (mut missed, mut claims, mut wrong) = (0, [0; 2], 0);
    for seed in seeds() {
        let found =
            departures(&depths(seed, 10_000, |depth| if depth < 10.0 { 4.0 } else { 24.0 }));
        missed += u32::from(found.is_empty());
        wrong += u32::from(found.iter().any(|it| !it.whole().contains("from queue depth 8 to 16")));
        // Nothing departs; and all grows alike, the tail by just as much as is let pass.
        let passed = |depth: f64| 4.0 * 1.5_f64.powf(depth.log2());
        for (place, records) in
            [depths(seed, 10_000, |_| 4.0), depths(seed, 10_000, passed)].iter().enumerate()
        {
            claims[place] += u32::from(!departures(records).is_empty());
        }
    }
    let share = |count: u32| f64::from(count) / seeds().count() as f64;
    assert!(share(missed) <= null_limit() && share(wrong) <= null_limit(), "{missed} {wrong}");
    assert!(claims.iter().all(|claims| share(*claims) <= null_limit()), "{claims:?}");
    let planted = depths(1, 10_000, |depth| if depth < 10.0 { 4.0 } else { 24.0 });
    let claim = departures(&planted).remove(0).whole();
    assert!(claim.contains("the tail departs: p99.9 grows from"), "{claim}");
    assert!(claim.contains(" times ("), "{claim}");
}

/// The 99.9th percentile of 1000 operations is the slowest of them: of so few none is told.
#[test]
fn no_percentile_is_told_that_the_operations_do_not_bound() {
    let long = |_: f64| 50.0;
    assert!(answer(&depths(1, 3688, long))[0].whole().contains("p99.9"));
    assert_eq!(answer(&depths(1, 3687, long)), [], "p99 is 1.5 times the median");
    assert_eq!(answer(&depths(1, 300, long)), []);
}

#[test]
fn bytes_from_memory_are_never_compared_with_the_devices() {
    let mut records = depths(1, 10_000, |depth| if depth < 10.0 { 4.0 } else { 24.0 });
    for record in &mut records {
        if record.trial.settings.number(knob::QUEUE_DEPTH) > 10.0 {
            let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
            measurement.digest.as_mut().unwrap().origin.verdict = Verdict::Cache;
        }
    }
    assert_eq!(departures(&records), []);
    let claim = answer(&records).remove(0).whole();
    assert!(claim.contains("Bytes from the device") && claim.contains("of 4 loads"), "{claim}");
}

/// "Median 1.30 ms, p99 63.5 ms" stood on the first screen, and "1.77 ms, 62.8 ms" in the table
/// below it: the sentence had the means of what each trial told.
#[test]
fn percentiles_of_several_trials_are_those_of_all_their_operations() {
    let trial = |number: u32, usual_ns: u64, slow_ns: u64, ops: u64| {
        let mut record = Scene::default().record(number);
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
        let mut histogram = latency_histogram();
        histogram.record_n(usual_ns, ops * 95 / 100).unwrap();
        histogram.record_n(slow_ns, ops - ops * 95 / 100).unwrap();
        measurement.window.as_mut().unwrap().done.read_ops = ops;
        measurement.latency = vec![(Operation::Read, histogram)];
        record
    };
    let records = [trial(1, 100_000, 1_000_000, 3000), trial(2, 100_000, 2_000_000, 3000), {
        // A few operations, most of them slow.
        trial(3, 400_000, 40_000_000, 1000)
    }];
    let claim = answer(&records).remove(0).whole();
    let of = cells(&records).remove(0);
    let table = |figure: &str| duration(percentile_of(&of.records, figure).unwrap());
    let told =
        format!("median {}, p99 {}", table(figure_names::LATENCY_P50), table("latency_ns_p99"));
    assert!(claim.contains(&told) && told.starts_with("median 100 us"), "{told}: {claim}");
    // One over the other.
    let times = percentile_of(&of.records, "latency_ns_p99").unwrap()
        / percentile_of(&of.records, figure_names::LATENCY_P50).unwrap();
    assert!(claim.contains(&format!("{} times", significant(times))), "{claim}");
}

/// What a histogram says is what is told.
#[test]
fn a_histogram_of_real_operations_is_read() {
    let mut record = Scene::default().record(1);
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
    let mut histogram = latency_histogram();
    histogram.record_n(100_000, 9_980).unwrap();
    histogram.record_n(5_000_000, 20).unwrap();
    measurement.window.as_mut().unwrap().done.read_ops = 10_000;
    measurement.latency = vec![(Operation::Read, histogram)];
    let claim = answer(&[record]).remove(0).whole();
    assert!(claim.contains("median 100 us, p99.9 5.00 ms, slowest 5.00 ms"), "{claim}");
    assert!(claim.contains("50.0 times (one run of each) the median"), "{claim}");
}
