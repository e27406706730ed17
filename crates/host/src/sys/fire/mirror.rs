//! What `sys::durable` does to real files, done to the mounted disk as well: it fails where the
//! disk does, and what a power cut leaves is on the disk, for a test to lay out.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Error, Result, Write};
use std::path::Path;
use std::rc::Rc;

use super::{Disk, Fails, Plant, planted, vfs};

/// What the kernel would say.
fn told(how: Fails) -> Error {
    Error::from_raw_os_error(match how {
        Fails::Broken => libc::EIO,
        Fails::Full => libc::ENOSPC,
    })
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The mounted disk and the file there, made when it is new to it.
fn mirrored(file: &File) -> Result<Option<(Rc<RefCell<Disk>>, usize)>> {
    use std::os::fd::AsRawFd;
    let Some(disk) = vfs::mounted() else { return Ok(None) };
    let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let there = disk.borrow_mut().open(&name_of(&name), true).map_err(told)?;
    Ok(there.map(|there| (disk, there)))
}

/// Writes; of what finds no room, half is written.
pub fn append(mut file: &File, bytes: &[u8]) -> Result<()> {
    let Some((disk, there)) = mirrored(file)? else { return Ok(()) };
    let at = file.metadata()?.len() as usize;
    let written = disk.borrow_mut().write(there, at, bytes);
    if written == Err(Fails::Full) {
        file.write_all(&bytes[..bytes.len() / 2])?;
    }
    written.map_err(told)
}

/// Cuts a file.
pub fn cut(file: &File, length: u64) -> Result<()> {
    let Some((disk, there)) = mirrored(file)? else { return Ok(()) };
    let cut = disk.borrow_mut().truncate(there, length as usize);
    cut.map_err(told)
}

/// Syncs a file; true when that is all there is to do.
pub fn sync(file: &File) -> Result<bool> {
    let Some((disk, there)) = mirrored(file)? else { return Ok(false) };
    if planted(Plant::LineNotSynced) {
        return Ok(true);
    }
    let synced = disk.borrow_mut().sync(there);
    synced.map(|()| true).map_err(told)
}

/// Syncs the folder; true when that is all there is to do.
pub fn sync_folder() -> Result<bool> {
    let Some(disk) = vfs::mounted() else { return Ok(false) };
    let synced = disk.borrow_mut().sync_folder();
    synced.map(|()| true).map_err(told)
}

/// Removes a name.
pub fn remove(path: &Path) -> Result<()> {
    let Some(disk) = vfs::mounted() else { return Ok(()) };
    let removed = disk.borrow_mut().remove(&name_of(path));
    removed.map(|_| ()).map_err(told)
}
