//! Opens what lies below a directory that we hold, and nothing else.
//!
//! A name says where something stood when the name was made. Whoever owns the directory above may
//! give our name to another directory, with links in it that lead to files of others. So a work
//! directory is opened once, and everything in it is reached from its descriptor, without following
//! a link: openat2(2) with RESOLVE_BENEATH, or, where there is no such call (before Linux 5.6, or
//! forbidden to a container), from directory to directory. Paths stay what people are told.
//!
//! Which directories are held is known to the whole process, as descriptors are. A worker that was
//! told by its parent what it may use opens nothing else here ([`only`]).
//!
//! A block device may be held as well. It is opened by the same calls, and to be read alone.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Error;
use device::WhichDevice;
use moves::Moves;

mod device;
mod door;
mod moves;
#[cfg(test)]
mod tests;

/// To be asked for a descriptor that only says where: it needs no right to read.
pub const WHERE: OFlags = OFlags::PATH.union(FOLDER);
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Which file or directory it is, whatever its name: no other has both numbers while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Of what fstat(2) tells of.
    pub fn from_stat(stat: &Stat) -> FileIdentity {
        FileIdentity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A directory or device that is held, as a worker is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorRecord {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// Who holds it, and by which descriptor.
    process: u32,
    descriptor: i32,
    block: Option<WhichDevice>,
}

/// A directory below which files are opened, or a device that is read.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    directory: OwnedFd,
    identity: FileIdentity,
    owner: u32,
    moves: Option<Moves>,
    /// Of a device, which; of a directory `None`.
    block: Option<WhichDevice>,
}

static ROOTS: RwLock<Vec<Arc<Root>>> = RwLock::new(Vec::new());
/// Nothing is opened but what lies below one of [`ROOTS`].
static ONLY: AtomicBool = AtomicBool::new(false);

/// A directory is held for as long as this lives.
#[derive(Debug)]
pub struct Hold(Arc<Root>);

/// Holds a directory that is open and stands at `path`.
///
/// # Errors
/// In the kernel's words.
pub fn hold(path: &Path, directory: OwnedFd) -> Result<Hold, Errno> {
    hold_with(path, directory, None)
}

/// Holds a block device that is open and whose node stands at `path`: opened by that name it is
/// this one, and is only read.
///
/// # Errors
/// ENOTBLK when it is no block device; else the kernel's.
pub fn hold_device(path: &Path, device: OwnedFd) -> Result<Hold, Errno> {
    match WhichDevice::from_file(device.as_fd()) {
        Some(_) => hold(path, device),
        None => Err(Errno::NOTBLK),
    }
}

/// The same of the directory `name` in `above`; from now on it is noticed when that name is given
/// to something else, if only for a moment.
///
/// # Errors
/// In the kernel's words.
pub fn hold_in(
    above: BorrowedFd<'_>,
    name: &str,
    path: &Path,
    directory: OwnedFd,
) -> Result<Hold, Errno> {
    hold_with(path, directory, Some(Moves::watch_name(above, name)))
}

fn hold_with(path: &Path, directory: OwnedFd, moves: Option<Moves>) -> Result<Hold, Errno> {
    let stat = rustix::fs::fstat(&directory)?;
    let (identity, owner) = (FileIdentity::from_stat(&stat), stat.st_uid);
    let block = WhichDevice::from_file(directory.as_fd());
    let path = path.to_owned();
    let root = Arc::new(Root { path, directory, identity, owner, moves, block });
    ROOTS.write().unwrap_or_else(PoisonError::into_inner).push(root.clone());
    Ok(Hold(root))
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut roots = ROOTS.write().unwrap_or_else(PoisonError::into_inner);
        roots.retain(|root| !Arc::ptr_eq(root, &self.0));
    }
}

impl Hold {
    /// Where it stood when it was opened.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// It.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.0.directory.as_fd()
    }

    /// Which directory it is.
    pub fn identity(&self) -> FileIdentity {
        self.0.identity
    }

    /// Whether a move between two looks would be noticed.
    #[cfg(test)]
    pub fn listens(&self) -> bool {
        self.0.moves.as_ref().is_some_and(Moves::listens)
    }

    /// Whether its path leads to it, and has done so all the time, as far as is known.
    pub fn is_in_place(&self) -> bool {
        if self.0.moves.as_ref().is_some_and(Moves::seen) {
            return false;
        }
        let found = rustix::fs::lstat(self.path());
        found.is_ok_and(|stat| FileIdentity::from_stat(&stat) == self.0.identity)
    }

    /// Fails when its path does not lead to it any more.
    ///
    /// # Errors
    /// With what that means to whoever measures there.
    pub fn check_place(&self) -> Result<(), Error> {
        match self.is_in_place() {
            true => Ok(()),
            false => Err(moved(self.path())),
        }
    }
}

