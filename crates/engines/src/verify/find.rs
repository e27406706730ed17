//! Finds what is to be read: the files under the paths that were given, and devices among them.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::shown;
use super::source::{Stamp, stamp_of};
use base::checklist::{Checklist, Entry};
use experiment::measurement::verified::ProblemKind;
use experiment::measurement::verified::outcome::FileProblem;
use host::sys::signal::Stop;

/// Folders nest no deeper than the kernel's longest path has parts.
const DEPTH_MAX: usize = 2048;

/// The files and devices that are to be read, and what cannot be.
#[derive(Debug, Default)]
pub struct FoundTargets {
    /// Files and devices, each once.
    pub files: Vec<Target>,
    /// What is not read, and why.
    pub problems: Vec<FileProblem>,
    /// What is known of the list.
    pub list: Option<List>,
}

/// A file or device.
#[derive(Debug)]
pub struct Target {
    /// Where it is.
    pub path: PathBuf,
    /// Its state when it was found.
    pub stamp: Stamp,
    /// What a list says of it; empty without a list.
    pub entries: Vec<Entry>,
}

/// What is known of a list.
#[derive(Debug, Default)]
pub struct List {
    /// Its name as it was given.
    pub shown: String,
    /// The folder that its names were taken from.
    pub names_from: String,
    /// When it was modified last, Unix time in ns.
    pub modified_ns: i128,
    /// What it says.
    pub checklist: Checklist,
}

impl FoundTargets {
    /// Notes what is the matter with a path.
    pub fn problem(&mut self, path: &Path, kind: ProblemKind, what: impl Into<String>) {
        self.problems.push(FileProblem { file: shown(path), kind, what: what.into() });
    }

    /// Adds a file, or what is the matter with it.
    pub fn add(&mut self, path: PathBuf, entries: Vec<Entry>) {
        match stamp_of(&path) {
            Ok(stamp) => self.files.push(Target { path, stamp, entries }),
            Err(why) => self.problem(&path, kind_of(&why), why.to_string()),
        }
    }
}

/// What kind of problem an error of open(2) is.
pub fn kind_of(why: &std::io::Error) -> ProblemKind {
    match why.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => ProblemKind::Missing,
        _ => ProblemKind::NotOpened,
    }
}

/// Walks through the paths, in the order in which they are given, names sorted. Links below them
/// are not followed; a path that is itself a link to a file, directory or device is. A path twice,
/// or one below another, is read once.
pub fn find(paths: &[PathBuf], cross: bool, stop: &Stop) -> FoundTargets {
    let mut found = FoundTargets::default();
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in paths {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(why) => {
                found.problem(path, kind_of(&why), why.to_string());
                continue;
            }
        };
        // What was walked through before is not walked through again.
        if roots.iter().any(|root| real.starts_with(root)) {
            continue;
        }
        let there = match real.metadata() {
            Ok(there) => there,
            Err(why) => {
                found.problem(path, kind_of(&why), why.to_string());
                continue;
            }
        };
        let shown = if real == *path || !path.is_symlink() { path.clone() } else { real.clone() };
        if there.is_dir() {
            let mut walk =
                DirectoryWalk { cross, stop, device: there.dev(), before: roots.clone() };
            walk.folder(&shown, 0, &mut found);
        } else if there.is_file() || there.file_type().is_block_device() {
            found.add(shown, Vec::new());
        } else {
            found.problem(path, ProblemKind::NotOpened, format!("it is {}", what(&there)));
        }
        roots.push(real);
    }
    found
}

/// A walk through directories that finds files.
struct DirectoryWalk<'a> {
    cross: bool,
    stop: &'a Stop,
    device: u64,
    /// What is read anyway.
    before: Vec<PathBuf>,
}

impl DirectoryWalk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize, found: &mut FoundTargets) {
        let entries = match folder.read_dir() {
            Ok(entries) if depth < DEPTH_MAX => entries,
            Ok(_) => {
                return found.problem(folder, ProblemKind::NotOpened, "it lies too deep");
            }
            Err(why) => return found.problem(folder, kind_of(&why), why.to_string()),
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => names.push(entry.file_name()),
                Err(why) => found.problem(folder, ProblemKind::NotOpened, why.to_string()),
            }
        }
        names.sort();
        for name in names {
            if self.stop.asked() {
                return;
            }
            self.entry(folder.join(name), depth, found);
        }
    }

    fn entry(&mut self, path: PathBuf, depth: usize, found: &mut FoundTargets) {
        let there = match path.symlink_metadata() {
            Ok(there) => there,
            Err(why) => return found.problem(&path, kind_of(&why), why.to_string()),
        };
        if self.before.iter().any(|before| path.canonicalize().is_ok_and(|real| real == *before)) {
            return;
        }
        if there.is_dir() {
            if there.dev() != self.device && !self.cross {
                let why = "another file system is mounted there; --cross-file-systems reads it";
                return found.problem(&path, ProblemKind::Skipped, why);
            }
            return self.folder(&path, depth + 1, found);
        }
        if there.is_file() {
            found.add(path, Vec::new());
        } else {
            found.problem(&path, ProblemKind::Skipped, format!("it is {}", what(&there)));
        }
    }
}

/// What something is that is no file.
fn what(there: &Metadata) -> &'static str {
    let kind = there.file_type();
    match () {
        () if kind.is_symlink() => "a symbolic link, which is not followed",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() => "a character device",
        () if kind.is_block_device() => "a block device, which is read when it is named itself",
        () => "no file",
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_once_and_what_is_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::create_dir_all(at.join("a/b")).unwrap();
        for name in ["z", "a/y", "a/b/x"] {
            std::fs::write(at.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("z", at.join("link")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        let pipe = at.join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let paths = [at.join("a/b"), at.to_owned(), at.join("z"), at.join("none"), pipe];
        let found = find(&paths, false, &Stop::new());
        let names: Vec<String> = found.files.iter().map(|file| shown(&file.path)).collect();
        let names: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
        assert_eq!(names, ["x", "y", "z"]);
        let problems: Vec<(ProblemKind, &str)> =
            found.problems.iter().map(|one| (one.kind, one.what.as_str())).collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(problems[0].0, ProblemKind::Skipped);
        assert!(problems[0].1.contains("link") && problems[1].1.contains("pipe"));
        assert_eq!(problems[2].0, ProblemKind::Missing);
    }

    #[test]
    fn names_that_are_no_text_are_shown_and_do_nothing_to_a_terminal() {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"a\xff\x1b[31m\n\xc2\x9b\xe2\x80\xaeb\xc3\xa4");
        let text = shown(Path::new(name));
        assert_eq!(text, "a\\xff\\x1b[31m\\x0a\\xc2\\x9b\\u{202e}b\u{e4}");
    }
}
