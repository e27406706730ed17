//! Programs on their way: what they say, and that they have ended.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::output::BoundedOutput;
use super::protocol::ProgramStart;
use host::sys::held::{self, Ended, Gate, GatedProgram, Launch};
use host::sys::tree::{self, Moved};
use host::sys::{Error, Host, clock, signal};

/// At most so much is taken from one output in one turn: a flood must not keep us from the others.
const TURN_BYTES: usize = 256 << 10;

/// A program that was started.
#[derive(Debug)]
pub struct RunningProgram {
    /// Which copy; 1 for the first, 0 for what is not measured.
    pub copy: u32,
    /// Whether figures are made of this run.
    pub timed: bool,
    /// It was let go, monotonic clock.
    pub started_ns: u64,
    /// Its process.
    pub held: GatedProgram,
    /// What it said.
    pub said: [BoundedOutput; 2],
    open: [bool; 2],
}

/// A program that has ended.
#[derive(Debug)]
pub struct EndedProgram {
    /// What it was.
    pub running: RunningProgram,
    /// When that was seen, monotonic clock.
    pub ended_ns: u64,
    /// The kernel's account.
    pub ended: Ended,
    /// What it and the children that it waited for have moved.
    pub moved: Option<Moved>,
    /// Why it was never started.
    pub refused: Option<std::io::Error>,
}

/// What the parent can tell the worker to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentCommand {
    /// Let the programs go.
    Go,
    /// What the load did has been counted.
    Counted,
    /// End it now.
    Stop,
    /// Nothing more will come: it has ended, or wants us to.
    Bye,
}

/// All programs below this process.
#[derive(Debug)]
pub struct Copies {
    host: Host,
    children: OwnedFd,
    input: Vec<u8>,
    /// Those that have not ended.
    pub running: Vec<RunningProgram>,
    /// Moved by every process that was waited for, by copy.
    pub reaped: Vec<(u32, Moved)>,
    /// Processor time of every process that was waited for, by copy: user and system, ns.
    pub computed: Vec<(u32, [u64; 2])>,
    groups: Vec<(i32, u32)>,
}

impl Copies {
    /// Watches over what this process starts. `input` is what was read from standard input already.
    ///
    /// # Errors
    /// When the kernel refuses, or `parent` has ended.
    pub fn new(parent: u32, input: Vec<u8>) -> Result<Copies, Error> {
        let children = held::adopt(parent)?;
        let host = Host::live();
        let (running, reaped, computed, groups) = Default::default();
        Ok(Copies { host, children, input, running, reaped, computed, groups })
    }

