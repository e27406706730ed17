//! The intervals of a core set as they are printed, whose trials were bought the way an evaluation
//! buys them: how often they hold what was planted.
//!
//! The disk does one request after the other. What is random is how long each takes, and how fast
//! all of a trial went; a trial counts what was done in its time, from a moment that was drawn.

use super::*;
use crate::knob;
use crate::measurement::figure_names;
use crate::measurement::{Amount, Durable, Evidence, Measurement, Outcome, Window};
use crate::measurement::{Operation, latency_histogram};
use crate::plan::standard::{self, EvaluationTarget, OVERHEAD_NS, PILOTS, Phase, Wish};
use crate::plan::{Trial, blocked_each};
use base::stats::testing::{Coverage, Random, seeds};
use base::value::Stop;

/// Requests that the disk does in a second, on average.
const REQUESTS_PER_S: f64 = 250.0;
/// How long the disk keeps a speed that changes while a trial runs, s.
const TICK_S: f64 = 0.01;

/// How the planted server works: the requests that it does in so many seconds, at so many times
/// the usual speed.
type RequestModel = fn(&mut Random, seconds: f64, speed: f64) -> u64;

/// What was planted, with how many requests are done.
const CASES: [(&str, RequestModel); 4] = [
    ("calm", |random, seconds, speed| (random.uniform() + speed * seconds * REQUESTS_PER_S) as u64),
    ("AR(1)", |random, seconds, speed| {
        let ticks = (seconds / TICK_S).round() as usize;
        let mean = mean(&random.ar1(ticks, 0.9, 1.0, 0.15));
        (random.uniform() + mean.max(0.0) * speed * seconds * REQUESTS_PER_S) as u64
    }),
    ("lognormal, sigma 1", |random, seconds, speed| {
        // The mean of exp(normal) is exp(1/2).
        one_by_one(random, seconds, speed, |random| (random.normal() - 0.5).exp())
    }),
    ("1 % of stalls, 50 times as long", |random, seconds, speed| {
        one_by_one(random, seconds, speed, |random| {
            (if random.uniform() < 0.01 { 50.0 } else { 1.0 }) / 1.49
        })
    }),
];

/// Requests that end in so many seconds, each of which takes so many times the usual time. They
/// have gone on for a while when the time begins, as after a warm-up.
fn one_by_one(random: &mut Random, seconds: f64, speed: f64, time: fn(&mut Random) -> f64) -> u64 {
    let each_s = 1.0 / REQUESTS_PER_S / speed.max(0.05);
    let (mut at_s, mut count) = (-0.15 - 0.1 * random.uniform(), 0);
    loop {
        at_s += each_s * time(random);
        if at_s > seconds {
            return count;
        }
        count += u64::from(at_s > 0.0);
    }
}

/// A server in one state: what its requests do, and how far the trials of each cell lie apart.
struct Server {
    random: Random,
    count: RequestModel,
    spreads: Vec<f64>,
}

impl Server {
    /// Requests of one trial of a cell.
    fn done(&mut self, cell: usize, seconds: f64) -> u64 {
        let speed = (1.0 + self.spreads[cell] * self.random.normal()).max(0.05);
        (self.count)(&mut self.random, seconds, speed)
    }

