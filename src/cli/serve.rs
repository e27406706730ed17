//! `brickyard serve`: the store in a browser.

use std::net::SocketAddr;
use std::process::ExitCode;

use super::{Common, talk};
use crate::serve::{ADDRESS, Server};
use host::sys::signal;

/// The arguments of `brickyard serve`.
#[derive(clap::Args, Debug)]
pub struct ServeArguments {
    /// The address of this machine to listen on; port 0 is any that is free. All but loopback shows
    /// the store to everybody who reaches it, without a password and without encryption
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = ADDRESS, value_parser = address)]
    listen: SocketAddr,
}

fn address(typed: &str) -> Result<SocketAddr, String> {
    typed.parse().map_err(|_| {
        format!("no address of a machine and a port: type --listen {ADDRESS}, or [::1]:7410")
    })
}

/// Answers browsers until the user stops it; exit status 130, as of everything that is stopped.
pub fn run(arguments: &ServeArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let stop = signal::stop()?;
    let server = Server::bind(arguments.listen, &common.store)?;
    let url = server.url();
    if !common.quiet {
        let store = common.store.display();
        talk::line(&format!("{store}, only read, until Ctrl-C; open this in a browser:"));
    }
    if !arguments.listen.ip().is_loopback() {
        talk::line(
            "warning: everybody who reaches this address sees all results and inventories, and can \
             keep this machine busy; nothing is encrypted, and no password is asked for\n\
             hint: leave --listen out, and come through `ssh -L 7410:127.0.0.1:7410 HOST`",
        );
    }
    talk::data(&match common.json {
        true => serde_json::json!({ "url": url }).to_string(),
        false => url,
    })?;
    server.serve(&stop)?;
    Ok(ExitCode::from(130))
}
