//! io_uring from a file to a socket: several reads in flight into registered buffers, and sends
//! from the same buffers, in order, one at a time.
//!
//! Buffers are used in turn, so that the order of the reads is that of the sends. A buffer is free
//! again when its send is over, or, without copying, when the kernel has said that it is done with
//! its bytes, and whether it copied them after all.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use io_uring::{IoUring, cqueue, opcode, types};

use super::{Failure, FilePosition, LoadFailure, SenderRound, cut};
use crate::engine::file::backend::Buffers;
use crate::engine::file::backend::ring::{Fixed, setup};
use crate::engine::net::job::SendPath;
use crate::engine::net::ring::{COPIED, DRAINING_NS, REPORT_USAGE, SILENCE_NS, wait, wish};
use crate::engine::net::work::{add, broken};
use host::sys::clock::monotonic_ns;

/// Whose completion it is; the rest of the user data is the number of the buffer.
const OF_SEND: u64 = 1 << 32;

/// What is known of a buffer: whether it is read into, full, or still being sent.
#[derive(Clone, Copy, Debug, Default)]
struct BufferState {
    /// Its bytes have come, and are not sent yet.
    full: bool,
    /// The kernel reads into it.
    reading: bool,
    /// Notifications that are to come before it may be written to.
    owed: u32,
    /// Where its bytes are from.
    place: FilePosition,
}

/// Sends files by a ring.
///
/// # Errors
/// With what failed.
pub fn send(round: SenderRound<'_>, go: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    let served = round.served;
    let (depth, block) = (round.work.job.depth, served.job.block_bytes as usize);
    let align = served.memory_align as usize;
    let buffers = Buffers::new(depth, block, align, served.job.huge_pages)
        .map_err(|why| (Failure::Failed, why.to_string()))?;
    let buffers = Arc::new(buffers);
    let mut notes = Vec::new();
    let made = setup::build(wish(depth + 1), &mut notes).map_err(broken("make an io_uring"))?;
    let fixed = setup::register_buffers(&made, &buffers, &mut notes);
    round.work.note(notes);
    let mut ring = FileSendRing {
        round,
        ring: made,
        fixed: fixed != Fixed::No,
        one_region: fixed == Fixed::Whole,
        buffers: buffers.clone(),
        slots: vec![BufferState::default(); depth],
        next_read: 0,
        next_send: 0,
        sent_of_slot: 0,
        in_flight: 0,
        sending: false,
        ended: false,
    };
    if !go() {
        return Ok(0);
    }
    let done = ring.run();
    if done.is_err() && !ring.drain() {
        // The kernel may write to them still.
        std::mem::forget(buffers);
    }
    done.map(|()| ring.round.sent_bytes)
}

/// An io_uring that reads files and sends them.
struct FileSendRing<'a> {
    round: SenderRound<'a>,
    ring: IoUring,
    fixed: bool,
    one_region: bool,
    buffers: Arc<Buffers>,
    slots: Vec<BufferState>,
    next_read: usize,
    next_send: usize,
    sent_of_slot: usize,
    /// Entries of which a completion is to come.
    in_flight: u32,
    sending: bool,
    /// All of the files is read: what is in the buffers is sent before the next round.
    ended: bool,
}

