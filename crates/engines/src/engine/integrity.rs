//! Data that is written, read back and written over for hours or weeks, every block of it checked.
//!
//! Each stream writes its file, flushes it, drops it from memory, reads it in order and at random,
//! and writes a random part of it over with the next generation, again and again. What must be in a
//! block is a function of the generation ([`base::pattern::generation`]); where a stream stands is
//! kept beside its file ([`state`]), so that the next trial, and the next boot, goes on from there.
//! What is done with a wrong block is the business of [`super::load::suspect`].

use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::engine::clients;
use crate::engine::clients::worker::ClientEngine;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::supervise::{self, WorkerTask};
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys::workdir::folder_name;
use host::sys::{self, beneath};

pub mod data;
pub mod state;
mod stream;
#[cfg(test)]
mod tests;
mod work;

use work::IntegrityLoad;

/// The engine `integrity`.
pub struct IntegrityEngine;

impl Engine for IntegrityEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::INTEGRITY
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        clients::check(settings).map_err(clients::refused)?;
        IntegrityLoad::new(settings, 0).map(|_| ()).map_err(clients::refused)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let folders: Vec<PathBuf> =
            context.work.iter().map(|work| folder(work)).collect::<Result<_, _>>()?;
        if folders.is_empty() {
            let why = "cannot place a file: the trial names no directory";
            return Err(Error::Failed(why.to_owned()));
        }
        let streams = trial.settings.get(knob::STREAMS) as usize;
        let streams = (0..streams).map(|n| vec![folders[n % folders.len()].clone()]).collect();
        let spec = LoadSpec::new(trial, context.campaign, streams)?;
        supervise::run(&WorkerTask::new(&spec, &trial.settings)?, context)
    }
}

/// The folder of all trials in a work directory: no trial has the number 0.
fn folder(work: &Path) -> Result<PathBuf, Error> {
    let path = work.join(folder_name(0));
    match beneath::make_folder(&path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(path),
        Err(why) => {
            let why = std::io::Error::from(why);
            Err(Error::Failed(format!("cannot make {}: {why}", path.display())))
        }
    }
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    talk::worker(|line, sender, talk| clients::worker::conduct(line, &clients(), sender, talk))
}

fn clients() -> ClientEngine<IntegrityLoad> {
    ClientEngine {
        name: IntegrityEngine.name(),
        make: |settings, spec| Ok((IntegrityLoad::from_settings(settings, spec)?, Vec::new())),
        needs: IntegrityLoad::needs,
        run: stream::run,
    }
}
