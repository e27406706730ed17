//! The parent's side of a trial: starts the worker, counts what the kernel does meanwhile, and puts
//! both together.

use std::path::PathBuf;
use std::time::Duration;

use super::pool;
use super::protocol::{
    LoadProgress, LoadResult, LoadSpec, SentLoadSpec, WorkerCommand, WorkerMessage,
};
use super::quiet;
use super::stall::StallDetector;
use super::watch::patience_ns;
use crate::engine::local_nfs::{self, LocalNfsBackend};
use crate::engine::{Context, Error};
use base::value::{self, Stop as Ending};
use experiment::knob::{self, Settings};
use experiment::measurement::{Evidence, Measurement};
use experiment::progress::Progress;
use facts::counters::Snapshot;
use facts::counters::series::Series;
use facts::inventory::Target;
use host::counters::{Probe, Sampler, bounds};
use host::sys::child::{Heard, Worker};
use host::sys::signal::Stop;
use host::sys::{beneath, clock, pages};
use host::{inventory, sys};

/// How often we look whether the user wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A load that was told to stop and does not within this time hangs, and is killed.
const STOPPING_MAX_NS: u64 = 30_000_000_000;
/// A load that was stopped by the user is killed after this long. Nobody waits for its result, so
/// all that it has to do is to let the I/O in flight come back: milliseconds on a disk that works,
/// and longer only on one that does not, or when the load itself was stopped (SIGSTOP) or hangs.
const INTERRUPTED_MAX_NS: u64 = 5_000_000_000;
/// An ended load has nothing to do but to close its files.
const ENDING_MAX: Duration = Duration::from_secs(10);
/// How much longer than it should a load may run before it is told to stop.
const LATE_MAX_NS: u64 = 30_000_000_000;

/// What a worker is started for: its engine, its line, and how long it may take.
#[derive(Debug)]
pub struct WorkerTask {
    engine: String,
    line: String,
    limit_ns: u64,
    files: Vec<PathBuf>,
}

impl WorkerTask {
    /// This load, by the worker of the engine that obeys `settings`.
    ///
    /// # Errors
    /// When it cannot be written as a line.
    pub fn new(spec: &LoadSpec, settings: &Settings) -> Result<WorkerTask, Error> {
        let held = beneath::named(spec.streams.iter().flatten());
        let line = serde_json::to_string(&SentLoadSpec { spec, held: Some(held) })
            .map_err(|why| Error::Failed(format!("cannot write the load's settings: {why}")))?;
        let files = spec.streams.iter().flatten().cloned().collect();
        let engine = settings.engine().to_owned();
        Ok(WorkerTask { engine, line, limit_ns: limit_ns(settings), files })
    }
}

/// Runs one load in a worker process of its own.
///
/// # Errors
/// See [`Error`].
pub fn run(order: &WorkerTask, context: &mut Context<'_>) -> Result<Measurement, Error> {
    let mut targets = Vec::new();
    for directory in context.work {
        targets.push(inventory::target(context.host, directory).map_err(failed)?);
    }
    let on = Evidence::on(&targets);
    let mut watched = all(&targets, Target::device_names);
    let behind = LocalNfsBackend::for_targets(context.host, &targets);
    behind.watch(&mut watched);
    let on = behind.evidence(on);
    let restless = quiet::wait(context.host, &on.levels(), || context.stop.asked());
    let mut worker = Worker::start(&["worker", &order.engine]).map_err(failed)?;
    context.put(&mut worker)?;
    let mut bounds = bounds::on(context.host, worker.pid(), &targets);
    bounds.extend(behind.bounds(context.host));
    let allowed_cpus = bounds::allowed_cpus(context.host, worker.pid());
    let wire = local_nfs::wire(context.host, &targets);
    let probe = Probe::new(context.host, worker.pid(), &on.devices);
    let probe = behind.probe(context.host, probe);
    let probe = probe.with_leaves(&on.below.leaves).with_layers(&on.below.layers);
    let datasets = on.pool.as_ref().map_or(&[][..], |pool| &pool.datasets);
    let probe = probe.with_datasets(context.host, datasets);
    let pools = on.pool.as_ref().map_or(&on.below.pools, |pool| &pool.pools).clone();
    let mirrored = behind.mirrored(context.work, &order.files);
    let mut dialog = WorkerDialog::new(worker, order, context, probe, watched);
    dialog.mirrored = mirrored;
    dialog.on_zfs = (!pools.is_empty()).then(|| pool::Files::new(pools, &order.files));
    let answer = dialog.talk();
    let WorkerDialog {
        worker,
        counters,
        evidence,
        mut patience,
        interrupted,
        resident,
        on_zfs,
        ..
    } = dialog;
    let ended = worker.end(ENDING_MAX, || patience.is_over());
    let result = concluded(answer, ended, interrupted)?;
    let started_ns = result.started_monotonic_ns;
    let mut measurement = result.into_measurement()?;
    measurement.counters.extend(series_since(counters, started_ns));
    let load = std::mem::take(&mut measurement.evidence);
    let mut whole = Evidence {
        delivered: load.delivered,
        resident_before_bytes: load.resident_before_bytes,
        file_bytes: load.file_bytes,
        reread_bytes: load.reread_bytes,
        wire: load.wire.or(wire),
        bounds,
        allowed_cpus,
        ..on
    };
    whole.count(&evidence.unwrap_or_default());
    if let Some(mirrored) = &mut whole.mirrored {
        mirrored.resident_before_bytes = resident;
    }
    if let (Some(known), Some(files)) = (&mut whole.pool, on_zfs) {
        files.tell(known);
    }
    measurement.evidence = whole;
    measurement.notes.extend(restless);
    Ok(measurement)
}

