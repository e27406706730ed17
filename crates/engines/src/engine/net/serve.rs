//! The worker: makes the connections, starts both ends of each, tells how it goes, hands over what
//! was measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use super::course;
use super::end::{self, Count, Work, Yield};
use super::files::Served;
use super::job::{Job, Wanted};
use super::near;
use super::wire::{self, Wire};
use crate::engine::Error;
use crate::engine::clients::settings;
use crate::engine::load::control::{Event, Shared};
use crate::engine::load::protocol::{LoadResult, LoadSpec, Message, Prepared};
use crate::engine::load::room;
use crate::engine::load::talk::{Conducted, Talk};
use crate::engine::load::watch::Watched;
use base::value::{self, Stop};
use experiment::knob;
use experiment::measurement::{Amount, Note, Series, Stream};
use host::sys::Host;

/// Socket buffers of one connection that the kernel may fill, bytes (net.ipv4.tcp_rmem and
/// tcp_wmem, as they come).
const SOCKETS_BYTES: u64 = 10 << 20;

/// The whole trial, from its first line to its result.
///
/// # Errors
/// See [`crate::engine::load::talk::Stopped`].
pub fn conduct(line: &str, sender: Sender<Event>, talk: &mut Talk<'_>) -> Conducted {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    if spec.settings.get(knob::DATAGRAM_SIZE.name).is_some() {
        let job = Job::new(&settings(super::DATAGRAMS, &spec), spec.seed)?;
        return super::udp::conduct(job, sender, talk);
    }
    let of_files = spec.streams.iter().any(|paths| !paths.is_empty());
    let engine = if of_files { super::FILES } else { super::MEMORY };
    let mut job = Job::new(&settings(engine, &spec), spec.seed)?;
    check_room(&job)?;
    // Nothing is opened that was refused: a file that is opened to be written would be emptied.
    let (served, prepared) = of_files.then(|| Served::open(&spec)).transpose()?.unzip();
    let prepared = prepared.unwrap_or_default();
    if let Wanted::Machine(_) = job.wire {
        let trial = near::Trial { job, spec, engine, served, prepared: prepared.clone() };
        let near::Whole { work, yields, result } = near::conduct(trial, sender, talk)?;
        return finished(&work, &yields, result, &prepared);
    }
    let Wire { made: connections, notes, most, cpus } = wire::over(&job, wire::connections)?;
    job.cpus = cpus;
    let shared = Shared::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    let sockets = connections.into_iter().map(|both| (both.sender, both.receiver)).unzip();
    let work = Arc::new(Work::new(job, shared, sockets, served));
    let (watched, yields, series) = course::run(&work, None, prepared.clone(), talk)?;
    let notes = [&prepared.notes[..], &notes, &end::lock(&work.notes)].concat();
    let gathered = gather(&work.job, &work.shared, watched, &yields, series, notes);
    finished(&work, &yields, LoadResult { wire: most, ..gathered }, &prepared)
}

/// What is known of the bytes and of the files that were sent.
fn finished(
    work: &Work,
    yields: &[Yield],
    mut gathered: LoadResult,
    prepared: &Prepared,
) -> Conducted {
    all_arrived(yields)?;
    gathered.notes.extend(copies(work));
    let sent = yields.iter().step_by(2).map(|sender| sender.bytes);
    let served = work.served.as_ref();
    let result = LoadResult {
        integrity: served.map(Served::integrity).transpose()?.flatten(),
        resident_before_bytes: prepared.resident_before_bytes,
        file_bytes: prepared.file_bytes,
        reread_bytes: served.and_then(|served| served.reread_bytes(sent)),
        ..gathered
    };
    Ok(Message::Result(Box::new(result)))
}

/// Refuses what does not fit into the machine.
///
/// # Errors
/// `Unsupported`, with what would fit.
pub fn check_room(job: &Job) -> Result<(), Error> {
    let (host, streams) = (Host::live(), job.streams);
    let helpers = job.helpers();
    room::check_threads(&host, (2 + helpers) * streams)?;
    let buffers = (1 + job.depth.max(1) as u64) * job.message_bytes as u64;
    // A helper's pipe holds as much as a thread needs and more: pages of the file, which it reads.
    let threads = (2 + helpers as u64) * room::THREAD_BYTES;
    let each = threads + SOCKETS_BYTES + buffers;
    room::check_memory(&host, streams, each)?;
    room::check_descriptors(3 * ((1 + helpers) * streams) as u64, "this load", "lower streams")
}

/// Holds what was sent against what arrived.
fn all_arrived(yields: &[Yield]) -> Result<(), Error> {
    for (pair, number) in yields.chunks_exact(2).zip(1..) {
        let [sender, receiver] = pair else { continue };
        if sender.bytes != receiver.bytes {
            return Err(Error::Failed(format!(
                "stream {number} was given {} bytes to send, and {} arrived",
                sender.bytes, receiver.bytes
            )));
        }
    }
    Ok(())
}

/// Puts together what both ends and the controller saw.
pub fn gather(
    job: &Job,
    shared: &Shared,
    watched: Watched,
    yields: &[Yield],
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
fn said(job: &Job, watched: &Watched, common: bool) -> Vec<Note> {
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

/// How many sends the kernel copied after all, where they were to be without a copy.
fn copies(work: &Work) -> Option<Note> {
    if !work.job.send.tells_of_copies() {
        return None;
    }
    let sum = |of: fn(&Count) -> &AtomicU64| {
        work.senders.iter().map(|count| of(count).load(Relaxed)).sum::<u64>()
    };
    let (done, copied) = (sum(|it| &it.zerocopy_done), sum(|it| &it.zerocopy_copied));
    let text = format!(
        "the kernel copied {} of the sends that were to be without a copy, as it does where bytes \
         do not leave the machine by a card",
        value::percent(copied as f64 / done.max(1) as f64)
    );
    (copied > 0).then(|| Note::new("zerocopy-copied", text))
}
