//! The worker: reads what to do, does it, tells how it goes, hands over what it measured.
//!
//! One thread a stream carries the load; the calling thread is the controller, which decides when
//! the trial ends and samples what was done. It sleeps between samples and never polls.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::control::{Event, Gate, Shared};
use super::files;
use super::job::{IoEngine, Job, limits};
use super::protocol::{Command, Failure, LoadSpec, Message, Prepared};
use super::stream::{Trial, Yield, run};
use crate::engine::Error;
use crate::measurement::Note;
use crate::sys::{self, Host, direct};

mod outcome;
mod second;
mod watch;

/// Stack of a stream's thread; it calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

/// The worker process: as [`serve`] on standard input and output, dying with its parent.
///
/// # Errors
/// As [`serve`].
pub fn worker() -> Result<(), sys::Error> {
    let death = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(death)
        .map_err(|why| sys::Error::new("cannot ask to die with the parent process", why))?;
    serve(std::io::BufReader::new(std::io::stdin()), std::io::stdout())
}

/// Serves one trial, then waits for `bye` or the end of the input.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn serve(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<(), sys::Error> {
    let (sender, events) = channel();
    let lines = sender.clone();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            if lines.send(Event::Input(Some(line))).is_err() {
                return;
            }
        }
        let _ = lines.send(Event::Input(None));
    });
    let mut talk = Talk { output: &mut output, events: &events, gone: false };
    let Some(line) = talk.first_line() else { return Ok(()) };
    let message = match conduct(&line, sender, &mut talk) {
        Ok(message) => message,
        Err(Stopped::Engine(error)) => failed(error),
        Err(Stopped::Parent) => return Ok(()),
        Err(Stopped::Mute(why)) => return Err(why),
    };
    talk.say(&message)?;
    talk.wait_for_bye();
    Ok(())
}

/// Why there is no result.
enum Stopped {
    /// The trial failed.
    Engine(Error),
    /// The parent is gone, or does not want a result.
    Parent,
    /// The parent cannot be told anything.
    Mute(sys::Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Engine(error)
    }
}

impl From<sys::Error> for Stopped {
    fn from(error: sys::Error) -> Stopped {
        Stopped::Mute(error)
    }
}

fn failed(error: Error) -> Message {
    let (kind, what) = match error {
        Error::Unsupported(what) => (Failure::Unsupported, what),
        Error::Failed(what) => (Failure::Failed, what),
        Error::Hung(what) => (Failure::Hung, what),
        Error::Interrupted => (Failure::Failed, "the trial was stopped".to_owned()),
    };
    Message::Failed { kind, what }
}

/// Both ways to the parent, and the streams' way to the controller.
struct Talk<'a> {
    output: &'a mut dyn Write,
    events: &'a Receiver<Event>,
    /// The parent's end of the input was closed, or it said `bye`.
    gone: bool,
}

impl Talk<'_> {
    fn say(&mut self, message: &Message) -> Result<(), sys::Error> {
        let broken = |why: &dyn std::fmt::Display| {
            sys::Error::new("cannot talk to the process that started this worker", why)
        };
        let mut line = serde_json::to_string(message).map_err(|why| broken(&why))?;
        line.push('\n');
        let written = self.output.write_all(line.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|why| broken(&why))
    }

    fn first_line(&mut self) -> Option<String> {
        loop {
            match self.events.recv().ok()? {
                Event::Input(line) => return line,
                _ => continue,
            }
        }
    }

    /// Waits for `go`; false when the parent wants to stop instead.
    fn wait_for_go(&mut self) -> bool {
        loop {
            match self.events.recv() {
                Ok(Event::Input(Some(line))) => match Command::parse(&line) {
                    Some(Command::Go) => return true,
                    Some(Command::Stop) => return false,
                    Some(Command::Bye) => {
                        self.gone = true;
                        return false;
                    }
                    None => {}
                },
                Ok(Event::Input(None)) | Err(_) => {
                    self.gone = true;
                    return false;
                }
                Ok(_) => {}
            }
        }
    }

    fn wait_for_bye(&mut self) {
        while !self.gone {
            match self.events.recv() {
                Ok(Event::Input(Some(line))) => self.gone = line.trim() == Command::Bye.word(),
                Ok(Event::Input(None)) | Err(_) => self.gone = true,
                Ok(_) => {}
            }
        }
    }
}

/// A trial whose threads stand at the gate.
struct Ready {
    trial: Arc<Trial>,
    threads: Vec<JoinHandle<Option<Yield>>>,
    prepared: Prepared,
}

