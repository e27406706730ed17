//! Whole evaluations of simulated servers, held against what was planted: one after the other in
//! one store, as a person runs them.

use super::*;
use crate::campaign::Done;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use base::stats::testing::{Counts, long};
use engines::engine::{self, Context, Engine, Serve};
use experiment::knob::{EngineKind, engines::SIM};
use experiment::measurement::Measurement;
use experiment::measurement::figures;
use experiment::progress::Observer;
use findings::analysis::compare::{Change, Comparison, ComparisonRequest, THRESHOLD, compare};
use findings::analysis::summary::{CORE, Summary, TrustLevel, summary};
use host::sys::Host;
use host::sys::signal::Stop as Stopped;

/// A simulated server of its own kind, by the knobs that make it so.
struct Server {
    what: &'static str,
    knobs: &'static [(&'static str, &'static str)],
}

/// What `--engine sim` measures where nobody says otherwise.
static USUAL: Server = Server { what: "usual", knobs: &[] };

/// Servers that differ in all that a core figure depends on, in how far they scatter from one
/// moment to the next, and in how far from one trial to the next.
static SERVERS: [&Server; 4] = [
    &USUAL,
    &Server {
        what: "slow flash",
        knobs: &[
            ("sim-capacity", "120MB/s"),
            ("sim-stream-rate", "120MB/s"),
            ("sim-service-time", "250us"),
            ("sim-trial-noise", "0.01"),
        ],
    },
    &Server {
        what: "fast flash",
        knobs: &[
            ("sim-capacity", "3000MB/s"),
            ("sim-stream-rate", "3000MB/s"),
            ("sim-service-time", "80us"),
            ("sim-trial-noise", "0.015"),
        ],
    },
    &Server {
        what: "alike from one moment to the next",
        knobs: &[("sim-noise", "0.03"), ("sim-correlation", "0.9"), ("sim-trial-noise", "0.01")],
    },
];

impl Engine for Server {
    fn kind(&self) -> &'static EngineKind {
        &SIM
    }

    fn worker(&self) -> Option<Serve> {
        None
    }

    fn check(&self, _: &Settings) -> Result<(), Error> {
        Ok(())
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, engine::Error> {
        let trial = Trial { settings: self.planted(&trial.settings), ..trial.clone() };
        engine::find(SIM.name).unwrap().run(&trial, context)
    }
}

impl Server {
    /// Settings with its knobs.
    fn planted(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        for (name, value) in self.knobs {
            let knob = knob::find(name).unwrap();
            settings.set_named(name, knob.domain.parse(value).unwrap());
        }
        settings
    }

    /// What it gives at most with requests of so many bytes, so many of them in flight, each of
    /// which waits so many times for the service time: bytes per second.
    fn bytes_per_s(&self, block: f64, depth: f64, waits: f64) -> f64 {
        let settings = self.planted(&Settings::defaults(SIM.name));
        let stream = settings.number(knob::SIM_STREAM_RATE);
        let service_s = waits * settings.number(knob::SIM_SERVICE_TIME) / 1e9;
        let waiting = depth * block / (service_s + block / stream);
        waiting.min(stream).min(settings.number(knob::SIM_CAPACITY))
    }

    /// The truth of a core figure, in its unit. Of a latency seven tenths are fixed, and the rest
    /// is exponential.
    fn truth(&self, name: &str) -> f64 {
        const MIB: f64 = 1_048_576.0;
        let median = |waits| 4096.0 / self.bytes_per_s(4096.0, 1.0, waits) * 1e9;
        match name {
            "sequential_read" | "sequential_write" => self.bytes_per_s(MIB, 8.0, 1.0),
            "random_read_4k" | "random_write_4k" => self.bytes_per_s(4096.0, 32.0, 1.0) / 4096.0,
            "read_latency_4k" => median(1.0) * (0.7 + 0.3 * 2_f64.ln()),
            "commit_latency_4k" => median(2.0) * (0.7 + 0.3 * 2_f64.ln()),
            other => panic!("{other} has no truth"),
        }
    }
}

struct Deaf;

impl Observer for Deaf {
    fn tell(&mut self, _: &Event<'_>) {}
}

/// Evaluations one after the other, in one store.
struct Stored {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Stored {
    fn new() -> Stored {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        Stored { _folder: folder, store }
    }

