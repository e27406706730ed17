//! `brickyard worker`: the load of one trial, in a process of its own.

use std::process::ExitCode;

use crate::serve;
use engines::engine::{self, file};
use host::sys::signal;

/// Serves one trial over standard input and output.
pub fn run() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    file::worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `tree` over standard input and output.
pub fn names() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::names()?;
    Ok(ExitCode::SUCCESS)
}

/// Watches over the programs of one trial.
pub fn programs() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::programs()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `replay` over standard input and output.
pub fn replay() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::replay_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Answers one statement of SQL over standard input and output.
pub fn query() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    serve::worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `mail` over standard input and output.
pub fn mail() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::mail_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `net` over standard input and output.
pub fn net() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::net_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `database` over standard input and output.
pub fn database() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::database_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `integrity` over standard input and output.
pub fn integrity() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::integrity_worker()?;
    Ok(ExitCode::SUCCESS)
}

/// Serves one trial of the engine `flush-test` over standard input and output.
pub fn flush() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    engine::flush_worker()?;
    Ok(ExitCode::SUCCESS)
}