/// What came of a load whose worker has ended, with what it said at its end, or hangs at a place.
fn concluded(
    answer: Result<LoadResult, Error>,
    ended: Result<String, String>,
    interrupted: bool,
) -> Result<LoadResult, Error> {
    match (answer, ended) {
        (Err(Error::Failed(why) | Error::Hung(why)), Err(place)) => {
            Err(Error::Hung(format!("{why}; {HANGS} ({place})")))
        }
        (_, Err(place)) => Err(Error::Hung(format!("{HANGS} ({place})"))),
        (Err(Error::Failed(why)), Ok(said)) if !said.is_empty() => {
            Err(Error::Failed(format!("{why}; it said: {said}")))
        }
        (Err(error), _) => Err(error),
        (Ok(_), _) if interrupted => Err(Error::Interrupted),
        (Ok(result), _) => Ok(result),
    }
}

const HANGS: &str = "the load hangs in the kernel, where SIGKILL does not end it: left behind";

fn failed(error: sys::Error) -> Error {
    Error::Failed(format!("{error}"))
}

/// Rows were stamped on the absolute clock; from here on they count from the trial's start.
fn series_since(mut series: Vec<Series>, started_ns: u64) -> Vec<Series> {
    for one in &mut series {
        one.at_ns.iter_mut().for_each(|at| *at -= started_ns as i64);
    }
    series
}

/// Names out of all targets, each once.
fn all(targets: &[Target], names: impl Fn(&Target) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = targets.iter().flat_map(names).collect();
    all.sort();
    all.dedup();
    all
}

/// When the timed part of a trial is over at the latest, ns since its start.
pub fn limit_ns(settings: &Settings) -> u64 {
    let at_most_ns = settings.get(knob::AT_MOST);
    match settings.stop() {
        Ending::After(ns) => {
            at_most_ns.min(patience_ns(ns).saturating_add(settings.get(knob::WARM_UP)))
        }
        _ => at_most_ns,
    }
}

/// How long a load is waited for after the user wanted to stop.
struct Patience<'a> {
    stop: &'a Stop,
    since_ns: Option<u64>,
}

impl Patience<'_> {
    /// Whether the load is to be killed: it had its time, or the user asked again.
    fn is_over(&mut self) -> bool {
        if !self.stop.asked() {
            return false;
        }
        let now_ns = clock::monotonic_ns();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        self.stop.insisted() || now_ns - since_ns > INTERRUPTED_MAX_NS
    }
}

/// The talk with one worker.
struct WorkerDialog<'a, 'b> {
    worker: Worker,
    context: &'a mut Context<'b>,
    watched: Vec<String>,
    probe: Probe,
    before: Snapshot,
    evidence: Option<Snapshot>,
    sampler: Option<Sampler>,
    counters: Vec<Series>,
    limit_ns: u64,
    vigil: StallDetector,
    patience: Patience<'b>,
    interrupted: bool,
    stopping_since_ns: Option<u64>,
    /// The load's files where a program that mirrors them has them.
    mirrored: Vec<PathBuf>,
    /// Bytes of those that were in memory before the streams were let go.
    resident: Option<u64>,
    /// The load's files, where they lie on ZFS.
    on_zfs: Option<pool::Files>,
}

