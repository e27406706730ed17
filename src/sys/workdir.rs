//! Directories that are ours: made, marked, locked while in use, and removed.
//!
//! Only a directory that bears our marker is ever removed, only the files in it that we name, and
//! never through a symbolic link (DESIGN section 8).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Error;

/// The marker's name. Its first line is [`MAGIC`].
pub const MARKER: &str = "BRICKYARD";
const MAGIC: &str = "This directory was made by brickyard and may be removed by it.";
/// The second line of the marker of a directory that outlives its run begins so; what the directory
/// waits for follows.
const WAITS: &str = "It is kept: ";
/// Every work directory's name starts with this.
const PREFIX: &str = "brickyard-";

/// A directory of ours; its marker is locked for as long as this lives.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    marker: OwnedFd,
}

/// What became of a directory that an earlier run had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// It was ours and is gone.
    Removed(PathBuf),
    /// It is ours, but holds files that we did not make; those were left.
    Kept(PathBuf, Vec<String>),
    /// It is ours and nobody uses it, but what is in it is still wanted: for what.
    Waits(PathBuf, String),
}

/// The name of the file number `index` in a work directory.
pub fn file_name(index: usize) -> String {
    format!("brick-{index:05}.dat")
}

/// Removes a file of a work directory of ours; one that is not there is none to remove.
///
/// # Errors
/// In the kernel's words.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(Error::new(format!("cannot remove {}", path.display()), error)),
    }
}

/// The name of the folder in a work directory that the programs of a trial are given.
pub fn folder_name(trial: u32) -> String {
    format!("trial-{trial:05}")
}

fn is_folder(name: &str) -> bool {
    let digits = name.strip_prefix("trial-");
    digits.is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// No program makes folders deeper than this in earnest; each level holds a descriptor.
const DEPTH_MAX: usize = 256;

/// Removes what is below `parent` under `name`: files, links themselves, folders of the same file
/// system. What is mounted there stays, and so do the folders that lead to it.
fn remove_tree(parent: &OwnedFd, name: &std::ffi::CStr, depth: usize) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Refuses what is mounted there, a bind of the same file system too, which the device's number
    // does not tell (openat2(2), Linux 5.6); where there is no such call, nothing is removed.
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let folder = rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)?;
    if depth >= DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let names: Result<Vec<_>, Errno> = rustix::fs::Dir::read_from(&folder)?
        .map(|entry| entry.map(|entry| entry.file_name().to_owned()))
        .collect();
    for name in names? {
        if !matches!(name.to_bytes(), b"." | b"..") {
            remove_tree(&folder, &name, depth + 1)?;
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Makes the folder of a trial in a work directory of ours, anew.
///
/// # Errors
/// When it cannot be made, or what was there cannot be removed.
pub fn make_folder(work: &Path, trial: u32) -> Result<PathBuf, Error> {
    remove_folder(work, trial)?;
    let path = work.join(folder_name(trial));
    rustix::fs::mkdir(&path, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH)
        .map_err(|error| {
            let what = format!("cannot make {}", path.display());
            Error::new(what, std::io::Error::from(error)).hint(advice(error))
        })?;
    Ok(path)
}

/// Removes the folder of a trial with all that its programs made there.
///
/// # Errors
/// When something in it cannot be removed, as what is mounted there.
pub fn remove_folder(work: &Path, trial: u32) -> Result<(), Error> {
    let path = work.join(folder_name(trial));
    let removed = open_directory(work).and_then(|directory| {
        let name = std::ffi::CString::new(folder_name(trial)).map_err(|_| Errno::INVAL)?;
        remove_tree(&directory, &name, 0)
    });
    removed.map_err(|error| {
        let what = format!("cannot remove {}", path.display());
        // Never "rm -r" alone: it would go into what is mounted there.
        Error::new(what, std::io::Error::from(error)).hint(format!(
            "`findmnt | grep {0}` shows what is mounted there: unmount it first, then rm -r {0}",
            path.display()
        ))
    })
}

fn ours(name: &str) -> bool {
    let digits = name.strip_prefix("brick-").and_then(|rest| rest.strip_suffix(".dat"));
    digits.is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit()))
}

impl WorkDir {
    /// Makes `parent/brickyard-NAME`, marks it and locks the mark.
    ///
    /// # Errors
    /// When it exists already or cannot be made.
    pub fn create(parent: &Path, name: &str) -> Result<WorkDir, Error> {
        WorkDir::make(parent, name, None)
    }

