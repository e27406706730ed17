//! Each line of the table is broken once, and healthy trials break none.

use super::*;
use crate::knob;
use crate::knob::testing::settings;
use crate::measurement::figures::{cells, figures, rate, standing};
use crate::measurement::{
    Durable, Evidence, Operation, Outcome, Stream, Window, judge, latency_histogram,
};
use crate::plan::Trial;
use base::value::Value;
use facts::inventory::Ceiling;

const SECOND: u64 = 1_000_000_000;
const BLOCK: u64 = 4096;

fn reads(ops: u64) -> Amount {
    Amount { read_bytes: ops * BLOCK, read_ops: ops, ..Amount::default() }
}

fn writes(ops: u64) -> Amount {
    Amount { write_bytes: ops * BLOCK, write_ops: ops, ..Amount::default() }
}

/// Four streams at depth 8 on a disk: 100 000 operations of 640 us each in 2 s, as it must be.
fn healthy(of: fn(u64) -> Amount) -> Record {
    let mut histogram = latency_histogram();
    histogram.saturating_record_n(640_000, 100_000);
    let stream = Stream {
        pass_end_ns: Some(2 * SECOND + 1_000_000),
        pass: of(25_000),
        stopped_ns: 2 * SECOND + 2_000_000,
        total: of(25_100),
        ..Stream::default()
    };
    let done = of(100_000);
    let delivered = of(100_400);
    let is_write = done.write_ops > 0;
    let evidence = Evidence {
        delivered,
        process_read_bytes: Some(delivered.read_bytes),
        process_write_bytes: Some(delivered.write_bytes),
        device_read_bytes: Some(delivered.read_bytes),
        device_write_bytes: Some(delivered.write_bytes),
        devices: vec!["sda".into()],
        disks: vec!["sda".into()],
        filesystem: "ext4".into(),
        process_io_reliable: true,
        resident_before_bytes: Some(0),
        file_bytes: delivered.bytes(),
        ..Evidence::default()
    };
    let kind = if is_write { Operation::Write } else { Operation::Read };
    let measurement = Measurement {
        elapsed_ns: 2 * SECOND + 2_000_000,
        window: Some(Window { start_ns: 1_000_000, end_ns: 2 * SECOND + 1_000_000, done }),
        streams: vec![stream; 4],
        latency: vec![(kind, histogram)],
        durable: is_write.then_some(Durable {
            bytes: delivered.write_bytes,
            accepted_ns: 2 * SECOND,
            durable_ns: 3 * SECOND,
        }),
        evidence,
        ..Measurement::default()
    };
    let access = if is_write { "write" } else { "read" };
    let knobs = [("access", access), ("streams", "4"), ("queue-depth", "8"), ("direct", "true")];
    let mut settings = settings("file", &knobs);
    settings.set(knob::BLOCK_SIZE, BLOCK);
    let trial = Trial {
        number: 1,
        replicate: 1,
        group: "g".into(),
        settings,
        seed: 1,
        first_file: 0,
        planned: None,
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

fn with(mut record: Record, change: impl FnOnce(&mut Measurement)) -> Record {
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
    change(measurement);
    record
}

/// A record that breaks the line of that name; figures and a verdict where no record of today's
/// formulae can have them.
fn planted(name: &str) -> (Record, Option<Figures>, Option<Verdict>) {
    let plain = |record| (record, None, None);
    let figures = |figures: &[(&str, f64)]| -> Option<Figures> {
        let all = figures.iter();
        Some(all.map(|(name, value)| ((*name).into(), Estimate::bare(*value))).collect())
    };
    let more = |times: u64| {
        with(healthy(reads), |it| {
            it.window.as_mut().unwrap().done = reads(times * 100_000);
            it.streams.iter_mut().for_each(|stream| stream.total = reads(times * 25_100));
        })
    };
    match name {
        "little" => plain(more(2)),
        "median" => plain(more(3)),
        "arrivals" => {
            let mut record = healthy(reads);
            record.trial.settings.set(knob::RATE, 1000);
            plain(record)
        }
        "percentiles" => {
            let wrong = [("latency_ns_p50", 9e5), ("latency_ns_p99", 7e5), ("latency_ns_max", 1e6)];
            (healthy(reads), figures(&wrong), None)
        }
        "window" => plain(with(healthy(reads), |it| it.streams[0].total = reads(20_000))),
        "passes" => plain(with(healthy(reads), |it| it.streams[2].pass = reads(25_101))),
        "naive" => plain(with(healthy(reads), |it| it.streams[1].pass_end_ns = Some(3 * SECOND))),
        "device-reads" => {
            let half = |it: &mut Measurement| it.evidence.device_read_bytes = Some(205_000_000);
            (with(healthy(reads), half), None, Some(Verdict::Device))
        }
        "device-writes" => plain(with(healthy(writes), |it| {
            it.evidence.device_write_bytes = Some(205_000_000);
        })),
        "ceiling" => {
            let why = "the link runs at 1.5 Gb/s".to_owned();
            let limit = Ceiling { bytes_per_s: Some(150e6), why, ..Ceiling::default() };
            let under = |it: &mut Measurement| it.evidence.ceiling = Some(limit);
            (with(healthy(reads), under), None, Some(Verdict::Device))
        }
        "durable" => plain(with(healthy(writes), |it| {
            it.durable.as_mut().unwrap().durable_ns = SECOND;
        })),
        "durable-operations" => {
            let told = [("ops_per_s", 1260.0), ("durable_ops_per_s", 1730.0)];
            (healthy(writes), figures(&told), None)
        }
        _ => panic!("nothing is planted against `{name}`"),
    }
}

#[test]
fn a_planted_violation_of_every_line_is_caught_and_told_with_both_numbers() {
    for line in INVARIANTS {
        let (record, known, verdict) = planted(line.name);
        let mut facts = OwnTrial::of(&record, known.as_ref()).expect("it is a trial of ours");
        if let Some(verdict) = verdict {
            facts.verdict = OnceCell::from(verdict);
        }
        let text = (line.broken)(&facts).unwrap_or_else(|| panic!("`{}` sees nothing", line.name));
        let numbers = text.split(' ').filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        assert!(numbers.count() >= 2, "{}: {text}", line.name);
        for sentence in text.split_inclusive(". ") {
            assert!(sentence.split(' ').count() < 25 && text.ends_with('.'), "{sentence}");
        }
        assert!(!line.about.is_empty() && !line.tolerance.is_empty());
    }
}

/// What is withheld stands nowhere, and is still there to be seen.
#[test]
fn what_is_broken_is_noted_and_stands_in_no_cell_rate_or_light_record() {
    for line in INVARIANTS {
        let (record, known, verdict) = planted(line.name);
        if known.is_some() || verdict.is_some() {
            continue;
        }
        let Takes::Named(names) = line.takes else { panic!("{}", line.name) };
        assert!(broken(&record).contains(&line.name), "{}: {:?}", line.name, broken(&record));
        let note = |note: &Note| note.kind == KIND && note.text.contains("stands in no answer");
        assert!(judge::notes(&record).iter().any(note), "{}", line.name);
        let cell = &cells(std::slice::from_ref(&record))[0];
        let light = record.clone().light();
        let all = figures(&record);
        let mut shown = 0;
        for name in names.iter().filter(|name| all.contains_key(name)) {
            shown += 1;
            assert_eq!(all[*name].interval, None);
            assert_eq!((rate(&record, name), rate(&light, name)), (None, None), "{name}");
            for stand in [&standing(&record), &standing(&light)] {
                assert!(!stand.contains_key(name), "{}: {name}", line.name);
            }
            assert!(!cell.figures.contains_key(name) && figures(&light).contains_key(name));
        }
        assert!(shown > 0, "{}", line.name);
        assert!(standing(&record).contains_key("latency_ns_p50"), "the others stand");
    }
}

#[test]
fn healthy_trials_break_nothing_and_lose_no_figure() {
    for of in [reads, writes] {
        let record = healthy(of);
        assert_eq!(broken(&record), [""; 0]);
        assert_eq!(standing(&record), figures(&record));
        assert!(judge::notes(&record).iter().all(|note| note.kind != KIND));
    }
}

/// A plan that filled its disks twice was told that nobody had written them through.
#[test]
fn flash_that_was_filled_before_is_not_called_fresh() {
    let noted = |rotational: Option<bool>, precondition: &str| {
        let mut record = healthy(writes);
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("not done") };
        measurement.evidence.rotational = rotational;
        let word = Value::Word(precondition.into());
        record.trial.settings.set_named("precondition", word);
        judge::notes(&record).iter().any(|note| note.kind == "not-preconditioned")
    };
    assert!(noted(Some(false), "none") && noted(Some(false), "discard"));
    for filled in ["fill", "fill-twice", "random"] {
        assert!(!noted(Some(false), filled), "{filled}");
    }
    assert!(!noted(Some(true), "none") && !noted(None, "none"));
}

/// Streams that wait between rounds, or for a flush, keep fewer in flight than they were asked to.
#[test]
fn less_than_may_be_in_flight_is_no_contradiction() {
    let slow = with(healthy(reads), |it| it.window.as_mut().unwrap().done = reads(30_000));
    assert_eq!(broken(&slow), [""; 0]);
    // Operations that wait for their turn, at a rate, are in flight before they are submitted.
    let mut paced = healthy(reads);
    paced.trial.settings.set(knob::RATE, 12_600);
    let mut histogram = latency_histogram();
    histogram.saturating_record_n(640_000_000, 100_000);
    let paced = with(paced, |it| it.latency = vec![(Operation::Read, histogram)]);
    assert_eq!(broken(&paced), [""; 0]);
}

/// A mean lies among its repeats, and one that does not is no figure.
#[test]
fn a_mean_lies_among_its_repeats() {
    let among = |values: &[f64], over: Estimate| is_among(values, &over);
    assert!(among(&[1.0, 3.0], Estimate::within(2.0, 0.0, 4.0)));
    assert!(among(&[0.1; 3], Estimate::bare(0.1 + 1e-17)));
    assert!(!among(&[1.0, 3.0], Estimate::bare(3.1)));
    assert!(!among(&[1.0, 3.0], Estimate::within(2.0, 2.1, 4.0)));
    assert!(!among(&[1.0], Estimate::bare(f64::NAN)));
}
