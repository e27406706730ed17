//! The worker: makes what must be there, lets the streams go, looks whether they did what they
//! counted, hands over what it measured.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::act::{self, Act};
use super::content::Content;
use super::entry::{self, Entry};
use super::job::{Before, TreeJob, TreeOperation};
use super::lane::{TreeFault, TreeLane, TreeLaneResult};
use super::place::{self, StreamTree};
use super::trial::{TreeStreamResult, TreeTrial};
use super::{outcome, verify};
use crate::engine::Error;
use crate::engine::load::control::{Gate, LoadControl, LoadEvent};
use crate::engine::load::cpus::pin;
use crate::engine::load::protocol::{Failure, LoadSpec, Prepared, WorkerMessage};
use crate::engine::load::talk::{self, ConductResult, NoLoadResult, ParentTalk};
use crate::engine::load::watch::{self, StopRules};
use crate::engine::load::{room, settle};
use experiment::knob::Settings;
use experiment::measurement::steady::READ_ROUND_NS;
use host::sys::Host;
use host::sys::clock::{monotonic_ns, thread_cpu_ns};

/// The worker process, on standard input and output, dying with its parent.
///
/// # Errors
/// As [`talk::serve`].
pub fn worker() -> talk::NotifyResult {
    talk::worker(conduct)
}

/// The whole trial, from the first line to its result.
pub fn conduct(line: &str, sender: Sender<LoadEvent>, talk: &mut ParentTalk<'_>) -> ConductResult {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    let job = job(&spec)?;
    let folders = folders(&spec)?;
    check_room(&job, &folders)?;
    let places = place::places(&job, &folders);
    make_shared(&job, &places)?;
    let cpus = job.pinning.cpus()?;
    let streams = places.len();
    let shared = LoadControl::new(streams, 0, job.goes_on(), sender)
        .writing(job.work.writes_bytes(job.file_bytes));
    let latency = !spec.bench.no_latency;
    let trial = Arc::new(TreeTrial { job, places, shared, cpus, latency });
    let (job, shared, own) = (&trial.job, &trial.shared, trial.clone());
    let threads = talk::start(shared, streams, move |index| run(&own, index))?;
    talk::wait_until_ready(shared, streams, talk)?;
    settle(job, &folders)?;
    talk.say(&WorkerMessage::Prepared(Prepared::default()))?;
    if !talk.wait_for_go() {
        shared.open_gate(Gate::Quit);
        return Err(NoLoadResult::Parent);
    }
    let watched = watch::load(shared, rules(job), talk)?;
    shared.open_gate(Gate::Quit);
    let yields: Option<Vec<TreeStreamResult>> =
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    if let Some((kind, what)) = shared.marks().failure {
        return Err(kind.error(what).into());
    }
    let yields = yields
        .ok_or_else(|| Error::Failed("a stream's thread ended without a result".to_owned()))?;
    let durable_ns = match job.flushes && !watched.stopped_early {
        true => {
            talk.say(&WorkerMessage::Flushing {})?;
            settle::sync(&folders)?;
            Some(monotonic_ns())
        }
        false => None,
    };
    let done: Vec<TreeLaneResult> = yields.iter().map(|yielded| yielded.done).collect();
    verify::check(job, &trial.places, &done)?;
    let result = outcome::gather(&trial, watched, &yields, durable_ns)?;
    Ok(WorkerMessage::Result(Box::new(result)))
}

fn job(spec: &LoadSpec) -> Result<TreeJob, Error> {
    let mut settings = Settings::defaults("tree");
    for (name, value) in Settings::from_json("tree", &spec.settings).iter() {
        if settings.named(name).is_some() {
            settings.set_named(name, value.clone());
        }
    }
    let job = TreeJob::from_settings(&settings, spec.seed, spec.campaign)?;
    Ok(TreeJob { streams: spec.streams.len(), ..job })
}

/// The folder of each stream.
fn folders(spec: &LoadSpec) -> Result<Vec<PathBuf>, Error> {
    let folders: Option<Vec<PathBuf>> = spec.streams.iter().map(|of| of.first().cloned()).collect();
    let none = || Error::Failed("the worker was given a stream without a folder".to_owned());
    folders.filter(|folders| !folders.is_empty()).ok_or_else(none)
}

