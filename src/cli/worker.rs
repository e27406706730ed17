//! `brickyard worker`: the load of one trial, in a process of its own.

use std::process::ExitCode;

use crate::engine::file;

/// Serves one trial over standard input and output.
pub fn run() -> anyhow::Result<ExitCode> {
    file::worker()?;
    Ok(ExitCode::SUCCESS)
}
