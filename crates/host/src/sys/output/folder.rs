//! A new directory that holds many files of ours, made beneath its descriptor and nowhere else.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::sys::Error;
use crate::sys::place::{AnchoredName, Links, Lost};

/// A directory that was not there before.
#[derive(Debug)]
pub struct Folder {
    directory: OwnedFd,
    path: PathBuf,
}

fn open(directory: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

impl Folder {
    /// Makes it.
    ///
    /// # Errors
    /// When something of that name is there already, or it cannot be made.
    pub fn create(path: &Path) -> Result<Folder, Error> {
        let failed = |lost: Lost| {
            let what = format!("cannot make {}", path.display());
            lost.error(what, "name a new directory, in one that you may write in")
        };
        // A path that ends in a directory, as `.`, is the name of nothing new.
        let place = AnchoredName::find(path, Links::Trusted).map_err(|lost| match lost {
            Lost::Kernel(Errno::ISDIR) => failed(Lost::Kernel(Errno::EXIST)),
            lost => failed(lost),
        })?;
        let failed = |error: Errno| failed(Lost::Kernel(error));
        let mode = Mode::from_raw_mode(0o777);
        rustix::fs::mkdirat(place.directory(), place.name(), mode).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(place.directory(), place.name(), flags, Mode::empty());
        let directory = made.map_err(failed)?;
        let owner = rustix::fs::fstat(&directory).map_err(failed)?.st_uid;
        match owner == rustix::process::geteuid().as_raw() {
            true => Ok(Folder { directory, path: path.to_owned() }),
            // Somebody who may has put another in its place.
            false => Err(failed(Errno::STALE)),
        }
    }

    /// Makes a new file in it, and the directories that lead there.
    ///
    /// # Errors
    /// When it is there already or cannot be made; when `relative` leads out of the directory.
    pub fn file(&self, relative: &Path) -> Result<File, Error> {
        let failed = |error: Errno| {
            let what = format!("cannot write {}", self.path.join(relative).display());
            Error::new(what, std::io::Error::from(error))
        };
        let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        let (true, Some(name)) = (plain, relative.file_name()) else {
            return Err(failed(Errno::INVAL));
        };
        let mut at = rustix::io::fcntl_dupfd_cloexec(&self.directory, 3).map_err(failed)?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let part: &Path = part.as_ref();
            match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            at = open(&at, part).map_err(failed)?;
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR;
        let mode = Mode::from_raw_mode(0o666);
        let file = rustix::fs::openat(&at, name, flags | OFlags::CLOEXEC, mode);
        Ok(file.map_err(failed)?.into())
    }
}