/// Refuses what does not fit into the machine, or on the file systems.
fn check_room(job: &TreeJob, folders: &[PathBuf]) -> Result<(), Error> {
    room::check_space(place::room(job), folders, "lower files, file-size or streams")?;
    let directories = job.directories();
    let tree = format!("a tree of {directories} directories");
    room::check_descriptors(directories, &tree, "lower tree-depth or tree-width")?;
    let host = Host::live();
    room::check_threads(&host, job.streams)?;
    let names = job.operations().max(job.files) * size_of::<Entry>() as u64;
    let each = room::THREAD_BYTES + room::HISTOGRAM_BYTES + names + job.content_bytes();
    room::check_memory(&host, job.streams, each)
}

/// Trees that several streams share are there before the first of them begins.
fn make_shared(job: &TreeJob, places: &[StreamTree]) -> Result<(), Error> {
    let mut roots: Vec<&PathBuf> = places.iter().map(|place| &place.root).collect();
    roots.sort();
    roots.dedup();
    roots.into_iter().filter(|_| job.shared).try_for_each(|root| place::make(job, root))
}

/// Puts what was prepared on the device, so that its writing does not fall into the timed part; and
/// lets go of what is in memory, where the trial begins cold.
fn settle(job: &TreeJob, folders: &[PathBuf]) -> Result<(), Error> {
    if job.work.before() != Before::Nothing {
        settle::sync(folders)?;
    }
    if job.cold {
        // 3: the page cache, which holds the tables of inodes, and then names and inodes themselves
        // (Documentation/admin-guide/sysctl/vm.rst). Twice: a journal keeps hold of the blocks that
        // it has written until the second half lets go of them (jbd2_journal_shrink_scan in
        // fs/jbd2/journal.c), and a stat after the first time alone reads nothing.
        for _ in 0..2 {
            Host::live().write("/proc/sys/vm/drop_caches", "3").map_err(|why| {
                Error::Unsupported(format!(
                    "cold=true needs names and inodes dropped from memory: {why}; run as root, or \
                     with cold=false"
                ))
            })?;
        }
    }
    Ok(())
}

fn rules(job: &TreeJob) -> StopRules {
    StopRules {
        stop: job.stop,
        at_least_ns: job.at_least_ns,
        at_most_ns: job.at_most_ns,
        operations: job.ends_by_pass().then(|| job.operations() * job.streams as u64),
        round_ns: READ_ROUND_NS,
        ends_durable: false,
        flushes: false,
        metadata: true,
    }
}

/// The thread of stream `index`. `None` when it failed, which the controller has been told.
fn run(trial: &TreeTrial, index: usize) -> Option<TreeStreamResult> {
    match carry(trial, index) {
        Ok(yielded) => Some(yielded),
        Err(error) => {
            let (kind, what) = match error {
                Error::Unsupported(what) => (Failure::Unsupported, what),
                Error::Hung(what) => (Failure::Hung, what),
                Error::Failed(what) => (Failure::Failed, what),
                Error::Interrupted => (Failure::Failed, "it was stopped".to_owned()),
            };
            trial.shared.fail(kind, what);
            None
        }
    }
}

/// One stream, from its directories to its end.
fn carry(trial: &TreeTrial, index: usize) -> Result<TreeStreamResult, Error> {
    let (job, place) = (&trial.job, &trial.places[index]);
    if let Some(cpu) = trial.cpus.get(index % trial.cpus.len().max(1)) {
        pin(*cpu)?;
    }
    unshare_descriptors();
    if !job.shared {
        place::make(job, &place.root)?;
    }
    let directories = place::open(job, &place.root)?;
    let mut stream = TreeStream { trial, index, directories, entries: entry::entries(job, index) };
    stream.prepare()?;
    let content = || Content::new(job, index);
    match job.work {
        TreeOperation::Create => stream.drive(act::Create(content())),
        TreeOperation::Open => stream.drive(act::Open),
        TreeOperation::Stat => stream.drive(act::Stat),
        TreeOperation::Readdir => stream.drive(act::Readdir::new(names(job, place))),
        TreeOperation::Rename => stream.drive(act::Rename),
        TreeOperation::Link => stream.drive(act::Link),
        TreeOperation::Unlink => stream.drive(act::Unlink),
        TreeOperation::Mkdir => stream.drive(act::Mkdir),
        TreeOperation::Rmdir => stream.drive(act::Rmdir),
        TreeOperation::Fsync => stream.drive(act::Fsync(content())),
        TreeOperation::Touch => stream.drive(act::Touch),
    }
}

