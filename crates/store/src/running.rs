//! Who runs which campaign of a store: two that go on with the same one would each run what is left
//! of it.
//!
//! Beside a store that somebody runs a campaign into lies a small file, of which each of them has
//! one byte locked, the one that its campaign's name leads to. The lock goes with the process,
//! however that ends; the last one removes the file. Readers of the store need nothing of it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Store;
use host::sys::{Error, clock, range};

/// What is appended to the store's name.
const BESIDE: &str = "-running";
/// A line a run; what is longer is not ours.
const BYTES_MAX: u64 = 1 << 20;
/// How often a campaign that is held is asked for again, and after how long each time: a program
/// that is being started holds a copy of every open file until its exec(2).
const PATIENCE: u32 = 25;
const STEP: Duration = Duration::from_millis(10);

/// A campaign that this process runs; nobody else does before this is dropped.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
    file: File,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Runner {
    /// The campaign's name.
    campaign: String,
    /// Its process.
    pid: u32,
    /// On which machine.
    host: String,
    /// Since when, Unix time in ns.
    since_unix_ns: u64,
}

/// Whoever runs a campaign already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its process, where it left a line.
    pub pid: Option<u32>,
    /// On which machine.
    pub host: String,
    /// Since when, Unix time in ns.
    pub since_unix_ns: u64,
}

/// The file beside a store in which those who run campaigns stand.
pub(super) fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(BESIDE);
    PathBuf::from(name)
}

impl Store {
    /// Takes the campaign of this name, so that nobody else runs it at the same time; else says who
    /// does.
    ///
    /// # Errors
    /// When the file beside the store cannot be used.
    pub fn run_alone(&self, uid: &str) -> Result<Result<Running, Elsewhere>, Error> {
        let path = beside(self.path());
        taken(&path, self.path(), uid).map_err(|why| {
            Error::new(format!("cannot use {}", path.display()), why)
                .hint("keep the store in a directory that you may write in")
        })
    }
}

fn taken(path: &Path, store: &Path, uid: &str) -> io::Result<Result<Running, Elsewhere>> {
    let store = store.metadata()?;
    let byte = u64::from_str_radix(uid, 16).unwrap_or_default() >> 2;
    let mut patience = PATIENCE;
    loop {
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        check(&file, &store)?;
        if !range::lock(&file, byte, 1)? {
            if patience == 0 {
                return Ok(Err(who(&mut file, uid)));
            }
            patience -= 1;
            std::thread::sleep(STEP);
            continue;
        }
        // The last one may have removed it between our opening and our lock.
        if !is_at(path, &file) {
            continue;
        }
        let runner = Runner {
            campaign: uid.to_owned(),
            pid: std::process::id(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            since_unix_ns: clock::unix_ns(),
        };
        let mut line = serde_json::to_vec(&runner)?;
        line.push(b'\n');
        file.write_all(&line)?;
        return Ok(Ok(Running { path: path.to_owned(), file }));
    }
}

/// Only a file of ours is written into, and whoever may write the store may have it too: of two
/// users of one store neither keeps the other out. SQLite does so with its log.
fn check(file: &File, store: &std::fs::Metadata) -> io::Result<()> {
    let about = file.metadata()?;
    let us = rustix::process::geteuid().as_raw();
    let why = match () {
        () if !about.is_file() => "it is not a regular file",
        () if about.nlink() > 1 => "it is the file of another name as well",
        () if ![us, 0, store.uid()].contains(&about.uid()) => "it belongs to somebody else",
        () if about.len() > 0 || about.uid() != us => return Ok(()),
        () => {
            let mode = rustix::fs::Mode::from_raw_mode((store.mode() & 0o666) | 0o600);
            let (uid, gid) = (store.uid(), store.gid());
            let owner = rustix::fs::Uid::from_raw(uid);
            let group = rustix::fs::Gid::from_raw(gid);
            // Where that is not allowed it is as it is.
            let _ = rustix::fs::fchmod(file, mode);
            let _ = (us == 0).then(|| rustix::fs::fchown(file, Some(owner), Some(group)));
            return Ok(());
        }
    };
    Err(io::Error::other(why))
}

fn is_at(path: &Path, file: &File) -> bool {
    let identity = |it: std::fs::Metadata| (it.dev(), it.ino());
    let there = path.symlink_metadata().ok().map(identity);
    there.is_some() && there == file.metadata().ok().map(identity)
}

/// The newest line about a campaign that is held.
fn who(file: &mut File, uid: &str) -> Elsewhere {
    let mut bytes = Vec::new();
    let read =
        file.seek(SeekFrom::Start(0)).and_then(|_| file.take(BYTES_MAX).read_to_end(&mut bytes));
    let lines = bytes.split(|byte| *byte == b'\n').filter(|_| read.is_ok());
    let mut runners = lines.filter_map(|line| serde_json::from_slice::<Runner>(line).ok());
    match runners.rfind(|runner| runner.campaign == uid) {
        None => Elsewhere { pid: None, host: String::new(), since_unix_ns: 0 },
        Some(Runner { pid, host, since_unix_ns, .. }) => {
            // It is printed, and whoever may write there may have written it.
            let host = host.chars().filter(|c| !c.is_control()).take(64).collect();
            Elsewhere { pid: Some(pid), host, since_unix_ns }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever gets all of it is the last one. It is removed while it is locked: who has opened
        // it by then sees that it is gone.
        if range::lock(&self.file, 0, 0).unwrap_or(false) && is_at(&self.path, &self.file) {
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_runs_a_campaign_at_a_time_and_others_run_others_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db-running");
        let taken = |uid: &str| taken(&path, folder.path(), uid).unwrap();
        let first = taken("00000000000000aa").unwrap();
        let other = taken("ff000000000000ab").unwrap();
        let refused = taken("00000000000000aa").unwrap_err();
        assert_eq!(refused.pid, Some(std::process::id()));
        assert!(!refused.host.is_empty() && refused.since_unix_ns > 1_700_000_000_000_000_000);
        drop(first);
        assert!(path.exists(), "somebody runs another");
        let again = taken("00000000000000aa").unwrap();
        drop((other, again));
        assert!(!path.exists());
    }

    /// What a killed run left says nothing: its lock went with it.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn a_file_that_was_left_holds_nobody_up_and_goes_with_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db-running");
        std::fs::write(&path, "{\"campaign\":\"aa\",\"pid\":1,\"host\":\"a\"}\ntorn").unwrap();
        drop(taken(&path, folder.path(), "aa").unwrap().unwrap());
        assert!(!path.exists());
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(taken(&path, folder.path(), "aa").is_err(), "a link that somebody planted");
    }
}
