//! Walks through the files of a machine and keeps what is wanted of them, in order of path.
//!
//! Bounded in files, bytes and time; a file that does not answer is left behind with the thread
//! that reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::FileType;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::wanted;
use crate::sys::{Host, clock};

/// Files that are kept at most.
const FILES_MAX: usize = 200_000;
/// Bytes that are kept at most.
const BYTES_MAX: usize = 32 << 20;
/// How deep the walk goes.
const DEPTH_MAX: usize = 40;
/// How long one file may take: a register of a disk that is gone is waited for much longer.
const FILE_WAIT: Duration = Duration::from_secs(2);
/// How long all of them may take, ns.
const ALL_NS: u64 = 60_000_000_000;

/// What a recording keeps of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedNode {
    /// A file's bytes.
    File(Vec<u8>),
    /// Where a link leads, an absolute path.
    Link(String),
    /// A directory that is kept for its name.
    Folder,
}

/// What was found so far.
pub struct Walk<'a> {
    host: &'a Host,
    /// By path.
    pub kept: BTreeMap<String, RecordedNode>,
    /// What was not read, and why.
    pub missed: BTreeMap<String, String>,
    seen: BTreeSet<String>,
    bytes: usize,
    end_ns: u64,
    reader: Reader,
}

impl<'a> Walk<'a> {
    /// Begins with nothing.
    pub fn new(host: &'a Host) -> Walk<'a> {
        Walk {
            host,
            kept: BTreeMap::new(),
            missed: BTreeMap::new(),
            seen: BTreeSet::new(),
            bytes: 0,
            end_ns: clock::monotonic_ns().saturating_add(ALL_NS),
            reader: Reader::start(),
        }
    }

    /// Whether there is room and time for more.
    fn goes_on(&mut self) -> bool {
        let why = if self.kept.len() >= FILES_MAX {
            "there are too many files"
        } else if self.bytes >= BYTES_MAX {
            "there is too much in all files"
        } else if clock::monotonic_ns() >= self.end_ns {
            "reading took too long"
        } else {
            return true;
        };
        self.missed.insert("the rest".to_owned(), why.to_owned());
        false
    }

    /// Walks through what lies below `root`; links are not followed.
    pub fn tree(&mut self, root: &str) {
        let mut ahead = vec![(root.to_owned(), 0)];
        while let Some((folder, depth)) = ahead.pop() {
            for name in self.host.list(&folder) {
                if !self.goes_on() {
                    return;
                }
                let path = format!("{folder}/{name}");
                let Some((kind, mode)) = self.kind(&path) else { continue };
                if kind.is_symlink() && wanted::link(&folder, &name) {
                    self.link(&path);
                } else if kind.is_dir() && depth < DEPTH_MAX && wanted::folder(&folder, &name) {
                    ahead.push((path, depth + 1));
                } else if kind.is_file() && mode & 0o444 != 0 && wanted::file(&folder, &name) {
                    self.file(&path);
                }
            }
        }
    }

    /// Keeps what lies at a path, with the links on the way to it and the links that it has.
    pub fn place(&mut self, path: &str, listed: bool) {
        let Some(end) = self.follow(path) else { return };
        match self.kind(&end) {
            Some((kind, _)) if kind.is_file() => self.file(&end),
            Some((kind, _)) if kind.is_dir() && listed => self.listing(&end),
            _ => {}
        }
    }

    /// Keeps that there is a file or a folder, with the links on the way to it.
    pub fn presence(&mut self, path: &str) {
        let Some(end) = self.follow(path) else { return };
        match self.kind(&end) {
            Some((kind, _)) if kind.is_file() => {
                self.kept.entry(end).or_insert(RecordedNode::File(Vec::new()));
            }
            Some((kind, _)) if kind.is_dir() => {
                self.kept.entry(end).or_insert(RecordedNode::Folder);
            }
            _ => {}
        }
    }

    /// The names in a folder: its links, and its folders for their names.
    fn listing(&mut self, folder: &str) {
        for name in self.host.list(folder) {
            let path = format!("{folder}/{name}");
            match self.kind(&path) {
                Some((kind, _)) if kind.is_symlink() => self.link(&path),
                Some((kind, _)) if kind.is_dir() => {
                    self.kept.entry(path).or_insert(RecordedNode::Folder);
                }
                _ => {}
            }
        }
    }

    /// The path without links, which are kept; `None` when there is nothing.
    fn follow(&mut self, path: &str) -> Option<String> {
        // It leads to whoever reads it.
        if path.starts_with("/proc/self/") {
            return Some(path.to_owned());
        }
        let mut at = String::new();
        let mut ahead: Vec<String> = names(path).rev().collect();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            at = format!("{at}/{name}");
            let (kind, _) = self.kind(&at)?;
            if kind.is_symlink() {
                links += 1;
                let target = self.target(&at).filter(|_| links <= 40)?;
                self.link(&at);
                ahead.extend(names(&target).rev());
                at = String::new();
            }
        }
        Some(at)
    }

    /// Keeps a link.
    pub fn link(&mut self, path: &str) {
        if let Some(target) = self.target(path) {
            self.kept.insert(path.to_owned(), RecordedNode::Link(target));
        }
    }

