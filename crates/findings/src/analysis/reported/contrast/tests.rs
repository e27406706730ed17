//! Planted tables: what is the same, what differs, and what must not be held against each other.

use serde_json::{Value as Json, json};

use super::*;
use experiment::measurement::reported::Figure;
use experiment::measurement::{Measurement, Outcome, Record, Reported};
use experiment::plan::Trial;

/// A row of table `place` with those settings and such a throughput in MB/s.
fn record(number: u32, place: &str, settings: &Json, megabytes: f64) -> Record {
    let figure = Figure {
        name: "throughput_bytes_per_s".into(),
        value: megabytes * 1e6,
        printed: megabytes.to_string(),
        bound: Bound::Exact,
    };
    let reported = Reported {
        by: "A, 2000".into(),
        place: place.into(),
        way: ReportedPath::Disks,
        figures: vec![figure],
        ..Reported::default()
    };
    let trial = Trial {
        number,
        replicate: 1,
        group: place.into(),
        settings: Settings::from_json("published", settings),
        first_file: 0,
        seed: 0,
        planned: None,
    };
    let measurement = Measurement { reported: Some(reported), ..Measurement::default() };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

fn claims(rows: &[(&str, Json, f64)]) -> Vec<String> {
    let numbered = rows.iter().zip(1_u32..);
    let records: Vec<Record> = numbered
        .map(|((place, settings, rate), number)| record(number, place, settings, *rate))
        .collect();
    let rows: Vec<ReportedRow<'_>> = records.iter().filter_map(ReportedRow::from_record).collect();
    findings(&rows).into_iter().map(|finding| finding.whole()).collect()
}

#[test]
fn rows_that_differ_in_one_knob_are_held_against_each_other_in_each_context() {
    let rate = |card: &str, streams: u64, rate: f64| {
        ("T", json!({ "card": card, "streams": streams }), rate)
    };
    let said = claims(&[
        rate("one", 1, 80.0),
        rate("one", 8, 40.0),
        rate("two", 1, 80.0),
        rate("two", 8, 100.0),
    ]);
    let cards = "`card` and throughput: against one, that of two is 1.58 times in the mean \
                 (reported by A, 2000). Each: against one, that of two is 1.00 at streams=1, 2.50 \
                 at streams=8 times (1.58 in the mean). In T.";
    let streams = "`streams` and throughput: against 1, that of 8 is 0.79 times in the mean \
                   (reported by A, 2000). Each: against 1, that of 8 is 0.50 at card=one, 1.25 at \
                   card=two times (0.79 in the mean). In T.";
    assert_eq!(said, [cards, streams]);
}

#[test]
fn rows_that_differ_in_two_knobs_are_not() {
    let said = claims(&[
        ("T", json!({ "card": "one", "streams": 1 }), 80.0),
        ("T", json!({ "card": "two", "streams": 8 }), 40.0),
    ]);
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_knob_of_numbers_makes_a_curve_with_its_peak_and_its_largest_steps() {
    let rate = |streams: u64, rate: f64| ("T", json!({ "streams": streams }), rate);
    let said = claims(&[rate(8, 50.0), rate(1, 40.0), rate(4, 90.0), rate(2, 100.0)]);
    let curve = "`streams` and throughput: the most 100 MB/s at 2, at 8 50.0 MB/s (50 %) \
                 (reported by A, 2000). Rises most from 1 to 2 (by 150 %), falls most from 4 to 8 \
                 (by 44 %). In T.";
    assert_eq!(said, [curve]);
}

#[test]
fn several_words_are_held_against_the_least_of_them() {
    let rate = |filesystem: &str, streams: u64, rate: f64| {
        ("T", json!({ "filesystem": filesystem, "streams": streams }), rate)
    };
    let said = claims(&[
        rate("xfs", 1, 60.0),
        rate("xfs", 2, 66.0),
        rate("ext3", 1, 50.0),
        rate("ext3", 2, 60.0),
        rate("jfs", 1, 55.0),
        rate("jfs", 2, 63.0),
    ]);
    let words = said.iter().find(|claim| claim.starts_with("`filesystem`")).unwrap();
    assert!(words.contains("against ext3: jfs is 1.05 to 1.10 times"), "{words}");
    assert!(words.contains("xfs is 1.10 to 1.20 times"), "{words}");
    assert!(words.contains("in each of 2 contexts the most is 1.10 to 1.20 times"), "{words}");
}

/// What a machine is made of rides along with its label, what was asked of it does not.
#[test]
fn machines_are_compared_where_they_were_asked_the_same() {
    let rate = |label: &str, disks: &str, streams: u64, rate: f64| {
        ("T", json!({ "label": label, "disk-model": disks, "streams": streams }), rate)
    };
    let rows = [
        rate("a", "fast", 1, 80.0),
        rate("a", "fast", 2, 90.0),
        rate("b", "slow", 1, 40.0),
        rate("b", "slow", 4, 30.0),
    ];
    assert!(claims(&rows).iter().all(|claim| !claim.contains("label=a is")));
    let mut more = rows.to_vec();
    more.push(rate("b", "slow", 2, 30.0));
    let said = claims(&more);
    let pair = said.iter().find(|claim| claim.contains("that of label=a")).unwrap();
    assert!(pair.contains("(and disk-model fast instead of slow)"), "{pair}");
    assert!(pair.contains("is 2.00 at streams=1, 3.00 at streams=2 times"), "{pair}");
}

/// A machine that was measured with several levels of a knob is compared at the same level only.
#[test]
fn what_varies_within_a_machine_does_not_ride_along() {
    let rate = |label: &str, card: &str, streams: u64, rate: f64| {
        ("T", json!({ "label": label, "card": card, "streams": streams }), rate)
    };
    let said = claims(&[
        rate("a", "one", 1, 80.0),
        rate("a", "one", 2, 80.0),
        rate("a", "two", 1, 160.0),
        rate("a", "two", 2, 160.0),
        rate("b", "two", 1, 40.0),
        rate("b", "two", 2, 40.0),
    ]);
    let pair = said.iter().find(|claim| claim.contains("that of label=a")).unwrap();
    assert!(pair.contains("is 4.00 at streams=1, 4.00 at streams=2 times"), "{pair}");
}

#[test]
fn a_raid_over_others_is_held_against_these_alone() {
    let rate = |settings: Json, rate: f64| ("T", settings, rate);
    let plain = |streams: u64| {
        json!({ "label": "a", "card": "two", "filesystem": "ext2",
                                       "block-size": 1 << 20, "streams": streams })
    };
    let layered = |block: u64| {
        json!({ "label": "a", "card": "two", "raid": "raid0",
                                       "chunk-size": 65536, "block-size": block, "streams": 1 })
    };
    let said = claims(&[
        rate(plain(1), 90.0),
        rate(plain(2), 120.0),
        rate(layered(1 << 20), 126.0),
        rate(layered(1 << 16), 180.0),
    ]);
    let of = |words: &str| said.iter().find(|claim| claim.contains(words)).unwrap();
    let same = of("against no raid, that of raid=raid0 is 1.40 times");
    assert!(same.contains("Told of one only: chunk-size, filesystem"), "{same}");
    of("that of raid=raid0 (and block-size 64 KiB instead of 1 MiB) is 2.00 times");
}

#[test]
fn a_figure_that_is_only_bounded_is_not_compared() {
    let rows = [("T", json!({ "streams": 1 }), 80.0), ("T", json!({ "streams": 2 }), 40.0)];
    let mut records: Vec<Record> = rows
        .iter()
        .zip(1_u32..)
        .map(|((place, settings, rate), number)| record(number, place, settings, *rate))
        .collect();
    let said = |records: &[Record]| {
        findings(&records.iter().filter_map(ReportedRow::from_record).collect::<Vec<_>>()).len()
    };
    assert_eq!(said(&records), 1);
    let Outcome::Done(measurement) = &mut records[1].outcome else { unreachable!() };
    measurement.reported.as_mut().unwrap().figures[0].bound = Bound::UpTo;
    assert_eq!(said(&records), 0);
}
