//! The one door to the machine: its files, its commands, its clock.
//!
//! Readers of /proc and /sys ask a [`Host`], which a test can root at a recorded tree. Nothing here
//! interprets what it reads.

pub use facts::error::{Cause, Error};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub mod arena;
pub mod beneath;
pub mod block;
pub mod child;
pub mod clock;
pub mod command;
pub mod crowd;
pub mod durable;
pub mod ethtool;
pub mod filesystem;
pub mod filter;
#[cfg(any(test, feature = "testing"))]
pub mod fire;
pub mod gate;
pub mod held;
pub mod input;
pub mod kmsg;
pub mod limits;
pub mod link;
pub mod mapper;
mod netlink;
pub mod nvme;
pub mod output;
pub mod place;
pub mod port;
pub mod processors;
pub mod qdisc;
pub mod range;
pub mod reread;
pub mod signal;
pub mod sockets;
pub mod suspend;
pub mod terminal;
pub mod swap;
pub mod tree;
pub mod unpacked;
pub mod workdir;
pub mod direct;
pub mod dontcache;
pub mod pages;

/// The machine, or a recording of one.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    watch: Option<PathWatch>,
    /// What a test's kernel makes of a text written to a path of the machine.
    #[cfg(any(test, feature = "testing"))]
    kernel: Option<Kernel>,
}

/// Which paths of a machine were asked for, and whether for the names in them; see
/// [`Host::watched`].
pub type PathWatch = Arc<Mutex<BTreeSet<(PathBuf, bool)>>>;

/// See [`Host::with_kernel`].
#[cfg(any(test, feature = "testing"))]
pub type Kernel = fn(&Path, &str) -> std::io::Result<String>;

impl Host {
    /// The machine that we run on.
    pub fn live() -> Host {
        Host {
            root: PathBuf::from("/"),
            watch: None,
            #[cfg(any(test, feature = "testing"))]
            kernel: None,
        }
    }

    /// A recorded tree.
    pub fn at(root: impl Into<PathBuf>) -> Host {
        Host {
            root: root.into(),
            watch: None,
            #[cfg(any(test, feature = "testing"))]
            kernel: None,
        }
    }

    /// The same tree with a kernel that refuses what is written, or takes something else.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_kernel(self, kernel: Kernel) -> Host {
        Host { kernel: Some(kernel), ..self }
    }

    /// The same machine; from now on `watch` learns every path that is asked for.
    pub fn watched(self, watch: &PathWatch) -> Host {
        Host { watch: Some(Arc::clone(watch)), ..self }
    }

    fn seen(&self, path: &Path, listed: bool) {
        if let Some(watch) = &self.watch
            && let Ok(mut seen) = watch.lock()
        {
            seen.insert((path.to_owned(), listed));
        }
    }

    /// Where an absolute path of the machine really lies.
    ///
    /// # Panics
    /// When `path` is relative.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.seen(path, false);
        self.root.join(path.strip_prefix("/").expect("paths of the machine are absolute"))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read, is larger than any such file, or is not UTF-8.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let full = self.path(path);
        let failed = |why: &dyn Cause| Error::new(format!("cannot read {}", full.display()), why);
        let mut file = std::fs::File::open(&full).map_err(|why| failed(&why))?;
        let bytes = input::KERNEL.all(&mut file).map_err(|why| failed(&why))?;
        String::from_utf8(bytes).map_err(|_| failed(&"stream did not contain valid UTF-8"))
    }

    /// Memory of the machine in bytes: `MemTotal` of /proc/meminfo (proc_meminfo(5)), which counts
    /// in KiB. `None` when it cannot be read.
    pub fn memory_bytes(&self) -> Option<u64> {
        let text = self.read("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }

    /// The text of a small file without its line end; `None` when there is none or it is empty.
    pub fn word(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read(path).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The names in a directory, sorted; empty when there is no such directory.
    pub fn list(&self, path: impl AsRef<Path>) -> Vec<String> {
        self.seen(path.as_ref(), true);
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

    /// Where a symbolic link itself says that it leads, without following further ones; `None` when
    /// it is none. Relative to the link's directory, or a path of the machine.
    pub fn link(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let target = std::fs::read_link(self.path(path)).ok()?;
        match target.strip_prefix(&self.root) {
            Ok(inside) => Some(Path::new("/").join(inside)),
            Err(_) => Some(target),
        }
    }

    /// Whether this is the machine that we run on: a recording has files where it has devices.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
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

    /// Writes into an existing file, in one write(2): what files of /proc/sys, /sys and control
    /// groups take.
    ///
    /// # Errors
    /// With the path and the kernel's words: there is no such file, or it refuses the text.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> Result<(), Error> {
        let full = self.path(path.as_ref());
        let failed = |error| Error::new(format!("cannot write {}", full.display()), error);
        #[cfg(any(test, feature = "testing"))]
        let told = self.kernel.map_or(Ok(text.to_owned()), |kernel| kernel(path.as_ref(), text));
        #[cfg(any(test, feature = "testing"))]
        let text = told.map_err(failed)?;
        #[cfg(any(test, feature = "testing"))]
        let text = text.as_str();
        use std::io::Write;
        let opened = std::fs::OpenOptions::new().write(true).truncate(true).open(&full);
        opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
    }

    /// Makes one directory.
    ///
    /// # Errors
    /// With the path and the kernel's words.
    pub fn make_directory(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let full = self.path(path);
        rustix::fs::mkdir(&full, rustix::fs::Mode::from_raw_mode(0o755)).map_err(|error| {
            let error = std::io::Error::from(error);
            Error::new(format!("cannot make {}", full.display()), error)
        })
    }

    /// Removes one empty directory. That a control group shows files does not make it full.
    ///
    /// # Errors
    /// With the path and the kernel's words.
    pub fn remove_directory(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let full = self.path(path);
        rustix::fs::rmdir(&full).map_err(|error| {
            let error = std::io::Error::from(error);
            Error::new(format!("cannot remove {}", full.display()), error)
        })
    }

    /// Takes a file for ourselves for as long as what is given lives: of all processes that ask
    /// so, only one gets it (flock(2)).
    ///
    /// # Errors
    /// When another process has it, or there is no such file.
    pub fn lock(&self, path: impl AsRef<Path>) -> Result<std::fs::File, Error> {
        let file = self.open(path.as_ref())?;
        let how = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&file, how) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let what = format!("cannot change {}", path.as_ref().display());
                Err(Error::new(what, "another run of brickyard holds it")
                    .hint("wait until that run has ended"))
            }
            Err(error) => {
                let what = format!("cannot lock {}", path.as_ref().display());
                Err(Error::new(what, std::io::Error::from(error)))
            }
        }
    }
}
