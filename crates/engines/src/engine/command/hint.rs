//! (pure) Why a trial of a program cannot be run, and what to type instead.

use host::sys::Error;

/// Why a trial of programs cannot be run, and what would work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRefusal {
    /// What is wrong.
    pub why: String,
    /// What to type instead.
    pub hint: String,
}

impl CommandRefusal {
    /// A refusal that says `why`, with a `hint`.
    pub fn new(why: impl Into<String>, hint: impl Into<String>) -> CommandRefusal {
        CommandRefusal { why: why.into(), hint: hint.into() }
    }
}

impl From<CommandRefusal> for Error {
    fn from(refusal: CommandRefusal) -> Error {
        Error::new("cannot run this", refusal.why).hint(refusal.hint)
    }
}