    /// What an evaluation keeps of a trial.
    fn record(&mut self, cell: usize, trial: Trial) -> Record {
        let ns = lasts_ns(&trial);
        let (ops, writes) = (self.done(cell, ns as f64 / 1e9), trial.settings.writes());
        let bytes = ops * trial.settings.get(knob::BLOCK_SIZE);
        let done = match writes {
            true => Amount { write_bytes: bytes, write_ops: ops, ..Amount::default() },
            false => Amount { read_bytes: bytes, read_ops: ops, ..Amount::default() },
        };
        let evidence = Evidence {
            delivered: done,
            process_read_bytes: Some(done.read_bytes),
            device_read_bytes: Some(done.read_bytes),
            device_write_bytes: Some(done.write_bytes),
            devices: vec!["vda".to_owned()],
            disks: vec!["vda".to_owned()],
            process_io_reliable: true,
            ..Evidence::default()
        };
        let durable = Durable { bytes, accepted_ns: ns, durable_ns: ns };
        let measurement = Measurement {
            elapsed_ns: ns,
            window: Some(Window { start_ns: 0, end_ns: ns, done }),
            durable: writes.then_some(durable),
            evidence,
            ..Measurement::default()
        };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    /// The records of cells, each as often as it says, in the order in which they would run.
    fn records(&mut self, wishes: &[Wish], length_ns: u64, seed: u64) -> Vec<Record> {
        let each: Vec<_> = wishes.iter().map(|wish| standard::timed(wish, length_ns)).collect();
        let trials = blocked_each(&each, seed);
        let of = |trial: &Trial| {
            let same = |(_, settings, _): &(String, Settings, u32)| *settings == trial.settings;
            each.iter().position(same).unwrap()
        };
        trials.into_iter().map(|trial| self.record(of(&trial), trial)).collect()
    }

    /// What so many pilots of each of these cells tell.
    fn told(&mut self, places: &[usize], each: u32, all: &[Wish]) -> Vec<Vec<f64>> {
        let mut told = vec![Vec::new(); all.len()];
        for place in places {
            let (group, settings) = standard::pilot(&all[*place]);
            let pilots = blocked_each(&[(group, settings, each)], 1).into_iter();
            let pilots = pilots.map(|trial| self.record(*place, trial));
            told[*place] = pilots.filter_map(|it| rate(&it, figure(&all[*place]))).collect();
        }
        told
    }
}

fn lasts_ns(trial: &Trial) -> u64 {
    match trial.settings.stop() {
        Stop::After(ns) => ns,
        other => panic!("{other:?}"),
    }
}

/// The rate that stands for a cell.
fn figure(wish: &Wish) -> &'static str {
    match wish.settings.writes() {
        true => figure_names::DURABLE_THROUGHPUT,
        false => figure_names::THROUGHPUT,
    }
}

/// The core set of a disk that takes O_DIRECT.
fn core() -> Vec<Wish> {
    let shape = EvaluationTarget {
        engine: "file",
        directories: vec!["/srv".to_owned()],
        direct: true,
        file_size: 64 << 20,
        files: standard::files(standard::STREAMS_MAX),
        cache_bytes: 512 << 20,
    };
    let mut wishes = standard::wishes(&shape);
    wishes.retain(Wish::is_core);
    wishes
}

/// A core set whose trials were counted, and what it takes, pilots with it, ns.
struct CountedCoreSet {
    wishes: Vec<Wish>,
    length_ns: u64,
    taken_ns: u64,
}

/// Buys the core set with so much time, as `campaign::evaluate` does: reads first, then writes.
fn bought(server: &mut Server, left_ns: u64, pilots: bool) -> CountedCoreSet {
    let mut wishes = core();
    let with_curves = [wishes.clone(), vec![curve(&wishes[0])]].concat();
    let bought = standard::buy(&with_curves, left_ns, OVERHEAD_NS);
    assert!(bought.cells >= wishes.len() && bought.spare_ns > 0, "{bought:?}");
    let (length_ns, mut spare_ns, mut pilots_ns) = (bought.core_ns, bought.spare_ns, 0);
    for phase in [Phase::CoreReads, Phase::CoreWrites] {
        let all_ns = standard::taken_ns(wishes.iter(), length_ns, OVERHEAD_NS);
        let places: Vec<usize> =
            (0..wishes.len()).filter(|place| wishes[*place].phase == phase).collect();
        let of: Vec<&Wish> = places.iter().map(|place| &wishes[*place]).collect();
        let own_ns = standard::taken_ns(of.iter().copied(), length_ns, OVERHEAD_NS);
        let asked = match pilots {
            true => places.clone(),
            false => standard::of_each_kind(&of).into_iter().map(|it| places[it]).collect(),
        };
        let each = if pilots { PILOTS } else { 1 };
        let told = server.told(&asked, each, &wishes);
        let lasting = |place: &usize| standard::expected_ns(&standard::pilot(&wishes[*place]).1);
        pilots_ns += u64::from(each) * asked.iter().filter_map(lasting).sum::<u64>();
        let told: Vec<Vec<f64>> = places.iter().map(|place| told[*place].clone()).collect();
        let mut of: Vec<&mut Wish> = wishes.iter_mut().filter(|it| it.phase == phase).collect();
        spare_ns = spare_ns.saturating_sub(standard::lengthen(&mut of, &told, length_ns));
        if !pilots {
            spare_ns = standard::without_pilots(&mut of, length_ns, spare_ns, OVERHEAD_NS);
            continue;
        }
        let part = if phase == Phase::CoreReads { own_ns as f64 / all_ns as f64 } else { 1.0 };
        let given_ns = (spare_ns as f64 * part) as u64;
        let rest_ns = standard::repeated(&mut of, &told, length_ns, given_ns, OVERHEAD_NS);
        spare_ns -= given_ns - rest_ns;
    }
    let taken_ns = pilots_ns + standard::taken_ns(wishes.iter(), length_ns, OVERHEAD_NS);
    CountedCoreSet { wishes, length_ns, taken_ns }
}

