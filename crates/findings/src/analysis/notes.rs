//! What must be known before the figures are used.

use std::cmp::Reverse;

use super::{Finding, Question, words};
use base::value::counted;
use experiment::knob;
use experiment::measurement::judge::all as notes_of;
use experiment::measurement::{Note, Record};

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "notes",
    about: "What must be known before the figures are used?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(Note, Vec<&Record>)> = Vec::new();
    for record in records {
        for note in notes_of(record).iter() {
            match kinds.iter_mut().find(|(first, _)| first.kind == note.kind) {
                // Two notes of one kind on one trial count once.
                Some((_, of)) if of.last().is_some_and(|last| std::ptr::eq(*last, record)) => {}
                Some((_, of)) => of.push(record),
                None => kinds.push((note.clone(), vec![record])),
            }
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    // What takes something away comes first, and of these what most trials have.
    let warns = |(note, of): &(Note, Vec<&Record>)| {
        takes_away(&note.kind) && !of.iter().all(|record| is_usual(record, note))
    };
    kinds.sort_by_cached_key(|kind| (!warns(kind), Reverse(kind.1.len())));
    let of_warnings = kinds.iter().take_while(|kind| warns(kind)).count();
    let (first, rest) = kinds.split_at(if of_warnings > 0 { of_warnings } else { kinds.len() });
    [(first, of_warnings > 0), (rest, false)]
        .into_iter()
        .filter(|(kinds, _)| !kinds.is_empty())
        .map(|(kinds, warns)| tell(records, kinds, warns))
        .collect()
}

/// So many kinds of notes are named in a sentence.
const NAMED_MAX: usize = 3;

/// Notes of several kinds in one finding: a finding for each made five of one thing.
fn tell(records: &[Record], kinds: &[(Note, Vec<&Record>)], warns: bool) -> Finding {
    let done = records.iter().filter(|record| record.outcome.measurement().is_some()).count();
    let of_all = kinds.iter().flat_map(|(_, of)| of);
    let mut trials: Vec<u32> = of_all.map(|record| record.trial.number).collect();
    trials.sort_unstable();
    trials.dedup();
    let named = kinds.iter().take(NAMED_MAX).map(|(note, of)| match kinds.len() {
        1 => format!("`{}`", note.kind),
        _ => format!("`{}` ({})", note.kind, of.len()),
    });
    let mut named: Vec<String> = named.collect();
    if let more @ 1.. = kinds.len().saturating_sub(NAMED_MAX) {
        named.push(format!("{more} more"));
    }
    let last = named.pop().unwrap_or_default();
    let list = if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) };
    let have = if trials.len() == 1 { "has" } else { "have" };
    let what = match (kinds.len(), warns) {
        (1, _) => "the note",
        (_, true) => "notes that take something from their figures:",
        (_, false) => "notes that are good to know:",
    };
    let claim =
        format!("{} of {} {have} {what} {list}.", trials.len(), counted(done as u64, "trial"),);
    let details = kinds.iter().flat_map(|(note, of)| {
        let of_loads = format!(
            "`{}` is on {}, of {}",
            note.kind,
            counted(of.len() as u64, "trial"),
            workloads(of)
        );
        let first = format!("trial {}: {}", of[0].trial.number, note.text);
        [Some(of_loads).filter(|_| kinds.len() > 1), Some(first)]
    });
    let finding = Finding::info(QUESTION.name, claim, trials).detailed(details.flatten());
    if warns { finding.warn() } else { finding }
}

/// Which figures rest on these trials: the workloads, by name.
fn workloads(of: &[&Record]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for record in of {
        let name = record.trial.group.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether a note tells what is no surprise of such a load: reading from memory uses up the cores
/// that read, and nothing else is there to be measured.
fn is_usual(record: &Record, note: &Note) -> bool {
    let settings = &record.trial.settings;
    note.kind == "generator-bound"
        && settings.has(knob::ACCESS)
        && words::path(settings) == words::WARM
}

/// Whether a note of this kind takes something away from figures. How warm it got is good to know;
/// that something slowed down has a note of its own. Where a log is, and that what was written
/// before a boot was read first, takes nothing away; nor does what lay between the ends of a
/// network, as it was asked for.
pub fn takes_away(kind: &str) -> bool {
    !matches!(
        kind,
        // The rate is without the start, which no longer takes anything away.
        "start-left-out"
            | "temperatures"
            | "flush-log"
            | "over-a-boot"
            | "over-loopback"
            | "over-namespaces"
            | "over-peer-namespace"
            | "over-two-machines"
            | "peer-settings"
            | "datagram-size"
            | "checked-on-arrival"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::value::Value;
    use experiment::measurement::Outcome;
    use experiment::measurement::limit::testing::Scene;

    fn noted(number: u32, warm: bool, kinds: &[&str]) -> Record {
        let way = |scene: Scene, knob| scene.with(knob, Value::Flag(!warm));
        let mut record = way(way(Scene::default(), "direct"), "cold").record(number);
        record.trial.group = if warm { "cache" } else { "streams" }.to_owned();
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
        measurement.notes.clear();
        measurement.notes.extend(kinds.iter().map(|kind| Note::new(kind, "it was so")));
        record
    }

    /// Five of eight warnings were "7 of 129 trials have the note ...", one for each kind, and none
    /// said which figures rest on such a trial.
    #[test]
    fn notes_of_several_kinds_are_one_finding_that_names_what_rests_on_them() {
        let records = [
            noted(1, false, &["others-io", "steal"]),
            noted(2, false, &["others-io"]),
            noted(3, false, &["swap", "window-differs"]),
            noted(4, false, &["start-left-out", "temperatures"]),
            noted(5, false, &[]),
        ];
        let told = answer(&records);
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!(
            told[0].claim,
            "3 of 5 trials have notes that take something from their figures: `others-io` (2), \
             `steal` (1), `swap` (1) and 1 more."
        );
        assert_eq!(told[0].evidence, [1, 2, 3]);
        assert_eq!(told[0].severity, crate::analysis::Severity::Warning);
        let whole = told[0].whole();
        assert!(whole.contains("`others-io` is on 2 trials, of `streams`."), "{whole}");
        assert!(whole.contains("Trial 3: it was so"), "{whole}");
        assert_eq!(told[1].severity, crate::analysis::Severity::Info);
        assert!(told[1].claim.contains("good to know: `start-left-out` (1) and"), "{told:?}");
        assert_eq!(answer(&records[4..]), []);
    }

    /// "The figure may be this machine's, not the storage's" warned of reading from memory.
    #[test]
    fn reading_from_memory_may_use_a_core_up_without_a_warning() {
        let of = |warm| answer(&[noted(1, warm, &["generator-bound"])]).remove(0).severity;
        assert_eq!(of(true), crate::analysis::Severity::Info);
        assert_eq!(of(false), crate::analysis::Severity::Warning);
    }
}
