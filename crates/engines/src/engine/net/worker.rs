//! The worker: makes the connections, starts both ends of each, tells how it goes, hands over what
//! was measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use super::job::NetworkPathChoice;
use super::needs::check_room;
use super::outcome::gather;
use super::runner::{self, LocalEnds};
use super::served::SentFiles;
use super::wire::{self, Wire};
use super::work::{EndCounters, NetEndResult, NetLoad, lock};
use super::{asked, local_end, udp};
use crate::engine::Error;
use crate::engine::clients::settings;
use crate::engine::load::control::{LoadControl, LoadEvent};
use crate::engine::load::protocol::{LoadResult, LoadSpec, Prepared, WorkerMessage};
use crate::engine::load::talk::{ConductResult, ParentTalk};
use base::value;
use experiment::knob;
use experiment::measurement::Note;

/// The whole trial, from its first line to its result.
///
/// # Errors
/// See [`crate::engine::load::talk::NoLoadResult`].
pub fn conduct(line: &str, sender: Sender<LoadEvent>, talk: &mut ParentTalk<'_>) -> ConductResult {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    if spec.settings.get(knob::DATAGRAM_SIZE.name).is_some() {
        let job = asked::job(&settings(super::DATAGRAMS, &spec), spec.seed)?;
        return match job.wire {
            NetworkPathChoice::Machine(_) => udp::near(job, spec, sender, talk),
            _ => udp::conduct(job, sender, talk),
        };
    }
    let of_files = spec.streams.iter().any(|paths| !paths.is_empty());
    let engine = if of_files { super::FILES } else { super::MEMORY };
    let mut job = asked::job(&settings(engine, &spec), spec.seed)?;
    check_room(&job)?;
    // Nothing is opened that was refused: a file that is opened to be written would be emptied.
    let (served, prepared) = of_files.then(|| SentFiles::open(&spec)).transpose()?.unzip();
    let prepared = prepared.unwrap_or_default();
    if let NetworkPathChoice::Machine(_) = job.wire {
        let trial =
            local_end::TwoMachineTrial { job, spec, engine, served, prepared: prepared.clone() };
        let local_end::TwoMachineResult { work, yields, result } =
            local_end::conduct(trial, sender, talk)?;
        return finished(&work, &yields, result, &prepared);
    }
    let Wire { made: connections, notes, most, cpus } = wire::over(&job, wire::connections)?;
    job.cpus = cpus;
    let shared = LoadControl::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    let sockets = connections.into_iter().map(|both| (both.sender, both.receiver)).unzip();
    let work = Arc::new(NetLoad::new(job, shared, sockets, served));
    let (watched, yields, series) =
        runner::run(&work, (LocalEnds::Both, None), prepared.clone(), talk)?;
    let notes = [&prepared.notes[..], &notes, &lock(&work.notes)].concat();
    let gathered = gather(&work.job, &work.shared, watched, &yields, series, notes);
    finished(&work, &yields, LoadResult { wire: most, ..gathered }, &prepared)
}

/// What is known of the bytes and of the files that were sent.
fn finished(
    work: &NetLoad,
    yields: &[NetEndResult],
    mut gathered: LoadResult,
    prepared: &Prepared,
) -> ConductResult {
    all_arrived(yields)?;
    gathered.notes.extend(copies(work));
    let sent = yields.iter().step_by(2).map(|sender| sender.bytes);
    let served = work.served.as_ref();
    let result = LoadResult {
        integrity: served.map(SentFiles::integrity).transpose()?.flatten(),
        resident_before_bytes: prepared.resident_before_bytes,
        file_bytes: prepared.file_bytes,
        reread_bytes: served.and_then(|served| served.reread_bytes(sent)),
        ..gathered
    };
    Ok(WorkerMessage::Result(Box::new(result)))
}

/// Holds what was sent against what arrived.
fn all_arrived(yields: &[NetEndResult]) -> Result<(), Error> {
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

/// How many sends the kernel copied after all, where they were to be without a copy.
fn copies(work: &NetLoad) -> Option<Note> {
    if !work.job.send.tells_of_copies() {
        return None;
    }
    let sum = |of: fn(&EndCounters) -> &AtomicU64| {
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
