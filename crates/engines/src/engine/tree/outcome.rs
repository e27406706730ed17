//! Puts together what the streams and the controller saw.

use super::trial::{TreeStreamResult, TreeTrial};
use crate::engine::Error;
use crate::engine::load::control::of_metadata;
use crate::engine::load::protocol::{LoadResult, write_histogram};
use crate::engine::load::watch::WatchedTrial;
use base::value::{self, Stop};
use experiment::measurement::{Durable, Note, Operation, Stream};

/// A window with a smaller share of the operations says little of all of them.
const WINDOW_SHARE_MIN: f64 = 0.5;

/// The result of a trial that has ended.
///
/// # Errors
/// When latencies cannot be written.
pub fn gather(
    trial: &TreeTrial,
    watched: WatchedTrial,
    yields: &[TreeStreamResult],
    durable_ns: Option<u64>,
) -> Result<LoadResult, Error> {
    let zero_ns = watched.started_monotonic_ns;
    let streams = streams(trial, &watched, yields);
    let stopped_ns = streams.iter().map(|stream| stream.stopped_ns).max().unwrap_or(0);
    let durable = durable_ns.map(|at_ns| Durable {
        bytes: streams.iter().map(|stream| stream.total.write_bytes).sum(),
        accepted_ns: stopped_ns,
        durable_ns: at_ns.saturating_sub(zero_ns),
    });
    Ok(LoadResult {
        started_monotonic_ns: zero_ns,
        started_unix_ns: watched.started_unix_ns,
        elapsed_ns: stopped_ns,
        window: trial.shared.window(),
        latency: latency(trial, yields)?,
        durable,
        notes: notes(trial, &watched, yields),
        load: watched.load,
        counters: watched.latency.into_iter().collect(),
        streams,
        ..LoadResult::default()
    })
}

fn streams(trial: &TreeTrial, watched: &WatchedTrial, yields: &[TreeStreamResult]) -> Vec<Stream> {
    let job = &trial.job;
    let since = |at_ns: u64| at_ns.saturating_sub(watched.started_monotonic_ns);
    let amount = |ops: u64| of_metadata(ops, job.work.writes_bytes(job.file_bytes));
    let ended = trial.shared.marks().ended;
    let complete = !job.ends_by_pass() && !watched.stopped_early && !watched.cut;
    let one = |(index, yielded): (usize, &TreeStreamResult)| {
        let done = &yielded.done;
        // A pass that time ends is the same for all: to the moment of the end.
        let at_end = ended.as_ref().map(|(at_ns, amounts)| (*at_ns, amounts[index]));
        let (pass, pass_end_ns) = match (done.pass_end_ns, at_end) {
            (Some(at_ns), _) => (amount(done.pass_ops), Some(at_ns)),
            (None, Some((at_ns, amount))) => (amount, complete.then_some(at_ns)),
            (None, None) => (amount(done.ops), None),
        };
        Stream {
            started_ns: since(done.started_ns),
            pass_end_ns: pass_end_ns.map(since),
            pass,
            stopped_ns: since(done.stopped_ns),
            total: amount(done.ops),
            cpu_ns: yielded.cpu_ns,
        }
    };
    yields.iter().enumerate().map(one).collect()
}

fn latency(
    trial: &TreeTrial,
    yields: &[TreeStreamResult],
) -> Result<Vec<(Operation, String)>, Error> {
    let mut all = yields.iter().filter_map(|yielded| yielded.latency.as_ref());
    let Some(mut merged) = all.next().cloned() else { return Ok(Vec::new()) };
    for one in all {
        merged.add(one).map_err(|why| Error::Failed(format!("cannot merge latencies: {why:?}")))?;
    }
    Ok(vec![(trial.job.work.operation(), write_histogram(&merged)?)])
}

fn notes(trial: &TreeTrial, watched: &WatchedTrial, yields: &[TreeStreamResult]) -> Vec<Note> {
    let job = &trial.job;
    let mut notes = Vec::new();
    let unfinished = yields.iter().any(|yielded| yielded.done.pass_end_ns.is_none());
    if watched.cut && job.stop == Stop::Pass && unfinished {
        let text = "The trial was cut by at-most before its passes ended.";
        notes.push(Note::new("cut-short", text));
    }
    let ran_out = yields.iter().any(|yielded| yielded.done.pass_end_ns.is_some());
    if job.stop != Stop::Pass && job.ends_by_pass() && ran_out && !watched.cut {
        notes.push(Note::new(
            "ran-out-of-files",
            format!(
                "stop={} was not reached: a stream had been through its {} files before.",
                job.stop, job.files
            ),
        ));
    }
    let window = trial.shared.window();
    let all: u64 = yields.iter().map(|yielded| yielded.done.ops).sum();
    let share = window.map_or(0.0, |window| window.done.metadata_ops as f64 / all.max(1) as f64);
    if window.is_some() && share < WINDOW_SHARE_MIN && !watched.stopped_early {
        notes.push(Note::new(
            "short-window",
            format!(
                "Only {} of the operations were done while all streams ran. More files per stream \
                 give a figure of more of them.",
                value::percent(share)
            ),
        ));
    }
    if window.is_none() && !watched.stopped_early {
        let text = "There was no time in which all streams ran: a stream was through its files \
                    before the last one had begun. More files per stream give a figure.";
        notes.push(Note::new("no-common-time", text));
    }
    notes
}
