//! Planted latencies and bandwidths: found, with intervals that hold them, and held against what
//! turning allows.

use serde_json::{Value as Json, json};

use super::*;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing::{campaign, settings};
use experiment::knob;
use experiment::measurement::Record;

const LOAD: &[(&str, &str)] = &[
    ("access", "random-read"),
    ("file-size", "4GiB"),
    ("sim-noise", "0.05"),
    ("sim-correlation", "0.9"),
    ("sim-trial-noise", "0.02"),
    ("sim-capacity", "100000MB/s"),
    ("stop", "500ms"),
];

const SIZES: &[&str] = &["4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB"];

fn records(changes: &[(&str, &str)], seed: u64) -> Vec<Record> {
    let cell = |size: &&str| {
        let all = [LOAD, changes, &[("block-size", *size)]].concat();
        ("block-size".to_owned(), settings(&all))
    };
    campaign(&SIZES.iter().map(cell).collect::<Vec<_>>(), 3, seed)
}

#[test]
fn the_planted_law_lies_within_its_intervals() {
    let mut coverage: [Coverage; 3] = Default::default();
    let mut refused = 0;
    for seed in seeds() {
        let mut random = Random::new(seed);
        let (latency_us, rate) =
            (random.between(500.0, 9000.0).round(), random.between(50.0, 400.0));
        let access = if seed % 2 == 0 { "random-read" } else { "random-write" };
        let service = format!("{latency_us}us");
        let stream = format!("{}B/s", (rate * 1e6).round());
        let planted =
            [("access", access), ("sim-service-time", &service), ("sim-stream-rate", &stream)];
        let records = records(&planted, seed);
        let found = laws(&AnalysisInput::from_records(&records)).remove(0);
        let Some(law) = found.law else {
            refused += 1;
            continue;
        };
        let ends = |of: Bound| of.at().and_then(|at| at.interval);
        coverage[0].add(law.latency_ns.interval, latency_us * 1e3);
        coverage[1].add(ends(law.bandwidth_bytes_per_s), rate * 1e6);
        coverage[2].add(ends(law.half_size_bytes), latency_us * rate);
    }
    assert!(f64::from(refused) <= null_limit() * seeds().end as f64, "{refused} refused");
    for (part, coverage) in ["latency", "bandwidth", "half"].iter().zip(&coverage) {
        coverage.check(part);
    }
}

/// With several in flight each takes that many times as long as until one more is done.
#[test]
fn what_was_in_flight_is_taken_into_account() {
    let disk =
        [("sim-service-time", "2ms"), ("sim-stream-rate", "200MB/s"), ("sim-trial-noise", "0")];
    let records = records(&[&disk[..], &[("streams", "4"), ("sim-noise", "0.01")]].concat(), 1);
    let found = &laws(&AnalysisInput::from_records(&records))[0];
    let law = found.law.unwrap();
    assert_eq!(found.in_flight, 4.0);
    assert!((law.latency_ns.value / 2e6 - 1.0).abs() < 0.02, "{law:?}");
    let bandwidth = law.bandwidth_bytes_per_s.at().unwrap().value;
    assert!((bandwidth / 800e6 - 1.0).abs() < 0.02, "{law:?}");
    let claim = answer(&AnalysisInput::from_records(&records))[0].whole();
    assert!(claim.contains("costs 2.0") && claim.contains("4 in flight."), "{claim}");
    assert!(claim.contains("Half of that is reached with blocks of 39"), "{claim}");
}

fn turning_of(rpm: u64, service: &str, access: &str) -> (Option<Turning>, String) {
    let disk = [("sim-service-time", service), ("sim-stream-rate", "100MB/s"), ("access", access)];
    let records = records(&disk, 1);
    let inventory: Json = json!({"server": {"drives": [{"name": "sim0", "rpm": rpm}]}});
    let asked = AnalysisInput { inventory: &inventory, ..AnalysisInput::from_records(&records) };
    (laws(&asked).remove(0).turning, answer(&asked).remove(0).whole())
}

#[test]
fn operations_are_held_against_turning_only_where_the_disks_are_known_to_turn() {
    let (turning, claim) = turning_of(7200, "6ms", "random-read");
    let turning = turning.unwrap();
    assert_eq!((turning.disks, turning.rpm, turning.most_ops_per_s), (1, 7200, 240.0));
    assert!(turning.ops_per_s_per_disk.interval.unwrap().covers(1000.0 / 6.0), "{turning:?}");
    assert!(claim.contains("of the 240/s that 7200 turns a minute allow"), "{claim}");
    assert!(!claim.contains("No disk does that"), "{claim}");
    // 1 is how a drive says that it does not turn.
    let (none, claim) = turning_of(1, "6ms", "random-read");
    assert_eq!(none, None);
    assert!(!claim.contains("turns a minute"), "{claim}");
    let (_, claim) = turning_of(7200, "500us", "random-write");
    assert!(claim.contains("No disk does that: a cache answered"), "{claim}");
}

/// A load whose large blocks take another way than its small ones.
#[test]
fn what_does_not_follow_the_law_gets_no_numbers() {
    for seed in 0..5 {
        let disk = [("sim-service-time", "2ms"), ("sim-stream-rate", "100MB/s")];
        let mut records = records(&disk, seed);
        let cached =
            self::records(&[("sim-service-time", "100us"), ("sim-stream-rate", "300MB/s")], seed);
        for (record, other) in records.iter_mut().zip(&cached) {
            if record.trial.settings.get(knob::BLOCK_SIZE) > 65536 {
                record.outcome = other.outcome.clone();
            }
        }
        let found = &laws(&AnalysisInput::from_records(&records))[0];
        assert_eq!(found.law, None, "seed {seed}");
        let claim = answer(&AnalysisInput::from_records(&records))[0].whole();
        assert!(claim.contains("does not follow T = L + S/B"), "{claim}");
    }
}