/// A table of open files of its own for the calling thread: threads that share one wait for each
/// other at every open(2), which would be ours and not the file system's.
fn unshare_descriptors() {
    // SAFETY: the thread has no descriptor of its own yet, and those that it had from the others
    // stay open in both tables; nothing that is closed here is used by them.
    // Where it is refused the threads share their table, as those of other programs do.
    let _ = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES) };
}

/// How many names each directory of the tree has when all streams of it are ready.
fn names(job: &TreeJob, place: &StreamTree) -> Vec<u64> {
    let all = job.directories();
    let below = |number: u64| {
        let first = number.saturating_mul(job.width).saturating_add(1);
        if first < all { job.width } else { 0 }
    };
    let files = entry::per_directory(job).into_iter().zip(0..);
    files.map(|(files, number)| files * place.sharing as u64 + below(number)).collect()
}

/// One stream whose directories are open.
struct TreeStream<'a> {
    trial: &'a TreeTrial,
    index: usize,
    directories: Vec<OwnedFd>,
    entries: Vec<Entry>,
}

impl TreeStream<'_> {
    /// Makes what must be there before.
    fn prepare(&mut self) -> Result<(), Error> {
        let job = &self.trial.job;
        match job.work.before() {
            Before::Nothing => Ok(()),
            Before::Directories => self.each(&mut act::Mkdir, "make"),
            Before::Files => {
                self.each(&mut act::Create(Content::new(job, self.index)), "make")?;
                match job.work {
                    TreeOperation::Touch => self.each(&mut act::Age, "set the times of"),
                    _ => Ok(()),
                }
            }
        }
    }

    fn each(&self, act: &mut impl Act, what: &str) -> Result<(), Error> {
        for entry in entry::files(&self.trial.job, self.index) {
            let directory = &self.directories[entry.directory as usize];
            act.act(directory, &entry, 0)
                .map_err(|why| self.failed(what, &TreeFault { entry, why }))?;
        }
        Ok(())
    }

    fn drive<A: Act>(self, act: A) -> Result<TreeStreamResult, Error> {
        match self.trial.latency {
            true => self.timed::<A, true>(act),
            false => self.timed::<A, false>(act),
        }
    }

    /// From the gate to the end.
    fn timed<A: Act, const LATENCY: bool>(self, mut act: A) -> Result<TreeStreamResult, Error> {
        let (job, shared) = (&self.trial.job, &self.trial.shared);
        let mut lane = TreeLane::new(job, shared, self.index, &self.entries, &self.directories);
        shared.tell(LoadEvent::Ready);
        if shared.wait_for(Gate::Run) == Gate::Quit {
            return Ok(TreeStreamResult::default());
        }
        let cpu_ns = thread_cpu_ns();
        let done = lane.run::<A, LATENCY>(&mut act);
        let cpu_ns = thread_cpu_ns().saturating_sub(cpu_ns);
        let done = done.map_err(|fault| self.failed(job.work.name(), &fault))?;
        let latency = lane.latency();
        shared.tell(LoadEvent::Drained);
        Ok(TreeStreamResult { done, cpu_ns, latency })
    }

    fn failed(&self, what: &str, fault: &TreeFault) -> Error {
        let (trial, entry) = (self.trial, &fault.entry);
        let place = &trial.places[self.index].root;
        let directory = place::path(place, u64::from(entry.directory), trial.job.width);
        let name = directory.join(entry.name().to_string_lossy().as_ref());
        if trial.job.work == TreeOperation::Readdir && fault.why == rustix::io::Errno::STALE {
            let why = "it has not as many names as were made in it";
            return Error::Failed(format!("cannot read {}: {why}", directory.display()));
        }
        let why = std::io::Error::from(fault.why);
        Error::Failed(format!("cannot {what} {}: {why}", name.display()))
    }
}
