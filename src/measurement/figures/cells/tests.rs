//! What replicates say together: no finer than blocks, and of all their operations.

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

/// One of three trials stuttered: in it 3 % of the operations took 100 ms, and elsewhere all took
/// 1 ms. The mean of the three 99th percentiles was 34 ms, which no operation had taken.
#[test]
fn percentiles_of_a_cell_are_those_of_all_its_operations() {
    let (ms, slow) = (1_000_000, 100_000_000);
    let stutters = |number: u32, slow_ones: u64| {
        record(number, 37, &[(ms, 10_000 - slow_ones), (slow, slow_ones)])
    };
    let of = |all: &[Record]| cells(all)[0].figures.clone();
    let figures = of(&[stutters(1, 0), stutters(2, 0), stutters(3, 270)]);
    let is = |figure: &Estimate, ns: u64| (figure.value / ns as f64 - 1.0).abs() < 0.01;
    // 270 of 30 000: less than 1 %, more than 0.1 %.
    assert!(is(&figures["latency_ns_p99"], ms), "{:?}", figures["latency_ns_p99"]);
    assert!(is(&figures["latency_ns_p999"], slow), "{:?}", figures["latency_ns_p999"]);
    assert!(is(&figures["latency_ns_max"], slow) && figures["latency_ns_max"].interval.is_none());
    assert!(figures["latency_ns_p99"].interval.is_some());
    let figures = of(&[stutters(1, 0), stutters(2, 0), stutters(3, 330)]);
    assert!(is(&figures["latency_ns_p99"], slow), "{:?}", figures["latency_ns_p99"]);
    // In order, whatever the trials are.
    let names = ["p50", "p90", "p99", "p999", "max"].map(|it| format!("latency_ns_{it}"));
    let values = names.map(|name| figures[name.as_str()].value);
    assert!(values.is_sorted(), "{values:?}");
    // A trial alone has its own, and those without samples say the same.
    let one = [stutters(1, 330)];
    assert_eq!(
        of(&one)["latency_ns_p99"],
        crate::measurement::figures::figures(&one[0])["latency_ns_p99"]
    );
    let all = [stutters(1, 40), stutters(2, 400), stutters(3, 90)];
    assert_eq!(of(&all), of(&all.clone().map(Record::light)));
}
