//! (pure) Measurements in, findings out, one file a question.

use serde::Serialize;

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
