//! The one place that decides where a command may write, before it reads or measures anything.
//!
//! An output is never a file that the command reads or keeps, by whatever name; it replaces only
//! what is recognisably an output of its kind, or anything where the user said so; it goes through
//! no link that somebody else may have planted. What is decided is kept as a name in a directory
//! that is held open, and looked at once more when the output is written.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
#[cfg(any(test, feature = "testing"))]
use std::os::fd::AsFd;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::place::{self, AnchoredName, Links, Lost};
use super::{Error, workdir};

mod folder;
mod put;

pub use folder::Folder;
pub(super) use put::drawn;

/// So much of an existing file is looked at: where marks stand.
const START_BYTES: u64 = 64 << 10;
const END_BYTES: u64 = 1 << 20;

/// Whether a file is an output of ours of some kind, by how it begins and how it ends.
pub type OutputMark = fn(start: &[u8], end: &[u8]) -> bool;

/// What an output is.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// As in "it is no ...": `HTML report`.
    pub name: &'static str,
    /// How one is told.
    pub is: OutputMark,
}

/// What a command reads or keeps, which is no place for an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// As in "it is ...": `the store s.db`.
    pub what: String,
    /// Where; nothing need be there yet.
    pub path: PathBuf,
}

/// An output that the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct RequestedOutput<'a> {
    /// Where it goes.
    pub path: &'a Path,
    /// The flag that names it: `--report`.
    pub flag: &'static str,
    /// What it is.
    pub kind: OutputKind,
    /// Whether it may replace a file that is no output of its kind.
    pub force: bool,
}

/// An output that was decided on and can be written.
#[derive(Debug)]
pub struct Output {
    place: AnchoredName,
    path: PathBuf,
    flag: &'static str,
    kind: OutputKind,
    force: bool,
    taken: Vec<Taken>,
}

impl Taken {
    /// What is at `path`, named as the user knows it.
    pub fn new(what: &str, path: &Path) -> Taken {
        Taken { what: format!("{what} {}", path.display()), path: path.to_owned() }
    }
}

