//! (pure) Knobs that are not the same in all trials.

use crate::report::Input;
use experiment::knob::{self, distinct};
use experiment::measurement::Record;

/// Knobs that are not the same in every trial.
pub fn varying(input: &Input<'_>) -> Vec<&'static str> {
    varying_in(input.records.iter())
}

/// Knobs that are not the same in all of these.
pub fn varying_in<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<&'static str> {
    let knobs = knob::KNOBS.iter().map(|knob| knob.name);
    let settings = distinct(records.map(|record| &record.trial.settings));
    let held = |knob: &'static str| settings.iter().map(move |settings| settings.named(knob));
    let differs = |knob: &&'static str| {
        let mut all = held(knob);
        let first = all.next();
        all.any(|other| Some(other) != first)
    };
    knobs.filter(differs).collect()
}
