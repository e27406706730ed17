//! The socket by which the kernel is asked of its network, and told: rtnetlink(7).

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens one, of the network namespace that the calling thread is in. It never waits: what is
/// written without an address goes to the kernel, which has its answer ready when that returns.
///
/// # Errors
/// When we may open no such socket.
pub fn open() -> std::io::Result<File> {
    of(libc::NETLINK_ROUTE)
}

/// The same, by which it is asked of its sockets: sock_diag(7).
///
/// # Errors
/// As [`open`].
pub fn open_diagnosis() -> std::io::Result<File> {
    of(libc::NETLINK_SOCK_DIAG)
}

fn of(protocol: i32) -> std::io::Result<File> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: makes a new descriptor and touches no memory of ours.
    let made = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
    if made < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made above and nobody else knows of it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(made) }))
}
