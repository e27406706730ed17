//! What becomes of every signal: one line each, from 1 to 64.

use libc::c_int;

/// What becomes of a signal (signal(7) calls it the disposition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalDisposition {
    /// Ends a run in order, as Ctrl-C does.
    Stop,
    /// The same, and again and again by the kernel alone: the second tells of no impatience.
    StopOnce,
    /// The same where another process sent it. Of a fault of our own we die, as ever.
    StopIfSent,
    /// Ignored: the system call that met it fails instead, and that is told.
    Ignore,
    /// Not ours: it ends nobody, or nobody can handle it.
    Leave,
}

/// The largest number of a signal.
pub const LAST: c_int = 64;

/// Those that have names, in the order of their numbers here.
const NAMED: [(c_int, &str, SignalDisposition); 31] = [
    (libc::SIGHUP, "SIGHUP", SignalDisposition::Stop),
    (libc::SIGINT, "SIGINT", SignalDisposition::Stop),
    (libc::SIGQUIT, "SIGQUIT", SignalDisposition::Stop),
    (libc::SIGILL, "SIGILL", SignalDisposition::StopIfSent),
    (libc::SIGTRAP, "SIGTRAP", SignalDisposition::StopIfSent),
    (libc::SIGABRT, "SIGABRT", SignalDisposition::StopIfSent),
    (libc::SIGBUS, "SIGBUS", SignalDisposition::StopIfSent),
    (libc::SIGFPE, "SIGFPE", SignalDisposition::StopIfSent),
    (libc::SIGKILL, "SIGKILL", SignalDisposition::Leave),
    (libc::SIGUSR1, "SIGUSR1", SignalDisposition::Stop),
    (libc::SIGSEGV, "SIGSEGV", SignalDisposition::StopIfSent),
    (libc::SIGUSR2, "SIGUSR2", SignalDisposition::Stop),
    (libc::SIGPIPE, "SIGPIPE", SignalDisposition::Ignore),
    (libc::SIGALRM, "SIGALRM", SignalDisposition::StopOnce),
    (libc::SIGTERM, "SIGTERM", SignalDisposition::Stop),
    (libc::SIGSTKFLT, "SIGSTKFLT", SignalDisposition::Stop),
    (libc::SIGCHLD, "SIGCHLD", SignalDisposition::Leave),
    (libc::SIGCONT, "SIGCONT", SignalDisposition::Leave),
    (libc::SIGSTOP, "SIGSTOP", SignalDisposition::Leave),
    (libc::SIGTSTP, "SIGTSTP", SignalDisposition::Leave),
    (libc::SIGTTIN, "SIGTTIN", SignalDisposition::Leave),
    (libc::SIGTTOU, "SIGTTOU", SignalDisposition::Leave),
    (libc::SIGURG, "SIGURG", SignalDisposition::Leave),
    (libc::SIGXCPU, "SIGXCPU", SignalDisposition::StopOnce),
    (libc::SIGXFSZ, "SIGXFSZ", SignalDisposition::Ignore),
    (libc::SIGVTALRM, "SIGVTALRM", SignalDisposition::StopOnce),
    (libc::SIGPROF, "SIGPROF", SignalDisposition::StopOnce),
    (libc::SIGWINCH, "SIGWINCH", SignalDisposition::Leave),
    (libc::SIGIO, "SIGIO", SignalDisposition::StopOnce),
    (libc::SIGPWR, "SIGPWR", SignalDisposition::Stop),
    (libc::SIGSYS, "SIGSYS", SignalDisposition::StopIfSent),
];

/// What becomes of a signal; safe in a signal handler.
pub fn act(signal: c_int) -> SignalDisposition {
    match NAMED.iter().find(|(number, ..)| *number == signal) {
        Some((_, _, act)) => *act,
        // Those below SIGRTMIN are the C library's, for its threads: it hands out no handler for
        // them, and they end whoever gets them from outside.
        None if signal < libc::SIGRTMIN() => SignalDisposition::Ignore,
        None => SignalDisposition::Stop,
    }
}

/// A signal's name, as kill(1) takes it: `SIGTERM`, `SIGRTMIN+3`.
pub fn name(signal: c_int) -> String {
    let first = libc::SIGRTMIN();
    match NAMED.iter().find(|(number, ..)| *number == signal) {
        Some((_, name, _)) => (*name).to_owned(),
        None if signal == first => "SIGRTMIN".to_owned(),
        None if (first..=LAST).contains(&signal) => format!("SIGRTMIN+{}", signal - first),
        None => format!("signal {signal}"),
    }
}

/// Every signal that is one of these.
pub fn all(acts: &[SignalDisposition]) -> impl Iterator<Item = c_int> {
    (1..=LAST).filter(move |signal| acts.contains(&act(*signal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What signal(7) has every signal do that nobody handles.
    fn ends_by_default(signal: c_int) -> bool {
        let harmless = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
        let stopping = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        !harmless.contains(&signal) && !stopping.contains(&signal)
    }

    /// SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU and SIGABRT ended a run on the spot: of 13
    /// signals 7 left settings changed and work directories behind, and SIGXFSZ ended it without
    /// a word.
    #[test]
    fn every_signal_that_can_end_us_and_can_be_handled_is() {
        let mut names = std::collections::BTreeSet::new();
        for signal in 1..=LAST {
            let handled = act(signal) != SignalDisposition::Leave;
            let can = ends_by_default(signal) && signal != libc::SIGKILL;
            assert_eq!(handled, can, "{}", name(signal));
            assert!(names.insert(name(signal)), "two are called {}", name(signal));
        }
        let ignored: Vec<c_int> = all(&[SignalDisposition::Ignore]).collect();
        assert_eq!(ignored, [libc::SIGPIPE, libc::SIGXFSZ, 32, 33]);
        let faults: Vec<c_int> = all(&[SignalDisposition::StopIfSent]).collect();
        assert_eq!(faults.len(), 7, "what the processor or abort(3) raises: {faults:?}");
    }

    #[test]
    fn a_signal_bears_the_name_that_kill_takes() {
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(libc::SIGRTMIN()), "SIGRTMIN");
        assert_eq!(name(libc::SIGRTMIN() + 3), "SIGRTMIN+3");
        assert_eq!(name(65), "signal 65");
    }
}
