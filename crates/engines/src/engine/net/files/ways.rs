//! Ways from a file to a socket that have one thing under way at a time.

use std::io;
use std::os::fd::AsFd;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice as spliced};

use super::{Failure, FilePosition, LoadFailure, SenderRound, cut};
use crate::engine::file::backend::Buffers;
use crate::engine::file::backend::mapped::Mapped;
use crate::engine::net::work::{broken, retried};

/// Bytes of the pipe that splice(2) goes through: what an ordinary user may have
/// (/proc/sys/fs/pipe-max-size).
pub const PIPE_BYTES: usize = 1 << 20;

/// Goes through the files; `step` sends up to so many bytes from a place, and says how many went.
///
/// # Errors
/// With what failed.
pub fn pump(
    mut round: SenderRound<'_>,
    mut step: impl FnMut(&SenderRound<'_>, usize) -> io::Result<usize>,
    mut let_go: impl FnMut(),
) -> Result<u64, LoadFailure> {
    while !round.over() {
        let sent = match step(&round, round.left_of_block()) {
            Ok(0) => Err(cut()),
            sent => sent,
        };
        let sent = sent.map_err(|why| round.broken(round.at, &why))?;
        if round.sent(sent) {
            round.wrap(&mut let_go);
        }
    }
    Ok(round.sent_bytes)
}

/// read(2) into a buffer and write(2) from it, a block at a time.
pub fn read_and_write(round: SenderRound<'_>, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    let (block, align) = (round.served.job.block_bytes as usize, round.served.memory_align);
    let buffers = Buffers::new(1, block, align as usize, round.served.job.huge_pages)
        .map_err(|why| (Failure::Failed, why.to_string()))?;
    if !wait() {
        return Ok(0);
    }
    // SAFETY: nothing else has these buffers, and nothing is in flight on them: every call below
    // is over when it returns.
    let buffer = unsafe { buffers.slice(0) };
    let step = |round: &SenderRound<'_>, _| {
        let FilePosition { offset, .. } = round.at;
        let mut came = 0;
        while came < buffer.len() {
            let at = offset + came as u64;
            let read = retried(|| {
                rustix::io::pread(round.file(), &mut buffer[came..], at).map_err(io::Error::from)
            })?;
            if read == 0 {
                return Err(cut());
            }
            came += read;
        }
        let mut went = 0;
        while went < buffer.len() {
            let from = &buffer[went..];
            went += retried(|| rustix::io::write(round.socket, from).map_err(io::Error::from))?;
        }
        Ok(went)
    };
    pump(round, step, || ())
}

/// sendfile(2), a block at a time.
pub fn sendfile(round: SenderRound<'_>, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    if !wait() {
        return Ok(0);
    }
    pump(round, sendfile_at, || ())
}

/// sendfile(2) of up to so many bytes from the present place; how many went.
///
/// # Errors
/// The kernel's.
pub fn sendfile_at(round: &SenderRound<'_>, length: usize) -> io::Result<usize> {
    retried(|| {
        let mut at = round.at.offset;
        rustix::fs::sendfile(round.socket, round.file(), Some(&mut at), length)
            .map_err(io::Error::from)
    })
}

/// splice(2) from the file into a pipe, and from that to the socket.
pub fn splice(round: SenderRound<'_>, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    let pipe = || -> io::Result<_> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        let bytes = fcntl_setpipe_size(&into, PIPE_BYTES)?;
        Ok((out, into, bytes))
    };
    let (out, into, pipe_bytes) = pipe().map_err(broken("make a pipe of 1 MiB"))?;
    if !wait() {
        return Ok(0);
    }
    let flags = SpliceFlags::MOVE;
    let step = |round: &SenderRound<'_>, length: usize| {
        let came = retried(|| {
            let mut at = round.at.offset;
            let length = length.min(pipe_bytes);
            spliced(round.file(), Some(&mut at), &into, None, length, flags)
                .map_err(io::Error::from)
        })?;
        let mut went = 0;
        while went < came {
            // More is to come: no small packet goes out between two pieces.
            let flags = flags | SpliceFlags::MORE;
            went += retried(|| {
                spliced(out.as_fd(), None, round.socket, None, came - went, flags)
                    .map_err(io::Error::from)
            })?;
        }
        Ok(came)
    };
    pump(round, step, || ())
}

/// write(2) from a map of the file.
pub fn mapped(round: SenderRound<'_>, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    let maps = Mapped::new(&round.files.files, (0, round.file_bytes), false, false)
        .map_err(broken("map a file"))?;
    if !wait() {
        return Ok(0);
    }
    let step = |round: &SenderRound<'_>, length| {
        let FilePosition { file, offset } = round.at;
        retried(|| maps.write_to(round.socket.as_fd(), length, file as u32, offset))
    };
    pump(round, step, || maps.unmap_pages())
}
