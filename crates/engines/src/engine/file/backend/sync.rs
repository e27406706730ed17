//! pread(2) and pwrite(2): one I/O at a time. Where the page cache is to keep nothing of it
//! (`DONTCACHE`), by preadv2(2) and pwritev2(2), which have a flag for that.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::IoKind;
use super::single::Medium;
use host::sys::beneath::Spot;
use host::sys::dontcache;

/// Files by pread(2) and pwrite(2).
pub struct Blocking<'a, const DONTCACHE: bool>(pub &'a [File]);

impl<const DONTCACHE: bool> Medium for Blocking<'_, DONTCACHE> {
    #[inline]
    fn act(
        &mut self,
        kind: IoKind,
        buffer: &mut [u8],
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        act::<DONTCACHE>(self.0, kind, buffer, file, offset)
    }
}

#[inline]
fn act<const DONTCACHE: bool>(
    files: &[File],
    kind: IoKind,
    buffer: &mut [u8],
    file: u32,
    offset: u64,
) -> io::Result<usize> {
    let file = files.get(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
    match kind {
        IoKind::Read if DONTCACHE => dontcache::read_at(file, buffer, offset),
        IoKind::Write if DONTCACHE => dontcache::write_at(file, buffer, offset),
        IoKind::Read => file.read_at(buffer, offset),
        IoKind::Write => file.write_at(buffer, offset),
        IoKind::Sync => file.sync_all().map(|()| 0),
        IoKind::SyncData => file.sync_data().map(|()| 0),
    }
}

/// The same files opened by themselves, to be closed after each round: to the kernel, and to an
/// NFS server behind it, that is the close of a file that was written.
pub struct Closing<const DONTCACHE: bool> {
    files: Vec<File>,
    spots: Vec<Spot>,
    flags: OFlags,
}

impl<const DONTCACHE: bool> Closing<DONTCACHE> {
    /// Opens the files.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn new(paths: &[PathBuf], writes: bool, direct: bool) -> io::Result<Self> {
        let spots: Result<_, _> = paths.iter().map(|path| Spot::find(path)).collect();
        let mut flags = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::DIRECT, direct);
        let mut closing = Closing { files: Vec::new(), spots: spots?, flags };
        closing.reopen()?;
        Ok(closing)
    }
}

impl<const DONTCACHE: bool> Medium for Closing<DONTCACHE> {
    #[inline]
    fn act(
        &mut self,
        kind: IoKind,
        buffer: &mut [u8],
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        act::<DONTCACHE>(&self.files, kind, buffer, file, offset)
    }

    fn close(&mut self) -> io::Result<()> {
        for file in self.files.drain(..) {
            // SAFETY: the descriptor was given up by its owner a moment ago, and nobody else has
            // it. `File` would close it as well, and lose the error that NFS gives only here.
            if unsafe { libc::close(file.into_raw_fd()) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        let open = |spot: &Spot| Ok(spot.open(self.flags, Mode::empty())?.into());
        self.files = self.spots.iter().map(open).collect::<io::Result<_>>()?;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes a fixture and looks at what was written")]
mod tests {
    use super::*;

    #[test]
    fn a_closed_file_moves_nothing_until_it_is_open_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, [1; 512]).unwrap();
        let mut closing = Closing::<false>::new(std::slice::from_ref(&path), true, false).unwrap();
        let mut buffer = [2; 512];
        assert_eq!(closing.act(IoKind::Write, &mut buffer, 0, 512).unwrap(), 512);
        closing.close().unwrap();
        assert!(closing.act(IoKind::Read, &mut buffer, 0, 0).is_err());
        closing.reopen().unwrap();
        assert_eq!(closing.act(IoKind::Read, &mut buffer, 0, 0).unwrap(), 512);
        assert_eq!((buffer, std::fs::read(&path).unwrap().len()), ([1; 512], 1024));
    }
}
