//! Block devices: by their open descriptor, what the kernel says of the very device that is open,
//! whatever a name leads to by now; and by their node, whether somebody holds it.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, opcode};

use super::{Error, Host, clock, gate};

/// BLKGETSIZE64 of linux/fs.h: `_IOR(0x12, 114, size_t)`; the kernel writes 64 bits.
const SIZE: Opcode = opcode::read::<usize>(0x12, 114);
/// BLKROGET of linux/fs.h: `_IO(0x12, 94)`.
const READ_ONLY: Opcode = opcode::none(0x12, 94);
/// BLKGETDISKSEQ of linux/fs.h, since Linux 5.15.
const SEQUENCE: Opcode = opcode::read::<u64>(0x12, 128);
/// How long a lock that somebody holds is waited for. udev holds a shared one while it looks at a
/// device (systemd's BLOCK_DEVICE_LOCKING), which takes it some tens of milliseconds.
const LOCK_MAX_NS: u64 = 1_000_000_000;
/// How long a device that was let go of may still be held by a child that has only just begun its
/// program: the kernel wakes whoever started it before it closes the child's descriptors.
const LET_GO_MAX_NS: u64 = 1_000_000_000;

/// How a device is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// O_RDONLY.
    Read,
    /// O_RDONLY | O_EXCL: fails with EBUSY while anybody in the kernel, or another program that
    /// asked so, has it or a partition of it (open(2)).
    ReadAlone,
    /// O_RDWR | O_EXCL.
    WriteAlone,
}

/// Opens a device; its last part must not be a symbolic link. Neither waits for a medium nor
/// becomes a controlling terminal.
///
/// # Errors
/// The kernel's.
pub fn open(node: &Path, how: How) -> std::io::Result<File> {
    let alone = if how == How::Read { 0 } else { libc::O_EXCL };
    let flags = alone | libc::O_NOFOLLOW | libc::O_NOCTTY | libc::O_NONBLOCK;
    OpenOptions::new().read(true).write(how == How::WriteAlone).custom_flags(flags).open(node)
}

/// `8:16`, when the open file is a block device.
pub fn number(file: &File) -> Option<String> {
    file.metadata().ok().and_then(|there| number_in(&there))
}

/// `8:16`, when `node` is a block device itself and not a link to one.
pub fn number_of(node: &Path) -> Option<String> {
    node.symlink_metadata().ok().and_then(|there| number_in(&there))
}

fn number_in(there: &std::fs::Metadata) -> Option<String> {
    let (device, block) = (there.rdev(), there.file_type().is_block_device());
    block.then(|| format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

/// Size of the open device, bytes.
///
/// # Errors
/// When it is no block device.
pub fn size_bytes(file: &File) -> std::io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes 64 bits, whatever its number says.
    let size = unsafe { rustix::ioctl::ioctl(file, Getter::<SIZE, u64>::new()) };
    Ok(size?)
}

/// Whether the kernel refuses writes on the open device. It opens one for writing all the same.
///
/// # Errors
/// When it is no block device.
pub fn is_read_only(file: &File) -> std::io::Result<bool> {
    // SAFETY: BLKROGET writes an int.
    let read_only = unsafe { rustix::ioctl::ioctl(file, Getter::<READ_ONLY, i32>::new()) };
    Ok(read_only? != 0)
}

/// The sequence number of the disk behind the open device, which no other disk of this boot has;
/// `None` on kernels before 5.15.
pub fn sequence(file: impl AsFd) -> Option<u64> {
    // SAFETY: BLKGETDISKSEQ writes 64 bits.
    unsafe { rustix::ioctl::ioctl(file, Getter::<SEQUENCE, u64>::new()) }.ok()
}

/// Takes the device for ourselves by flock(2), as systemd's BLOCK_DEVICE_LOCKING asks of programs
/// that write a disk: udev then leaves it alone, and so does another run of ours. Gives false when
/// somebody else has it and keeps it.
///
/// # Errors
/// The kernel's.
pub fn lock(file: &File) -> std::io::Result<bool> {
    let end_ns = clock::monotonic_ns().saturating_add(LOCK_MAX_NS);
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if clock::monotonic_ns() >= end_ns => return Ok(false),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(std::time::Duration::from_millis(20)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shares the lock that [`lock`] took: udev takes a shared one itself before it looks into a disk.
///
/// # Errors
/// The kernel's.
pub fn share(file: &File) -> std::io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::NonBlockingLockShared)?)
}

