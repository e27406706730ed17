//! The files that a store consists of, as the file system sees them. What is in them is SQLite's.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use super::Store;
use host::sys::limits::FILE_SIZE;
use host::sys::place::{AnchoredName, Links, Lost};
use host::sys::{Error, durable};

/// What SQLite appends to a store's name for its log, the memory that its readers share, and the
/// journal of the step into the log (<https://www.sqlite.org/tempfiles.html>).
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// SQLite's `MAX_PATHNAME`, bytes, and what it appends to a path at most (`-journal`).
const PATH_BYTES_MAX: usize = 512 - "-journal".len();
/// `NAME_MAX`, bytes, less the same.
const NAME_BYTES_MAX: usize = 255 - "-journal".len();
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
        _ => unplanted(path),
    }
}

/// Refuses a store that somebody else may have put there: by a link or a file of his own at one of
/// its names, in a directory that others can write.
fn unplanted(path: &Path) -> Result<(), Error> {
    let refused = |why: String| {
        Error::new(format!("cannot use the store {}", path.display()), why)
            .hint("keep it in a directory of your own: --store FILE; or copy it there first")
    };
    // What the kernel has against it SQLite meets as well, and says.
    let place = match AnchoredName::find(path, Links::Trusted) {
        Err(Lost::Planted(why, _)) => return Err(refused(why)),
        Err(Lost::Kernel(_)) => return Ok(()),
        Ok(place) => place,
    };
    // One that we cannot write is only read, and nothing is made beside it.
    let reads_only = place.stat().is_some() && !writable(path);
    for end in std::iter::once("").chain(BESIDE) {
        let file = match place.beside(end) {
            Err(Lost::Planted(why, _)) => return Err(refused(why)),
            Err(Lost::Kernel(_)) => continue,
            Ok(file) => file,
        };
        if let (false, Ok(Some(why))) = (reads_only, file.planted()) {
            return Err(refused(format!("{}: {why}", Path::new(file.name()).display())));
        }
    }
    Ok(())
}

/// What SQLite is told of links: where the name has none on its way now, it follows none that is
/// put there until it opens it.
pub(super) fn links(path: &Path) -> OpenFlags {
    let folder = directory(path);
    let plain = folder.canonicalize().ok() == std::path::absolute(folder).ok();
    let is_link = path.symlink_metadata().is_ok_and(|there| there.is_symlink());
    match plain && !is_link {
        true => OpenFlags::SQLITE_OPEN_NOFOLLOW,
        false => OpenFlags::empty(),
    }
}

/// A store's file, and those beside it.
pub(super) fn all(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
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

/// Whether one of a store's files has no room for the smallest step under the limit of a file's
/// size.
pub(super) fn is_at_limit(path: &Path) -> bool {
    let Some(limit) = FILE_SIZE.allows() else { return false };
    let sizes = all(path).map(|path| path.metadata().map_or(0, |there| there.len()));
    sizes.max().unwrap_or(0).saturating_add(REGION_BYTES) > limit
}

/// Makes the names of the store's files outlive a power cut.
///
/// # Errors
/// When the disk refuses. Folders that cannot be opened, or know no such thing, are as safe as they
/// are.
pub(super) fn name_is_safe(path: &Path) -> Result<(), Error> {
    match durable::sync_folder(path) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC)) => {
            let what = format!("cannot make the folder of {} safe", path.display());
            Err(Error::new(what, error).hint("use a file on another disk: --store FILE"))
        }
        _ => Ok(()),
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether files can be made where a store would lie.
///
/// # Errors
/// When the folder is not there, or may not be written.
pub(super) fn can_be_made(path: &Path) -> Result<(), Error> {
    rustix::fs::access(directory(path), rustix::fs::Access::WRITE_OK).map_err(|why| {
        let what = format!("cannot use the store {}", path.display());
        Error::new(what, std::io::Error::from(why))
            .hint("choose a file in a directory that you may write in: --store FILE")
    })
}

/// Whether an existing file, and the log beside it, can be written.
pub(super) fn writable(path: &Path) -> bool {
    let access = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    access(path) && access(directory(path))
}