fn writing(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Why a place is taken; `None` when it is free. A directory that is taken is so with all below it.
///
/// # Errors
/// When a directory above it cannot be looked at.
fn why_taken(place: &AnchoredName, taken: &[Taken]) -> Result<Option<String>, Errno> {
    let solid = |stat| matches!(place::kind(stat), FileType::RegularFile | FileType::Directory);
    if place.stat().is_some_and(|stat| !solid(stat)) {
        // A terminal or a pipe may well be both ends.
        return Ok(None);
    }
    for Taken { what, path } in taken {
        // What does not exist, down to its directory, is no other name of anything.
        let Ok(other) = AnchoredName::find(path, Links::All) else {
            let Ok(folder) = rustix::fs::stat(path) else { continue };
            if is_below(place, place::identity(&folder))? {
                return Ok(Some(format!("it lies in {what}, which is only read")));
            }
            continue;
        };
        let same = place.file().is_some() && place.file() == other.file();
        if same || place.has_name_of(&other) {
            let there = place.stat().is_some() || other.stat().is_some();
            let verb = if there { "it is" } else { "it will be" };
            return Ok(Some(format!("{verb} {what}")));
        }
        if let Some(stat) = other.stat()
            && place::kind(stat) == FileType::Directory
            && is_below(place, place::identity(stat))?
        {
            return Ok(Some(format!("it lies in {what}, which is only read")));
        }
    }
    Ok(None)
}

fn is_below(place: &AnchoredName, directory: place::Identity) -> Result<bool, Errno> {
    Ok(place.climb(|_, here| (here == directory).then_some(()))?.is_some())
}

/// Which of them has the name or the file at `path`; `None` when none has.
pub fn clash(path: &Path, taken: &[Taken]) -> Option<String> {
    let place = AnchoredName::find(path, Links::All).ok()?;
    why_taken(&place, taken).ok().flatten()
}

impl Output {
    /// Decides whether the output may be written where it is wanted. Nothing is touched.
    ///
    /// # Errors
    /// When it may not, with what to type instead.
    pub fn decide(wanted: &RequestedOutput<'_>, taken: Vec<Taken>) -> Result<Output, Error> {
        let RequestedOutput { path, flag, kind, force } = *wanted;
        let place = AnchoredName::find(path, Links::Trusted).map_err(|lost| {
            lost.error(writing(path), "name a file in a directory that you may write in")
        })?;
        let output = Output { place, path: path.to_owned(), flag, kind, force, taken };
        output.check(&output.place)?;
        Ok(output)
    }

    /// As it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn refused(&self, why: impl facts::error::Cause) -> Error {
        Error::new(writing(&self.path), why)
            .hint(format!("name another file with {} FILE", self.flag))
    }

    fn failed(&self, error: impl Into<std::io::Error>) -> Error {
        Error::new(writing(&self.path), error.into())
            .hint("name a file in a directory that you may write in")
    }

    fn forced(&self, why: impl facts::error::Cause) -> Result<(), Error> {
        match self.force {
            true => Ok(()),
            false => Err(Error::new(writing(&self.path), why).hint(format!(
                "name another file with {} FILE, or give --force to replace this one",
                self.flag
            ))),
        }
    }

    /// Everything that stands against writing there, as it is now.
    fn check(&self, place: &AnchoredName) -> Result<(), Error> {
        let failed = |error: Errno| self.failed(error);
        if let Some(why) = why_taken(place, &self.taken).map_err(failed)? {
            return Err(self.refused(why));
        }
        match place.stat().map(place::kind) {
            Some(FileType::Directory) => return Err(failed(Errno::ISDIR)),
            Some(FileType::BlockDevice) => return Err(self.refused("it is a block device")),
            None | Some(FileType::RegularFile) if place.descriptor().is_none() => {}
            _ => return Ok(()),
        }
        let ours = place.climb(|directory, _| workdir::bears_marker(directory).then_some(()));
        if ours.map_err(failed)?.is_some() {
            return Err(self.refused("it lies in a work directory of brickyard, which is removed"));
        }
        let flags = AtFlags::EACCESS;
        rustix::fs::accessat(place.directory(), ".", Access::WRITE_OK, flags).map_err(failed)?;
        let Some(stat) = place.stat() else { return Ok(()) };
        if let Some(why) = place.planted().map_err(failed)? {
            return self.forced(why);
        }
        if !self.keeps_owner(place) {
            let owner = place::user(stat.st_uid);
            return self.forced(format!("it belongs to {owner}, which only root can keep"));
        }
        // Of an empty file, as mktemp(1) makes it, nothing is lost.
        if stat.st_size > 0 && !self.is_of_kind(place) {
            return self.forced(format!("it is there already, and is no {}", self.kind.name));
        }
        Ok(())
    }

    /// Whether the new file can belong to the owner of the one that it replaces.
    fn keeps_owner(&self, place: &AnchoredName) -> bool {
        let us = rustix::process::geteuid();
        us.is_root() || place.stat().is_some_and(|stat| stat.st_uid == us.as_raw())
    }

    fn is_of_kind(&self, place: &AnchoredName) -> bool {
        let Ok(file) = place.open(OFlags::RDONLY | OFlags::NONBLOCK) else { return false };
        ends(file).is_ok_and(|(start, end)| (self.kind.is)(&start, &end))
    }

    /// Writes it, whole or not at all. What is there keeps its mode and its owner, and a link stays
    /// a link: the file that it leads to is written. A device, a pipe or a terminal is written
    /// into.
    ///
    /// # Errors
    /// When it cannot be written, or somebody has put something else there in the meantime.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let place = self.place.again().map_err(|lost| match lost {
            Lost::Kernel(Errno::LOOP) => self.refused("there is a link by now, which was not"),
            lost => lost.error(writing(&self.path), "name another file"),
        })?;
        self.check(&place)?;
        let stream = place.stat().is_some_and(|stat| place::kind(stat) != FileType::RegularFile);
        if let Some(number) = place.descriptor() {
            let written = duplicate(number).and_then(|mut file| file.write_all(bytes));
            return written.map_err(|error| self.failed(error));
        }
        if stream {
            let opened = place.open(OFlags::WRONLY).map_err(|error| self.failed(error))?;
            return (&opened).write_all(bytes).map_err(|error| self.failed(error));
        }
        // What others may have planted is replaced only by force, and by a file of our own.
        let planted = place.planted().map_err(|error| self.failed(error))?.is_some();
        let old = match place.stat() {
            None => None,
            Some(_) => Some(self.attributes(&place, !planted && self.keeps_owner(&place))?),
        };
        put::put(place.directory(), place.name(), bytes, old.as_ref()).map_err(|error| match error
            .kind()
        {
            std::io::ErrorKind::AlreadyExists => {
                self.refused("something is there by now, which was not before")
            }
            _ => self.failed(error),
        })
    }

    fn attributes(&self, place: &AnchoredName, owner: bool) -> Result<put::Attributes, Error> {
        let opened = match place.open(OFlags::RDONLY | OFlags::NONBLOCK) {
            // One that we may not read tells its mode and owner all the same.
            Err(Errno::ACCESS) => place.open(OFlags::PATH),
            opened => opened,
        };
        let old = opened.map_err(|error| self.failed(error))?;
        put::Attributes::from_file(&old, owner).map_err(|error| self.failed(error))
    }
}

