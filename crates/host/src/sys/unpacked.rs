//! A tree of files that stands for another machine, made in a directory of ours for as long as it
//! is read.

use std::path::{Path, PathBuf};

use super::workdir::{self, WorkDir};
use super::{Error, output};

/// A directory of ours with a tree in it; gone when dropped. What a killed process left is removed
/// by the next one.
#[derive(Debug)]
pub struct Unpacked {
    work: Option<WorkDir>,
    root: PathBuf,
}

/// Where temporary files lie. Of tests, which unpack tens of thousands of directories, in memory:
/// on a disk each takes ten times as long.
fn parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if cfg!(any(test, feature = "testing")) && memory.is_dir() {
        memory.into()
    } else {
        std::env::temp_dir()
    }
}

impl Unpacked {
    /// Makes an empty one where temporary files lie.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create() -> Result<Unpacked, Error> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let parent = parent();
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if count == 0 {
            // What cannot be removed is somebody's business, but not ours now.
            let _ = workdir::sweep(&parent);
        }
        // One that can be guessed could be made by somebody else first.
        let drawn = output::drawn().map_err(|why| Error::new("cannot draw a name", why))?;
        let name = format!("recording-{}", drawn.rsplit('-').next().unwrap_or_default());
        let work = WorkDir::create(&parent, &name)
            .map_err(|error| error.hint("set TMPDIR to a directory that you may write in"))?;
        let root = workdir::make_folder(work.path(), 0);
        match root {
            Ok(root) => Ok(Unpacked { work: Some(work), root }),
            Err(error) => {
                let _ = work.remove();
                Err(error)
            }
        }
    }

    /// Where the tree's root lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path of the tree lies. It has no `..`, and nothing above it is a link: links are
    /// made last.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Makes a directory in one that is there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn directory(&self, path: &str) -> Result<(), Error> {
        std::fs::create_dir(self.at(path)).map_err(|error| failed(path, &error))
    }

    /// Makes a file in a directory that is there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn file(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        use std::io::Write;
        let options = std::fs::File::options().write(true).create_new(true).open(self.at(path));
        options.and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(path, &error))
    }

    /// Makes a link to a path of the tree.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn link(&self, path: &str, target: &str) -> Result<(), Error> {
        std::os::unix::fs::symlink(self.at(target), self.at(path))
            .map_err(|error| failed(path, &error))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            // The next process tries again.
            let _ = work.remove();
        }
    }
}

fn failed(path: &str, error: &std::io::Error) -> Error {
    Error::new(format!("cannot unpack {path}"), error)
        .hint("set TMPDIR to a directory with more room")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_made_and_goes_when_it_is_dropped() {
        let tree = Unpacked::create().unwrap();
        let other = Unpacked::create().unwrap();
        assert_ne!(tree.root(), other.root());
        tree.directory("/a").unwrap();
        tree.file("/a/b", b"text").unwrap();
        tree.link("/l", "/a").unwrap();
        assert_eq!(crate::sys::Host::at(tree.root()).read("/l/b").unwrap(), "text");
        assert!(tree.file("/a/b", b"again").is_err());
        let work = tree.root().parent().unwrap().to_owned();
        drop(tree);
        assert!(!work.exists());
    }
}
