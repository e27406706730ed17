//! What a trial asks, where it can be done here.

use super::job::{Job, of_files};
use super::{files, place};
use crate::engine::Error;
use experiment::knob::{self, Settings};

/// Reads it.
///
/// # Errors
/// `Unsupported` for what this engine or this machine cannot honour, with what would work.
pub fn job(settings: &Settings, seed: u64) -> Result<Job, Error> {
    let job = Job::new(settings, seed)?;
    place::check(&job)?;
    match of_files(settings) {
        true => {
            // As it is written: another machine may ask for one that is not known here.
            let access = settings.named(knob::ACCESS.name).map(ToString::to_string);
            let (access, depth) = (access.unwrap_or_default(), settings.get(knob::QUEUE_DEPTH));
            let checks = !matches!(settings.get(knob::VERIFY), "" | "off");
            files::refuse(&job, &access, settings.get(knob::DIRECT), depth, checks)?;
        }
        false => job.check_path()?,
    }
    Ok(job)
}
