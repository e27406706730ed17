//! The worker: starts one thread a client, tells how it goes, hands over what was measured.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::{ClientResult, ClientTiming, check, outcome, settings};
use crate::engine::Error;
use crate::engine::load::control::{Gate, LoadControl, LoadEvent};
use crate::engine::load::cpus::{Pinning, pin};
use crate::engine::load::protocol::{Failure, LoadFailure, LoadSpec, Prepared, WorkerMessage};
use crate::engine::load::room::{self, Room};
use crate::engine::load::settle;
use crate::engine::load::talk::{self, ConductResult, NoLoadResult, ParentTalk};
use crate::engine::load::watch::{self, StopRules};
use experiment::knob::{self, Settings};
use experiment::measurement::Note;
use host::sys::Host;

/// A trial as each of its clients sees it: what all of them share.
pub struct ClientTrial<W> {
    /// What the engine made for all of them.
    pub work: W,
    /// Seed, campaign, folders.
    pub spec: LoadSpec,
    /// When they are timed.
    pub terms: ClientTiming,
    /// Phase, counters, gate.
    pub shared: LoadControl,
    /// Processors, in turn; empty when nothing is pinned.
    pub cpus: Vec<usize>,
}

impl<W> ClientTrial<W> {
    /// The folder of client `index`.
    pub fn place(&self, index: usize) -> PathBuf {
        self.spec.streams[index].first().cloned().unwrap_or_default()
    }
}

/// The load that an engine made for all clients, and what is to be noted; or why it made none.
pub type MakeResult<W> = Result<(W, Vec<Note>), Error>;

/// What the clients of a trial need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Memory of one client, besides its thread and its histograms, bytes.
    pub memory_bytes: u64,
    /// Kinds of operations, each of which has a histogram.
    pub kinds: u64,
    /// Files that one client has open at once.
    pub descriptors: u64,
    /// What one client has on its file system.
    pub room: Room,
    /// What makes all of that less.
    pub hint: &'static str,
}

/// How an engine makes what all clients share, with what is to be noted, and runs one client from
/// its making to its end.
pub struct ClientEngine<W> {
    /// Its name, for its settings.
    pub name: &'static str,
    /// Once, before the threads are started.
    pub make: fn(&Settings, &LoadSpec) -> MakeResult<W>,
    /// What its clients need, to be asked before any is made.
    pub needs: fn(&W) -> Needs,
    /// On the client's thread.
    pub run: fn(&ClientTrial<W>, usize) -> Result<ClientResult, LoadFailure>,
}

/// The whole trial, from its first line to its result.
///
/// # Errors
/// See [`NoLoadResult`].
pub fn conduct<W: Send + Sync + 'static>(
    line: &str,
    engine: &ClientEngine<W>,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
) -> ConductResult {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    let settings = settings(engine.name, &spec);
    let terms = check(&settings)?;
    let cpus = Pinning::parse(settings.get(knob::CPU_PINNING))?.cpus()?;
    let clients = spec.streams.len();
    if clients == 0 || spec.streams.iter().any(Vec::is_empty) {
        let why = "the worker was given a client without a folder";
        return Err(Error::Failed(why.to_owned()).into());
    }
    let (work, notes) = (engine.make)(&settings, &spec)?;
    check_room((engine.needs)(&work), &spec)?;
    let shared = LoadControl::new(clients, 0, terms.sustained, sender).warming_up(terms.warm_up_ns);
    let trial = Arc::new(ClientTrial { work, spec, terms, shared, cpus });
    let (own, run) = (trial.clone(), engine.run);
    let threads = talk::start(&trial.shared, clients, move |index| client(&own, run, index))?;
    talk::wait_until_ready(&trial.shared, clients, talk)?;
    // Pools that were just made would be written back while the clock runs.
    settle::sync(trial.spec.streams.iter().flatten())?;
    talk.say(&WorkerMessage::Prepared(Prepared::default()))?;
    if !talk.wait_for_go() {
        trial.shared.open_gate(Gate::Quit);
        return Err(NoLoadResult::Parent);
    }
    let watched = watch::load(&trial.shared, rules(&terms), talk)?;
    trial.shared.open_gate(Gate::Quit);
    let yields: Option<Vec<ClientResult>> =
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    if let Some((kind, what)) = trial.shared.marks().failure {
        return Err(kind.error(what).into());
    }
    let yields = yields
        .ok_or_else(|| Error::Failed("a client's thread ended without a result".to_owned()))?;
    let result = outcome::gather(&trial.terms, &trial.shared, watched, &yields, notes)?;
    Ok(WorkerMessage::Result(Box::new(result)))
}

/// Refuses what does not fit into the machine, or on the file systems.
fn check_room(needs: Needs, spec: &LoadSpec) -> Result<(), Error> {
    let (host, clients) = (Host::live(), spec.streams.len());
    room::check_threads(&host, clients)?;
    let own = room::THREAD_BYTES + needs.kinds * room::HISTOGRAM_BYTES;
    room::check_memory(&host, clients, needs.memory_bytes.saturating_add(own))?;
    room::check_descriptors(needs.descriptors, "a client", needs.hint)?;
    let folders: Vec<PathBuf> = spec.streams.iter().filter_map(|of| of.first().cloned()).collect();
    room::check_space(needs.room, &folders, needs.hint)
}

fn rules(terms: &ClientTiming) -> StopRules {
    StopRules {
        stop: terms.stop,
        at_least_ns: terms.at_least_ns,
        at_most_ns: terms.at_most_ns,
        operations: None,
        round_ns: u64::MAX,
        ends_durable: false,
        flushes: false,
        metadata: true,
    }
}

/// The thread of client `index`. `None` when it failed, which the controller has been told.
fn client<W>(
    trial: &ClientTrial<W>,
    run: fn(&ClientTrial<W>, usize) -> Result<ClientResult, LoadFailure>,
    index: usize,
) -> Option<ClientResult> {
    let cpu = trial.cpus.get(index % trial.cpus.len().max(1));
    let pinned =
        cpu.map_or(Ok(()), |cpu| pin(*cpu).map_err(|why| (Failure::Failed, format!("{why:?}"))));
    match pinned.and_then(|()| run(trial, index)) {
        Ok(yielded) => Some(yielded),
        Err((kind, what)) => {
            trial.shared.fail(kind, what);
            None
        }
    }
}