/// Which file a path leads to: device and inode, alike for all names of one file.
pub fn which_file(path: &Path) -> Option<(u64, u64)> {
    let there = path.metadata().ok()?;
    there.is_file().then(|| (there.dev(), there.ino()))
}

/// The node of a device, by the kernel's name; a `!` in a name stands for a `/` in /dev.
pub fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// The partitions of a disk, by the kernel's names.
pub fn partitions(host: &Host, disk: &str) -> Vec<String> {
    let folder = format!("/sys/block/{disk}");
    let all = host.list(&folder).into_iter();
    all.filter(|name| host.exists(format!("{folder}/{name}/partition"))).collect()
}

/// The disk that a partition is a part of; `None` when it is none.
pub fn whole_of(host: &Host, name: &str) -> Option<String> {
    let path = host.resolve(format!("/sys/class/block/{name}"))?;
    if !host.exists(path.join("partition")) {
        return None;
    }
    Some(path.parent()?.file_name()?.to_str()?.to_owned())
}

/// Whether `node` is the block device of this number, `8:0`.
pub fn is(node: &Path, number: &str) -> bool {
    node.metadata().is_ok_and(|there| {
        let device = there.rdev();
        let held = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        there.file_type().is_block_device() && held == number
    })
}

/// Whether somebody has it for himself: a file system, an array, a program (open(2), O_EXCL).
pub fn is_held(node: &Path) -> bool {
    gate::while_none_starts(|| holds(node))
}

/// Closes a descriptor that has the device alone, so that the next who asks for it gets it: no
/// child that another thread starts takes a copy along.
pub fn let_go(alone: File, node: &Path) {
    gate::while_none_starts(|| {
        drop(alone);
        let end_ns = clock::monotonic_ns().saturating_add(LET_GO_MAX_NS);
        while holds(node) && clock::monotonic_ns() < end_ns {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}

fn holds(node: &Path) -> bool {
    let flags = libc::O_EXCL | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Opens it for ourselves, to be written around the page cache.
///
/// # Errors
/// When somebody else has it, or it cannot be written.
pub fn claim(node: &Path) -> Result<File, Error> {
    let flags = libc::O_EXCL | libc::O_DIRECT;
    let opened = OpenOptions::new().write(true).custom_flags(flags).open(node);
    opened.map_err(|error| Error::new(format!("cannot write {}", node.display()), error))
}

/// Makes durable what was written to it through the page cache.
///
/// # Errors
/// When the device could not be written.
pub fn flush(node: &Path) -> Result<(), Error> {
    let flushed = File::open(node).and_then(|file| file.sync_all());
    flushed.map_err(|error| Error::new(format!("cannot flush {}", node.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_block_device_and_two_names_of_it_are_one() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::File::create(&one).unwrap().set_len(4096).unwrap();
        std::fs::hard_link(&one, &other).unwrap();
        assert_eq!(which_file(&one), which_file(&other));
        assert!(which_file(&one).is_some() && which_file(folder.path()).is_none());
        let file = open(&one, How::Read).unwrap();
        assert_eq!((number(&file), number_of(&one), sequence(&file)), (None, None, None));
        assert!(size_bytes(&file).is_err());
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        assert!(open(&folder.path().join("link"), How::Read).is_err(), "links are not followed");
    }

    #[test]
    fn a_lock_that_another_has_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::File::create(&path).unwrap();
        let (first, second) = (open(&path, How::Read).unwrap(), open(&path, How::Read).unwrap());
        assert!(lock(&first).unwrap());
        assert!(!lock(&second).unwrap());
        drop(first);
        assert!(lock(&second).unwrap());
    }

    #[test]
    fn a_file_is_no_device_and_names_with_marks_lie_in_folders() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is(file.path(), "0:0") && !is(Path::new("/dev/null"), "1:3"));
        assert!(!is(Path::new("/no/such"), "8:0") && !is_held(file.path()));
        assert_eq!(node("cciss!c0d0"), Path::new("/dev/cciss/c0d0"));
        assert_eq!(node("sda"), Path::new("/dev/sda"));
        assert!(claim(Path::new("/no/such")).unwrap_err().what.contains("/no/such"));
        assert!(flush(Path::new("/no/such")).is_err());
    }
}
