//! io_uring: registered files and buffers, submission and reaping in batches.
//!
//! The ring belongs to the thread that makes it (`SINGLE_ISSUER`), and completions are posted only
//! when that thread asks for them (`DEFER_TASKRUN`, Linux 6.1), so that no interrupt breaks into
//! the loop. SQPOLL is never used: a kernel thread that spins takes a processor from the load.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::{IoUring, opcode, squeue, types};

use super::{Backend, Buffers, Completion, IoKind};
use experiment::measurement::Note;
use host::sys::clock;

pub mod setup;

pub use setup::refusal;

/// What an io_uring is asked for when it is made.
#[derive(Clone, Copy, Debug)]
pub struct RingSetup {
    /// I/Os in flight.
    pub depth: u32,
    /// IOPOLL.
    pub poll: bool,
    /// NOPs instead of I/O.
    pub nop: bool,
    /// Waiting with a time limit is needed.
    pub timeouts: bool,
    /// Devices take the buffers' bytes themselves, so that registering spares them the pinning.
    /// The page cache only copies: registered buffers gain it nothing there, and where the
    /// processor has no fast `rep movsb` the kernel's copy to them is slower than that to a
    /// process's memory (x86 `memcpy_orig` against `rep_movs_alternative`: 13 % of a 4 KiB read).
    pub direct: bool,
    /// Flags of each read and write (`RWF_*`, preadv2(2)).
    pub rw_flags: i32,
}

/// How buffers are named to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// By address only.
    No,
    /// All in one registered region.
    Whole,
    /// One region each: a region is at most 1 GiB.
    Each,
}

