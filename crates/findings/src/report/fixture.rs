//! A fabricated campaign, for tests of the formats: what `evaluate` measures, on an invented disk.
//!
//! Figures follow simple laws without chance, so that snapshots hold on every machine.

#![allow(clippy::unwrap_used, missing_docs, reason = "nothing but tests uses it")]

use std::collections::BTreeMap;

use super::{Input, TrialView};
use crate::analysis::summary::summary;
use crate::analysis::{AnalysisInput, Finding, Severity, Shown};
use base::stats::{Estimate, Interval};
use base::value::Value;
use experiment::campaign::{Campaign, NotBought};
use experiment::knob::{self, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::{Cell, Figures};
use experiment::measurement::origin::{Origin, Verdict};
use experiment::measurement::{Amount, Measurement, Note, Outcome, Record, Window};
use experiment::plan::{Trial, blocked, standard};
use facts::counters::series::{Column, ColumnKind, Series};

mod damaged;
pub mod samples;

pub use damaged::damaged;

/// All that an [`Input`] borrows or is made of.
pub struct Fixture {
    pub campaign: Campaign,
    pub records: Vec<Record>,
    pub trials: Vec<TrialView>,
    pub cells: Vec<Cell>,
    pub findings: Vec<Finding>,
    pub answer: Vec<String>,
}

impl Fixture {
    /// As [`Input::new`] has it, without effects, which are tables of their own.
    fn shown(&self) -> Shown {
        let Campaign { inventory, prices, .. } = &self.campaign;
        let shown = AnalysisInput::new(&self.records, inventory, prices).into_shown();
        Shown { effects: Vec::new(), ..shown }
    }

    pub fn input(&self) -> Input<'_> {
        Input {
            samples: None,
            campaign: &self.campaign,
            records: &self.records,
            trials: self.trials.clone(),
            cells: self.cells.clone(),
            shown: self.shown(),
            findings: self.findings.clone(),
            answer: self.answer.clone(),
            summary: summary(
                &self.campaign,
                &self.records,
                &self.cells,
                &self.findings,
                &self.answer,
            ),
        }
    }
}

/// An hour's evaluation: 8 groups, 3 replicates, a failure, notes, and cells not bought.
pub fn evaluated() -> Fixture {
    let mut fixture = campaign_of(blocked(&planned(), 3, 42), 40);
    let last = fixture.records.len() - 1;
    fixture.records[last].outcome =
        Outcome::Failed("cannot write /srv/a: No space left on device (os error 28)".into());
    fixture.trials[last] = TrialView::default();
    let number = fixture.records[last].trial.number;
    for cell in &mut fixture.cells {
        cell.trials.retain(|trial| *trial != number);
    }
    fixture
}

/// Trials as given, each with `rows` samples.
pub fn campaign_of(trials: Vec<Trial>, rows: u64) -> Fixture {
    let records: Vec<Record> = trials.into_iter().map(|trial| record(trial, rows)).collect();
    let views: Vec<TrialView> = records.iter().map(view).collect();
    let cells = over_replicates(&records);
    let campaign = Campaign {
        id: 7,
        uid: "5f3a".into(),
        plan: "evaluate".into(),
        engine: "file".into(),
        host: "fileserver".into(),
        started_unix_ns: 1_795_297_393_000_000_000,
        seed: 42,
        version: "0.1.0".into(),
        argv: ["brickyard", "evaluate", "/srv/a", "--budget", "1h"].map(str::to_owned).to_vec(),
        inventory: serde_json::json!({
            "cpu": { "model": "Example CPU", "cores": 16, "sockets": 1 },
            "memory_bytes": 68_719_476_736_u64,
            "kernel": "6.12.48",
            "targets": [{ "directory": "/srv/a", "filesystem": "xfs", "options": "rw,noatime",
                          "device": "nvme0n1", "scheduler": "none", "read_ahead_bytes": 131_072,
                          "rotational": false }]
        }),
        plan_json: None,
        prices: Default::default(),
        currency: String::new(),
        left_out: Default::default(),
        not_bought: vec![
            NotBought { cell: "mixed, 100 streams".into(), budget_ns: 5_400_000_000_000 },
            NotBought { cell: "queue depth 256".into(), budget_ns: 7_200_000_000_000 },
        ],
    };
    Fixture { campaign, records, trials: views, cells, findings: findings(), answer: answer() }
}

