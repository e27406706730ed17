//! Puts bytes at a name in a directory that is held open, whole or not at all.
//!
//! They are written into a file without a name (O_TMPFILE of open(2)), or under a name that nobody
//! can guess where the file system has no such files, made durable, and only then named. What was
//! there keeps its mode, its owner and its access list.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use crate::sys::place;

/// Of a file that nobody said anything about; the umask takes from it (umask(2)).
const MODE: Mode = Mode::from_raw_mode(0o666);
/// How often another name is drawn when one is taken. Of 2^64 none is twice by chance.
const DRAWS: usize = 16;
/// Where the kernel keeps an access list (acl(5)).
const ACCESS_LIST: &str = "system.posix_acl_access";
/// A longer one the kernel does not take, bytes (XATTR_SIZE_MAX).
const ACCESS_LIST_BYTES: usize = 64 << 10;

/// What a file that is replaced hands on.
#[derive(Clone, Debug)]
pub(super) struct Attributes {
    mode: u32,
    /// Nothing where the new file is to be whoever's makes it.
    owner: Option<(u32, u32)>,
    access_list: Option<Vec<u8>>,
}

impl Attributes {
    /// Of an open file. `owner`: its owner too, not only who may do what with it.
    ///
    /// # Errors
    /// In the kernel's words.
    pub(super) fn from_file(file: impl AsFd, owner: bool) -> Result<Attributes> {
        let stat = rustix::fs::fstat(&file)?;
        let mut list = vec![0; ACCESS_LIST_BYTES];
        let length = rustix::fs::fgetxattr(&file, ACCESS_LIST, list.as_mut_slice());
        let access_list = length.ok().map(|length| {
            list.truncate(length);
            list
        });
        let owner = owner.then_some((stat.st_uid, stat.st_gid));
        Ok(Attributes { mode: stat.st_mode & 0o777, owner, access_list })
    }

    /// Gives them to a new file. Where the group cannot be handed on, whoever was in it has no more
    /// rights than everybody.
    fn give(&self, file: &File) -> Result<()> {
        let mut mode = self.mode;
        if let Some((uid, gid)) = self.owner {
            let new = rustix::fs::fstat(file)?;
            if new.st_uid != uid {
                rustix::fs::fchown(file, Some(Uid::from_raw(uid)), None)?;
            }
            let group = Some(Gid::from_raw(gid));
            if new.st_gid != gid && rustix::fs::fchown(file, None, group).is_err() {
                mode = mode & !0o070 | (mode & 0o007) << 3;
            }
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
        match &self.access_list {
            Some(list) => rustix::fs::fsetxattr(file, ACCESS_LIST, list, XattrFlags::empty())?,
            // A new file has that of its directory's default.
            None => {
                let _ = rustix::fs::fremovexattr(file, ACCESS_LIST);
            }
        }
        Ok(())
    }
}

/// Puts them there: in the place of what is there where `old` is its attributes, else only where
/// nothing is.
///
/// # Errors
/// In the kernel's words; `AlreadyExists` when something is there by now that was not before.
pub(super) fn put(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&Attributes>,
) -> Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let named = match rustix::fs::openat(directory, ".", flags, MODE) {
        Ok(unnamed) => {
            let file = filled(unnamed.into(), bytes, old)?;
            match old {
                None => link_new(directory, name, &file),
                Some(_) => link_over(directory, name, &file),
            }
        }
        Err(error) => Err(error.into()),
    };
    match named {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        // No file without a name there (NFS, FAT, some FUSE), or none that can be given one.
        Err(_) => put_named(directory, name, bytes, old)?,
    }
    place::sync(directory)
}

fn filled(mut file: File, bytes: &[u8], old: Option<&Attributes>) -> Result<File> {
    file.write_all(bytes)?;
    if let Some(old) = old {
        old.give(&file)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Names a file that has no name, where nothing is.
fn link_new(directory: BorrowedFd<'_>, name: &OsStr, file: &File) -> Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, open, directory, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Names a file that has no name, in the place of what is there.
fn link_over(directory: BorrowedFd<'_>, name: &OsStr, file: &File) -> Result<()> {
    for _ in 0..DRAWS {
        let beside = drawn()?;
        match link_new(directory, OsStr::new(&beside), file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            linked => linked?,
        }
        let renamed = rustix::fs::renameat(directory, &beside, directory, name);
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
        }
        return Ok(renamed?);
    }
    Err(Errno::BUSY.into())
}

/// The same by way of a name that nobody can guess.
pub(super) fn put_named(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&Attributes>,
) -> Result<()> {
    let (file, beside) = new_file(directory)?;
    let done = filled(file, bytes, old).and_then(|_| match old {
        Some(_) => Ok(rustix::fs::renameat(directory, &beside, directory, name)?),
        None => name_new(directory, &beside, name),
    });
    if done.is_err() {
        let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
    }
    done
}

fn new_file(directory: BorrowedFd<'_>) -> Result<(File, String)> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
    for _ in 0..DRAWS {
        let name = drawn()?;
        match rustix::fs::openat(directory, &name, flags, MODE) {
            Err(Errno::EXIST) => {}
            opened => return Ok((opened?.into(), name)),
        }
    }
    Err(Errno::BUSY.into())
}

/// Renames where nothing is: by the call for that, or where the file system has none by a second
/// name, which a file of that name refuses as well.
fn name_new(directory: BorrowedFd<'_>, from: &str, to: &OsStr) -> Result<()> {
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        renamed => return Ok(renamed?),
    }
    rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
    Ok(rustix::fs::unlinkat(directory, from, AtFlags::empty())?)
}

/// A name that nobody can guess.
pub(in crate::sys) fn drawn() -> Result<String> {
    let mut bytes = [0; 8];
    if rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())? != bytes.len() {
        return Err(Error::other("the kernel gives no random numbers"));
    }
    Ok(format!(".brickyard-{:016x}", u64::from_ne_bytes(bytes)))
}
