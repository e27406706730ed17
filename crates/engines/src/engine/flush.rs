//! Writes that are flushed one by one, with a log elsewhere of what was acknowledged: after a power
//! cut, a kill or an array's failure, the log and the files say whether anything of it was lost.
//!
//! What the log holds is the business of [`log`], reading the files against it of [`check`].

use std::path::{Path, PathBuf};

use crate::engine::clients;
use crate::engine::clients::worker::ClientEngine;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::supervise::{self, WorkerTask};
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::inventory;
use host::sys::filesystem::mount_identity;
use host::sys::workdir::folder_name;
use host::sys::{self, beneath};
use rustix::fs::{Access, Mode};
use rustix::io::Errno;

pub mod check;
mod client;
pub mod log;
#[cfg(test)]
mod tests;

use client::FlushLoad;

/// The engine `flush-test`.
pub struct FlushEngine;

impl Engine for FlushEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::FLUSH_TEST
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        clients::check(settings).map_err(clients::refused)?;
        FlushLoad::new(settings).map_err(clients::refused)?;
        usable(Path::new(settings.get(knob::FLUSH_LOG)))?;
        match settings.get(knob::FLUSH_LOG_ANYWHERE) {
            true => Ok(()),
            false => elsewhere(settings),
        }
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        // What was refused leaves nothing behind, which would be kept for a log that is not there.
        let log = Path::new(trial.settings.get(knob::FLUSH_LOG));
        usable(log).map_err(|error| Error::Failed(error.to_string()))?;
        let mut folders: Vec<PathBuf> = Vec::new();
        for work in context.work {
            folders.push(folder(work, trial)?);
        }
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

/// The folder of a trial, which stays.
fn folder(work: &Path, trial: &Trial) -> Result<PathBuf, Error> {
    let path = work.join(folder_name(trial.number));
    beneath::make_folder(&path, Mode::RWXU).map_err(|why| match why {
        Errno::EXIST => Error::Failed(format!(
            "{} holds what an interrupted trial wrote: `brickyard verify --flushed {}` reads it; \
             then begin anew without --resume",
            path.display(),
            trial.settings.get(knob::FLUSH_LOG)
        )),
        why => {
            let why = std::io::Error::from(why);
            Error::Failed(format!("cannot make {}: {why}", path.display()))
        }
    })?;
    Ok(path)
}

/// Refuses a log that could not be written, before anything is made for it: no file at all, a file
/// of something else, a place where none can be made.
fn usable(log: &Path) -> Result<(), sys::Error> {
    let failed = |why: &dyn sys::Cause| {
        let what = format!("cannot use the log {}", log.display());
        Err(sys::Error::new(what, why).hint(
            "flush-log= names a new file in a directory that you may write in, or a log of an \
             earlier trial",
        ))
    };
    let allowed =
        |path: &Path, access| rustix::fs::access(path, access).map_err(std::io::Error::from);
    match log.metadata() {
        Ok(there) if there.is_dir() => failed(&"it is a directory"),
        Ok(there) if !there.is_file() => failed(&"it is not a regular file"),
        Ok(there) => match allowed(log, Access::WRITE_OK | Access::READ_OK) {
            Err(why) => failed(&why),
            Ok(()) if there.len() > 0 && check::read_log(log).is_err() => {
                failed(&"it is a file of something else")
            }
            Ok(()) => Ok(()),
        },
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            let parent = log.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            match parent.metadata() {
                _ if log.is_symlink() => failed(&"it is a link that leads nowhere"),
                Err(why) => failed(&format!("{}: {why}", parent.display())),
                Ok(there) if !there.is_dir() => {
                    failed(&format!("{} is not a directory", parent.display()))
                }
                Ok(_) => allowed(parent, Access::WRITE_OK | Access::EXEC_OK)
                    .or_else(|why| failed(&format!("{}: {why}", parent.display()))),
            }
        }
        Err(why) => failed(&why),
    }
}

/// Refuses a log that a crash of the target would take along.
fn elsewhere(settings: &Settings) -> Result<(), sys::Error> {
    let log = Path::new(settings.get(knob::FLUSH_LOG));
    let log = std::path::absolute(log)
        .map_err(|why| sys::Error::new(format!("cannot use flush-log={}", log.display()), why))?;
    let parent = log.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let refused = |name: &str, why: String| {
        let what = format!("cannot keep the log of {name} in {}", log.display());
        Err(sys::Error::new(what, why).hint(
            "name a file on another device, or on another host whose directory is mounted here; \
             flush-log-anywhere=true when only processes will be killed",
        ))
    };
    let host = sys::Host::live();
    let log_device = mount_identity(parent)?.device;
    let log_disks = inventory::target(&host, parent).map(|it| it.disks).unwrap_or_default();
    for name in settings.directories() {
        if mount_identity(Path::new(name))?.device == log_device {
            let why = "both are on one file system, and what takes one takes the other";
            return refused(name, why.to_owned());
        }
        let disks = inventory::target(&host, Path::new(name)).map(|it| it.disks);
        if let Some(disk) = disks.unwrap_or_default().iter().find(|disk| log_disks.contains(disk)) {
            return refused(name, format!("both are on the disk {disk}"));
        }
    }
    Ok(())
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    talk::worker(|line, sender, talk| clients::worker::conduct(line, &clients(), sender, talk))
}

fn clients() -> ClientEngine<FlushLoad> {
    ClientEngine {
        name: FlushEngine.name(),
        make: FlushLoad::from_settings,
        needs: FlushLoad::needs,
        run: client::run,
    }
}
