//! One stream's thread: its buffers, its backend, its lane, from set-up to durability.
//!
//! Here, once a trial, the job's choices become types; the loop itself is `lane`.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use hdrhistogram::Histogram;

use super::address::{
    AddressGenerator, AnyAddressGenerator, Shuffle, StrideWalk, Zipf, below, mix,
};
use super::backend::aio::Aio;
use super::backend::any::AnyMedium;
use super::backend::mapped::Mapped;
use super::backend::ring::{IoUringBackend, RingSetup};
use super::backend::single::Single;
use super::backend::stdio::Stdio;
use super::backend::sync::{Blocking, Closing};
use super::backend::{Backend, Buffers, IoKind};
use super::check::{BlockCheck, Check, CheckContext, NoCheck};
use super::control::{Gate, LoadControl, LoadEvent};
use super::files::StreamFiles;
use super::job::{AccessOrder, Direction, FileJob, FsyncPolicy, IoEngine, limits, pin};
use super::lane::{FileLane, FileLaneResult, IoFault, LaneSettings};
use super::protocol::{Failure, LoadFailure};
use crate::engine::FileIdentity;
use experiment::measurement::{Integrity, Note, Operation};
use host::sys::arena::Pages;
use host::sys::clock::{monotonic_ns, thread_cpu_ns};
use host::sys::{Host, filter};

/// A trial of the file engine as its streams see it: what all of them are given.
#[derive(Debug)]
pub struct FileTrial {
    /// What to do.
    pub job: FileJob,
    /// The files of each stream.
    pub files: Vec<StreamFiles>,
    /// What addresses of buffers must be a multiple of.
    pub memory_align: u64,
    /// Phase, counters, gate.
    pub shared: LoadControl,
    /// Processors, in turn; empty when nothing is pinned.
    pub cpus: Vec<usize>,
    /// How the blocks of each file name themselves, where they are checked.
    pub written: Vec<Vec<FileIdentity>>,
    /// Faults that the streams keep, all together.
    pub faults_kept: Arc<AtomicUsize>,
    /// Operations of each stream in the second pass, once that is known.
    pub second: OnceLock<Vec<u64>>,
}

impl FileTrial {
    /// What is known of its files where their blocks are checked.
    pub fn ground(&self) -> CheckContext<'_> {
        CheckContext {
            shared: &self.shared,
            files: &self.files,
            written: &self.written,
            kept: &self.faults_kept,
            campaign: self.job.campaign,
            direct: self.job.direct,
            waits: self.job.checks_meanwhile(),
        }
    }
}

/// What one stream did: its operations, its latencies, its fsync and what it checked.
#[derive(Debug, Default)]
pub struct FileStreamResult {
    /// Of the load.
    pub done: FileLaneResult,
    /// Processor time of the thread from release to drain, ns.
    pub cpu_ns: u64,
    /// Latency of each kind of operation.
    pub latency: Vec<(Operation, Histogram<u64>)>,
    /// Its last fsync had returned, monotonic clock.
    pub durable_ns: Option<u64>,
    /// Of the second pass.
    pub second: Option<FileLaneResult>,
    /// What was wrong with the blocks that it read, where they are checked.
    pub integrity: Option<Integrity>,
    /// What was not as wished.
    pub notes: Vec<Note>,
}

/// The thread of stream `index`. `None` when it failed, which the controller has been told.
pub fn run(trial: &FileTrial, index: usize) -> Option<FileStreamResult> {
    match set_up(trial, index) {
        Ok(yielded) => Some(yielded),
        Err((kind, what)) => {
            trial.shared.fail(kind, what);
            None
        }
    }
}

