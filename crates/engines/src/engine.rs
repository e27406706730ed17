//! Runs one trial and returns one measurement, one file each.
//!
//! A new engine is a file beside this one and a line in [`ENGINES`]. An engine measures; it does
//! not store, judge or print.

use std::path::{Path, PathBuf};
use std::time::Duration;

use experiment::knob::{EngineKind, Settings};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use experiment::progress::Progress;
use host::sys::child::Worker;
use host::sys::signal::Stop;
use host::sys::{self, Host};

mod clients;
pub mod command;
mod database;
pub mod concat;
pub mod file;
pub mod flush;
pub mod integrity;
pub mod load;
mod local_nfs;
mod mail;
pub mod net;
pub mod replay;
mod sim;
mod tree;
pub mod tool;

/// Something that can run a trial.
pub trait Engine: Sync {
    /// What is known of it before it runs.
    fn kind(&self) -> &'static EngineKind;
    /// As typed after `--engine`.
    fn name(&self) -> &'static str {
        self.kind().name
    }
    /// Whether a trial with these settings can run here, before anything is made for it.
    ///
    /// # Errors
    /// With what is wrong and what would work.
    fn check(&self, settings: &Settings) -> Result<(), sys::Error>;
    /// How its worker is served: the process `brickyard worker NAME`, which runs the load of one
    /// trial; `None` of an engine that runs in ours.
    fn worker(&self) -> Option<Serve>;
    /// Runs one trial.
    ///
    /// # Errors
    /// See [`Error`]; a trial that cannot be honoured exactly is never replaced by another.
    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error>;
}

/// Serves one trial over standard input and output, to its end. An error is that the parent cannot
/// be told: a trial that fails is told to it.
pub type Serve = fn() -> Result<(), sys::Error>;

/// What an engine is given besides the trial.
pub struct Context<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The marked directories in which files may be made, one a directory of the trial.
    pub work: &'a [PathBuf],
    /// Stamped into every block that is written.
    pub campaign: u64,
    /// How the blocks of a file that was laid out name themselves, where they do.
    pub written: &'a dyn Fn(&Path) -> Option<FileIdentity>,
    /// Told of what happens, several times a second.
    pub progress: &'a mut dyn FnMut(Progress),
    /// Puts the load's process where the trial wants it (control group, CPUs). To be asked before
    /// its first byte; when it fails the trial is not run.
    pub place: &'a dyn Fn(u32) -> Result<(), sys::Error>,
    /// Set when the user wants to stop.
    pub stop: &'a Stop,
}

/// Whoever ends all processes of a service may end the load before us: then it has not failed.
const ALL_AT_ONCE: Duration = Duration::from_millis(200);

impl Context<'_> {
    /// Puts the load's process where the trial wants it, before its first byte.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the kernel does not take it there. One that somebody has ended
    /// meanwhile is nowhere, which is no reason to skip the trial.
    pub fn put(&self, worker: &mut Worker) -> Result<(), Error> {
        let Err(error) = (self.place)(worker.pid()) else { return Ok(()) };
        match worker.has_ended() {
            true => Err(self.ended("the load's process was ended before it began")),
            false => Err(Error::Unsupported(format!("{error}"))),
        }
    }

    /// What a load's end without a result means: it was interrupted with us, or it has failed.
    pub fn ended(&self, why: &str) -> Error {
        match self.stop.asked_within(ALL_AT_ONCE) {
            true => Error::Interrupted,
            false => Error::Failed(why.to_owned()),
        }
    }
}

/// Why a trial has no measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Cannot be done here: the trial is skipped, not failed, and not replaced.
    Unsupported(String),
    /// Was tried, and failed, with the kernel's words.
    Failed(String),
    /// Its load hangs in the kernel, where no signal reaches it: it was left behind, and nothing
    /// must touch what it hangs on. With where it hangs.
    Hung(String),
    /// The user stopped it.
    Interrupted,
}

/// In the order of the reference.
pub const ENGINES: &[&dyn Engine] = &[
    &file::FileEngine,
    &integrity::IntegrityEngine,
    &flush::FlushEngine,
    &tree::TreeEngine,
    &replay::ReplayEngine,
    &mail::MailEngine,
    &database::DatabaseEngine,
    &net::NetEngine,
    &net::NetFileEngine,
    &net::NetUdpEngine,
    &command::CommandEngine,
    &concat::ConcatEngine,
    &tool::FIO,
    &tool::BONNIE,
    &tool::IOZONE,
    &tool::DBENCH,
    &tool::SYSBENCH,
    &tool::IOR,
    &tool::MDTEST,
    &tool::ELBENCHO,
    &tool::PgbenchEngine,
    &sim::SimEngine,
];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}

pub use load::protocol::FileIdentity;
pub use net::attend;
#[cfg(any(test, feature = "testing"))]
pub use sim::testing;

#[cfg(test)]
mod tests;
