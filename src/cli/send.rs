//! `brickyard send`: a plan whose other end is on another machine.

use std::process::ExitCode;

use super::{Common, run};
use engines::fleet::{Address, Call, Token};
use experiment::knob;
use experiment::knob::Settings;
use host::sys::Error;

/// What `send` takes.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Arguments {
    /// The machine on which `brickyard receive` waits, with its port if it is another than 5210
    #[arg(value_name = "HOST")]
    host: String,
    #[command(flatten)]
    run: run::Arguments,
}

/// Runs the plan with that machine as the other end.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let address = Address::parse(&arguments.host)
        .map_err(|why| Error::new("cannot send", why).hint("brickyard send HOST network"))?;
    run::run(&arguments.run.with(format!("peer={address}")), common)
}

/// Calls each machine that is the other end of some cell, once: one that nobody answers on would
/// be waited for in every trial.
///
/// # Errors
/// When nobody listens there, or not to us.
pub fn reach<'a>(cells: impl Iterator<Item = &'a Settings>) -> Result<(), Error> {
    let mut known: Vec<&str> = Vec::new();
    for settings in cells {
        let Some(there) = settings.get(knob::PEER).filter(|there| !known.contains(there)) else {
            continue;
        };
        known.push(there);
        let address = Address::parse(there).map_err(|why| Error::new("cannot send", why))?;
        Call::place(&address, Token::from_environment()?.as_ref())?;
    }
    Ok(())
}
