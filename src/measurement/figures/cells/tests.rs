//! What replicates say together: no finer than blocks.

use super::*;
use crate::measurement::{Amount, Measurement, Operation, Outcome, Window, latency_histogram};
use crate::plan::Trial;
use crate::value::Value;

/// Trial `number` of two streams that read blocks of 1 MiB for 2 s, so many of them, each of which
/// took so many ns.
fn record(number: u32, blocks: u64, latencies: &[(u64, u64)]) -> Record {
    let mut settings = Settings::defaults("file");
    settings.set("streams", Value::Count(2));
    let trial = Trial {
        number,
        replicate: number,
        group: "g".into(),
        settings,
        seed: 1,
        first_file: 0,
        planned: None,
    };
    let mut histogram = latency_histogram();
    latencies.iter().for_each(|(ns, count)| histogram.saturating_record_n(*ns, *count));
    let done = Amount { read_bytes: blocks << 20, read_ops: blocks, ..Amount::default() };
    let measurement = Measurement {
        window: Some(Window { start_ns: 0, end_ns: 2_000_000_000, done }),
        latency: vec![(Operation::Read, histogram)],
        ..Measurement::default()
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

const MIB: f64 = 1_048_576.0;

/// Five trials of 2 s read 37 blocks each of a disk that gave 35.6: "95 % interval 19.5 to 19.6" on
/// 18.64 MB/s. Whole blocks agree with each other and not with the truth.
#[test]
fn no_interval_is_narrower_than_one_block_of_each_stream() {
    let agree: Vec<Record> = (1..=5).map(|number| record(number, 37, &[(1000, 37)])).collect();
    let figures = &cells(&agree)[0].figures;
    let of = |name: &str| {
        let ends = figures[name].interval.unwrap();
        (ends.low, figures[name].value, ends.high)
    };
    // Two streams, 2 s: one block a second.
    let near = |found: (f64, f64, f64), one: f64| {
        let wanted = (17.5 * one, 18.5 * one, 19.5 * one);
        let parts = [(found.0, wanted.0), (found.1, wanted.1), (found.2, wanted.2)];
        assert!(parts.iter().all(|(a, b)| (a - b).abs() < 1e-6 * b), "{found:?}, {wanted:?}");
    };
    near(of("throughput_bytes_per_s"), MIB);
    near(of("iops"), 1.0);
    let refs: Vec<&Record> = agree.iter().collect();
    let told = mean_of(&refs, "throughput_bytes_per_s").unwrap();
    near((told.interval.unwrap().low, told.value, told.interval.unwrap().high), MIB);
    assert_eq!(mean_of(&refs[..1], "throughput_bytes_per_s").unwrap().interval, None);
    assert_eq!(mean_of(&refs, "ops_per_s"), None);
    // Where repeats differ by more, their own interval stands.
    let differ: Vec<Record> =
        [30, 37, 44].iter().zip(1..).map(|(blocks, it)| record(it, *blocks, &[])).collect();
    let ends = cells(&differ)[0].figures["iops"].interval.unwrap();
    assert!(ends.high - ends.low > 10.0, "{ends:?}");
}
