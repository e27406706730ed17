//! pread(2) and pwrite(2): one I/O at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Kind;
use super::single::Medium;

/// Files by pread(2) and pwrite(2).
pub struct Blocking<'a>(pub &'a [File]);

impl Medium for Blocking<'_> {
    #[inline]
    fn act(&mut self, kind: Kind, buffer: &mut [u8], file: u32, offset: u64) -> io::Result<usize> {
        let file = self.0.get(file as usize).ok_or(io::ErrorKind::InvalidInput)?;
        match kind {
            Kind::Read => file.read_at(buffer, offset),
            Kind::Write => file.write_at(buffer, offset),
            Kind::Sync => file.sync_all().map(|()| 0),
        }
    }
}
