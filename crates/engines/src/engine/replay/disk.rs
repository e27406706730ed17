//! What one client does to the file system: operations by name in its folder, nothing else.
//!
//! Each function is an operation as a file server performs it; none allocates. That a file server
//! looks for a name in other case before it says that there is none is `find_name`: a stat, and
//! when there is no such name, a reading of the whole directory (dbench 4 does this too, unless it
//! is told `--no-resolve`).

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, Timespec, Timestamps};
use rustix::io::Errno;

use super::wildcard::fits;
use host::sys::beneath;

/// Room for the names of a directory that are read at once, as much as glibc's readdir(3) takes.
const NAMES_BYTES: usize = 32 << 10;
/// The same, for each level of a directory that is removed.
const LEVEL_BYTES: usize = 4 << 10;
/// No loadfile makes directories deeper than this; each level takes room on the stack.
const DEPTH_MAX: usize = 24;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path of the client, and what of it is needed by itself.
#[derive(Debug)]
pub struct ClientPath {
    /// Relative to the client's folder.
    pub path: CString,
    /// The directory in which it is.
    parent: CString,
    /// Where its last part begins.
    last: usize,
}

impl ClientPath {
    /// Of a relative path; `None` when it has a NUL in it.
    pub fn new(path: &str) -> Option<ClientPath> {
        let (parent, last) = match path.rfind('/') {
            Some(slash) => (&path[..slash], slash + 1),
            None => (".", 0),
        };
        Some(ClientPath {
            path: CString::new(path).ok()?,
            parent: CString::new(parent).ok()?,
            last,
        })
    }

    fn last(&self) -> &[u8] {
        &self.path.to_bytes()[self.last..]
    }
}

/// How a client goes about it, besides what the loadfile says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Names are looked for in other case before they are missing.
    pub resolve_names: bool,
    /// Files are opened with O_SYNC.
    pub sync_open: bool,
    /// Each write is followed by fsync.
    pub sync_writes: bool,
    /// Each change of a directory is followed by fdatasync of it.
    pub sync_directories: bool,
}

/// A client's folder.
pub struct Disk {
    folder: OwnedFd,
    path: CString,
    manner: ReplayOptions,
    names: Box<[MaybeUninit<u8>]>,
}

