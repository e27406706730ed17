//! Ctrl-Z: a run that is put aside stands still as a whole, and goes on as a whole.
//!
//! What we start has process groups of its own, so that Ctrl-C reaches only us; so does Ctrl-Z, and
//! the load would go on for minutes behind a prompt that says `Stopped`. Everything below us is
//! stopped with us, and woken with us; that the trial was held still is seen by its own rows.

use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use libc::{SIGTSTP, c_int};

use super::{Error, Host, held, tree};

/// Where the handler says that it was called; below 0 before anybody listens.
static TOLD: AtomicI32 = AtomicI32::new(-1);

/// Processes may start others while they are being stopped: they are looked for so often at most.
const ROUNDS: usize = 5;

/// Stops all below us whenever the terminal tells us to stop, from here on. Does nothing where that
/// signal is ignored, as in a shell without job control.
///
/// # Errors
/// When the kernel refuses a handler, a pipe or a thread.
pub fn together() -> Result<(), Error> {
    if is_ignored() {
        return Ok(());
    }
    let failed = |error: std::io::Error| Error::new("cannot watch for Ctrl-Z", error);
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| failed(errno.into()))?;
    // Open for as long as this process lives, as the handler is.
    TOLD.store(write.into_raw_fd(), Relaxed);
    handle().map_err(failed)?;
    let wait = move || wait(&read);
    std::thread::Builder::new().name("suspend".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

/// Puts the handler in place; calls that it interrupts go on.
fn handle() -> std::io::Result<()> {
    // SAFETY: a structure of this stack, for which all zeros are valid, and a handler that does
    // nothing but what signal-safety(7) allows.
    let put = unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = put_aside as extern "C" fn(c_int) as usize;
        ours.sa_flags = libc::SA_RESTART;
        libc::sigaction(SIGTSTP, &raw const ours, std::ptr::null_mut())
    };
    if put == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The handler: tells the thread that waits.
extern "C" fn put_aside(_: c_int) {
    // SAFETY: write(2) of one byte is safe in a handler; what it does to errno is taken back.
    unsafe {
        let errno = libc::__errno_location();
        let was = *errno;
        libc::write(TOLD.load(Relaxed), b"z".as_ptr().cast(), 1);
        *errno = was;
    }
}

fn wait(told: &OwnedFd) {
    let host = Host::live();
    let mut bytes = [0; 16];
    loop {
        match rustix::io::read(told, &mut bytes) {
            Ok(0) => return,
            Ok(_) => {
                let stopped = stop_all_below(&host);
                stop_here();
                // In the other order: a parent sees no child that is stopped.
                stopped.iter().rev().for_each(|pid| held::signal(*pid, libc::SIGCONT));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Stops every process below us that is not stopped yet; those that were are somebody else's.
fn stop_all_below(host: &Host) -> Vec<i32> {
    let own = std::process::id() as i32;
    let mut stopped: Vec<i32> = Vec::new();
    for _ in 0..ROUNDS {
        let running = tree::below(host, own, &[]).into_iter();
        let running = running.filter(|one| !matches!(one.state, 'T' | 'Z' | 'X'));
        let new: Vec<i32> =
            running.map(|one| one.pid).filter(|pid| !stopped.contains(pid)).collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            held::signal(pid, libc::SIGSTOP);
            stopped.push(pid);
        }
    }
    stopped
}

fn is_ignored() -> bool {
    // SAFETY: asks for the disposition alone, into a structure for which all zeros are valid.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGTSTP, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Stops this process as if it had no handler, until it is continued. The kernel lets a process
/// that nobody could continue, whose shell is gone, go on at once.
fn stop_here() {
    // SAFETY: puts the default disposition in place for one signal to this thread, which is
    // delivered before raise(3) returns, and then the handler that was there.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        let mut ours: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(SIGTSTP, &raw const default, &raw mut ours) == 0 {
            libc::raise(SIGTSTP);
            libc::sigaction(SIGTSTP, &raw const ours, std::ptr::null_mut());
        }
    }
}
