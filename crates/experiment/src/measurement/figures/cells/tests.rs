//! What replicates say together: no finer than blocks, and of all their operations.

use super::*;
use crate::knob;
use crate::measurement::origin::Verdict;
use crate::measurement::{Amount, Measurement, Operation, Outcome, Window, latency_histogram};
use crate::plan::Trial;
use base::stats::testing::{Coverage, Random};
use base::value::Value;
use facts::counters::series::{Column, ColumnKind};

/// Trial `number` of two streams that read blocks of 1 MiB for 2 s, so many of them, each of which
/// took so many ns.
fn record(number: u32, blocks: u64, latencies: &[(u64, u64)]) -> Record {
    let mut settings = Settings::defaults("file");
    settings.set(knob::STREAMS, 2);
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

/// Two trials of one second, ten samples each, that began with what a throttle had saved: "95 %
/// interval 42.5 to 71.6 MB/s" stood above a disk of 41. Student's interval of two ratios held 1,
/// as it nearly always does, and was taken to say that there was no such start.
#[test]
fn two_repeats_that_may_have_a_start_in_common_reach_to_the_rate_without_it() {
    let low = |saved: [[u64; 2]; 2]| {
        let trials = [0, 1].map(|which| {
            let more = |at: usize| saved[which].get(at).copied().unwrap_or(0);
            let mut total = 0;
            let totals = (0..10).map(|at| {
                total += 4_500_000 + more(at);
                total
            });
            let values: Vec<u64> = std::iter::once(0).chain(totals).collect();
            let mut record = record(which as u32 + 1, 0, &[]);
            let Outcome::Done(measurement) = &mut record.outcome else { unreachable!() };
            let read = *values.last().unwrap();
            let done = Amount { read_bytes: read, read_ops: read >> 17, ..Amount::default() };
            measurement.window = Some(Window { start_ns: 0, end_ns: 1_000_000_000, done });
            measurement.load.at_ns = (0..=10).map(|at| at * 100_000_000).collect();
            let ops = values.iter().map(|bytes| bytes >> 17).collect();
            let column = |name: &str, values| Column {
                name: name.to_owned(),
                kind: ColumnKind::Counter,
                values,
            };
            measurement.load.columns = vec![column("read_ops", ops), column("read_bytes", values)];
            record
        });
        let refs: Vec<&Record> = trials.iter().collect();
        mean_of(&refs, "throughput_bytes_per_s").unwrap().interval.unwrap().low
    };
    let started = low([[2_500_000, 0], [2_000_000, 500_000]]);
    assert!(started < 45.5e6, "47.5 MB/s, of which 45 last: {started}");
    let even = low([[0, 0], [0, 0]]);
    assert!(even > 44.5e6, "45 MB/s from the first sample on: {even}");
}

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
        let times = (1.0_f64 / 18.5).exp();
        let wanted = (18.5 / times * one, 18.5 * one, 18.5 * times * one);
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

/// Three trials of each of some cells of one workload, which differ in their streams.
fn workload(cells: &[[u64; 3]]) -> Vec<Record> {
    let mut all = Vec::new();
    for (place, blocks) in cells.iter().enumerate() {
        for blocks in blocks {
            let mut one = record(all.len() as u32 + 1, *blocks, &[(1000, 10)]);
            one.trial.settings.set(knob::STREAMS, place as u64 + 1);
            all.push(one.light());
        }
    }
    all
}

/// Gives the trials of the cell at `place` another origin.
fn come_from(records: &mut [Record], place: usize, verdict: Verdict) {
    for record in &mut records[3 * place..3 * (place + 1)] {
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
        measurement.digest.as_mut().unwrap().origin.verdict = verdict;
    }
}

const CALM: [[u64; 3]; 4] = [
    [20_000, 20_400, 20_200],
    [40_000, 40_700, 40_300],
    [60_000, 61_000, 60_400],
    [80_000, 80_800, 81_400],
];

fn pooled_over(records: &[Record], name: &str) -> Vec<u32> {
    cells(records).iter().map(|cell| cell.pooled.get(name).copied().unwrap_or(0)).collect()
}

/// Three repeats were worth t = 4.3 each, however many cells of the same workload scattered alike.
#[test]
fn cells_of_one_workload_that_scatter_alike_share_their_spread() {
    let records = workload(&CALM);
    let all = cells(&records);
    for (cell, blocks) in all.iter().zip(&CALM) {
        assert_eq!(cell.trials.len(), 3, "the n that is told stays the cell's own");
        assert_eq!((cell.pooled.get("iops"), cell.pooled.get("latency_ns_p50")), (Some(&4), None));
        let values = blocks.map(|it| it as f64 / 2.0);
        let (own, told) = (mean_interval(&values).unwrap(), cell.figures["iops"]);
        let width = |of: Estimate| of.interval.map(|it| it.high - it.low).unwrap();
        assert!((told.value - own.value).abs() < 1e-6 && told.interval != own.interval);
        assert!(width(told) < 0.7 * width(own), "{told:?} {own:?}");
    }
    // One that does not scatter as they do keeps its own, and so does one that was run once.
    let mut restless = records.clone();
    restless.extend(workload(&[[30_000, 60_000, 45_000]; 5]).split_off(12));
    restless.push(Record { trial: record(99, 9, &[]).trial, ..record(99, 70_000, &[]) });
    restless.last_mut().unwrap().trial.settings.set(knob::STREAMS, 9);
    assert_eq!(pooled_over(&restless, "iops"), [4, 4, 4, 4, 0, 0]);
    let all = cells(&restless);
    assert_eq!(all[4].figures["iops"], mean_interval(&[15e3, 30e3, 22.5e3]).unwrap());
    assert_eq!(all[5].figures["iops"].interval, None);
}

#[test]
fn spread_is_never_shared_with_bytes_from_elsewhere_or_with_another_load() {
    let told = |change: &dyn Fn(&mut [Record])| {
        let mut records = workload(&CALM);
        change(&mut records);
        pooled_over(&records, "iops")
    };
    let all = |verdict| {
        move |records: &mut [Record]| (0..4).for_each(|place| come_from(records, place, verdict))
    };
    let apart = |verdicts: [Verdict; 4]| {
        told(&|records| {
            verdicts.iter().enumerate().for_each(|(place, it)| come_from(records, place, *it));
        })
    };
    use Verdict::{Cache, Device, DeviceCache, Mixed, Remote, Unknown};
    assert_eq!(told(&all(Device)), [4; 4]);
    assert_eq!(told(&all(Cache)), [4; 4]);
    assert_eq!(apart([Device, Device, Cache, Cache]), [2; 4]);
    assert_eq!(apart([Device, Device, Cache, DeviceCache]), [2, 2, 0, 0]);
    assert_eq!(apart([Device, Remote, Device, Cache]), [2, 0, 2, 0]);
    // What may be either has no likes, and neither has a cell whose trials differ.
    assert_eq!(told(&all(Unknown)), [0; 4]);
    assert_eq!(told(&all(Mixed)), [0; 4]);
    let differs = |records: &mut [Record]| {
        all(Device)(records);
        let Outcome::Done(measurement) = &mut records[0].outcome else { panic!("it was done") };
        measurement.digest.as_mut().unwrap().origin.verdict = Cache;
    };
    assert_eq!(told(&differs), [0, 3, 3, 3]);
    let half =
        |change: &dyn Fn(&mut Record)| told(&|records| records[..6].iter_mut().for_each(change));
    let set = |knob: &'static str, value: Value| {
        move |record: &mut Record| record.trial.settings.set_named(knob, value.clone())
    };
    assert_eq!(half(&|record| record.trial.group = "other".into()), [2; 4]);
    assert_eq!(half(&|record| record.trial.group = crate::plan::LAYOUT.into()), [0, 0, 2, 2]);
    assert_eq!(half(&set("access", Value::Word("random-read".into()))), [2; 4]);
    // Of what was written memory may have taken a part, or none.
    assert_eq!(half(&set("direct", Value::Flag(false))), [2; 4]);
}

