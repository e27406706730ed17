//! Any program, timed, so many copies of it at once.
//!
//! The copies run below a worker process ([`serve`]) that starts them, lets them go at once, keeps
//! up the load and takes the kernel's account of each; what the machine counted meanwhile is the
//! business of the process that started the worker ([`supervise`]).

use crate::engine::{Context, Engine, Error};
use crate::knob::Settings;
use crate::measurement::Measurement;
use crate::plan::Trial;
use crate::sys::{self, held};

mod copies;
mod extract;
mod fill;
mod hint;
mod job;
mod output;
mod protocol;
mod serve;
mod supervise;

pub use serve::worker;

/// The engine `command`.
pub struct Command;

impl Engine for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "Any program, timed, so many copies at once; its output is kept and read"
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        let places: Vec<String> = match settings.directories() {
            [] => vec!["/".to_owned()],
            some => some.to_vec(),
        };
        let spec = job::spec(settings, &places)?;
        let starts = spec.copies.iter().take(1).chain(&spec.prepare).chain(&spec.cleanup);
        // What lies in the trial's own directory may be made by `prepare`.
        let anywhere = |word: &&String| !word.contains('/');
        starts
            .filter_map(|start| start.words.first())
            .filter(anywhere)
            .try_for_each(|program| held::check_program(program))
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        supervise::run(trial, context)
    }
}