fn set_up(trial: &FileTrial, index: usize) -> Result<FileStreamResult, LoadFailure> {
    let job = &trial.job;
    let files = &trial.files[index].files;
    if let Some(cpu) = trial.cpus.get(index % trial.cpus.len().max(1)) {
        pin(*cpu).map_err(|why| (Failure::Failed, format!("{why:?}")))?;
    }
    if job.rate > 0 {
        // Timers of other threads are 50 us late by default; these are what is measured.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
    let huge = limits::wants_huge_pages(job);
    let (count, block) = (limits::buffers(job) as usize, job.block_bytes as usize);
    let buffers = Buffers::new(count, block, trial.memory_align as usize, huge)
        .map_err(|why| (Failure::Failed, why.to_string()))?;
    let buffers = Arc::new(buffers);
    let mut stream = FileStream { trial, index, buffers: buffers.clone(), notes: Vec::new() };
    if index == 0 && job.huge_pages {
        stream.note_pages(huge);
    }
    match job.engine {
        IoEngine::Uring => {
            let timeouts = job.rate > 0;
            let (depth, direct, rw_flags) = (job.depth, job.direct, job.rw_flags());
            let wish =
                RingSetup { depth, poll: job.poll, nop: job.nop, timeouts, direct, rw_flags };
            let (ring, notes) = IoUringBackend::new(files, buffers, wish).map_err(|why| {
                (Failure::Failed, format!("cannot make an io_uring for stream {index}: {why}"))
            })?;
            stream.notes.extend(notes);
            match stream.is_plain() {
                true => stream.plainly(ring),
                false => stream.any_way(ring),
            }
        }
        IoEngine::Aio => {
            let aio = Aio::new(files, buffers, job.depth, job.rw_flags()).map_err(|why| {
                let what = format!("cannot set up aio for stream {index}: {}", no_aio(job, &why));
                (Failure::Unsupported, what)
            })?;
            stream.any_way(aio)
        }
        IoEngine::Sync if stream.is_plain() && !job.dontcache && !job.close_in_time => {
            stream.plainly(Single::new(Blocking::<false>(files), buffers))
        }
        IoEngine::Sync => stream.one_by_one(),
        IoEngine::Stdio => stream.through_library(AnyMedium::Blocks),
        IoEngine::Putc => stream.through_library(AnyMedium::Bytes),
        IoEngine::Mmap => {
            let bytes = trial.files[index].blocks_per_file * job.block_bytes;
            let random = matches!(job.order, AccessOrder::Uniform | AccessOrder::Zipf(_));
            let part = (trial.files[index].start_bytes, bytes);
            let mapped = Mapped::new(files, part, job.direction.writes(), random);
            let mapped = mapped.map_err(|why| {
                (Failure::Failed, format!("cannot map the files of stream {index}: {why}"))
            })?;
            match stream.is_plain() {
                true => stream.plainly(Single::new(mapped, buffers)),
                false => stream.any_way(Single::new(AnyMedium::Mapped(mapped), buffers)),
            }
        }
    }
}

/// Why there is no context for aio, and what would make one: io_setup(2) gives EAGAIN alone for
/// want of room.
fn no_aio(job: &FileJob, why: &std::io::Error) -> String {
    let total = job.depth as usize * job.streams;
    match why.raw_os_error() {
        Some(libc::EAGAIN) => {
            let most = Host::live().word("/proc/sys/fs/aio-max-nr").unwrap_or_default();
            format!(
                "{why}; fs.aio-max-nr is {most}, for all programs together, and {total} I/Os in \
                 flight need at least that: `sysctl fs.aio-max-nr=1048576`, or fewer streams"
            )
        }
        _ => format!("{}; io-engine=sync does without it", filter::explained("io_setup", why)),
    }
}

/// One stream whose buffers are made, before it has a backend.
struct FileStream<'a> {
    trial: &'a FileTrial,
    index: usize,
    buffers: Arc<Buffers>,
    notes: Vec<Note>,
}

