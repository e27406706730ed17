//! Puts together what the clients and the controller saw.

use super::{CheckedReads, ClientResult, ClientTiming};
use crate::engine::Error;
use crate::engine::load::control::LoadControl;
use crate::engine::load::protocol::{LoadResult, write_histogram};
use crate::engine::load::watch::WatchedTrial;
use base::value::Stop;
use experiment::measurement::{Durable, Note, Operation, Stream};

/// The result of a trial that has ended.
///
/// # Errors
/// When a histogram cannot be written, which one of ours always can.
pub fn gather(
    terms: &ClientTiming,
    shared: &LoadControl,
    watched: WatchedTrial,
    yields: &[ClientResult],
    mut notes: Vec<Note>,
) -> Result<LoadResult, Error> {
    let zero_ns = watched.started_monotonic_ns;
    let streams: Vec<Stream> = yields.iter().map(|yielded| stream(yielded, zero_ns)).collect();
    let stopped_ns = streams.iter().map(|stream| stream.stopped_ns).max().unwrap_or(0);
    // With the last operation the last change was on the device; how many bytes, nobody counted.
    let durable = !yields.is_empty() && yields.iter().all(|yielded| yielded.durable);
    for note in yields.iter().flat_map(|yielded| &yielded.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    if watched.cut && !matches!(terms.stop, Stop::After(_)) {
        let text = "The trial was cut by at-most before its passes ended.";
        notes.push(Note::new("cut-short", text));
    }
    let window = shared.window();
    if window.is_none() && !watched.stopped_early {
        let text = "There was no time in which all clients had done something: some waited for the \
                    others all along. A longer time gives a figure.";
        notes.push(Note::new("no-common-time", text));
    }
    // Nothing was there before, but for clients that check what was: they know.
    let read = yields.iter().map(|yielded| yielded.total.read_bytes).sum();
    let (resident_before_bytes, reread_bytes, file_bytes, integrity) =
        match CheckedReads::sum(yields) {
            Some(all) => {
                (all.resident_before_bytes, all.reread_bytes, all.file_bytes, Some(all.integrity))
            }
            None => (Some(0), Some(read), 0, None),
        };
    Ok(LoadResult {
        started_monotonic_ns: zero_ns,
        started_unix_ns: watched.started_unix_ns,
        elapsed_ns: stopped_ns,
        durable: durable.then_some(Durable {
            bytes: 0,
            accepted_ns: stopped_ns,
            durable_ns: stopped_ns,
        }),
        window,
        streams,
        load: watched.load,
        counters: watched.latency.into_iter().collect(),
        latency: latency(yields)?,
        resident_before_bytes,
        reread_bytes,
        file_bytes,
        integrity,
        notes,
        ..LoadResult::default()
    })
}

fn stream(yielded: &ClientResult, zero_ns: u64) -> Stream {
    let (pass_end_ns, pass) = match yielded.pass {
        Some((at_ns, amount)) => (Some(at_ns.saturating_sub(zero_ns)), amount),
        None => (None, Default::default()),
    };
    Stream {
        started_ns: yielded.started_ns.saturating_sub(zero_ns),
        pass_end_ns,
        pass,
        stopped_ns: yielded.stopped_ns.saturating_sub(zero_ns),
        total: yielded.total,
        cpu_ns: yielded.cpu_ns,
    }
}

fn latency(yields: &[ClientResult]) -> Result<Vec<(Operation, String)>, Error> {
    let mut all = Vec::new();
    for kind in Operation::ALL {
        let of_kind = yields.iter().flat_map(|yielded| &yielded.latency);
        let mut parts = of_kind.filter(|(of, _)| of == kind).map(|(_, histogram)| histogram);
        let Some(first) = parts.next() else { continue };
        let mut sum = first.clone();
        for part in parts {
            sum.add(part)
                .map_err(|why| Error::Failed(format!("cannot add latency histograms: {why:?}")))?;
        }
        all.push((*kind, write_histogram(&sum)?));
    }
    Ok(all)
}
