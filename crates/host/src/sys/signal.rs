//! Signals: each that can end this program and can be handled ends what runs in order, as Ctrl-C
//! does; [`table`] says what becomes of which.
//!
//! A process that one of ours has started leaves them to the one that started it: see
//! [`leave_to_parent`]. Programs of other people's get them back as we found them: [`give_back`].

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libc::c_int;

use super::{Error, clock};

mod table;

pub use table::name;
use table::{LAST, SignalDisposition};

/// Nobody asks twice within this time: timeout(1) and some service managers signal a process and
/// then its group, and a terminal that closes sends SIGHUP along with what else it sends.
const AT_ONCE_NS: u64 = 200_000_000;

/// Those that a run takes.
const TAKEN: [SignalDisposition; 3] =
    [SignalDisposition::Stop, SignalDisposition::StopOnce, SignalDisposition::StopIfSent];

/// Whether the user has asked to stop, and whether more than once.
#[derive(Debug, Default)]
pub struct Stop {
    /// On the monotonic clock; 0 is never.
    first_ns: AtomicU64,
    /// The signal by which; 0 is none.
    by: AtomicI32,
    again: AtomicBool,
}

impl Stop {
    /// Nobody has asked yet.
    pub const fn new() -> Stop {
        Stop { first_ns: AtomicU64::new(0), by: AtomicI32::new(0), again: AtomicBool::new(false) }
    }

    /// Asks once more; safe in a signal handler.
    pub fn ask(&self) {
        self.ask_at(clock::monotonic_ns());
    }

    /// Asks by a signal; safe in a signal handler.
    fn ask_by(&self, signal: c_int) {
        let order = Ordering::Relaxed;
        let first = self.by.compare_exchange(0, signal, order, order).is_ok();
        if first || table::act(signal) != SignalDisposition::StopOnce {
            self.ask();
        }
    }

    fn ask_at(&self, now_ns: u64) {
        let order = Ordering::Relaxed;
        if let Err(first_ns) = self.first_ns.compare_exchange(0, now_ns.max(1), order, order)
            && now_ns.saturating_sub(first_ns) > AT_ONCE_NS
        {
            self.again.store(true, order);
        }
    }

    /// Whether the run is to end in order.
    pub fn asked(&self) -> bool {
        self.first_ns.load(Ordering::Relaxed) > 0
    }

    /// Whether the run is to end in order, or is told so soon; waits for that, at most so long.
    pub fn asked_within(&self, at_most: Duration) -> bool {
        let end_ns = clock::monotonic_ns() + at_most.as_nanos() as u64;
        while !self.asked() && clock::monotonic_ns() < end_ns {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.asked()
    }

    /// Whether the user has lost patience: what does not end by itself is ended now.
    pub fn insisted(&self) -> bool {
        self.again.load(Ordering::Relaxed)
    }
}

/// Who is told of signals; null before [`stop`].
static ASKED: AtomicPtr<Stop> = AtomicPtr::new(std::ptr::null_mut());

/// What a signal did before we took it: of a fault of our own it does that again.
static BEFORE: [OnceLock<libc::sigaction>; LAST as usize + 1] =
    [const { OnceLock::new() }; LAST as usize + 1];

/// Signals that whoever started us had made us ignore, a bit each.
static FOUND_IGNORED: AtomicU64 = AtomicU64::new(0);

/// What is to be done before anything else, in every process of this program: a write beyond the
/// limit of a file's size (RLIMIT_FSIZE) fails with EFBIG instead of ending us, and no signal that
/// we take is blocked, whatever we were started by had blocked.
pub fn begin() {
    // SAFETY: system calls on numbers and on structures of this stack, initialised before they are
    // read; no other thread is there yet.
    unsafe {
        let mut taken: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut taken);
        let mut found = 0;
        for signal in 1..=LAST {
            found |= u64::from(action(signal, None) == libc::SIG_IGN) << (signal - 1);
            match table::act(signal) {
                SignalDisposition::Leave => {}
                SignalDisposition::Ignore => ignore(signal),
                SignalDisposition::Stop
                | SignalDisposition::StopOnce
                | SignalDisposition::StopIfSent => {
                    libc::sigaddset(&mut taken, signal);
                }
            }
        }
        FOUND_IGNORED.store(found, Ordering::Relaxed);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &taken, std::ptr::null_mut());
    }
}

/// Whether nohup(1), or whoever else started us, wanted that we ignore this one. Of SIGHUP alone
/// it counts: a shell has what it starts in the background ignore SIGINT and SIGQUIT, so that
/// Ctrl-C does not reach it, and whoever sends them to it by kill(1) wants it to end.
fn is_to_be_ignored(signal: c_int) -> bool {
    signal == libc::SIGHUP && FOUND_IGNORED.load(Ordering::Relaxed) & (1 << (signal - 1)) != 0
}

/// Has the kernel drop a signal that nobody handles.
fn ignore(signal: c_int) {
    if action(signal, None) == libc::SIG_DFL {
        action(signal, Some(libc::SIG_IGN));
    }
}

