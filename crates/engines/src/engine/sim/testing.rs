//! For tests alone: simulated trials and campaigns without a plan file or a store.

#![allow(clippy::unwrap_used, reason = "nothing but tests uses it")]

use super::{Context, Engine, Error, SimEngine};
use experiment::knob::{Settings, testing};
use experiment::measurement::{Measurement, Outcome, Record};
use experiment::plan::{self, Trial};
use host::sys::Host;
use host::sys::signal::Stop;

/// The defaults with some knobs changed, as one would type them.
pub fn settings(changes: &[(&str, &str)]) -> Settings {
    testing::settings("sim", changes)
}

/// One trial.
pub fn run(settings: &Settings, seed: u64) -> Result<Measurement, Error> {
    let trial = Trial {
        number: 1,
        replicate: 1,
        group: "test".to_owned(),
        settings: settings.clone(),
        seed,
        first_file: 0,
        planned: None,
    };
    run_trial(&trial)
}

/// One trial that has to succeed, with its record.
pub fn record(settings: &Settings, seed: u64) -> Record {
    campaign(&[("test".to_owned(), settings.clone())], 1, seed).remove(0)
}

/// A campaign: cells in random order within each replicate.
pub fn campaign(cells: &[(String, Settings)], replicates: u32, seed: u64) -> Vec<Record> {
    let trials = plan::blocked(cells, replicates, seed).into_iter();
    let record = |trial: Trial| {
        let outcome = Outcome::Done(Box::new(run_trial(&trial).unwrap()));
        Record::new(trial, outcome)
    };
    trials.map(record).collect()
}

/// The same as a store hands it to who asks of it: without samples, with what was computed of them.
/// Each question over records with samples computes their figures anew.
pub fn light_campaign(cells: &[(String, Settings)], replicates: u32, seed: u64) -> Vec<Record> {
    campaign(cells, replicates, seed).into_iter().map(Record::light).collect()
}

fn run_trial(trial: &Trial) -> Result<Measurement, Error> {
    let mut context = Context {
        place: &|_| Ok(()),
        host: &Host::at("/nonexistent"),
        work: &[],
        campaign: 1,
        written: &|_| None,
        progress: &mut |_| {},
        stop: &Stop::new(),
    };
    SimEngine.run(trial, &mut context)
}
