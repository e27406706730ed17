//! What becomes of every signal: one line each, from 1 to 64.

use libc::c_int;

/// What becomes of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
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
const NAMED: [(c_int, &str, Act); 31] = [
    (libc::SIGHUP, "SIGHUP", Act::Stop),
    (libc::SIGINT, "SIGINT", Act::Stop),
    (libc::SIGQUIT, "SIGQUIT", Act::Stop),
    (libc::SIGILL, "SIGILL", Act::StopIfSent),
    (libc::SIGTRAP, "SIGTRAP", Act::StopIfSent),
    (libc::SIGABRT, "SIGABRT", Act::StopIfSent),
    (libc::SIGBUS, "SIGBUS", Act::StopIfSent),
    (libc::SIGFPE, "SIGFPE", Act::StopIfSent),
    (libc::SIGKILL, "SIGKILL", Act::Leave),
    (libc::SIGUSR1, "SIGUSR1", Act::Stop),
    (libc::SIGSEGV, "SIGSEGV", Act::StopIfSent),
    (libc::SIGUSR2, "SIGUSR2", Act::Stop),
    (libc::SIGPIPE, "SIGPIPE", Act::Ignore),
    (libc::SIGALRM, "SIGALRM", Act::StopOnce),
    (libc::SIGTERM, "SIGTERM", Act::Stop),
    (libc::SIGSTKFLT, "SIGSTKFLT", Act::Stop),
    (libc::SIGCHLD, "SIGCHLD", Act::Leave),
    (libc::SIGCONT, "SIGCONT", Act::Leave),
    (libc::SIGSTOP, "SIGSTOP", Act::Leave),
    (libc::SIGTSTP, "SIGTSTP", Act::Leave),
    (libc::SIGTTIN, "SIGTTIN", Act::Leave),
    (libc::SIGTTOU, "SIGTTOU", Act::Leave),
    (libc::SIGURG, "SIGURG", Act::Leave),
    (libc::SIGXCPU, "SIGXCPU", Act::StopOnce),
    (libc::SIGXFSZ, "SIGXFSZ", Act::Ignore),
    (libc::SIGVTALRM, "SIGVTALRM", Act::StopOnce),
    (libc::SIGPROF, "SIGPROF", Act::StopOnce),
    (libc::SIGWINCH, "SIGWINCH", Act::Leave),
    (libc::SIGIO, "SIGIO", Act::StopOnce),
    (libc::SIGPWR, "SIGPWR", Act::Stop),
    (libc::SIGSYS, "SIGSYS", Act::StopIfSent),
];

/// What becomes of a signal; safe in a signal handler.
pub fn act(signal: c_int) -> Act {
    match NAMED.iter().find(|(number, ..)| *number == signal) {
        Some((_, _, act)) => *act,
        // Those below SIGRTMIN are the C library's, for its threads: it hands out no handler for
        // them, and they end whoever gets them from outside.
        None if signal < libc::SIGRTMIN() => Act::Ignore,
        None => Act::Stop,
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
pub fn all(acts: &[Act]) -> impl Iterator<Item = c_int> {
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
            let handled = act(signal) != Act::Leave;
            let can = ends_by_default(signal) && signal != libc::SIGKILL;
            assert_eq!(handled, can, "{}", name(signal));
            assert!(names.insert(name(signal)), "two are called {}", name(signal));
        }
        let ignored: Vec<c_int> = all(&[Act::Ignore]).collect();
        assert_eq!(ignored, [libc::SIGPIPE, libc::SIGXFSZ, 32, 33]);
        let faults: Vec<c_int> = all(&[Act::StopIfSent]).collect();
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
