//! What could not be measured?

use super::{Finding, Question, Severity};
use crate::measurement::{Outcome, Record};

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
    kinds.into_iter().map(tell).collect()
}
