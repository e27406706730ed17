//! What must be known before the figures are used.

use super::{Finding, Question};
use crate::measurement::figures::window_disagrees;
use crate::measurement::steady::{Steady, steady};
use crate::measurement::{Note, Record};
use crate::value::percent;

pub const QUESTION: Question =
    Question { name: "notes", about: "What must be known before the figures are used?", answer };

/// All notes on a trial: those that were taken while it ran, and those that follow from what it
/// yielded: that it had not settled, and that the naive figure would have been wrong.
pub fn notes_of(record: &Record) -> Vec<Note> {
    let Some(measurement) = record.outcome.measurement() else { return Vec::new() };
    let mut notes = measurement.notes.clone();
    if steady(measurement, &record.trial.settings) == Steady::Tested(false) {
        let text = "throughput had not settled: its last five rounds range over more than 20 % of \
                    their average, or rise or fall by more than 10 %";
        notes.push(Note::new("not-steady", text));
    }
    if let Some(share) = window_disagrees(record) {
        let word = if share < 0.0 { "too low" } else { "too high" };
        let share = percent(share.abs());
        let text = format!(
            "timed bytes over the time of the last stream would have been {share} {word}: the \
             streams did not all run all the time, or not equally fast"
        );
        notes.push(Note::new("window-differs", text));
    }
    notes
}

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(Note, Vec<u32>)> = Vec::new();
    for record in records {
        for note in notes_of(record) {
            match kinds.iter_mut().find(|(first, _)| first.kind == note.kind) {
                // Two notes of one kind on one trial count once.
                Some((_, trials)) if trials.last() == Some(&record.trial.number) => {}
                Some((_, trials)) => trials.push(record.trial.number),
                None => kinds.push((note, vec![record.trial.number])),
            }
        }
    }
    let done = records.iter().filter(|record| record.outcome.measurement().is_some()).count();
    let tell = |(note, trials): (Note, Vec<u32>)| {
        let (kind, count) = (&note.kind, trials.len());
        let claim = format!(
            "{count} of {done} trials carry the note `{kind}`. Trial {}: {}.",
            trials[0],
            note.text.trim_end_matches('.')
        );
        Finding::info(QUESTION.name, claim, trials).warn()
    };
    kinds.into_iter().map(tell).collect()
}
