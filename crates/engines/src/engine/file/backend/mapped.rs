//! A shared memory map of each file: reading and writing are copies, page faults are the I/O.
//!
//! Bytes that are to be checked are checked where they lie, without a copy.
//!
//! An error of the device reaches a map as SIGBUS; see [`faults`].

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::IoKind;
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
    /// What of each file is mapped begins here, bytes.
    first: u64,
    files: &'a [File],
    access: ProtFlags,
}

impl Mapped<'_> {
    /// Where so many bytes of a file lie.
    #[inline]
    fn place(&self, length: usize, file: u32, offset: u64) -> io::Result<*mut u8> {
        let map = self.maps.get(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
        let inside = offset.checked_sub(self.first).ok_or(io::ErrorKind::InvalidInput)?;
        let offset = inside as usize;
        if offset + length > map.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: within the mapping, as just checked.
        Ok(unsafe { map.start.as_ptr().add(offset) })
    }

    /// Maps `bytes` of each file from byte `first` on, the start of a page; with `random`, the
    /// kernel is told not to read ahead.
    ///
    /// # Errors
    /// When a file cannot be mapped.
    pub fn new(
        files: &[File],
        (first, bytes): (u64, u64),
        writes: bool,
        random: bool,
    ) -> io::Result<Mapped<'_>> {
        faults::watch()?;
        let bytes = bytes as usize;
        let access = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let mut maps = Vec::with_capacity(files.len());
        for file in files {
            // SAFETY: a new mapping at a place the kernel chooses. Others may change the file
            // meanwhile: its bytes are only ever copied, or summed up as in `see`.
            let start = unsafe {
                mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, first)
            }?;
            let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            maps.push(Map { start, bytes });
            let advice = if random { Advice::Random } else { Advice::Sequential };
            // SAFETY: advice about our own mapping changes no content.
            let _ = unsafe { madvise(start.as_ptr().cast(), bytes, advice) };
        }
        Ok(Mapped { maps, first, files, access })
    }

    /// write(2) of so many bytes of a file from where they are mapped. What the device cannot give
    /// is EFAULT, as the kernel does the reading.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn write_to(
        &self,
        to: BorrowedFd<'_>,
        length: usize,
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        let from = self.place(length, file, offset)?;
        // SAFETY: `length` bytes inside a mapping of ours; the kernel reads them and we do not.
        let went = unsafe { libc::write(to.as_raw_fd(), from.cast_const().cast(), length) };
        usize::try_from(went).map_err(|_| io::Error::last_os_error())
    }

    /// Lets go of the pages of all maps, so that they can be dropped from memory.
    pub fn unmap_pages(&self) {
        for map in &self.maps {
            // SAFETY: our own shared mapping; its pages come back from the file when touched.
            let _ = unsafe { madvise(map.start.as_ptr().cast(), map.bytes, Advice::LinuxDontNeed) };
        }
    }

    /// The error of a read or write in which a page was missing; its place is made good first.
    #[cold]
    fn failed(&self, length: usize, file: u32, offset: u64) -> io::Error {
        match self.restore(file as usize, offset as usize, length) {
            Ok(()) => io::Error::from_raw_os_error(libc::EIO),
            Err(why) => why,
        }
    }

    /// Maps the file's own pages where the handler has put others, so that the next reading asks
    /// the device again.
    fn restore(&self, file: usize, offset: usize, length: usize) -> io::Result<()> {
        let (Some(map), Some(file)) = (self.maps.get(file), self.files.get(file)) else {
            return Ok(());
        };
        let offset = offset - self.first as usize;
        let start = offset - offset % rustix::param::page_size();
        let at = self.first + start as u64;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: a part of our own mapping, in which nobody holds a reference, gets the pages of
        // the same file at the same place that it was made with.
        unsafe {
            let place = map.start.as_ptr().add(start).cast();
            mmap(place, offset + length - start, self.access, flags, file, at)?;
        }
        Ok(())
    }
}

