//! What could not be measured?

use std::collections::BTreeMap;

use super::{Finding, Question, Severity};
use crate::measurement::{Outcome, Record};
use crate::value;

pub const QUESTION: Question =
    Question { name: "failures", about: "What failed, or could not be measured here?", answer };

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(&'static str, &str, Vec<u32>)> = Vec::new();
    for record in records {
        let reason = match &record.outcome {
            Outcome::Done(_) => continue,
            Outcome::Failed(reason) | Outcome::Skipped(reason) => reason.as_str(),
            Outcome::Interrupted => "stopped before it was complete",
        };
        let name = record.outcome.name();
        match kinds.iter_mut().find(|kind| kind.0 == name && kind.1 == reason) {
            Some(kind) => kind.2.push(record.trial.number),
            None => kinds.push((name, reason, vec![record.trial.number])),
        }
    }
    let all = records.len();
    let tell = |(name, reason, trials): (&'static str, &str, Vec<u32>)| {
        let (count, verb) = (trials.len(), if trials.len() == 1 { "was" } else { "were" });
        let verb = if name == "failed" { String::new() } else { format!("{verb} ") };
        let claim = format!("{count} of {all} trials {verb}{name}: {reason}");
        let finding = Finding::info(QUESTION.name, claim, trials);
        let severity = match name {
            "failed" => Severity::Error,
            _ => Severity::Warning,
        };
        Finding { severity, ..finding }
    };
    let mut findings: Vec<Finding> = kinds.into_iter().map(tell).collect();
    findings.extend(by_level(records));
    findings
}

/// More levels than this are no table that anybody reads.
const LEVELS_MAX: usize = 16;

/// How many trials failed at each level of each knob that the campaign varied: counts, from which
/// nothing is concluded. Skipped trials were not tried, so they do not count.
fn by_level(records: &[Record]) -> Vec<Finding> {
    let tried = |record: &&Record| {
        let tried = matches!(record.outcome, Outcome::Done(_) | Outcome::Failed(_));
        tried && !record.trial.prepares()
    };
    let failed = |record: &Record| matches!(record.outcome, Outcome::Failed(_));
    let tried: Vec<&Record> = records.iter().filter(tried).collect();
    let evidence: Vec<u32> =
        tried.iter().filter(|record| failed(record)).map(|record| record.trial.number).collect();
    // One alone falls on one level of each knob, whatever it came from.
    if evidence.len() < 2 {
        return Vec::new();
    }
    let mut knobs: BTreeMap<&'static str, Vec<(String, u32, u32)>> = BTreeMap::new();
    for record in &tried {
        for (knob, level) in record.trial.settings.iter() {
            let (levels, level) = (knobs.entry(knob).or_default(), value::setting(level));
            let at = levels.iter().position(|(known, ..)| *known == level);
            // One more than are shown, to know that there are more.
            let at = match at {
                None if levels.len() > LEVELS_MAX => continue,
                None => {
                    levels.push((level, 0, 0));
                    levels.len() - 1
                }
                Some(at) => at,
            };
            levels[at].1 += u32::from(failed(record));
            levels[at].2 += 1;
        }
    }
    knobs.retain(|_, levels| (2..=LEVELS_MAX).contains(&levels.len()));
    let tell = |(knob, levels): (&str, Vec<(String, u32, u32)>)| {
        let told = levels.iter().map(|(level, failed, of)| format!("{failed} of {of} at {level}"));
        let claim = format!("Failed trials by {knob}: {}.", told.collect::<Vec<_>>().join(", "));
        Finding::info(QUESTION.name, claim, evidence.clone())
    };
    knobs.into_iter().map(tell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Settings;
    use crate::plan::{LAYOUT, Trial};
    use crate::value::Value;

    fn record(number: u32, streams: u64, outcome: Outcome) -> Record {
        let mut settings = Settings::defaults("file");
        settings.set("streams", Value::Count(streams));
        let group = if number == 0 { LAYOUT } else { "g" }.to_owned();
        let planned = Some(number);
        let (replicate, first_file, seed) = (1, 0, 1);
        let trial = Trial { number, replicate, group, settings, first_file, seed, planned };
        Record::new(trial, outcome)
    }

    /// The fifth source decides between file systems by how often each failed.
    #[test]
    fn failures_are_counted_at_each_level_that_was_varied() {
        let failed = || Outcome::Failed("Input/output error".into());
        let done = || Outcome::Done(Box::default());
        let mut records = vec![
            record(0, 9, failed()),
            record(1, 1, done()),
            record(2, 1, failed()),
            record(3, 8, failed()),
            record(4, 8, failed()),
            record(5, 8, Outcome::Skipped("not here".into())),
        ];
        let found = by_level(&records);
        assert_eq!(found.len(), 1, "only one knob was varied: {found:?}");
        assert_eq!(found[0].claim, "Failed trials by streams: 1 of 2 at 1, 2 of 2 at 8.");
        assert_eq!(found[0].evidence, [2, 3, 4]);
        assert_eq!(answer(&records).last(), found.last());
        records[2..4].iter_mut().for_each(|record| record.outcome = done());
        assert!(by_level(&records).is_empty(), "one failure is no table");
        records.iter_mut().for_each(|record| record.outcome = done());
        assert!(by_level(&records).is_empty(), "nothing failed");
        let many = (1..60).map(|streams| record(streams as u32, streams, failed()));
        assert!(by_level(&many.collect::<Vec<_>>()).is_empty(), "too many levels to read");
    }
}
