//! This program once more, as a process of its own that speaks lines.

use std::io::{BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Error, Host, clock, gate, input, signal, tree};

/// How much of what a worker said last on standard error is kept, bytes.
const SAID_BYTES_MAX: u64 = 8192;
/// A killed process that is still there after this long waits in the kernel for I/O that does not
/// come back; no signal reaches it there.
const KILLED_MAX: Duration = Duration::from_secs(5);

/// A worker that was let go of and killed is not waited for longer: it may hang in the kernel.
const LET_GO_MAX: Duration = Duration::from_millis(500);

/// A process that this program started of itself.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Option<JoinHandle<String>>,
}

/// The kernel forgets where a process is before it tells its parent that it has ended.
const DYING_MAX: Duration = Duration::from_millis(200);

/// What a worker is up to.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// It said this line.
    Line(String),
    /// It says nothing just now.
    Silence,
    /// It is gone, or has closed its output.
    Ended,
}

impl Worker {
    /// Starts this program with these arguments, in a process group of its own: Ctrl-C reaches only
    /// us, who then end the load in order.
    ///
    /// # Errors
    /// When the kernel starts no more processes or threads.
    #[expect(clippy::disallowed_methods, reason = "this module is the door")]
    pub fn start(arguments: &[&str]) -> Result<Worker, Error> {
        let typed = arguments.join(" ");
        let failed = |error| Error::new(format!("cannot start `brickyard {typed}`"), error);
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("brickyard")
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = gate::start(&mut command).map_err(failed)?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("was piped");
        let errors = child.stderr.take().expect("was piped");
        let (tell, lines) = mpsc::channel();
        let listen = move || {
            for line in input::lines(BufReader::new(output)) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("worker".into()).spawn(listen).map_err(failed)?;
        let collect = move || {
            let mut said = Vec::new();
            let _ = errors.take(SAID_BYTES_MAX).read_to_end(&mut said);
            String::from_utf8_lossy(&said).trim().to_owned()
        };
        let said =
            std::thread::Builder::new().name("said".into()).spawn(collect).map_err(failed)?;
        Ok(Worker { child, input, lines, said: Some(said) })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended; of one that is being killed it waits for that.
    pub fn has_ended(&mut self) -> bool {
        self.wait(DYING_MAX, || false)
    }

    /// Sends a line; a worker that is gone shows in [`Worker::hear`].
    pub fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// Waits for a line, at most this long.
    pub fn hear(&self, at_most: Duration) -> Heard {
        match self.lines.recv_timeout(at_most) {
            Ok(line) => Heard::Line(line),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::Ended,
        }
    }

    /// Closes its input and waits; kills it when it does not end within `at_most`, or as soon as
    /// `hurry` says so. Gives what it said on standard error, unless not even a kill ended
    /// it: then it hangs in the kernel, is left behind, and where it hangs is told instead.
    ///
    /// # Errors
    /// When it hangs; with where, as [`tree::hung`] tells it.
    pub fn end(mut self, at_most: Duration, hurry: impl FnMut() -> bool) -> Result<String, String> {
        drop(self.input.take());
        let killed = !self.wait(at_most, hurry);
        if killed {
            let _ = self.child.kill();
            if !self.wait(KILLED_MAX, || false) {
                return Err(tree::hung(&Host::live(), self.pid()));
            }
        }
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        // A kill leaves no last words: the kernel's, for want of memory, or a person's.
        let signal = self.child.try_wait().ok().flatten().and_then(|status| status.signal());
        Ok(match signal {
            Some(signal) if !killed => {
                format!("killed by {} {said}", signal::name(signal)).trim().into()
            }
            _ => said,
        })
    }

    fn wait(&mut self, at_most: Duration, mut hurry: impl FnMut() -> bool) -> bool {
        let end_ns = clock::monotonic_ns() + at_most.as_nanos() as u64;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return true,
                Ok(None) if hurry() || clock::monotonic_ns() >= end_ns => return false,
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// Lets this process end although a file that it has open lies on a file system that hangs, where
/// closing it may wait for ever. To be called last of all.
///
/// A second process shares the table of open files (CLONE_FILES in clone(2)), so that nothing is
/// closed when the first one ends. Then it closes what others may wait for, such as our standard
/// output, and last, by ending, what may hang: that it waits there bothers nobody.
///
/// # Errors
/// When the kernel starts no more processes.
pub fn end_apart() -> Result<(), Error> {
    let parent = std::process::id() as i32;
    let flags = libc::c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    // SAFETY: as fork(2), but for the shared table: no memory is shared, and the child only makes
    // system calls on numbers.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    if pid < 0 {
        let why = std::io::Error::last_os_error();
        return Err(Error::new("cannot end without waiting for what hangs", why));
    }
    if pid > 0 {
        return Ok(());
    }
    // SAFETY: system calls on numbers, safe after a fork (signal-safety(7)).
    unsafe {
        libc::setsid();
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        while libc::getppid() == parent {
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
        }
        // Standard input, output and error; what is behind them waits for their end.
        for file in 0..3 {
            libc::close(file);
        }
        libc::_exit(0)
    }
}

/// A worker that is let go of is killed, so that no load outlives its trial, and waited for, so
/// that its number is free again.
impl Drop for Worker {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            self.wait(LET_GO_MAX, || false);
        }
    }
}
