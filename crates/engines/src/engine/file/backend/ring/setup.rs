//! Making a ring with all that the kernel gives, and noting what it does not.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::IoUring;

use super::{Fixed, RingSetup};
use crate::engine::file::backend::Buffers;
use experiment::measurement::Note;
use host::sys::Host;
use host::sys::filter;
use host::sys::limits::LOCKED;

/// Why this process gets no ring at all; `None` when it does.
pub fn refusal() -> Option<String> {
    let why = IoUring::new(2).err()?;
    let disabled = Host::live().word("/proc/sys/kernel/io_uring_disabled");
    Some(match disabled.as_deref() {
        Some(level @ ("1" | "2")) => {
            format!("io_uring_setup: {why}; kernel.io_uring_disabled is {level}")
        }
        _ => filter::explained("io_uring_setup", &why),
    })
}

/// From the best set of flags to none. An older kernel answers EINVAL to flags it does not know.
pub fn build(wish: RingSetup, notes: &mut Vec<Note>) -> io::Result<IoUring> {
    let entries = wish.depth.next_power_of_two();
    let mut last = None;
    for level in 0..4 {
        let mut builder = IoUring::builder();
        if wish.poll {
            builder.setup_iopoll();
        }
        builder.setup_clamp();
        match level {
            // NO_SQARRAY: Linux 6.6. DEFER_TASKRUN: 6.1. COOP_TASKRUN: 5.19.
            0 => builder.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray(),
            1 => builder.setup_single_issuer().setup_defer_taskrun(),
            2 => builder.setup_coop_taskrun(),
            _ => &mut builder,
        };
        match builder.build(entries) {
            Ok(ring) if wish.timeouts && !ring.params().is_feature_ext_arg() => {
                return Err(io::ErrorKind::Unsupported.into());
            }
            Ok(ring) => {
                if level >= 2 {
                    notes.push(Note::new(
                        "uring-fallback",
                        "The kernel has no deferred task work for io_uring (DEFER_TASKRUN, \
                         Linux 6.1): completions interrupt the load and cost more CPU.",
                    ));
                }
                return Ok(ring);
            }
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => last = Some(why),
            Err(why) => return Err(why),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// Registers files with the ring, so that no I/O looks one up; whether that could be done. A note
/// says why not (io_uring_register(2)).
pub fn register_files(ring: &IoUring, fds: &[RawFd], notes: &mut Vec<Note>) -> bool {
    match ring.submitter().register_files(fds) {
        Ok(()) => true,
        Err(why) => {
            notes.push(Note::new(
                "uring-fallback",
                format!("Files could not be registered with io_uring ({why}): more CPU per I/O."),
            ));
            false
        }
    }
}

/// Registers the buffers, if the limit on locked memory allows it: since Linux 5.12 they are
/// charged to the user, unless it has CAP_IPC_LOCK.
pub fn register_buffers(ring: &IoUring, buffers: &Buffers, notes: &mut Vec<Note>) -> Fixed {
    const REGION: usize = 1 << 30;
    let (start, bytes) = buffers.span();
    let too_few = LOCKED.allows().filter(|limit| *limit < bytes as u64 && !may_lock());
    if let Some(limit) = too_few {
        notes.push(Note::new(
            "memlock",
            format!(
                "The {bytes} bytes of one stream's buffers are not registered with io_uring, which \
                 costs CPU: {}.",
                LOCKED.told(limit, "")
            ),
        ));
        return Fixed::No;
    }
    let whole = [libc::iovec { iov_base: start.as_ptr().cast(), iov_len: bytes }];
    let each = |slot: usize| libc::iovec {
        iov_base: buffers.pointer(slot as u32).cast(),
        iov_len: buffers.block(),
    };
    let (regions, fixed): (Vec<_>, _) = match bytes <= REGION {
        true => (whole.into(), Fixed::Whole),
        false => ((0..buffers.count()).map(each).collect(), Fixed::Each),
    };
    // SAFETY: the regions lie in the arena of `buffers`, which the ring's owner holds as long as
    // the ring.
    match unsafe { ring.submitter().register_buffers(&regions) } {
        Ok(()) => fixed,
        Err(why) => {
            let kind =
                if why.raw_os_error() == Some(libc::ENOMEM) { "memlock" } else { "uring-fallback" };
            notes.push(Note::new(
                kind,
                format!("Buffers could not be registered with io_uring ({why}): more CPU per I/O."),
            ));
            Fixed::No
        }
    }
}

/// Registers the ring with itself, which spares io_uring_enter a look-up (Linux 5.18); the index.
pub fn register_self(ring: &IoUring) -> Option<RawFd> {
    const REGISTER_RING_FDS: libc::c_uint = 20;
    #[repr(C)]
    struct Update {
        offset: u32,
        reserved: u32,
        data: u64,
    }
    let fd = ring.as_raw_fd();
    let mut update = Update { offset: u32::MAX, reserved: 0, data: fd as u64 };
    // SAFETY: one `struct io_uring_rsrc_update`, which the kernel writes the index to.
    let status = unsafe {
        libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut update, 1)
    };
    (status == 1).then_some(update.offset as RawFd)
}

/// Whether this process has CAP_IPC_LOCK (bit 14 of capabilities(7)).
fn may_lock() -> bool {
    let status = Host::live().read("/proc/thread-self/status").unwrap_or_default();
    effective_capabilities(&status).is_some_and(|set| set & (1 << 14) != 0)
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status_file() {
        let text = "Name:\tx\nCapEff:\t0000000000004000\n";
        assert_eq!(effective_capabilities(text), Some(1 << 14));
        for end in 0..text.len() {
            effective_capabilities(&text[..end]);
        }
    }

    #[test]
    fn a_ring_is_built_or_refused_with_a_reason() {
        let (poll, nop, timeouts, direct, rw_flags) = (false, false, true, true, 0);
        let wish = RingSetup { depth: 5, poll, nop, timeouts, direct, rw_flags };
        match refusal() {
            None => assert_eq!(build(wish, &mut Vec::new()).unwrap().params().sq_entries(), 8),
            Some(why) => assert!(why.starts_with("io_uring_setup: ")),
        }
    }
}