/// A path as it stands in a URI (RFC 3986): what could end it or mean something else is escaped.
pub(super) fn escaped(path: &Path) -> String {
    use std::fmt::Write;
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

impl Store {
    /// Whether a store can be opened or made at `path`, before there is anything to keep in it;
    /// none is made.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn usable(path: &Path) -> Result<(), Error> {
        nameable(path)?;
        match path.metadata() {
            Ok(there) if there.len() > 0 => Store::open(path).map(drop),
            _ => can_be_made(path),
        }
    }
}

/// Refuses what can be no file's name, or would be too long with what SQLite appends.
///
/// # Errors
/// With what to type instead.
pub(super) fn nameable(path: &Path) -> Result<(), Error> {
    let bytes = path.as_os_str().as_bytes();
    let refused = |why: String| {
        let shown: String = path.display().to_string().chars().take(60).collect();
        let shown = if shown.len() < bytes.len() { format!("{shown}...") } else { shown };
        Err(Error::new(format!("cannot use the store {}", shown.escape_debug()), why)
            .hint("name another file: --store brickyard.db"))
    };
    if bytes.is_empty() {
        return refused("its name is empty".to_owned());
    }
    if bytes.contains(&0) {
        return refused("its name has a NUL character, at which the kernel stops".to_owned());
    }
    let name = path.file_name().map_or(0, |name| name.as_bytes().len());
    if name > NAME_BYTES_MAX {
        return refused(format!(
            "its name has {name} bytes; {NAME_BYTES_MAX} leave room for those of its log"
        ));
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Links are followed first, and those of the folder as well.
    let real = whole.canonicalize().ok().or_else(|| {
        let folder = whole.parent()?.canonicalize().ok()?;
        Some(folder.join(whole.file_name()?))
    });
    let length = real.unwrap_or(whole).as_os_str().as_bytes().len();
    if length > PATH_BYTES_MAX {
        let why = format!("its path has {length} bytes; SQLite takes {PATH_BYTES_MAX} at most");
        let Err(error) = refused(why) else { return Ok(()) };
        return Err(error.hint("put it in a folder with a shorter path: --store FILE"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::Store;

    /// `brickyard.db`, planted as a link in /tmp, had root write into what it led to.
    #[test]
    fn a_store_is_not_opened_through_links_that_others_can_have_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        std::fs::create_dir(&open).unwrap();
        let mode = std::fs::Permissions::from_mode(0o1777);
        std::fs::set_permissions(&open, mode).unwrap();
        for end in std::iter::once("").chain(BESIDE) {
            let target = folder.path().join("target");
            let planted = open.join(format!("s.db{end}"));
            symlink(&target, &planted).unwrap();
            for error in
                [Store::open(&open.join("s.db")), Store::open_read_only(&open.join("s.db"))]
            {
                let error = error.unwrap_err();
                assert!(error.why.contains("a link of"), "{end}: {error}");
            }
            assert!(!target.exists(), "{end}");
            rustix::fs::unlink(&planted).unwrap();
        }
        Store::open(&open.join("s.db")).unwrap();
        // In a folder of our own a link is followed.
        symlink("open/s.db", folder.path().join("link.db")).unwrap();
        Store::open_read_only(&folder.path().join("link.db")).unwrap();
    }

    #[test]
    fn names_that_can_be_none_are_refused_and_all_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (path, why) in [
            (std::path::PathBuf::new(), "empty"),
            (at("a\0b"), "NUL"),
            (at(&"n".repeat(NAME_BYTES_MAX + 1)), "248 bytes; 247"),
            (at(&"d".repeat(200)).join("e".repeat(200)).join("f".repeat(200)), "504 at most"),
        ] {
            let error = nameable(&path).unwrap_err();
            assert!(error.why.contains(why), "{error}");
            assert!(error.what.len() < 300 && error.hint.unwrap().contains("--store"));
        }
        for name in [":memory:", "file:x?mode=memory", "é", "a%00b", "..", &"n".repeat(247)] {
            nameable(&at(name)).unwrap();
        }
    }
}