    /// What `evaluate --engine sim --budget 2m --seed SEED` does.
    fn evaluate(&mut self, server: &'static dyn Engine, seed: u64) -> Done {
        let campaign = Campaign {
            uid: format!("{seed:016x}"),
            plan: "evaluate".into(),
            engine: SIM.name.into(),
            seed,
            ..Campaign::default()
        };
        let directories = vec![SIM.name.to_owned()];
        let file_bytes = last_file_bytes(&self.store, SIM.name, &directories).unwrap();
        let request = EvaluationRequest {
            directories,
            budget_ns: 120_000_000_000,
            space_bytes: None,
            file_bytes,
            memory_bytes: 4 << 30,
        };
        let (host, stop, mut deaf) = (Host::at("/nonexistent"), Stopped::new(), Deaf);
        let store = &mut self.store;
        let mut run = Run::begin(&host, store, campaign, server, &[], &mut deaf, &stop).unwrap();
        evaluate(&mut run, &request).unwrap();
        run.finish().unwrap()
    }
}

/// A simulated server whose trials take a second longer from one of them on.
struct Slowing {
    from: u32,
    trials: AtomicU32,
}

impl Engine for Slowing {
    fn kind(&self) -> &'static EngineKind {
        &SIM
    }

    fn worker(&self) -> Option<Serve> {
        None
    }

    fn check(&self, settings: &Settings) -> Result<(), Error> {
        USUAL.check(settings)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, engine::Error> {
        let mut measurement = USUAL.run(trial, context)?;
        if self.trials.fetch_add(1, Ordering::Relaxed) >= self.from {
            measurement.elapsed_ns += 1_000_000_000;
        }
        Ok(measurement)
    }
}

/// A machine became slow within an evaluation, of which two minutes were nine seconds longer: what
/// trials take besides was learnt of those before, and nothing made the rest fewer. (Curves that
/// have begun are run whole, three trials of each load: one that slows down in these may be late.)
#[test]
fn an_evaluation_of_a_machine_that_becomes_slow_ends_near_its_budget() {
    for from in [5, 25, 60, 75] {
        let slowing = Box::leak(Box::new(Slowing { from, trials: AtomicU32::new(0) }));
        let done = Stored::new().evaluate(slowing, 1);
        let measured = done.records.iter().filter_map(|record| record.outcome.measurement());
        let took_ns: u64 = measured.map(|measurement| measurement.elapsed_ns).sum();
        let of = took_ns as f64 / 120e9;
        assert!(done.records.len() as u32 > from, "it became slow at no time");
        assert!(of <= 1.05, "from trial {from} on: {of:.3} of its budget");
    }
}

/// What the first screen shows.
fn shown(done: &Done) -> Summary {
    summary(&done.campaign, &done.records, &figures::cells(&done.records), &[], &[])
}

/// Two evaluations of one server in a row.
struct Pair {
    server: &'static Server,
    shown: [Summary; 2],
    compared: Comparison,
}

/// Pairs with seeds from 0 on, none chosen, of all servers in turn: 200 evaluations with
/// `BRICKYARD_LONG=1`, else 16.
fn pairs() -> &'static [Pair] {
    static PAIRS: OnceLock<Vec<Pair>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        let seeds = 0..if long() { 100 } else { 8 };
        seeds.zip(SERVERS.iter().cycle()).map(|(seed, server)| pair(server, seed)).collect()
    })
}

fn pair(server: &'static Server, seed: u64) -> Pair {
    let mut stored = Stored::new();
    let [first, second] = [2 * seed, 2 * seed + 1].map(|seed| stored.evaluate(server, seed));
    let asked = ComparisonRequest { threshold: THRESHOLD, figure: None };
    let compared = compare(&first.records, &second.records, &asked);
    Pair { server, shown: [shown(&first), shown(&second)], compared }
}

