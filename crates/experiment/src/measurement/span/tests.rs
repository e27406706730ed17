//! Windows of few operations, as they were measured, and as they are read now.

use super::testing::*;
use super::*;
use crate::measurement::figures::{figures, rate};
use crate::measurement::{Durable, Record, judge};
use facts::counters::series::{Column, ColumnKind, Series};

fn notes(record: &Record) -> Vec<String> {
    judge::notes(record).iter().map(|note| format!("{}: {}", note.kind, note.text)).collect()
}

fn kinds(record: &Record) -> Vec<String> {
    judge::notes(record).into_iter().map(|note| note.kind).collect()
}

/// "The device delivers 2079 MB/s, 508k IOPS" beside a median latency of 618 us at depth 32: all
/// of 32 reads came back within 61 us of each other, and that was the window. Little's law allows
/// 52k, and 32 reads in 680 us are 47k.
#[test]
fn a_window_within_one_batch_of_completions_is_none() {
    let record = trial("32", (619, 680), 31, 32, 680);
    let record = with(record, |it| it.latency = latencies(&[(618, 31)]));
    let iops = figures(&record)["iops"].value;
    assert!((iops - 32.0 / 680e-6).abs() < 1.0, "{iops}");
    assert_eq!(rate(&record, "iops"), Some(iops));
    let (rate, naive) = ("throughput_bytes_per_s", "naive_throughput_bytes_per_s");
    let figures = figures(&record);
    assert!((figures[rate].value / figures[naive].value - 1.0).abs() < 1e-9);
    assert_eq!(figures[rate].interval, None);
    let told = notes(&record);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("few-operations: While all streams ran 31 operations"), "{told:?}");
}

/// "The device delivers 2713 MB/s", once 4927 MB/s and 1.20M IOPS: without latencies there is
/// nothing to hold it against, but fewer operations than may be in flight.
#[test]
fn without_latencies_the_number_of_operations_decides() {
    let record = trial("32", (1500, 1526), 31, 32, 1530);
    assert!((rate(&record, "iops").unwrap() - 32.0 / 1530e-6).abs() < 1.0);
    assert_eq!(kinds(&record), ["few-operations"]);
    let many = trial("32", (1500, 31_500), 640, 700, 31_600);
    assert_eq!(rate(&many, "iops"), Some(640.0 / 0.03));
    assert!(kinds(&many).is_empty(), "{:?}", kinds(&many));
}

/// `stop=256KiB queue-depth=128` printed 1742 in place of 174 MB/s: half of the queue was asked
/// for, and came back at once.
#[test]
fn fewer_operations_than_the_queue_is_deep_are_counted_from_their_start() {
    let record = trial("128", (1380, 1506), 63, 64, 1506);
    let record = with(record, |it| it.latency = latencies(&[(1400, 63)]));
    let rate = rate(&record, "throughput_bytes_per_s").unwrap() / 1e6;
    assert!((rate - 174.0).abs() < 1.0, "{rate}");
}

/// At depth 1 a window begins and ends with a completion, and few operations are counted as well
/// as many; and what the page cache answers is never in flight together.
#[test]
fn a_window_of_many_latencies_stands_however_few_its_operations() {
    let one = with(trial("1", (1000, 13_000), 12, 13, 13_000), |it| {
        it.latency = latencies(&[(1000, 12)]);
    });
    assert_eq!(rate(&one, "iops"), Some(1000.0));
    let cached = with(trial("128", (10, 1000), 300, 310, 1001), |it| {
        it.latency = latencies(&[(3, 300)]);
    });
    assert!((rate(&cached, "iops").unwrap() - 300.0 / 990e-6).abs() < 1e-3);
    assert!(kinds(&cached).is_empty());
}

/// One read of 300 took twelve times as long as the others: the mean of so few says nothing of
/// how many batches a window has seen, which one read does not change.
#[test]
fn one_slow_operation_among_hundreds_makes_no_window_too_short() {
    let record = with(trial("32", (300, 4000), 300, 340, 1_000_000), |it| {
        it.latency = latencies(&[(300, 299), (3600, 1)]);
    });
    assert_eq!(span(measured(&record), &record.trial.settings).unwrap().window, window(&record));
}

fn measured(record: &Record) -> &Measurement {
    record.outcome.measurement().unwrap()
}

fn window(record: &Record) -> Option<Window> {
    measured(record).window
}

/// `stop=1` had no throughput and did not say why; of a trial whose single read stood between two
/// rounds, where the clock stands, the rate was infinite and left out without a word.
#[test]
fn a_trial_without_a_rate_says_why() {
    let single = trial("1", (100, 101), 0, 1, 101);
    assert_eq!(rate(&single, "iops"), None);
    assert!(notes(&single)[0].starts_with("too-short: There is no rate"), "{:?}", notes(&single));
    let no_window = with(single, |it| it.window = None);
    assert_eq!(kinds(&no_window), ["too-short"]);
    let stood = with(trial("1", (100, 200), 1, 2, 201), |it| {
        let column = |name: &str, values: [u64; 3]| Column {
            name: name.into(),
            kind: ColumnKind::Counter,
            values: values.to_vec(),
        };
        it.load = Series {
            source: "load".into(),
            at_ns: vec![0, 100_000, 201_000],
            columns: vec![column("read_ops", [0, 1, 2]), column(course::TIMED, [0, 99, 99])],
        };
    });
    assert_eq!(rate(&stood, "iops"), None);
    assert!(notes(&stood)[0].contains("clock stands between rounds"), "{:?}", notes(&stood));
    let said = with(trial("1", (100, 101), 0, 1, 101), |it| {
        it.notes = vec![Note::new("no-common-time", "as the engine says")];
    });
    assert!(kinds(&said).is_empty(), "said once is enough");
}

