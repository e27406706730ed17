//! SIGBUS, by which a memory map tells of a device error or a file cut short, becomes a count.
//!
//! The handler puts a page of zeros where the fault was, so that the copy ends, and counts; the
//! copy then fails with EIO and the trial with it, not the process. Only threads that copy to or
//! from a map are treated so, and only while they do: others die of SIGBUS as ever.

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;

thread_local! {
    // Constant and without a destructor, so that the handler may touch it: no allocation.
    static FAULTS: Cell<u64> = const { Cell::new(0) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Watches the calling thread.
///
/// # Errors
/// When the handler cannot be installed.
pub fn watch() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    WATCHED.set(true);
    FAULTS.set(0);
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

/// Faults of the calling thread so far.
#[inline]
pub fn count() -> u64 {
    FAULTS.get()
}

extern "C" fn handler(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let page = rustix::param::page_size();
    // SAFETY: the kernel gives a valid siginfo; mapping a page over the faulting one touches only
    // the mapping that this thread is copying from or to. Otherwise the default action is restored
    // and the instruction runs into it.
    unsafe {
        let start = ((*info).si_addr() as usize) / page * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let replaced = WATCHED.get()
            && libc::mmap(start as *mut libc::c_void, page, access, flags, -1, 0)
                != libc::MAP_FAILED;
        if replaced {
            FAULTS.set(FAULTS.get() + 1);
        } else {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Kind, Mapped};
    use crate::engine::file::backend::single::Single;
    use crate::engine::file::backend::{Backend, Buffers, Completion};

    #[test]
    fn a_file_cut_short_under_its_map_is_an_error_and_not_the_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let buffers = Arc::new(Buffers::new(1, 4096, 4096, false).unwrap());
        let files = [file];
        let mut mapped = Single::new(Mapped::new(&files, 8192, false, true).unwrap(), buffers);
        files[0].set_len(4096).unwrap();
        let mut results = [0; 2];
        for (offset, result) in [0, 4096].into_iter().zip(&mut results) {
            let mut done = [Completion::default()];
            mapped.push(Kind::Read, 0, 0, offset);
            assert_eq!(mapped.reap(&mut done), 1);
            *result = done[0].result;
        }
        assert_eq!(results, [4096, -libc::EIO]);
    }
}