/// Every core figure is what was planted, within 2 %, and says so within 5 %. Two in a row have the
/// same cells, and none became worse.
#[test]
#[expect(clippy::print_stdout, reason = "the counts are told with --nocapture")]
fn evaluations_find_what_was_planted_and_two_in_a_row_compare() {
    let (mut near, mut narrow, mut covered) =
        (Counts::default(), Counts::default(), Counts::default());
    let mut compared = Counts::default();
    for Pair { server, shown, compared: comparison } in pairs() {
        for figure in shown.iter().flat_map(|it| &it.figures) {
            let truth = server.truth(&figure.name);
            let off = figure.estimate.value / truth - 1.0;
            let ends = figure.estimate.interval.unwrap();
            near.add(off.abs() <= 0.02);
            narrow.add((ends.high / ends.low).sqrt() - 1.0 <= 0.05);
            covered.add(ends.covers(truth));
            let what = format!("{}: {} is {off:+.4} off, {ends:?}", server.what, figure.name);
            assert!(off.abs() <= 0.10, "{what}");
            if off.abs() > 0.02 {
                println!("{what}");
            }
        }
        let names = shown.each_ref().map(|it| it.figures.len());
        assert_eq!(names, [CORE.len(); 2], "{}", server.what);
        let core = comparison.cells.len();
        assert!(core >= 12, "{core} cells are compared: {:?}", comparison.apart);
        compared.add(comparison.cells.iter().all(|cell| cell.change != Change::Worse));
    }
    println!("figures within 2 %: {near}; half widths within 5 %: {narrow}");
    println!("intervals that hold the truth: {covered}; pairs without a regression: {compared}");
    // Right 19 times in 20 at least: so few of so many could not be it.
    for counts in [near, narrow] {
        assert!(counts.right * 20 >= counts.all * 19, "{counts}");
    }
    assert!(covered.bounds().1 >= 0.95, "{covered}");
    assert_eq!(compared.right, compared.all, "{compared}");
}

/// Where the figures of second evaluations lie.
#[derive(Default)]
struct Again {
    /// Within what the first one's runs gave, or its interval where that is wider.
    figures: Counts,
    /// All of an evaluation.
    whole: Counts,
    /// Within the runs alone.
    runs: Counts,
    /// Within the interval alone, which is of the mean.
    intervals: Counts,
}

impl Again {
    fn add(&mut self, first: &Summary, second: &Summary) {
        let mut all = true;
        for (one, other) in first.figures.iter().zip(&second.figures) {
            assert_eq!(one.name, other.name);
            let (ends, value) = (one.estimate.interval.unwrap(), other.estimate.value);
            let (low, high) = one.range;
            let within = [(low..=high).contains(&value), ends.covers(value)];
            self.runs.add(within[0]);
            self.intervals.add(within[1]);
            let wider = low.min(ends.low)..=high.max(ends.high);
            self.figures.add(wider.contains(&value));
            all &= wider.contains(&value);
        }
        self.whole.add(all);
    }
}

impl std::fmt::Display for Again {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Again { figures, whole, runs, intervals } = self;
        write!(f, "{figures} figures, {whole} evaluations")?;
        write!(f, "; runs alone {runs}; intervals alone {intervals}")
    }
}

/// What a repeat gives was only ever asked of cells that no evaluation had bought.
#[test]
#[expect(clippy::print_stdout, reason = "the counts are told with --nocapture")]
fn a_second_evaluation_gives_what_a_first_one_of_high_confidence_gave() {
    let (mut all, mut high) = (Again::default(), Counts::default());
    for server in SERVERS {
        let mut own = Again::default();
        for Pair { shown: [first, second], .. } in
            pairs().iter().filter(|it| it.server.what == server.what)
        {
            let confidence = first.confidence.as_ref().unwrap();
            high.add(confidence.level == TrustLevel::High);
            match confidence.level {
                TrustLevel::High => [&mut own, &mut all].map(|it| it.add(first, second)),
                _ => [println!("{}: {}", server.what, confidence.reason); 2],
            };
        }
        println!("{}: {own}", server.what);
    }
    println!("{high} are high; all: {all}");
    assert!(high.right * 4 >= high.all * 3, "{high}");
    assert!(all.figures.right * 10 >= all.figures.all * 9, "{all}");
    // What is printed beside a figure is its interval. Of few it is known only roughly how often
    // that holds.
    for counts in [all.intervals, all.runs] {
        assert!(counts.bounds().1 >= 0.90, "{all}");
        assert!(!long() || counts.right * 10 >= counts.all * 9, "{all}");
    }
    // That all six of an evaluation lie within theirs is another question, which nobody promised.
    assert!(all.whole.right * 2 >= all.whole.all, "{all}");
}