/// A cell that is none of the core set.
fn curve(wish: &Wish) -> Wish {
    Wish { phase: Phase::Curves, replicates: standard::REPLICATES, ..wish.clone() }
}

/// As many trials of each cell as fit into the same time.
fn of_fixed_number(bought: &CountedCoreSet) -> Vec<Wish> {
    let once = bought.wishes.iter().map(|wish| Wish { replicates: 1, ..wish.clone() });
    let once: Vec<Wish> = once.collect();
    let once_ns = standard::taken_ns(once.iter(), bought.length_ns, OVERHEAD_NS);
    let number = (bought.taken_ns as f64 / once_ns as f64).round() as u32;
    once.into_iter().map(|wish| Wish { replicates: number, ..wish }).collect()
}

/// The intervals of cells as every report prints them.
fn printed(records: &[Record], wishes: &[Wish]) -> Vec<Interval> {
    let found = cells(records);
    assert_eq!(found.len(), wishes.len());
    let of = |wish: &Wish| {
        let is = |cell: &&Cell| {
            let mut settings = cell.settings.clone();
            settings.set(knob::STOP, wish.settings.stop());
            settings == wish.settings
        };
        let cell = found.iter().find(is).unwrap();
        assert_eq!(cell.trials.len(), wish.replicates as usize);
        cell.figures[figure(wish)].interval.unwrap()
    };
    wishes.iter().map(of).collect()
}

/// How often the intervals of one way to buy trials held the planted value.
#[derive(Default)]
struct BuyingCoverage {
    all: Coverage,
    /// Cells that got no more trials than the least.
    early: Coverage,
    /// Those that got more.
    late: Coverage,
    /// Widths of all intervals, of the logarithms.
    ours: Vec<f64>,
    /// The same of a number of trials that was fixed, and takes the same time.
    fixed: Vec<f64>,
}

impl BuyingCoverage {
    fn of(count: RequestModel, left_ns: u64, pilots: bool) -> BuyingCoverage {
        let mut judged = BuyingCoverage::default();
        for seed in seeds() {
            let mut random = Random::new(seed);
            let spread = |_| random.between(0.01_f64.ln(), 0.1_f64.ln()).exp();
            let spreads = (0..core().len()).map(spread).collect();
            let mut server = Server { random, count, spreads };
            let bought = bought(&mut server, left_ns, pilots);
            let records = server.records(&bought.wishes, bought.length_ns, seed);
            let ends = printed(&records, &bought.wishes);
            for (wish, ends) in bought.wishes.iter().zip(ends) {
                let truth = REQUESTS_PER_S * wish.settings.number(knob::BLOCK_SIZE);
                let early = wish.replicates == standard::CORE_REPLICATES;
                judged.all.add(Some(ends), truth);
                if early { &mut judged.early } else { &mut judged.late }.add(Some(ends), truth);
                judged.ours.push(width(ends));
            }
            let fixed = of_fixed_number(&bought);
            let records = server.records(&fixed, bought.length_ns, seed);
            judged.fixed.extend(printed(&records, &fixed).into_iter().map(width));
        }
        judged
    }

