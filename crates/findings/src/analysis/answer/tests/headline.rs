//! The first line is the answer of the plan.

use super::*;
use crate::analysis::curve::curves;
use base::value::Value;
use engines::engine::testing::{campaign, settings};
use experiment::knob::{self, Settings, testing};
use experiment::measurement::programs::{Programs, Run};
use experiment::measurement::{Amount, Measurement, Outcome};
use experiment::plan::Trial;

const SECOND: u64 = 1_000_000_000;

/// Replicates of one simulated load.
fn load(changes: &[(&str, &str)], replicates: u32) -> Vec<Record> {
    let noise = [("sim-trial-noise", "0.02"), ("stop", "300ms"), ("direct", "true")];
    let settings = settings(&[&noise[..], changes].concat());
    campaign(&[("load".to_owned(), settings)], replicates, 1)
}

fn made(number: u32, settings: &Settings, measurement: Measurement) -> Record {
    let trial = Trial {
        number,
        replicate: number,
        group: "g".to_owned(),
        settings: settings.clone(),
        seed: 1,
        first_file: 0,
        planned: None,
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

/// A trial of a program that took so many ms and read so many bytes.
fn program(number: u32, settings: &Settings, ms: u64, bytes: u64) -> Record {
    let ended_ns = ms * 1_000_000;
    let run = Run { copy: 1, timed: true, ended_ns, exit: Some(0), ..Run::default() };
    let done = Amount { read_bytes: bytes, read_ops: bytes >> 17, ..Amount::default() };
    let window = (bytes > 0).then_some(Window { start_ns: 0, end_ns: ended_ns, done });
    let programs = Some(Programs { runs: vec![run], ..Programs::default() });
    made(number, settings, Measurement { window, programs, ..Measurement::default() })
}

fn first(records: &[Record]) -> String {
    let [first, ..] = answer(records, &[]);
    first
}

/// "The simulated device accepts 250 MB/s ... mixed random reading and writing": of a load that
/// reads 70 %.
#[test]
fn a_load_that_reads_and_writes_moves_bytes_and_accepts_none() {
    let mix = [("access", "random-mix"), ("block-size", "64KiB"), ("queue-depth", "8")];
    let mut records = load(&mix, 3);
    let told = first(&records);
    assert!(told.starts_with("The simulated device moves "), "{told}");
    let (_, share) = told.split_once(", of which ").unwrap();
    let (share, rest) = share.split_once(" % is read, with 1 stream, random reading and").unwrap();
    assert!((68.0..72.0).contains(&share.parse::<f64>().unwrap()), "{told}");
    assert!(!told.contains("accepts") && !rest.contains("delivers"), "{told}");
    for access in ["update", "random-update"] {
        for record in &mut records {
            record.trial.settings.set_named(knob::ACCESS.name, Value::Word(access.into()));
        }
        let told = first(&records);
        assert!(told.starts_with("The simulated device moves "), "{access}: {told}");
    }
    let told = first(&load(&[("access", "rewrite")], 3));
    assert!(told.starts_with("The simulated device accepts "), "{told}");
    assert!(!told.contains("of which"), "{told}");
}

/// "Nothing was measured. ... This rests on 3 trials ...; nothing speaks against it": of `sleep
/// 0.2`. "No figure is surely the device's; ... 584 MB/s": of `cp`, which was to be timed.
#[test]
fn a_program_is_headed_by_its_time_whether_it_moves_bytes_or_not() {
    for (command, bytes) in [("sleep 0.2", 0), ("cp /bin/bash copied", 100 << 20)] {
        let settings = testing::settings("command", &[("command", command)]);
        let all = [204, 205, 206].map(|ms| program(ms as u32, &settings, ms, bytes));
        let told = first(&all);
        let time = format!("`{command}` takes 205 ms (203 ms to 207 ms)");
        assert_eq!(told, format!("{time} with 1 stream."));
        let told = first(&all[..1]);
        assert!(told.ends_with("204 ms (one run) with 1 stream."), "{told}");
    }
    let of = |streams: u64| {
        let mut settings = testing::settings("command", &[("command", "make")]);
        settings.set(knob::STREAMS, streams);
        [0, 1, 2].map(|more| program(1, &settings, 1000 * streams + more, 0))
    };
    let told = first(&[of(4), of(1), of(2)].concat());
    assert!(told.starts_with("`make` takes at least 1.00 s ("), "{told}");
    assert!(told.ends_with(") with 1 stream."), "{told}");
}

/// "Nothing was measured." above trials that were done.
#[test]
fn nothing_was_measured_where_no_trial_was_done_and_nowhere_else() {
    let settings = Settings::defaults("file");
    let all = [1, 2].map(|number| made(number, &settings, Measurement::default()));
    assert_eq!(first(&all), "2 trials were done, and none has a rate.");
    assert_eq!(first(&all[..1]), "1 trial was done, and has no rate.");
    assert_eq!(first(&[]), "Nothing was measured.");
}

/// "The device delivers 70.4 MB/s ... block-size 4 KiB, queue-depth 1": what `evaluate --space
/// 64MiB` said first, as if that were the device's speed.
#[test]
fn small_blocks_are_said_to_be_what_a_rate_is_of() {
    let random = load(&[("access", "random-read"), ("block-size", "4KiB")], 3);
    let small = "With 1 stream, random reading (direct, 4 KiB, depth 1), the simulated \
                 device delivers ";
    let told = first(&random);
    assert!(told.starts_with(small) && told.ends_with(")."), "{told}");
    let evaluated = [random.clone(), load(&[("access", "write")], 3)].concat();
    let told = first(&evaluated);
    assert!(told.starts_with(small), "{told}");
    assert!(told.ends_with(" Reading in larger blocks was not measured."), "{told}");
    let told = first(&[evaluated.clone(), load(&[("queue-depth", "16")], 3)].concat());
    assert!(told.starts_with("The simulated device delivers "), "{told}");
    assert!(told.contains("sequential reading (direct, 1 MiB"), "{told}");
    let cached = [("second-pass", "true"), ("sim-device-cache", "64GiB"), ("queue-depth", "16")];
    let told = first(&[evaluated, load(&cached, 3)].concat());
    assert!(told.starts_with(small), "{told}");
    assert!(told.contains(" Sequential reading (direct, 1 MiB, depth 16"), "{told}");
    assert!(told.ends_with(" was measured, but is not surely the device's."), "{told}");
}

/// "3 runs" of two values: a trial whose rate is withheld was counted.
#[test]
fn n_counts_the_trials_that_have_the_figure() {
    let mut records = load(&[("streams", "4")], 3);
    assert_eq!(curves(&records, "streams")[0].replicates(4.0, figure_names::THROUGHPUT), 3);
    let Outcome::Done(measurement) = &mut records[1].outcome else { panic!("all are done") };
    measurement.window = None;
    measurement.streams.clear();
    assert_eq!(curves(&records, "streams")[0].replicates(4.0, figure_names::THROUGHPUT), 2);
}

/// "95 % interval 0 to 12703 MB/s, n 2" and "0 to 4212 MB/s" stood in the first line.
#[test]
fn runs_that_differ_too_much_are_said_to_do_so() {
    let rates = |rates: &[&str]| -> Vec<Record> {
        let one = |rate: &&str| load(&[("sim-stream-rate", rate)], 1);
        let mut records: Vec<Record> = rates.iter().flat_map(one).collect();
        let settings = records[0].trial.settings.clone();
        records.iter_mut().for_each(|record| record.trial.settings = settings.clone());
        records
    };
    let told = first(&rates(&["100MB/s", "500MB/s"]));
    assert!(told.starts_with("The simulated device delivers about "), "{told}");
    assert!(told.contains("MB/s (runs far apart)"), "{told}");
    assert!(!told.contains("(0 to"), "{told}");
    let told = first(&rates(&["300MB/s", "400MB/s", "500MB/s"]));
    assert!(told.contains("delivers about 3") && told.contains("MB/s (2"), "{told}");
    let told = first(&rates(&["490MB/s", "500MB/s", "500MB/s"]));
    assert!(!told.contains("about") && told.contains("MB/s (4"), "{told}");
}

/// A cell of `operation` with so many streams, which did so many operations in a second.
fn names(operation: &str, streams: u64, ops: &[u64]) -> Vec<Record> {
    let mut settings = testing::settings("tree", &[("operation", operation)]);
    settings.set(knob::STREAMS, streams);
    let one = |ops: &u64| {
        let done = Amount { metadata_ops: *ops, ..Amount::default() };
        let window = Some(Window { start_ns: 0, end_ns: SECOND, done });
        made(1, &settings, Measurement { window, ..Measurement::default() })
    };
    ops.iter().map(one).collect()
}

/// "Operations per second at most: create 21.0k with 8 streams": the highest of many means, as if
/// it were known exactly, was the first sentence of every campaign on names.
#[test]
fn operations_on_names_are_told_with_their_interval_and_n() {
    let slow = [names("create", 1, &[5000, 5100]), names("stat", 1, &[90_000])].concat();
    let told = first(&[slow, names("create", 8, &[20_000, 21_000, 22_000])].concat());
    let create = "Operations per second at most: create 21.0k (19.5k to 22.6k) \
                  with 8 streams; stat 90.0k (one run) with 1 stream.";
    assert_eq!(told, create);
    let two = [names("create", 4, &[20_000, 21_000, 23_000]), names("create", 8, &[21_000; 3])];
    let told = first(&two.concat());
    assert!(told.contains("streams, where 1 other load may be as fast."), "{told}");
    let told = first(&names("create", 4, &[1000, 20_000]));
    assert!(told.contains("about 10.5k (runs far apart)"), "{told}");
}