impl FileSendRing<'_> {
    fn run(&mut self) -> Result<(), LoadFailure> {
        loop {
            let over = self.round.over();
            if !over && !self.ended {
                self.read_ahead()?;
            }
            self.send_next()?;
            if self.in_flight == 0 {
                if over {
                    return Ok(());
                }
                self.round.wrap(|| ());
                self.ended = false;
                continue;
            }
            wait(&self.ring, 1, SILENCE_NS).map_err(broken("wait for an io_uring"))?;
            self.reap()?;
        }
    }

    fn push(&mut self, entry: &io_uring::squeue::Entry) -> Result<(), LoadFailure> {
        // SAFETY: the buffer that the entry names is the slot's own until its completion, and its
        // notification where one follows, have been reaped; file and socket outlive the ring. When
        // that cannot be waited for the buffers are never freed (`send`).
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|why| (Failure::Failed, format!("cannot queue for an io_uring: {why}")))?;
        self.in_flight += 1;
        Ok(())
    }

    /// Reads into every buffer that is free, in turn.
    fn read_ahead(&mut self) -> Result<(), LoadFailure> {
        loop {
            let number = self.next_read;
            let slot = self.slots[number];
            if slot.full || slot.reading || slot.owed > 0 {
                return Ok(());
            }
            let place = self.round.at;
            let file = types::Fd(self.round.file().as_raw_fd());
            let (to, length) = (self.buffers.pointer(number as u32), self.buffers.block() as u32);
            let entry = match self.fixed {
                true => opcode::ReadFixed::new(file, to, length, self.region(number))
                    .offset(place.offset)
                    .build(),
                false => opcode::Read::new(file, to, length).offset(place.offset).build(),
            };
            self.slots[number] = BufferState { reading: true, place, ..slot };
            self.push(&entry.user_data(number as u64))?;
            self.next_read = (number + 1) % self.slots.len();
            if self.round.read(length as usize) && self.round.served.job.at_wrap().forget {
                self.ended = true;
                return Ok(());
            }
        }
    }

    fn region(&self, number: usize) -> u16 {
        if self.one_region { 0 } else { number as u16 }
    }

    /// Sends what is next, when it has come and nothing else is being sent.
    fn send_next(&mut self) -> Result<(), LoadFailure> {
        let number = self.next_send;
        if self.sending || !self.slots[number].full {
            return Ok(());
        }
        let socket = types::Fd(self.round.socket.as_raw_fd());
        let done = self.sent_of_slot;
        let length = (self.buffers.block() - done) as u32;
        // SAFETY: less than a block from the start of the slot's buffer.
        let from = unsafe { self.buffers.pointer(number as u32).add(done) };
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = match self.round.work.job.send {
            SendPath::UringZerocopy => {
                add(&self.round.count.zerocopy_sends, 1);
                let region = self.fixed.then(|| self.region(number));
                opcode::SendZc::new(socket, from, length)
                    .flags(flags)
                    .buf_index(region)
                    .zc_flags(REPORT_USAGE)
                    .build()
            }
            _ => opcode::Send::new(socket, from, length).flags(flags).build(),
        };
        self.sending = true;
        self.push(&entry.user_data(OF_SEND | number as u64))
    }

    fn reap(&mut self) -> Result<(), LoadFailure> {
        loop {
            let next = self.ring.completion().next();
            let Some(entry) = next else { return Ok(()) };
            let number = (entry.user_data() & (OF_SEND - 1)) as usize;
            match entry.user_data() & OF_SEND {
                0 => self.came(number, entry.result())?,
                _ if cqueue::notif(entry.flags()) => self.given_back(number, entry.result()),
                _ => self.went(number, entry.result(), cqueue::more(entry.flags()))?,
            }
        }
    }

    /// A read is over.
    fn came(&mut self, number: usize, result: i32) -> Result<(), LoadFailure> {
        self.in_flight -= 1;
        let slot = &mut self.slots[number];
        slot.reading = false;
        let place = slot.place;
        match usize::try_from(result) {
            Ok(came) if came == self.buffers.block() => {
                slot.full = true;
                Ok(())
            }
            Ok(_) => Err(self.round.broken(place, &cut())),
            Err(_) => Err(self.round.broken(place, &io::Error::from_raw_os_error(-result))),
        }
    }

    /// A send is over; `more` when a notification follows.
    fn went(&mut self, number: usize, result: i32, more: bool) -> Result<(), LoadFailure> {
        self.sending = false;
        let slot = &mut self.slots[number];
        match more {
            // The notification is in flight instead.
            true => slot.owed += 1,
            false => self.in_flight -= 1,
        }
        if result <= 0 {
            let why = io::Error::from_raw_os_error(-result);
            return Err(broken("send to a socket")(why));
        }
        self.sent_of_slot += result as usize;
        self.round.sent_bytes += result as u64;
        self.round.count.bytes.store(self.round.sent_bytes, Relaxed);
        if self.sent_of_slot >= self.buffers.block() {
            slot.full = false;
            self.sent_of_slot = 0;
            self.next_send = (number + 1) % self.slots.len();
        }
        Ok(())
    }

    /// The kernel is done with the bytes of a send.
    fn given_back(&mut self, number: usize, result: i32) {
        self.in_flight -= 1;
        self.slots[number].owed -= 1;
        add(&self.round.count.zerocopy_done, 1);
        if result as u32 & COPIED != 0 {
            add(&self.round.count.zerocopy_copied, 1);
        }
    }

    /// After a failure: waits until nothing is in flight; false when that takes too long.
    fn drain(&mut self) -> bool {
        let _ = self.round.socket.shutdown(std::net::Shutdown::Both);
        let until_ns = monotonic_ns() + DRAINING_NS;
        while self.in_flight > 0 {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 || wait(&self.ring, 1, left_ns).is_err() {
                return false;
            }
            // What went wrong first is what is told.
            let _ = self.reap();
        }
        true
    }
}
