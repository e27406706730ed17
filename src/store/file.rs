//! The files that a store consists of, as the file system sees them. What is in them is SQLite's.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use crate::sys::Error;

/// What SQLite appends to a store's name for its log, the memory that its readers share, and the
/// journal of the step into the log (<https://www.sqlite.org/tempfiles.html>).
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The shared memory grows in regions of this size, the smallest thing a store needs, bytes
/// (<https://www.sqlite.org/walformat.html>, section 2).
const REGION_BYTES: u64 = 32 << 10;
/// Every connection holds a read lock on this byte of the shared memory (SQLite's `UNIX_SHM_DMS`).
const IN_USE_BYTE: u64 = 128;

/// Refuses what is there but no file.
///
/// # Errors
/// For a directory or a device.
pub(super) fn regular(path: &Path) -> Result<(), Error> {
    let what = || format!("cannot use the store {}", path.display());
    match path.metadata() {
        Ok(there) if there.is_dir() => {
            let inside = path.join("brickyard.db");
            Err(Error::new(what(), std::io::Error::from_raw_os_error(libc::EISDIR))
                .hint(format!("name a file in it: --store {}", inside.display())))
        }
        Ok(there) if !there.is_file() => {
            Err(Error::new(what(), "it is not a regular file")
                .hint("name another file: --store FILE"))
        }
        _ => Ok(()),
    }
}

/// A store's file, and those beside it.
fn all(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let beside = |end: &&str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    std::iter::once(path.to_owned()).chain(BESIDE.iter().map(beside))
}

/// Those of a store's files that are not there.
pub(super) fn missing(path: &Path) -> Vec<PathBuf> {
    all(path).filter(|path| path.symlink_metadata().is_err()).collect()
}

/// Removes the files of a store that could not be made, unless another program has it open.
pub(super) fn forget(path: &Path, new: &[PathBuf]) {
    if !in_use(path) {
        for path in new {
            let _ = rustix::fs::unlink(path);
        }
    }
}

/// Whether another process has the store open. Closing the file again would drop the locks that
/// this process holds on it (fcntl(2)), so none of our own connections may be open.
fn in_use(path: &Path) -> bool {
    let shared = all(path).nth(2).and_then(|path| File::open(path).ok());
    let asked = Flock {
        start: IN_USE_BYTE,
        length: 1,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    shared.is_some_and(|shared| !matches!(fcntl_getlk(shared, &asked), Ok(None)))
}

/// Whether the file system has no room for even the smallest step.
pub(super) fn is_full(path: &Path) -> bool {
    let room = rustix::fs::statvfs(directory(path));
    room.is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) < REGION_BYTES)
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether an existing file, and the log beside it, can be written.
pub(super) fn writable(path: &Path) -> bool {
    let access = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    access(path) && access(directory(path))
}

/// A path as it stands in a URI (RFC 3986): what could end it or mean something else is escaped.
pub(super) fn escaped(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Device and inode.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
