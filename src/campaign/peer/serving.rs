//! The end that is asked: settings of this machine that another machine's trials want, for as long
//! as `brickyard receive --allow-knobs` runs.
//!
//! One thread has the journal and all that is changed. Whoever calls asks it over a channel, and it
//! puts everything back when it is told to end, whatever the callers do.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::campaign::apply::{Applier, preview};
use engines::fleet::setting::{Changes, InForce};
use experiment::knob::Settings;
use experiment::measurement::Note;
use host::journal::UndoOutcome;
use host::sys::{Error, Host};

/// What the thread is asked, with where it answers.
enum SettingsRequest {
    Check(Settings, Sender<Result<(), Error>>),
    Set(Settings, Sender<Result<InForce, Error>>),
    Look(Sender<Vec<Note>>),
    Back(Sender<Vec<String>>),
    End,
}

/// A way to ask it.
#[derive(Clone, Debug)]
pub struct Serving(Sender<SettingsRequest>);

/// The thread that has this machine's settings as a peer wants them; all is put back when this is
/// dropped.
#[derive(Debug)]
pub struct PeerSettingsThread {
    serving: Serving,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl PeerSettingsThread {
    /// Begins, with nothing changed; what is, is noted in the journal at `path` first.
    ///
    /// # Errors
    /// When the kernel starts no thread.
    pub fn start(path: &Path) -> Result<PeerSettingsThread, Error> {
        let (sender, requests) = channel();
        let path = path.to_owned();
        let builder = std::thread::Builder::new().name("settings".to_owned());
        let thread = builder
            .spawn(move || work(path, &requests))
            .map_err(|why| Error::new("cannot start a thread for settings", why))?;
        Ok(PeerSettingsThread { serving: Serving(sender), thread: Some(thread) })
    }

    /// For whoever talks to a caller.
    pub fn serving(&self) -> Serving {
        self.serving.clone()
    }

    /// Puts everything back; says what could not be.
    pub fn end(mut self) -> Vec<String> {
        self.join()
    }

    fn join(&mut self) -> Vec<String> {
        let _ = self.serving.0.send(SettingsRequest::End);
        let Some(thread) = self.thread.take() else { return Vec::new() };
        thread.join().unwrap_or_else(|_| vec!["settings may not be back".to_owned()])
    }
}

impl Drop for PeerSettingsThread {
    fn drop(&mut self) {
        self.join();
    }
}

fn work(path: PathBuf, requests: &Receiver<SettingsRequest>) -> Vec<String> {
    let host = Host::live();
    let mut applier = Applier::new(&host, &path, "peer");
    // One that asks and is gone needs no answer.
    for request in requests {
        match request {
            SettingsRequest::Check(asked, answer) => {
                drop(answer.send(preview::check(&host, [&asked].into_iter(), &[])));
            }
            SettingsRequest::Set(asked, answer) => {
                let notes = applier.apply(&asked, &[]);
                let set = notes.map(|notes| InForce { values: applier.in_force(), notes });
                drop(answer.send(set));
            }
            SettingsRequest::Look(answer) => drop(answer.send(applier.after())),
            SettingsRequest::Back(answer) => drop(answer.send(restore(&mut applier))),
            SettingsRequest::End => break,
        }
    }
    restore(&mut applier)
}

fn restore(applier: &mut Applier<'_>) -> Vec<String> {
    let mut said = applier.restore(&mut |_| {});
    said.retain(UndoOutcome::is_left);
    said.iter().map(UndoOutcome::to_string).collect()
}

impl Serving {
    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> SettingsRequest) -> Result<T, Error> {
        let (sender, answer) = channel();
        let ended = || Error::new("cannot change settings", "`brickyard receive` is ending");
        self.0.send(request(sender)).map_err(|_| ended())?;
        answer.recv().map_err(|_| ended())
    }
}

impl Changes for Serving {
    fn check(&self, asked: Settings) -> Result<(), Error> {
        self.ask(|answer| SettingsRequest::Check(asked, answer))?
    }

    fn set(&self, asked: Settings) -> Result<InForce, Error> {
        self.ask(|answer| SettingsRequest::Set(asked, answer))?
    }

    fn look(&self) -> Vec<Note> {
        self.ask(SettingsRequest::Look).unwrap_or_default()
    }

    fn put_back(&self) -> Vec<String> {
        // Where the thread has ended all was put back, and what was not is told there.
        self.ask(SettingsRequest::Back).unwrap_or_default()
    }
}
