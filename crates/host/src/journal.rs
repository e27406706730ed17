//! What must be undone, on disk before it is done.
//!
//! A file of JSON lines beside the store, appended to and made durable (fsync of file and folder)
//! before each change of the machine. It names what is changed, what identifies the device behind
//! it, the boot, the value before and the value written. Whoever changes settings is elsewhere
//! (`campaign`); putting them back is here, so that it works from the file alone.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::sys::fire::{Plant, planted};
use crate::sys::place::{AnchoredName, Links, Lost};
use crate::sys::{Error, Host, durable};

mod fate;
pub mod identity;
pub mod layout;
mod undo;

use facts::identity::Identity;
pub use fate::{Fate, UndoOutcome};
pub use layout::{LayoutAct, lvm_config, mounted_at};
pub use undo::{in_force, outstanding};

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
        act: LayoutAct,
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
    /// Its name, in its directory, which is held: whoever may rename that cannot have us remove
    /// another file.
    place: AnchoredName,
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
        let hint = "keep the store in a directory that you may write in";
        let failed = |error: std::io::Error| Error::new(what(path), error).hint(hint);
        let mut patience = PATIENCE;
        let place = match AnchoredName::find(path, Links::Trusted) {
            Err(Lost::Kernel(Errno::NOENT)) if !make => return Ok(None),
            found => found.map_err(|lost| lost.error(what(path), hint))?,
        };
        if place.is_through_link() {
            return Err(failed(Errno::LOOP.into()));
        }
        loop {
            let file = match place.open_own(make) {
                Err(Errno::NOENT) if !make => return Ok(None),
                opened => opened.map_err(|error| failed(error.into()))?,
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
            let there = place.again().ok().and_then(|there| there.file());
            if there == Some((ours.dev(), ours.ino())) || !ours.is_file() {
                check(path, &ours)?;
                let (lines, unreadable, torn) = (Vec::new(), Vec::new(), None);
                let path = path.to_owned();
                let mut journal = Journal { path, place, file, lines, unreadable, torn };
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
        let end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
        let mut whole = end(&bytes).map_or(0, |end| end + 1);
        // Of a line within which the power failed the end may be there, and zeros before it.
        let last = end(&bytes[..whole.saturating_sub(1)]).map_or(0, |end| end + 1);
        if bytes[last..whole].contains(&0) {
            whole = last;
        }
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
        let text = serde_json::to_string(&line).map_err(std::io::Error::from);
        text.and_then(|text| self.add(format!("{text}\n").as_bytes())).map_err(|error| {
            Error::new(format!("cannot write {}", self.path.display()), error)
                .hint("make room there: what cannot be noted is not changed")
        })?;
        self.lines.push(line);
        Ok(())
    }

    /// Adds bytes and makes them durable; what is left of such that failed goes first, lest the
    /// new line begins in the middle of it.
    fn add(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if let Some(end) = self.torn {
            durable::cut(&self.file, end)?;
            durable::sync(&self.file)?;
        }
        self.torn = Some(self.file.metadata()?.len());
        #[cfg(test)]
        if planted(Plant::TornLineStays) {
            self.torn = None;
        }
        durable::append(&self.file, bytes)?;
        durable::sync(&self.file)?;
        // A file's name is durable with its folder.
        if self.lines.is_empty() {
            durable::sync_place(&self.place)?;
        }
        self.torn = None;
        Ok(())
    }

    /// Removes the file when all in it is done with.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn close(self) -> Result<(), Error> {
        if !undo::outstanding(&self.lines).is_empty() || !self.unreadable.is_empty() {
            return Ok(());
        }
        durable::remove(&self.place, &self.path)
            .and_then(|()| durable::sync_place(&self.place))
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
        () if there.nlink() > 1 => "it has a second name, and may be a file of elsewhere",
        () => return Ok(()),
    };
    Err(Error::new(what(path), why)
        .hint("look into it, then move it away; it may tell what an earlier run changed"))
}

#[cfg(test)]
mod tests;
