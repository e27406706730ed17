//! Healthy trials of every kind, and samples of reports: the judge accuses hardly any.

use base::stats::testing::{Random, seeds};
use engines::engine::testing::{record, settings};
use experiment::measurement::Record;
use experiment::measurement::consistency::{INVARIANTS, broken};

use crate::report::fixture;

/// A load of the simulated server, of whatever kind.
fn drawn(seed: u64) -> Vec<(&'static str, String)> {
    let mut random = Random::new(seed);
    let mut one_of = |words: &[&'static str]| {
        let place = (random.uniform() * words.len() as f64).ceil() as usize;
        words[place.clamp(1, words.len()) - 1]
    };
    let direct = one_of(&["true", "false"]);
    let knobs = [
        ("access", one_of(&["read", "write", "random-read", "random-write", "random-mix"])),
        ("streams", one_of(&["1", "2", "4", "16", "60"])),
        ("queue-depth", one_of(&["1", "4", "32"])),
        ("block-size", one_of(&["4KiB", "64KiB", "1MiB"])),
        ("direct", direct),
        ("cold", one_of(&["true", "false"])),
        ("stop", one_of(&["100ms", "500ms", "2s", "pass", "1MiB"])),
        ("file-size", one_of(&["8MiB", "64MiB"])),
        ("sim-noise", one_of(&["0", "0.05", "0.2"])),
        ("sim-correlation", one_of(&["0", "0.9"])),
        ("sim-inequality", one_of(&["1", "4"])),
        ("sim-stream-rate", one_of(&["50MB/s", "500MB/s"])),
        ("sim-capacity", one_of(&["40MB/s", "300MB/s"])),
    ];
    knobs.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// How many records each line found broken; how many there are, and how many broke any.
#[expect(clippy::print_stdout, reason = "the table is told with --nocapture")]
fn table(what: &str, records: impl Iterator<Item = Record>) -> (usize, usize) {
    let (mut all, mut accused, mut counts) = (0, 0, vec![0; INVARIANTS.len()]);
    for record in records {
        let found = broken(&record);
        all += 1;
        accused += usize::from(!found.is_empty());
        for (line, count) in INVARIANTS.iter().zip(&mut counts) {
            *count += usize::from(found.contains(&line.name));
        }
    }
    println!("{what}: {all} records, {accused} accused");
    for (line, count) in INVARIANTS.iter().zip(counts) {
        println!("  {:20} {count}", line.name);
    }
    (all, accused)
}

#[test]
fn hardly_any_healthy_trial_is_accused() {
    let run = |seed: u64| {
        let typed = drawn(seed);
        let typed: Vec<(&str, &str)> = typed.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let record = record(&settings(&typed), seed);
        assert!(record.outcome.measurement().is_some(), "seed {seed}: {typed:?}");
        record
    };
    let (all, accused) = table("simulated loads of every kind", seeds().map(run));
    assert!(accused * 200 <= all, "{accused} of {all}");
    let samples = [fixture::evaluated(), fixture::names(), fixture::crossed()];
    let mut records: Vec<Record> = samples.into_iter().flat_map(|sample| sample.records).collect();
    records.extend(fixture::damaged().1);
    assert_eq!(table("samples of reports", records.into_iter()).1, 0);
}
