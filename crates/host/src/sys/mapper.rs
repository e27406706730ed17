//! The device mapper's own door: the table of one of its devices, which /sys does not show.

use std::fs::File;
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};

use super::Error;

/// `struct dm_ioctl` of linux/dm-ioctl.h.
#[repr(C)]
struct Head {
    version: [u32; 3],
    data_bytes: u32,
    data_start: u32,
    segments: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    rest: [u8; 7],
}

/// What is asked and answered in one piece of memory.
#[repr(C)]
struct Letter {
    head: Head,
    answer: [u8; ANSWER_BYTES],
}

/// A table is a line or a few; one that is longer is not read.
const ANSWER_BYTES: usize = 16 << 10;

/// DM_TABLE_STATUS.
const TABLE: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Head>(0xfd, 12);

/// DM_STATUS_TABLE_FLAG: the table, not how it fares. DM_NOFLUSH_FLAG: nothing is written for it.
/// DM_SECURE_DATA_FLAG: the kernel clears its own copy, as the table of an encrypted volume has its
/// key.
const FLAGS: u32 = 1 << 4 | 1 << 11 | 1 << 15;

/// DM_BUFFER_FULL_FLAG.
const CUT: u32 = 1 << 8;

/// `struct dm_target_spec`: start, length, status, where the next begins, the target's name.
const SEGMENT_BYTES: usize = 40;
const NEXT_AT: usize = 20;
const TARGET_AT: usize = 24;

/// A part of a device and what makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// `linear`, `cache`, ...
    pub target: String,
    /// The target's parameters; devices are `253:4` there.
    pub parameters: String,
}

/// The table of the device of that number, in order. `control` is /dev/mapper/control.
///
/// # Errors
/// When we may not ask (it takes root), when there is no such device, or when its table is long.
pub fn table(control: &File, (major, minor): (u32, u32)) -> Result<Vec<Segment>, Error> {
    let what = "cannot read a table of the device mapper";
    let head = Head {
        version: [4, 0, 0],
        data_bytes: size_of::<Letter>() as u32,
        data_start: size_of::<Head>() as u32,
        segments: 0,
        open_count: 0,
        flags: FLAGS,
        event: 0,
        padding: 0,
        device: rustix::fs::makedev(major, minor),
        name: [0; 128],
        uuid: [0; 129],
        rest: [0; 7],
    };
    let mut letter = Box::new(Letter { head, answer: [0; ANSWER_BYTES] });
    // SAFETY: the request takes a pointer to a `dm_ioctl`, with which `Letter` begins, followed by
    // room up to `data_bytes`, which is the size of `Letter`; the kernel writes no further, and the
    // letter lives until the call returns. A file that is not the device mapper's refuses it.
    let status = unsafe { libc::ioctl(control.as_raw_fd(), TABLE as _, &raw mut *letter) };
    if status != 0 {
        return Err(Error::new(what, std::io::Error::last_os_error()).hint("run as root"));
    }
    if letter.head.flags & CUT != 0 {
        return Err(Error::new(what, format!("it is longer than {ANSWER_BYTES} bytes")));
    }
    let from = (letter.head.data_start as usize).checked_sub(size_of::<Head>());
    let answer = from.and_then(|from| letter.answer.get(from..)).unwrap_or_default();
    segments(answer, letter.head.segments)
        .ok_or_else(|| Error::new(what, "the kernel's answer is not whole"))
}

/// The segments in an answer; `None` when it ends before the last.
fn segments(answer: &[u8], count: u32) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let segment = answer.get(at..)?;
        let next: [u8; 4] = segment.get(NEXT_AT..TARGET_AT)?.try_into().ok()?;
        let target = words(segment.get(TARGET_AT..SEGMENT_BYTES)?);
        let parameters = words(segment.get(SEGMENT_BYTES..)?);
        segments.push(Segment { target, parameters });
        at = u32::from_ne_bytes(next) as usize;
    }
    Some(segments)
}

/// The text before the first zero.
fn words(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Host;

    #[test]
    fn the_request_is_laid_out_and_numbered_as_in_the_kernels_header() {
        assert_eq!(size_of::<Head>(), 312);
        assert_eq!(std::mem::offset_of!(Head, device), 40);
        assert_eq!(std::mem::offset_of!(Head, uuid), 176);
        assert_eq!(std::mem::offset_of!(Letter, answer), 312);
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
        assert_eq!(TABLE, 0xc138_fd0c);
    }

    fn answer(rows: &[(&str, &str)]) -> Vec<u8> {
        let mut all: Vec<u8> = Vec::new();
        for (target, parameters) in rows {
            let mut segment = vec![0; SEGMENT_BYTES];
            segment[TARGET_AT..TARGET_AT + target.len()].copy_from_slice(target.as_bytes());
            segment.extend(parameters.bytes().chain([0]));
            segment.resize(segment.len().next_multiple_of(8), 0);
            let next = (all.len() + segment.len()) as u32;
            segment[NEXT_AT..TARGET_AT].copy_from_slice(&next.to_ne_bytes());
            all.extend(segment);
        }
        all
    }

    #[test]
    fn every_segment_is_read_and_an_answer_cut_off_anywhere_is_no_table() {
        let rows = [("linear", "98:0 2048"), ("cache", "254:6 254:5 254:7 128 2 metadata2")];
        let whole = answer(&rows);
        let read = segments(&whole, 2).unwrap();
        let read: Vec<(&str, &str)> =
            read.iter().map(|one| (one.target.as_str(), one.parameters.as_str())).collect();
        assert_eq!(read, rows);
        assert_eq!(segments(&whole, 3), None);
        for end in 0..whole.len() - 48 {
            assert_eq!(segments(&whole[..end], 2), None, "cut at {end}");
        }
        assert_eq!(segments(&[0xff; 100], 2), None);
    }

    #[test]
    fn what_is_not_the_device_mapper_refuses() {
        let null = Host::live().open("/dev/null").unwrap();
        let error = table(&null, (254, 0)).unwrap_err();
        assert!(error.why.contains("os error"), "{error}");
    }
}
