//! `brickyard worker`: the load of one trial, in a process of its own.

use std::process::ExitCode;

use crate::engine::{self, file};
use crate::serve;

/// Serves one trial over standard input and output.
pub fn run() -> anyhow::Result<ExitCode> {
    file::worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `tree` over standard input and output.
pub fn names() -> anyhow::Result<ExitCode> {
    engine::names()?;
    Ok(ExitCode::SUCCESS)
}

/// Watches over the programs of one trial.
pub fn programs() -> anyhow::Result<ExitCode> {
    engine::programs()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `replay` over standard input and output.
pub fn replay() -> anyhow::Result<ExitCode> {
    engine::replay_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Answers one statement of SQL over standard input and output.
pub fn query() -> anyhow::Result<ExitCode> {
    serve::worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `mail` over standard input and output.
pub fn mail() -> anyhow::Result<ExitCode> {
    engine::mail_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `net` over standard input and output.
pub fn net() -> anyhow::Result<ExitCode> {
    engine::net_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `database` over standard input and output.
pub fn database() -> anyhow::Result<ExitCode> {
    engine::database_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `integrity` over standard input and output.
pub fn integrity() -> anyhow::Result<ExitCode> {
    engine::integrity_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `flush-test` over standard input and output.
pub fn flush() -> anyhow::Result<ExitCode> {
    engine::flush_worker()?;
    Ok(ExitCode::SUCCESS)
}
