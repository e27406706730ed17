//! The worker's side of the talk with its parent.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::control::{Gate, LoadControl, LoadEvent};
use super::protocol::{Failure, WorkerCommand, WorkerDirectories, WorkerMessage};
use crate::engine::Error;
use host::sys::{self, beneath};

/// Stack of a stream's thread; it calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

/// What a trial came to: its last message, or why there is none.
pub type ConductResult = Result<WorkerMessage, NoLoadResult>;
/// Whether the parent could be told something.
pub type NotifyResult = Result<(), sys::Error>;

/// The worker process: as [`serve`] on standard input and output, dying with its parent.
///
/// # Errors
/// As [`serve`].
pub fn worker(
    conduct: impl FnOnce(&str, Sender<LoadEvent>, &mut ParentTalk<'_>) -> ConductResult,
) -> NotifyResult {
    let death = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(death).map_err(|why| {
        sys::Error::new("cannot ask to die with the parent process", std::io::Error::from(why))
    })?;
    let held = |line: &str, sender: Sender<LoadEvent>, talk: &mut ParentTalk<'_>| {
        hold(line)?;
        conduct(line, sender, talk)
    };
    serve(std::io::BufReader::new(std::io::stdin()), std::io::stdout(), held)
}

/// Holds the directories that this worker is to work in, and opens nothing of a load elsewhere.
fn hold(line: &str) -> Result<(), Error> {
    let told: WorkerDirectories = serde_json::from_str(line)
        .map_err(|why| Error::Failed(format!("cannot read what this worker may open: {why}")))?;
    let Some(named) = told.held else { return Ok(()) };
    beneath::only(&named).map_err(|error| Error::Failed(error.what))
}

/// Serves one trial, which `conduct` carries from its first line to its last message, then waits
/// for `bye` or the end of the input.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn serve(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    conduct: impl FnOnce(&str, Sender<LoadEvent>, &mut ParentTalk<'_>) -> ConductResult,
) -> NotifyResult {
    let (sender, events) = channel();
    let lines = sender.clone();
    std::thread::spawn(move || {
        for line in sys::input::lines(input) {
            if lines.send(LoadEvent::Input(Some(line))).is_err() {
                return;
            }
        }
        let _ = lines.send(LoadEvent::Input(None));
    });
    let mut talk = ParentTalk::new(&mut output, &events);
    let Some(line) = talk.first_line() else { return Ok(()) };
    let message = match conduct(&line, sender, &mut talk) {
        Ok(message) => message,
        Err(NoLoadResult::Engine(error)) => failed(error),
        Err(NoLoadResult::Parent) => return Ok(()),
        Err(NoLoadResult::Mute(why)) => return Err(why),
    };
    talk.say(&message)?;
    talk.wait_for_bye();
    Ok(())
}

/// Why a load has no result.
pub enum NoLoadResult {
    /// The trial failed.
    Engine(Error),
    /// The parent is gone, or does not want a result.
    Parent,
    /// The parent cannot be told anything.
    Mute(sys::Error),
}

impl From<Error> for NoLoadResult {
    fn from(error: Error) -> NoLoadResult {
        NoLoadResult::Engine(error)
    }
}

impl From<sys::Error> for NoLoadResult {
    fn from(error: sys::Error) -> NoLoadResult {
        NoLoadResult::Mute(error)
    }
}

/// What is said of a trial that failed.
pub fn failed(error: Error) -> WorkerMessage {
    let (kind, what) = match error {
        Error::Unsupported(what) => (Failure::Unsupported, what),
        Error::Failed(what) => (Failure::Failed, what),
        Error::Hung(what) => (Failure::Hung, what),
        Error::Interrupted => (Failure::Failed, "the trial was stopped".to_owned()),
    };
    WorkerMessage::Failed { kind, what }
}

/// Both ways to the parent, and the streams' way to the controller.
pub struct ParentTalk<'a> {
    output: &'a mut dyn Write,
    /// Lines of the parent, and what happens in the streams.
    pub events: &'a Receiver<LoadEvent>,
    /// The parent's end of the input was closed, or it said `bye`.
    pub gone: bool,
}

impl<'a> ParentTalk<'a> {
    /// With whoever reads `output`, and is heard as events.
    pub fn new(output: &'a mut dyn Write, events: &'a Receiver<LoadEvent>) -> ParentTalk<'a> {
        ParentTalk { output, events, gone: false }
    }
}

impl ParentTalk<'_> {
    /// Tells the parent.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn say(&mut self, message: &WorkerMessage) -> Result<(), sys::Error> {
        let broken = |why: &dyn sys::Cause| {
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
                LoadEvent::Input(line) => return line,
                _ => continue,
            }
        }
    }

    /// Waits for `go`; false when the parent wants to stop instead.
    pub fn wait_for_go(&mut self) -> bool {
        loop {
            match self.events.recv() {
                Ok(LoadEvent::Input(Some(line))) => match WorkerCommand::parse(&line) {
                    Some(WorkerCommand::Go) => return true,
                    Some(WorkerCommand::Stop) => return false,
                    Some(WorkerCommand::Bye) => {
                        self.gone = true;
                        return false;
                    }
                    None => {}
                },
                Ok(LoadEvent::Input(None)) | Err(_) => {
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
                Ok(LoadEvent::Input(Some(line))) => {
                    self.gone = line.trim() == WorkerCommand::Bye.word()
                }
                Ok(LoadEvent::Input(None)) | Err(_) => self.gone = true,
                Ok(_) => {}
            }
        }
    }
}

/// Waits until all streams stand at the gate.
///
/// # Errors
/// When one could not be set up, or the parent is gone or does not want the trial any more.
pub fn wait_until_ready(
    shared: &LoadControl,
    streams: usize,
    talk: &mut ParentTalk<'_>,
) -> Result<(), NoLoadResult> {
    let mut waiting = streams;
    while waiting > 0 {
        match talk.events.recv() {
            Ok(LoadEvent::Ready) => waiting -= 1,
            Ok(LoadEvent::Failed) => {
                shared.open_gate(Gate::Quit);
                let (kind, what) = shared
                    .marks()
                    .failure
                    .unwrap_or((Failure::Failed, "a stream failed while it was set up".to_owned()));
                return Err(kind.error(what).into());
            }
            Ok(LoadEvent::Input(Some(line))) if WorkerCommand::parse(&line).is_none() => {}
            Ok(LoadEvent::Input(_)) | Err(_) => {
                talk.gone = true;
                shared.open_gate(Gate::Quit);
                return Err(NoLoadResult::Parent);
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Starts one thread a stream, which is given its number.
///
/// # Errors
/// When the kernel starts no more threads; those that were started are let go.
pub fn start<Y: Send + 'static>(
    shared: &LoadControl,
    streams: usize,
    run: impl Fn(usize) -> Option<Y> + Clone + Send + 'static,
) -> Result<Vec<JoinHandle<Option<Y>>>, Error> {
    let mut threads = Vec::with_capacity(streams);
    for index in 0..streams {
        let own = run.clone();
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        match builder.name(format!("stream{index}")).spawn(move || own(index)) {
            Ok(thread) => threads.push(thread),
            Err(why) => {
                shared.open_gate(Gate::Quit);
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
