//! Where a name leads: walked step by step from directories that are held open, so that nobody can
//! put something else in its place between the looking and the doing.
//!
//! A link is followed only where nobody but us and root could have put it: in a directory that
//! others can write, somebody else may have planted it to have his target written by us.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Error, Host};

/// A path that leads through more links goes round in a circle (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// Directories deeper than this are not climbed out of.
const DEPTH_MAX: usize = 4096;

/// Device and inode: what makes two names those of one file.
pub type Identity = (u64, u64);

/// Which links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Those that only we or root can have put there.
    Trusted,
    /// All, as open(2) does: where a program will read.
    All,
}

/// Why a name leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// In the kernel's words.
    Kernel(Errno),
    /// It goes through a link that somebody else may have put there: why, and what to type.
    Planted(String, String),
}

/// The end of a path: a name in a directory that is held open.
#[derive(Debug)]
pub struct AnchoredName {
    directory: OwnedFd,
    name: OsString,
    stat: Option<Stat>,
    /// Names on the way here that are links to it, each with its directory.
    links: Vec<(Identity, OsString)>,
    /// It is the name of a descriptor that this process has open: /dev/stdout, /dev/fd/3.
    descriptor: bool,
}

impl Lost {
    /// As an error of what was tried.
    pub fn error(self, what: String, hint: &str) -> Error {
        match self {
            Lost::Kernel(error) => Error::new(what, std::io::Error::from(error)).hint(hint),
            Lost::Planted(why, hint) => Error::new(what, why).hint(hint),
        }
    }
}

impl From<Errno> for Lost {
    fn from(error: Errno) -> Lost {
        Lost::Kernel(error)
    }
}

/// Device and inode of a stat(2).
pub fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// What kind of file a stat(2) is of.
pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// A user by name and number, as far as passwd(5) knows the name.
pub fn user(uid: u32) -> String {
    let passwd = Host::live().read("/etc/passwd").unwrap_or_default();
    let name = passwd.lines().find_map(|line| {
        let mut words = line.split(':');
        let name = words.next()?;
        (words.nth(1)?.parse() == Ok(uid)).then_some(name)
    });
    match name {
        Some(name) => format!("the user {name}"),
        None => format!("the user {uid}"),
    }
}

/// Whether only this user's own will stands behind what he does: root's, and ours.
fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Who besides us and root can put names into a directory, in words; `None` when nobody can.
fn others_in(directory: &Stat) -> Option<String> {
    match () {
        () if !is_trusted(directory.st_uid) => Some(user(directory.st_uid)),
        // An entry of an access list for somebody else shows in the bits of the group (acl(5)).
        () if directory.st_mode & 0o022 != 0 => Some("others".to_owned()),
        () => None,
    }
}

/// The names of a path, in order; an absolute one begins with `/`.
fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::CurDir => None,
        other => Some(other.as_os_str().to_owned()),
    };
    path.components().filter_map(part).collect()
}

