//! What is done with a read that the kernel ended with an error: the same bytes in small pieces, so
//! that the place is known and the rest of the block is read all the same.

use std::io::Error;

use super::shared::{UNREADABLE, VerificationContext};
use super::source::TargetReader;
use experiment::measurement::integrity::{Fault, Lasting, Reread};

/// Pieces that fail one after another before the rest of the block is given up: a disk that is
/// dying takes many seconds for each.
const FAILURES_MAX: usize = 32;

/// Whether an error is one of the device, so that a part of the file may be read all the same.
/// Of the others the whole file is gone: rights, the connection, the device itself.
pub fn is_of_the_device(why: &Error) -> bool {
    const OF_DEVICES: [i32; 7] = [
        libc::EIO,
        libc::EILSEQ,
        libc::ENODATA,
        libc::EREMOTEIO,
        libc::ETIMEDOUT,
        libc::EUCLEAN,
        libc::EBADMSG,
    ];
    why.raw_os_error().is_some_and(|number| OF_DEVICES.contains(&number))
}

/// Bytes in a row that cannot be read, and why.
#[derive(Debug)]
struct UnreadableRange {
    offset: u64,
    bytes: u64,
    why: String,
}

/// Reads `length` bytes at `offset` of a file again, piece by piece, after `why`. Gives how many
/// bytes the buffer holds when all of them came at last, else nothing; both are noted.
pub fn in_pieces(
    shared: &VerificationContext,
    file: usize,
    source: &mut TargetReader,
    buffer: &mut [u8],
    (offset, length): (u64, usize),
    why: &Error,
) -> Option<usize> {
    let piece = source.piece_bytes() as usize;
    let mut runs: Vec<UnreadableRange> = Vec::new();
    let (mut at, mut failures) = (0, 0);
    while at < length && !shared.over() {
        let part = piece.min(length - at);
        let end = (at + piece).min(buffer.len());
        let failed = match failures < FAILURES_MAX {
            true => source.read(&mut buffer[at..end], offset + at as u64, part).err(),
            false => None,
        };
        match failed {
            None if failures < FAILURES_MAX => failures = 0,
            given_up => {
                failures += 1;
                let why = match given_up {
                    Some(why) => why.to_string(),
                    None => format!("given up after {FAILURES_MAX} pieces with an error"),
                };
                extend(&mut runs, offset + at as u64, part as u64, why);
            }
        }
        at += part;
    }
    if at < length {
        return None;
    }
    let whole = Reread { how: "same".to_owned(), gave: why.to_string() };
    if runs.is_empty() {
        let fault = Fault {
            offset,
            kind: UNREADABLE.to_owned(),
            what: format!("{why}; in pieces of {piece} bytes it was readable"),
            rereads: vec![Reread { how: "other-size".to_owned(), gave: "readable".to_owned() }],
            lasting: Lasting::Transient,
            ..Fault::default()
        };
        shared.fault(file, fault, length as u64);
        return Some(length);
    }
    for run in runs {
        let again = Reread { how: "other-size".to_owned(), gave: run.why.clone() };
        let fault = Fault {
            offset: run.offset,
            kind: UNREADABLE.to_owned(),
            what: run.why,
            rereads: vec![whole.clone(), again],
            lasting: Lasting::Persistent,
            ..Fault::default()
        };
        shared.fault(file, fault, run.bytes);
    }
    None
}

fn extend(runs: &mut Vec<UnreadableRange>, offset: u64, bytes: u64, why: String) {
    match runs.last_mut() {
        Some(last) if last.offset + last.bytes == offset => last.bytes += bytes,
        _ => runs.push(UnreadableRange { offset, bytes, why }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_touch_are_one_place() {
        let mut runs = Vec::new();
        for at in [0, 4096, 12_288] {
            extend(&mut runs, at, 4096, "Input/output error".to_owned());
        }
        let places: Vec<(u64, u64)> = runs.iter().map(|run| (run.offset, run.bytes)).collect();
        assert_eq!(places, [(0, 8192), (12_288, 4096)]);
    }

    #[test]
    fn an_error_of_the_device_is_told_from_one_of_the_file() {
        assert!(is_of_the_device(&Error::from_raw_os_error(libc::EIO)));
        assert!(!is_of_the_device(&Error::from_raw_os_error(libc::EACCES)));
        assert!(!is_of_the_device(&Error::from_raw_os_error(libc::ENODEV)));
    }
}