/// The whole trial, from the first line to its result.
fn conduct(line: &str, sender: Sender<Event>, talk: &mut Talk<'_>) -> Result<Message, Stopped> {
    let spec: LoadSpec = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker is to do: {why}")))?;
    let ready = prepare(&spec, sender, talk)?;
    let shared = &ready.trial.shared;
    talk.say(&Message::Prepared(ready.prepared.clone()))?;
    if !talk.wait_for_go() {
        shared.open_gate(Gate::Quit);
        return Err(Stopped::Parent);
    }
    let mut watched = watch::load(&ready.trial, talk)?;
    let second = match watched.stopped_early {
        true => None,
        false => second::pass(&ready, &mut watched, talk)?,
    };
    shared.open_gate(Gate::Quit);
    let yields: Option<Vec<Yield>> =
        ready.threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
    if let Some((kind, what)) = shared.marks().failure {
        return Err(kind.error(what).into());
    }
    let yields = yields
        .ok_or_else(|| Error::Failed("a stream's thread ended without a result".to_owned()))?;
    let result = outcome::gather(&ready.trial, ready.prepared, watched, yields, second)?;
    Ok(Message::Result(Box::new(result)))
}

/// Opens files, starts threads and waits until all of them are ready.
fn prepare(spec: &LoadSpec, sender: Sender<Event>, talk: &mut Talk<'_>) -> Result<Ready, Stopped> {
    let (mut job, mut notes) = Job::new(spec)?;
    if job.engine == IoEngine::Uring {
        fall_back(&mut job, &mut notes)?;
    }
    let most = spec.streams.iter().map(Vec::len).max().unwrap_or(0);
    limits::check(&job, &Host::live(), most as u64)?;
    let cpus = job.pinning.cpus()?;
    let opened = files::open(&job, &spec.streams)?;
    check_polling(&job, &opened.streams)?;
    let streams = spec.streams.len();
    let trial = Arc::new(Trial {
        shared: Shared::new(streams, job.block_bytes, job.sustained, sender),
        files: opened.streams,
        memory_align: opened.memory_align,
        cpus,
        second: std::sync::OnceLock::new(),
        job,
    });
    let mut prepared = opened.prepared;
    prepared.notes.splice(0..0, notes);
    let threads = start(&trial)?;
    let ready = Ready { trial, threads, prepared };
    wait_until_ready(&ready, streams, talk)?;
    Ok(ready)
}

fn start(trial: &Arc<Trial>) -> Result<Vec<JoinHandle<Option<Yield>>>, Error> {
    let streams = trial.files.len();
    let mut threads = Vec::with_capacity(streams);
    for index in 0..streams {
        let own = trial.clone();
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        match builder.name(format!("stream{index}")).spawn(move || run(&own, index)) {
            Ok(thread) => threads.push(thread),
            Err(why) => {
                trial.shared.open_gate(Gate::Quit);
                return Err(Error::Unsupported(format!(
                    "cannot start the thread of stream {} of {streams}: {why}; streams={index} \
                     would work",
                    index + 1
                )));
            }
        }
    }
    Ok(threads)
}

fn wait_until_ready(ready: &Ready, streams: usize, talk: &mut Talk<'_>) -> Result<(), Stopped> {
    let shared = &ready.trial.shared;
    let mut waiting = streams;
    while waiting > 0 {
        match talk.events.recv() {
            Ok(Event::Ready) => waiting -= 1,
            Ok(Event::Failed) => {
                shared.open_gate(Gate::Quit);
                let (kind, what) = shared
                    .marks()
                    .failure
                    .unwrap_or((Failure::Failed, "a stream failed while it was set up".to_owned()));
                return Err(kind.error(what).into());
            }
            Ok(Event::Input(Some(line))) if Command::parse(&line).is_none() => {}
            Ok(Event::Input(_)) | Err(_) => {
                talk.gone = true;
                shared.open_gate(Gate::Quit);
                return Err(Stopped::Parent);
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Where the kernel refuses io_uring, as RHEL 9 and containers do, io_submit serves, and says so.
fn fall_back(job: &mut Job, notes: &mut Vec<Note>) -> Result<(), Error> {
    let Some(why) = super::backend::ring::refusal() else { return Ok(()) };
    if job.poll || job.nop {
        return Err(Error::Unsupported(format!("this needs io_uring, which is refused ({why})")));
    }
    job.engine = IoEngine::Aio;
    notes.push(Note::new(
        "io-engine",
        format!("io_uring is refused here ({why}): io_submit was used, which costs more CPU."),
    ));
    Ok(())
}

/// IOPOLL on a device without poll queues never completes.
fn check_polling(job: &Job, streams: &[files::StreamFiles]) -> Result<(), Error> {
    if !job.poll {
        return Ok(());
    }
    let host = Host::live();
    for (file, path) in streams.iter().flat_map(|stream| stream.files.iter().zip(&stream.paths)) {
        if direct::has_poll_queues(&host, file) != Some(true) {
            return Err(Error::Unsupported(format!(
                "the device under {} has no poll queues (queue/io_poll is not 1), where polled \
                 I/O hangs for ever; leave poll=false, or give the driver poll queues",
                path.display()
            )));
        }
    }
    Ok(())
}
