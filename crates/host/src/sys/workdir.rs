//! Directories that are ours: made, marked, locked while in use, and removed.
//!
//! Only a directory that bears our marker is ever removed, only the files in it that we name, and
//! never through a symbolic link (docs/concepts/safety.md). From its making to its end it is held
//! by its descriptor, and what is done in it is done below that ([`super::beneath`]): whoever owns
//! the directory above may give its name to another one.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::Error;
use super::beneath::{self, FileIdentity, Hold};

/// The marker's name. Its first line is [`MAGIC`].
pub const MARKER: &str = "BRICKYARD";
const MAGIC: &str = "This directory was made by brickyard and may be removed by it.";
/// The second line of the marker of a directory that outlives its run begins so; what the directory
/// waits for follows.
const WAITS: &str = "It is kept: ";
/// Every work directory's name starts with this.
const PREFIX: &str = "brickyard-";

/// A directory of ours; its marker is locked for as long as this lives.
#[derive(Debug)]
pub struct WorkDir {
    held: Hold,
    /// The directory that it was made in, and its name there.
    above: OwnedFd,
    name: String,
    marker: OwnedFd,
}

/// What became of a directory that an earlier run had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// It was ours and is gone.
    Removed(PathBuf),
    /// It is ours, but holds files that we did not make; those were left.
    Kept(PathBuf, Vec<String>),
    /// It is ours and nobody uses it, but what is in it is still wanted: for what.
    Waits(PathBuf, String),
    /// It was ours and is empty, but stands somewhere else now; what has its name was left.
    Moved(PathBuf),
}

/// The name of the file number `index` in a work directory.
pub fn file_name(index: usize) -> String {
    format!("brick-{index:05}.dat")
}

/// Removes a file of a work directory of ours; one that is not there is none to remove, nor is one
/// of a directory that we do not hold.
///
/// # Errors
/// In the kernel's words.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    if !beneath::is_held(path) {
        return Ok(());
    }
    match beneath::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => {
            let error = std::io::Error::from(error);
            Err(Error::new(format!("cannot remove {}", path.display()), error))
        }
    }
}

/// The name of the folder in a work directory that the programs of a trial are given.
pub fn folder_name(trial: u32) -> String {
    format!("trial-{trial:05}")
}