/// A whole trial that is faster than its latencies allow has no rate either.
#[test]
fn where_the_whole_contradicts_its_latencies_there_is_no_rate() {
    let record = with(trial("32", (619, 680), 31, 320, 680), |it| {
        it.latency = latencies(&[(618, 31)]);
    });
    assert_eq!(rate(&record, "iops"), None);
    let told = notes(&record);
    assert!(told[0].starts_with("too-short: There is no rate: 31 operations"), "{told:?}");
}

/// SQLite had "839 of 799" transactions per second durable: the slow part of the trial was timed,
/// and what was durable was counted over all of it. bonnie's random creates had 1.73k of 1.26k.
#[test]
fn no_more_operations_are_durable_than_were_accepted() {
    let names = |ops| Amount { metadata_ops: ops, ..Amount::default() };
    let record = with(trial("1", (1_000_000, 3_000_000), 0, 0, 3_000_000), |it| {
        it.window.as_mut().unwrap().done = names(1598);
        it.streams[0].total = names(2517);
        it.durable =
            Some(Durable { bytes: 0, accepted_ns: 3_000_000_000, durable_ns: 3_000_000_000 });
    });
    let mut record = record;
    record.trial.settings = crate::knob::Settings::defaults("mail");
    let of = |record: &Record| {
        let figures = figures(record);
        (figures["ops_per_s"].value, figures["durable_ops_per_s"].value)
    };
    let (accepted, durable) = of(&record);
    assert!((accepted - 799.0).abs() < 1e-9 && (durable - 799.0).abs() < 1e-9, "{durable}");
    let flushed = with(record, |it| {
        it.durable.as_mut().unwrap().durable_ns = 4_000_000_000;
    });
    let (accepted, durable) = of(&flushed);
    let each_s = 1.0 / accepted + 1.0 / 2517.0;
    assert!((durable - 1.0 / each_s).abs() < 1e-9 && durable < accepted, "{durable}");
    assert!(kinds(&flushed).is_empty(), "{:?}", notes(&flushed));
}

/// 96 blocks of 1 MiB at depth 16, a block every 20 ms from the first tenth of a second on, and
/// five more within it.
fn after_a_burst(done_as: impl Fn(u64) -> Amount, columns: [&str; 2]) -> Record {
    let done = |ms: u64| if ms == 0 { 0 } else { ms / 20 + 5 };
    with(trial("16", (400, 1_500_000), 79, 96, 1_820_000), |it| {
        it.streams[0].total = done_as(96);
        it.streams[0].pass = done_as(96);
        it.window.as_mut().unwrap().done = done_as(79);
        it.latency = latencies(&[(300_000, 79)]);
        let slots: Vec<u64> = (0..=18).map(|slot| slot * 100).collect();
        let column = |name: &str, each: u64| Column {
            name: name.into(),
            kind: ColumnKind::Counter,
            values: slots.iter().map(|ms| done(*ms) * each).collect(),
        };
        it.load = Series {
            source: "load".into(),
            at_ns: slots.iter().map(|ms| (ms * 1_000_000) as i64).collect(),
            columns: vec![column(columns[0], 1 << 20), column(columns[1], 1)],
        };
    })
}

/// 87 blocks of 1 MiB at depth 16 of a disk of 48 MB/s were 49.05 MB/s, of which a throttle's saved
/// slice was 2 %, beside a note that the rates were without the start; 7 of 20 evaluations of such
/// disks lay above them.
#[test]
fn of_few_operations_too_the_start_is_left_out() {
    let block = |ops: u64| Amount { read_bytes: ops << 20, read_ops: ops, ..Amount::default() };
    let record = after_a_burst(block, ["read_bytes", "read_ops"]);
    let rate = rate(&record, "throughput_bytes_per_s").unwrap();
    assert!((rate / (50.0 * f64::from(1 << 20)) - 1.0).abs() < 0.005, "{rate}");
    let told = notes(&record);
    let of = "The rates are of the 86 that came after the start";
    assert!(told.iter().any(|note| note.contains(of)), "{told:?}");
    assert!(told.iter().any(|note| note.starts_with("start-left-out")), "{told:?}");
}

/// Trials of 0.8 s of a disk whose throttle had saved a slice made 12 % more durable than the disk
/// could, in every repeat alike, beside accepted rates that left the start out.
#[test]
fn what_a_throttle_had_saved_makes_nothing_durable_sooner() {
    let block = |ops: u64| Amount { write_bytes: ops << 20, write_ops: ops, ..Amount::default() };
    let record = after_a_burst(block, ["write_bytes", "write_ops"]);
    let mut record = with(record, |it| {
        it.durable = Some(Durable {
            bytes: 96 << 20,
            accepted_ns: 1_820_000_000,
            durable_ns: 1_820_000_000,
        });
    });
    record.trial.settings.set(crate::knob::FILE_SIZE, 1 << 30);
    let durable = rate(&record, "durable_throughput_bytes_per_s").unwrap();
    assert!((durable / (50.0 * f64::from(1 << 20)) - 1.0).abs() < 0.005, "{durable}");
    assert_eq!(figures(&record)["durable_throughput_bytes_per_s"].value, durable);
    // What a cache took at the start a long flush makes durable: all of it in all that time.
    let flushed = with(record, |it| it.durable.as_mut().unwrap().durable_ns = 3_740_000_000);
    let durable = rate(&flushed, "durable_throughput_bytes_per_s").unwrap();
    assert!((durable / (f64::from(96 << 20) / 3.74) - 1.0).abs() < 0.005, "{durable}");
}