/// One io_uring, its files and buffers.
pub struct IoUringBackend {
    ring: IoUring,
    /// What io_uring_enter takes: the registered index, or the descriptor.
    enter_fd: RawFd,
    enter_flags: u32,
    pending: u32,
    fds: Vec<RawFd>,
    files_fixed: bool,
    fixed: Fixed,
    nop: bool,
    rw_flags: i32,
    buffers: Arc<Buffers>,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct GetEvents {
    sigmask: u64,
    sigmask_size: u32,
    min_wait_us: u32,
    timespec: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

const ENTER_GETEVENTS: u32 = 1 << 0;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_REGISTERED_RING: u32 = 1 << 4;

impl IoUringBackend {
    /// Makes a ring on the calling thread; the notes say what the kernel did not give.
    ///
    /// # Errors
    /// When there is no ring to be had.
    pub fn new(
        files: &[File],
        buffers: Arc<Buffers>,
        wish: RingSetup,
    ) -> io::Result<(IoUringBackend, Vec<Note>)> {
        let mut notes = Vec::new();
        let ring = setup::build(wish, &mut notes)?;
        let fds: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let files_fixed = !wish.nop && setup::register_files(&ring, &fds, &mut notes);
        let fixed = match wish.direct && !wish.nop {
            false => Fixed::No,
            true => setup::register_buffers(&ring, &buffers, &mut notes),
        };
        let (enter_fd, enter_flags) = match setup::register_self(&ring) {
            Some(index) => (index, ENTER_GETEVENTS | ENTER_REGISTERED_RING),
            None => (ring.as_raw_fd(), ENTER_GETEVENTS),
        };
        let (nop, rw_flags) = (wish.nop, wish.rw_flags);
        let ring = IoUringBackend {
            ring,
            enter_fd,
            enter_flags,
            pending: 0,
            fds,
            files_fixed,
            fixed,
            nop,
            rw_flags,
            buffers,
        };
        Ok((ring, notes))
    }

    #[inline]
    fn entry(&self, kind: IoKind, slot: u32, file: u32, offset: u64) -> squeue::Entry {
        if self.nop {
            return opcode::Nop::new().build();
        }
        // A registered file is a descriptor with a flag and another numbering.
        let (on, flags) = match self.files_fixed {
            true => (types::Fd(file as RawFd), squeue::Flags::FIXED_FILE),
            false => (
                types::Fd(self.fds.get(file as usize).copied().unwrap_or(-1)),
                squeue::Flags::empty(),
            ),
        };
        let buffer = self.buffers.pointer(slot);
        let length = self.buffers.block() as u32;
        let index = if self.fixed == Fixed::Each { slot as u16 } else { 0 };
        let rw = self.rw_flags;
        let entry = match (kind, self.fixed) {
            (IoKind::Read, Fixed::No) => {
                opcode::Read::new(on, buffer, length).offset(offset).rw_flags(rw).build()
            }
            (IoKind::Read, _) => opcode::ReadFixed::new(on, buffer, length, index)
                .offset(offset)
                .rw_flags(rw)
                .build(),
            (IoKind::Write, Fixed::No) => {
                opcode::Write::new(on, buffer, length).offset(offset).rw_flags(rw).build()
            }
            (IoKind::Write, _) => opcode::WriteFixed::new(on, buffer, length, index)
                .offset(offset)
                .rw_flags(rw)
                .build(),
            (IoKind::Sync, _) => opcode::Fsync::new(on).build(),
            (IoKind::SyncData, _) => {
                opcode::Fsync::new(on).flags(types::FsyncFlags::DATASYNC).build()
            }
        };
        entry.flags(flags)
    }

    /// io_uring_enter(2); the number of entries taken.
    #[inline]
    fn enter_raw(
        &self,
        submit: u32,
        want: u32,
        flags: u32,
        arg: *const GetEvents,
        size: usize,
    ) -> io::Result<u32> {
        // SAFETY: the argument is null or a structure of `size` bytes that lives through the call;
        // entries submitted name buffers and files that live as long as this ring.
        let taken = unsafe {
            let flags = self.enter_flags | flags;
            libc::syscall(libc::SYS_io_uring_enter, self.enter_fd, submit, want, flags, arg, size)
        };
        u32::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

impl Backend for IoUringBackend {
    const IS_TIMED: bool = false;

    #[inline]
    fn whole(&self) -> i32 {
        if self.nop { 0 } else { self.buffers.block() as i32 }
    }

    #[inline]
    fn push(&mut self, kind: IoKind, slot: u32, file: u32, offset: u64) {
        let entry = self.entry(kind, slot, file, offset).user_data(u64::from(slot));
        // SAFETY: the buffer is the slot's own until its completion is reaped, and lives, with the
        // file, as long as the ring. The queue holds as many entries as there are I/Os in flight.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            self.pending += 1;
        }
    }

    #[inline]
    fn enter(&mut self, want: u32, until_ns: Option<u64>) -> io::Result<()> {
        let taken = match until_ns {
            None => self.enter_raw(self.pending, want, 0, std::ptr::null(), 0),
            Some(until_ns) => {
                let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
                let limit = Timespec {
                    seconds: (left_ns / 1_000_000_000) as i64,
                    nanoseconds: (left_ns % 1_000_000_000) as i64,
                };
                let timespec = &raw const limit as u64;
                let arg = GetEvents { sigmask: 0, sigmask_size: 0, min_wait_us: 0, timespec };
                let size = size_of::<GetEvents>();
                self.enter_raw(self.pending, want, ENTER_EXT_ARG, &raw const arg, size)
            }
        };
        match taken {
            Ok(taken) => {
                self.pending -= taken.min(self.pending);
                Ok(())
            }
            Err(why) => match why.raw_os_error() {
                // ETIME: the time limit; EAGAIN, EBUSY: no memory or the queue is full until some
                // completions are taken; EINTR: a signal. All are answered by going on.
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(why),
            },
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.enter(0, None)
    }

    #[inline]
    fn reap(&mut self, done: &mut [Completion]) -> usize {
        let mut count = 0;
        let mut queue = self.ring.completion();
        for place in done {
            let Some(entry) = queue.next() else { break };
            *place = Completion { slot: entry.user_data() as u32, result: entry.result() };
            count += 1;
        }
        count
    }
}

impl Drop for IoUringBackend {
    fn drop(&mut self) {
        // A ring is torn down some time after its descriptor is closed, and holds its files until
        // then: a file system could not be unmounted straight after a trial.
        let submitter = self.ring.submitter();
        if self.files_fixed {
            let _ = submitter.unregister_files();
        }
        if self.fixed != Fixed::No {
            let _ = submitter.unregister_buffers();
        }
    }
}
