//! The course of a trial with two ends a stream, each on a thread of its own, whatever they send.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::end::Broken;
use super::job::Job;
use crate::engine::Error;
use crate::engine::load::control::{Gate, Shared};
use crate::engine::load::cpus::pin;
use crate::engine::load::protocol::{Failure, Message, Prepared};
use crate::engine::load::talk::{self, Stopped, Talk};
use crate::engine::load::watch::{self, Rules, Watched};
use crate::measurement::steady::READ_ROUND_NS;
use crate::measurement::{Column, Kind, Series};
use crate::sys::clock::monotonic_ns;

const SAMPLE: Duration = Duration::from_millis(100);

/// What both ends of all streams share.
pub trait Ends: Send + Sync + 'static {
    /// What one end yields.
    type Yield: Send + 'static;
    /// What is to be done.
    fn job(&self) -> &Job;
    /// Phase, gate, and what the receivers got.
    fn shared(&self) -> &Shared;
    /// The thread of sender `index`.
    ///
    /// # Errors
    /// With what failed.
    fn send(&self, index: usize) -> Result<Self::Yield, Broken>;
    /// The thread of receiver `index`.
    ///
    /// # Errors
    /// With what failed.
    fn receive(&self, index: usize) -> Result<Self::Yield, Broken>;
    /// The name of what is sampled beside them, and its columns.
    fn columns(&self) -> (&'static str, Vec<(String, Kind)>);
    /// One row, in the order of the columns.
    fn row(&self) -> Vec<u64>;
}

/// What came of it: what the controller saw, the yields of sender, receiver, sender, ... in turn,
/// and the samples, on the monotonic clock.
pub type Came<Y> = (Watched, Vec<Y>, Series);

/// Starts both ends of each stream, lets them go when the parent says so, samples them, and waits
/// until all have ended.
///
/// # Errors
/// See [`Stopped`].
pub fn run<E: Ends>(
    ends: &Arc<E>,
    prepared: Prepared,
    talk: &mut Talk<'_>,
) -> Result<Came<E::Yield>, Stopped> {
    let (shared, count) = (ends.shared(), 2 * ends.job().streams);
    let own = ends.clone();
    let threads = talk::start(shared, count, move |index| carry(&*own, index))?;
    talk::wait_until_ready(shared, count, talk)?;
    talk.say(&Message::Prepared(prepared))?;
    if !talk.wait_for_go() {
        shared.open_gate(Gate::Quit);
        return Err(Stopped::Parent);
    }
    let (stop, stopped) = channel::<()>();
    let (begin, begun) = channel::<()>();
    let own = ends.clone();
    let sampler = std::thread::spawn(move || sample(&*own, &begin, &stopped));
    // The first row comes before the first byte.
    begun.recv().map_err(|_| ended())?;
    let watched = watch::load(shared, rules(ends.job()), talk)?;
    drop(stop);
    shared.open_gate(Gate::Quit);
    let yields: Option<Vec<E::Yield>> =
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    if let Some((kind, what)) = shared.marks().failure {
        return Err(kind.error(what).into());
    }
    let series = sampler.join().map_err(|_| ended())?;
    Ok((watched, yields.ok_or_else(ended)?, series))
}

fn ended() -> Error {
    Error::Failed("a thread of this load has ended without a result".to_owned())
}

fn rules(job: &Job) -> Rules {
    Rules {
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
fn carry<E: Ends>(ends: &E, index: usize) -> Option<E::Yield> {
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
fn sample<E: Ends>(ends: &E, begun: &Sender<()>, stop: &Receiver<()>) -> Series {
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
