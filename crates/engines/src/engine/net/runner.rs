//! The course of a trial with two ends a stream, each on a thread of its own, whatever they send.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::job::NetJob;
use crate::engine::Error;
use crate::engine::load::control::{Gate, LoadControl, LoadPhase};
use crate::engine::load::cpus::pin;
use crate::engine::load::protocol::{Failure, LoadFailure, Prepared, WorkerMessage};
use crate::engine::load::talk::{self, NoLoadResult, ParentTalk};
use crate::engine::load::watch::{self, StopRules, WatchedTrial};
use experiment::measurement::steady::READ_ROUND_NS;
use facts::counters::series::{Column, ColumnKind, Series};
use host::sys::clock::monotonic_ns;

const SAMPLE: Duration = Duration::from_millis(100);
/// How late the other end may learn that the trial is over. What it sends meanwhile comes after the
/// window, and is in no figure.
const END_LOOK: Duration = Duration::from_millis(2);
/// How often a sender of datagrams hears that somebody takes them, ns.
const HERE_EVERY_NS: u64 = 1_000_000_000;

/// A load over a network: what both ends of all its streams share, and how each of them runs.
pub trait StreamEnds: Send + Sync + 'static {
    /// What one end yields.
    type Yield: Send + 'static;
    /// What is to be done.
    fn job(&self) -> &NetJob;
    /// Phase, gate, and what the receivers got.
    fn shared(&self) -> &LoadControl;
    /// The thread of sender `index`.
    ///
    /// # Errors
    /// With what failed.
    fn send(&self, index: usize) -> Result<Self::Yield, LoadFailure>;
    /// The thread of receiver `index`.
    ///
    /// # Errors
    /// With what failed.
    fn receive(&self, index: usize) -> Result<Self::Yield, LoadFailure>;
    /// The name of what is sampled beside them, and its columns.
    fn columns(&self) -> (&'static str, Vec<(String, ColumnKind)>);
    /// One row, in the order of the columns.
    fn row(&self) -> Vec<u64>;
}

/// How a run ended: what the controller saw, what sender, receiver, sender, ... did in turn, and
/// the samples, on the monotonic clock.
pub type RunOutcome<Y> = (WatchedTrial, Vec<Y>, Series);

/// The other end, where it is on another machine.
pub trait OtherEnd: Send + Sync {
    /// The load begins.
    fn go(&self);
    /// The trial is over: it sends no more.
    fn stop(&self);
    /// This end still receives; of datagrams, which nobody acknowledges.
    fn is_here(&self) {}
}

/// Which ends of the streams are on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalEnds {
    /// All.
    Both,
    /// The senders.
    Senders,
    /// The receivers.
    Receivers,
    /// In turn one and the other; the first stream's is that of the sender, or of the receiver.
    Turns {
        /// It is the sender's.
        sends: bool,
    },
}

impl LocalEnds {
    /// Senders have even numbers, receivers the odd ones after them.
    fn number(self, index: usize) -> usize {
        match self {
            LocalEnds::Both => index,
            LocalEnds::Senders => 2 * index,
            LocalEnds::Receivers => 2 * index + 1,
            LocalEnds::Turns { sends } => 2 * index + usize::from(sends != index.is_multiple_of(2)),
        }
    }
}

/// Starts the ends of the streams that are `here`, lets them go when the parent says so, samples
/// them, and waits until all have ended. Where some are not, the `other` end is told.
///
/// # Errors
/// See [`NoLoadResult`].
pub fn run<E: StreamEnds>(
    ends: &Arc<E>,
    (here, other): (LocalEnds, Option<Arc<dyn OtherEnd>>),
    prepared: Prepared,
    talk: &mut ParentTalk<'_>,
) -> Result<RunOutcome<E::Yield>, NoLoadResult> {
    let mut running = RunningStreams::start(ends, here, talk)?;
    talk.say(&WorkerMessage::Prepared(prepared))?;
    if !talk.wait_for_go() {
        ends.shared().open_gate(Gate::Quit);
        return Err(NoLoadResult::Parent);
    }
    running.sample()?;
    if let Some(other) = &other {
        other.go();
    }
    let told = other.map(|other| tell_of_the_end(ends, other));
    let watched = watch::load(ends.shared(), rules(ends.job()), talk);
    if let Some(told) = told {
        // However that ended, the other end is to know.
        ends.shared().end();
        let _ = told.join();
    }
    let watched = watched?;
    let (yields, series) = running.finish()?;
    Ok((watched, yields, series))
}

/// Tells the other end when the trial is over; no stream does that, since it would cost a system
/// call.
fn tell_of_the_end<E: StreamEnds>(
    ends: &Arc<E>,
    other: Arc<dyn OtherEnd>,
) -> std::thread::JoinHandle<()> {
    let own = ends.clone();
    std::thread::spawn(move || {
        let of_datagrams = own.job().datagrams.is_some();
        let mut due_ns = monotonic_ns();
        while own.shared().phase() != LoadPhase::Stop {
            std::thread::sleep(END_LOOK);
            let now_ns = monotonic_ns();
            if of_datagrams && now_ns >= due_ns {
                due_ns = now_ns + HERE_EVERY_NS;
                other.is_here();
            }
        }
        other.stop();
    })
}

