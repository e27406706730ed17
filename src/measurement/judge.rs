//! The verdicts on a record that its reader must not miss, as notes.
//!
//! What the generator confesses is in `confession`; here stand the rules on load and state.

use super::{Note, Record, confession, figures, steady};
use crate::value;

/// Every note that follows from what was measured.
pub fn notes(record: &Record) -> Vec<Note> {
    let Some(measurement) = record.outcome.measurement() else { return Vec::new() };
    let settings = &record.trial.settings;
    let mut notes = confession::confessions(measurement, settings);
    if let Some(share) = figures::window_disagrees(record) {
        notes.push(Note::new(
            "naive-differs",
            format!(
                "bytes of the timed passes over the time of the last finish would be {} {}; \
                 the streams were not equally fast",
                value::percent(share.abs()),
                if share < 0.0 { "too low" } else { "too high" },
            ),
        ));
    }
    if let steady::Steady::Tested(false) = steady::steady(measurement, settings) {
        notes.push(Note::new(
            "not-steady",
            "had not settled: five rounds ranged over more than 20 % of their average, or drifted \
             by more than 10 % of it (SNIA)",
        ));
    }
    let wrote = measurement.evidence.delivered.write_bytes > 0;
    if wrote && measurement.evidence.rotational == Some(false) {
        notes.push(Note::new(
            "not-preconditioned",
            "flash writes faster while it has erased blocks left; no run has written this one until \
             it dropped",
        ));
    }
    notes
}