impl<'a, 'b> WorkerDialog<'a, 'b> {
    fn new(
        mut worker: Worker,
        order: &WorkerTask,
        context: &'a mut Context<'b>,
        probe: Probe,
        watched: Vec<String>,
    ) -> WorkerDialog<'a, 'b> {
        worker.say(&order.line);
        let patience = Patience { stop: context.stop, since_ns: None };
        let vigil = StallDetector::new(context.host, worker.pid(), &watched);
        WorkerDialog {
            worker,
            context,
            watched,
            probe,
            before: Snapshot::default(),
            evidence: None,
            sampler: None,
            counters: Vec::new(),
            limit_ns: order.limit_ns,
            vigil,
            patience,
            interrupted: false,
            stopping_since_ns: None,
            mirrored: Vec::new(),
            resident: None,
            on_zfs: None,
        }
    }

    /// Talks until there is a result, a refusal, or nobody to talk to.
    fn talk(&mut self) -> Result<LoadResult, Error> {
        (self.context.progress)(Progress::Preparing);
        loop {
            match self.worker.hear(LOOK_EVERY) {
                Heard::Silence => {}
                // One that is told to stop while it prepares has no result, and is right to.
                Heard::Ended => return Err(self.context.ended("the load ended without a result")),
                Heard::Line(line) => {
                    self.vigil.heard();
                    if let Some(result) = self.line(&line)? {
                        return Ok(result);
                    }
                }
            }
            if self.context.stop.asked() && !self.interrupted {
                self.interrupted = true;
                self.stop();
            }
            if self.patience.is_over() {
                return Err(Error::Interrupted);
            }
            if let Some(stalled_ns) = self.vigil.stalled_ns() {
                let long = value::duration(stalled_ns as f64);
                let why = format!("neither the load nor its devices got on for {long}");
                return Err(Error::Failed(why));
            }
            let now_ns = clock::monotonic_ns();
            if self.stopping_since_ns.is_some_and(|since| now_ns - since > STOPPING_MAX_NS) {
                return Err(Error::Failed("the load did not stop when it was told to".to_owned()));
            }
        }
    }

    fn stop(&mut self) {
        self.worker.say(WorkerCommand::Stop.word());
        self.stopping_since_ns.get_or_insert(clock::monotonic_ns());
    }

    fn line(&mut self, line: &str) -> Result<Option<LoadResult>, Error> {
        let message: WorkerMessage = serde_json::from_str(line)
            .map_err(|error| Error::Failed(format!("cannot understand the load: {error}")))?;
        match message {
            WorkerMessage::Prepared(_) => self.go()?,
            WorkerMessage::Running(running) => self.running(running),
            WorkerMessage::Flushing {} => (self.context.progress)(Progress::Flushing),
            WorkerMessage::SecondPass {} => {
                self.count_no_more();
                self.worker.say(WorkerCommand::Go.word());
            }
            WorkerMessage::Result(result) => {
                self.count_no_more();
                self.worker.say(WorkerCommand::Bye.word());
                return Ok(Some(*result));
            }
            WorkerMessage::Failed { kind, what } => return Err(kind.error(what)),
        }
        Ok(None)
    }

    /// Counters first, then the snapshot, then the streams: nothing of the load is missed.
    fn go(&mut self) -> Result<(), Error> {
        if let Some(files) = &mut self.on_zfs {
            files.settle(self.context.stop);
        }
        let pid = self.worker.pid();
        let sampler = Sampler::start(self.context.host, pid, &self.watched).map_err(failed)?;
        self.sampler = Some(sampler);
        self.resident = pages::resident_in(&self.mirrored);
        self.before = self.probe.take();
        self.worker.say(WorkerCommand::Go.word());
        Ok(())
    }

    fn running(&mut self, running: LoadProgress) {
        let LoadProgress { elapsed_ns, expected_ns, bytes_per_s, ops_per_s } = running;
        (self.context.progress)(Progress::Running {
            elapsed_ns,
            expected_ns,
            bytes_per_s,
            ops_per_s,
        });
        if elapsed_ns > self.limit_ns.saturating_add(LATE_MAX_NS)
            && self.stopping_since_ns.is_none()
        {
            self.stop();
        }
    }

    /// Takes the evidence and ends the counting; only the first call does anything.
    fn count_no_more(&mut self) {
        if self.evidence.is_none() {
            self.evidence = Some(self.probe.take().since(&self.before));
        }
        if let Some(sampler) = self.sampler.take() {
            self.counters = sampler.stop(0);
        }
    }
}
