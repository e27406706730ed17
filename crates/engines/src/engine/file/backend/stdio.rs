//! The C library's FILE: fread(3) and fwrite(3) of a block, or getc(3) and putc(3) of each byte.
//!
//! What the old benchmarks measure besides the kernel: a copy through a buffer of the library's,
//! and, byte by byte, a call for each. Errors of the library are the kernel's, by errno. One thread
//! uses one FILE, so the variants that take no lock are called where there are such.

use std::ffi::c_int;
use std::io;
use std::os::fd::IntoRawFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::IoKind;
use super::single::Medium;
use host::sys::beneath::Spot;

// Not in the crate `libc`; POSIX.1-2001, in glibc and musl alike.
unsafe extern "C" {
    fn getc_unlocked(stream: *mut libc::FILE) -> c_int;
    fn putc_unlocked(byte: c_int, stream: *mut libc::FILE) -> c_int;
}

/// One file, opened by itself: closing it is the last close of a writer.
struct StdioFile {
    file: *mut libc::FILE,
    /// Where the next byte comes from or goes to.
    at: u64,
    /// The library's buffer, of one block; empty when it is left to the library.
    buffer: Vec<u8>,
}

impl StdioFile {
    fn open(spot: &Spot, writes: bool, buffer_bytes: usize) -> io::Result<StdioFile> {
        let flags = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let file = spot.open(flags, Mode::empty())?.into_raw_fd();
        let mode = if writes { c"r+" } else { c"r" };
        // SAFETY: the descriptor is open, ours alone, and the FILE's from here on; the mode is one
        // of fopen's and no other than the descriptor's.
        let stream = unsafe { libc::fdopen(file, mode.as_ptr()) };
        if stream.is_null() {
            let why = io::Error::last_os_error();
            // SAFETY: no FILE was made, so the descriptor is ours still.
            unsafe { libc::close(file) };
            return Err(why);
        }
        let mut opened = StdioFile { file: stream, at: 0, buffer: vec![0; buffer_bytes] };
        if buffer_bytes > 0 {
            let start = opened.buffer.as_mut_ptr().cast();
            // SAFETY: nothing was read or written yet; the buffer lives on the heap, is touched by
            // nobody else, and is freed after the FILE is closed.
            let set = unsafe { libc::setvbuf(opened.file, start, libc::_IOFBF, buffer_bytes) };
            if set != 0 {
                return Err(io::Error::other("setvbuf refused a buffer of one block"));
            }
        }
        Ok(opened)
    }

    /// Closes the FILE; what was written goes to the kernel first.
    fn close(&mut self) -> io::Result<()> {
        let file = std::mem::replace(&mut self.file, std::ptr::null_mut());
        if file.is_null() {
            return Ok(());
        }
        // SAFETY: an open FILE, which nobody uses after this: the field is null now.
        done(unsafe { libc::fclose(file) })
    }

    fn write_out(&mut self) -> io::Result<()> {
        if self.file.is_null() {
            return Ok(());
        }
        // SAFETY: an open FILE.
        done(unsafe { libc::fflush(self.file) })
    }

    fn must_be_open(&self) -> io::Result<()> {
        if self.file.is_null() { Err(io::Error::from_raw_os_error(libc::EBADF)) } else { Ok(()) }
    }

    fn sync(&mut self, data_alone: bool) -> io::Result<()> {
        self.must_be_open()?;
        self.write_out()?;
        // SAFETY: an open FILE, as was just asked.
        let file = unsafe { libc::fileno(self.file) };
        done(match data_alone {
            // SAFETY: it takes any descriptor.
            true => unsafe { libc::fdatasync(file) },
            // SAFETY: it takes any descriptor.
            false => unsafe { libc::fsync(file) },
        })
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.must_be_open()?;
        if self.at != offset {
            // SAFETY: an open FILE.
            done(unsafe { libc::fseeko(self.file, offset as libc::off_t, libc::SEEK_SET) })?;
            self.at = offset;
        }
        Ok(())
    }
}

