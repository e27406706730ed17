//! io_uring between memory and a socket: sends in chains, copied or not, and receiving into buffers
//! that the kernel takes from a ring as bytes come (multishot).
//!
//! Copied messages are gathered into one send, as a program with many to send does it (sendmsg, or
//! bundles of provided buffers); those that must leave by themselves (TCP_NODELAY) or are not
//! copied are linked: carried out one after the other, so that the bytes of a stream stay in order
//! while one system call hands over many. All messages of a stream are the same, and the kernel
//! only reads them: one buffer serves all.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering::Release};
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::job::SendPath;
use super::work::{EndCounters, NetLoad, add, broken, silent};
use crate::engine::file::backend::Buffers;
use crate::engine::file::backend::ring::{Fixed, RingSetup, setup};
use crate::engine::load::control::LoadPhase;
use crate::engine::load::protocol::{Failure, LoadFailure};
use host::sys::arena::Arena;
use host::sys::clock::monotonic_ns;

/// IORING_SEND_ZC_REPORT_USAGE and IORING_NOTIF_USAGE_ZC_COPIED (linux/io_uring.h).
pub const REPORT_USAGE: u16 = 1 << 3;
pub const COPIED: u32 = 1 << 31;
/// Nothing came back for so long: the other end is gone.
pub const SILENCE_NS: u64 = 60_000_000_000;
/// So much more is waited for what is in flight when a trial is over or something has failed.
pub const DRAINING_NS: u64 = 10_000_000_000;

/// A chain has so many bytes, or one message when that is larger, and so many messages at most.
const CHAIN_BYTES: usize = 1 << 20;
const CHAIN_MAX: usize = 64;
/// Buffers that a receiver hands to the kernel, a power of two, and bytes of each: together no more
/// than a core's cache holds, as they are used in turn.
const BUFFERS: u16 = 8;
const BUFFER_BYTES: usize = 64 << 10;

/// Hands over what is queued and waits for so many completions.
///
/// # Errors
/// When nothing comes in that time, or with the kernel's words.
pub fn wait(ring: &IoUring, want: usize, at_most_ns: u64) -> io::Result<()> {
    let limit = types::Timespec::from(Duration::from_nanos(at_most_ns));
    let arguments = types::SubmitArgs::new().timespec(&limit);
    match ring.submitter().submit_with_args(want, &arguments) {
        Ok(_) => Ok(()),
        Err(why) => match why.raw_os_error() {
            Some(libc::ETIME) => Err(silent()),
            Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(why),
        },
    }
}

/// A wish for a ring with so many entries.
pub fn wish(entries: usize) -> RingSetup {
    let (poll, nop, timeouts, direct, rw_flags) = (false, false, true, false, 0);
    RingSetup { depth: entries as u32, poll, nop, timeouts, direct, rw_flags }
}

fn unsupported(what: &str, instead: &'static str) -> impl Fn(io::Error) -> LoadFailure {
    let what = what.to_owned();
    move |why| (Failure::Unsupported, format!("cannot {what}: {why}; {instead}"))
}

/// Sends one message over and over until the trial is over; the bytes that the kernel took.
///
/// # Errors
/// With what failed.
pub fn send(
    work: &NetLoad,
    index: usize,
    message: &[u8],
    go: &dyn Fn() -> bool,
) -> Result<u64, LoadFailure> {
    let buffers = Buffers::new(1, message.len(), rustix::param::page_size(), true)
        .map_err(|why| (Failure::Failed, why.to_string()))?;
    // SAFETY: nothing is in flight yet, and nothing else has these buffers.
    unsafe { buffers.slice(0) }.copy_from_slice(message);
    let length = (CHAIN_BYTES / message.len()).clamp(1, CHAIN_MAX);
    let mut notes = Vec::new();
    let ring = setup::build(wish(length), &mut notes)
        .map_err(unsupported("make an io_uring", "send-path=write needs none"))?;
    let fixed = setup::register_buffers(&ring, &buffers, &mut notes) != Fixed::No;
    work.note(notes);
    let count = &work.senders[index];
    let copied = work.job.send != SendPath::UringZerocopy;
    let socket = work.outgoing(index).as_raw_fd();
    // Messages that are to leave at once share no segment, and what is not copied is registered.
    let gathered = copied && !work.job.nodelay;
    let many = gathered.then(|| GatheredSend::new(&buffers, length));
    let header = many.as_ref().map(|many| &raw const many.header);
    let mut chain = SendChain {
        ring,
        buffers: &buffers,
        socket,
        length,
        header,
        fixed,
        copied,
        count,
        owed: 0,
    };
    if !go() {
        return Ok(0);
    }
    let sent = chain.run(work);
    if !chain.settle() {
        // The kernel may read them still.
        std::mem::forget((buffers, many));
    }
    sent
}

