//! The parent's side of a trial: makes its folders, starts the worker, counts what the kernel does
//! meanwhile, and puts both together.

use std::path::Path;
use std::time::Duration;

use super::protocol::{CommandSpec, CommandWorkerMessage, Outcome};
use crate::engine::load::quiet;
use crate::engine::local_nfs::{self, LocalNfsBackend};
use crate::engine::{Context, Error};
use experiment::knob::{self, Settings};
use experiment::measurement::{Amount, Evidence, Measurement};
use experiment::plan::Trial;
use experiment::progress::Progress;
use facts::counters::Snapshot;
use facts::counters::series::Series;
use facts::inventory::Target;
use host::counters::{Probe, Sampler, bounds};
use host::inventory;
use host::sys::child::{Heard, Worker};
use host::sys::workdir::{make_folder, remove_folder};
use host::sys::{self, clock, swap};

/// How often we look whether the user wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A worker that was told to stop ends its programs within this time, or is killed: SIGTERM,
/// SIGKILL, cleaning up.
const STOPPING_MAX_NS: u64 = 30_000_000_000;
/// An ended worker has nothing more to do.
const ENDING_MAX: Duration = Duration::from_secs(10);

fn failed(error: sys::Error) -> Error {
    Error::Failed(format!("{error}"))
}

/// Runs one trial below a worker process of its own, in folders of its own; `make` says what is
/// run in these folders.
///
/// # Errors
/// See [`Error`].
pub fn run(
    trial: &Trial,
    context: &mut Context<'_>,
    make: &mut dyn FnMut(&[String]) -> Result<CommandSpec, Error>,
) -> Result<Measurement, Error> {
    let mut targets = Vec::new();
    let mut places = Vec::new();
    for directory in context.work {
        targets.push(inventory::target(context.host, directory).map_err(failed)?);
    }
    for directory in context.work {
        swap::refuse(directory).map_err(Error::Unsupported)?;
        let place = make_folder(directory, trial.number).map_err(failed)?;
        places.push(place.to_string_lossy().into_owned());
    }
    let settings = &trial.settings;
    let measured = make(&places).and_then(|spec| measure(&spec, settings, &targets, context));
    if matches!(measured, Err(Error::Hung(_))) {
        // Whoever looks into a place that hangs, hangs as well.
        return measured;
    }
    let mut left = Vec::new();
    for directory in context.work {
        left.extend(remove_folder(Path::new(directory), trial.number).err());
    }
    match (measured, left.into_iter().next()) {
        (Ok(_), Some(error)) => Err(failed(error)),
        (measured, _) => measured,
    }
}

fn measure(
    spec: &CommandSpec,
    settings: &Settings,
    targets: &[Target],
    context: &mut Context<'_>,
) -> Result<Measurement, Error> {
    let behind = LocalNfsBackend::for_targets(context.host, targets);
    let mut on = behind.evidence(Evidence::on(targets));
    on.wire = local_nfs::wire(context.host, targets);
    let mut watched: Vec<String> = targets.iter().flat_map(Target::device_names).collect();
    behind.watch(&mut watched);
    let restless = quiet::wait(context.host, &on.levels(), || context.stop.asked());
    let mut worker = Worker::start(&["worker", settings.engine()]).map_err(failed)?;
    // What it starts inherits its place: the copies, and `prepare` and `cleanup` with them.
    context.put(&mut worker)?;
    on.bounds = bounds::on(context.host, worker.pid(), targets);
    on.bounds.extend(behind.bounds(context.host));
    on.allowed_cpus = bounds::allowed_cpus(context.host, worker.pid());
    let line = serde_json::to_string(spec)
        .map_err(|error| Error::Failed(format!("cannot write what to run: {error}")))?;
    worker.say(&line);
    let probe = Probe::new(context.host, worker.pid(), &on.devices);
    let probe = behind.probe(context.host, probe);
    let probe = probe.with_leaves(&on.below.leaves).with_layers(&on.below.layers);
    let at_most_ns = spec.at_most_ns.saturating_add(STOPPING_MAX_NS);
    let mut dialog = CommandWorkerDialog {
        worker,
        context,
        cold: settings.get(knob::DROP_CACHES) == Some(true),
        watched,
        probe,
        before: Snapshot::default(),
        added: Snapshot::default(),
        sampler: None,
        counters: Vec::new(),
        at_most_ns,
        stopping_since_ns: None,
    };
    let answer = dialog.talk();
    let CommandWorkerDialog { worker, counters, added, stopping_since_ns, context, .. } = dialog;
    let said = worker.end(ENDING_MAX, || context.stop.insisted());
    let outcome = match (answer, said) {
        (Err(Error::Failed(why) | Error::Hung(why)), Err(place)) => {
            return Err(Error::Hung(format!("{why}; so does what watches over them ({place})")));
        }
        (_, Err(place)) => {
            let what = "what watches over the programs hangs in the kernel: left behind";
            return Err(Error::Hung(format!("{what} ({place})")));
        }
        (Err(Error::Failed(why)), Ok(said)) if !said.is_empty() => {
            return Err(Error::Failed(format!("{why}; it said: {said}")));
        }
        (Ok(outcome), _) if outcome.stopped || stopping_since_ns.is_some() => {
            return Err(Error::Interrupted);
        }
        (answer, _) => answer?,
    };
    let mut measured = measurement(outcome, counters, &added, on);
    measured.notes.extend(restless);
    Ok(measured)
}

