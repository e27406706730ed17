//! The operations: one call on a directory's handle and a name each, or what belongs together.
//!
//! Each is a type, so that the loop is compiled for it alone. Nothing here allocates.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::content::Content;
use super::entry::Entry;

/// Mode of files that are made.
pub const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
/// Mode of directories that are made.
pub const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// Names are read into so many bytes at a time, as by the C library's readdir(3).
const NAMES_BYTES: usize = 32 << 10;

/// One operation.
pub trait Act {
    /// Does it to `entry` in `directory`, for the `round`-th time.
    ///
    /// # Errors
    /// With the kernel's.
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, round: u64) -> Result<(), Errno>;
}

/// close(2), whose error counts: network file systems tell then that a write did not arrive.
#[inline]
fn close(file: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor was ours alone and nobody uses it after this.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// The moment of the call, for both times of a file.
const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
};

/// Makes, writes and closes a file.
pub struct Create(pub Content);

impl Act for Create {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, entry.name(), flags, FILE_MODE)?;
        if !self.0.is_empty() {
            self.0.write(file.as_fd(), entry.number)?;
        }
        close(file)
    }
}

/// Opens and closes a file.
pub struct Open;

impl Act for Open {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        close(rustix::fs::openat(directory, entry.name(), flags, Mode::empty())?)
    }
}

/// Asks what is known of a file.
pub struct Stat;

impl Act for Stat {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        rustix::fs::statat(directory, entry.name(), AtFlags::SYMLINK_NOFOLLOW).map(|_| ())
    }
}

/// Reads all names of a directory; `expected` says how many each has.
pub struct Readdir {
    buffer: Box<[MaybeUninit<u8>]>,
    expected: Vec<u64>,
}

impl Readdir {
    /// For directories of so many names each.
    pub fn new(expected: Vec<u64>) -> Readdir {
        Readdir { buffer: Box::new_uninit_slice(NAMES_BYTES), expected }
    }
}

impl Act for Readdir {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(directory, c".", flags, Mode::empty())?;
        let mut names = RawDir::new(&opened, &mut self.buffer);
        let mut seen = 0_u64;
        while let Some(name) = names.next() {
            seen += u64::from(!matches!(name?.file_name().to_bytes(), b"." | b".."));
        }
        close(opened)?;
        // A directory that lost a name has no work to be timed.
        match self.expected.get(entry.directory as usize) {
            Some(expected) if *expected == seen => Ok(()),
            _ => Err(Errno::STALE),
        }
    }
}

/// Gives a file its other name, and the next time the first one again.
pub struct Rename;

impl Act for Rename {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, round: u64) -> Result<(), Errno> {
        let other = entry.other();
        let (from, to) = if round.is_multiple_of(2) { (entry, &other) } else { (&other, entry) };
        rustix::fs::renameat(directory, from.name(), directory, to.name())
    }
}

/// Gives a file a second name.
pub struct Link;

impl Act for Link {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let other = entry.other();
        let flags = AtFlags::empty();
        rustix::fs::linkat(directory, entry.name(), directory, other.name(), flags)
    }
}

/// Removes a file.
pub struct Unlink;

impl Act for Unlink {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        rustix::fs::unlinkat(directory, entry.name(), AtFlags::empty())
    }
}

/// Makes a directory.
pub struct Mkdir;

impl Act for Mkdir {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        rustix::fs::mkdirat(directory, entry.name(), DIRECTORY_MODE)
    }
}

/// Removes an empty directory.
pub struct Rmdir;

impl Act for Rmdir {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        rustix::fs::unlinkat(directory, entry.name(), AtFlags::REMOVEDIR)
    }
}

/// Changes a file and puts it on the device: its bytes, or its times when it has none.
pub struct Fsync(pub Content);

impl Act for Fsync {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, entry.name(), flags, Mode::empty())?;
        match self.0.is_empty() {
            true => rustix::fs::futimens(&file, &NOW)?,
            false => self.0.write(file.as_fd(), entry.number)?,
        }
        rustix::fs::fsync(&file)?;
        close(file)
    }
}

/// Sets both times of a file that is there.
pub struct Touch;

impl Act for Touch {
    #[inline]
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        rustix::fs::utimensat(directory, entry.name(), &NOW, AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Sets both times of a file to a day long ago, so that a touch shows.
pub struct Age;

/// The day of [`Age`], Unix time in s: 2001-09-09.
pub const AGED_S: i64 = 1_000_000_000;

impl Act for Age {
    fn act(&mut self, directory: &OwnedFd, entry: &Entry, _: u64) -> Result<(), Errno> {
        let day = Timespec { tv_sec: AGED_S, tv_nsec: 0 };
        let times = Timestamps { last_access: day, last_modification: day };
        rustix::fs::utimensat(directory, entry.name(), &times, AtFlags::empty())
    }
}