/// Whole blocks agree with each other and not with the truth, in every cell alike.
#[test]
fn a_shared_spread_is_no_finer_than_whole_blocks() {
    let records = workload(&[[37, 37, 37], [74, 74, 74]]);
    for (cell, streams) in cells(&records).iter().zip([1.0, 2.0]) {
        let told = cell.figures["iops"];
        let ends = told.interval.unwrap();
        let times = (streams / 2.0 / told.value).exp();
        assert!((ends.high - told.value * times).abs() < 1e-6, "{told:?}");
    }
}

/// From counts to intervals: eight loads of one workload, each with three trials.
#[test]
fn intervals_of_cells_that_share_their_spread_hold_the_truth() {
    let (mut told, mut widths, mut own) = (Coverage::default(), Vec::new(), Vec::new());
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let truths: Vec<f64> = (0..8).map(|place| 20_000.0 * f64::from(place + 1)).collect();
        let mut drawn = |truth: f64| (truth * (1.0 + 0.02 * random.normal())) as u64;
        let blocks: Vec<[u64; 3]> =
            truths.iter().map(|truth| std::array::from_fn(|_| drawn(*truth))).collect();
        let all = cells(&workload(&blocks));
        for ((cell, truth), blocks) in all.iter().zip(&truths).zip(&blocks) {
            let of = |it: Option<Interval>| it.map(|it| (it.high - it.low) / truth).unwrap();
            let interval = cell.figures["iops"].interval;
            told.add(interval, truth / 2.0);
            widths.push(of(interval));
            own.push(of(mean_interval(&blocks.map(|it| it as f64 / 2.0)).unwrap().interval));
        }
    }
    told.check("eight cells of three trials");
    let middle = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (after, before) = (middle(&mut widths), middle(&mut own));
    assert!(after < 0.65 * before, "{after} {before}");
}