/// A store in a directory of its own with evaluations that had files of so many bytes.
fn with_files_of(of: &[(&str, &[&str], u64)]) -> Stored {
    let mut stored = Stored::new();
    for (place, (plan, directories, bytes)) in of.iter().enumerate() {
        let campaign = Campaign {
            uid: format!("{place:016x}"),
            plan: (*plan).into(),
            engine: SIM.name.into(),
            ..Campaign::default()
        };
        let names: Vec<String> = directories.iter().map(|it| (*it).to_owned()).collect();
        let (host, stop, mut deaf) = (Host::at("/nonexistent"), Stopped::new(), Deaf);
        let store = &mut stored.store;
        let mut run = Run::begin(&host, store, campaign, &USUAL, &[], &mut deaf, &stop).unwrap();
        // What only made ready had files of another size.
        for (group, size) in [(plan::PROBE, 1 << 20), ("streams, direct", *bytes)] {
            let mut settings = Settings::defaults(SIM.name);
            settings.set(knob::ACCESS, Access::Read);
            settings.set(knob::FILE_SIZE, size);
            settings.set(knob::STOP, Stop::After(200_000_000));
            settings.set(knob::DIRECTORIES, &names[..]);
            let group = group.to_owned();
            let trial = Trial {
                number: 0,
                replicate: 1,
                group,
                settings,
                first_file: 0,
                seed: 1,
                planned: None,
            };
            run.trial(trial).unwrap();
        }
        run.finish().unwrap();
    }
    stored
}

/// Sizes that differed made two evaluations of one disk incomparable: "12 cells cannot be
/// compared".
#[test]
fn sizes_are_those_of_the_last_evaluation_of_the_same_directories() {
    let last = |stored: &Stored, engine: &str, directories: &[&str]| {
        let names: Vec<String> = directories.iter().map(|it| (*it).to_owned()).collect();
        last_file_bytes(&stored.store, engine, &names).unwrap()
    };
    assert_eq!(last(&Stored::new(), "sim", &["/a"]), None);
    let mib = 1 << 20;
    let stored = with_files_of(&[
        ("evaluate", &["/a"], 3 * mib),
        ("evaluate", &["/a"], 24 * mib),
        ("evaluate", &["/a", "/b"], 48 * mib),
        ("sequential-read", &["/a"], 96 * mib),
    ]);
    assert_eq!(last(&stored, "sim", &["/a"]), Some(24 * mib), "the newest");
    assert_eq!(last(&stored, "sim", &["/b", "/a"]), Some(48 * mib), "in any order");
    assert_eq!(last(&stored, "sim", &["/b"]), None, "no part of them");
    assert_eq!(last(&stored, "file", &["/a"]), None, "another engine");
}

/// No two probes are the same: what is worked out of them is a power of two, and the size of the
/// last evaluation where that is near it.
#[test]
fn sizes_are_powers_of_two_unless_the_last_evaluation_had_others() {
    let size = |seed: u64, file_bytes: Option<u64>, space_bytes: Option<u64>| {
        let mut stored = Stored::new();
        let campaign = Campaign { uid: format!("{seed:016x}"), seed, ..Campaign::default() };
        let (host, stop, mut deaf) = (Host::at("/nonexistent"), Stopped::new(), Deaf);
        let store = &mut stored.store;
        let run = Run::begin(&host, store, campaign, &USUAL, &[], &mut deaf, &stop).unwrap();
        let request = EvaluationRequest {
            directories: vec!["sim".to_owned()],
            budget_ns: 120_000_000_000,
            space_bytes,
            file_bytes,
            memory_bytes: 4 << 30,
        };
        let rate = 1e9 * (0.8 + 0.02 * seed as f64);
        let writing = standard::writing(request.budget_ns, 1, rate);
        let files = standard::files(STREAMS_MAX);
        let found = file_size(&run, &request, &writing, files).unwrap();
        run.finish().unwrap();
        let in_time = writing.files_bytes / files;
        (found, in_time)
    };
    for seed in 0..20 {
        let (found, in_time) = size(seed, None, None);
        assert!(found.is_power_of_two(), "{found}");
        assert!(found <= in_time && in_time < 2 * found, "{found} of {in_time}");
        // One that is no power of two, and near what can be written in time.
        let had = in_time / 2 + 12_345;
        assert_eq!(size(seed, Some(had), None).0, had);
        // Another disk stands there now.
        for had in [in_time / 8, in_time * 4] {
            assert_eq!(size(seed, Some(had), None).0, found, "{had} of {in_time}");
        }
    }
    // What the user says is neither.
    let files = standard::files(STREAMS_MAX);
    let asked = files * (10 << 20) + 1;
    assert_eq!(size(1, Some(64 << 20), Some(asked)).0, 10 << 20);
}