/// What a file begins with, and what it ends with.
fn ends(mut file: File) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let length = file.metadata()?.len();
    let (mut start, mut end) = (Vec::new(), Vec::new());
    (&file).take(START_BYTES).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    (&file).take(END_BYTES).read_to_end(&mut end)?;
    Ok((start, end))
}

/// A descriptor of ours once more, with its place in its file and its flags.
fn duplicate(number: i32) -> std::io::Result<File> {
    // SAFETY: a system call on a number; one that is no descriptor is an error.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the kernel gave this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) }.into())
}

/// Writes a file of a test, whole or not at all, name and all.
///
/// # Errors
/// When it cannot be written there.
#[cfg(any(test, feature = "testing"))]
pub fn keep(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let hint = "name a file in a directory that you may write in";
    let failed = |error: std::io::Error| Error::new(writing(path), error).hint(hint);
    let place =
        AnchoredName::find(path, Links::Trusted).map_err(|lost| lost.error(writing(path), hint))?;
    let there = match place.stat() {
        None => None,
        Some(_) => Some(place.open(OFlags::RDONLY).map_err(|error| failed(error.into()))?),
    };
    let old = there.map(|file| put::Attributes::from_file(file.as_fd(), false)).transpose();
    let old = old.map_err(failed)?;
    put::put(place.directory(), place.name(), bytes, old.as_ref()).map_err(failed)
}

/// Opens a file to add to it, and makes it where there is none; its name is durable.
///
/// # Errors
/// When it cannot be opened, is a folder or a disk, or may have been put there by somebody else.
pub fn append(path: &Path) -> Result<File, Error> {
    let hint = "name a file in a directory that you may write in";
    let failed = |error: Errno| Error::new(writing(path), std::io::Error::from(error)).hint(hint);
    let place =
        AnchoredName::find(path, Links::Trusted).map_err(|lost| lost.error(writing(path), hint))?;
    let Some(stat) = place.stat() else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::WRONLY;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file = rustix::fs::openat(place.directory(), place.name(), flags, mode);
        let file = file.map_err(failed)?;
        place.sync().map_err(|error| Error::new(writing(path), error))?;
        return Ok(file.into());
    };
    match place::kind(stat) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(failed(Errno::ISDIR)),
        FileType::BlockDevice => {
            return Err(Error::new(writing(path), "it is a block device").hint(hint));
        }
        _ => return place.open(OFlags::APPEND | OFlags::WRONLY).map_err(failed),
    }
    if let Some(why) = place.planted().map_err(failed)? {
        return Err(Error::new(writing(path), why).hint(hint));
    }
    place.open(OFlags::APPEND | OFlags::WRONLY | OFlags::NONBLOCK).map_err(failed)
}

#[cfg(test)]
mod tests;