    /// Where a link leads, as an absolute path.
    fn target(&self, path: &str) -> Option<String> {
        let target = self.host.link(path)?;
        let target = Path::new(path).parent()?.join(target);
        let mut names: Vec<&str> = Vec::new();
        for name in target.to_str()?.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop();
                }
                name => names.push(name),
            }
        }
        Some(format!("/{}", names.join("/")))
    }

    /// Keeps a file.
    pub fn file(&mut self, path: &str) {
        if !self.seen.insert(path.to_owned()) || !self.goes_on() {
            return;
        }
        match self.reader.read(&self.host.path(path), wanted::bytes_max(path)) {
            Ok(mut bytes) => {
                let most = wanted::bytes_max(path);
                if bytes.len() > most && !wanted::is_cut(path) {
                    let why = format!("it is longer than {} KiB", most >> 10);
                    self.missed.insert(path.to_owned(), why);
                    return;
                }
                bytes.truncate(most);
                self.bytes += bytes.len();
                self.kept.insert(path.to_owned(), RecordedNode::File(bytes));
            }
            Err(Unread::Denied(why) | Unread::Silent(why)) => {
                self.missed.insert(path.to_owned(), why);
            }
            Err(Unread::Absent) => {}
        }
    }

    /// Keeps the folders that links lead to and that nothing lies in: a link to nothing is none.
    pub fn ends_of_links(&mut self) {
        let targets: BTreeSet<String> = self
            .kept
            .values()
            .filter_map(|kept| match kept {
                RecordedNode::Link(target) => Some(target.clone()),
                _ => None,
            })
            .collect();
        for target in targets {
            let inside = format!("{target}/");
            let next = self.kept.range(target.clone()..).find(|(path, _)| **path >= inside);
            let held = next.is_some_and(|(path, _)| path.starts_with(&inside));
            let is_folder = self.kind(&target).is_some_and(|(kind, _)| kind.is_dir());
            if !held && is_folder {
                self.kept.entry(target).or_insert(RecordedNode::Folder);
            }
        }
    }

    fn kind(&self, path: &str) -> Option<(FileType, u32)> {
        let known = self.host.path(path).symlink_metadata().ok()?;
        Some((known.file_type(), known.permissions().mode()))
    }
}

fn names(path: &str) -> std::vec::IntoIter<String> {
    let names: Vec<String> =
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.into_iter()
}

/// Why there is nothing of a file.
enum Unread {
    /// We may not read it; the kernel's words.
    Denied(String),
    /// Reading it did not come to an end.
    Silent(String),
    /// What a device does not have answers with other errors.
    Absent,
}

/// The bytes of a file, or why there are none.
type FileContents = Result<Vec<u8>, Unread>;

/// A thread that reads files, so that one that does not answer can be left behind.
struct Reader {
    ask: SyncSender<(PathBuf, usize)>,
    answer: Receiver<FileContents>,
}

impl Reader {
    fn start() -> Reader {
        let (ask, asked) = sync_channel::<(PathBuf, usize)>(1);
        let (said, answer) = sync_channel(1);
        std::thread::spawn(move || {
            while let Ok((path, most)) = asked.recv() {
                if said.send(read(&path, most)).is_err() {
                    break;
                }
            }
        });
        Reader { ask, answer }
    }

    fn read(&mut self, path: &Path, most: usize) -> FileContents {
        let gone = || Unread::Silent("it did not answer".to_owned());
        self.ask.send((path.to_owned(), most)).map_err(|_| gone())?;
        self.answer.recv_timeout(FILE_WAIT).unwrap_or_else(|_| {
            *self = Reader::start();
            Err(Unread::Silent(format!("it did not answer in {} s", FILE_WAIT.as_secs())))
        })
    }
}

/// Up to one byte more than `most`.
fn read(path: &Path, most: usize) -> FileContents {
    let mut bytes = Vec::new();
    let file = std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    file.and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes)).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::EACCES) => Unread::Denied(error.to_string()),
            _ => Unread::Absent,
        }
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn a_path_is_kept_with_the_links_that_lead_to_it() {
        let machine = Recording::unpack(
            "/sys/devices/d/size = 8\n/sys/block/a -> /sys/devices/d\n/sys/l -> block\n\
             /sys/round -> round\n/sys/devices/d/holders/\n",
        );
        let host = machine.host();
        let mut walk = Walk::new(&host);
        walk.place("/sys/l/a/size", false);
        walk.place("/sys/block/a", true);
        walk.place("/sys/round/x", false);
        walk.place("/none", false);
        let kept: Vec<&str> = walk.kept.keys().map(String::as_str).collect();
        assert_eq!(
            kept,
            [
                "/sys/block/a",
                "/sys/devices/d/holders",
                "/sys/devices/d/size",
                "/sys/l",
                "/sys/round"
            ]
        );
        assert_eq!(walk.kept["/sys/l"], RecordedNode::Link("/sys/block".into()));
        assert_eq!(walk.kept["/sys/devices/d/size"], RecordedNode::File(b"8\n".to_vec()));
    }

    #[test]
    fn a_long_file_is_left_out_and_says_so_and_a_folder_behind_a_link_stays() {
        let long = "7".repeat(70 << 10);
        let text = format!(
            "/sys/devices/p/queue/x = {long}\n/sys/devices/p/config = {long}\n\
             /sys/devices/p/driver -> /sys/bus/d\n/sys/bus/d/\n/sys/devices/p/vpd = 1\n"
        );
        let machine = Recording::unpack(&text);
        let host = machine.host();
        let mut walk = Walk::new(&host);
        walk.tree("/sys/devices");
        walk.ends_of_links();
        assert_eq!(walk.missed["/sys/devices/p/queue/x"], "it is longer than 64 KiB");
        assert_eq!(walk.kept["/sys/bus/d"], RecordedNode::Folder);
        assert!(
            matches!(&walk.kept["/sys/devices/p/config"], RecordedNode::File(b) if b.len() == 256)
        );
        assert_eq!(walk.kept.len(), 3, "{:?}", walk.kept.keys());
    }
}
