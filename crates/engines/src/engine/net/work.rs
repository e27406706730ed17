//! What the ends of all streams share, and what each of them counts.

use std::cell::Cell;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::due::ExpectedFiles;
use super::job::{NetJob, NetworkPathChoice};
use super::served::SentFiles;
use crate::engine::file::files::push_once;
use crate::engine::load::control::{Gate, LoadControl, LoadEvent, StreamCounters};
use crate::engine::load::protocol::{Failure, LoadFailure};
use experiment::measurement::Note;
use host::sys::clock::{ThreadClock, monotonic_ns, thread_cpu_ns};

/// What one end of a stream counts, alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct EndCounters {
    /// Bytes that the kernel took.
    pub bytes: AtomicU64,
    /// Sends without copying that were begun,
    pub zerocopy_sends: AtomicU64,
    /// that are over,
    pub zerocopy_done: AtomicU64,
    /// and whose bytes the kernel copied after all.
    pub zerocopy_copied: AtomicU64,
    /// Its processor time.
    pub clock: OnceLock<ThreadClock>,
    /// The same at its end, ns; 0 before.
    pub cpu_ns: AtomicU64,
    /// Threads that work for it; only their clocks count.
    pub helpers: OnceLock<Vec<EndCounters>>,
}

impl EndCounters {
    /// Processor time of the thread and of those that work for it so far, ns.
    pub fn cpu_ns(&self) -> u64 {
        let running = self.clock.get().and_then(|clock| clock.now_ns());
        let helpers = self.helpers.get().into_iter().flatten();
        running.unwrap_or_else(|| self.cpu_ns.load(Relaxed))
            + helpers.map(EndCounters::cpu_ns).sum::<u64>()
    }
}

/// A load of streams: what the ends of all of them share.
#[derive(Debug)]
pub struct NetLoad {
    /// What is to be done.
    pub job: NetJob,
    /// Phase, gate, and what the receivers got.
    pub shared: LoadControl,
    /// Where bytes go in, one a stream whose sender is on this machine: of two machines none or
    /// all, or of streams both ways every second one.
    outgoing: Vec<TcpStream>,
    /// Where they come out, the same of receivers.
    incoming: Vec<TcpStream>,
    /// One a stream.
    pub senders: Vec<EndCounters>,
    /// One a stream; only their clocks count.
    pub receivers: Vec<EndCounters>,
    /// The files that are sent; `None` when bytes come from memory.
    pub served: Option<SentFiles>,
    /// What is due of files that the other end sends, where it is checked here.
    pub expected: Option<ExpectedFiles>,
    /// What must be said, each kind once.
    pub notes: Mutex<Vec<Note>>,
}

/// Where the one of a stream is among `here` of all `streams`: all of them, or every second.
#[inline]
pub fn place(stream: usize, here: usize, streams: usize) -> usize {
    stream * here / streams.max(1)
}

/// A thread that panicked while it held the lock left whole values behind: all are plain data.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NetLoad {
    /// With these sockets out and in.
    pub fn new(
        job: NetJob,
        shared: LoadControl,
        sockets: (Vec<TcpStream>, Vec<TcpStream>),
        served: Option<SentFiles>,
    ) -> NetLoad {
        let counts = || (0..job.streams).map(|_| EndCounters::default()).collect();
        let (outgoing, incoming) = sockets;
        let notes = Mutex::default();
        NetLoad {
            senders: counts(),
            receivers: counts(),
            job,
            shared,
            outgoing,
            incoming,
            served,
            expected: None,
            notes,
        }
    }

    /// The same, where the files are the other end's.
    #[must_use]
    pub fn expecting(self, expected: Option<ExpectedFiles>) -> NetLoad {
        NetLoad { expected, ..self }
    }

    /// Where the bytes of a stream go in.
    pub fn outgoing(&self, stream: usize) -> &TcpStream {
        &self.outgoing[place(stream, self.outgoing.len(), self.job.streams)]
    }

    /// Where they come out.
    pub fn incoming(&self, stream: usize) -> &TcpStream {
        &self.incoming[place(stream, self.incoming.len(), self.job.streams)]
    }

    /// Sockets into which bytes go here.
    pub fn senders_here(&self) -> &[TcpStream] {
        &self.outgoing
    }

    /// All of this machine.
    pub fn sockets(&self) -> impl Iterator<Item = &TcpStream> {
        self.outgoing.iter().chain(&self.incoming)
    }

    /// Whether the other end of each stream is on another machine.
    pub fn is_apart(&self) -> bool {
        matches!(self.job.wire, NetworkPathChoice::Machine(_))
    }

    /// Keeps what must be said, once.
    pub fn note(&self, notes: Vec<Note>) {
        let mut all = lock(&self.notes);
        for note in notes {
            push_once(&mut all, &note.kind, || note.text.clone());
        }
    }
}

