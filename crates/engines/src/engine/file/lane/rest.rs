//! The rest of an I/O of which the kernel moved only a part.
//!
//! A write that finds no more room moves what fits and gives no reason: whoever asks for the rest
//! is told it, or gets it moved, where room was only late (btrfs first writes out what waits in
//! memory). So the rest is asked for, as every program does that writes a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{AddressGenerator, Backend, Check, FileLane, IoFault, IoKind};

impl<B: Backend, G: AddressGenerator, C: Check> FileLane<'_, B, G, C> {
    /// Moves what is left of the I/O of `slot`, of which `result` came back.
    ///
    /// # Errors
    /// With what was moved at first, and why the rest was not.
    #[cold]
    pub(super) fn rest(&mut self, slot: u32, kind: IoKind, result: i32) -> Result<(), IoFault> {
        let io = *self.slots.at(slot);
        let mut fault = IoFault::from_result(&io, kind, result, self.backend.whole());
        let IoFault::Io { wanted, moved: Ok(moved), rest, .. } = &mut fault else {
            return Err(fault);
        };
        let (Some(file), true) = (self.files.files.get(io.file as usize), *moved < *wanted) else {
            return Err(fault);
        };
        // SAFETY: its I/O has come back, and the slot is given back only when this one is over:
        // nothing on it is in flight.
        let buffer = unsafe { self.buffers.slice(slot) };
        match go_on(file, kind, buffer, io.offset, *moved as usize) {
            Ok(()) => {
                self.halved += 1;
                Ok(())
            }
            Err(why) => {
                *rest = Some(why);
                Err(fault)
            }
        }
    }
}

/// Moves all from `moved` on between `buffer` and the place of its first byte in `file`.
fn go_on(
    file: &File,
    kind: IoKind,
    buffer: &mut [u8],
    at: u64,
    mut moved: usize,
) -> io::Result<()> {
    while moved < buffer.len() {
        let (left, offset) = (&mut buffer[moved..], at + moved as u64);
        let more = match kind {
            IoKind::Read => file.read_at(left, offset),
            _ => file.write_at(left, offset),
        };
        match more {
            Ok(0) if kind == IoKind::Read => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => moved += more,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_moved_or_the_kernel_says_why_not() {
        let file = tempfile::tempfile().unwrap();
        let mut block: Vec<u8> = (0..=255).cycle().take(8192).collect();
        file.write_at(&block[..1000], 4096).unwrap();
        go_on(&file, IoKind::Write, &mut block, 4096, 1000).unwrap();
        let mut back = vec![0; 8192];
        go_on(&file, IoKind::Read, &mut back, 4096, 0).unwrap();
        assert_eq!(back, block);
        let beyond = go_on(&file, IoKind::Read, &mut back, 8192, 100).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        let full = full_device();
        let why = go_on(&full, IoKind::Write, &mut block, 0, 4096).unwrap_err();
        assert_eq!(why.raw_os_error(), Some(libc::ENOSPC));
    }

    /// A file that has no room for another byte.
    fn full_device() -> File {
        std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
    }
}
