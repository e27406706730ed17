//! What must be known before the figures are used.

use super::{Finding, Question};
use base::value::counted;
use experiment::measurement::judge::all as notes_of;
use experiment::measurement::{Note, Record};

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "notes",
    about: "What must be known before the figures are used?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(Note, Vec<u32>)> = Vec::new();
    for record in records {
        for note in notes_of(record).iter() {
            match kinds.iter_mut().find(|(first, _)| first.kind == note.kind) {
                // Two notes of one kind on one trial count once.
                Some((_, trials)) if trials.last() == Some(&record.trial.number) => {}
                Some((_, trials)) => trials.push(record.trial.number),
                None => kinds.push((note.clone(), vec![record.trial.number])),
            }
        }
    }
    let done = records.iter().filter(|record| record.outcome.measurement().is_some()).count();
    let tell = |(note, trials): (Note, Vec<u32>)| {
        let (kind, count) = (&note.kind, trials.len());
        let have = if count == 1 { "has" } else { "have" };
        let claim =
            format!("{count} of {} {have} the note `{kind}`.", counted(done as u64, "trial"),);
        let first = format!("trial {}: {}", trials[0], note.text);
        let finding = Finding::info(QUESTION.name, claim, trials).detailed([first]);
        if takes_away(kind) { finding.warn() } else { finding }
    };
    kinds.into_iter().map(tell).collect()
}

/// Whether a note of this kind takes something away from figures. How warm it got is good to know;
/// that something slowed down has a note of its own. Where a log is, and that what was written
/// before a boot was read first, takes nothing away; nor does what lay between the ends of a
/// network, as it was asked for.
pub fn takes_away(kind: &str) -> bool {
    !matches!(
        kind,
        "temperatures"
            | "flush-log"
            | "over-a-boot"
            | "over-loopback"
            | "over-namespaces"
            | "over-peer-namespace"
            | "over-two-machines"
    )
}