impl Drop for StdioFile {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// 0 of the C library is success; else errno says why.
fn done(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Files by the C library; with `BYTES`, each byte by a call of its own.
pub struct Stdio<const BYTES: bool> {
    streams: Vec<StdioFile>,
    spots: Vec<Spot>,
    writes: bool,
    buffer_bytes: usize,
}

impl<const BYTES: bool> Stdio<BYTES> {
    /// Opens the files. Blocks go through a buffer of one block, as iozone sets it
    /// (`setvbuf(stream, stdio_buf, _IOFBF, reclen)`); bytes through the library's own, as in
    /// bonnie.
    ///
    /// # Errors
    /// When a file cannot be opened.
    pub fn new(paths: &[PathBuf], writes: bool, block: usize) -> io::Result<Stdio<BYTES>> {
        let buffer_bytes = if BYTES { 0 } else { block };
        let spots: Result<_, _> = paths.iter().map(|path| Spot::find(path)).collect();
        let mut stdio = Stdio { streams: Vec::new(), spots: spots?, writes, buffer_bytes };
        stdio.reopen()?;
        Ok(stdio)
    }
}

impl<const BYTES: bool> Medium for Stdio<BYTES> {
    #[inline]
    fn act(
        &mut self,
        kind: IoKind,
        buffer: &mut [u8],
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        let stream = self.streams.get_mut(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
        if matches!(kind, IoKind::Sync | IoKind::SyncData) {
            return stream.sync(kind == IoKind::SyncData).map(|()| 0);
        }
        stream.seek(offset)?;
        let (start, length) = (buffer.as_mut_ptr(), buffer.len());
        let moved = match (kind, BYTES) {
            // SAFETY: an open FILE, as `seek` has seen, and a buffer of `length` bytes.
            (IoKind::Read, false) => unsafe { libc::fread(start.cast(), 1, length, stream.file) },
            // SAFETY: it takes any descriptor.
            (_, false) => unsafe { libc::fwrite(start.cast(), 1, length, stream.file) },
            (IoKind::Read, true) => get(stream.file, buffer),
            (_, true) => put(stream.file, buffer),
        };
        stream.at += moved as u64;
        // SAFETY: an open FILE.
        if moved < length && unsafe { libc::ferror(stream.file) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(moved)
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.streams.iter_mut().try_for_each(StdioFile::write_out)
    }

    fn close(&mut self) -> io::Result<()> {
        self.streams.iter_mut().try_for_each(StdioFile::close)
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.streams.clear();
        for spot in &self.spots {
            self.streams.push(StdioFile::open(spot, self.writes, self.buffer_bytes)?);
        }
        Ok(())
    }
}

/// Bytes from an open FILE, each by getc; how many came.
#[inline]
fn get(file: *mut libc::FILE, buffer: &mut [u8]) -> usize {
    let mut got = 0;
    for place in buffer {
        // SAFETY: an open FILE that only this thread uses.
        match unsafe { getc_unlocked(file) } {
            libc::EOF => break,
            byte => *place = byte as u8,
        }
        got += 1;
    }
    got
}

/// Bytes to an open FILE, each by putc; how many went.
#[inline]
fn put(file: *mut libc::FILE, buffer: &[u8]) -> usize {
    let mut gone = 0;
    for &byte in buffer {
        // SAFETY: an open FILE that only this thread uses.
        if unsafe { putc_unlocked(c_int::from(byte), file) } == libc::EOF {
            break;
        }
        gone += 1;
    }
    gone
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures and looks at what was written")]
mod tests {
    use super::*;

    const BLOCK: usize = 8192;

    fn block(seed: usize) -> Vec<u8> {
        (0..BLOCK).map(|at| (at * 7 + seed * 31) as u8).collect()
    }

    fn goes_through<const BYTES: bool>() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, [0xAA; 4]).unwrap();
        let mut writer = Stdio::<BYTES>::new(std::slice::from_ref(&path), true, BLOCK).unwrap();
        for number in 0..3 {
            let offset = (number * BLOCK) as u64;
            let wrote = writer.act(IoKind::Write, &mut block(number), 0, offset);
            assert_eq!(wrote.unwrap(), BLOCK);
        }
        writer.write_out().unwrap();
        let all = [block(0), block(1), block(2)].concat();
        assert_eq!(std::fs::read(&path).unwrap(), all);
        // The second round begins at the start again, through a new FILE.
        writer.close().unwrap();
        assert!(writer.act(IoKind::Write, &mut block(9), 0, 0).is_err(), "it is closed");
        assert!(writer.act(IoKind::Sync, &mut [], 0, 0).is_err(), "so there is nothing to sync");
        writer.reopen().unwrap();
        writer.act(IoKind::Write, &mut block(9), 0, 0).unwrap();
        assert_eq!(writer.act(IoKind::Sync, &mut [], 0, 0).unwrap(), 0);
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap()[..BLOCK], block(9));
        let mut reader = Stdio::<BYTES>::new(std::slice::from_ref(&path), false, BLOCK).unwrap();
        let mut buffer = vec![0; BLOCK];
        for number in [0, 1, 2, 1] {
            let offset = (number * BLOCK) as u64;
            assert_eq!(reader.act(IoKind::Read, &mut buffer, 0, offset).unwrap(), BLOCK);
            assert_eq!(buffer, block(if number == 0 { 9 } else { number }));
        }
        let beyond = reader.act(IoKind::Read, &mut buffer, 0, 2 * BLOCK as u64 + 100).unwrap();
        assert_eq!(beyond, BLOCK - 100, "the end of the file is a short read");
        assert!(reader.act(IoKind::Write, &mut buffer, 0, 0).is_err(), "opened to read");
    }

    #[test]
    fn blocks_and_bytes_come_back_as_they_were_written_round_after_round() {
        goes_through::<false>();
        goes_through::<true>();
    }

    #[test]
    fn a_full_device_is_an_error_in_the_kernels_words() {
        let full = PathBuf::from("/dev/full");
        let mut writer = Stdio::<false>::new(std::slice::from_ref(&full), true, BLOCK).unwrap();
        let wrote = writer.act(IoKind::Write, &mut block(0), 0, 0).and_then(|_| writer.write_out());
        assert_eq!(wrote.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        let mut bytes = Stdio::<true>::new(&[full], true, BLOCK).unwrap();
        let mut all = block(0).repeat(8);
        let wrote = bytes.act(IoKind::Write, &mut all, 0, 0).and_then(|_| bytes.write_out());
        assert_eq!(wrote.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert!(Stdio::<false>::new(&["/nowhere/at/all".into()], false, BLOCK).is_err());
    }
}
