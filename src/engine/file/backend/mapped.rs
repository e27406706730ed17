//! A shared memory map of each file: reading and writing are copies, page faults are the I/O.
//!
//! An error of the device reaches a map as SIGBUS; see [`faults`].

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::Kind;
use super::single::Medium;

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
pub struct Mapped<'a> {
    maps: Vec<Map>,
    files: &'a [File],
    access: ProtFlags,
}

impl Mapped<'_> {
    /// Maps the first `bytes` of each file; with `random`, the kernel is told not to read ahead.
    ///
    /// # Errors
    /// When a file cannot be mapped.
    pub fn new(files: &[File], bytes: u64, writes: bool, random: bool) -> io::Result<Mapped<'_>> {
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
        Ok(Mapped { maps, files, access })
    }

    /// Maps the file's own pages where the handler has put others, so that the next reading asks
    /// the device again.
    fn restore(&self, file: usize, offset: usize, length: usize) -> io::Result<()> {
        let (Some(map), Some(file)) = (self.maps.get(file), self.files.get(file)) else {
            return Ok(());
        };
        let start = offset - offset % rustix::param::page_size();
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: a part of our own mapping, in which nobody holds a reference, gets the pages of
        // the same file at the same place that it was made with.
        unsafe {
            let place = map.start.as_ptr().add(start).cast();
            mmap(place, offset + length - start, self.access, flags, file, start as u64)?;
        }
        Ok(())
    }
}

impl Medium for Mapped<'_> {
    #[inline]
    fn act(&mut self, kind: Kind, buffer: &mut [u8], file: u32, offset: u64) -> io::Result<usize> {
        let length = buffer.len();
        let map = self.maps.get(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
        let offset = offset as usize;
        if offset + length > map.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: within the mapping, as just checked.
        let place = unsafe { map.start.as_ptr().add(offset) };
        let (from, to) = match kind {
            Kind::Read => (place.cast_const(), buffer.as_mut_ptr()),
            Kind::Write => (buffer.as_ptr(), place),
            Kind::Sync => {
                // msync wants the start of a page.
                let head = offset % rustix::param::page_size();
                // SAFETY: a part of our own mapping, from the start of the page that `place` is in.
                unsafe { msync(place.sub(head).cast(), length + head, MsyncFlags::SYNC) }?;
                return Ok(0);
            }
        };
        // SAFETY: both sides are `length` bytes inside mappings of ours and do not overlap; a page
        // that the device cannot give is replaced by zeros by the handler in `faults`.
        let copy = || unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
        let ((), failed) = faults::during(copy);
        if failed {
            self.restore(file as usize, offset, length)?;
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(length)
    }

    fn let_go(&mut self) {
        for map in &self.maps {
            // SAFETY: our own shared mapping; its pages come back from the file when touched.
            let _ = unsafe { madvise(map.start.as_ptr().cast(), map.bytes, Advice::LinuxDontNeed) };
        }
    }
}
