//! A shared memory map of each file: reading and writing are copies, page faults are the I/O.
//!
//! An error of the device reaches a map as SIGBUS; see [`faults`].

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::{Backend, Buffers, Completion, Kind, result_of};
use crate::sys::clock;

mod faults;

struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `Mapped::new` made.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Copies between maps and buffers.
pub struct Mapped {
    maps: Vec<Map>,
    buffers: Arc<Buffers>,
    done: Option<Completion>,
}

impl Mapped {
    /// Maps the first `bytes` of each file; with `random`, the kernel is told not to read ahead.
    ///
    /// # Errors
    /// When a file cannot be mapped.
    pub fn new(
        files: &[File],
        bytes: u64,
        writes: bool,
        random: bool,
        buffers: Arc<Buffers>,
    ) -> io::Result<Mapped> {
        faults::watch()?;
        let bytes = bytes as usize;
        let access = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let mut maps = Vec::with_capacity(files.len());
        for file in files {
            // SAFETY: a new mapping at a place the kernel chooses. Others may change the file
            // meanwhile: its bytes are only ever copied, never interpreted.
            let start =
                unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
            let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            maps.push(Map { start, bytes });
            let advice = if random { Advice::Random } else { Advice::Sequential };
            // SAFETY: advice about our own mapping changes no content.
            let _ = unsafe { madvise(start.as_ptr().cast(), bytes, advice) };
        }
        Ok(Mapped { maps, buffers, done: None })
    }

    fn copy(&self, kind: Kind, slot: u32, file: u32, offset: u64) -> io::Result<usize> {
        let length = self.buffers.block();
        let map = self.maps.get(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
        let offset = offset as usize;
        if offset + length > map.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = faults::count();
        // SAFETY: both sides are `length` bytes inside mappings of ours and do not overlap; a page
        // that the device cannot give is replaced by zeros by the handler in `faults`.
        unsafe {
            let place = map.start.as_ptr().add(offset);
            let buffer = self.buffers.pointer(slot);
            match kind {
                Kind::Read => std::ptr::copy_nonoverlapping(place, buffer, length),
                Kind::Write => std::ptr::copy_nonoverlapping(buffer, place, length),
                Kind::Sync => {
                    // msync wants the start of a page.
                    let head = offset % rustix::param::page_size();
                    msync(place.sub(head).cast(), length + head, MsyncFlags::SYNC)?;
                    return Ok(0);
                }
            }
        }
        if faults::count() != before {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(length)
    }
}

impl Backend for Mapped {
    #[inline]
    fn whole(&self) -> i32 {
        self.buffers.block() as i32
    }

    #[inline]
    fn push(&mut self, kind: Kind, slot: u32, file: u32, offset: u64) {
        let result = result_of(self.copy(kind, slot, file, offset));
        self.done = Some(Completion { slot, result });
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

    fn let_go(&mut self) {
        for map in &self.maps {
            // SAFETY: our own shared mapping; its pages come back from the file when touched.
            let _ = unsafe { madvise(map.start.as_ptr().cast(), map.bytes, Advice::LinuxDontNeed) };
        }
    }
}
