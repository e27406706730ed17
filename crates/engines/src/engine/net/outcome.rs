//! Puts together what the ends and the controller saw.

use super::job::NetJob;
use super::work::NetEndResult;
use crate::engine::load::control::LoadControl;
use crate::engine::load::protocol::LoadResult;
use crate::engine::load::watch::WatchedTrial;
use base::value::Stop;
use experiment::measurement::{Amount, Note, Stream};
use facts::counters::series::Series;

/// What [`gather`] wants of an end that has receivers alone, or of some streams: their yields,
/// beside nothing of their senders.
pub fn of_receivers(
    yields: &[NetEndResult],
    receives: impl Fn(usize) -> bool,
) -> Vec<NetEndResult> {
    let all = yields.iter().enumerate().filter(|(stream, _)| receives(*stream));
    all.flat_map(|(_, one)| [NetEndResult::default(), *one]).collect()
}

/// Puts together what both ends and the controller saw.
pub fn gather(
    job: &NetJob,
    shared: &LoadControl,
    watched: WatchedTrial,
    yields: &[NetEndResult],
    mut counters: Series,
    mut notes: Vec<Note>,
) -> LoadResult {
    let zero_ns = watched.started_monotonic_ns;
    counters.at_ns.iter_mut().for_each(|at| *at -= zero_ns as i64);
    let ended = shared.marks().ended;
    let mut streams = Vec::with_capacity(job.streams);
    for (index, pair) in yields.chunks_exact(2).enumerate() {
        let [sender, receiver] = pair else { continue };
        let message = job.message_bytes as u64;
        let of =
            |bytes| Amount { read_bytes: bytes, read_ops: bytes / message, ..Amount::default() };
        let pass = ended.as_ref().and_then(|(at_ns, done)| Some((*at_ns, *done.get(index)?)));
        streams.push(Stream {
            started_ns: receiver.started_ns.saturating_sub(zero_ns),
            pass_end_ns: pass.map(|(at_ns, _)| at_ns.saturating_sub(zero_ns)),
            pass: pass.map_or(Amount::default(), |(_, done)| done),
            stopped_ns: receiver.stopped_ns.saturating_sub(zero_ns),
            total: of(receiver.bytes),
            // Of two threads the busier one, which may have been all that a processor gives.
            cpu_ns: sender.cpu_ns.max(receiver.cpu_ns),
        });
    }
    let window = shared.window();
    notes.extend(said(job, &watched, window.is_some()));
    LoadResult {
        started_monotonic_ns: zero_ns,
        started_unix_ns: watched.started_unix_ns,
        elapsed_ns: streams.iter().map(|stream| stream.stopped_ns).max().unwrap_or(0),
        window,
        streams,
        load: watched.load,
        counters: vec![counters],
        notes,
        ..LoadResult::default()
    }
}

/// What whoever reads the figures must know.
fn said(job: &NetJob, watched: &WatchedTrial, common: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    if !common && !watched.stopped_early {
        let text = "There was no time in which bytes arrived in all streams. A longer time gives a \
                    figure.";
        notes.push(Note::new("no-common-time", text));
    }
    if watched.unsettled {
        let stop = job.stop;
        let kind = if stop == Stop::Steady { "not-settled" } else { "not-narrowed" };
        let text = format!("The trial was cut by at-most before it had met stop={stop}.");
        notes.push(Note::new(kind, text));
    }
    notes
}
