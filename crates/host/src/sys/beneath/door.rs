//! The system calls by which something is opened below a directory and nowhere else.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

use super::WHERE;

/// Linux before 5.6 has no openat2(2); asked once.
static NO_CALL: AtomicBool = AtomicBool::new(false);

/// Opens `at` below `root`.
///
/// # Errors
/// The kernel's.
pub fn open(root: BorrowedFd<'_>, at: &CStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    if NO_CALL.load(Relaxed) {
        return walk(root, at, flags, mode);
    }
    match at_once(root, at, flags, mode) {
        Err(Errno::NOSYS) => {
            NO_CALL.store(true, Relaxed);
            walk(root, at, flags, mode)
        }
        // A container's filter of system calls says so, as well as the file itself (O_NOATIME).
        // What changed meanwhile is asked once more.
        Err(Errno::PERM | Errno::AGAIN) => walk(root, at, flags, mode),
        opened => opened,
    }
}

/// By openat2(2).
pub fn at_once(
    root: BorrowedFd<'_>,
    at: &CStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // It takes no mode for what it does not make.
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(root, at, flags, mode, resolve)
}

/// By openat(2), from directory to directory.
pub fn walk(root: BorrowedFd<'_>, at: &CStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let text = at.to_bytes();
    if text.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    let parts = text.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<&[u8]> = parts.collect();
    if parts.contains(&&b".."[..]) {
        return Err(Errno::XDEV);
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Some((last, parents)) = parts.split_last() else {
        return rustix::fs::openat(root, c".", flags, mode);
    };
    let mut above: Option<OwnedFd> = None;
    for part in parents {
        let from = above.as_ref().map_or(root, |above| above.as_fd());
        let next = rustix::fs::openat(from, *part, WHERE, Mode::empty())?;
        above = Some(next);
    }
    let from = above.as_ref().map_or(root, |above| above.as_fd());
    let opened = rustix::fs::openat(from, *last, flags, mode)?;
    match (mount(root), mount(opened.as_fd())) {
        (Some(ours), Some(its)) if ours != its => Err(Errno::XDEV),
        _ => Ok(opened),
    }
}

/// The number of the mount that something open lies on; since Linux 5.8.
fn mount(opened: BorrowedFd<'_>) -> Option<u64> {
    let stat = rustix::fs::statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}
