//! The two ends of a stream: a sender and a receiver, each on a thread of its own.
//!
//! While the clock runs they allocate nothing, lock nothing and ask the kernel for nothing but the
//! I/O. The sender stops when the trial does and closes its side; the receiver goes on until it has
//! seen that, so that nothing is left on the way and both counts can be held against each other.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::course::Ends;
use super::files::{self, Served};
use super::job::{Job, ReceivePath, SendPath, of_files_alone};
use super::ring;
use super::socket::{self, Completed};
use crate::engine::file::files::push_once;
use crate::engine::load::control::{Cell as Done, Event, Gate, Phase, Shared};
use crate::engine::load::protocol::Failure;
use experiment::measurement::{Kind, Note, network};
use host::sys::clock::{ThreadClock, monotonic_ns, thread_cpu_ns};

/// The receiver asks for so many bytes at once, or for a message when that is more.
const READ_BYTES: usize = 128 << 10;
/// Completions of sends without copying are read after so many sends.
const SETTLE_EVERY: u32 = 16;
/// How long the last completions are waited for, ns.
const SETTLING_MAX_NS: u64 = 10_000_000_000;

/// What ended an end early, and the trial with it.
pub type Broken = (Failure, String);

/// What one thread counts, alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Count {
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
    pub helpers: OnceLock<Vec<Count>>,
}

impl Count {
    /// Processor time of the thread and of those that work for it so far, ns.
    pub fn cpu_ns(&self) -> u64 {
        let running = self.clock.get().and_then(|clock| clock.now_ns());
        let helpers = self.helpers.get().into_iter().flatten();
        running.unwrap_or_else(|| self.cpu_ns.load(Relaxed))
            + helpers.map(Count::cpu_ns).sum::<u64>()
    }
}

/// What all ends share.
#[derive(Debug)]
pub struct Work {
    /// What is to be done.
    pub job: Job,
    /// Phase, gate, and what the receivers got.
    pub shared: Shared,
    /// Where bytes go in, one a stream; none where the senders are on another machine.
    pub outgoing: Vec<TcpStream>,
    /// Where they come out, one a stream; none where the receivers are on another machine.
    pub incoming: Vec<TcpStream>,
    /// One a stream.
    pub senders: Vec<Count>,
    /// One a stream; only their clocks count.
    pub receivers: Vec<Count>,
    /// The files that are sent; `None` when bytes come from memory.
    pub served: Option<Served>,
    /// What must be said, each kind once.
    pub notes: Mutex<Vec<Note>>,
}

/// A thread that panicked while it held the lock left whole values behind: all are plain data.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    /// With these sockets out and in.
    pub fn new(
        job: Job,
        shared: Shared,
        sockets: (Vec<TcpStream>, Vec<TcpStream>),
        served: Option<Served>,
    ) -> Work {
        let counts = || (0..job.streams).map(|_| Count::default()).collect();
        let (outgoing, incoming) = sockets;
        let notes = Mutex::default();
        Work {
            senders: counts(),
            receivers: counts(),
            job,
            shared,
            outgoing,
            incoming,
            served,
            notes,
        }
    }

    /// Closes all sockets: who waits for one of them no longer does.
    pub fn shut(&self) {
        for socket in self.outgoing.iter().chain(&self.incoming) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Keeps what must be said, once.
    pub fn note(&self, notes: Vec<Note>) {
        let mut all = lock(&self.notes);
        for note in notes {
            push_once(&mut all, &note.kind, || note.text.clone());
        }
    }
}

/// What one end yielded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    /// Let go, monotonic clock, ns.
    pub started_ns: u64,
    /// Its last byte was through, monotonic clock, ns.
    pub stopped_ns: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Processor time since it was let go, ns.
    pub cpu_ns: u64,
}

/// What a call that failed comes to.
pub fn broken(what: &str) -> impl Fn(io::Error) -> Broken + '_ {
    move |why| (Failure::Failed, format!("cannot {what}: {why}"))
}

/// One end, from its making to its end.
///
/// # Errors
/// With what failed.
pub fn carry(
    shared: &Shared,
    count: &Count,
    run: impl FnOnce(&dyn Fn() -> bool) -> Result<u64, Broken>,
) -> Result<Yield, Broken> {
    if let Some(clock) = ThreadClock::own() {
        let _ = count.clock.set(clock);
    }
    let started = Cell::new((0, 0));
    let wait = || {
        shared.tell(Event::Ready);
        let go = shared.wait_for(Gate::Run) == Gate::Run;
        started.set((monotonic_ns(), thread_cpu_ns()));
        go
    };
    let bytes = run(&wait);
    let now_ns = thread_cpu_ns();
    count.cpu_ns.store(now_ns, Relaxed);
    let (started_ns, before_ns) = started.get();
    let cpu_ns = now_ns.saturating_sub(before_ns);
    Ok(Yield { started_ns, stopped_ns: monotonic_ns(), bytes: bytes?, cpu_ns })
}