/// Eight operations on names, with four numbers of streams each: as many lines in one figure.
pub fn names() -> Fixture {
    let operations = ["create", "stat", "open", "readdir", "rename", "link", "unlink", "mkdir"];
    let mut cells = Vec::new();
    for operation in operations {
        for streams in [1, 2, 4, 8] {
            let mut settings =
                experiment::knob::testing::settings("tree", &[("operation", operation)]);
            settings.set(knob::DIRECTORIES, &["/srv/a".into()]);
            settings.set(knob::STREAMS, streams);
            cells.push((operation.to_owned(), settings));
        }
    }
    let mut fixture = campaign_of(blocked(&cells, 1, 42), 40);
    let figures = |settings: &Settings| -> Figures {
        let place = operations.iter().position(|name| settings.get(knob::OPERATION) == *name);
        let one_s = 20_000.0 * (place.unwrap_or(0) + 1) as f64;
        let value = one_s * settings.number(knob::STREAMS).powf(0.7);
        let interval = Interval { low: value * 0.97, high: value * 1.03 };
        let rate = Estimate { value, interval: Some(interval) };
        [(figure_names::OPS_PER_S.into(), rate)].into_iter().collect()
    };
    for cell in &mut fixture.cells {
        cell.figures = figures(&cell.settings);
    }
    for (view, record) in fixture.trials.iter_mut().zip(&fixture.records) {
        view.figures = figures(&record.trial.settings).into();
        view.origin = None;
    }
    fixture
}

/// 10 000 trials: every level of five knobs with every other, five times, some from cache.
pub fn crossed() -> Fixture {
    let mut cells = Vec::new();
    for place in 0..2000_u64 {
        let digit = |base: u64, below: u64| place / below % base;
        let access = if digit(2, 1) == 0 { "read" } else { "random-read" };
        let cold = if digit(2, 2) == 0 { "true" } else { "false" };
        let typed = [("direct", "false"), ("access", access), ("cold", cold)];
        let mut settings = experiment::knob::testing::settings("file", &typed);
        settings.set(knob::DIRECTORIES, &["/srv/a".into()]);
        settings.set(knob::FILE_SIZE, (64 << 20) << (2 * digit(5, 4)));
        settings.set(knob::BLOCK_SIZE, 4096 << (2 * digit(5, 20)));
        settings.set(knob::STREAMS, 1 << digit(5, 100));
        settings.set(knob::QUEUE_DEPTH, 1 << digit(4, 500));
        cells.push((access.to_owned(), settings));
    }
    campaign_of(blocked(&cells, 5, 42), 2)
}

fn answer() -> Vec<String> {
    vec![
        "/srv/a delivers 1640 MB/s (1564 MiB/s) of sequential reading to 8 streams, from the \
         device; one stream alone gets 480 MB/s (458 MiB/s)."
            .into(),
        "Beyond 4 streams the device is the limit: 100 streams get no more than 8.".into(),
        "Written data is accepted at 2100 MB/s and durable at 610 MB/s.".into(),
    ]
}

fn findings() -> Vec<Finding> {
    let finding = |question, claim: &str, evidence: &[u32], severity| {
        let mut finding = Finding::info(question, claim.to_owned(), evidence.to_vec());
        finding.severity = severity;
        finding
    };
    vec![
        Finding {
            limit: Some("device".into()),
            advice: Some("Give it 4 to 8 clients at once; more only wait for each other.".into()),
            ..finding(
                "scaling",
                "Throughput stops growing at 4 streams.",
                &[1, 2, 3],
                Severity::Info,
            )
        },
        finding(
            "cache",
            "The same files come from cache 5 times as fast as from the device: a figure of a \
             second reading says nothing of the disks.",
            &[4, 9],
            Severity::Warning,
        ),
        finding("failures", "1 of 129 trials failed: the disk was full.", &[129], Severity::Error),
    ]
}

