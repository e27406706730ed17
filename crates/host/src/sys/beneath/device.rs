//! A block device that is held to be read. Whoever opens it by its name in this process gets the
//! very device that is held, and for reading alone: no flag that could change it is passed on.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::sys::block;

/// Flags of open(2) that a device may be opened with; O_RDONLY is none of them, as it is 0.
const READING: OFlags = OFlags::DIRECT
    .union(OFlags::NOATIME)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW);

/// Which device is open: its number, and which of all disks that have had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhichDevice {
    number: u64,
    sequence: Option<u64>,
}

impl WhichDevice {
    /// Of an open file; `None` when it is no block device.
    pub fn from_file(file: BorrowedFd<'_>) -> Option<WhichDevice> {
        let stat = rustix::fs::fstat(file).ok()?;
        let is_block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        is_block.then(|| WhichDevice { number: stat.st_rdev, sequence: block::sequence(file) })
    }

    /// Opens it once more, through the descriptor that holds it.
    ///
    /// # Errors
    /// EROFS for flags that could change something, ENODEV when another device has come in its
    /// place; else the kernel's.
    pub fn open(self, held: BorrowedFd<'_>, node: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        if !READING.contains(flags) {
            return Err(Errno::ROFS);
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        let through = format!("/proc/self/fd/{}", held.as_raw_fd());
        let opened = match rustix::fs::open(through, flags.difference(OFlags::NOFOLLOW), MODE) {
            // No /proc; what its name leads to is looked at all the same.
            Err(Errno::NOENT) => rustix::fs::open(node, flags | OFlags::NOFOLLOW, MODE)?,
            opened => opened?,
        };
        match WhichDevice::from_file(opened.as_fd()) == Some(self) {
            true => Ok(opened),
            false => Err(Errno::NODEV),
        }
    }
}

/// Nothing is made.
const MODE: Mode = Mode::empty();
