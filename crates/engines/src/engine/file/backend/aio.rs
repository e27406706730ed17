//! io_submit(2), the older asynchronous interface of Linux (include/uapi/linux/aio_abi.h).
//!
//! It is asynchronous for direct I/O only: buffered I/O is done before io_submit returns.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::{Backend, Buffers, Completion, IoKind};
use host::sys::clock;

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;

/// `struct iocb` of a little-endian machine.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// A context of the older interface.
pub struct Aio<'a> {
    context: libc::c_ulong,
    files: &'a [File],
    /// Of each read and write (`RWF_*`, preadv2(2)).
    rw_flags: u32,
    buffers: Arc<Buffers>,
    iocbs: Box<[Iocb]>,
    /// Slots to be submitted.
    queued: Vec<u32>,
    /// What io_submit takes: pointers into `iocbs`.
    pointers: Vec<*mut Iocb>,
    events: Box<[IoEvent]>,
    came: usize,
}

impl<'a> Aio<'a> {
    /// A context for as many I/Os as there are buffers, `depth` of them at once. Each read and
    /// write has these flags (`RWF_*`).
    ///
    /// # Errors
    /// The kernel's; EAGAIN when `fs.aio-max-nr` is used up.
    pub fn new(
        files: &'a [File],
        buffers: Arc<Buffers>,
        depth: u32,
        rw_flags: i32,
    ) -> io::Result<Aio<'a>> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: io_setup writes the new context's handle to the address it is given.
        let status = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = buffers.count();
        Ok(Aio {
            context,
            files,
            rw_flags: rw_flags as u32,
            buffers,
            iocbs: vec![Iocb::default(); count].into(),
            queued: Vec::with_capacity(count),
            pointers: Vec::with_capacity(count),
            events: vec![IoEvent::default(); depth as usize].into(),
            came: 0,
        })
    }

    fn submit(&mut self) -> io::Result<()> {
        while !self.queued.is_empty() {
            self.pointers.clear();
            let first = self.iocbs.as_mut_ptr();
            // SAFETY: slots are below the number of control blocks.
            let place = |slot: &u32| unsafe { first.add(*slot as usize) };
            self.pointers.extend(self.queued.iter().map(place));
            // SAFETY: the pointers and the blocks behind them live through the call; buffers belong
            // to the kernel until their event comes.
            let taken = unsafe {
                let (count, list) = (self.pointers.len(), self.pointers.as_mut_ptr());
                libc::syscall(libc::SYS_io_submit, self.context, count, list)
            };
            if taken < 0 {
                let why = io::Error::last_os_error();
                match why.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    // Room comes with the next completions.
                    Some(libc::EAGAIN) => return Ok(()),
                    _ => return Err(why),
                }
            }
            self.queued.drain(..taken as usize);
        }
        Ok(())
    }
}

impl Backend for Aio<'_> {
    #[inline]
    fn whole(&self) -> i32 {
        self.buffers.block() as i32
    }

    #[inline]
    fn push(&mut self, kind: IoKind, slot: u32, file: u32, offset: u64) {
        let (place, block, rw) = (self.buffers.pointer(slot), self.buffers.block(), self.rw_flags);
        let (opcode, buffer, bytes, rw_flags) = match kind {
            IoKind::Read => (IOCB_CMD_PREAD, place, block, rw),
            IoKind::Write => (IOCB_CMD_PWRITE, place, block, rw),
            IoKind::Sync => (IOCB_CMD_FSYNC, std::ptr::null_mut(), 0, 0),
            IoKind::SyncData => (IOCB_CMD_FDSYNC, std::ptr::null_mut(), 0, 0),
        };
        let Some(file) = self.files.get(file as usize) else { return };
        self.iocbs[slot as usize] = Iocb {
            data: u64::from(slot),
            rw_flags,
            opcode,
            fd: file.as_raw_fd() as u32,
            buffer: buffer as u64,
            bytes: bytes as u64,
            offset: if matches!(kind, IoKind::Sync | IoKind::SyncData) { 0 } else { offset as i64 },
            ..Iocb::default()
        };
        self.queued.push(slot);
    }

    fn enter(&mut self, want: u32, until_ns: Option<u64>) -> io::Result<()> {
        self.submit()?;
        let mut timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut limit = std::ptr::null_mut();
        if let Some(until_ns) = until_ns {
            let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
            timeout.tv_sec = (left_ns / 1_000_000_000) as _;
            timeout.tv_nsec = (left_ns % 1_000_000_000) as _;
            limit = &raw mut timeout;
        }
        let room = self.events.len();
        // SAFETY: the events array has `room` places; the timeout lives through the call.
        let came = unsafe {
            let events = self.events.as_mut_ptr();
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                i64::from(want),
                room,
                events,
                limit,
            )
        };
        if came < 0 {
            let why = io::Error::last_os_error();
            return if why.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(why) };
        }
        self.came = came as usize;
        Ok(())
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.submit()
    }

    #[inline]
    fn reap(&mut self, done: &mut [Completion]) -> usize {
        let came = std::mem::take(&mut self.came).min(done.len());
        for (place, event) in done.iter_mut().zip(&self.events[..came]) {
            *place = Completion { slot: event.data as u32, result: event.result as i32 };
        }
        came
    }
}

impl Drop for Aio<'_> {
    fn drop(&mut self) {
        // SAFETY: our own context; io_destroy waits for what is in flight, so that no buffer is
        // written to after it is unmapped.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