/// All messages of a chain, as one send.
struct GatheredSend {
    header: libc::msghdr,
    _messages: Vec<libc::iovec>,
}

impl GatheredSend {
    /// The first buffer, so many times; the header stays where it is.
    fn new(buffers: &Buffers, times: usize) -> Box<GatheredSend> {
        let message = libc::iovec { iov_base: buffers.pointer(0).cast(), iov_len: buffers.block() };
        let mut messages = vec![message; times];
        // SAFETY: every field of a msghdr may be 0: no name, no messages, no control.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        (header.msg_iov, header.msg_iovlen) = (messages.as_mut_ptr(), times as _);
        Box::new(GatheredSend { header, _messages: messages })
    }
}

/// Sends that are linked to each other in one io_uring.
struct SendChain<'a> {
    ring: IoUring,
    buffers: &'a Buffers,
    socket: i32,
    length: usize,
    /// Of all messages together, when they are one send.
    header: Option<*const libc::msghdr>,
    fixed: bool,
    copied: bool,
    count: &'a EndCounters,
    /// Completions that are to come.
    owed: usize,
}

impl SendChain<'_> {
    fn run(&mut self, work: &NetLoad) -> Result<u64, LoadFailure> {
        let mut bytes = 0;
        while work.shared.phase() != LoadPhase::Stop {
            self.push()?;
            let mut sends = self.sends();
            while sends > 0 {
                wait(&self.ring, sends, SILENCE_NS).map_err(broken("wait for an io_uring"))?;
                loop {
                    let next = self.ring.completion().next();
                    let Some(entry) = next else { break };
                    if cqueue::notif(entry.flags()) {
                        self.given_back(entry.result());
                        continue;
                    }
                    sends -= 1;
                    bytes += self.went(&entry)?;
                    self.count.bytes.store(bytes, std::sync::atomic::Ordering::Relaxed);
                }
            }
        }
        Ok(bytes)
    }

    /// Sends of one chain.
    fn sends(&self) -> usize {
        if self.header.is_some() { 1 } else { self.length }
    }

    fn push(&mut self) -> Result<(), LoadFailure> {
        let (from, bytes) = (self.buffers.pointer(0), self.buffers.block() as u32);
        let (socket, flags) = (types::Fd(self.socket), libc::MSG_WAITALL | libc::MSG_NOSIGNAL);
        let sends = self.sends();
        for number in 1..=sends {
            let entry = match (self.header, self.copied) {
                (Some(many), _) => opcode::SendMsg::new(socket, many).flags(flags as u32).build(),
                (None, true) => opcode::Send::new(socket, from, bytes).flags(flags).build(),
                (None, false) => opcode::SendZc::new(socket, from, bytes)
                    .flags(flags)
                    .buf_index(self.fixed.then_some(0))
                    .zc_flags(REPORT_USAGE)
                    .build(),
            };
            let linked = number < sends;
            let entry = if linked { entry.flags(squeue::Flags::IO_LINK) } else { entry };
            // SAFETY: the buffer and the header live until every completion, and every
            // notification, has been reaped, or for ever when these do not come (`send`); the
            // socket outlives the ring.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|why| (Failure::Failed, format!("cannot queue a send: {why}")))?;
            self.owed += 1;
            if !self.copied {
                add(&self.count.zerocopy_sends, 1);
            }
        }
        Ok(())
    }

    /// A send is over; its bytes.
    fn went(&mut self, entry: &cqueue::Entry) -> Result<u64, LoadFailure> {
        if !cqueue::more(entry.flags()) {
            self.owed -= 1;
        }
        match entry.result() {
            // The one before it in the chain was cut short by a signal.
            result if result == -libc::ECANCELED => {
                if !self.copied {
                    add(&self.count.zerocopy_done, 1);
                }
                Ok(0)
            }
            result if result == -libc::EINVAL && !self.copied => {
                let why = io::Error::from_raw_os_error(libc::EINVAL);
                let what = "send by io_uring without copying (IORING_OP_SEND_ZC, Linux 6.2)";
                Err(unsupported(what, "send-path=uring copies")(why))
            }
            result => u64::try_from(result).map_err(|_| {
                broken("send to a socket by io_uring")(io::Error::from_raw_os_error(-result))
            }),
        }
    }

    /// The kernel is done with the bytes of a send.
    fn given_back(&mut self, result: i32) {
        self.owed -= 1;
        add(&self.count.zerocopy_done, 1);
        if result as u32 & COPIED != 0 {
            add(&self.count.zerocopy_copied, 1);
        }
    }

    /// Waits until the kernel is done with the buffer; false when that takes too long.
    fn settle(&mut self) -> bool {
        let until_ns = monotonic_ns() + DRAINING_NS;
        while self.owed > 0 {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 || wait(&self.ring, 1, left_ns).is_err() {
                return false;
            }
            loop {
                let next = self.ring.completion().next();
                let Some(entry) = next else { break };
                match cqueue::notif(entry.flags()) {
                    true => self.given_back(entry.result()),
                    // What went wrong first is what is told.
                    false => drop(self.went(&entry)),
                }
            }
        }
        true
    }
}