/// What one end of a stream did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetEndResult {
    /// Let go, monotonic clock, ns.
    pub started_ns: u64,
    /// Its last byte was through, monotonic clock, ns.
    pub stopped_ns: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Processor time since it was let go, ns.
    pub cpu_ns: u64,
}

/// What a call on a socket that failed comes to.
pub fn broken(what: &str) -> impl Fn(io::Error) -> LoadFailure + '_ {
    move |why| (Failure::of_socket(&why), format!("cannot {what}: {why}"))
}

/// One end, from its making to its end.
///
/// # Errors
/// With what failed.
pub fn carry(
    shared: &LoadControl,
    count: &EndCounters,
    run: impl FnOnce(&dyn Fn() -> bool) -> Result<u64, LoadFailure>,
) -> Result<NetEndResult, LoadFailure> {
    if let Some(clock) = ThreadClock::own() {
        let _ = count.clock.set(clock);
    }
    let started = Cell::new((0, 0));
    let wait = || {
        shared.tell(LoadEvent::Ready);
        let go = shared.wait_for(Gate::Run) == Gate::Run;
        started.set((monotonic_ns(), thread_cpu_ns()));
        go
    };
    let bytes = run(&wait);
    let now_ns = thread_cpu_ns();
    count.cpu_ns.store(now_ns, Relaxed);
    let (started_ns, before_ns) = started.get();
    let cpu_ns = now_ns.saturating_sub(before_ns);
    Ok(NetEndResult { started_ns, stopped_ns: monotonic_ns(), bytes: bytes?, cpu_ns })
}

/// What a receiver says when no more bytes come.
pub fn closed() -> LoadFailure {
    let what = "the sender closed its side before the trial was over";
    (Failure::Disconnected, what.to_owned())
}

/// Again after a signal; what did not move for a minute is said so.
#[inline]
pub fn retried(mut ask: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match ask() {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Err(silent()),
            done => return done,
        }
    }
}

/// Nothing moved.
pub fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "nothing moved for 60 s")
}

/// A counter that its own thread alone changes.
#[inline]
pub fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// Counts what arrives at a receiver, and tells everybody.
pub struct ReceiverTally<'a> {
    shared: &'a LoadControl,
    cell: &'a StreamCounters,
    message_bytes: u64,
    warm_up_ns: u64,
    started: bool,
}

impl ReceiverTally<'_> {
    /// Of receiver `index`, which counts as started once it is warm and has got something.
    pub fn new(
        shared: &LoadControl,
        warm_up_ns: u64,
        index: usize,
        message_bytes: u64,
    ) -> ReceiverTally<'_> {
        ReceiverTally {
            shared,
            cell: &shared.cells[index],
            message_bytes,
            warm_up_ns,
            started: false,
        }
    }

    /// Of receiver `index` of a load.
    pub fn for_stream(work: &NetLoad, index: usize) -> ReceiverTally<'_> {
        let job = &work.job;
        let cell = place(index, work.shared.cells.len(), job.streams);
        ReceiverTally::new(&work.shared, job.warm_up_ns, cell, job.message_bytes as u64)
    }

    /// So many bytes have arrived in all.
    #[inline]
    pub fn count(&mut self, bytes: u64) {
        self.cell.read_bytes.store(bytes, Relaxed);
        self.cell.read_ops.store(bytes / self.message_bytes, Relaxed);
        if !self.started && self.is_warm() {
            self.started = true;
            self.shared.started();
        }
    }

    fn is_warm(&self) -> bool {
        let released_ns = self.shared.released_ns.load(Relaxed);
        let warm_up_ns = self.warm_up_ns;
        warm_up_ns == 0 || monotonic_ns() >= released_ns.saturating_add(warm_up_ns)
    }
}