pub fn planned() -> Vec<(String, Settings)> {
    let mut cells = Vec::new();
    let streams: &[u64] = &[1, 2, 4, 8, 16, 32, 60, 100];
    let blocks: Vec<u64> = (0..6).map(|step| 4096 << (2 * step)).collect();
    let depths: Vec<u64> = (0..8).map(|step| 1 << step).collect();
    let mut add = |group: &str, typed: &[(&str, &str)], knob: &str, levels: &[Value]| {
        for level in levels {
            let mut settings = experiment::knob::testing::settings("file", typed);
            settings.set(knob::DIRECTORIES, &["/srv/a".into()]);
            settings.set_named(knob, level.clone());
            cells.push((group.to_owned(), settings));
        }
    };
    let count = |levels: &[u64]| levels.iter().map(|n| Value::Count(*n)).collect::<Vec<_>>();
    let bytes = |levels: &[u64]| levels.iter().map(|n| Value::Bytes(*n)).collect::<Vec<_>>();
    let buffered = &[("direct", "false")];
    let warm = &[("direct", "false"), ("cold", "false")];
    add("streams, direct", &[], "streams", &count(streams));
    add("streams, cold, buffered", buffered, "streams", &count(streams));
    add("block size, sequential", &[], "block-size", &bytes(&blocks));
    add("block size, random", &[("access", "random-read")], "block-size", &bytes(&blocks));
    let random = &[("access", "random-read"), ("block-size", "4KiB")];
    add("queue depth", random, "queue-depth", &count(&depths));
    add("streams, from cache", warm, "streams", &count(&[1, 8, 60]));
    add("writing", &[("access", "write")], "streams", &count(&[1, 8, 60]));
    let mixed = &[("access", "random-mix"), ("block-size", "4KiB")];
    add("mixed", mixed, "queue-depth", &count(&[32]));
    cells
}

/// The invented disk: bytes per second of a cell.
fn law(settings: &Settings) -> f64 {
    let parallel = settings.number(knob::STREAMS) * settings.number(knob::QUEUE_DEPTH);
    let block = settings.number(knob::BLOCK_SIZE);
    let (rate, service_s, top) = match () {
        () if super::words::warm(settings) => (4.0e9, 2e-6, 8.2e9),
        () if super::words::writes_only(settings) => (1.9e9, 30e-6, 2.1e9),
        () if super::words::random(settings) => (0.52e9, 105e-6, 1.3e9),
        () if settings.get(knob::DIRECT) => (0.56e9, 60e-6, 1.64e9),
        () => (0.44e9, 75e-6, 1.38e9),
    };
    (parallel * block / (service_s + block / rate)).min(top).min(450_000.0 * block)
}

/// Operations by latency class: most take about 0.1 ms, and in the middle 3 take 0.1 s.
fn by_class(rows: u64) -> Vec<Column> {
    let column = |from_ns: u64, at: &dyn Fn(u64) -> u64| Column {
        name: format!("from_{from_ns}_ns.ops"),
        kind: ColumnKind::Counter,
        values: (0..=rows).map(at).collect(),
    };
    let mut columns: Vec<Column> = [(65_536, 310), (98_304, 2400), (131_072, 800), (196_608, 90)]
        .into_iter()
        .map(|(from_ns, ops)| column(from_ns, &|row| row * ops + row * row % 7))
        .collect();
    columns.push(column(1_572_864, &|row| row / 3));
    columns.push(column(100_663_296, &|row| if row > rows / 2 { 3 } else { 0 }));
    columns
}

