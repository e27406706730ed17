//! (pure) Measurements in, findings out, one file a question.
//!
//! A new question is a file below and a line in [`QUESTIONS`]. A finding claims only what the
//! intervals of its figures support; where the data do not decide, it says so or there is none.
//! Arranging and printing is left to `report`.

use serde::Serialize;

use crate::measurement::Record;

mod answer;
mod best;
mod block_size;
pub mod bottleneck;
mod cache;
pub mod compare;
mod curve;
mod depth;
mod durability;
pub mod effects;
mod failures;
pub mod integrity;
mod notes;
mod operations;
pub mod path;
pub mod reported;
mod scaling;
pub mod size;
#[cfg(test)]
mod tests;
mod words;
mod workloads;

pub use answer::answer;

/// Something that people ask of the results.
pub struct Question {
    /// Kebab-case; also the findings' `question`.
    pub name: &'static str,
    /// The question in one line.
    pub about: &'static str,
    /// Answers it from the records of one campaign, as far as they allow.
    pub answer: fn(&[Record]) -> Vec<Finding>,
}

/// In the order of the report.
pub const QUESTIONS: &[Question] = &[
    integrity::QUESTION,
    effects::QUESTION,
    best::QUESTION,
    scaling::QUESTION,
    bottleneck::QUESTION,
    cache::QUESTION,
    durability::QUESTION,
    depth::QUESTION,
    block_size::QUESTION,
    notes::QUESTION,
    failures::QUESTION,
];

/// Everything that the records of one campaign answer.
pub fn findings(records: &[Record]) -> Vec<Finding> {
    QUESTIONS.iter().flat_map(|question| (question.answer)(records)).collect()
}

/// An answer to a question, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which question: `scaling`, `cache`, `durability`, ...
    pub question: &'static str,
    /// One or two sentences with figures and their units.
    pub claim: String,
    /// Numbers of the trials that it rests on.
    pub evidence: Vec<u32>,
    /// How much it matters.
    pub severity: Severity,
    /// What binds, where the question asks for that: `cpu`, `device`, `unknown`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What it may be, where `limit` is `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
    /// What would bind next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<bottleneck::RunnerUp>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Read this before you use the figures.
    Warning,
    /// Something is wrong.
    Error,
}

impl Finding {
    /// A finding that is good to know.
    fn info(question: &'static str, claim: String, evidence: Vec<u32>) -> Finding {
        let severity = Severity::Info;
        Finding {
            question,
            claim,
            evidence,
            severity,
            limit: None,
            suspect: None,
            runner_up: None,
            advice: None,
        }
    }

    /// The same, to be read before the figures are used.
    fn warn(self) -> Finding {
        Finding { severity: Severity::Warning, ..self }
    }

    /// The same, unless `strays` of the `count` trials that it rests on read from elsewhere.
    fn doubted(self, strays: usize, count: usize) -> Finding {
        if strays == 0 {
            return self;
        }
        let claim = format!(
            "{} But {strays} of these {count} trials did not surely read from where they should.",
            self.claim
        );
        Finding { claim, ..self }.warn()
    }

    /// The same, with what to do about it.
    fn advise(self, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..self }
    }
}
