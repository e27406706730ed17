//! The one door to the machine: its files, its commands, its clock.
//!
//! Readers of /proc and /sys ask a [`Host`], which a test can root at a recorded tree. Nothing here
//! interprets what it reads.

use std::fmt;
use std::path::{Path, PathBuf};

pub mod arena;
pub mod child;
pub mod clock;
pub mod filesystem;
pub mod held;
pub mod nvme;
pub mod reread;
pub mod signal;
pub mod tree;
pub mod workdir;
pub mod direct;
pub mod pages;

/// What was tried, why it failed in the kernel's words, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// "cannot read /proc/stat"
    pub what: String,
    /// "Permission denied (os error 13)"
    pub why: String,
    /// "run as root"
    pub hint: Option<String>,
}

impl Error {
    /// An error without a hint.
    pub fn new(what: impl Into<String>, why: impl fmt::Display) -> Error {
        Error { what: what.into(), why: why.to_string(), hint: None }
    }

    /// The same error with the next thing to type.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Error {
        Error { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Error {}

/// The machine, or a recording of one.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

#[expect(clippy::disallowed_methods, reason = "this module is the door")]
impl Host {
    /// The machine that we run on.
    pub fn live() -> Host {
        Host { root: PathBuf::from("/") }
    }

    /// A recorded tree, for tests.
    #[cfg(test)]
    pub fn at(root: impl Into<PathBuf>) -> Host {
        Host { root: root.into() }
    }

    /// Where an absolute path of the machine really lies.
    ///
    /// # Panics
    /// When `path` is relative.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").expect("paths of the machine are absolute"))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read or is not UTF-8.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let full = self.path(path);
        std::fs::read_to_string(&full)
            .map_err(|error| Error::new(format!("cannot read {}", full.display()), error))
    }

    /// The text of a small file without its line end; `None` when there is none or it is empty.
    pub fn word(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read(path).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The names in a directory, sorted; empty when there is no such directory.
    pub fn list(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Where a symbolic link leads, as an absolute path of the machine with all links followed;
    /// `None` when it leads nowhere.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let full = self.path(path).canonicalize().ok()?;
        let root = self.root.canonicalize().ok()?;
        Some(Path::new("/").join(full.strip_prefix(root).ok()?))
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<std::fs::File, Error> {
        let full = self.path(path);
        std::fs::File::open(&full)
            .map_err(|error| Error::new(format!("cannot read {}", full.display()), error))
    }
}

/// Writes a file whole or not at all: beside its place first, then renamed over it. A link stays a
/// link: the file that it leads to is written. A device, a pipe or a terminal is written into:
/// renaming over `/dev/null` would take it away from everybody.
///
/// # Errors
/// When it cannot be written there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::new(format!("cannot write {}", path.display()), error)
            .hint("name a file in a directory that you may write in")
    };
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return write_into(path, bytes).map_err(failed);
    }
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(name) = name else {
        return Err(failed(std::io::Error::from_raw_os_error(libc::EISDIR)));
    };
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = write_new(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = rustix::fs::unlink(&beside);
        failed(error)
    })
}

fn write_into(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
