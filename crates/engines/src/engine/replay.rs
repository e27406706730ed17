//! The load of a file server, replayed from a loadfile of dbench.
//!
//! The loadfile is read and checked whole before anything is made (`loadfile`, `program`); the
//! worker's threads (`client`) then do its operations over and over, each in a folder of its own
//! (`disk`). Warm-up, window, samples and worker are those of [`super::clients`].

use std::path::Path;

use crate::engine::clients;
use crate::engine::clients::worker::{ClientEngine, Needs};
use crate::engine::file::job;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve};
use base::value::Stop;
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;
use host::sys::input::LOADFILE;

mod client;
pub mod disk;
pub mod loadfile;
mod own;
pub mod program;
pub mod wildcard;

use client::ReplayLoad;
use disk::ReplayOptions;
use program::Program;

/// What a client keeps of each path besides its text, which it has three times, bytes.
const NAME_BYTES: usize = 96;

/// The engine `replay`.
pub struct ReplayEngine;

impl Engine for ReplayEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::REPLAY
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        clients::check(settings).map_err(clients::refused)?;
        program(settings).map(|_| ())
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        clients::run(trial, context)
    }
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    let clients = ClientEngine { name: ReplayEngine.name(), make, needs, run: client::run };
    talk::worker(|line, sender, talk| clients::worker::conduct(line, &clients, sender, talk))
}

fn make(settings: &Settings, _: &LoadSpec) -> Result<(ReplayLoad, Vec<Note>), Error> {
    let loadfile = settings.get(knob::LOADFILE);
    let program = program(settings).map_err(|why| Error::Failed(format!("{why}")))?;
    let manner = ReplayOptions {
        resolve_names: settings.get(knob::RESOLVE_NAMES),
        sync_open: settings.get(knob::SYNC_OPEN),
        sync_writes: settings.get(knob::SYNC_WRITES),
        sync_directories: settings.get(knob::SYNC_DIRECTORIES),
    };
    let work = ReplayLoad { program, name: loadfile.to_owned(), manner, data: job::data(settings) };
    Ok((work, Vec::new()))
}

fn needs(work: &ReplayLoad) -> Needs {
    let program = &work.program;
    let source = clients::source::pool_bytes(program.size_max);
    let paths: usize = program.paths.iter().map(|path| 3 * path.len() + NAME_BYTES).sum();
    Needs {
        memory_bytes: (source + program.size_max + paths) as u64,
        kinds: program.kinds().len() as u64,
        descriptors: program.slots as u64 + 1,
        room: program.room,
        hint: "lower streams, or take a smaller loadfile",
    }
}

/// Reads the loadfile and makes it ready.
fn program(settings: &Settings) -> Result<Program, sys::Error> {
    let loadfile = settings.get(knob::LOADFILE);
    let text = match loadfile {
        own::NAME => own::text(),
        path => LOADFILE.text(Path::new(path))?,
    };
    let what = || format!("cannot replay {loadfile}");
    let wrong = |wrong: loadfile::LoadfileError| {
        sys::Error::new(what(), wrong.to_string())
            .hint("a loadfile is as dbench's: /usr/share/dbench/client.txt")
    };
    let program = Program::new(loadfile::parse(&text).map_err(wrong)?).map_err(wrong)?;
    if let (Stop::Bytes(_), 0) = (settings.stop(), program.bytes) {
        let why = "it reads and writes no bytes, of which so many were to end the trial";
        return Err(sys::Error::new(what(), why).hint("choose a time, as stop=60s, or stop=pass"));
    }
    Ok(program)
}

#[cfg(test)]
mod tests;
