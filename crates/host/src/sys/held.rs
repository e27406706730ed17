//! Other people's programs: started and held until all are ready, let go at once, and waited for
//! with the kernel's account of what they used.
//!
//! For a process of one thread: between fork(2) and execve(2) a child may only do what is safe in a
//! signal handler (fork(2), POSIX.1).

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::{Error, signal};

/// A program, ready to be started as often as one likes.
#[derive(Clone, Debug)]
pub struct Launch {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
}

/// A program that waits at a gate, or has passed it.
#[derive(Debug)]
pub struct GatedProgram {
    /// Its process, which leads a process group of its own.
    pub pid: i32,
    /// What it writes to standard output; does not block.
    pub stdout: OwnedFd,
    /// What it writes to standard error; does not block.
    pub stderr: OwnedFd,
    /// Ends without a byte when the program was started, else says why it was not.
    pub refusal: OwnedFd,
}

/// What programs wait at.
#[derive(Debug)]
pub struct Gate {
    inner: OwnedFd,
    outer: OwnedFd,
    arrived: OwnedFd,
    arrive: OwnedFd,
}

/// What wait4(2) says of a process that has ended, with the children that it had waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended {
    /// Exit status, unless a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Processor time in user mode, ns.
    pub user_ns: u64,
    /// Processor time in the kernel, ns.
    pub system_ns: u64,
    /// Faults without I/O.
    pub minor_faults: u64,
    /// Faults with I/O.
    pub major_faults: u64,
    /// Read from storage, blocks of 512 bytes.
    pub blocks_in: u64,
    /// Written to storage, blocks of 512 bytes.
    pub blocks_out: u64,
    /// Largest resident set, bytes.
    pub peak_memory_bytes: u64,
}

fn text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::new(format!("cannot pass on `{text}`"), "it has a NUL"))
}

impl Launch {
    /// The program `words[0]`, looked for in PATH unless it has a slash, with the other words as
    /// its arguments, `environment` on top of ours, to be started in `directory`.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn new(
        words: &[String],
        environment: &[(String, String)],
        directory: &str,
    ) -> Result<Launch, Error> {
        let own = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let mut all: Vec<(String, String)> = own.collect();
        all.retain(|(name, _)| environment.iter().all(|(other, _)| other != name));
        all.extend(environment.iter().cloned());
        let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let named = words.first().map_or("", String::as_str);
        let program = find_program(named, path.unwrap_or("/usr/bin:/bin"), directory)?;
        let environment = all.iter().map(|(name, value)| text(&format!("{name}={value}")));
        Ok(Launch {
            program: text(&program.to_string_lossy())?,
            arguments: words.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
            environment: environment.collect::<Result<_, _>>()?,
            directory: text(directory)?,
        })
    }

    /// Starts it up to the gate.
    ///
    /// # Errors
    /// When the kernel gives no process or no pipe.
    pub fn hold(&self, gate: &Gate) -> Result<GatedProgram, Error> {
        let what = || format!("cannot start {}", self.program.to_string_lossy());
        let failed = |error: rustix::io::Errno| {
            Error::new(what(), std::io::Error::from(error))
                .hint("fewer streams, or `ulimit -n` and `ulimit -u` raised")
        };
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(failed);
        let ((stdout, out), (stderr, err), (refusal, refuse)) = (pipe()?, pipe()?, pipe()?);
        for end in [&stdout, &stderr] {
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK).map_err(failed)?;
        }
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        let nothing = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty());
        let nothing = nothing.map_err(failed)?;
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        let child = Child {
            launch: self,
            arguments: &arguments,
            environment: &environment,
            files: [nothing.as_raw_fd(), out.as_raw_fd(), err.as_raw_fd()],
            gate: gate.inner.as_raw_fd(),
            outer: gate.outer.as_raw_fd(),
            arrive: gate.arrive.as_raw_fd(),
            refuse: refuse.as_raw_fd(),
            parent: std::process::id() as i32,
        };
        // SAFETY: the child only makes system calls on what was prepared before, and never returns.
        let pid = unsafe { libc::fork() };
        match pid {
            0 => child.run(),
            pid if pid < 0 => Err(Error::new(what(), std::io::Error::last_os_error())
                .hint("fewer streams, or `ulimit -u` raised")),
            pid => {
                // Both sides do this: whichever comes second finds it done.
                // SAFETY: a system call on two numbers.
                unsafe { libc::setpgid(pid, pid) };
                Ok(GatedProgram { pid, stdout, stderr, refusal })
            }
        }
    }
}