/// What the kernel does of a signal, and from now on does: SIG_DFL or SIG_IGN. Of those that the C
/// library keeps for itself it takes no word, so the kernel is asked. Safe in a signal handler.
fn action(signal: c_int, new: Option<usize>) -> usize {
    const SET_BYTES: usize = 8;
    // As the kernel has it: the handler first, then nothing that these two need.
    let (action, mut was) = ([new.unwrap_or_default(), 0, 0, 0], [0; 4]);
    let given = if new.is_some() { action.as_ptr() } else { std::ptr::null() };
    let call = libc::SYS_rt_sigaction;
    // SAFETY: the kernel reads and writes structures of four words or less, all of which are there.
    unsafe { libc::syscall(call, signal, given, was.as_mut_ptr(), SET_BYTES) };
    was[0]
}

/// Takes every signal that can end this process and can be handled: it asks what this gives to
/// stop. All calls give the same.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn stop() -> Result<Arc<Stop>, Error> {
    static STOP: OnceLock<Arc<Stop>> = OnceLock::new();
    let stop = STOP.get_or_init(|| Arc::new(Stop::new()));
    ASKED.store(Arc::as_ptr(stop).cast_mut(), Ordering::Release);
    for signal in table::all(&TAKEN).filter(|signal| !is_to_be_ignored(*signal)) {
        take(signal)?;
    }
    Ok(Arc::clone(stop))
}

/// Whether this process was asked to stop by a signal: for who reads and has nothing to undo.
pub fn asked() -> bool {
    // SAFETY: null, or what a static keeps for ever.
    unsafe { ASKED.load(Ordering::Acquire).as_ref() }.is_some_and(Stop::asked)
}

/// The name of the signal that asked first, once one has.
pub fn asked_by() -> Option<String> {
    // SAFETY: null, or what a static keeps for ever.
    let stop = unsafe { ASKED.load(Ordering::Acquire).as_ref() }?;
    let by = stop.by.load(Ordering::Relaxed);
    (by != 0).then(|| name(by))
}

/// For a process that another one of ours starts, talks to and ends: whatever asks that one to stop
/// may come here as well, as from `pkill` or a service manager, and must not make a failed trial
/// of one that is being ended in order. SIGKILL ends it, and so does the end of its input.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn leave_to_parent() -> Result<(), Error> {
    for signal in table::all(&TAKEN) {
        match table::act(signal) {
            // Nobody is told: it is dropped, and a fault is a fault.
            SignalDisposition::StopIfSent => take(signal)?,
            // Without a handler no system call of a load is disturbed.
            _ => ignore(signal),
        }
    }
    Ok(())
}

/// Gives signals back as we found them, in a child before execve(2), which keeps what is ignored.
/// Safe after fork(2).
pub fn give_back() {
    let found = FOUND_IGNORED.load(Ordering::Relaxed);
    for signal in 1..=LAST {
        let was = found & (1 << (signal - 1)) != 0;
        // Rust ignores SIGPIPE before we look, and a worker was started by one that ignores others.
        let ours = matches!(table::act(signal), SignalDisposition::Ignore);
        action(signal, Some(if was && !ours { libc::SIG_IGN } else { libc::SIG_DFL }));
    }
}

fn take(signal: c_int) -> Result<(), Error> {
    // SAFETY: all zeros is a sigaction, into which the kernel writes, and nowhere else.
    let before = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut now) == 0).then_some(now)
    };
    // When it is taken a second time that is no longer what was there before.
    if let Some(before) = before {
        let _ = BEFORE[signal as usize].set(before);
    }
    // SAFETY: the kernel reads a structure that is filled in; the handler only makes system calls
    // that signal-safety(7) allows, and touches atomics and what statics keep.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as *const () as usize;
        // A stack that has run over has no room for a handler: that of threads lies beside.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // It is small, and holds no two of them: each waits for the one before.
        libc::sigfillset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    match status {
        0 => Ok(()),
        _ => {
            let why = std::io::Error::last_os_error();
            Err(Error::new(format!("cannot catch {}", name(signal)), why))
        }
    }
}

/// Whether somebody sent this signal: not the processor, not the kernel, not we ourselves.
///
/// # Safety
/// Of a structure that the kernel gave to a handler.
pub unsafe fn was_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the kernel's; the sender is there where a process has sent it (sigaction(2)).
    unsafe {
        match (*info).si_code {
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => (*info).si_pid() != libc::getpid(),
            code => code < 0,
        }
    }
}

extern "C" fn caught(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: as `take` says; the thread's error number is left as it was.
    unsafe {
        let number = *libc::__errno_location();
        if table::act(signal) == SignalDisposition::StopIfSent && !was_sent(info) {
            die(signal, (*info).si_code);
        } else if let Some(stop) = ASKED.load(Ordering::Acquire).as_ref() {
            stop.ask_by(signal);
        }
        *libc::__errno_location() = number;
    }
}