/// The thread of sender `index`.
fn send(work: &Work, index: usize) -> Result<Yield, Broken> {
    let count = &work.senders[index];
    let socket = &work.outgoing[index];
    let sent = carry(&work.shared, count, |wait| {
        if let Some(served) = &work.served {
            return files::send(work, served, index, wait);
        }
        let message = message(&work.job, index);
        match work.job.send {
            SendPath::Write => {
                let from = |start: usize| {
                    retried(|| {
                        rustix::io::write(socket, &message[start..]).map_err(io::Error::from)
                    })
                };
                if !wait() {
                    return Ok(0);
                }
                pump(work, count, from).map_err(broken("write to a socket"))
            }
            SendPath::Sendfile => {
                let file = in_memory(&message).map_err(broken("make a file in memory"))?;
                let from = |start: usize| {
                    retried(|| {
                        let (mut at, length) = (start as u64, message.len() - start);
                        rustix::fs::sendfile(socket, &file, Some(&mut at), length)
                            .map_err(io::Error::from)
                    })
                };
                if !wait() {
                    return Ok(0);
                }
                pump(work, count, from).map_err(broken("send a file to a socket"))
            }
            SendPath::Zerocopy => {
                if !wait() {
                    return Ok(0);
                }
                let mut unread = 0;
                let from = |start: usize| zerocopy(socket, &message[start..], count, &mut unread);
                let bytes = pump(work, count, from).map_err(broken("send without copying"))?;
                // The bytes are the kernel's until it has said that it is done with them.
                settle(socket, count).map_err(broken("read completions of sends"))?;
                Ok(bytes)
            }
            SendPath::Uring | SendPath::UringZerocopy => ring::send(work, index, &message, wait),
            path => Err((Failure::Unsupported, of_files_alone(path))),
        }
    });
    let failed = sent.is_err() || work.shared.marks().failure.is_some();
    // The receiver waits for it, whatever happened here; but one on another machine is to hear why
    // before it sees that.
    if !(failed && work.incoming.is_empty()) {
        let _ = socket.shutdown(Shutdown::Write);
    }
    sent
}

