//! The two ends of a stream: a sender and a receiver, each on a thread of its own.
//!
//! While the clock runs they allocate nothing, lock nothing and ask the kernel for nothing but the
//! I/O. The sender stops when the trial does and closes its side; the receiver goes on until it has
//! seen that, so that nothing is left on the way and both counts can be held against each other.

use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use super::checked::{self, CheckedMessages};
use super::due::ExpectedFiles;
use super::half::HalfLoad;
use super::job::{NetJob, ReceivePath, SendPath, of_files_alone};
use super::runner::StreamEnds;
use super::socket::{self, ZerocopyCompletions};
use super::work::{EndCounters, NetEndResult, NetLoad, ReceiverTally, closed};
use super::work::{add, broken, carry, lock, retried};
use super::{files, ring, watch};
use crate::engine::load::control::{LoadControl, LoadEvent, LoadPhase};
use crate::engine::load::protocol::{Failure, LoadFailure};
use experiment::measurement::{Integrity, Note, network};
use facts::counters::series::ColumnKind;
use host::sys::clock::monotonic_ns;

/// The receiver asks for so many bytes at once, or for a message when that is more.
const READ_BYTES: usize = 128 << 10;
/// Completions of sends without copying are read after so many sends.
const SETTLE_EVERY: u32 = 16;
/// Word of the end of a trial is here so long after the end of a stream at most, ns.
const WORD_MAX_NS: u64 = 5_000_000_000;
/// How often it is looked for.
const WORD_LOOK: Duration = Duration::from_millis(1);
/// How long the last completions are waited for, ns.
const SETTLING_MAX_NS: u64 = 10_000_000_000;

/// The thread of sender `index`.
fn send(work: &NetLoad, index: usize) -> Result<NetEndResult, LoadFailure> {
    let count = &work.senders[index];
    let socket = work.outgoing(index);
    let sent = carry(&work.shared, count, |wait| {
        if let Some(served) = &work.served {
            return files::send(work, served, index, wait);
        }
        if let Some(format) = work.job.verify {
            let mut source = CheckedMessages::new(work, format, index);
            let from = |start: usize| {
                let bytes = source.from(start);
                retried(|| rustix::io::write(socket, bytes).map_err(io::Error::from))
            };
            if !wait() {
                return Ok(0);
            }
            return pump(work, count, from).map_err(broken("write to a socket"));
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
    if !(failed && work.is_apart()) {
        let _ = socket.shutdown(Shutdown::Write);
    }
    sent
}

/// Sends messages until the trial is over; gives how many bytes the kernel took.
fn pump(
    work: &NetLoad,
    count: &EndCounters,
    mut send: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<u64> {
    let length = work.job.message_bytes;
    let (mut bytes, mut start) = (0, 0);
    while work.shared.phase() != LoadPhase::Stop {
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

/// One send without copying. When the kernel has no room for another notification (net.core.
/// optmem_max), those that are there are read first.
#[inline]
fn zerocopy(
    socket: &TcpStream,
    bytes: &[u8],
    count: &EndCounters,
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

/// Reads the completions that are there.
fn drain(socket: &TcpStream, count: &EndCounters) -> io::Result<()> {
    while let Some(ZerocopyCompletions { sends, copied }) = socket::completed(socket)? {
        add(&count.zerocopy_done, sends);
        add(&count.zerocopy_copied, copied);
    }
    Ok(())
}

/// Waits up to a tenth of a second for completions, and reads them.
fn wait(socket: &TcpStream, count: &EndCounters) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    // An error queue that is not empty is always told.
    match poll(&mut [PollFd::new(socket, PollFlags::empty())], Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => drain(socket, count),
        Err(why) => Err(why.into()),
    }
}

/// Waits for the completions of all sends.
fn settle(socket: &TcpStream, count: &EndCounters) -> io::Result<()> {
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
fn message(job: &NetJob, index: usize) -> Vec<u8> {
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

/// The thread of receiver `index`: until the sender has closed its side.
fn receive(work: &NetLoad, index: usize) -> Result<NetEndResult, LoadFailure> {
    let socket = work.incoming(index);
    let got = carry(&work.shared, &work.receivers[index], |wait| {
        if let Some(bytes) = files::receive_checked(work, index, wait)? {
            let early = work.is_apart() && !is_over(work);
            return if early { Err(closed()) } else { Ok(bytes) };
        }
        let bytes = match (work.job.verify, work.job.receive) {
            (Some(format), _) => checked::receive(work, format, index, wait)?,
            (None, ReceivePath::Multishot) => {
                let mut tally = ReceiverTally::for_stream(work, index);
                ring::receive(work, index, wait, |bytes| tally.count(bytes))?
            }
            (None, path) => read(work, index, path == ReceivePath::Truncate, wait)?,
        };
        if !is_over(work) {
            return Err(closed());
        }
        Ok(bytes)
    });
    if got.is_err() && !work.is_apart() {
        // The sender would wait for room in vain; one on another machine is to hear why first.
        let _ = socket.shutdown(Shutdown::Both);
    }
    work.shared.tell(LoadEvent::Drained);
    got
}

/// Whether a stream may have come to its end. Of streams both ways between two machines each end
/// stops its own senders: the last bytes of the other may be here before word of the end is.
fn is_over(work: &NetLoad) -> bool {
    let until_ns = monotonic_ns() + WORD_MAX_NS;
    let waits = work.job.both && work.is_apart();
    while work.shared.phase() != LoadPhase::Stop {
        if !waits || monotonic_ns() > until_ns {
            return false;
        }
        std::thread::sleep(WORD_LOOK);
    }
    true
}

/// By read(2), or dropping what comes.
fn read(
    work: &NetLoad,
    index: usize,
    truncate: bool,
    wait: &dyn Fn() -> bool,
) -> Result<u64, LoadFailure> {
    let socket = work.incoming(index);
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
    work: &NetLoad,
    index: usize,
    mut receive: impl FnMut() -> io::Result<usize>,
) -> io::Result<u64> {
    let mut tally = ReceiverTally::for_stream(work, index);
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

impl StreamEnds for NetLoad {
    type Yield = NetEndResult;

    fn job(&self) -> &NetJob {
        &self.job
    }

    fn shared(&self) -> &LoadControl {
        &self.shared
    }

    fn send(&self, index: usize) -> Result<NetEndResult, LoadFailure> {
        send(self, index)
    }

    fn receive(&self, index: usize) -> Result<NetEndResult, LoadFailure> {
        receive(self, index)
    }

    fn columns(&self) -> (&'static str, Vec<(String, ColumnKind)>) {
        let columns = network::COLUMNS.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
        (network::SOURCE, columns.chain(self.job.columns_of_both()).collect())
    }

    fn row(&self) -> Vec<u64> {
        watch::row(self)
    }
}

impl HalfLoad for NetLoad {
    fn notes(&self) -> Vec<Note> {
        lock(&self.notes).clone()
    }

    fn integrity(&self) -> Option<Integrity> {
        self.expected.as_ref().map(ExpectedFiles::integrity)
    }

    fn shut(&self) {
        for socket in self.sockets() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn moved_bytes(&self) -> u64 {
        let sent: u64 = self.senders.iter().map(|count| count.bytes.load(Relaxed)).sum();
        let got = self.shared.total().read_bytes;
        if self.is_apart() { sent + got } else { sent.max(got) }
    }
}