impl FileStream<'_> {
    fn note_pages(&mut self, wanted: bool) {
        let text = match (wanted, self.buffers.pages()) {
            (true, Pages::Base) => {
                "The kernel gave no huge pages for the buffers (vm.nr_hugepages is 0, and \
                 transparent_hugepage refused): large I/O costs more CPU."
            }
            (false, _) => {
                "Buffers of so many streams would waste most of a huge page each: base pages \
                 were used."
            }
            _ => return,
        };
        self.notes.push(Note::new("no-huge-pages", text));
    }

    /// By a call for each I/O, in a way for which the loop has no copy of its own: what is not to
    /// stay in the page cache costs a read or a write of the device, beside which a branch is not
    /// seen.
    fn one_by_one(self) -> Result<FileStreamResult, LoadFailure> {
        let (job, files) = (&self.trial.job, &self.trial.files[self.index]);
        let (paths, writes) = (&files.paths, job.direction.writes());
        let closing = |why: std::io::Error| self.cannot_open(&why);
        let medium = match (job.close_in_time, job.dontcache) {
            (false, false) => AnyMedium::Blocking(Blocking(&files.files)),
            (false, true) => AnyMedium::DontCache(Blocking(&files.files)),
            (true, false) => {
                AnyMedium::Closing(Closing::new(paths, writes, job.direct).map_err(closing)?)
            }
            (true, true) => AnyMedium::ClosingDontCache(
                Closing::new(paths, writes, job.direct).map_err(closing)?,
            ),
        };
        let buffers = self.buffers.clone();
        self.any_way(Single::new(medium, buffers))
    }

    /// By the C library's FILE, whole blocks or byte by byte.
    fn through_library<const BYTES: bool>(
        self,
        medium: impl FnOnce(Stdio<BYTES>) -> AnyMedium<'static>,
    ) -> Result<FileStreamResult, LoadFailure> {
        let (paths, writes) =
            (&self.trial.files[self.index].paths, self.trial.job.direction.writes());
        let stdio = Stdio::<BYTES>::new(paths, writes, self.buffers.block());
        let stdio = stdio.map_err(|why| self.cannot_open(&why))?;
        let buffers = self.buffers.clone();
        self.any_way(Single::new(medium(stdio), buffers))
    }

    fn cannot_open(&self, why: &std::io::Error) -> LoadFailure {
        (Failure::Failed, format!("cannot open the files of stream {}: {why}", self.index))
    }

    fn seed(&self) -> u64 {
        mix(self.trial.job.seed ^ mix(self.index as u64 + 1))
    }

    /// Whether it reads or writes as fast as it goes, and nothing is checked: of such a loop each
    /// of the fastest backends has copies.
    fn is_plain(&self) -> bool {
        let job = &self.trial.job;
        let one_way = matches!(job.direction, Direction::Read | Direction::Write);
        one_way && job.rate == 0 && job.verify.is_none()
    }

    /// All that a backend may be asked for.
    fn any_way<B: Backend>(self, backend: B) -> Result<FileStreamResult, LoadFailure> {
        let (job, address) = (&self.trial.job, self.address());
        if let Some(format) = job.verify {
            let check = BlockCheck::new(self.trial.ground(), format, self.index);
            let of = (backend, address, check);
            return match job.direction {
                Direction::Write => self.drive::<_, _, _, false, true, true, true>(of),
                // Those that do both are refused.
                _ => self.drive::<_, _, _, true, false, true, true>(of),
            };
        }
        let of = (backend, address, NoCheck);
        match job.direction {
            Direction::Read => self.drive::<_, _, _, true, false, true, true>(of),
            Direction::Write => self.drive::<_, _, _, false, true, true, true>(of),
            Direction::Mix(_) | Direction::Update(_) => {
                self.drive::<_, _, _, true, true, true, true>(of)
            }
        }
    }

    /// The order of the blocks.
    fn address(&self) -> AnyAddressGenerator {
        let (job, blocks) = (&self.trial.job, self.trial.files[self.index].blocks());
        let seed = self.seed();
        let start = if job.starts_anywhere() { below(blocks, mix(seed)) } else { 0 };
        match job.order {
            AccessOrder::Forward => AnyAddressGenerator::Walk(StrideWalk::forward(blocks, start)),
            AccessOrder::Backward => {
                let start = if job.starts_anywhere() { start } else { blocks - 1 };
                AnyAddressGenerator::Walk(StrideWalk::backward(blocks, start))
            }
            AccessOrder::Strided(stride) => {
                AnyAddressGenerator::Walk(StrideWalk::strided(blocks, stride, start))
            }
            AccessOrder::Same => AnyAddressGenerator::Walk(StrideWalk::same()),
            AccessOrder::Uniform => AnyAddressGenerator::Shuffle(Shuffle::new(blocks, seed)),
            AccessOrder::Zipf(theta) => AnyAddressGenerator::Zipf(Zipf::new(blocks, theta, seed)),
        }
    }

    /// A load that [`Self::is_plain`].
    fn plainly<B: Backend>(self, backend: B) -> Result<FileStreamResult, LoadFailure> {
        match self.address() {
            AnyAddressGenerator::Walk(walk) => self.plainly_in(backend, walk),
            AnyAddressGenerator::Shuffle(shuffle) => self.plainly_in(backend, shuffle),
            address => self.plainly_in(backend, address),
        }
    }

    fn plainly_in<B: Backend, G: AddressGenerator>(
        self,
        backend: B,
        address: G,
    ) -> Result<FileStreamResult, LoadFailure> {
        let job = &self.trial.job;
        let of = (backend, address, NoCheck);
        match job.direction {
            Direction::Write => self.drive::<_, _, _, false, true, true, false>(of),
            _ if B::IS_TIMED || job.latency => self.drive::<_, _, _, true, false, true, false>(of),
            _ => self.drive::<_, _, _, true, false, false, false>(of),
        }
    }

    fn terms(&self) -> LaneSettings {
        let (job, files) = (&self.trial.job, &self.trial.files[self.index]);
        LaneSettings {
            stream: self.index as u32,
            block_bytes: job.block_bytes,
            depth: job.depth,
            batch: job.batch,
            blocks_per_file: files.blocks_per_file,
            start_bytes: files.start_bytes,
            files: files.files.len() as u32,
            pass_ops: job.pass_ops(files.blocks()),
            at_least_ns: job.at_least_ns,
            sustained: job.sustained,
            sync_every: job.direction.writes() && job.fsync == FsyncPolicy::Every,
            sync: if job.datasync { IoKind::SyncData } else { IoKind::Sync },
            at_wrap: job.at_wrap(),
            pauses: job.pauses(),
            whole_rounds: job.times_whole_rounds(),
            read_share: match job.direction {
                Direction::Mix(share) => share,
                _ => 1.0,
            },
            update_every: match job.direction {
                Direction::Update(every) => every,
                _ => 0,
            },
            rate: job.rate,
            streams: job.streams as u32,
            data: job.data,
            campaign: job.campaign,
            seed: self.seed(),
        }
    }

    /// From the gate to the end; `PACED` where there may be a rate.
    fn drive<B, G, C, const R: bool, const W: bool, const LATENCY: bool, const PACED: bool>(
        self,
        (backend, address, check): (B, G, C),
    ) -> Result<FileStreamResult, LoadFailure>
    where
        B: Backend,
        G: AddressGenerator,
        C: Check,
    {
        let (job, shared) = (&self.trial.job, &self.trial.shared);
        let files = &self.trial.files[self.index];
        let terms = self.terms();
        let first = address.clone();
        let buffers = self.buffers.clone();
        let mut lane = FileLane::new((backend, address, check), &terms, shared, buffers, files);
        if W && terms.update_every == 0 {
            lane.fill();
        }
        if LATENCY {
            lane.record::<R, W>();
        }
        shared.tell(LoadEvent::Ready);
        if shared.wait_for(Gate::Run) == Gate::Quit {
            return Ok(FileStreamResult { notes: self.notes, ..FileStreamResult::default() });
        }
        let cpu_ns = thread_cpu_ns();
        let ran = match PACED && job.rate > 0 {
            true => lane.run_paced::<R, W>(),
            false => lane.run::<R, W, LATENCY>(),
        };
        let mut yielded = FileStreamResult { notes: self.notes, ..FileStreamResult::default() };
        yielded.done = ran.map_err(|fault| broken(&fault, files))?;
        yielded.cpu_ns = thread_cpu_ns().saturating_sub(cpu_ns);
        if job.second_pass {
            lane.backend().let_go();
        }
        shared.tell(LoadEvent::Drained);
        if W {
            // What the C library still holds; a file that was closed at the end has nothing.
            lane.backend().write_out().map_err(|why| {
                (Failure::Failed, format!("cannot write out stream {}: {why}", self.index))
            })?;
            yielded.durable_ns = flush(job, files, &yielded.done)?;
            shared.tell(LoadEvent::Flushed);
        }
        if R && !W && job.second_pass && shared.wait_for(Gate::SecondPass) == Gate::SecondPass {
            let operations = self.trial.second.get().map_or(0, |all| all[self.index]);
            let again = lane.again(first, operations);
            yielded.second = Some(again.map_err(|fault| broken(&fault, files))?);
            shared.tell(LoadEvent::Drained);
        }
        (yielded.latency, yielded.integrity) = lane.yields();
        Ok(yielded)
    }
}

/// Makes a writer's files durable; the moment at which they were.
fn flush(
    job: &FileJob,
    files: &StreamFiles,
    done: &FileLaneResult,
) -> Result<Option<u64>, LoadFailure> {
    match job.fsync {
        FsyncPolicy::Never => Ok(None),
        FsyncPolicy::Every => Ok(Some(done.stopped_ns)),
        FsyncPolicy::End => {
            for (file, path) in files.files.iter().zip(&files.paths) {
                let (synced, how) = match job.datasync {
                    true => (file.sync_data(), "fdatasync"),
                    false => (file.sync_all(), "fsync"),
                };
                synced.map_err(|why| {
                    (Failure::Failed, format!("cannot {how} {}: {why}", path.display()))
                })?;
            }
            Ok(Some(monotonic_ns()))
        }
    }
}

fn broken(fault: &IoFault, files: &StreamFiles) -> LoadFailure {
    let path = |file: u32| match files.paths.get(file as usize) {
        Some(path) => path.display().to_string(),
        None => format!("file {file}"),
    };
    let kind = match fault.is_unsupported() {
        true => Failure::Unsupported,
        false => Failure::Failed,
    };
    (kind, fault.describe(path))
}