/// Receives until the other side is closed; the bytes that came. `arrived` is told of all bytes so
/// far.
///
/// # Errors
/// With what failed.
pub fn receive(
    work: &NetLoad,
    index: usize,
    go: &dyn Fn() -> bool,
    mut arrived: impl FnMut(u64),
) -> Result<u64, LoadFailure> {
    const NEEDS: &str = "receive by a multishot io_uring (Linux 6.0)";
    const INSTEAD: &str = "receive-path=read needs none";
    let buffers = Buffers::new(usize::from(BUFFERS), BUFFER_BYTES, 4096, true)
        .map_err(|why| (Failure::Failed, why.to_string()))?;
    let mut notes = Vec::new();
    let ring = setup::build(wish(2 * usize::from(BUFFERS)), &mut notes)
        .map_err(unsupported("make an io_uring", INSTEAD))?;
    work.note(notes);
    let mut offered = OfferedBuffers::new(ring, buffers).map_err(unsupported(NEEDS, INSTEAD))?;
    let socket = types::Fd(work.incoming(index).as_raw_fd());
    if !go() {
        return Ok(0);
    }
    let (mut bytes, mut armed) = (0, false);
    loop {
        if !armed {
            let entry = opcode::RecvMulti::new(socket, 0).build();
            // SAFETY: it names no memory but the buffers that are offered, which live as long as
            // the ring; the socket outlives it.
            let pushed = unsafe { offered.ring.submission().push(&entry) };
            pushed.map_err(|why| (Failure::Failed, format!("cannot queue a receive: {why}")))?;
            armed = true;
        }
        wait(&offered.ring, 1, SILENCE_NS).map_err(broken("wait for an io_uring"))?;
        loop {
            let next = offered.ring.completion().next();
            let Some(entry) = next else { break };
            armed &= cqueue::more(entry.flags());
            match entry.result() {
                0 => return Ok(bytes),
                // All buffers were full; they are free again by now.
                result if result == -libc::ENOBUFS => {}
                result if result == -libc::EINVAL => {
                    let why = io::Error::from_raw_os_error(libc::EINVAL);
                    return Err(unsupported(NEEDS, INSTEAD)(why));
                }
                result if result < 0 => {
                    let why = io::Error::from_raw_os_error(-result);
                    return Err(broken("read from a socket by io_uring")(why));
                }
                result => {
                    bytes += result as u64;
                    if let Some(number) = cqueue::buffer_select(entry.flags()) {
                        offered.give(number);
                    }
                    arrived(bytes);
                }
            }
        }
    }
}

/// Buffers that are offered to the kernel by a ring of their own, and the ring that fills them.
struct OfferedBuffers {
    ring: IoUring,
    entries: Arena,
    tail: u16,
    buffers: Buffers,
}

impl OfferedBuffers {
    fn new(ring: IoUring, buffers: Buffers) -> io::Result<OfferedBuffers> {
        let bytes = usize::from(BUFFERS) * size_of::<types::BufRingEntry>();
        let entries = Arena::new(bytes, false).map_err(io::Error::other)?;
        let start = entries.start().as_ptr() as u64;
        // SAFETY: memory for so many entries, which lives until the group is unregistered (`drop`).
        unsafe { ring.submitter().register_buf_ring_with_flags(start, BUFFERS, 0, 0) }?;
        let mut offered = OfferedBuffers { ring, entries, tail: 0, buffers };
        (0..BUFFERS).for_each(|number| offered.give(number));
        Ok(offered)
    }

    /// Gives a buffer to the kernel.
    #[inline]
    fn give(&mut self, number: u16) {
        let first: *mut types::BufRingEntry = self.entries.start().as_ptr().cast();
        let place = usize::from(self.tail % BUFFERS);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the entry lies in the arena and the kernel does not look at it before the tail
        // has passed it; the tail lies in the first entry, where the kernel reads it while we
        // write it (io_uring_buf_ring in linux/io_uring.h), hence the atomic.
        unsafe {
            let entry = &mut *first.add(place);
            entry.set_addr(self.buffers.pointer(u32::from(number)) as u64);
            entry.set_len(self.buffers.block() as u32);
            entry.set_bid(number);
            let tail = types::BufRingEntry::tail(first).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Release);
        }
    }
}

impl Drop for OfferedBuffers {
    fn drop(&mut self) {
        let _ = self.ring.submitter().unregister_buf_ring(0);
    }
}