impl Medium for Mapped<'_> {
    #[inline]
    fn act(
        &mut self,
        kind: IoKind,
        buffer: &mut [u8],
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        let length = buffer.len();
        let place = self.place(length, file, offset)?;
        let (from, to) = match kind {
            IoKind::Read => (place.cast_const(), buffer.as_mut_ptr()),
            IoKind::Write => (buffer.as_ptr(), place),
            IoKind::Sync | IoKind::SyncData => {
                // msync wants the start of a page.
                let head = place.addr() % rustix::param::page_size();
                // SAFETY: a part of our own mapping, from the start of the page that `place` is in.
                unsafe { msync(place.sub(head).cast(), length + head, MsyncFlags::SYNC) }?;
                return Ok(0);
            }
        };
        // SAFETY: both sides are `length` bytes inside mappings of ours and do not overlap; a page
        // that the device cannot give is replaced by zeros by the handler in `faults`.
        let copy = || unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
        let ((), failed) = faults::during(copy);
        match failed {
            true => Err(self.failed(length, file, offset)),
            false => Ok(length),
        }
    }

    #[inline]
    fn see(
        &mut self,
        length: usize,
        file: u32,
        offset: u64,
        right: impl FnOnce(&[u8]) -> bool,
    ) -> Option<io::Result<bool>> {
        let place = match self.place(length, file, offset) {
            Ok(place) => place.cast_const(),
            Err(why) => return Some(Err(why)),
        };
        let (right, failed) = faults::during(|| {
            // SAFETY: `length` bytes inside a mapping of ours that are initialised, by the file or
            // by the handler in `faults`, and that nobody in this process writes to: a trial that
            // checks its reads writes nothing. Others may change the file, and the handler a page,
            // while they are seen. That is a race we cannot forbid; `right` only compares and sums
            // up bytes, of which any value is good, at places that do not depend on them. A torn
            // view makes it say `false`, and what is told of then comes from a copy. The compiler
            // does not know where the bytes are from. The slice ends here, before any `restore`.
            let bytes = unsafe { std::slice::from_raw_parts(black_box(place), length) };
            black_box(right(bytes))
        });
        Some(match failed {
            true => Err(self.failed(length, file, offset)),
            false => Ok(right),
        })
    }

    fn let_go(&mut self) {
        self.unmap_pages();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    use super::*;
    use crate::engine::file::backend::single::Single;
    use crate::engine::file::backend::{Backend, Buffers, Completion, InPlaceVerdict};

    const PAGE: u64 = 4096;

    /// A file of four pages of 1, 2, 3 and 4, read page by page.
    fn in_a_map(then: impl FnOnce(&File, &mut Single<Mapped<'_>>, &Buffers)) {
        let files = [tempfile::tempfile().unwrap()];
        for page in 0..4 {
            files[0].write_all_at(&[page + 1; PAGE as usize], u64::from(page) * PAGE).unwrap();
        }
        let buffers = Arc::new(Buffers::new(1, PAGE as usize, PAGE as usize, false).unwrap());
        let mapped = Mapped::new(&files, (0, 4 * PAGE), false, true).unwrap();
        then(&files[0], &mut Single::new(mapped, buffers.clone()), &buffers);
    }

    /// What is found of all bytes of a page being `byte`, and the result of the read.
    fn seen(mapped: &mut Single<Mapped<'_>>, page: u64, byte: u8) -> (InPlaceVerdict, i32) {
        let right = |bytes: &[u8]| bytes.iter().all(|it| *it == byte);
        let seen = mapped.push_seen(0, 0, page * PAGE, right);
        let mut done = [Completion::default()];
        assert_eq!(mapped.reap(&mut done), 1);
        (seen, done[0].result)
    }

    fn buffer(buffers: &Buffers) -> Vec<u8> {
        // SAFETY: nothing is in flight, and the slice is gone at once.
        unsafe { buffers.slice(0) }.to_vec()
    }

    #[test]
    fn what_is_right_where_it_lies_is_not_copied_and_what_is_wrong_is() {
        in_a_map(|file, mapped, buffers| {
            assert_eq!(seen(mapped, 1, 2), (InPlaceVerdict::Right, 4096));
            assert_eq!(buffer(buffers), [0; PAGE as usize]);
            file.write_all_at(&[2 ^ 0x10], PAGE + 1234).unwrap();
            assert_eq!(seen(mapped, 1, 2), (InPlaceVerdict::Wrong, 4096));
            let copy = buffer(buffers);
            assert_eq!((copy[1233], copy[1234], copy[1235]), (2, 0x12, 2));
            assert_eq!(seen(mapped, 2, 3), (InPlaceVerdict::Right, 4096));
            assert_eq!(buffer(buffers), copy);
        });
    }

    /// The handler's zeros are no bytes of the file, even when they are just what was expected.
    #[test]
    fn a_page_that_cannot_be_read_is_an_error_whatever_was_seen_and_reading_goes_on() {
        in_a_map(|file, mapped, buffers| {
            file.set_len(2 * PAGE).unwrap();
            for byte in [0, 3, 0] {
                assert_eq!(seen(mapped, 2, byte), (InPlaceVerdict::Nothing, -libc::EIO));
            }
            assert_eq!(seen(mapped, 1, 2), (InPlaceVerdict::Right, 4096));
            assert_eq!(seen(mapped, 3, 0), (InPlaceVerdict::Nothing, -libc::EIO));
            assert_eq!(buffer(buffers), [0; PAGE as usize]);
            // The file's own pages are there again, not the handler's.
            file.write_all_at(&[9; PAGE as usize], 2 * PAGE).unwrap();
            assert_eq!(seen(mapped, 2, 9), (InPlaceVerdict::Right, 4096));
        });
    }

    #[test]
    fn nothing_is_seen_behind_the_end_of_a_map() {
        in_a_map(|_, mapped, _| {
            let (seen, result) = seen(mapped, 4, 0);
            assert!(seen == InPlaceVerdict::Nothing && result < 0, "{result}");
        });
    }
}
