//! The parent's side of a trial: which files, and what memory delivers beside them.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use super::protocol::LoadSpec;
use crate::engine::load::supervise::{self, WorkerTask};
use crate::engine::{Context, Error, FileIdentity};
use experiment::knob::{self, Settings};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use experiment::plan::files::files_of;
use facts::bare;
use host::bandwidth;
use host::sys::workdir::file_name;

/// Runs one trial in a worker process of its own.
///
/// # Errors
/// See [`Error`].
pub fn run(trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
    let order = WorkerTask::new(&spec(trial, context)?, &trial.settings)?;
    measured(&order, trial, context)
}

/// What a load on the files of a trial is to do.
///
/// # Errors
/// When it has no directory for one of them, or is to check one that was not laid out for that.
pub fn spec(trial: &Trial, context: &Context<'_>) -> Result<LoadSpec, Error> {
    let names = trial.settings.directories();
    let path = |(at, number): (usize, usize)| {
        let place = context.work.get(at).ok_or_else(|| {
            Error::Failed("cannot place a file: the trial names no directory".to_owned())
        })?;
        // A device stands for the file of each stream: see `file::files::device`.
        let is_device = names.get(at).is_some_and(|name| bare::is_device(name));
        Ok(if is_device { place.clone() } else { place.join(file_name(number)) })
    };
    let files = files_of(&trial.settings, trial.first_file);
    let streams: Result<Vec<Vec<_>>, Error> =
        files.into_iter().map(|of| of.into_iter().map(path).collect()).collect();
    let mut spec = LoadSpec::new(trial, context.campaign, streams?)?;
    spec.written = written(trial, context, &spec.streams)?;
    Ok(spec)
}

/// Runs that load, and what memory delivers beside it.
///
/// # Errors
/// See [`Error`].
pub fn measured(
    order: &WorkerTask,
    trial: &Trial,
    context: &mut Context<'_>,
) -> Result<Measurement, Error> {
    let mut measurement = supervise::run(order, context)?;
    measurement.evidence.copy_bytes_per_s = copy_rate(&trial.settings);
    measurement.evidence.memory_bytes_per_s = memory_rate(&trial.settings, context);
    Ok(measurement)
}

/// How the files of a trial that checks name themselves: those that it reads as they were laid out;
/// those that it writes by their stream and number, in generations that no trial before it had.
fn written(
    trial: &Trial,
    context: &Context<'_>,
    streams: &[Vec<PathBuf>],
) -> Result<Vec<Vec<FileIdentity>>, Error> {
    if !checks(&trial.settings) {
        return Ok(Vec::new());
    }
    let writes = trial.settings.only_writes();
    let one = |(path, file): (&PathBuf, u64)| match writes {
        true => Ok(FileIdentity { file, generation: first_generation(trial.number) }),
        false => (context.written)(path).ok_or_else(|| {
            let what = format!("cannot check {}: it was not laid out for that", path.display());
            Error::Failed(what)
        }),
    };
    let of = |(paths, stream): (&Vec<PathBuf>, u64)| {
        paths.iter().zip(stream << 32..).map(one).collect::<Result<Vec<_>, _>>()
    };
    streams.iter().zip(0..).map(of).collect()
}

/// Whether trials with these settings write and read blocks that are checked.
pub fn checks(settings: &Settings) -> bool {
    !matches!(settings.get(knob::VERIFY), "" | "off")
}

/// The generation of the blocks that a trial of this number writes in its first round; each round
/// has the next one.
pub fn first_generation(number: u32) -> u64 {
    u64::from(number) << 32
}

/// What one core copies, measured once, for trials that may read from memory.
fn copy_rate(settings: &Settings) -> Option<f64> {
    const AT_MOST: Duration = Duration::from_millis(200);
    static RATE: OnceLock<Option<f64>> = OnceLock::new();
    let buffered = !settings.get(knob::DIRECT) && settings.only_reads();
    if buffered { *RATE.get_or_init(|| bandwidth::copy_rate(AT_MOST)) } else { None }
}

/// What memory delivers to all cores, measured once, for trials in which several streams read what
/// is in memory: one alone is at the limit of its core first.
fn memory_rate(settings: &Settings, context: &Context<'_>) -> Option<f64> {
    let several = settings.number(knob::STREAMS) > 1.0;
    let from_memory = several && !settings.get(knob::DIRECT) && !settings.get(knob::COLD);
    let measured = (from_memory && settings.only_reads())
        .then(|| bandwidth::once(context.host, context.stop))?;
    measured?.read_bytes_per_s()
}
