//! TCP from memory to memory, both ends on this machine and on one clock.
//!
//! The ends are threads of one worker process, a sender and a receiver a stream; what lies between
//! them is the business of `wire`: two network namespaces that a veth pair joins, an existing
//! namespace, or loopback. What `job` reads from the settings, `endpoint` does, and `runner` lets
//! it go; `watch` samples both ends beside them. The figure is of bytes that the receivers got;
//! [`super::load`] has the window. Of two machines `local_end` calls and `remote_end` is called.

use crate::engine::clients::refused;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::supervise::{self, WorkerTask};
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve, file};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys;

mod again;
mod asked;
mod both;
mod checked;
mod due;
mod endpoint;
mod files;
mod half;
mod job;
mod local_end;
mod needs;
mod outcome;
pub mod peer_protocol;
mod place;
mod remote_end;
mod ring;
mod runner;
mod served;
mod socket;
mod udp;
mod watch;
mod wire;
pub mod work;
mod worker;

pub use remote_end::attend;

/// The engines' names.
const MEMORY: &str = "net";
const FILES: &str = "net-file";
const DATAGRAMS: &str = "net-udp";

/// The engine `net`.
pub struct NetEngine;

/// The engine `net-file`.
pub struct NetFileEngine;

/// The engine `net-udp`.
pub struct NetUdpEngine;

impl Engine for NetEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::NET
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        asked::job(settings, 0).map(|_| ()).map_err(refused)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let streams = trial.settings.get(knob::STREAMS) as usize;
        let spec = LoadSpec::new(trial, context.campaign, vec![Vec::new(); streams])?;
        supervise::run(&WorkerTask::new(&spec, &trial.settings)?, context)
    }
}

impl Engine for NetFileEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::NET_FILE
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        asked::job(settings, 0).map_err(refused)?;
        file::FileEngine.check(settings)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let spec = file::supervise::spec(trial, context)?;
        let order = WorkerTask::new(&spec, &trial.settings)?;
        file::supervise::measured(&order, trial, context)
    }
}

impl Engine for NetUdpEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::NET_UDP
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        asked::job(settings, 0).map(|_| ()).map_err(refused)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        NetEngine.run(trial, context)
    }
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    talk::worker(worker::conduct)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two;
