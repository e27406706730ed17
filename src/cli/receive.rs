//! `brickyard receive`: the other end of another machine's network trials.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use super::{Common, talk};
use base::value;
use engines::engine;
use engines::fleet::{self, Bounds, Listener, Token};
use host::sys::{Error, signal};

/// What `receive` takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// The address of this machine to listen on; every one but loopback takes a token, which is
    /// drawn and printed unless BRICKYARD_TOKEN holds one
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// The port; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = fleet::PORT)]
    port: u16,
    /// How long one trial may take
    #[arg(long, value_name = "TIME", default_value = "1h")]
    trial: String,
    /// How much one trial may move
    #[arg(long, value_name = "SIZE", default_value = "100TB")]
    bytes: String,
    /// How many streams one trial may have
    #[arg(long, value_name = "COUNT", default_value_t = 256,
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    streams: u16,
}

/// Listens until the user stops it; exit status 130, as of everything that is stopped.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let wrong = |name: &str, why: String| Error::new(format!("cannot use {name}"), why);
    let trial_ns = value::parse_duration_ns(&arguments.trial)
        .map_err(|why| wrong("--trial", why).hint("--trial 1h"))?;
    let bytes = value::parse_bytes(&arguments.bytes)
        .map_err(|why| wrong("--bytes", why).hint("--bytes 100TB"))?;
    let bounds = Bounds { streams: usize::from(arguments.streams), trial_ns, bytes };
    let token = token(arguments.listen)?;
    let stop = signal::stop()?;
    let at = SocketAddr::new(arguments.listen, arguments.port);
    let listener = Listener::bind(at, token.clone())?;
    let at = listener.address().map_err(|why| Error::new("cannot listen", why))?;
    introduce(at, token.as_ref(), common)?;
    let quiet = common.quiet;
    listener.serve(&stop, move |session| {
        let tell = |text: &str| {
            if !quiet {
                talk::line(text);
            }
        };
        engine::attend(session, &bounds, &tell);
    })?;
    Ok(ExitCode::from(130))
}

/// That of the environment; else a new one, where strangers can reach the address.
fn token(listen: IpAddr) -> Result<Option<Token>, Error> {
    match Token::from_environment()? {
        None if !listen.is_loopback() => Token::draw().map(Some),
        token => Ok(token),
    }
}

/// Says where it listens, and what to type on the other machine.
fn introduce(at: SocketAddr, token: Option<&Token>, common: &Common) -> anyhow::Result<()> {
    let assignment = token.map(Token::assignment);
    if common.json {
        let document = serde_json::json!({ "listens": at, "token": assignment });
        talk::data(&document.to_string())?;
        return Ok(());
    }
    // Of all addresses nobody can say which one the other machine reaches.
    let host = match at.ip() {
        any if any.is_unspecified() => "HOST".to_owned(),
        IpAddr::V6(address) => format!("[{address}]"),
        IpAddr::V4(address) => address.to_string(),
    };
    let port = if at.port() == fleet::PORT { String::new() } else { format!(":{}", at.port()) };
    let assignment = assignment.map(|text| text + " ").unwrap_or_default();
    let other = if at.ip().is_loopback() { "this machine" } else { "the other machine" };
    let there = host + &port;
    talk::data(&format!(
        "listens on {at} until Ctrl-C, and changes nothing here; on {other}:\n  \
         {assignment}brickyard send {there} network"
    ))?;
    Ok(())
}