    /// Starts a program up to the gate.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn hold(
        &mut self,
        copy: u32,
        timed: bool,
        start: &ProgramStart,
        gate: &Gate,
    ) -> Result<(), Error> {
        let launch = Launch::new(&start.words, &start.environment, &start.directory)?;
        let held = launch.hold(gate)?;
        self.groups.push((held.pid, copy));
        let said = [BoundedOutput::default(), BoundedOutput::default()];
        let started_ns = clock::monotonic_ns();
        let open = [true; 2];
        self.running.push(RunningProgram { copy, timed, started_ns, held, said, open });
        Ok(())
    }

    /// Starts a program and lets it go.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&mut self, copy: u32, timed: bool, start: &ProgramStart) -> Result<(), Error> {
        let gate = Gate::new()?;
        self.hold(copy, timed, start, &gate)?;
        gate.wait(1)?;
        if let Some(last) = self.running.last_mut() {
            last.started_ns = clock::monotonic_ns();
        }
        gate.open(1)
    }

    /// Waits for something to happen, at most until `until_ns`; gives what has ended and what the
    /// parent said.
    pub fn turn(&mut self, until_ns: u64) -> (Vec<EndedProgram>, Option<ParentCommand>) {
        let said = self.parents_word();
        if said.is_some() {
            return (self.reap(), said);
        }
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        let wait = Timespec {
            tv_sec: (left_ns / 1_000_000_000) as i64,
            tv_nsec: (left_ns % 1_000_000_000) as i64,
        };
        let input = rustix::stdio::stdin();
        let mut fds =
            vec![PollFd::new(&self.children, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        for running in &self.running {
            let ends = [&running.held.stdout, &running.held.stderr];
            let open = ends.into_iter().zip(running.open).filter(|(_, open)| *open);
            fds.extend(open.map(|(end, _)| PollFd::new(end, PollFlags::IN)));
        }
        let polled = poll(&mut fds, Some(&wait));
        let heard = polled.is_ok() && !fds[1].revents().is_empty();
        drop(fds);
        let mut signals = [0u8; 128];
        let _ = rustix::io::read(&self.children, &mut signals);
        for running in &mut self.running {
            running.listen(TURN_BYTES);
        }
        if heard {
            let mut bytes = [0; 256];
            match rustix::io::read(input, &mut bytes) {
                Ok(0) => self.input.extend(b"bye\n"),
                Ok(read) => self.input.extend(&bytes[..read]),
                Err(_) => {}
            }
        }
        let over = self.reap();
        (over, self.parents_word())
    }

    fn parents_word(&mut self) -> Option<ParentCommand> {
        let end = self.input.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        match line.trim_ascii() {
            b"go" => Some(ParentCommand::Go),
            b"counted" => Some(ParentCommand::Counted),
            b"stop" => Some(ParentCommand::Stop),
            _ => Some(ParentCommand::Bye),
        }
    }

    /// Waits for all that have ended, our own and orphans that became ours.
    fn reap(&mut self) -> Vec<EndedProgram> {
        let mut over = Vec::new();
        while let Some(pid) = held::ended_child() {
            let ended_ns = clock::monotonic_ns();
            let stat = self.host.read(format!("/proc/{pid}/stat")).ok();
            let group = stat.and_then(|text| tree::process(&text)).map_or(pid, |it| it.group);
            let before = tree::Own::now(&self.host);
            let Some(ended) = held::reap(pid) else { break };
            let moved = before.and_then(|own| own.since(&self.host));
            let known = self.groups.iter().rev().find(|(leader, _)| *leader == group);
            let copy = known.map_or(0, |(_, copy)| *copy);
            self.reaped.extend(moved.map(|moved| (copy, moved)));
            self.computed.push((copy, [ended.user_ns, ended.system_ns]));
            let Some(at) = self.running.iter().position(|it| it.held.pid == pid) else { continue };
            let mut running = self.running.swap_remove(at);
            running.listen(usize::MAX);
            let refused = running.held.refused();
            over.push(EndedProgram { running, ended_ns, ended, moved, refused });
        }
        over
    }

    /// What all programs have moved until now, but for those of `except`.
    pub fn moved(&self, except: &[i32]) -> Moved {
        self.look(except).0
    }

    /// The same, and how many of them are stopped by a signal; a tracer stops them at every call
    /// that it watches, which does not count.
    pub fn look(&self, except: &[i32]) -> (Moved, u64) {
        let living = self.all(except);
        let stopped = living.iter().filter(|process| process.state == 'T').count();
        let living = living.iter().filter_map(|it| tree::moved_by(&self.host, it.pid));
        let reaped = self.reaped.iter().map(|(_, moved)| *moved);
        (living.chain(reaped).fold(Moved::default(), Moved::plus), stopped as u64)
    }

    /// Processor time of a process and all below it until now: user and system, ns.
    pub fn computing(&self, pid: i32) -> [u64; 2] {
        let below = tree::below(&self.host, pid, &[]).into_iter().map(|one| one.pid);
        let each = below.chain([pid]).filter_map(|pid| tree::computed_by(&self.host, pid));
        each.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    }

    /// Every process below this one, but for those of `except`.
    pub fn all(&self, except: &[i32]) -> Vec<tree::Process> {
        tree::below(&self.host, std::process::id() as i32, except)
    }

    /// Ends every program but those of `except`: SIGTERM, and SIGKILL after `patience_ns`. Gives
    /// what ended, and what the kernel says of those that did not.
    pub fn end_all(
        &mut self,
        except: &[i32],
        patience_ns: u64,
    ) -> (Vec<EndedProgram>, Vec<String>) {
        /// A killed process that is still there waits in the kernel for I/O that does not come.
        const KILLED_NS: u64 = 5_000_000_000;
        let mut over = Vec::new();
        for (signal, wait_ns) in [(TERMINATE, patience_ns), (KILL, KILLED_NS)] {
            let end_ns = clock::monotonic_ns() + wait_ns;
            let mut told: Vec<i32> = Vec::new();
            loop {
                over.extend(self.turn(clock::monotonic_ns()).0);
                let left = self.all(except);
                if left.is_empty() {
                    return (over, Vec::new());
                }
                if clock::monotonic_ns() >= end_ns {
                    break;
                }
                // Looked for again each time: what they start meanwhile is to go as well.
                for process in left.iter().filter(|process| process.state != 'Z') {
                    if !told.contains(&process.pid) {
                        held::signal(process.pid, signal);
                        held::signal(process.pid, CONTINUE);
                        told.push(process.pid);
                    }
                }
                over.extend(self.turn(clock::monotonic_ns() + 10_000_000).0);
            }
        }
        let stuck = self.all(except);
        (over, stuck.iter().map(|process| tree::stuck(&self.host, process)).collect())
    }
}

const TERMINATE: i32 = rustix::process::Signal::TERM.as_raw();
const KILL: i32 = rustix::process::Signal::KILL.as_raw();
/// A stopped process takes no SIGTERM before it goes on.
const CONTINUE: i32 = rustix::process::Signal::CONT.as_raw();

impl RunningProgram {
    /// Takes what it said, at most so many bytes of each output.
    fn listen(&mut self, at_most: usize) {
        let ends = [&self.held.stdout, &self.held.stderr];
        for ((end, kept), open) in ends.into_iter().zip(&mut self.said).zip(&mut self.open) {
            let mut piece = [0; 64 << 10];
            let mut taken = 0;
            // A pipe holds 64 KiB, or 1 MiB when a program asks: what is left of one that has ended
            // is less than this, and what its children still say is nobody's.
            while *open && taken < at_most.min(4 << 20) {
                match rustix::io::read(end, &mut piece) {
                    Ok(0) => *open = false,
                    Ok(read) => {
                        kept.take(&piece[..read]);
                        taken += read;
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
    }
}

impl EndedProgram {
    /// What went wrong, when something did.
    pub fn failure(&self) -> Option<String> {
        if let Some(error) = &self.refused {
            return Some(format!("could not be started: {error}"));
        }
        let how = match (self.ended.exit, self.ended.signal) {
            (Some(0), _) => return None,
            (Some(status), _) => format!("ended with status {status}"),
            (None, Some(signal)) => format!("was ended by {}", signal::name(signal)),
            (None, None) => "ended, nobody knows how".to_owned(),
        };
        Some(format!("{how}{}", self.last_words()))
    }

    /// What it said last, to be put behind how it ended; empty when it said nothing.
    pub fn last_words(&self) -> String {
        let last = self.running.said.iter().rev().map(BoundedOutput::last_lines);
        let lines = last.into_iter().find(|lines| !lines.is_empty());
        lines.map(|lines| format!("; it said: {lines}")).unwrap_or_default()
    }
}
