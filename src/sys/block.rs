//! Nodes of block devices: which one a name is, whether somebody holds it, and writing it through.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Error;

/// The node of a device, by the kernel's name; a `!` in a name stands for a `/` in /dev.
pub fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
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