fn is_folder(name: &str) -> bool {
    let digits = name.strip_prefix("trial-");
    digits.is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// No program makes folders deeper than this in earnest; each level holds a descriptor.
const DEPTH_MAX: usize = 256;

/// Removes what is below `parent` under `name`: files, links themselves, folders of the same file
/// system. What is mounted there stays, and so do the folders that lead to it.
fn remove_tree(parent: BorrowedFd<'_>, name: &std::ffi::CStr, depth: usize) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Refuses what is mounted there, a bind of the same file system too, which the device's number
    // does not tell (openat2(2), Linux 5.6); where there is no such call, nothing is removed.
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let folder = rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)?;
    if depth >= DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    for name in names(folder.as_fd())? {
        remove_tree(folder.as_fd(), &name, depth + 1)?;
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The names in a folder.
fn names(folder: BorrowedFd<'_>) -> Result<Vec<std::ffi::CString>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Makes the folder of a trial in a work directory of ours, anew.
///
/// # Errors
/// When it cannot be made, or what was there cannot be removed.
pub fn make_folder(work: &Path, trial: u32) -> Result<PathBuf, Error> {
    remove_folder(work, trial)?;
    let path = work.join(folder_name(trial));
    let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
    beneath::make_folder(&path, mode).map_err(|error| {
        let what = format!("cannot make {}", path.display());
        Error::new(what, std::io::Error::from(error)).hint(advice(error))
    })?;
    Ok(path)
}

/// Removes the folder of a trial with all that its programs made there.
///
/// # Errors
/// When something in it cannot be removed, as what is mounted there.
pub fn remove_folder(work: &Path, trial: u32) -> Result<(), Error> {
    let path = work.join(folder_name(trial));
    if !beneath::is_held(work) {
        let why = "the work directory that it lies in is not held any more";
        return Err(Error::new(format!("cannot remove {}", path.display()), why));
    }
    let removed = beneath::open_folder(work).and_then(|directory| {
        let name = std::ffi::CString::new(folder_name(trial)).map_err(|_| Errno::INVAL)?;
        remove_tree(directory.as_fd(), &name, 0)
    });
    removed.map_err(|error| {
        let what = format!("cannot remove {}", path.display());
        // Never "rm -r" alone: it would go into what is mounted there.
        Error::new(what, std::io::Error::from(error)).hint(format!(
            "`findmnt | grep {0}` shows what is mounted there: unmount it first, then rm -r {0}",
            path.display()
        ))
    })
}

fn ours(name: &str) -> bool {
    let digits = name.strip_prefix("brick-").and_then(|rest| rest.strip_suffix(".dat"));
    digits.is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit()))
}

impl WorkDir {
    /// Makes `parent/brickyard-NAME`, marks it and locks the mark. One that is there because a run
    /// of ours was killed before it had marked it is taken for just made.
    ///
    /// # Errors
    /// When it exists already or cannot be made.
    pub fn create(parent: &Path, name: &str) -> Result<WorkDir, Error> {
        WorkDir::make(parent, name, None)
    }

    /// The same, of a directory that outlives its run: no start removes it, however the run ends.
    /// `waits` tells people for what it is there; one line.
    ///
    /// # Errors
    /// As [`WorkDir::create`].
    pub fn create_kept(parent: &Path, name: &str, waits: &str) -> Result<WorkDir, Error> {
        WorkDir::make(parent, name, Some(waits))
    }

    /// Takes up again a directory that was kept, by the name that it was made under; `None` where
    /// there is none, or one that its run was killed before it had marked.
    ///
    /// # Errors
    /// When it is not ours, or somebody uses it.
    pub fn take_up(parent: &Path, asked: &str) -> Result<Option<WorkDir>, Error> {
        let name = format!("{PREFIX}{asked}");
        let path = parent.join(&name);
        if rustix::fs::lstat(&path).is_err_and(|why| why == Errno::NOENT) {
            return Ok(None);
        }
        match abandoned(parent, name) {
            Some(Abandoned { work, .. }) => Ok(Some(work)),
            // Its making takes it for just made.
            None if is_begun(parent, &format!("{PREFIX}{asked}")) => Ok(None),
            None => {
                let what = format!("cannot go on in {}", path.display());
                let why = "another run uses it, or it does not bear our marker";
                Err(Error::new(what, why).hint("wait until that run has ended, or look into it"))
            }
        }
    }

    /// Ends the use of a directory that is kept: it stays, and can be taken up again.
    pub fn rest(self) -> PathBuf {
        // A child that was forked a moment ago has the marker open until it executes its program,
        // and a lock lasts as long as any descriptor of it: flock(2). Closing it comes next anyway.
        let _ = rustix::fs::flock(&self.marker, FlockOperation::Unlock);
        self.path().to_owned()
    }

    fn make(parent: &Path, name: &str, waits: Option<&str>) -> Result<WorkDir, Error> {
        let failed = |error: Errno| {
            let what = format!("cannot make a directory in {}", parent.display());
            Error::new(what, std::io::Error::from(error)).hint(advice(error))
        };
        let above = open_above(parent).map_err(failed)?;
        let name = format!("{PREFIX}{name}");
        let begun = match rustix::fs::mkdirat(&above, &name, Mode::RWXU) {
            Ok(()) => false,
            Err(Errno::EXIST) => true,
            Err(error) => return Err(failed(error)),
        };
        let marked = open_folder(above.as_fd(), &name)
            .map_err(|error| Unmarked::Kernel(if begun { Errno::EXIST } else { error }))
            .and_then(|folder| {
                let marker = match begun {
                    false => mark(folder.as_fd(), waits)?,
                    true => mark_begun(folder.as_fd(), waits)?,
                };
                Ok((marker, folder))
            });
        let held = marked.and_then(|(marker, folder)| {
            let path = parent.join(&name);
            let held = beneath::hold_in(above.as_fd(), &name, &path, folder)?;
            Ok((held, marker))
        });
        match held {
            Ok((held, marker)) => Ok(WorkDir { held, above, name, marker }),
            Err(why) => {
                // Nothing is in it, or it is not removed.
                if !begun {
                    let _ = rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
                }
                Err(match why {
                    Unmarked::Kernel(error) => failed(error),
                    Unmarked::Strange => {
                        let what = format!("cannot make a directory in {}", parent.display());
                        let why = format!("what has the name {name} is not the one that we made");
                        Error::new(what, why).hint(
                            "somebody else may write there: measure in a directory that only you \
                             or root may write in",
                        )
                    }
                })
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// Fails when its path does not lead to it any more.
    ///
    /// # Errors
    /// With what that means to whoever measures there.
    pub fn check_place(&self) -> Result<(), Error> {
        self.held.check_place()
    }

    /// Leaves it as it is, its marker locked and open: closing a file can wait for a file system
    /// that hangs. The kernel closes it when this process ends; see [`super::child::end_apart`].
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// Removes it with all that we made in it.
    ///
    /// # Errors
    /// When something cannot be removed; what can be is.
    pub fn remove(self) -> Result<Swept, Error> {
        let path = self.path().to_owned();
        clear(self).map_err(|error| {
            let what = format!("cannot remove {}", path.display());
            let hint = format!("rm -r {}", path.display());
            Error::new(what, std::io::Error::from(error)).hint(hint)
        })
    }
}

/// Why a directory that was just made cannot be used.
enum Unmarked {
    Kernel(Errno),
    /// It is another one.
    Strange,
}

impl From<Errno> for Unmarked {
    fn from(error: Errno) -> Unmarked {
        Unmarked::Kernel(error)
    }
}

/// Marks a directory that was just made and locks the mark, when it is that directory.
fn mark(folder: BorrowedFd<'_>, waits: Option<&str>) -> Result<OwnedFd, Unmarked> {
    if !names(folder)?.is_empty() {
        return Err(Unmarked::Strange);
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let marker = rustix::fs::openat(folder, MARKER, flags, Mode::RUSR | Mode::WUSR)?;
    let marked = mark_in(folder, marker, waits);
    if marked.is_err() {
        // It is the one that we made: it was not there before.
        let _ = rustix::fs::unlinkat(folder, MARKER, AtFlags::empty());
    }
    marked
}

/// Marks a directory that is there already as one that was just made, when a run of ours was killed
/// between making and marking it: nobody else may write in it, and nothing is in it but the
/// beginning of a mark that nobody has locked.
///
/// # Errors
/// `EEXIST` of any other.
fn mark_begun(folder: BorrowedFd<'_>, waits: Option<&str>) -> Result<OwnedFd, Unmarked> {
    let of_mark = |name: &std::ffi::CString| name.to_bytes() == MARKER.as_bytes();
    if !names(folder)?.iter().all(of_mark) {
        return Err(Errno::EXIST.into());
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let marker = match rustix::fs::openat(folder, MARKER, flags, Mode::empty()) {
        Ok(marker) => marker,
        Err(Errno::NOENT) => {
            return mark(folder, waits).map_err(|_| Unmarked::Kernel(Errno::EXIST));
        }
        Err(_) => return Err(Errno::EXIST.into()),
    };
    if !is_our_marker(&rustix::fs::fstat(folder)?, &rustix::fs::fstat(&marker)?) {
        return Err(Errno::EXIST.into());
    }
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Errno::EXIST)?;
    let mut said = Vec::new();
    let file = File::from(marker);
    (&file).take(4096).read_to_end(&mut said).map_err(|_| Errno::EXIST)?;
    // A whole first line is the mark of a directory that is used, or that was left on purpose.
    if !MAGIC.as_bytes().starts_with(&said) {
        return Err(Errno::EXIST.into());
    }
    let begin_anew = file.set_len(0).and_then(|()| (&file).rewind());
    begin_anew.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    write_mark(file, waits)
}

fn mark_in(
    folder: BorrowedFd<'_>,
    marker: OwnedFd,
    waits: Option<&str>,
) -> Result<OwnedFd, Unmarked> {
    if !is_made_by_us(&rustix::fs::fstat(folder)?, &rustix::fs::fstat(&marker)?) {
        return Err(Unmarked::Strange);
    }
    // Locked before it says what it is: a sweep that comes in between finds no marker.
    rustix::fs::flock(&marker, FlockOperation::LockExclusive)?;
    write_mark(File::from(marker), waits)
}

fn write_mark(mut file: File, waits: Option<&str>) -> Result<OwnedFd, Unmarked> {
    let waits = waits.map_or(String::new(), |waits| format!("{WAITS}{waits}\n"));
    let written = write!(file, "{MAGIC}\n{waits}").and_then(|()| file.sync_all());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(file.into())
}

/// Whether a folder belongs to whom this file system makes the owner of what we make, as of a file
/// that we made in it: a server may take root for nobody, and one for all has no owners at all. And
/// whether others may write in it who may not write that file.
fn is_made_by_us(folder: &Stat, file: &Stat) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    let owners = [file.st_uid, rustix::process::geteuid().as_raw()];
    let more = folder.st_mode & !file.st_mode & OTHERS_WRITE;
    owners.contains(&folder.st_uid) && more == 0
}

/// Whether a marker is a file of ours, under no other name, in a folder that we made.
fn is_our_marker(folder: &Stat, marker: &Stat) -> bool {
    let regular = FileType::from_raw_mode(marker.st_mode) == FileType::RegularFile;
    let ours = marker.st_uid == rustix::process::geteuid().as_raw() && marker.st_nlink <= 1;
    regular && ours && is_made_by_us(folder, marker)
}

/// Removes the directories in `parent` that earlier runs made and left: those that bear the marker,
/// belong to us, are not locked by a run that still lives, and wait for nothing.
pub fn sweep(parent: &Path) -> Vec<Result<Swept, Error>> {
    let Ok(entries) = parent.read_dir() else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    names.sort();
    let swept = |name: String| {
        // Its marker stays open, and so locked, until it is gone.
        let Abandoned { work, waits } = abandoned(parent, name)?;
        Some(match waits {
            Some(waits) => Ok(Swept::Waits(work.rest(), waits)),
            None => work.remove(),
        })
    };
    names.into_iter().filter_map(swept).collect()
}

/// A directory whose marker we have locked.
struct Abandoned {
    work: WorkDir,
    /// What it waits for.
    waits: Option<String>,
}

/// The directory of that name, its marker locked, when it is ours and nobody uses it.
fn abandoned(parent: &Path, name: String) -> Option<Abandoned> {
    let above = open_above(parent).ok()?;
    let folder = open_folder(above.as_fd(), &name).ok()?;
    // A lock that an NFS server keeps takes a file that may be written: flock(2).
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let marker = rustix::fs::openat(&folder, MARKER, flags, Mode::empty()).ok()?;
    if !is_our_marker(&rustix::fs::fstat(&folder).ok()?, &rustix::fs::fstat(&marker).ok()?) {
        return None;
    }
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    let file = File::from(marker);
    let mut text = String::new();
    (&file).take(4096).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return None;
    }
    let waits = lines.next().and_then(|line| line.strip_prefix(WAITS)).map(str::to_owned);
    let held = beneath::hold_in(above.as_fd(), &name, &parent.join(&name), folder).ok()?;
    Some(Abandoned { work: WorkDir { held, above, name, marker: file.into() }, waits })
}

/// Whether a directory is one that its run had not marked yet: with nothing in it but the beginning
/// of a mark.
fn is_begun(parent: &Path, name: &str) -> bool {
    let begun = || {
        let folder = open_folder(open_above(parent)?.as_fd(), name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut said = Vec::new();
        match &names(folder.as_fd())?[..] {
            [] => {}
            [only] if only.to_bytes() == MARKER.as_bytes() => {
                let marker = rustix::fs::openat(&folder, MARKER, flags, Mode::empty())?;
                File::from(marker).take(4096).read_to_end(&mut said).map_err(|_| Errno::IO)?;
            }
            _ => return Err(Errno::NOTEMPTY),
        }
        Ok(MAGIC.as_bytes().starts_with(&said))
    };
    begun().unwrap_or(false)
}

/// Whether a directory is a work directory of somebody's run.
pub(super) fn bears_marker(directory: BorrowedFd<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(marker) = rustix::fs::openat(directory, MARKER, flags, Mode::empty()) else {
        return false;
    };
    let mut text = String::new();
    let read = File::from(marker).take(4096).read_to_string(&mut text);
    read.is_ok() && text.lines().next() == Some(MAGIC)
}

/// A directory that is named by whoever measures, and may be a link.
fn open_above(parent: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(parent, flags, Mode::empty())
}

fn open_folder(above: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

/// Removes our files from the directory, then the marker, then the directory itself.
fn clear(work: WorkDir) -> Result<Swept, Errno> {
    let WorkDir { held, above, name, marker } = work;
    let directory = held.directory();
    let mut foreign = Vec::new();
    for entry in names(directory)? {
        match entry.to_string_lossy().into_owned() {
            name if name == MARKER => {}
            name if is_folder(&name) => remove_tree(directory, &entry, 0)?,
            name if ours(&name) => {
                // Removes the name itself, never what a link of that name leads to.
                match rustix::fs::unlinkat(directory, entry.as_c_str(), AtFlags::empty()) {
                    Ok(()) => {}
                    Err(Errno::ISDIR) => foreign.push(name),
                    Err(error) => return Err(error),
                }
            }
            name => foreign.push(name),
        }
    }
    let path = held.path().to_owned();
    if !foreign.is_empty() {
        foreign.sort();
        return Ok(Swept::Kept(path, foreign));
    }
    rustix::fs::unlinkat(directory, MARKER, AtFlags::empty())?;
    // What has its name and is another one is not ours to remove.
    let named = rustix::fs::statat(&above, &name, AtFlags::SYMLINK_NOFOLLOW);
    if !named.is_ok_and(|stat| FileIdentity::from_stat(&stat) == held.identity()) {
        return Ok(Swept::Moved(path));
    }
    let remove = || rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
    match remove() {
        // A client of NFS keeps a file that is open under another name until it is closed.
        Err(Errno::NOTEMPTY) => {
            drop(marker);
            remove()
        }
        removed => removed,
    }?;
    Ok(Swept::Removed(path))
}

fn advice(error: Errno) -> &'static str {
    match error {
        Errno::ACCESS | Errno::PERM => "choose a directory that you may write in, or run as root",
        Errno::ROFS => "it is mounted read-only: choose another, or remount it read-write",
        Errno::NOSPC | Errno::DQUOT => "make room there, or choose another directory",
        Errno::LOOP => "its path goes round in a circle of symbolic links: name the real directory",
        Errno::NOTDIR => "name a directory, not a file",
        Errno::NOENT => "make it first, or name one that exists",
        _ => "choose another directory",
    }
}

#[cfg(test)]
mod tests;