fn measurement(
    outcome: Outcome,
    mut counters: Vec<Series>,
    added: &Snapshot,
    on: Evidence,
) -> Measurement {
    // Rows were stamped on the absolute clock; from here on they count from the trial's start.
    for series in &mut counters {
        series.at_ns.iter_mut().for_each(|at| *at -= outcome.started_monotonic_ns as i64);
    }
    let delivered = outcome.streams.iter().fold(Amount::default(), |sum, s| sum.plus(&s.total));
    let mut evidence = Evidence { delivered, ..on };
    evidence.count(added);
    // What `prepare` moved is in the worker's own account; the programs' accounts are exact.
    evidence.process_read_bytes = Some(delivered.read_bytes);
    evidence.process_write_bytes = Some(delivered.write_bytes);
    Measurement {
        started_unix_ns: outcome.started_unix_ns,
        elapsed_ns: outcome.elapsed_ns,
        window: outcome.window,
        streams: outcome.streams,
        load: outcome.load,
        programs: Some(outcome.programs),
        evidence,
        counters,
        notes: outcome.notes,
        ..Measurement::default()
    }
}

/// The talk with the worker of one trial of programs.
struct CommandWorkerDialog<'a, 'b> {
    worker: Worker,
    context: &'a mut Context<'b>,
    /// What `prepare` has left in memory is dropped before the programs are let go.
    cold: bool,
    watched: Vec<String>,
    probe: Probe,
    before: Snapshot,
    added: Snapshot,
    sampler: Option<Sampler>,
    counters: Vec<Series>,
    at_most_ns: u64,
    stopping_since_ns: Option<u64>,
}

impl CommandWorkerDialog<'_, '_> {
    /// Talks until there is a result, a refusal, or nobody to talk to.
    fn talk(&mut self) -> Result<Outcome, Error> {
        (self.context.progress)(Progress::Preparing);
        loop {
            match self.worker.hear(LOOK_EVERY) {
                Heard::Silence => {}
                Heard::Ended => {
                    let why = "the process that watches over the programs ended without a result";
                    return Err(self.context.ended(why));
                }
                Heard::Line(line) => {
                    if let Some(outcome) = self.line(&line)? {
                        return Ok(outcome);
                    }
                }
            }
            if self.context.stop.asked() && self.stopping_since_ns.is_none() {
                self.stop();
            }
            let late = |since: u64| clock::monotonic_ns() - since > STOPPING_MAX_NS;
            if self.stopping_since_ns.is_some_and(late) || self.context.stop.insisted() {
                let why = "the programs did not end when they were told to";
                return Err(self.context.ended(why));
            }
        }
    }

    fn stop(&mut self) {
        self.worker.say("stop");
        self.stopping_since_ns.get_or_insert(clock::monotonic_ns());
    }

    fn line(&mut self, line: &str) -> Result<Option<Outcome>, Error> {
        let message: CommandWorkerMessage = serde_json::from_str(line)
            .map_err(|error| Error::Failed(format!("cannot understand the worker: {error}")))?;
        match message {
            CommandWorkerMessage::Ready {} => {
                let (host, pid) = (self.context.host, self.worker.pid());
                if self.cold {
                    // What is dirty cannot be dropped.
                    rustix::fs::sync();
                    host.write("/proc/sys/vm/drop_caches", "3").map_err(failed)?;
                }
                // Counters first, then the snapshot, then the programs: nothing is missed.
                self.sampler = Some(Sampler::start(host, pid, &self.watched).map_err(failed)?);
                self.before = self.probe.take();
                self.worker.say("go");
            }
            CommandWorkerMessage::Running { elapsed_ns, bytes_per_s } => {
                let (expected_ns, ops_per_s) = (None, 0.0);
                let running = Progress::Running { elapsed_ns, expected_ns, bytes_per_s, ops_per_s };
                (self.context.progress)(running);
                if elapsed_ns > self.at_most_ns && self.stopping_since_ns.is_none() {
                    return Err(Error::Failed("the programs outlived at-most".to_owned()));
                }
            }
            CommandWorkerMessage::Over {} => {
                self.added = self.probe.take().since(&self.before);
                if let Some(sampler) = self.sampler.take() {
                    self.counters = sampler.stop(0);
                }
                self.worker.say("counted");
            }
            CommandWorkerMessage::Result(outcome) => {
                self.worker.say("bye");
                return Ok(Some(*outcome));
            }
            CommandWorkerMessage::Failed(why) => return Err(self.context.ended(&why)),
            CommandWorkerMessage::Skipped(why) => return Err(Error::Unsupported(why)),
            CommandWorkerMessage::Hung(why) => return Err(Error::Hung(why)),
        }
        Ok(None)
    }
}
