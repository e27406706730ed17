//! SIGBUS, by which a memory map tells of a device error or a file cut short, becomes a count.
//!
//! The handler puts a page of zeros where the fault was, so that the copy ends, and counts; the
//! copy then fails with EIO and the trial with it, not the process. Only threads that copy to or
//! from a map are treated so, and only while they do: others die of SIGBUS as ever. One that was
//! sent by kill(2) is no fault and bears no address: it is dropped, as a worker drops all of those.
//!
//! To the compiler a copy calls nobody, and it takes a plain variable to be the same after it as
//! before. What the handler writes is therefore atomic, and compiler fences stand where it may run.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, compiler_fence};

use host::sys::signal;

thread_local! {
    // Constant and without a destructor, so that the handler may touch it: no allocation.
    static FAULTS: AtomicU64 = const { AtomicU64::new(0) };
    static WATCHED: AtomicBool = const { AtomicBool::new(false) };
}

/// Watches the calling thread.
///
/// # Errors
/// When the handler cannot be installed.
pub fn watch() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    WATCHED.with(|watched| watched.store(true, Relaxed));
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: sigaction reads a zeroed, then filled structure; the handler below only makes
        // system calls that signal-safety(7) allows and touches this thread's own cells.
        let status = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
        };
        match status {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
        }
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// Does what touches a map; what came of it, and whether the calling thread met a fault meanwhile.
#[inline]
pub fn during<T>(touch: impl FnOnce() -> T) -> (T, bool) {
    let count = || FAULTS.with(|faults| faults.load(Relaxed));
    let before = count();
    // The handler may run anywhere between the fences, on this thread: the count is read anew after
    // them, and what touches the map is not moved out from between them.
    compiler_fence(SeqCst);
    let came = touch();
    compiler_fence(SeqCst);
    (came, count() != before)
}

extern "C" fn handler(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives it.
    if unsafe { signal::was_sent(info) } {
        return;
    }
    let page = rustix::param::page_size();
    // SAFETY: the kernel gives a valid siginfo; mapping a page over the faulting one touches only
    // the mapping that this thread is copying from or to. Otherwise the default action is restored
    // and the instruction runs into it.
    unsafe {
        let start = ((*info).si_addr() as usize) / page * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let replaced = WATCHED.with(|watched| watched.load(Relaxed))
            && libc::mmap(start as *mut libc::c_void, page, access, flags, -1, 0)
                != libc::MAP_FAILED;
        if replaced {
            FAULTS.with(|faults| faults.fetch_add(1, Relaxed));
        } else {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{IoKind, Mapped};
    use crate::engine::file::backend::single::{Medium, Single};
    use crate::engine::file::backend::{Backend, Buffers, Completion};

    #[test]
    fn a_file_cut_short_under_its_map_is_an_error_and_not_the_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let buffers = Arc::new(Buffers::new(1, 4096, 4096, false).unwrap());
        let files = [file];
        let mut mapped = Single::new(Mapped::new(&files, (0, 8192), false, true).unwrap(), buffers);
        files[0].set_len(4096).unwrap();
        let mut results = [0; 2];
        for (offset, result) in [0, 4096].into_iter().zip(&mut results) {
            let mut done = [Completion::default()];
            mapped.push(IoKind::Read, 0, 0, offset);
            assert_eq!(mapped.reap(&mut done), 1);
            *result = done[0].result;
        }
        assert_eq!(results, [4096, -libc::EIO]);
    }

    /// A SIGBUS that somebody sent was taken for a fault: where its sender's number stood for an
    /// address, a page was mapped over whatever lay there, and the trial failed with an error of a
    /// device that had none.
    #[test]
    fn a_signal_that_was_sent_is_no_fault_of_a_device() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let files = [file];
        let mut mapped = Mapped::new(&files, (0, 4096), false, true).unwrap();
        let mut buffer = [7; 4096];
        let (_, met_a_fault) = super::during(|| {
            let call = libc::SYS_tgkill;
            // SAFETY: system calls on numbers, all that the child makes before it ends.
            host::sys::gate::while_forked(|| unsafe {
                let (us, thread, sender) = (libc::getpid(), libc::gettid(), libc::fork());
                if sender == 0 {
                    libc::syscall(call, us, thread, libc::SIGBUS);
                    libc::_exit(0);
                }
                libc::waitpid(sender, std::ptr::null_mut(), 0);
            });
        });
        assert!(!met_a_fault);
        assert_eq!(mapped.act(IoKind::Read, &mut buffer, 0, 0).unwrap(), 4096);
    }

    /// With optimisation a copy from a bad sector was a good read of zeros: the count of faults was
    /// a plain cell, and the compiler, to which a copy writes nothing but its target, took it to
    /// be the same before and after. `./test --long` runs this optimised as well; without, it
    /// passed.
    #[test]
    fn an_optimising_compiler_does_not_lose_a_fault_in_the_midst_of_a_copy() {
        const PAGE: usize = 4096;
        let files = [tempfile::tempfile().unwrap()];
        files[0].set_len(4 * PAGE as u64).unwrap();
        let mut mapped = Mapped::new(&files, (0, 4 * PAGE as u64), true, true).unwrap();
        let mut buffer = [7; 2 * PAGE];
        files[0].set_len(PAGE as u64).unwrap();
        for kind in [IoKind::Read, IoKind::Write, IoKind::Read] {
            let errno = |at: usize, buffer: &mut [u8], mapped: &mut Mapped<'_>| {
                mapped.act(kind, buffer, 0, at as u64).map_err(|why| why.raw_os_error())
            };
            assert_eq!(errno(0, &mut buffer, &mut mapped), Err(Some(libc::EIO)), "{kind:?}");
            assert_eq!(errno(2 * PAGE, &mut buffer, &mut mapped), Err(Some(libc::EIO)));
            assert_eq!(errno(0, &mut buffer[..PAGE], &mut mapped), Ok(PAGE), "{kind:?}");
        }
        // The file's own pages are there again, not the handler's.
        files[0].set_len(4 * PAGE as u64).unwrap();
        assert_eq!(mapped.act(IoKind::Read, &mut buffer, 0, PAGE as u64).unwrap(), 2 * PAGE);
    }
}
