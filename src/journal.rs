//! What must be undone, on disk before it is done.
//!
//! A file of JSON lines beside the store, appended to and made durable (fsync of file and folder)
//! before each change of the machine. It names what is changed, what identifies the device behind
//! it, the boot, the value before and the value written. Whoever changes settings is elsewhere
//! (`campaign`); putting them back is here, so that it works from the file alone.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::sys::{Error, Host};

mod identity;
mod layout;
mod undo;

pub use identity::Identity;
pub use layout::{Act, lvm_config, mounted_at};
#[cfg(test)]
pub use undo::Fate;
pub use undo::{Said, in_force};

/// What is appended to the store's name. SQLite has taken `-journal` for a file of its own.
const BESIDE: &str = "-undo";
/// A journal is some lines a trial; more than this is none of ours.
const BYTES_MAX: u64 = 1 << 30;
/// How often a journal that is held is asked for again, and after how long each time.
const PATIENCE: u32 = 25;
const STEP: std::time::Duration = std::time::Duration::from_millis(10);

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// A file is about to be written.
    Write(Change),
    /// A file of the same device will change along, whatever is written elsewhere.
    Disturb(Change),
    /// The kernel made another value of what was written.
    Took {
        /// Which file.
        path: String,
        /// What it holds now.
        value: String,
    },
    /// A directory of ours is about to be made: a control group.
    Make {
        /// Which.
        path: String,
        /// Boot id of the kernel that will hold it.
        boot: String,
    },
    /// A directory, a superblock, an array, a mount of ours is about to be made.
    Layout {
        /// What.
        act: Act,
        /// Boot id of the kernel under which it is made.
        boot: String,
    },
    /// This is as it was before; the lines on it above are done with.
    Done {
        /// Which file or directory, or what an act of provisioning is called.
        path: String,
    },
}

/// One write, as it will be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, as a path of the machine.
    pub path: String,
    /// The device behind it, where there is one.
    pub device: Option<Identity>,
    /// Which boot: /proc/sys/kernel/random/boot_id.
    pub boot: String,
    /// What it held.
    pub before: String,
    /// What it is to hold; nothing for a file that only changes along.
    pub written: String,
    /// What must be written where instead, to have the value before again.
    pub instead: Option<(String, String)>,
}

/// The open journal of one run; locked for as long as it lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    lines: Vec<Line>,
    /// Lines in the middle that nobody can read, by number.
    unreadable: Vec<usize>,
    /// Where a last line begins that has no end.
    torn: Option<u64>,
}

/// The journal that belongs to a store.
pub fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(BESIDE);
    PathBuf::from(name)
}

/// This boot's id.
///
/// # Errors
/// When the kernel does not tell it: then nothing may be changed.
pub fn boot(host: &Host) -> Result<String, Error> {
    Ok(host.read("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

impl Journal {
    /// Opens the journal at `path`, and makes it when there is none.
    ///
    /// # Errors
    /// When another run has it, it cannot be written, or it is not a file of ours.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        let journal = Journal::locked(path, true)?;
        journal.ok_or_else(|| Error::new(what(path), std::io::Error::from(Errno::NOENT)))
    }

    /// Opens the journal at `path` if there is one.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn existing(path: &Path) -> Result<Option<Journal>, Error> {
        Journal::locked(path, false)
    }

    fn locked(path: &Path, make: bool) -> Result<Option<Journal>, Error> {
        let failed = |error: std::io::Error| {
            Error::new(what(path), error)
                .hint("keep the store in a directory that you may write in")
        };
        let mut patience = PATIENCE;
        loop {
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let mut how = OpenOptions::new();
            how.read(true).append(true).create(make).mode(0o600).custom_flags(flags);
            let file = match how.open(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !make => {
                    return Ok(None);
                }
                opened => opened.map_err(failed)?,
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // A program that is being started holds a copy of every open file until its
                // exec(2): what was let go a moment ago may still seem held.
                Err(Errno::WOULDBLOCK) if patience > 0 => {
                    patience -= 1;
                    std::thread::sleep(STEP);
                    continue;
                }
                Err(Errno::WOULDBLOCK) => {
                    let why = "a run that changes settings of this machine has it";
                    let hint = "wait until that run has ended; its settings are in force now";
                    return Err(Error::new(what(path), why).hint(hint));
                }
                Err(error) => return Err(failed(error.into())),
            }
            // Whoever had it may have removed it between our opening and our lock.
            let ours = file.metadata().map_err(failed)?;
            let there = path.symlink_metadata();
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                check(path, &ours)?;
                let (lines, unreadable, torn) = (Vec::new(), Vec::new(), None);
                let mut journal = Journal { path: path.into(), file, lines, unreadable, torn };
                journal.read().map_err(failed)?;
                return Ok(Some(journal));
            }
        }
    }

    /// Reads all lines. The last one does not count when it has no end: what it was to tell was not
    /// done, as a line is durable before its change.
    fn read(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        (&self.file).take(BYTES_MAX).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for (number, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                _ if line.is_empty() => {}
                Ok(line) => self.lines.push(line),
                Err(_) => self.unreadable.push(number + 1),
            }
        }
        self.torn = (whole < bytes.len()).then_some(whole as u64);
        Ok(())
    }

    /// Adds a line; it is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written: then the change must not be made.
    pub fn note(&mut self, line: Line) -> Result<(), Error> {
        let failed = |error: std::io::Error| {
            Error::new(format!("cannot write {}", self.path.display()), error)
                .hint("make room there: what cannot be noted is not changed")
        };
        let mut text = serde_json::to_string(&line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let first = self.lines.is_empty();
        if let Some(end) = self.torn.take() {
            self.file.set_len(end).map_err(failed)?;
        }
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        let durable = written.and_then(|()| if first { self.sync_folder() } else { Ok(()) });
        durable.map_err(failed)?;
        self.lines.push(line);
        Ok(())
    }

    /// A file's name is durable with its folder (fsync(2)).
    fn sync_folder(&self) -> std::io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Removes the file when all in it is done with.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn close(self) -> Result<(), Error> {
        if !undo::outstanding(&self.lines).is_empty() || !self.unreadable.is_empty() {
            return Ok(());
        }
        let removed = rustix::fs::unlink(&self.path).map_err(std::io::Error::from);
        removed
            .and_then(|()| self.sync_folder())
            .map_err(|error| Error::new(format!("cannot remove {}", self.path.display()), error))
    }
}

fn what(path: &Path) -> String {
    format!("cannot use the journal {}", path.display())
}

/// A journal makes us write as whoever runs us: only our own, or root's, is believed.
fn check(path: &Path, there: &std::fs::Metadata) -> Result<(), Error> {
    let us = rustix::process::geteuid().as_raw();
    let why = match () {
        () if !there.is_file() => "it is not a regular file",
        () if there.uid() != us && there.uid() != 0 => "it belongs to somebody else",
        () if there.permissions().mode() & 0o022 != 0 => "others may write in it",
        () => return Ok(()),
    };
    Err(Error::new(what(path), why)
        .hint("look into it, then move it away; it may tell what an earlier run changed"))
}

#[cfg(test)]
mod tests;