/// Sends messages until the trial is over; gives how many bytes the kernel took.
fn pump(
    work: &Work,
    count: &Count,
    mut send: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<u64> {
    let length = work.job.message_bytes;
    let (mut bytes, mut start) = (0, 0);
    while work.shared.phase() != Phase::Stop {
        let sent = send(start)?;
        if sent == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes += sent as u64;
        count.bytes.store(bytes, Relaxed);
        start += sent;
        if start >= length {
            start = 0;
        }
    }
    Ok(bytes)
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

/// One send without copying. When the kernel has no room for another notification (net.core.
/// optmem_max), those that are there are read first.
#[inline]
fn zerocopy(
    socket: &TcpStream,
    bytes: &[u8],
    count: &Count,
    unread: &mut u32,
) -> io::Result<usize> {
    if *unread >= SETTLE_EVERY {
        *unread = 0;
        drain(socket, count)?;
    }
    loop {
        match retried(|| socket::send_zerocopy(socket, bytes)) {
            Ok(sent) => {
                add(&count.zerocopy_sends, 1);
                *unread += 1;
                return Ok(sent);
            }
            Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => wait(socket, count)?,
            Err(why) => return Err(why),
        }
    }
}

/// A counter that its own thread alone changes.
#[inline]
pub fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// Reads the completions that are there.
fn drain(socket: &TcpStream, count: &Count) -> io::Result<()> {
    while let Some(Completed { sends, copied }) = socket::completed(socket)? {
        add(&count.zerocopy_done, sends);
        add(&count.zerocopy_copied, copied);
    }
    Ok(())
}

/// Waits up to a tenth of a second for completions, and reads them.
fn wait(socket: &TcpStream, count: &Count) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    // An error queue that is not empty is always told.
    match poll(&mut [PollFd::new(socket, PollFlags::empty())], Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => drain(socket, count),
        Err(why) => Err(why.into()),
    }
}

/// Waits for the completions of all sends.
fn settle(socket: &TcpStream, count: &Count) -> io::Result<()> {
    let until_ns = monotonic_ns() + SETTLING_MAX_NS;
    drain(socket, count)?;
    while count.zerocopy_done.load(Relaxed) < count.zerocopy_sends.load(Relaxed) {
        if monotonic_ns() > until_ns {
            let what = "the kernel did not say within 10 s that it is done with all bytes";
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        wait(socket, count)?;
    }
    Ok(())
}

/// What is sent over and over: bytes that no compressor shrinks, other ones in each stream.
fn message(job: &Job, index: usize) -> Vec<u8> {
    let seed = job.seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut bytes = vec![0; job.message_bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

fn in_memory(bytes: &[u8]) -> io::Result<File> {
    use std::io::Write;
    let mut file = File::from(rustix::fs::memfd_create("brickyard-message", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// What a receiver says when no more bytes come.
pub const CLOSED: &str = "the sender closed its side before the trial was over";

/// The thread of receiver `index`: until the sender has closed its side.
fn receive(work: &Work, index: usize) -> Result<Yield, Broken> {
    let socket = &work.incoming[index];
    let got = carry(&work.shared, &work.receivers[index], |wait| {
        if let Some(served) = work.served.as_ref().filter(|served| served.job.verify.is_some()) {
            let mut tally = Tally::of(work, index);
            return files::receive_checked(work, served, index, wait, |bytes| tally.count(bytes));
        }
        let bytes = match work.job.receive {
            ReceivePath::Multishot => {
                let mut tally = Tally::of(work, index);
                ring::receive(work, index, wait, |bytes| tally.count(bytes))?
            }
            path => read(work, index, path == ReceivePath::Truncate, wait)?,
        };
        if work.shared.phase() != Phase::Stop {
            return Err((Failure::Failed, CLOSED.to_owned()));
        }
        Ok(bytes)
    });
    if got.is_err() && !work.outgoing.is_empty() {
        // The sender would wait for room in vain; one on another machine is to hear why first.
        let _ = socket.shutdown(Shutdown::Both);
    }
    work.shared.tell(Event::Drained);
    got
}

/// By read(2), or dropping what comes.
fn read(work: &Work, index: usize, truncate: bool, wait: &dyn Fn() -> bool) -> Result<u64, Broken> {
    let socket = &work.incoming[index];
    let length = work.job.message_bytes.max(READ_BYTES);
    let mut buffer = vec![0_u8; if truncate { 0 } else { length }];
    if !wait() {
        return Ok(0);
    }
    let got = match truncate {
        true => sink(work, index, || socket::drop_received(socket, length)),
        false => sink(work, index, || {
            rustix::io::read(socket.as_fd(), &mut buffer[..]).map_err(io::Error::from)
        }),
    };
    got.map_err(broken("read from a socket"))
}

/// Reads to the end; gives how many bytes there were. A message is counted with its last byte.
fn sink(
    work: &Work,
    index: usize,
    mut receive: impl FnMut() -> io::Result<usize>,
) -> io::Result<u64> {
    let mut tally = Tally::of(work, index);
    let mut bytes = 0;
    loop {
        let got = retried(&mut receive)?;
        if got == 0 {
            return Ok(bytes);
        }
        bytes += got as u64;
        tally.count(bytes);
    }
}

/// What a receiver tells of what arrives.
pub struct Tally<'a> {
    shared: &'a Shared,
    cell: &'a Done,
    message_bytes: u64,
    warm_up_ns: u64,
    started: bool,
}

impl Tally<'_> {
    /// Of receiver `index`, which counts as started once it is warm and has got something.
    pub fn new(shared: &Shared, warm_up_ns: u64, index: usize, message_bytes: u64) -> Tally<'_> {
        Tally { shared, cell: &shared.cells[index], message_bytes, warm_up_ns, started: false }
    }

    fn of(work: &Work, index: usize) -> Tally<'_> {
        let job = &work.job;
        Tally::new(&work.shared, job.warm_up_ns, index, job.message_bytes as u64)
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

impl Ends for Work {
    type Yield = Yield;

    fn job(&self) -> &Job {
        &self.job
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn send(&self, index: usize) -> Result<Yield, Broken> {
        send(self, index)
    }

    fn receive(&self, index: usize) -> Result<Yield, Broken> {
        receive(self, index)
    }

    fn columns(&self) -> (&'static str, Vec<(String, Kind)>) {
        let columns = network::COLUMNS.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
        (network::SOURCE, columns.chain(self.job.columns_of_both()).collect())
    }

    fn row(&self) -> Vec<u64> {
        super::watch::row(self)
    }
}