/// What is said of a directory that its name does not lead to any more.
fn moved(path: &Path) -> Error {
    let what = format!(
        "the work directory {} was moved or replaced while we measured; nothing was written \
         outside it",
        path.display()
    );
    Error::new(what, "somebody else may write above it")
        .hint("measure in a directory that only you or root may write in, as each one above it")
}

/// What is said of a device that its name does not lead to any more.
fn another(path: &Path) -> Error {
    let what = format!("{} is another device than when it was found", path.display());
    Error::new(what, "somebody has exchanged it, or made its node anew")
        .hint("look which disks there are: brickyard inspect")
}

/// What is held of the places where these paths lie, each once.
pub fn named<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<AnchorRecord> {
    let mut all: Vec<AnchorRecord> = Vec::new();
    for root in paths.into_iter().filter_map(|path| Some(root_of(path)?.0)) {
        let named = AnchorRecord {
            path: root.path.clone(),
            device: root.identity.device,
            inode: root.identity.inode,
            process: std::process::id(),
            descriptor: root.directory.as_raw_fd(),
            block: root.block,
        };
        if !all.contains(&named) {
            all.push(named);
        }
    }
    all
}

/// Holds these directories until this process ends, and opens nothing from now on that does not lie
/// below them.
///
/// # Errors
/// When one of them is not what its path leads to any more.
pub fn only(named: &[AnchorRecord]) -> Result<(), Error> {
    for one in named {
        let identity = FileIdentity { device: one.device, inode: one.inode };
        let is_it = |opened: &OwnedFd| {
            let same = |stat: Stat| FileIdentity::from_stat(&stat) == identity;
            rustix::fs::fstat(opened).is_ok_and(same)
                && WhichDevice::from_file(opened.as_fd()) == one.block
        };
        // The descriptor of whoever holds it leads to it wherever it is now; its path where /proc
        // does not let us.
        let there = format!("/proc/{}/fd/{}", one.process, one.descriptor);
        let (kind, last) = match one.block {
            Some(_) => (OFlags::NONBLOCK, OFlags::NOFOLLOW),
            None => (OFlags::DIRECTORY, FOLDER),
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | kind;
        let opened = rustix::fs::open(there, flags, Mode::empty()).ok().filter(is_it);
        let directory = opened.map_or_else(
            || {
                let opened = rustix::fs::open(&one.path, flags | last, Mode::empty());
                opened.ok().filter(is_it).ok_or_else(|| match one.block {
                    Some(_) => another(&one.path),
                    None => moved(&one.path),
                })
            },
            Ok,
        )?;
        let held = hold(&one.path, directory).map_err(|why| {
            let why = io::Error::from(why);
            Error::new(format!("cannot examine {}", one.path.display()), why)
        })?;
        // The kernel closes it when this process ends.
        std::mem::forget(held);
    }
    ONLY.store(true, Relaxed);
    Ok(())
}

/// The innermost directory that is held and holds `path`, and where below it that is.
fn root_of(path: &Path) -> Option<(Arc<Root>, PathBuf)> {
    let roots = ROOTS.read().unwrap_or_else(PoisonError::into_inner);
    let holds = roots.iter().filter_map(|root| {
        let below = path.strip_prefix(&root.path).ok()?;
        Some((root, below))
    });
    let (root, below) = holds.min_by_key(|(_, below)| below.as_os_str().len())?;
    Some((root.clone(), below.to_owned()))
}

/// Whether `path` lies below a directory that is held.
pub fn is_held(path: &Path) -> bool {
    root_of(path).is_some()
}

/// A place below a directory that is held, to be opened once or again and again.
#[derive(Clone, Debug)]
pub struct Spot {
    root: Option<Arc<Root>>,
    /// Below the root, or the whole path where there is none.
    at: CString,
}

impl Spot {
    /// Where `path` lies. One that lies below nothing that is held is opened by its name, as far as
    /// this process opens such.
    ///
    /// # Errors
    /// EXDEV where this process may not, and for a path that goes up (`..`).
    pub fn find(path: &Path) -> Result<Spot, Errno> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
        match root_of(path) {
            Some((_, below)) if below.components().any(|part| part == Component::ParentDir) => {
                Err(Errno::XDEV)
            }
            Some((root, below)) if root.block.is_some() && !below.as_os_str().is_empty() => {
                Err(Errno::NOTDIR)
            }
            Some((root, below)) => {
                let below = if below.as_os_str().is_empty() { Path::new(".") } else { &below };
                Ok(Spot { root: Some(root), at: text(below).map_err(|_| Errno::INVAL)? })
            }
            None if ONLY.load(Relaxed) => Err(Errno::XDEV),
            None => Ok(Spot { root: None, at: text(path).map_err(|_| Errno::INVAL)? }),
        }
    }

    /// Opens it by one system call; nothing is allocated where openat2(2) is known.
    ///
    /// # Errors
    /// The kernel's; ELOOP for a link, EXDEV for what is mounted there.
    pub fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        match self.root.as_deref() {
            Some(Root { block: Some(block), directory, path, .. }) => {
                block.open(directory.as_fd(), path, flags)
            }
            Some(root) => door::open(root.directory.as_fd(), &self.at, flags, mode),
            None => rustix::fs::open(self.at.as_c_str(), flags, mode),
        }
    }

    /// Opens a file of ours and looks whether it is one, before it is emptied.
    ///
    /// # Errors
    /// In the kernel's words, or with what it is instead.
    pub fn open_file(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        // Of a device it was looked which one it is.
        let root = self.root.as_ref().filter(|root| root.block.is_none());
        let Some(root) = root else { return Ok(self.open(flags, mode)?.into()) };
        let opened = self.open(flags.difference(OFlags::TRUNC), mode).map_err(|why| match why {
            Errno::LOOP => io::Error::other("it is a symbolic link, and we made none there"),
            why => why.into(),
        })?;
        let stat = rustix::fs::fstat(&opened)?;
        if let Some(what) = strange(&stat, root.owner) {
            return Err(io::Error::other(what));
        }
        if flags.contains(OFlags::TRUNC) && stat.st_size > 0 {
            rustix::fs::ftruncate(&opened, 0)?;
        }
        Ok(opened.into())
    }
}

