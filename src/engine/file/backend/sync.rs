//! pread(2) and pwrite(2): one I/O at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::{Backend, Buffers, Completion, Kind, result_of};
use crate::sys::clock;

/// One I/O at a time, done when it is pushed.
pub struct Blocking<'a> {
    files: &'a [File],
    buffers: Arc<Buffers>,
    done: Option<Completion>,
}

impl<'a> Blocking<'a> {
    /// Over these files and buffers.
    pub fn new(files: &'a [File], buffers: Arc<Buffers>) -> Blocking<'a> {
        Blocking { files, buffers, done: None }
    }
}

impl Backend for Blocking<'_> {
    #[inline]
    fn whole(&self) -> i32 {
        self.buffers.block() as i32
    }

    #[inline]
    fn push(&mut self, kind: Kind, slot: u32, file: u32, offset: u64) {
        let Some(file) = self.files.get(file as usize) else { return };
        let (fd, buffer, length) =
            (file.as_raw_fd(), self.buffers.pointer(slot), self.buffers.block());
        // SAFETY: the buffer is `length` bytes long and this slot's alone until it completes, which
        // is before the call returns.
        let status = unsafe {
            match kind {
                Kind::Read => libc::pread(fd, buffer.cast(), length, offset as libc::off_t),
                Kind::Write => libc::pwrite(fd, buffer.cast(), length, offset as libc::off_t),
                Kind::Sync => libc::fsync(fd) as isize,
            }
        };
        let moved = usize::try_from(status).map_err(|_| io::Error::last_os_error());
        self.done = Some(Completion { slot, result: result_of(moved) });
    }

    #[inline]
    fn enter(&mut self, _want: u32, until_ns: Option<u64>) -> io::Result<()> {
        if let (None, Some(until_ns)) = (self.done, until_ns) {
            clock::sleep_until(until_ns);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut [Completion]) -> usize {
        match (self.done.take(), done.first_mut()) {
            (Some(completion), Some(place)) => {
                *place = completion;
                1
            }
            _ => 0,
        }
    }
}