    /// The same, of a directory that outlives its run: no start removes it, however the run ends.
    /// `waits` tells people for what it is there; one line.
    ///
    /// # Errors
    /// As [`WorkDir::create`].
    pub fn create_kept(parent: &Path, name: &str, waits: &str) -> Result<WorkDir, Error> {
        WorkDir::make(parent, name, Some(waits))
    }

    /// Takes up again a directory that was kept, by the name that it was made under; `None` where
    /// there is none.
    ///
    /// # Errors
    /// When it is not ours, or somebody uses it.
    pub fn take_up(parent: &Path, name: &str) -> Result<Option<WorkDir>, Error> {
        let path = parent.join(format!("{PREFIX}{name}"));
        if rustix::fs::lstat(&path).is_err_and(|why| why == Errno::NOENT) {
            return Ok(None);
        }
        match abandoned(&path) {
            Some(Marker { file, .. }) => Ok(Some(WorkDir { path, marker: file })),
            None => {
                let what = format!("cannot go on in {}", path.display());
                let why = "another run uses it, or it does not bear our marker";
                Err(Error::new(what, why).hint("wait until that run has ended, or look into it"))
            }
        }
    }

    /// Ends the use of a directory that is kept: it stays, and can be taken up again.
    pub fn rest(self) -> PathBuf {
        drop(self.marker);
        self.path
    }

    fn make(parent: &Path, name: &str, waits: Option<&str>) -> Result<WorkDir, Error> {
        let path = parent.join(format!("{PREFIX}{name}"));
        let failed = |error: Errno| {
            let what = format!("cannot make a directory in {}", parent.display());
            Error::new(what, std::io::Error::from(error)).hint(advice(error))
        };
        rustix::fs::mkdir(&path, Mode::RWXU).map_err(failed)?;
        WorkDir::mark(&path, waits).map_err(|error| {
            // Nothing is in it yet, so this cannot remove anybody's file.
            let _ = rustix::fs::unlinkat(rustix::fs::CWD, path.join(MARKER), AtFlags::empty());
            let _ = rustix::fs::rmdir(&path);
            failed(error)
        })
    }