/// Why a file is none that we made in a directory of this owner; `None` when it may be. Root's
/// files belong to somebody else where a server takes it for nobody; there the directory does, too.
///
/// Its device is not compared: overlayfs gives files another than directories, and btrfs each
/// subvolume. That nothing is mounted in between was asked of the kernel.
fn strange(stat: &Stat, owner: u32) -> Option<String> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Some("it is no regular file, and was none of ours".to_owned());
    }
    let ours = [owner, rustix::process::geteuid().as_raw()];
    if !ours.contains(&stat.st_uid) {
        return Some(format!("it belongs to the user {}, and not to us", stat.st_uid));
    }
    // Some file systems count no names, and say 0.
    (stat.st_nlink > 1).then(|| {
        let names = stat.st_nlink;
        format!("it has {names} names (hard links), and files of ours have one")
    })
}

/// Opens what lies at `path`, as [`Spot::open`].
///
/// # Errors
/// As [`Spot::find`] and [`Spot::open`].
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    Spot::find(path)?.open(flags, mode)
}

/// Opens a file of ours, as [`Spot::open_file`].
///
/// # Errors
/// As [`Spot::find`] and [`Spot::open_file`].
pub fn open_file(path: &Path, flags: OFlags) -> io::Result<File> {
    let made = match flags.contains(OFlags::CREATE) {
        true => Mode::from_raw_mode(0o666),
        false => Mode::empty(),
    };
    Spot::find(path)?.open_file(flags, made)
}

/// Opens a folder, to read its names.
///
/// # Errors
/// As [`open`].
pub fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::RDONLY | FOLDER, Mode::empty())
}

/// The folder above `path`, and the last part of it.
fn above(path: &Path) -> Result<(OwnedFd, &Path), Errno> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((open(parent.unwrap_or(Path::new(".")), WHERE, Mode::empty())?, Path::new(name)))
}

/// Makes one folder.
///
/// # Errors
/// The kernel's.
pub fn make_folder(path: &Path, mode: Mode) -> Result<(), Errno> {
    let (above, name) = above(path)?;
    rustix::fs::mkdirat(&above, name, mode)
}

/// Removes a name, never what a link of that name leads to.
///
/// # Errors
/// The kernel's.
pub fn unlink(path: &Path) -> Result<(), Errno> {
    let (above, name) = above(path)?;
    rustix::fs::unlinkat(&above, name, AtFlags::empty())
}

/// Writes a small file whole or not at all, and puts it on the device, name and all: beside its
/// place first, then renamed over it.
///
/// # Errors
/// The kernel's.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let (_, name) = above(path)?;
    let folder = open_folder(path.parent().unwrap_or(Path::new(".")))?;
    let beside = format!(".{}.{}", name.display(), std::process::id());
    // What a process of the same number left when it was killed.
    match rustix::fs::unlinkat(&folder, &beside, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(why) => return Err(why.into()),
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let mut file = File::from(rustix::fs::openat(&folder, &beside, flags, mode)?);
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| {
        rustix::fs::renameat(&folder, &beside, &folder, name)?;
        // A name is durable with its folder (fsync(2)).
        Ok(rustix::fs::fsync(&folder)?)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&folder, &beside, AtFlags::empty());
    }
    written
}

/// A path by which the kernel comes to the same place through the descriptor, for what takes only
/// paths: nobody can exchange what /proc/self/fd leads to. Whoever asks where that link points, to
/// go there by name, loses that.
pub fn by_number(path: &Path) -> PathBuf {
    match root_of(path) {
        Some((root, below)) => {
            Path::new(&format!("/proc/self/fd/{}", root.directory.as_raw_fd())).join(below)
        }
        None => path.to_owned(),
    }
}