impl Gate {
    /// A shut gate.
    ///
    /// # Errors
    /// When the kernel gives no pipe.
    pub fn new() -> Result<Gate, Error> {
        let pipe = || {
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                .map_err(|error| Error::new("cannot make a pipe", std::io::Error::from(error)))
        };
        let ((inner, outer), (arrived, arrive)) = (pipe()?, pipe()?);
        Ok(Gate { inner, outer, arrived, arrive })
    }

    /// Waits until so many programs have come to the gate, or turned back.
    ///
    /// # Errors
    /// When they have not within 30 s: the machine is out of memory or processors.
    pub fn wait(&self, mut coming: usize) -> Result<(), Error> {
        use rustix::event::{PollFd, PollFlags, poll};
        let limit = rustix::event::Timespec { tv_sec: 30, tv_nsec: 0 };
        let mut words = [0; 4096];
        while coming > 0 {
            let mut fds = [PollFd::new(&self.arrived, PollFlags::IN)];
            if poll(&mut fds, Some(&limit)) == Ok(0) {
                let why = "they were not ready to be let go after 30 s";
                return Err(
                    Error::new("cannot start all copies at once", why).hint("fewer streams")
                );
            }
            let most = coming.min(words.len());
            coming -= rustix::io::read(&self.arrived, &mut words[..most]).unwrap_or(0);
        }
        Ok(())
    }

    /// Lets `waiting` programs go, all at once; those that wait at a gate that is dropped end.
    ///
    /// # Errors
    /// When the kernel takes fewer words than there are programs, which it does above 65 536.
    pub fn open(self, waiting: usize) -> Result<(), Error> {
        let words = vec![1; waiting];
        match rustix::io::write(&self.outer, &words) {
            Ok(written) if written == waiting => Ok(()),
            Ok(_) => Err(Error::new("cannot let the programs go", "there are too many")),
            Err(error) => {
                Err(Error::new("cannot let the programs go", std::io::Error::from(error)))
            }
        }
    }
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// All that a child needs between fork and exec.
struct Child<'a> {
    launch: &'a Launch,
    arguments: &'a [*const libc::c_char],
    environment: &'a [*const libc::c_char],
    files: [RawFd; 3],
    gate: RawFd,
    outer: RawFd,
    arrive: RawFd,
    refuse: RawFd,
    parent: i32,
}

impl Child<'_> {
    fn run(&self) -> ! {
        // SAFETY: system calls that are safe after fork (signal-safety(7)), on descriptors, texts
        // and lists of pointers that live in this copy of the parent's memory until exec.
        unsafe {
            libc::setpgid(0, 0);
            // Whatever ends the process that counts, even SIGKILL, ends what it counts.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != self.parent {
                libc::_exit(127);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            // What we ignore, exec would keep.
            signal::give_back();
            for (number, file) in self.files.into_iter().enumerate() {
                if libc::dup2(file, number as i32) < 0 {
                    self.refuse();
                }
            }
            if libc::chdir(self.launch.directory.as_ptr()) != 0 {
                self.refuse();
            }
            libc::close(self.outer);
            let mut word = 0u8;
            libc::write(self.arrive, (&raw const word).cast(), 1);
            while libc::read(self.gate, (&raw mut word).cast(), 1) < 0 {
                if *libc::__errno_location() != libc::EINTR {
                    libc::_exit(127);
                }
            }
            if word != 1 {
                libc::_exit(127);
            }
            libc::execve(
                self.launch.program.as_ptr(),
                self.arguments.as_ptr(),
                self.environment.as_ptr(),
            );
            self.refuse()
        }
    }

    /// Says why it goes no further, and ends.
    ///
    /// # Safety
    /// Only in a child, which this ends.
    unsafe fn refuse(&self) -> ! {
        // SAFETY: see [`Child::run`]; the number is on this stack.
        unsafe {
            let number = *libc::__errno_location();
            libc::write(self.arrive, (&raw const number).cast(), 1);
            libc::write(self.refuse, (&raw const number).cast(), size_of::<i32>());
            libc::_exit(127)
        }
    }
}