impl Disk {
    /// In the folder `path`, which exists.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn new(path: &std::path::Path, manner: ReplayOptions) -> Result<Disk, Errno> {
        use std::os::unix::ffi::OsStrExt;
        let folder = beneath::open_folder(path)?;
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let names = vec![MaybeUninit::uninit(); NAMES_BYTES].into_boxed_slice();
        Ok(Disk { folder, path, manner, names })
    }

    /// Looks for a name as a file server must, whose clients do not tell upper from lower case.
    fn find_name(&mut self, name: &ClientPath) -> Result<(), Errno> {
        let found = self.stat(&name.path);
        if matches!(found, Err(Errno::NOENT | Errno::NOTDIR)) {
            // A directory that is missing too has nothing to read.
            let _ = self.scan(&name.parent, u32::MAX, None);
        }
        found
    }

    fn resolve(&mut self, name: &ClientPath) {
        if self.manner.resolve_names {
            // What is asked for in earnest comes next, and its answer counts.
            let _ = self.find_name(name);
        }
    }

    fn stat(&self, path: &CStr) -> Result<(), Errno> {
        rustix::fs::statat(&self.folder, path, AtFlags::empty()).map(|_| ())
    }

    /// Reads a directory up to so many names; whether one of them fits the pattern.
    fn scan(&mut self, path: &CStr, most: u32, pattern: Option<&[u8]>) -> Result<bool, Errno> {
        let directory = rustix::fs::openat(&self.folder, path, DIRECTORY, Mode::empty())?;
        let mut names = RawDir::new(&directory, &mut self.names);
        let (mut fit, mut seen) = (false, 0);
        while seen < most {
            let Some(entry) = names.next() else { break };
            let entry = entry?;
            fit |= pattern.is_some_and(|pattern| fits(pattern, entry.file_name().to_bytes()));
            seen += 1;
        }
        close(directory)?;
        Ok(fit)
    }

    /// What is known of a path.
    pub fn path_info(&mut self, name: &ClientPath) -> Result<(), Errno> {
        match self.manner.resolve_names {
            true => self.find_name(name),
            false => self.stat(&name.path),
        }
    }

    /// Whether some name fits; [`Errno::NOENT`] when none does.
    pub fn find(&mut self, name: &ClientPath, most: u32) -> Result<(), Errno> {
        // A name without wildcards that is there needs no reading.
        if self.manner.resolve_names && self.find_name(name).is_ok() {
            return Ok(());
        }
        match self.scan(&name.parent, most, Some(name.last()))? {
            true => Ok(()),
            false => Err(Errno::NOENT),
        }
    }

    /// Opens a file; a directory too, when nothing is to be made.
    pub fn open(&mut self, name: &ClientPath, how: OFlags) -> Result<OwnedFd, Errno> {
        self.resolve(name);
        let sync = if self.manner.sync_open { OFlags::SYNC } else { OFlags::empty() };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | how | sync;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = match rustix::fs::openat(&self.folder, name.path.as_c_str(), flags, mode) {
            Err(Errno::ISDIR) if !how.contains(OFlags::CREATE) => {
                rustix::fs::openat(&self.folder, name.path.as_c_str(), DIRECTORY, Mode::empty())
            }
            opened => opened,
        }?;
        rustix::fs::fstat(&opened)?;
        Ok(opened)
    }

    /// Opens a directory, after making it when it may be missing.
    pub fn open_directory(&mut self, name: &ClientPath, make: bool) -> Result<OwnedFd, Errno> {
        self.resolve(name);
        if make {
            self.made(name, Mode::RWXU)?;
        }
        let path = name.path.as_c_str();
        let opened = rustix::fs::openat(&self.folder, path, DIRECTORY, Mode::empty())?;
        rustix::fs::fstat(&opened)?;
        Ok(opened)
    }

    fn made(&mut self, name: &ClientPath, mode: Mode) -> Result<(), Errno> {
        match rustix::fs::mkdirat(&self.folder, name.path.as_c_str(), mode) {
            // By another client, or an earlier round.
            Err(Errno::EXIST) => Ok(()),
            Ok(()) => self.sync_parent(name),
            Err(error) => Err(error),
        }
    }

    /// Makes a directory, or finds it made.
    pub fn mkdir(&mut self, name: &ClientPath) -> Result<(), Errno> {
        self.resolve(name);
        self.made(name, Mode::RWXU | Mode::RWXG | Mode::RWXO)
    }

    /// Removes an empty directory.
    pub fn rmdir(&mut self, name: &ClientPath) -> Result<(), Errno> {
        self.resolve(name);
        rustix::fs::unlinkat(&self.folder, name.path.as_c_str(), AtFlags::REMOVEDIR)?;
        self.sync_parent(name)
    }

    /// Removes a file.
    pub fn unlink(&mut self, name: &ClientPath) -> Result<(), Errno> {
        self.resolve(name);
        rustix::fs::unlinkat(&self.folder, name.path.as_c_str(), AtFlags::empty())?;
        self.sync_parent(name)
    }

    /// Gives a file another name.
    pub fn rename(&mut self, from: &ClientPath, to: &ClientPath) -> Result<(), Errno> {
        self.resolve(from);
        self.resolve(to);
        let (old, new) = (from.path.as_c_str(), to.path.as_c_str());
        rustix::fs::renameat(&self.folder, old, &self.folder, new)?;
        self.sync_parent(to)
    }

    fn sync_parent(&self, name: &ClientPath) -> Result<(), Errno> {
        if !self.manner.sync_directories {
            return Ok(());
        }
        let parent = name.parent.as_c_str();
        let directory = rustix::fs::openat(&self.folder, parent, DIRECTORY, Mode::empty())?;
        rustix::fs::fdatasync(&directory)?;
        close(directory)
    }

    /// How full the file system is.
    pub fn fs_info(&self) -> Result<(), Errno> {
        rustix::fs::statfs(self.path.as_c_str()).map(|_| ())
    }

    /// Sets the times of an open file to shortly before those that it has, by its name.
    pub fn set_times(&self, file: impl AsFd, name: &ClientPath) -> Result<(), Errno> {
        let stat = rustix::fs::fstat(file)?;
        let times = Timestamps {
            last_access: Timespec { tv_sec: stat.st_atime - 2, tv_nsec: 0 },
            last_modification: Timespec { tv_sec: stat.st_mtime - 4, tv_nsec: 0 },
        };
        let path = name.path.as_c_str();
        rustix::fs::utimensat(&self.folder, path, &times, AtFlags::empty())
    }

    /// Writes all of `bytes`. A write that is cut short gives no reason; the next one's does.
    pub fn write(&self, file: impl AsFd, bytes: &[u8], offset: u64) -> Result<(), Errno> {
        let mut written = rustix::io::pwrite(&file, bytes, offset)?;
        while written < bytes.len() {
            match rustix::io::pwrite(&file, &bytes[written..], offset + written as u64)? {
                0 => return Err(Errno::IO),
                more => written += more,
            }
        }
        if self.manner.sync_writes {
            rustix::fs::fsync(&file)?;
        }
        Ok(())
    }

    /// Locks a range for writing, waiting for it, or unlocks it (fcntl(2), F_SETLKW).
    pub fn lock(&self, file: impl AsFd, offset: u64, size: u64, unlock: bool) -> Result<(), Errno> {
        let kind = if unlock { libc::F_UNLCK } else { libc::F_WRLCK };
        // SAFETY: plain numbers, for which zeros are a value.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        range.l_start = offset as libc::off_t;
        range.l_len = size as libc::off_t;
        let file = file.as_fd().as_raw_fd();
        // SAFETY: `range` lives until the call returns, and `file` is open.
        match unsafe { libc::fcntl(file, libc::F_SETLKW, &raw const range) } {
            -1 => Err(last_error()),
            _ => Ok(()),
        }
    }

    /// Removes a directory with all that is in it, if it is there.
    pub fn deltree(&self, name: &ClientPath) -> Result<(), Errno> {
        match remove(self.folder.as_fd(), &name.path, 0) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }
}

