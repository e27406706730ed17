//! What ends a trial of programs before it has a result.

use super::copies::Said;
use host::sys::Error;

/// Why there is no result.
pub enum End {
    /// It failed, with what to say.
    Failed(String),
    /// It cannot be run here, as its `prepare` says, with what to say.
    Skipped(String),
    /// A program was left behind that no signal ends, with what to say.
    Hung(String),
    /// Nobody waits for a result.
    Gone,
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        End::Failed(format!("{error}"))
    }
}

/// Whether what the parent said lets the trial go on, in the middle of `what`.
///
/// # Errors
/// When it does not.
pub fn heard(said: Option<Said>, what: &str) -> Result<(), End> {
    match said {
        Some(Said::Bye) => Err(End::Gone),
        Some(Said::Stop) => Err(End::Failed(format!("stopped during {what}"))),
        Some(Said::Go | Said::Counted) | None => Ok(()),
    }
}
