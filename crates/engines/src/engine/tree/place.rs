//! The tree of directories that a stream works in: made, opened, and what room it takes.

use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::act::DIRECTORY_MODE;
use super::job::TreeJob;
use crate::engine::Error;
use crate::engine::load::room::Room;
use host::sys::beneath;

/// The tree that a stream works in, and how many share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTree {
    /// The top of its tree.
    pub root: PathBuf,
    /// Other streams that work in the same tree, itself counted.
    pub sharing: usize,
}

/// The place of every stream, by the folder that each was given.
pub fn places(job: &TreeJob, folders: &[PathBuf]) -> Vec<StreamTree> {
    let together = |folder: &PathBuf| folders.iter().filter(|other| *other == folder).count();
    let place = |(stream, folder): (usize, &PathBuf)| match job.shared {
        true => StreamTree { root: folder.join("shared"), sharing: together(folder) },
        false => StreamTree { root: folder.join(format!("s{stream:04}")), sharing: 1 },
    };
    folders.iter().enumerate().map(place).collect()
}

/// The directory `number` of a tree, from its top: directories are numbered level by level, so that
/// the one above is a division away.
pub fn path(root: &Path, number: u64, width: u64) -> PathBuf {
    if number == 0 {
        return root.to_owned();
    }
    let above = (number - 1) / width.max(1);
    path(root, above, width).join(format!("d{number}"))
}

/// Makes the tree below `root`, which must not be there yet.
///
/// # Errors
/// With the directory and the kernel's words.
pub fn make(job: &TreeJob, root: &Path) -> Result<(), Error> {
    for number in 0..job.directories() {
        let path = path(root, number, job.width);
        beneath::make_folder(&path, DIRECTORY_MODE).map_err(|why| cannot("make", &path, why))?;
    }
    Ok(())
}

/// A handle of every directory of the tree. They say where, and cannot be read (O_PATH).
///
/// # Errors
/// With the directory and the kernel's words.
pub fn open(job: &TreeJob, root: &Path) -> Result<Vec<OwnedFd>, Error> {
    let one = |number: u64| {
        let path = path(root, number, job.width);
        let opened = beneath::open(&path, beneath::WHERE, Mode::empty());
        opened.map_err(|why| cannot("open", &path, why))
    };
    (0..job.directories()).map(one).collect()
}

fn cannot(what: &str, path: &Path, why: impl Display) -> Error {
    Error::Failed(format!("cannot {what} {}: {why}", path.display()))
}

/// What one stream's files and directories take.
pub fn room(job: &TreeJob) -> Room {
    const BLOCK: u64 = 4096;
    let (own, shared) = match job.shared {
        true => (0, job.directories()),
        false => (job.directories(), 0),
    };
    Room {
        bytes: job.file_bytes.next_multiple_of(BLOCK).saturating_mul(job.files),
        largest_bytes: job.file_bytes,
        names: job.files.saturating_add(own),
        shared_names: shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    /// A tree that streams share was counted once for each of them, and refused where it fitted.
    #[test]
    fn a_tree_that_streams_share_is_there_once() {
        let of = |shared: &str| {
            let knobs = [
                ("cold", "false"),
                ("stop", "pass"),
                ("file-size", "5KiB"),
                ("files", "10"),
                ("tree-depth", "1"),
                ("tree-width", "99"),
                ("shared-directories", shared),
            ];
            room(&TreeJob::from_settings(&settings("tree", &knobs), 1, 2).unwrap())
        };
        let (bytes, largest_bytes) = (10 * 8192, 5120);
        let own = Room { bytes, largest_bytes, names: 110, shared_names: 0 };
        assert_eq!(of("false"), own);
        assert_eq!(of("true"), Room { names: 10, shared_names: 100, ..own });
    }
}
