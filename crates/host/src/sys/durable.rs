//! Bytes and names that outlive a power cut: what a file holds is safe once it is synced, and what
//! it is called once its folder is (fsync(2), rename(2)).
//!
//! Whoever writes decides about the order. Tests put a disk that fails behind these.

use std::fs::File;
use std::io::Write;
use std::path::Path;

#[cfg(any(test, feature = "testing"))]
use super::fire::mirror;
use super::place::AnchoredName;

/// The folder in which a file lies.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes at the end of a file that is open for appending, or where it stands.
///
/// # Errors
/// The kernel's; some of it may be there then.
pub fn append(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    mirror::append(file, bytes)?;
    file.write_all(bytes)
}

/// Cuts a file to a length, bytes.
///
/// # Errors
/// The kernel's.
pub fn cut(file: &File, length: u64) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    mirror::cut(file, length)?;
    file.set_len(length)
}

/// What is in a file is on the disk when this returns.
///
/// # Errors
/// The kernel's; what of it is on the disk then, nobody knows.
pub fn sync(file: &File) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    if mirror::sync(file)? {
        return Ok(());
    }
    file.sync_data()
}

/// The names in the folder of `path` are on the disk when this returns.
///
/// # Errors
/// The kernel's.
pub fn sync_folder(path: &Path) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    if mirror::sync_folder()? {
        return Ok(());
    }
    File::open(folder(path))?.sync_all()
}

/// The names in the folder of a place are on the disk when this returns.
///
/// # Errors
/// The kernel's.
pub fn sync_place(place: &AnchoredName) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    if mirror::sync_folder()? {
        return Ok(());
    }
    place.sync()
}

/// Removes the name of a place, which `path` leads to.
///
/// # Errors
/// The kernel's.
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unused_variables, reason = "tests know it by its path")
)]
pub fn remove(place: &AnchoredName, path: &Path) -> std::io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    mirror::remove(path)?;
    Ok(place.unlink()?)
}
