//! The folders that a trial's streams work in: made before it, one a directory, and removed after
//! it with all that is in them.

use std::path::PathBuf;

use super::protocol::LoadSpec;
use super::supervise::{self, WorkerTask};
use crate::engine::{Context, Error};
use experiment::knob;
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use host::sys;
use host::sys::workdir::{make_folder, remove_folder};

fn failed(error: sys::Error) -> Error {
    Error::Failed(format!("{error}"))
}

/// Runs a trial by the worker that `brickyard ARGUMENT` is; streams are dealt to several folders in
/// turn.
///
/// # Errors
/// See [`Error`].
pub fn run(trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
    let measured = measure(trial, context);
    if matches!(measured, Err(Error::Hung(_))) {
        // Whoever looks into a place that hangs, hangs as well.
        return measured;
    }
    let mut left = Vec::new();
    for directory in context.work {
        left.extend(remove_folder(directory, trial.number).err());
    }
    match (measured, left.into_iter().next()) {
        (Ok(_), Some(error)) => Err(failed(error)),
        (measured, _) => measured,
    }
}

fn measure(trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for directory in context.work {
        folders.push(make_folder(directory, trial.number).map_err(failed)?);
    }
    if folders.is_empty() {
        return Err(Error::Failed("cannot place a file: the trial names no directory".to_owned()));
    }
    let streams = trial.settings.get(knob::STREAMS) as usize;
    let streams = (0..streams).map(|n| vec![folders[n % folders.len()].clone()]).collect();
    let spec = LoadSpec::new(trial, context.campaign, streams)?;
    supervise::run(&WorkerTask::new(&spec, &trial.settings)?, context)
}