/// Has a fault of our own do what it would have done without us: the instruction runs into it
/// again when the handler returns.
///
/// # Safety
/// Only in a handler.
unsafe fn die(signal: c_int, code: c_int) {
    // What we raised ourselves, abort(3) as well, and what a filter of system calls or a debugger
    // has the kernel send comes no second time.
    let once = code <= 0 || matches!(signal, libc::SIGABRT | libc::SIGSYS | libc::SIGTRAP);
    // SAFETY: system calls that signal-safety(7) allows, on numbers and on what a static keeps.
    unsafe {
        match BEFORE[signal as usize].get() {
            // Rust's own tells of a stack that has run over.
            Some(before) if !once => {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        if once {
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `timeout 60 brickyard run ...` signals the process and then its group: a run that was to end
    /// in order took that for a second Ctrl-C, and killed its load.
    #[test]
    fn two_signals_at_once_are_one_and_two_that_are_apart_are_two() {
        let stop = Stop::new();
        assert!(!stop.asked() && !stop.insisted());
        stop.ask_at(5_000_000_000);
        stop.ask_at(5_000_100_000);
        stop.ask_at(5_200_000_000);
        assert!(stop.asked() && !stop.insisted());
        stop.ask_at(5_300_000_000);
        assert!(stop.insisted());
    }

    /// The kernel sends SIGXCPU again for every second beyond the limit.
    #[test]
    fn what_the_kernel_repeats_by_itself_tells_of_no_impatience() {
        let stop = Stop::new();
        stop.first_ns.store(1, Ordering::Relaxed);
        stop.by.store(libc::SIGXCPU, Ordering::Relaxed);
        stop.ask_by(libc::SIGXCPU);
        assert!(!stop.insisted());
        stop.ask_by(libc::SIGTERM);
        assert!(stop.insisted());
    }

    /// What a child does, told by how it ends: nothing of this process's signals is changed.
    ///
    /// A disk that another test had just let go of was busy: a child that aborted here had it.
    fn child(work: impl FnOnce()) -> c_int {
        // SAFETY: the child makes system calls alone, allocates nothing, and ends.
        crate::sys::gate::while_forked(|| unsafe {
            match libc::fork() {
                0 => {
                    work();
                    libc::_exit(0)
                }
                pid => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
                    status
                }
            }
        })
    }

    #[test]
    fn a_fault_and_an_abort_of_our_own_end_us_and_one_that_was_sent_does_not() {
        // SAFETY: system calls on numbers.
        let raised = |signal: c_int| child(|| drop((take(signal), unsafe { libc::raise(signal) })));
        for signal in table::all(&[SignalDisposition::StopIfSent]) {
            let status = raised(signal);
            assert!(libc::WIFSIGNALED(status), "{} was lost: {status}", name(signal));
            assert_eq!(libc::WTERMSIG(status), signal);
        }
        let aborted = child(|| {
            let _ = take(libc::SIGABRT);
            std::process::abort();
        });
        assert!(libc::WIFSIGNALED(aborted) && libc::WTERMSIG(aborted) == libc::SIGABRT);
        let crashed = child(|| {
            let _ = take(libc::SIGSEGV);
            // SAFETY: never; that is what it is for.
            unsafe { std::ptr::null_mut::<u8>().write_volatile(1) };
        });
        assert!(libc::WIFSIGNALED(crashed) && libc::WTERMSIG(crashed) == libc::SIGSEGV);
        for signal in table::all(&[SignalDisposition::StopIfSent]) {
            let sent = child(|| {
                let _ = take(signal);
                // SAFETY: system calls on numbers; a child of the child sends.
                unsafe {
                    let (us, sender) = (libc::getpid(), libc::fork());
                    if sender == 0 {
                        libc::kill(us, signal);
                        libc::_exit(0);
                    }
                    libc::waitpid(sender, std::ptr::null_mut(), 0);
                }
            });
            assert_eq!(sent, 0, "{}", name(signal));
        }
    }

    /// A load that met `ulimit -f` was "killed by signal 25", and the program itself died of it.
    #[test]
    fn a_write_beyond_the_limit_of_a_file_is_an_error_and_a_program_gets_its_signals_back() {
        let file = tempfile::tempfile().unwrap();
        let status = child(|| {
            use std::os::fd::AsRawFd;
            ignore(libc::SIGXFSZ);
            let limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: system calls on numbers and on what is on this stack.
            unsafe {
                libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
                let written = libc::write(file.as_raw_fd(), [1u8].as_ptr().cast(), 1);
                let told = written == -1 && *libc::__errno_location() == libc::EFBIG;
                if !told {
                    libc::_exit(9);
                }
                give_back();
                libc::write(file.as_raw_fd(), [1u8].as_ptr().cast(), 1);
            }
        });
        assert!(libc::WIFSIGNALED(status), "{status}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGXFSZ);
    }
}