    fn mark(path: &Path, waits: Option<&str>) -> Result<WorkDir, Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let marker = rustix::fs::open(path.join(MARKER), flags, Mode::RUSR | Mode::WUSR)?;
        // Locked before it says what it is: a sweep that comes in between finds no marker.
        rustix::fs::flock(&marker, FlockOperation::LockExclusive)?;
        let mut file = File::from(marker);
        let waits = waits.map_or(String::new(), |waits| format!("{WAITS}{waits}\n"));
        let written = write!(file, "{MAGIC}\n{waits}").and_then(|()| file.sync_all());
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(WorkDir { path: path.to_owned(), marker: file.into() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it as it is, its marker locked and open: closing a file can wait for a file system
    /// that hangs. The kernel closes it when this process ends; see [`super::child::end_apart`].
    pub fn leave(self) {
        std::mem::forget(self.marker);
    }

    /// Removes it with all that we made in it.
    ///
    /// # Errors
    /// When something cannot be removed; what can be is.
    pub fn remove(self) -> Result<Swept, Error> {
        clear(&self.path, self.marker)
    }
}

/// Removes the directories in `parent` that earlier runs made and left: those that bear the marker,
/// belong to us, are not locked by a run that still lives, and wait for nothing.
pub fn sweep(parent: &Path) -> Vec<Result<Swept, Error>> {
    let Ok(entries) = parent.read_dir() else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut paths: Vec<PathBuf> =
        names.filter(|name| name.starts_with(PREFIX)).map(|name| parent.join(name)).collect();
    paths.sort();
    let swept = |path: &PathBuf| {
        // Its marker stays open, and so locked, until it is gone.
        let marker = abandoned(path)?;
        Some(match &marker.waits {
            Some(waits) => Ok(Swept::Waits(path.clone(), waits.clone())),
            None => clear(path, marker.file),
        })
    };
    paths.iter().filter_map(swept).collect()
}

/// A marker that we have locked.
struct Marker {
    file: OwnedFd,
    /// What its directory waits for.
    waits: Option<String>,
}

/// The locked marker of `path`, when it is ours and nobody uses it.
fn abandoned(path: &Path) -> Option<Marker> {
    let directory = open_directory(path).ok()?;
    // A lock that an NFS server keeps takes a file that may be written: flock(2).
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let marker = rustix::fs::openat(&directory, MARKER, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&marker).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !regular || stat.st_uid != rustix::process::geteuid().as_raw() {
        return None;
    }
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    let file = File::from(marker);
    let mut text = String::new();
    (&file).take(4096).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return None;
    }
    let waits = lines.next().and_then(|line| line.strip_prefix(WAITS)).map(str::to_owned);
    Some(Marker { file: file.into(), waits })
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Removes our files from the directory, then the marker, then the directory itself.
fn clear(path: &Path, marker: OwnedFd) -> Result<Swept, Error> {
    let failed = |error: Errno| {
        let what = format!("cannot remove {}", path.display());
        Error::new(what, std::io::Error::from(error)).hint(format!("rm -r {}", path.display()))
    };
    let directory = open_directory(path).map_err(failed)?;
    let mut foreign = Vec::new();
    for entry in rustix::fs::Dir::read_from(&directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        match name.as_str() {
            "." | ".." | MARKER => {}
            name if is_folder(name) => {
                remove_tree(&directory, entry.file_name(), 0).map_err(failed)?;
            }
            name if ours(name) => {
                // Removes the name itself, never what a link of that name leads to.
                match rustix::fs::unlinkat(directory.as_fd(), name, AtFlags::empty()) {
                    Ok(()) => {}
                    Err(Errno::ISDIR) => foreign.push(name.to_owned()),
                    Err(error) => return Err(failed(error)),
                }
            }
            _ => foreign.push(name),
        }
    }
    if !foreign.is_empty() {
        foreign.sort();
        return Ok(Swept::Kept(path.to_owned(), foreign));
    }
    rustix::fs::unlinkat(directory.as_fd(), MARKER, AtFlags::empty()).map_err(failed)?;
    let removed = match rustix::fs::rmdir(path) {
        // A client of NFS keeps a file that is open under another name until it is closed.
        Err(Errno::NOTEMPTY) => {
            drop(marker);
            rustix::fs::rmdir(path)
        }
        removed => removed,
    };
    removed.map_err(failed)?;
    Ok(Swept::Removed(path.to_owned()))
}

fn advice(error: Errno) -> &'static str {
    match error {
        Errno::ACCESS | Errno::PERM => "choose a directory that you may write in, or run as root",
        Errno::ROFS => "it is mounted read-only: choose another, or remount it read-write",
        Errno::NOSPC | Errno::DQUOT => "make room there, or choose another directory",
        Errno::LOOP => "its path goes round in a circle of symbolic links: name the real directory",
        Errno::NOTDIR => "name a directory, not a file",
        Errno::NOENT => "make it first, or name one that exists",
        _ => "choose another directory",
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    #[test]
    fn a_work_directory_is_removed_with_what_we_made_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkDir::create(parent.path(), "a").unwrap();
        File::create(work.path().join(file_name(7))).unwrap();
        let path = work.path().to_owned();
        assert_eq!(work.remove().unwrap(), Swept::Removed(path.clone()));
        assert!(!path.exists());

        let work = WorkDir::create(parent.path(), "b").unwrap();
        File::create(work.path().join("thesis.doc")).unwrap();
        let path = work.path().to_owned();
        assert_eq!(work.remove().unwrap(), Swept::Kept(path.clone(), vec!["thesis.doc".into()]));
        assert!(path.join("thesis.doc").exists());
    }

    /// A program leaves folders, and links that lead out of them.
    #[test]
    fn the_folder_of_a_trial_goes_with_all_that_is_in_it_and_nothing_outside() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        std::fs::create_dir(&precious).unwrap();
        File::create(precious.join("thesis.doc")).unwrap();
        let work = WorkDir::create(parent.path(), "a").unwrap();
        let fill = || {
            let folder = make_folder(work.path(), 3).unwrap();
            std::fs::create_dir_all(folder.join("x/y/z")).unwrap();
            File::create(folder.join("x/y/f")).unwrap();
            std::os::unix::fs::symlink(&precious, folder.join("x/link")).unwrap();
            folder
        };
        let folder = fill();
        remove_folder(work.path(), 3).unwrap();
        assert!(!folder.exists() && precious.join("thesis.doc").exists());
        fill();
        // Also what a run that was killed left there.
        let path = work.path().to_owned();
        assert_eq!(work.remove().unwrap(), Swept::Removed(path));
        assert!(precious.join("thesis.doc").exists());
    }