/// The threads of streams under way, and the one that samples them.
pub struct RunningStreams<E: StreamEnds> {
    ends: Arc<E>,
    threads: Vec<JoinHandle<Option<E::Yield>>>,
    sampler: Option<(Sender<()>, JoinHandle<Series>)>,
}

impl<E: StreamEnds> RunningStreams<E> {
    /// Starts the senders alone; they wait for [`RunningStreams::go`].
    ///
    /// # Errors
    /// See [`NoLoadResult`].
    pub fn senders(
        ends: &Arc<E>,
        talk: &mut ParentTalk<'_>,
    ) -> Result<RunningStreams<E>, NoLoadResult> {
        RunningStreams::start(ends, LocalEnds::Senders, talk)
    }

    fn start(
        ends: &Arc<E>,
        here: LocalEnds,
        talk: &mut ParentTalk<'_>,
    ) -> Result<RunningStreams<E>, NoLoadResult> {
        let streams = ends.job().streams;
        let count = if here == LocalEnds::Both { 2 * streams } else { streams };
        let own = ends.clone();
        let threads =
            talk::start(ends.shared(), count, move |index| carry(&*own, here.number(index)))?;
        talk::wait_until_ready(ends.shared(), count, talk)?;
        Ok(RunningStreams { ends: ends.clone(), threads, sampler: None })
    }

    /// Starts to sample; the first row comes before the first byte.
    fn sample(&mut self) -> Result<(), Error> {
        let (stop, stopped) = channel::<()>();
        let (begin, begun) = channel::<()>();
        let own = self.ends.clone();
        let sampler = std::thread::spawn(move || sample(&*own, &begin, &stopped));
        begun.recv().map_err(|_| ended())?;
        self.sampler = Some((stop, sampler));
        Ok(())
    }

    /// Lets them go.
    ///
    /// # Errors
    /// When they cannot be sampled.
    pub fn go(&mut self) -> Result<(), Error> {
        self.sample()?;
        self.ends.shared().released_ns.store(monotonic_ns(), Relaxed);
        self.ends.shared().open_gate(Gate::Run);
        Ok(())
    }

    /// Lets them go without anything to do.
    pub fn quit(&self) {
        self.ends.shared().open_gate(Gate::Quit);
    }

    /// Waits until all have ended, and gives what they yielded and the samples.
    ///
    /// # Errors
    /// With what went wrong first.
    pub fn finish(self) -> Result<(Vec<E::Yield>, Series), Error> {
        let RunningStreams { ends, threads, sampler } = self;
        let shared = ends.shared();
        let (stop, sampler) = sampler.ok_or_else(ended)?;
        shared.open_gate(Gate::Quit);
        let yields: Option<Vec<E::Yield>> =
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
        // The last row has all that they did.
        drop(stop);
        if let Some((kind, what)) = shared.marks().failure {
            return Err(kind.error(what));
        }
        let series = sampler.join().map_err(|_| ended())?;
        Ok((yields.ok_or_else(ended)?, series))
    }
}

fn ended() -> Error {
    Error::Failed("a thread of this load has ended without a result".to_owned())
}

fn rules(job: &NetJob) -> StopRules {
    StopRules {
        stop: job.stop,
        at_least_ns: job.at_least_ns,
        at_most_ns: job.at_most_ns,
        operations: None,
        round_ns: READ_ROUND_NS,
        ends_durable: false,
        flushes: false,
        metadata: false,
    }
}

/// The thread of end `index`: senders have even numbers, receivers the odd ones after them. `None`
/// when it failed, which the controller has been told.
fn carry<E: StreamEnds>(ends: &E, index: usize) -> Option<E::Yield> {
    let cpus = &ends.job().cpus;
    let cpu = cpus.get(index % cpus.len().max(1));
    let pinned =
        cpu.map_or(Ok(()), |cpu| pin(*cpu).map_err(|why| (Failure::Failed, format!("{why:?}"))));
    let run = || match index.is_multiple_of(2) {
        true => ends.send(index / 2),
        false => ends.receive(index / 2),
    };
    match pinned.and_then(|()| run()) {
        Ok(yielded) => Some(yielded),
        Err((kind, what)) => {
            ends.shared().fail(kind, what);
            None
        }
    }
}

/// Samples until `stop` is dropped, and tells when the first row is there. Rows are on the
/// monotonic clock.
fn sample<E: StreamEnds>(ends: &E, begun: &Sender<()>, stop: &Receiver<()>) -> Series {
    let (source, columns) = ends.columns();
    let column = |(name, kind)| Column { name, kind, values: Vec::new() };
    let mut series = Series {
        source: source.to_owned(),
        at_ns: Vec::new(),
        columns: columns.into_iter().map(column).collect(),
    };
    let mut over = false;
    loop {
        let at_ns = monotonic_ns() as i64;
        let row = ends.row();
        series.at_ns.push(at_ns);
        for (column, value) in series.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
        // Whoever waits for it may be gone when the trial failed.
        let _ = begun.send(());
        // The window ends before the sampling does, so a last row reaches over its end.
        if over {
            return series;
        }
        over = !matches!(stop.recv_timeout(SAMPLE), Err(RecvTimeoutError::Timeout));
    }
}