impl GatedProgram {
    /// Why it was not started; `None` when it was, or is not known yet.
    pub fn refused(&self) -> Option<std::io::Error> {
        let mut number = [0; 4];
        let flags = rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&self.refusal, flags).ok()?;
        let read = rustix::io::read(&self.refusal, &mut number).ok()?;
        (read == 4).then(|| std::io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
    }
}

/// The file of a program, as a shell finds it.
fn find_program(named: &str, path: &str, directory: &str) -> Result<PathBuf, Error> {
    let runs = |file: &Path| {
        file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let found = if named.contains('/') {
        let file = Path::new(directory).join(named);
        runs(&file).then_some(file)
    } else {
        let places = path.split(':').map(|place| Path::new(directory).join(place).join(named));
        places.into_iter().find(|file| !named.is_empty() && runs(file))
    };
    found.ok_or_else(|| {
        let why = match named.contains('/') {
            true => "there is no such program, or it may not be run",
            false => "there is no such program in PATH",
        };
        Error::new(format!("cannot run `{named}`"), why)
            .hint("install it, name it with its path, or give shell=true for what only sh has")
    })
}

/// Whether `named` can be run.
///
/// # Errors
/// When there is no such program.
pub fn check_program(named: &str) -> Result<(), Error> {
    let path = std::env::var("PATH").unwrap_or_default();
    find_program(named, &path, "/").map(|_| ())
}

/// The process of a child that has ended and was not waited for yet.
pub fn ended_child() -> Option<i32> {
    // SAFETY: all zeros is a siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes into `info` and nowhere else.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &mut info, how) };
    // SAFETY: waitid(2) fills in this member, or leaves zero when no child has ended.
    (result == 0).then(|| unsafe { info.si_pid() }).filter(|pid| *pid > 0)
}

/// Waits for a child that has ended.
pub fn reap(pid: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: all zeros is a rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into the two and nowhere else.
    let reaped = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
    if reaped != pid {
        return None;
    }
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Some(Ended {
        exit: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        blocks_in: usage.ru_inblock as u64,
        blocks_out: usage.ru_oublock as u64,
        peak_memory_bytes: usage.ru_maxrss as u64 * 1024,
    })
}

/// Sends a signal to a process, or with a negative number to a process group.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: a system call on two numbers.
    unsafe { libc::kill(pid, signal) };
}

/// Makes orphans of our children ours (PR_SET_CHILD_SUBREAPER), ends us when `parent` ends, and
/// gives a descriptor that can be read whenever a child ends.
///
/// # Errors
/// When the kernel refuses, or `parent` has ended already.
pub fn adopt(parent: u32) -> Result<OwnedFd, Error> {
    use std::os::fd::FromRawFd;
    let failed = || Error::new("cannot watch over programs", std::io::Error::last_os_error());
    // SAFETY: system calls on numbers, and on a set of signals that is initialised first.
    unsafe {
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) != 0 {
            return Err(failed());
        }
        if libc::getppid() as u32 != parent && parent != 0 {
            return Err(Error::new("cannot watch over programs", "brickyard has ended"));
        }
        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child);
        libc::sigaddset(&mut child, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &child, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(failed());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The largest resident set that this process has had, bytes.
pub fn own_peak_bytes() -> u64 {
    // SAFETY: all zeros is a rusage, and the kernel writes into it and nowhere else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss as u64 * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &CString) -> String {
        text.to_string_lossy().into_owned()
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it_or_refused_with_what_to_do() {
        let launch = Launch::new(&["sh".into(), "-c".into()], &[], "/").unwrap();
        assert!(shown(&launch.program).ends_with("/sh"));
        assert_eq!(shown(&launch.arguments[1]), "-c");
        let set = [("PATH".to_owned(), "/nowhere".to_owned())];
        let error = Launch::new(&["sh".into()], &set, "/").unwrap_err();
        assert!(error.why.contains("in PATH") && error.hint.is_some(), "{error}");
        assert!(Launch::new(&[], &[], "/").is_err());
        assert!(Launch::new(&["/etc/passwd".into()], &[], "/").is_err(), "may not be run");
        assert!(Launch::new(&["/bin/sh".into(), "a\0b".into()], &[], "/").is_err());
        assert!(check_program("true").is_ok() && check_program("no-such-program").is_err());
    }
}