fn record(trial: Trial, rows: u64) -> Record {
    let rate = law(&trial.settings) * (1.0 + 0.004 * (f64::from(trial.replicate) - 2.0));
    let elapsed_ns = 2_000_000_000;
    let step = elapsed_ns / rows.max(1);
    let at_ns: Vec<i64> = (0..=rows).map(|row| (row * step) as i64).collect();
    let ramp = |per_s: f64| -> Vec<u64> {
        let wave = |row: u64| 1.0 + 0.05 * (row as f64 / 3.0).sin() / (row.max(1) as f64);
        (0..=rows).map(|row| (per_s * (row * step) as f64 / 1e9 * wave(row)) as u64).collect()
    };
    let counter = |name: &str, per_s: f64| Column {
        name: name.into(),
        kind: ColumnKind::Counter,
        values: ramp(per_s),
    };
    let writes = super::words::writes_only(&trial.settings);
    let moved = if writes { "write_bytes" } else { "read_bytes" };
    let series = |source: &str, columns: Vec<Column>| Series {
        source: source.into(),
        at_ns: at_ns.clone(),
        columns,
    };
    let cpu = [("user", 0.2e9), ("system", 1.1e9), ("iowait", 3e9), ("irq", 0.02e9)];
    let cpu = cpu.into_iter().chain([("softirq", 0.1e9), ("steal", 0.0), ("idle", 11.5e9)]);
    let mut stat: Vec<Column> =
        cpu.map(|(kind, per_s)| counter(&format!("cpu0.{kind}_ns"), per_s)).collect();
    stat.push(counter("interrupts", 42_000.0));
    stat.push(counter("context_switches", 61_000.0));
    let done = Amount { read_bytes: (rate * 1.8) as u64, ..Amount::default() };
    let measurement = Measurement {
        started_unix_ns: 1_795_297_393_000_000_000 + u64::from(trial.number) * 3_000_000_000,
        elapsed_ns,
        window: Some(Window { start_ns: 100_000_000, end_ns: 1_900_000_000, done }),
        load: series("load", vec![counter(moved, rate)]),
        counters: vec![
            series("stat", stat),
            series(
                "diskstats",
                vec![counter(&format!("nvme0n1.{moved}"), rate), counter("nvme0n1.busy_ms", 930.0)],
            ),
            series("latency", by_class(rows)),
        ],
        ..Measurement::default()
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

fn view(record: &Record) -> TrialView {
    let settings = &record.trial.settings;
    let rate = law(settings) * (1.0 + 0.004 * (f64::from(record.trial.replicate) - 2.0));
    let block = settings.number(knob::BLOCK_SIZE);
    let parallel = settings.number(knob::STREAMS) * settings.number(knob::QUEUE_DEPTH);
    let latency_ns = parallel * block / rate * 1e9;
    let within = Interval { low: rate * 0.985, high: rate * 1.015 };
    let mut figures: Figures = [
        ("throughput_bytes_per_s", Estimate { value: rate, interval: Some(within) }),
        ("naive_throughput_bytes_per_s", Estimate::bare(rate * 1.08)),
        ("iops", Estimate::bare(rate / block)),
        ("latency_ns_p50", Estimate::bare((latency_ns * 0.93).round())),
        ("latency_ns_p99", Estimate::bare((latency_ns * 2.4).round())),
    ]
    .map(|(name, estimate)| (name.into(), estimate))
    .into_iter()
    .collect();
    let origin = |verdict, share, reason: &str| Origin {
        verdict,
        device_share: Some(share),
        reason: reason.into(),
    };
    let mut notes = Vec::new();
    let origin = match () {
        () if super::words::writes_only(settings) => {
            figures.insert(figure_names::ACCEPTED_THROUGHPUT.into(), Estimate::bare(rate));
            figures.insert(figure_names::DURABLE_THROUGHPUT.into(), Estimate::bare(rate * 0.29));
            notes.push(Note::new("not-preconditioned", "the flash was not filled beforehand"));
            None
        }
        () if super::words::warm(settings) => {
            Some(origin(Verdict::Cache, 0.0, "the files were in memory before the trial"))
        }
        () if settings.number(knob::STREAMS) > 90.0 => Some(Origin {
            verdict: Verdict::Unknown,
            device_share: None,
            reason: "the process and the devices disagree".into(),
        }),
        () => Some(origin(Verdict::Device, 1.0, "process and devices agree within 1 %")),
    };
    if settings.number(knob::QUEUE_DEPTH) > 60.0 {
        let text = format!("trial {}: a core of ours was 97 % busy", record.trial.number);
        notes.push(Note::new("generator-bound", text));
    }
    TrialView {
        figures: figures.into(),
        origin,
        steady: (settings.number(knob::STREAMS) < 30.0).then_some(true),
        steady_text: "settled over 5 rounds".into(),
        notes: notes.into(),
    }
}

fn over_replicates(records: &[Record]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    // Thousands of trials are too many to hold each against every cell.
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for record in records {
        let group = &record.trial.group;
        let alike = places.entry(record.trial.settings.fingerprint(&[])).or_default();
        let same = |place: &&usize| cells[**place].settings == record.trial.settings;
        if let Some(place) = alike.iter().find(same) {
            let cell = &mut cells[*place];
            cell.trials.push(record.trial.number);
            if !cell.groups.contains(group) {
                cell.groups.push(group.clone());
            }
            continue;
        }
        let mut figures = view(record).figures.as_ref().clone();
        for name in [
            figure_names::THROUGHPUT,
            figure_names::IOPS,
            figure_names::ACCEPTED_THROUGHPUT,
            figure_names::DURABLE_THROUGHPUT,
        ] {
            if let Some(estimate) = figures.get_mut(name) {
                let value = estimate.value;
                let interval = Interval { low: value * 0.97, high: value * 1.03 };
                *estimate = Estimate { value, interval: Some(interval) };
            }
        }
        let groups = vec![group.clone()];
        let settings = record.trial.settings.clone();
        alike.push(cells.len());
        let (trials, pooled) = (vec![record.trial.number], BTreeMap::new());
        cells.push(Cell { groups, settings, trials, figures, pooled });
    }
    cells
}

/// The standard evaluation of a simulated server, as far as three quarters of an hour buy it.
pub fn simulated() -> (Campaign, Vec<Record>) {
    let shape = standard::EvaluationTarget {
        engine: "sim",
        directories: vec!["/srv/a".into()],
        direct: true,
        file_size: 256 << 20,
        files: standard::files(100),
        cache_bytes: 4 << 30,
    };
    let wishes = standard::wishes(&shape);
    let bought = &wishes[..wishes.len() - 6];
    let truth = [("sim-noise", "0.04"), ("sim-inequality", "1.3"), ("sim-service-time", "80us")];
    let two_s = 2_000_000_000;
    let cells = bought.iter().map(|wish| {
        let (group, mut settings, _) = standard::timed(wish, two_s);
        for (name, value) in truth {
            settings.set_named(
                name,
                experiment::knob::find(name).unwrap().domain.parse(value).unwrap(),
            );
        }
        (group, settings)
    });
    let records = engines::engine::testing::campaign(&cells.collect::<Vec<_>>(), 3, 42);
    let mut campaign = campaign_of(Vec::new(), 0).campaign;
    campaign.engine = "sim".into();
    let budgets = standard::budgets_ns(&wishes, 60_000_000_000);
    campaign.not_bought = wishes.iter().zip(budgets).skip(bought.len()).map(not_bought).collect();
    (campaign, records)
}

/// Files of growing size by blocks of three sizes, read again and again by a simulated server whose
/// processor caches 24 MiB and whose memory 200 MiB.
pub fn cached() -> (Campaign, Vec<Record>) {
    let mut cells = Vec::new();
    for block_size in ["64KiB", "256KiB", "1MiB"] {
        for file_size in ["4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB"]
            .into_iter()
            .chain(["256MiB", "512MiB", "16GiB", "32GiB", "64GiB"])
        {
            let typed = [
                ("block-size", block_size),
                ("file-size", file_size),
                ("direct", "false"),
                ("cold", "false"),
                ("stop", "100ms"),
                ("sim-processor-cache", "24MiB"),
                ("sim-cache", "200MiB"),
                ("sim-service-time", "0s"),
                ("sim-stream-rate", "1000MB/s"),
                ("sim-capacity", "100000MB/s"),
                ("sim-trial-noise", "0.01"),
            ];
            cells.push(("sizes".to_owned(), engines::engine::testing::settings(&typed)));
        }
    }
    let records = engines::engine::testing::campaign(&cells, 3, 7);
    let campaign = Campaign { engine: "sim".into(), ..campaign_of(Vec::new(), 0).campaign };
    (campaign, records)
}

fn not_bought((wish, budget_ns): (&standard::Wish, u64)) -> NotBought {
    NotBought { cell: wish.name.clone(), budget_ns }
}