fn remove(above: std::os::fd::BorrowedFd<'_>, path: &CStr, depth: usize) -> Result<(), Errno> {
    if depth >= DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let mut room = [MaybeUninit::uninit(); LEVEL_BYTES];
    loop {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let directory = rustix::fs::openat(above, path, flags, Mode::empty())?;
        let mut names = RawDir::new(&directory, &mut room);
        while let Some(entry) = names.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => remove(directory.as_fd(), name, depth + 1)?,
                Err(error) => return Err(error),
                Ok(()) => {}
            }
        }
        close(directory)?;
        match rustix::fs::unlinkat(above, path, AtFlags::REMOVEDIR) {
            // Names that a reading left out because others went meanwhile (readdir(3)).
            Err(Errno::NOTEMPTY) => {}
            other => return other,
        }
    }
}

/// Closes a file; unlike a drop it tells what the kernel says, as of a write on a network file
/// system that failed late.
pub fn close(file: OwnedFd) -> Result<(), Errno> {
    let file = file.into_raw_fd();
    // SAFETY: it was owned, and nobody uses it after this.
    match unsafe { libc::close(file) } {
        -1 => Err(last_error()),
        _ => Ok(()),
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(manner: ReplayOptions) -> (tempfile::TempDir, Disk) {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), manner).unwrap();
        (folder, disk)
    }

    fn name(path: &str) -> ClientPath {
        ClientPath::new(path).unwrap()
    }

    #[test]
    fn a_directory_goes_with_all_that_is_in_it_and_one_that_is_not_there_is_gone() {
        let (folder, mut disk) = disk(ReplayOptions::default());
        disk.mkdir(&name("a")).unwrap();
        disk.mkdir(&name("a/b")).unwrap();
        disk.mkdir(&name("a/b")).unwrap();
        // More names than one reading of the directory returns.
        for number in 0..500 {
            let file = name(&format!("a/b/a-rather-long-name-{number}"));
            close(disk.open(&file, OFlags::CREATE).unwrap()).unwrap();
        }
        std::os::unix::fs::symlink("/etc", folder.path().join("a/link")).unwrap();
        disk.deltree(&name("a")).unwrap();
        disk.deltree(&name("a")).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        assert!(std::path::Path::new("/etc").exists());
    }

    #[test]
    fn a_find_is_told_whether_a_name_fits_and_reads_no_more_than_it_may() {
        let (_folder, mut disk) =
            disk(ReplayOptions { resolve_names: true, ..ReplayOptions::default() });
        close(disk.open(&name("filler.000"), OFlags::CREATE).unwrap()).unwrap();
        assert_eq!(disk.find(&name("FILLER.*"), 100), Ok(()));
        assert_eq!(disk.find(&name("filler.000"), 100), Ok(()));
        assert_eq!(disk.find(&name("<.jnk"), 100), Err(Errno::NOENT));
        assert_eq!(disk.find(&name("FILLER.*"), 0), Err(Errno::NOENT));
        assert_eq!(disk.find(&name("none/*"), 100), Err(Errno::NOENT));
    }

    #[test]
    fn a_file_is_opened_as_the_manner_says_and_a_directory_only_when_nothing_is_made() {
        let manner =
            ReplayOptions { sync_open: true, sync_directories: true, ..ReplayOptions::default() };
        let (_folder, mut disk) = disk(manner);
        let file = disk.open(&name("f"), OFlags::CREATE).unwrap();
        assert!(rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::SYNC));
        disk.mkdir(&name("d")).unwrap();
        assert!(disk.open(&name("d"), OFlags::empty()).is_ok());
        assert_eq!(disk.open(&name("d"), OFlags::CREATE).map(drop), Err(Errno::ISDIR));
        disk.rename(&name("f"), &name("d/g")).unwrap();
        disk.unlink(&name("d/g")).unwrap();
        disk.rmdir(&name("d")).unwrap();
        disk.fs_info().unwrap();
    }

    #[test]
    fn times_lie_before_those_that_were_and_a_range_is_locked_against_others() {
        let (folder, mut disk) =
            disk(ReplayOptions { sync_writes: true, ..ReplayOptions::default() });
        let file = disk.open(&name("f"), OFlags::CREATE).unwrap();
        disk.write(&file, b"bytes", 3).unwrap();
        let before = rustix::fs::fstat(&file).unwrap();
        disk.set_times(&file, &name("f")).unwrap();
        let after = rustix::fs::fstat(&file).unwrap();
        assert_eq!((after.st_size, after.st_mtime), (8, before.st_mtime - 4));
        disk.lock(&file, 100, 10, false).unwrap();
        // Record locks belong to a table of open files: another one, as another client has, waits.
        let path = folder.path().join("f");
        let other = move || {
            crate::engine::clients::stand_alone().unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            // SAFETY: plain numbers, for which zeros are a value.
            let mut range: libc::flock = unsafe { std::mem::zeroed() };
            (range.l_type, range.l_start, range.l_len) = (libc::F_WRLCK as _, 105, 1);
            // SAFETY: `range` lives until the call returns, and `file` is open.
            let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut range) };
            (asked, range.l_type)
        };
        let held = std::thread::spawn(other.clone()).join().unwrap();
        assert_eq!(held, (0, libc::F_WRLCK as i16));
        disk.lock(&file, 100, 10, true).unwrap();
        assert_eq!(std::thread::spawn(other).join().unwrap(), (0, libc::F_UNLCK as i16));
    }
}
