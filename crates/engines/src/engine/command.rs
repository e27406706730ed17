//! Any program, timed, so many copies of it at once.
//!
//! The copies run below a worker process ([`mod@worker`]) that starts them, lets them go at once,
//! keeps up the load and takes the kernel's account of each; what the machine counted meanwhile is
//! the business of the process that started the worker ([`supervise`]).

use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys::{self, held};

mod copies;
mod end;
pub mod extract;
pub mod fill;
mod hint;
mod job;
mod output;
pub mod protocol;
mod server;
mod supervise;
mod worker;

pub use output::KEPT_BYTES;
pub use protocol::{CommandSpec, ProgramStart, Server, ServerReadiness};
pub use supervise::run as measure;
pub use worker::worker;

/// The engine `command`.
pub struct CommandEngine;

impl Engine for CommandEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::COMMAND
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        let places: Vec<String> = match settings.directories() {
            [] => vec!["/".to_owned()],
            // On a plan's disks nobody knows yet where the directory will be.
            some => some.iter().map(|name| format!("/{}", name.trim_start_matches('/'))).collect(),
        };
        let spec = job::spec(settings, &places)?;
        let served = spec.server.iter().flat_map(|one| {
            let probe = match &one.ready {
                ServerReadiness::Succeeds(probe) => Some(probe),
                ServerReadiness::Says(_) => None,
            };
            [Some(&one.start), probe]
        });
        let starts = spec.copies.iter().take(1).chain(&spec.prepare).chain(&spec.cleanup);
        let starts = starts.chain(served.flatten());
        // What lies in the trial's own directory may be made by `prepare`.
        let anywhere = |word: &&String| !word.contains('/');
        starts
            .filter_map(|start| start.words.first())
            .filter(anywhere)
            .try_for_each(|program| held::check_program(program))
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let mut spec = |places: &[String]| {
            job::spec(&trial.settings, places).map_err(|refusal| Error::Failed(refusal.why))
        };
        let mut measured = supervise::run(trial, context, &mut spec)?;
        if let (Some(each), Some(programs)) = (copy_bytes(&trial.settings), &mut measured.programs)
        {
            programs.know_of_files(each);
        }
        Ok(measured)
    }
}

/// Bytes of files that every run reads, where that is known.
fn copy_bytes(settings: &Settings) -> Option<u64> {
    settings.get(knob::COPY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    /// A plan of disks was refused when it had a program: "`target` is not an absolute path".
    #[test]
    fn a_program_may_run_where_no_directory_is_yet() {
        let mut settings = settings("command", &[("command", "true {directory}")]);
        for name in ["target", "/srv/a"] {
            settings.set(knob::DIRECTORIES, &[name.to_owned()]);
            assert_eq!(CommandEngine.check(&settings).map_err(|error| error.to_string()), Ok(()));
        }
    }
}
