//! What ends a trial of programs before it has a result.

use super::copies::ParentCommand;
use host::sys::Error;

/// Why a trial of programs has no result.
pub enum NoCommandResult {
    /// It failed, with what to say.
    Failed(String),
    /// It cannot be run here, as its `prepare` says, with what to say.
    Skipped(String),
    /// A program was left behind that no signal ends, with what to say.
    Hung(String),
    /// Nobody waits for a result.
    Gone,
}

impl From<Error> for NoCommandResult {
    fn from(error: Error) -> NoCommandResult {
        NoCommandResult::Failed(format!("{error}"))
    }
}

/// Whether what the parent said lets the trial go on, in the middle of `what`.
///
/// # Errors
/// When it does not.
pub fn heard(said: Option<ParentCommand>, what: &str) -> Result<(), NoCommandResult> {
    match said {
        Some(ParentCommand::Bye) => Err(NoCommandResult::Gone),
        Some(ParentCommand::Stop) => Err(NoCommandResult::Failed(format!("stopped during {what}"))),
        Some(ParentCommand::Go | ParentCommand::Counted) | None => Ok(()),
    }
}
