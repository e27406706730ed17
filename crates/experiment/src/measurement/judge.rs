//! The verdicts on a record that its reader must not miss, as notes.
//!
//! What the generator confesses is in `confession`; here stand the rules on load and state.

use std::sync::Arc;

use super::{
    Integrity, Note, Record, confession, consistency, figures, programs, span, start, steady,
    stopped,
};
use crate::knob::PRECONDITION;
use base::value;
use facts::layout::precondition;

/// All notes on a trial: those taken while it ran, and those that follow from what it yielded.
pub fn all(record: &Record) -> Arc<[Note]> {
    let Some(measurement) = record.outcome.measurement() else {
        return record.notes.as_slice().into();
    };
    if let Some(digest) = &measurement.digest {
        return Arc::clone(&digest.notes);
    }
    let mut all = measurement.notes.clone();
    // A stored record has them already, as they were judged when it was measured.
    let new = notes(record).into_iter();
    let new: Vec<Note> = new.filter(|note| all.iter().all(|had| had.kind != note.kind)).collect();
    all.extend(new);
    all.into()
}

/// Every note that follows from what was measured.
pub fn notes(record: &Record) -> Vec<Note> {
    let Some(measurement) = record.outcome.measurement() else { return Vec::new() };
    let settings = &record.trial.settings;
    let mut notes = stopped::notes(measurement);
    // A load that was held still has no rate, and says why.
    if notes.iter().all(|note| note.kind != "stopped") {
        notes.extend(span::note(measurement, settings));
    }
    notes.extend(consistency::notes(record));
    notes.extend(confession::confessions(measurement, settings));
    notes.extend(programs::notes(measurement));
    notes.extend(measurement.integrity.iter().flat_map(Integrity::notes));
    if let Some(share) = figures::window_disagrees(record) {
        let word = if share < 0.0 { "too low" } else { "too high" };
        let share = value::percent(share.abs());
        // A lone stream has none to run less than.
        let text = match measurement.streams.len() {
            1 => format!(
                "timed bytes over the whole time, from the start to the last one, would have been \
                 {share} {word}: the rate was another one before the window, or at its end"
            ),
            _ => format!(
                "timed bytes over the time of the last stream would have been {share} {word}: the \
                 streams did not all run all the time, or not equally fast"
            ),
        };
        notes.push(Note::new("window-differs", text));
    }
    notes.extend(figures::durable_notes(record));
    notes.extend(start::note(measurement));
    if steady::steady(measurement, settings) == steady::Steady::Tested(false) {
        let text = "throughput had not settled: its last five rounds range over more than 20 % of \
                    their average, or rise or fall by more than 10 % (SNIA)";
        notes.push(Note::new("not-steady", text));
    }
    let wrote = measurement.evidence.delivered.write_bytes > 0;
    let filled = settings.find(PRECONDITION).flatten().is_some_and(precondition::fills);
    if wrote && measurement.evidence.rotational == Some(false) && !filled {
        notes.push(Note::new(
            "not-preconditioned",
            "flash writes faster while it has erased blocks left; no run has written this one \
             until it dropped",
        ));
    }
    notes
}