    /// A program may bind somebody's directory into the folder of its trial. It lies on the same
    /// device then, and was taken for ours, with all that it held.
    #[test]
    fn what_is_bound_into_the_folder_of_a_trial_is_not_emptied() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        std::fs::create_dir(&precious).unwrap();
        File::create(precious.join("thesis.doc")).unwrap();
        let work = WorkDir::create(parent.path(), "a").unwrap();
        let bound = make_folder(work.path(), 3).unwrap().join("bound");
        std::fs::create_dir(&bound).unwrap();
        if rustix::mount::mount_bind(&precious, &bound).is_err() {
            return; // it takes root
        }
        let refused = remove_folder(work.path(), 3);
        let kept = precious.join("thesis.doc").exists();
        rustix::mount::unmount(&bound, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(kept, "what was bound there is gone");
        assert!(refused.unwrap_err().hint.unwrap_or_default().contains("unmount it first"));
        remove_folder(work.path(), 3).unwrap();
    }

    #[test]
    fn a_sweep_takes_only_marked_directories_that_nobody_uses() {
        let parent = tempfile::tempdir().unwrap();
        let living = WorkDir::create(parent.path(), "living").unwrap();
        let dead = WorkDir::create(parent.path(), "dead").unwrap();
        let dead_path = dead.path().to_owned();
        drop(dead);
        let unmarked = parent.path().join("brickyard-unmarked");
        std::fs::create_dir(&unmarked).unwrap();
        File::create(unmarked.join(file_name(0))).unwrap();
        let empty_marker = parent.path().join("brickyard-being-made");
        std::fs::create_dir(&empty_marker).unwrap();
        File::create(empty_marker.join(MARKER)).unwrap();

        let swept: Vec<Swept> = sweep(parent.path()).into_iter().map(|s| s.unwrap()).collect();
        assert_eq!(swept, [Swept::Removed(dead_path)]);
        assert!(living.path().exists() && unmarked.join(file_name(0)).exists());
        assert!(empty_marker.exists());
    }

    /// What was written before a reboot is to be read after it, whoever runs in between.
    #[test]
    fn a_directory_that_is_kept_outlives_its_run_and_is_taken_up_by_its_name_alone() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkDir::create_kept(parent.path(), "a", "for the rest of its run").unwrap();
        let file = work.path().join(file_name(0));
        File::create(&file).unwrap();
        assert!(WorkDir::take_up(parent.path(), "a").is_err(), "its run lives");
        let path = work.rest();
        let waits = Swept::Waits(path.clone(), "for the rest of its run".into());
        assert_eq!(sweep(parent.path()), [Ok(waits)]);
        assert!(WorkDir::take_up(parent.path(), "b").unwrap().is_none());
        let work = WorkDir::take_up(parent.path(), "a").unwrap().unwrap();
        assert!(file.exists() && sweep(parent.path()).is_empty(), "it is in use again");
        assert_eq!(work.remove().unwrap(), Swept::Removed(path));
        // A directory of that name which is not ours is neither used nor removed.
        std::fs::create_dir(parent.path().join("brickyard-c")).unwrap();
        assert!(WorkDir::take_up(parent.path(), "c").is_err());
    }

    #[test]
    fn a_link_is_removed_and_what_it_leads_to_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        File::create(&precious).unwrap();
        let real = parent.path().join("elsewhere");
        std::fs::create_dir(&real).unwrap();
        let work = WorkDir::create(parent.path(), "a").unwrap();
        std::os::unix::fs::symlink(&precious, work.path().join(file_name(0))).unwrap();
        work.remove().unwrap();
        assert!(precious.exists());
        // A link that looks like a work directory is not followed.
        std::fs::write(real.join(MARKER), format!("{MAGIC}\n")).unwrap();
        std::os::unix::fs::symlink(&real, parent.path().join("brickyard-link")).unwrap();
        assert!(sweep(parent.path()).is_empty());
        assert!(real.join(MARKER).exists());
    }
}
