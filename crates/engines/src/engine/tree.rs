//! Names: files and directories made, asked for, renamed, linked and removed.
//!
//! The load runs in a worker process ([`mod@worker`]), as that of the engine `file` does; what both
//! have in common is `load`. Calls are those that take a directory's handle and a name (openat(2),
//! unlinkat(2) ...), and all names are made beforehand: no path is walked and no text is made while
//! the clock runs.

use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys;

mod act;
mod content;
mod entry;
mod job;
mod lane;
mod outcome;
mod place;
mod supervise;
mod trial;
mod verify;
mod worker;

pub use worker::worker;

/// The engine `tree`.
pub struct TreeEngine;

impl Engine for TreeEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::TREE
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        job::TreeJob::from_settings(settings, 0, 0).map(|_| ()).map_err(|error| {
            let (Error::Unsupported(why) | Error::Failed(why) | Error::Hung(why)) = error else {
                return sys::Error::new("cannot run this", "it was stopped");
            };
            sys::Error::new("cannot run this", why)
                .hint("`brickyard list knobs` shows what each knob takes")
        })
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        supervise::run(trial, context)
    }
}

#[cfg(test)]
mod tests;
