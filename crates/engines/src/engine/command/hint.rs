//! (pure) Why a trial of a program cannot be run, and what to type instead.

use host::sys::Error;

/// What is wrong, and what would work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub why: String,
    /// What to type instead.
    pub hint: String,
}

impl Refusal {
    /// A refusal that says `why`, with a `hint`.
    pub fn new(why: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), hint: hint.into() }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::new("cannot run this", refusal.why).hint(refusal.hint)
    }
}
