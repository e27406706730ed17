//! `brickyard send`: a plan whose other end is on another machine.

use std::process::ExitCode;

use super::{Common, run};
use engines::fleet::PeerAddress;
use host::sys::Error;

/// The arguments of `brickyard send`.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct SendArguments {
    /// The machine on which `brickyard receive` waits, with its port if it is another than 5210
    #[arg(value_name = "HOST")]
    host: String,
    #[command(flatten)]
    run: run::RunArguments,
}

/// Runs the plan with that machine as the other end.
pub fn run(arguments: &SendArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let address = PeerAddress::parse(&arguments.host)
        .map_err(|why| Error::new("cannot send", why).hint("brickyard send HOST network"))?;
    run::run(&arguments.run.with(format!("peer={address}")), common)
}
