//! `brickyard worker ENGINE`: the load of one trial, in a process of its own.

use std::process::ExitCode;

use crate::serve;
use engines::engine;
use host::sys::{Error, signal};

/// The arguments of `brickyard worker`.
#[derive(Debug, clap::Args)]
pub struct WorkerArguments {
    /// The engine whose load it runs
    engine: String,
}

/// Serves one trial of an engine over standard input and output.
pub fn run(arguments: &WorkerArguments) -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    let name = &arguments.engine;
    let Some(serve) = engine::find(name).and_then(|engine| engine.worker()) else {
        let why = format!("there is no engine `{name}` that runs in a process of its own");
        let hint = "nobody needs to type this: `brickyard run` starts it";
        return Err(Error::new("cannot run a load", why).hint(hint).into());
    };
    serve()?;
    Ok(ExitCode::SUCCESS)
}

/// Answers one statement of SQL over standard input and output.
pub fn query() -> anyhow::Result<ExitCode> {
    signal::leave_to_parent()?;
    serve::worker()?;
    Ok(ExitCode::SUCCESS)
}
