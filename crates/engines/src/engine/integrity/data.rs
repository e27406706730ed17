//! The file of a stream: opened in the state in which the trial wants it, its buffer, and what of
//! it is in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate, ftruncate};
use rustix::io::Errno;

use crate::engine::load::protocol::{Failure, LoadFailure};
use host::sys::beneath;
use host::sys::direct::{Direct, alignment};
use host::sys::pages;

/// What buffers are aligned to at least.
const ALIGN_BYTES: usize = 4096;

/// Memory that direct I/O takes.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Buffer {
    /// So many bytes, aligned to a page.
    pub fn new(bytes: usize) -> Buffer {
        let memory = vec![0; bytes + ALIGN_BYTES];
        // Never moves: it is neither grown nor shrunk.
        let start = memory.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
        Buffer { memory, start, bytes }
    }

    /// All of it.
    pub fn all(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

/// An open file.
#[derive(Debug)]
pub struct Data {
    /// Open.
    pub file: File,
    /// Its name.
    pub path: PathBuf,
    /// Around the page cache.
    pub direct: bool,
}

/// The number of a file in blocks and the name that it has in its folder.
pub fn name(stream: u64) -> String {
    format!("stream-{stream:05}.dat")
}

/// How a read of a stream's file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes; fewer than were asked for where the file ends.
    Bytes(usize),
    /// The kernel gave an error.
    Error(i32),
}

impl Data {
    /// Opens it; `anew`: empty and with room for `bytes`, else as it is, or empty where it is not.
    ///
    /// # Errors
    /// `Unsupported` where direct I/O is refused, or cannot do blocks of `block_bytes`.
    pub fn open(
        path: PathBuf,
        direct: bool,
        anew: bool,
        bytes: u64,
        block_bytes: u64,
    ) -> Result<Data, LoadFailure> {
        let failed = |why: &dyn std::fmt::Display| {
            (Failure::Failed, format!("cannot open {}: {why}", path.display()))
        };
        let mut flags = OFlags::RDWR | OFlags::CREATE;
        flags.set(OFlags::DIRECT, direct);
        flags.set(OFlags::TRUNC, anew);
        let file = beneath::open_file(&path, flags).map_err(|why| match why.raw_os_error() {
            Some(libc::EINVAL) if direct => (Failure::Unsupported, no_direct(&path)),
            _ => failed(&why),
        })?;
        if direct {
            check_alignment(&path, &file, block_bytes)?;
        }
        if anew {
            allocate(&path, &file, bytes)?;
        }
        Ok(Data { file, path, direct })
    }

    /// Reads until the buffer is full, the file ends, or the kernel gives an error.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> ReadOutcome {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(came) => filled += came,
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                Err(why) => return ReadOutcome::Error(why.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
        ReadOutcome::Bytes(filled)
    }

    /// Writes all of the buffer.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn write(&self, buffer: &[u8], offset: u64) -> Result<(), LoadFailure> {
        self.file.write_all_at(buffer, offset).map_err(|why| {
            let (path, bytes) = (self.path.display(), buffer.len());
            (Failure::Failed, format!("cannot write {bytes} bytes at {offset} of {path}: {why}"))
        })
    }

    /// Puts what was written on the device; its cache is emptied with it (fsync(2)).
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn flush(&self) -> Result<(), LoadFailure> {
        self.file.sync_data().map_err(|why| {
            let path = self.path.display();
            (Failure::Failed, format!("cannot put {path} on the device (fdatasync): {why}"))
        })
    }

    /// Drops it from memory, and counts what stayed all the same, bytes; `None` where nobody knows.
    pub fn drop_cached(&self) -> Option<u64> {
        pages::forget(&self.file);
        pages::resident_bytes(&self.file).ok()
    }

    /// Tells the kernel in which order it is read; through the page cache it reads ahead otherwise
    /// what is not wanted yet.
    pub fn advise(&self, random: bool) {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        let _ = fadvise(&self.file, 0, None, advice);
    }
}

fn no_direct(path: &Path) -> String {
    format!(
        "the file system of {} refuses direct I/O (O_DIRECT); direct=false goes through the page \
         cache, which is emptied of the file before it is read",
        path.display()
    )
}

fn check_alignment(path: &Path, file: &File, block_bytes: u64) -> Result<(), LoadFailure> {
    let Direct::Aligned { memory, offset } = alignment(file) else {
        return match alignment(file) {
            Direct::Never => Err((Failure::Unsupported, no_direct(path))),
            _ => Ok(()),
        };
    };
    let offset = u64::from(offset);
    if memory as usize > ALIGN_BYTES || !block_bytes.is_multiple_of(offset) {
        return Err((
            Failure::Unsupported,
            format!(
                "direct I/O on {} is done in multiples of {offset} bytes (STATX_DIOALIGN); \
                 verify-block={block_bytes} is none: raise it, or choose direct=false",
                path.display()
            ),
        ));
    }
    Ok(())
}

/// Takes the file's space beforehand: what does not fit is told before anything is written.
fn allocate(path: &Path, file: &File, bytes: u64) -> Result<(), LoadFailure> {
    let given = match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => ftruncate(file, bytes),
        given => given,
    };
    given.map_err(|why| {
        let (path, why) = (path.display(), std::io::Error::from(why));
        (Failure::Failed, format!("cannot allocate {bytes} bytes for {path}: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_of_its_length() {
        for bytes in [512, 4096, 1 << 20] {
            let mut buffer = Buffer::new(bytes);
            assert_eq!(buffer.all().len(), bytes);
            assert!(buffer.all().as_ptr().addr().is_multiple_of(ALIGN_BYTES));
        }
    }

    #[test]
    fn a_file_has_its_room_and_ends_where_it_is_cut() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join(name(3));
        let data = Data::open(path.clone(), false, true, 1 << 16, 4096).unwrap();
        data.write(&[7; 4096], 4096).unwrap();
        data.flush().unwrap();
        let mut buffer = [0; 8192];
        assert_eq!((data.read(&mut buffer, 4096), buffer[4095]), (ReadOutcome::Bytes(8192), 7));
        data.file.set_len(6000).unwrap();
        assert_eq!(data.read(&mut buffer, 4096), ReadOutcome::Bytes(6000 - 4096));
        // What is there is not cut when it is opened again.
        let again = Data::open(path, false, false, 1 << 16, 4096).unwrap();
        assert_eq!(again.read(&mut buffer, 0), ReadOutcome::Bytes(6000));
    }
}
