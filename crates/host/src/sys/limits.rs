//! The limits that a process and its children run under (getrlimit(2), `ulimit` of a shell), in one
//! table: what of them could stop a run, what a failure says that met one, and what raises it.
//!
//! What a run needs of each is told where that is known: a trial's memory, threads and descriptors
//! where its load is checked, the rest by whoever runs a plan.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Error, Host};
use base::value;

/// A limit on what a process may take of a resource (getrlimit(2)).
#[derive(Debug)]
pub struct ResourceLimit {
    resource: Resource,
    /// As getrlimit(2) calls it.
    pub name: &'static str,
    /// The option of `ulimit` that shows and raises it.
    pub flag: &'static str,
    unit: Unit,
    /// What a failure says that met it, in the C library's words, in a shell's, or as we tell of a
    /// program that a signal has ended.
    signs: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    /// So many of something, as `descriptor`.
    Count(&'static str),
    Bytes(&'static str),
    Seconds(&'static str),
}

/// Bytes of a file that is written.
pub const FILE_SIZE: ResourceLimit = ResourceLimit {
    resource: Resource::Fsize,
    name: "RLIMIT_FSIZE",
    flag: "-f",
    unit: Unit::Bytes("files of "),
    signs: &["(os error 27)", "SIGXFSZ", "File too large", "File size limit exceeded"],
};
/// Open files of a process.
pub const DESCRIPTORS: ResourceLimit = ResourceLimit {
    resource: Resource::Nofile,
    name: "RLIMIT_NOFILE",
    flag: "-n",
    unit: Unit::Count("file descriptor"),
    signs: &["(os error 24)", "Too many open files"],
};
/// Bytes of memory that a process may map, used or not.
pub const ADDRESSES: ResourceLimit = ResourceLimit {
    resource: Resource::As,
    name: "RLIMIT_AS",
    flag: "-v",
    unit: Unit::Bytes("a process "),
    signs: &["(os error 12)", "Cannot allocate memory", "memory allocation of"],
};
/// Bytes of memory of its own that a process may write to.
pub const DATA: ResourceLimit = ResourceLimit {
    resource: Resource::Data,
    name: "RLIMIT_DATA",
    flag: "-d",
    unit: Unit::Bytes("a process "),
    signs: ADDRESSES.signs,
};
/// Bytes that stay in memory. A load does without, and notes that.
pub const LOCKED: ResourceLimit = ResourceLimit {
    resource: Resource::Memlock,
    name: "RLIMIT_MEMLOCK",
    flag: "-l",
    unit: Unit::Bytes("a process to lock "),
    signs: &[],
};
/// Processes and threads of a user; not of root.
pub const PROCESSES: ResourceLimit = ResourceLimit {
    resource: Resource::Nproc,
    name: "RLIMIT_NPROC",
    flag: "-u",
    unit: Unit::Count("thread"),
    signs: &["cannot start the thread", "fork: retry", "Cannot fork"],
};
/// Bytes of the stack of a process's first thread.
pub const STACK: ResourceLimit = ResourceLimit {
    resource: Resource::Stack,
    name: "RLIMIT_STACK",
    flag: "-s",
    unit: Unit::Bytes("a stack of "),
    signs: &["has overflowed its stack", "(os error 7)", "Argument list too long"],
};
/// Processor time of a process, all of its threads together.
pub const PROCESSOR_TIME: ResourceLimit = ResourceLimit {
    resource: Resource::Cpu,
    name: "RLIMIT_CPU",
    flag: "-t",
    unit: Unit::Seconds("a process "),
    // A process that has used up the hard limit as well is killed.
    signs: &["SIGXCPU", "killed by SIGKILL", "CPU time limit exceeded"],
};

/// All that could stop a run.
pub const LIMITS: [&ResourceLimit; 8] =
    [&FILE_SIZE, &DESCRIPTORS, &ADDRESSES, &DATA, &LOCKED, &PROCESSES, &STACK, &PROCESSOR_TIME];

/// A stack that this program gets by with; with much less it ends by a signal while it reads its
/// arguments, and tells of no limit. A guess on the generous side, as a usual limit is 8 MiB.
const STACK_BYTES: u64 = 1 << 20;

/// What stands in the way of this program itself: a stack that is too small for it.
///
/// # Errors
/// With what to type.
pub fn check_stack() -> Result<(), Error> {
    match STACK.allows().filter(|allowed| *allowed < STACK_BYTES) {
        Some(allowed) => {
            let why = STACK.allowance(allowed);
            Err(Error::new("cannot begin", why).hint(format!(
                "{}: `ulimit {} 8192` is usual",
                STACK.raise(),
                STACK.flag
            )))
        }
        None => Ok(()),
    }
}

impl ResourceLimit {
    /// What it allows, in bytes, seconds or numbers; `None` without a limit.
    pub fn allows(&self) -> Option<u64> {
        getrlimit(self.resource).current
    }

    /// The same once it is raised as far as this process may raise it.
    pub fn raised(&self) -> Option<u64> {
        let limit = getrlimit(self.resource);
        let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
        match setrlimit(self.resource, most) {
            Ok(()) => limit.maximum,
            Err(_) => limit.current,
        }
    }

    /// `RLIMIT_FSIZE allows files of 1.00 MiB`.
    pub fn allowance(&self, allowed: u64) -> String {
        let allowed = match self.unit {
            Unit::Count(of) => value::counted(allowed, of),
            Unit::Bytes(of) => format!("{of}{}", value::bytes(allowed as f64)),
            Unit::Seconds(of) => format!("{of}{allowed} s of processor time"),
        };
        format!("{} allows {allowed}", self.name)
    }

    /// `raise it with `ulimit -f``.
    pub fn raise(&self) -> String {
        format!("raise it with `ulimit {}`", self.flag)
    }

    /// Both: `RLIMIT_FSIZE allows files of 1.00 MiB (raise it with `ulimit -f`)`, and what else
    /// would help: `, or lower file-size`.
    pub fn told(&self, allowed: u64, or: &str) -> String {
        format!("{} ({}{or})", self.allowance(allowed), self.raise())
    }
}

/// How many more threads the user may have, and how many in all; `None` for root, whom the limit
/// does not bind (getrlimit(2)). Those that are there are counted where the limit is a low one.
pub fn threads_of_user(host: &Host) -> Option<(u64, u64)> {
    const LOW: u64 = 4096;
    let user = rustix::process::getuid();
    let allowed = PROCESSES.allows().filter(|_| !user.is_root())?;
    if allowed > LOW {
        return Some((allowed, allowed));
    }
    let threads = |process: &String| {
        let status = host.read(format!("/proc/{process}/status")).ok()?;
        let word = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        let own = word("Uid:") == Some(u64::from(user.as_raw()));
        word("Threads:").filter(|_| own)
    };
    let processes = host.list("/proc").into_iter();
    let processes = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let there: u64 = processes.filter_map(|process| threads(&process)).sum();
    Some((allowed.saturating_sub(there), allowed))
}

/// Why something failed, with what to type where it was one of these limits.
pub fn explained(why: String) -> String {
    let met = LIMITS.into_iter().find_map(|limit| {
        let met = limit.signs.iter().any(|sign| why.contains(sign));
        Some((limit, limit.allows().filter(|_| met)?))
    });
    match met {
        Some((limit, _)) if why.contains(limit.name) => why,
        Some((limit, allowed)) => format!("{why}; {}", limit.told(allowed, "")),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_name_and_an_option_of_its_own() {
        for (at, limit) in LIMITS.iter().enumerate() {
            let same =
                |other: &&ResourceLimit| other.name == limit.name || other.flag == limit.flag;
            assert!(!LIMITS[..at].iter().any(same), "{}", limit.name);
            let told = limit.told(1 << 20, ", or do with less");
            assert!(told.starts_with(limit.name) && told.contains("ulimit -"), "{told}");
            assert!(told.ends_with("or do with less)"), "{told}");
        }
        assert_eq!(
            FILE_SIZE.told(1 << 20, ""),
            "RLIMIT_FSIZE allows files of 1.00 MiB (raise it with `ulimit -f`)"
        );
    }

    #[test]
    fn a_failure_that_met_no_limit_is_told_as_it_was() {
        for why in ["No space left on device (os error 28)", "killed by SIGTERM", ""] {
            assert_eq!(explained(why.to_owned()), why);
        }
        // The stack has a limit everywhere but where somebody took it away.
        let why = "thread 'main' has overflowed its stack";
        if STACK.allows().is_some() {
            assert!(explained(why.to_owned()).contains("`ulimit -s`"));
        }
        let told = STACK.told(9, "");
        assert_eq!(explained(format!("{why}: {told}")), format!("{why}: {told}"), "once");
    }
}