    #[expect(clippy::print_stdout, reason = "what is won is told with --nocapture")]
    fn check(&self, what: &str) {
        let ratio = mean(&self.ours) / mean(&self.fixed);
        println!("{what}: {ratio:.3} times as wide as a fixed number of trials");
        self.all.check_least(&format!("{what}, all"));
        self.early.check_least(&format!("{what}, the least"));
        self.late.check_least(&format!("{what}, more"));
        assert!(ratio <= 1.25, "{what}: {ratio} times as wide as a fixed number of trials");
    }
}

fn width(ends: Interval) -> f64 {
    (ends.high / ends.low).ln()
}

const SECOND_NS: u64 = 1_000_000_000;

/// What held of a bare interval of three pilots was not shown of what is printed: two pilots decide
/// there, spread is pooled, and no interval is finer than whole blocks.
#[test]
fn what_is_printed_holds_after_pilots_decided_where_it_stopped_early_and_where_it_did_not() {
    for (what, count) in CASES {
        BuyingCoverage::of(count, 300 * SECOND_NS, true).check(what);
    }
}

/// A short budget has no pilots: its numbers of trials are fixed before any of them runs.
#[test]
fn what_is_printed_without_pilots_holds() {
    for (what, count) in CASES {
        BuyingCoverage::of(count, 95 * SECOND_NS, false).check(&format!("{what}, without pilots"));
    }
}

/// The times of so many requests that follow each other, of which half take longer than 1.
type Times = fn(&mut Random, usize) -> Vec<f64>;

const TIMES: [(&str, Times); 3] = [
    ("AR(1)", |random, n| {
        random.ar1(n, 0.9, 1.0, 0.15).into_iter().map(|speed| 1.0 / speed.max(0.05)).collect()
    }),
    ("lognormal, sigma 1", |random, n| (0..n).map(|_| random.normal().exp()).collect()),
    ("1 % of stalls, 50 times as long", |random, n| {
        (0..n).map(|_| if random.uniform() < 0.01 { 50.0 } else { 1.0 }).collect()
    }),
];

/// A trial of one request after the other, all of it at so many times the usual speed.
fn one_at_a_time(trial: Trial, times: &[f64], speed: f64) -> Record {
    let (ns, mut at_ns) = (lasts_ns(&trial), 0);
    let mut histogram = latency_histogram();
    for time in times {
        let each_ns = (time * 1e9 / REQUESTS_PER_S / speed) as u64;
        at_ns += each_ns;
        if at_ns > ns {
            break;
        }
        histogram.saturating_record(each_ns);
    }
    let ops = histogram.len();
    let done = Amount { read_bytes: 4096 * ops, read_ops: ops, ..Amount::default() };
    let measurement = Measurement {
        elapsed_ns: ns,
        window: Some(Window { start_ns: 0, end_ns: ns, done }),
        latency: vec![(Operation::Read, histogram)],
        ..Measurement::default()
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

/// The first screen prints the median time of one request, of all requests of all trials. Of a disk
/// that takes as long over each of them in one trial, and a little longer in the next, it is the
/// middle one of six: with the interval of their mean around it, it held 90.6 % of the time.
#[test]
fn the_median_time_that_is_printed_holds() {
    let wish = core().into_iter().find(|it| it.name == "random 4 KiB read, depth 1").unwrap();
    for (what, draw) in TIMES {
        // As many as a cell gets at least, without pilots, and at most.
        for n in [standard::CORE_REPLICATES, 8, 24] {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let mut random = Random::new(seed);
                let spread = random.between(0.01_f64.ln(), 0.1_f64.ln()).exp();
                let wish = Wish { replicates: n, ..wish.clone() };
                let timed = standard::timed(&wish, standard::CORE_NS_MIN);
                let records = blocked_each(&[timed], seed).into_iter().map(|trial| {
                    let speed = (1.0 + spread * random.normal()).max(0.05);
                    one_at_a_time(trial, &draw(&mut random, 400), speed)
                });
                let records: Vec<Record> = records.collect();
                let found = cells(&records)[0].figures[figure_names::LATENCY_P50];
                coverage.add(found.interval, 1e9 / REQUESTS_PER_S);
            }
            coverage.check_least(&format!("{what}, {n} trials"));
        }
    }
}
