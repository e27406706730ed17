//! (pure) What went wrong with one I/O.

use std::io;

use super::IoSlot;
use crate::engine::file::backend::IoKind;

/// An I/O, or the interface itself, failed.
#[derive(Debug)]
pub enum IoFault {
    /// io_uring_enter, io_getevents and the like.
    Interface(io::Error),
    /// One I/O.
    Io {
        /// What was done.
        kind: IoKind,
        /// Which file of the stream.
        file: u32,
        /// Where in it, bytes.
        offset: u64,
        /// What should have been moved, bytes.
        wanted: u64,
        /// What was moved at first, or the kernel's error.
        moved: Result<u64, io::Error>,
        /// Why the rest of it was not, where that was asked for.
        rest: Option<io::Error>,
    },
}

impl IoFault {
    /// From a completion.
    #[cold]
    pub fn from_result(io: &IoSlot, kind: IoKind, result: i32, wanted: i32) -> IoFault {
        let moved = match u64::try_from(result) {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(io::Error::from_raw_os_error(result.saturating_neg())),
        };
        let wanted = wanted.max(0) as u64;
        IoFault::Io { kind, file: io.file, offset: io.offset, wanted, moved, rest: None }
    }

    /// Whether it looks like this I/O cannot be done here at all.
    pub fn is_unsupported(&self) -> bool {
        let IoFault::Io { moved: Err(why), .. } = self else { return false };
        matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
    }

    /// In words; `path` names the file.
    pub fn describe(&self, path: impl Fn(u32) -> String) -> String {
        match self {
            IoFault::Interface(why) => format!("the I/O interface failed: {why}"),
            IoFault::Io { kind, file, offset, wanted, moved, rest } => {
                let verb = match kind {
                    IoKind::Read => "read",
                    IoKind::Write => "write",
                    IoKind::Sync => "fsync",
                    IoKind::SyncData => "fdatasync",
                };
                let path = path(*file);
                match moved {
                    Err(why) => format!("cannot {verb} {path} at byte {offset}: {why}"),
                    Ok(bytes) => {
                        let why = rest.as_ref().map_or(String::new(), why_no_more);
                        format!(
                            "{verb} of {wanted} bytes of {path} at byte {offset} moved only \
                             {bytes}{why}"
                        )
                    }
                }
            }
        }
    }
}

/// Why no more was moved, in the kernel's words; the end of a file has none.
fn why_no_more(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::UnexpectedEof => ": the file ends there".to_owned(),
        io::ErrorKind::WriteZero => ", and then nothing: write(2) gave 0 and no error".to_owned(),
        io::ErrorKind::StorageFull => format!(": {why}; lower file-size, files or streams"),
        _ => format!(": {why}"),
    }
}

impl From<io::Error> for IoFault {
    fn from(why: io::Error) -> IoFault {
        IoFault::Interface(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_the_file_the_place_and_the_kernels_words() {
        let slot = IoSlot { file: 1, offset: 8192, ..IoSlot::default() };
        let path = |file: u32| format!("/x/{file}");
        let full = IoFault::from_result(&slot, IoKind::Write, -libc::ENOSPC, 4096);
        assert_eq!(
            full.describe(path),
            "cannot write /x/1 at byte 8192: No space left on device (os error 28)"
        );
        assert!(!full.is_unsupported());
        let short = IoFault::from_result(&slot, IoKind::Read, 512, 4096);
        assert_eq!(short.describe(path), "read of 4096 bytes of /x/1 at byte 8192 moved only 512");
        let after = |kind, rest| {
            let mut fault = IoFault::from_result(&slot, kind, 512, 4096);
            let IoFault::Io { rest: place, .. } = &mut fault else { panic!() };
            *place = Some(rest);
            fault.describe(path)
        };
        assert_eq!(
            after(IoKind::Write, io::Error::from_raw_os_error(libc::ENOSPC)),
            "write of 4096 bytes of /x/1 at byte 8192 moved only 512: No space left on device (os \
             error 28); lower file-size, files or streams"
        );
        let ended = after(IoKind::Read, io::ErrorKind::UnexpectedEof.into());
        assert!(ended.ends_with("moved only 512: the file ends there"), "{ended}");
        assert!(IoFault::from_result(&slot, IoKind::Read, -libc::EINVAL, 4096).is_unsupported());
    }
}
