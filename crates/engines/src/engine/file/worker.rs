//! The worker: reads what to do, does it, tells how it goes, hands over what it measured.
//!
//! One thread a stream carries the load; the calling thread is the controller, which decides when
//! the trial ends and samples what was done. It sleeps between samples and never polls.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use super::control::{Gate, LoadControl, LoadEvent};
use super::files;
use super::job::{Direction, FileJob, FsyncPolicy, IoEngine, limits};
use super::protocol::{LoadSpec, Prepared, WorkerMessage};
use super::stream::{FileStreamResult, FileTrial, run};
use crate::engine::load::talk::{self, ConductResult, NoLoadResult, ParentTalk};
use crate::engine::load::watch::{self, StopRules};
use crate::engine::{Error, FileIdentity};
use experiment::measurement::Note;
use experiment::measurement::steady::{READ_ROUND_NS, WRITE_ROUND_NS};
use host::sys::{Host, direct};

mod outcome;
mod second;

/// The worker process, on standard input and output, dying with its parent.
///
/// # Errors
/// As [`talk::serve`].
pub fn worker() -> talk::NotifyResult {
    talk::worker(conduct)
}

/// A trial whose threads stand at the gate.
struct ReadyFileTrial {
    trial: Arc<FileTrial>,
    threads: Vec<JoinHandle<Option<FileStreamResult>>>,
    prepared: Prepared,
}

/// The whole trial, from the first line to its result.
pub fn conduct(line: &str, sender: Sender<LoadEvent>, talk: &mut ParentTalk<'_>) -> ConductResult {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    let ready = prepare(&spec, sender, talk)?;
    let shared = &ready.trial.shared;
    talk.say(&WorkerMessage::Prepared(ready.prepared.clone()))?;
    if !talk.wait_for_go() {
        shared.open_gate(Gate::Quit);
        return Err(NoLoadResult::Parent);
    }
    let mut watched = watch::load(shared, rules(&ready.trial), talk)?;
    let second = match watched.stopped_early {
        true => None,
        false => second::pass(&ready, &mut watched, talk)?,
    };
    shared.open_gate(Gate::Quit);
    let yields: Option<Vec<FileStreamResult>> =
        ready.threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    if let Some((kind, what)) = shared.marks().failure {
        return Err(kind.error(what).into());
    }
    let yields = yields
        .ok_or_else(|| Error::Failed("a stream's thread ended without a result".to_owned()))?;
    let result = outcome::gather(&ready.trial, ready.prepared, watched, yields, second)?;
    Ok(WorkerMessage::Result(Box::new(result)))
}

/// Opens files, starts threads and waits until all of them are ready.
fn prepare(
    spec: &LoadSpec,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
) -> Result<ReadyFileTrial, NoLoadResult> {
    let (mut job, mut notes) = FileJob::new(spec)?;
    if job.engine == IoEngine::Uring {
        fall_back(&mut job, &mut notes)?;
    }
    let most = spec.streams.iter().map(Vec::len).max().unwrap_or(0);
    limits::check(&job, &Host::live(), most as u64)?;
    let cpus = job.pinning.cpus()?;
    let opened = files::open(&job, &spec.streams)?;
    check_polling(&job, &opened.streams)?;
    let streams = spec.streams.len();
    let shared = LoadControl::new(streams, job.block_bytes, job.sustained, sender)
        .at_depth(job.depth)
        .opening_after(job.opens_after_ns());
    let trial = Arc::new(FileTrial {
        shared: shared.by_rounds(job.pauses(), job.times_whole_rounds()),
        files: opened.streams,
        memory_align: opened.memory_align,
        cpus,
        written: written(spec)?,
        faults_kept: Arc::default(),
        second: std::sync::OnceLock::new(),
        job,
    });
    let mut prepared = opened.prepared;
    prepared.notes.splice(0..0, notes);
    let own = trial.clone();
    let threads = talk::start(&trial.shared, streams, move |index| run(&own, index))?;
    let ready = ReadyFileTrial { trial, threads, prepared };
    talk::wait_until_ready(&ready.trial.shared, streams, talk)?;
    Ok(ready)
}

/// How the files of each stream are named in their blocks: as the trial is told, or by the stream
/// and the file's number in it, in the first generation.
///
/// # Errors
/// When not all of them are told.
pub fn written(spec: &LoadSpec) -> Result<Vec<Vec<FileIdentity>>, Error> {
    let told = spec.written.iter().map(Vec::len);
    let files = spec.streams.iter().map(Vec::len);
    if spec.written.is_empty() {
        let of = |stream: u64, files: usize| -> Vec<FileIdentity> {
            let number = |file: u64| FileIdentity { file: stream << 32 | file, generation: 1 };
            (0..files as u64).map(number).collect()
        };
        return Ok(files.zip(0..).map(|(files, stream)| of(stream, files)).collect());
    }
    match told.eq(files) {
        true => Ok(spec.written.clone()),
        false => Err(Error::Failed("the worker was given files without their names".to_owned())),
    }
}

/// When the trial is over, and what its samples are.
fn rules(trial: &FileTrial) -> StopRules {
    let job = &trial.job;
    let writes = job.direction.writes();
    StopRules {
        stop: job.stop,
        at_least_ns: job.at_least_ns,
        at_most_ns: job.at_most_ns,
        operations: trial.files.iter().map(|files| operations(job, files.blocks())).sum(),
        round_ns: round_ns(job.direction),
        ends_durable: writes,
        flushes: writes && job.fsync == FsyncPolicy::End,
        metadata: false,
    }
}

/// Reads and writes of a timed pass through `blocks` blocks.
fn operations(job: &FileJob, blocks: u64) -> Option<u64> {
    let come_to = job.pass_ops(blocks)?;
    match job.direction {
        Direction::Update(every) => Some(come_to + come_to.div_ceil(every)),
        _ => Some(come_to),
    }
}

/// A round of steady state: rule 5.
fn round_ns(direction: Direction) -> u64 {
    match direction {
        Direction::Read => READ_ROUND_NS,
        _ => WRITE_ROUND_NS,
    }
}

/// Where the kernel refuses io_uring, as RHEL 9 and containers do, io_submit serves, and says so.
fn fall_back(job: &mut FileJob, notes: &mut Vec<Note>) -> Result<(), Error> {
    let Some(why) = super::backend::ring::refusal() else { return Ok(()) };
    if job.poll || job.nop {
        return Err(Error::Unsupported(format!("this needs io_uring, which is refused ({why})")));
    }
    job.engine = IoEngine::Aio;
    notes.push(Note::new(
        "io-engine",
        format!("io_uring is refused here ({why}): io_submit was used, which costs more CPU."),
    ));
    notes.extend(job.note_one_at_a_time());
    Ok(())
}

/// IOPOLL on a device without poll queues never completes.
fn check_polling(job: &FileJob, streams: &[files::StreamFiles]) -> Result<(), Error> {
    if !job.poll {
        return Ok(());
    }
    let host = Host::live();
    for (file, path) in streams.iter().flat_map(|stream| stream.files.iter().zip(&stream.paths)) {
        if direct::has_poll_queues(&host, file) != Some(true) {
            return Err(Error::Unsupported(format!(
                "the device under {} has no poll queues (queue/io_poll is not 1), where polled \
                 I/O hangs for ever; leave poll=false, or give the driver poll queues",
                path.display()
            )));
        }
    }
    Ok(())
}
