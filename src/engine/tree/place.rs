//! The tree of directories that a stream works in: made, opened, and whether there is room for it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::act::DIRECTORY_MODE;
use super::job::Job;
use crate::engine::Error;
use crate::sys::filesystem::{inodes, mount_identity, space};
use crate::value::bytes;

/// Where one stream works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The top of its tree.
    pub root: PathBuf,
    /// Other streams that work in the same tree, itself counted.
    pub sharing: usize,
}

/// The place of every stream, by the folder that each was given.
pub fn places(job: &Job, folders: &[PathBuf]) -> Vec<Place> {
    let together = |folder: &PathBuf| folders.iter().filter(|other| *other == folder).count();
    let place = |(stream, folder): (usize, &PathBuf)| match job.shared {
        true => Place { root: folder.join("shared"), sharing: together(folder) },
        false => Place { root: folder.join(format!("s{stream:04}")), sharing: 1 },
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
pub fn make(job: &Job, root: &Path) -> Result<(), Error> {
    for number in 0..job.directories() {
        let path = path(root, number, job.width);
        rustix::fs::mkdir(&path, DIRECTORY_MODE).map_err(|why| cannot("make", &path, why))?;
    }
    Ok(())
}

/// A handle of every directory of the tree. They say where, and cannot be read (O_PATH).
///
/// # Errors
/// With the directory and the kernel's words.
pub fn open(job: &Job, root: &Path) -> Result<Vec<OwnedFd>, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let one = |number: u64| {
        let path = path(root, number, job.width);
        rustix::fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|why| cannot("open", &path, why))
    };
    (0..job.directories()).map(one).collect()
}

fn cannot(what: &str, path: &Path, why: impl Display) -> Error {
    Error::Failed(format!("cannot {what} {}: {why}", path.display()))
}

/// Refuses what would not leave 5 % of the bytes and of the inodes of a file system free. Folders
/// of one file system are judged together.
///
/// # Errors
/// `Unsupported` when it does not fit; `Failed` when the kernel cannot say.
pub fn check_room(job: &Job, folders: &[PathBuf]) -> Result<(), Error> {
    const BLOCK: u64 = 4096;
    let failed = |error: crate::sys::Error| Error::Failed(error.to_string());
    // A folder of each file system, and how many streams work there.
    let mut systems = BTreeMap::new();
    for folder in folders {
        let device = mount_identity(folder).map_err(failed)?.device;
        systems.entry(device).or_insert((folder, 0_u64)).1 += 1;
    }
    for (folder, streams) in systems.into_values() {
        let at = folder.display();
        let files = job.files.saturating_mul(streams);
        let needed = job.file_bytes.next_multiple_of(BLOCK).saturating_mul(files);
        let usable = space(folder).map_err(failed)?.usable_bytes();
        if needed > usable {
            return Err(Error::Unsupported(format!(
                "{files} files of {} do not fit in {at}: only {} may be used there (5 % of the \
                 file system stay free); lower files, file-size or streams",
                bytes(job.file_bytes as f64),
                bytes(usable as f64)
            )));
        }
        let names = files.saturating_add(job.directories().saturating_mul(streams));
        if let Some(room) = inodes(folder).map_err(failed)?
            && names > room.usable()
        {
            return Err(Error::Unsupported(format!(
                "{names} files and directories do not fit in {at}: only {} more may be made there \
                 (5 % of the file system's inodes stay free); lower files or streams",
                room.usable()
            )));
        }
    }
    Ok(())
}
