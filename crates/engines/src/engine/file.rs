//! Files, by io_uring, io_submit, pread and pwrite, or a memory map.
//!
//! The load runs in a worker process ([`mod@worker`]) that speaks lines of JSON ([`protocol`]) with
//! the process that started it; counting what the kernel did meanwhile is that one's business.

use crate::engine::load::{control, protocol};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys;

mod address;
pub mod backend;
pub mod check;
pub mod files;
pub mod job;
pub mod lane;
mod stream;
pub mod supervise;
mod worker;

pub use address::Shuffle;
pub use backend::ring::refusal as ring_refusal;
pub use supervise::first_generation;
pub use worker::{worker, written};

/// The engine `file`.
pub struct FileEngine;

impl Engine for FileEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::FILE
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        job::check(settings).map_err(|error| {
            let (Error::Unsupported(why) | Error::Failed(why)) = error else {
                return sys::Error::new("cannot run this", "it was stopped");
            };
            // A refusal that knows what would work ends with it.
            match why.split_once("; streams=") {
                Some((why, rest)) => {
                    let number = rest.split(' ').next().unwrap_or_default();
                    sys::Error::new("cannot run this", why).hint(format!("streams={number}"))
                }
                None => sys::Error::new("cannot run this", why)
                    .hint("`brickyard list knobs` shows what each knob takes"),
            }
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
