//! (pure) An error as a person reads it: what was tried, why it failed, what to type next.

use std::fmt;

/// What was tried, why it failed in the kernel's words, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// "cannot read /proc/stat"
    pub what: String,
    /// "Permission denied (os error 13)"
    pub why: String,
    /// "run as root"
    pub hint: Option<String>,
}

impl Error {
    /// An error without a hint.
    pub fn new(what: impl Into<String>, why: impl fmt::Display) -> Error {
        Error { what: what.into(), why: why.to_string(), hint: None }
    }

    /// The same error with the next thing to type.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Error {
        Error { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Error {}
