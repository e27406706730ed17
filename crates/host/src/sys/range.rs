//! Locks on single bytes of a file, each of which one process has at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Locks so many bytes from `start` on, which need not be there; 0 is all to the end. False when
/// another open file has any of them. The lock is the descriptor's and goes with its last copy,
/// however the process ends (fcntl(2), open file description locks).
///
/// # Errors
/// When the file system knows no locks.
pub fn lock(file: &File, start: u64, bytes: u64) -> io::Result<bool> {
    // SAFETY: zero is a value of each of its fields.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_start = start as libc::off_t;
    range.l_len = bytes as libc::off_t;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the kernel only reads
    // `range`.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &range) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            why if why.kind() == io::ErrorKind::WouldBlock => Ok(false),
            why if why.raw_os_error() == Some(libc::EACCES) => Ok(false),
            why => Err(why),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_one_owner_until_his_file_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        let open = || {
            let mut how = File::options();
            how.read(true).write(true).create(true).truncate(false).open(&path).unwrap()
        };
        let (one, two) = (open(), open());
        let far = u64::MAX >> 2;
        assert!(lock(&one, far, 1).unwrap() && lock(&one, far, 1).unwrap(), "again");
        assert!(!lock(&two, far, 1).unwrap() && lock(&two, far + 1, 1).unwrap());
        assert!(!lock(&one, 0, 0).unwrap(), "all of it");
        drop(two);
        assert!(lock(&one, 0, 0).unwrap());
    }
}
