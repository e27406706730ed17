//! Planted starts: a slice and a credit that were saved up, and none.

use base::stats::mean_interval;
use base::stats::testing::{Coverage, Random, seeds};
use engines::engine::testing::{record, settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::{cells, figures, rate, window_disagrees};
use experiment::measurement::start::{note, start};
use experiment::measurement::{Amount, Measurement, Outcome, Record, Window};
use facts::counters::series::{Column, ColumnKind, Series};

fn measurement(record: &mut Record) -> &mut Measurement {
    match &mut record.outcome {
        Outcome::Done(measurement) => measurement,
        other => panic!("{other:?}"),
    }
}

/// A simulated trial of 2 s on a device of 100 MB/s, of which each block is 256 KiB, with `saved`
/// bytes more in its first tenth of a second.
fn throttled(seed: u64, saved: u64, noise: &str) -> Record {
    let load = [("streams", "2"), ("block-size", "256KiB"), ("stop", "2s")];
    let device = [("sim-capacity", "100MB/s"), ("sim-stream-rate", "100MB/s")];
    let noise = [("sim-noise", noise), ("sim-trial-noise", "0")];
    let mut record = record(&settings(&[&load[..], &device, &noise].concat()), seed);
    let of = measurement(&mut record);
    for column in &mut of.load.columns {
        let more = match column.name.as_str() {
            "read_bytes" => saved,
            "read_ops" => saved >> 18,
            _ => 0,
        };
        column.values.iter_mut().skip(1).for_each(|value| *value += more);
    }
    let window = of.window.as_mut().unwrap();
    window.done.read_bytes += saved;
    window.done.read_ops += saved >> 18;
    // What was saved up is given at once: nothing else of the trial contradicts it.
    for stream in &mut of.streams {
        stream.total.read_bytes += saved / 2;
        stream.total.read_ops += saved >> 19;
    }
    let (_, latencies) = &mut of.latency[0];
    latencies.saturating_record_n(1000, saved >> 18);
    record
}

/// A throttle of 18.64 MB/s had saved a tenth of a second when the load came: each trial of 2 s
/// read 19.5 MB/s, "95 % interval 19.5 to 19.6", and five repeats agreed on it.
#[test]
fn a_saved_slice_is_left_out_of_the_rates() {
    let (mut right, mut found) = (0, 0);
    for seed in seeds() {
        let mut record = throttled(seed, 10 << 20, "0.02");
        let said = rate(&record, figure_names::THROUGHPUT).unwrap();
        right += u32::from((said / 100e6 - 1.0).abs() < 0.03);
        let note = note(measurement(&mut record));
        found += u32::from(note.as_ref().is_some_and(|note| note.kind == "start-left-out"));
        if seed == 0 {
            let note = note.unwrap().text;
            assert!(note.contains("like the rest: for 9") && note.contains(" MB/s"), "{note}");
            assert!(note.contains("latencies are of all"), "{note}");
            assert_eq!(figures(&record)[figure_names::THROUGHPUT].value, said);
            assert_eq!(rate(&record.light(), figure_names::THROUGHPUT), Some(said));
        }
    }
    let all = seeds().count() as u32;
    assert!(found * 100 >= all * 95 && right * 100 >= all * 95, "{found}, {right} of {all}");
}

/// What was left out of the rate is in the naive figure: the streams ran all the time.
#[test]
fn a_start_that_is_left_out_makes_no_difference_between_window_and_naive() {
    let mut record = throttled(1, 20 << 20, "0.02");
    for stream in &mut measurement(&mut record).streams {
        stream.pass.read_bytes += 10 << 20;
    }
    assert!(start(measurement(&mut record)).unwrap().rest.is_some());
    assert_eq!(window_disagrees(&record), None);
    assert_eq!(window_disagrees(&record.light()), None);
}

/// A trial of 2 s on a disk that is throttled to so many bytes per second and had a tenth of a
/// second saved up, read in blocks of 1 MiB: two in each sample, or one.
fn coarse(number: u32, rate: f64) -> Record {
    let blocks = |tenth: u32| match tenth {
        0 => 0,
        _ => (rate * (f64::from(tenth) / 10.0 + 0.1) / f64::from(1 << 20)) as u64,
    };
    let of = |name: &str, size: u64| Column {
        name: name.into(),
        kind: ColumnKind::Counter,
        values: (0..=20).map(|tenth| blocks(tenth) * size).collect(),
    };
    let load = Series {
        source: "load".into(),
        at_ns: (0..=20).map(|tenth| tenth * 100_000_000).collect(),
        columns: vec![of("read_bytes", 1 << 20), of("read_ops", 1)],
    };
    let (read_ops, read_bytes) = (blocks(20), blocks(20) << 20);
    let done = Amount { read_bytes, read_ops, ..Amount::default() };
    let window = Some(Window { start_ns: 0, end_ns: 2_000_000_000, done });
    let measured = Measurement { load, window, ..Measurement::default() };
    let mut record = record(&settings(&[("stop", "100ms"), ("streams", "1")]), 1);
    record.trial.number = number;
    record.outcome = Outcome::Done(Box::new(measured));
    record
}

/// Where blocks are so coarse that no trial alone tells its start, five of them do: their interval
/// spans the rate with it and the rate without.
#[test]
fn a_start_that_no_trial_tells_alone_widens_the_interval_of_all() {
    let (mut told, mut before) = (Coverage::default(), Coverage::default());
    for seed in seeds() {
        let mut random = Random::new(seed);
        let truth = random.between(12e6, 60e6);
        let all: Vec<Record> =
            (1..=5).map(|of| coarse(of, truth * (1.0 + 0.001 * random.normal()))).collect();
        let values: Vec<f64> =
            all.iter().filter_map(|record| rate(record, figure_names::THROUGHPUT)).collect();
        before.add(mean_interval(&values).and_then(|it| it.interval), truth);
        told.add(cells(&all)[0].figures[figure_names::THROUGHPUT].interval, truth);
    }
    told.check_least("a common start");
    assert!(before.share() < 0.5, "{before:?}");
}

#[test]
fn a_healthy_trial_has_no_start_of_its_own() {
    let mut accused = 0;
    for (noise, correlation) in [("0.05", "0.9"), ("0.2", "0.9"), ("0.2", "0")] {
        for seed in seeds() {
            let load = [("streams", "4"), ("block-size", "256KiB"), ("stop", "2s")];
            let noise = [("sim-noise", noise), ("sim-correlation", correlation)];
            let record = record(&settings(&[&load[..], &noise].concat()), seed);
            accused += u32::from(start(record.outcome.measurement().unwrap()).is_some());
        }
    }
    let share = f64::from(accused) / (3 * seeds().count()) as f64;
    assert!(share <= 0.01, "{accused} healthy trials: {share}");
}

/// A volume gave 150 MB/s from its credits for 6 s, then 37: one rate of 70 was told, which it
/// never had and never will have.
#[test]
fn a_burst_is_named_with_both_rates_and_counts() {
    let row = |tenth: i64| tenth.min(60) * 15_000_000 + (tenth - 60).max(0) * 3_700_000;
    let of = |name: &str, size: i64| Column {
        name: name.into(),
        kind: ColumnKind::Counter,
        values: (0..=200).map(|tenth| (row(tenth) / size) as u64).collect(),
    };
    let load = Series {
        source: "load".into(),
        at_ns: (0..=200).map(|tenth| tenth * 100_000_000).collect(),
        columns: vec![of("read_bytes", 1), of("read_ops", 4096)],
    };
    let total = row(200) as u64;
    let done = Amount { read_bytes: total, read_ops: total / 4096, ..Amount::default() };
    let window = Window { start_ns: 0, end_ns: 20_000_000_000, done };
    let of = Measurement { load, window: Some(window), ..Measurement::default() };
    let found = start(&of).unwrap();
    assert_eq!((found.after_ns, found.rest), (6_000_000_000, None));
    let note = note(&of).unwrap();
    assert_eq!(note.kind, "burst");
    for part in ["150 MB/s", "37.0 MB/s", "from 6"] {
        assert!(note.text.contains(part), "{part}: {}", note.text);
    }
}