fn pass(directory: impl AsFd, name: &OsStr, more: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Whether the names in a directory are this process's open descriptors: their links cannot be
/// read as paths (proc_pid_fd(5)).
fn is_of_descriptors(directory: &Stat) -> bool {
    let is = |path: &str| {
        let stat = rustix::fs::stat(path);
        stat.is_ok_and(|stat| identity(&stat) == identity(directory))
    };
    is("/proc/self/fd") || is("/proc/thread-self/fd")
}

impl AnchoredName {
    /// Walks to the end of a path; nothing need be there, but its directory must be.
    ///
    /// # Errors
    /// When there is no such directory, or a link on the way is not followed.
    pub fn find(path: &Path, follow: Links) -> Result<AnchoredName, Lost> {
        let mut ahead = parts(path);
        let mut directory = pass(CWD, OsStr::new("."), OFlags::empty())?;
        let mut links = Vec::new();
        let mut followed = 0;
        loop {
            let Some(name) = ahead.pop_front() else {
                let nothing = path.as_os_str().is_empty();
                return Err(Lost::Kernel(if nothing { Errno::NOENT } else { Errno::ISDIR }));
            };
            if name == "/" || name == ".." {
                directory = pass(&directory, &name, OFlags::NOFOLLOW)?;
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let there = rustix::fs::openat(&directory, &name, flags, Mode::empty());
            let there = match there {
                Err(Errno::NOENT) if ahead.is_empty() => {
                    return Ok(AnchoredName {
                        directory,
                        name,
                        stat: None,
                        links,
                        descriptor: false,
                    });
                }
                opened => opened?,
            };
            let mut stat = rustix::fs::fstat(&there)?;
            let above = rustix::fs::fstat(&directory)?;
            let is_link = kind(&stat) == FileType::Symlink;
            let descriptor = is_link && is_of_descriptors(&above);
            if ahead.is_empty() && (!is_link || descriptor) {
                if descriptor {
                    stat = rustix::fs::statat(&directory, &name, AtFlags::empty())?;
                }
                return Ok(AnchoredName { directory, name, stat: Some(stat), links, descriptor });
            }
            if !is_link || descriptor {
                directory = match descriptor {
                    true => pass(&directory, &name, OFlags::empty())?,
                    false => pass(&directory, &name, OFlags::NOFOLLOW)?,
                };
                continue;
            }
            followed += 1;
            if followed > LINKS_MAX {
                return Err(Lost::Kernel(Errno::LOOP));
            }
            if follow == Links::Trusted {
                trusted_link(&name, &stat, &above)?;
            }
            if ahead.is_empty() {
                links.push((identity(&above), name));
            }
            let target = rustix::fs::readlinkat(&there, "", Vec::new())?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            for part in parts(&target).into_iter().rev() {
                ahead.push_front(part);
            }
        }
    }

    /// The name beside this one that begins as it does and ends in `end`: what SQLite puts beside
    /// a database, as `-wal`.
    ///
    /// # Errors
    /// As [`AnchoredName::find`].
    pub fn beside(&self, end: &str) -> Result<AnchoredName, Lost> {
        let mut name = self.name.clone();
        name.push(end);
        let directory = pass(&self.directory, OsStr::new("."), OFlags::empty())?;
        let mut place =
            AnchoredName { directory, name, stat: None, links: Vec::new(), descriptor: false };
        place.stat = place.look()?;
        if let Some(stat) = &place.stat
            && kind(stat) == FileType::Symlink
        {
            trusted_link(&place.name, stat, &rustix::fs::fstat(&place.directory)?)?;
        }
        Ok(place)
    }

    /// The same place, looked at once more.
    ///
    /// # Errors
    /// As [`AnchoredName::find`].
    pub fn again(&self) -> Result<AnchoredName, Lost> {
        let directory = pass(&self.directory, OsStr::new("."), OFlags::empty())?;
        let (name, links, descriptor) = (self.name.clone(), self.links.clone(), self.descriptor);
        let mut place = AnchoredName { directory, name, stat: None, links, descriptor };
        place.stat = place.look()?;
        if place.stat.as_ref().is_some_and(|stat| kind(stat) == FileType::Symlink) {
            return Err(Lost::Kernel(Errno::LOOP));
        }
        Ok(place)
    }

    fn look(&self) -> Result<Option<Stat>, Errno> {
        let flags = if self.descriptor { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        match rustix::fs::statat(&self.directory, &self.name, flags) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The directory that is held.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// The name in it.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// What stands there, if anything.
    pub fn stat(&self) -> Option<&Stat> {
        self.stat.as_ref()
    }

    /// Of the file that stands there; nothing of a device, of which many names mean the same and
    /// that is not clobbered by being written into.
    pub fn file(&self) -> Option<Identity> {
        self.stat.as_ref().filter(|stat| kind(stat) == FileType::RegularFile).map(identity)
    }

    /// The number of the descriptor of this process that it names, if it names one.
    pub fn descriptor(&self) -> Option<i32> {
        self.descriptor.then(|| self.name.to_str()?.parse().ok()).flatten()
    }

    /// Whether the name is that of the other place, or of a link on the way to it: whether or not
    /// anything stands there yet.
    pub fn has_name_of(&self, other: &AnchoredName) -> bool {
        let Ok(above) = rustix::fs::fstat(&self.directory) else { return false };
        let ends = other.links.iter().cloned().chain(
            rustix::fs::fstat(&other.directory)
                .ok()
                .map(|stat| (identity(&stat), other.name.clone())),
        );
        ends.into_iter().any(|(at, name)| at == identity(&above) && name == self.name)
    }

    /// Its directories, from the nearest up to the root, until `see` finds what it looks for.
    ///
    /// # Errors
    /// When one of them cannot be looked at.
    pub fn climb<T>(
        &self,
        mut see: impl FnMut(BorrowedFd<'_>, Identity) -> Option<T>,
    ) -> Result<Option<T>, Errno> {
        let mut at = pass(&self.directory, OsStr::new("."), OFlags::empty())?;
        for _ in 0..DEPTH_MAX {
            let here = identity(&rustix::fs::fstat(&at)?);
            if let Some(found) = see(at.as_fd(), here) {
                return Ok(Some(found));
            }
            let above = match pass(&at, OsStr::new(".."), OFlags::empty()) {
                Err(Errno::ACCESS) => return Ok(None),
                opened => opened?,
            };
            if identity(&rustix::fs::fstat(&above)?) == here {
                break;
            }
            at = above;
        }
        Ok(None)
    }

    /// Why what stands there is not believed to be ours: others can put names into its directory,
    /// and it is neither ours, root's nor the directory's owner's, or has a second name elsewhere.
    /// `None` when it is believed, or there is nothing.
    ///
    /// # Errors
    /// When the directory cannot be looked at.
    pub fn planted(&self) -> Result<Option<String>, Errno> {
        let above = rustix::fs::fstat(&self.directory)?;
        let (Some(stat), Some(others)) = (&self.stat, others_in(&above)) else { return Ok(None) };
        if kind(stat) != FileType::RegularFile {
            return Ok(None);
        }
        // Whoever owns the directory can put there what he likes, whatever we do.
        let owned = is_trusted(stat.st_uid) || stat.st_uid == above.st_uid;
        Ok(match (owned, stat.st_nlink) {
            (false, _) => {
                let whose = user(stat.st_uid);
                Some(format!("it belongs to {whose}, in a directory that {others} can write"))
            }
            (true, names) if names > 1 => Some(format!(
                "it has {names} names, in a directory that {others} can write: it may be a file of \
                 elsewhere"
            )),
            _ => None,
        })
    }

    /// Whether the path's last name is a link, which was followed.
    pub fn is_through_link(&self) -> bool {
        !self.links.is_empty()
    }

    /// Makes the name durable.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn sync(&self) -> std::io::Result<()> {
        sync(self.directory())
    }

    /// Removes the name.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn unlink(&self) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())
    }

    /// Opens whatever file is there now to read and to add to; makes it, for us alone, where there
    /// is none and `make`. No link is followed.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn open_own(&self, make: bool) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let made = if make { OFlags::CREATE } else { OFlags::empty() };
        let flags = flags | OFlags::CLOEXEC | made;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.directory, &self.name, flags, mode)?.into())
    }

    /// Opens the file that stands there, if it is still the one that was looked at.
    ///
    /// # Errors
    /// When it cannot be opened, or is another file by now.
    pub fn open(&self, how: OFlags) -> Result<File, Errno> {
        // Opening a pipe that nobody reads waits, and a terminal may become ours.
        let flags = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())?;
        let opened = identity(&rustix::fs::fstat(&file)?);
        match self.stat.as_ref().is_some_and(|stat| identity(stat) == opened) {
            true => Ok(File::from(file)),
            false => Err(Errno::STALE),
        }
    }
}

/// A name is durable with its directory (fsync(2)); one that cannot be read, or whose file system
/// knows nothing of it, cannot be asked.
///
/// # Errors
/// In the kernel's words.
pub(super) fn sync(directory: BorrowedFd<'_>) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let synced = rustix::fs::openat(directory, ".", flags, Mode::empty())
        .and_then(|directory| rustix::fs::fsync(&directory));
    match synced {
        Err(Errno::ACCESS | Errno::INVAL | Errno::NOTSUP) => Ok(()),
        synced => Ok(synced?),
    }
}

/// Refuses a link that somebody else may have put there.
fn trusted_link(name: &OsStr, link: &Stat, above: &Stat) -> Result<(), Lost> {
    let Some(others) = others_in(above) else { return Ok(()) };
    let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
    let whose = match link.st_uid == rustix::process::geteuid().as_raw() {
        true => "us".to_owned(),
        false => user(link.st_uid),
    };
    let why = format!("{name} is a link of {whose}, in a directory that {others} can write");
    Err(Lost::Planted(why, "name the file itself, or one in a directory of your own".to_owned()))
}

#[cfg(test)]
mod tests;
