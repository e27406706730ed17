//! Whichever medium was asked for, told apart at each I/O: for loads whose I/Os cost so much that a
//! branch is not seen, which then need no copy of the loop for each medium.

use std::io;

use super::IoKind;
use super::mapped::Mapped;
use super::single::Medium;
use super::stdio::Stdio;
use super::sync::{Blocking, Closing};

/// One of the media.
pub enum AnyMedium<'a> {
    /// pread(2) and pwrite(2).
    Blocking(Blocking<'a, false>),
    /// preadv2(2) and pwritev2(2), of which the page cache keeps nothing.
    DontCache(Blocking<'a, true>),
    /// pread(2) and pwrite(2) of files that are closed after each round.
    Closing(Closing<false>),
    /// preadv2(2) and pwritev2(2) of such files.
    ClosingDontCache(Closing<true>),
    /// A shared memory map.
    Mapped(Mapped<'a>),
    /// fread(3) and fwrite(3) of blocks.
    Blocks(Stdio<false>),
    /// getc(3) and putc(3) of bytes.
    Bytes(Stdio<true>),
}

/// The same of each medium.
macro_rules! each {
    ($any:expr, $medium:ident => $does:expr) => {
        match $any {
            AnyMedium::Blocking($medium) => $does,
            AnyMedium::DontCache($medium) => $does,
            AnyMedium::Closing($medium) => $does,
            AnyMedium::ClosingDontCache($medium) => $does,
            AnyMedium::Mapped($medium) => $does,
            AnyMedium::Blocks($medium) => $does,
            AnyMedium::Bytes($medium) => $does,
        }
    };
}

impl Medium for AnyMedium<'_> {
    #[inline]
    fn act(
        &mut self,
        kind: IoKind,
        buffer: &mut [u8],
        file: u32,
        offset: u64,
    ) -> io::Result<usize> {
        each!(self, medium => medium.act(kind, buffer, file, offset))
    }

    #[inline]
    fn see(
        &mut self,
        length: usize,
        file: u32,
        offset: u64,
        right: impl FnOnce(&[u8]) -> bool,
    ) -> Option<io::Result<bool>> {
        each!(self, medium => medium.see(length, file, offset, right))
    }

    fn let_go(&mut self) {
        each!(self, medium => medium.let_go());
    }

    fn write_out(&mut self) -> io::Result<()> {
        each!(self, medium => medium.write_out())
    }

    fn close(&mut self) -> io::Result<()> {
        each!(self, medium => medium.close())
    }

    fn reopen(&mut self) -> io::Result<()> {
        each!(self, medium => medium.reopen())
    }
}
