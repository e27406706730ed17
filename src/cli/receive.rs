//! `brickyard receive`: the other end of another machine's network trials.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use super::{Common, talk};
use crate::campaign::apply;
use crate::campaign::peer::serving::PeerSettingsThread;
use base::value;
use engines::engine;
use engines::fleet::setting::Changes;
use engines::fleet::{self, Bounds, Listener, Token};
use host::journal;
use host::sys::{Error, Host, signal};

/// The arguments of `brickyard receive`.
#[derive(clap::Args, Debug)]
pub struct ReceiveArguments {
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
    /// Set knobs of the network, its cards and the CPUs' governor here when trials ask for it
    ///
    /// As root, and only for who knows the token. Each is noted beforehand in the journal beside
    /// the store and put back when the caller is gone, at the latest when this ends; after a crash
    /// `brickyard undo` puts it back
    #[arg(long)]
    allow_knobs: bool,
}

/// Listens until the user stops it; exit status 130, as of everything that is stopped.
pub fn run(arguments: &ReceiveArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let wrong = |name: &str, why: String| Error::new(format!("cannot use {name}"), why);
    let trial_ns = value::parse_duration_ns(&arguments.trial)
        .map_err(|why| wrong("--trial", why).hint("--trial 1h"))?;
    let bytes = value::parse_bytes(&arguments.bytes)
        .map_err(|why| wrong("--bytes", why).hint("--bytes 100TB"))?;
    let bounds = Bounds { streams: usize::from(arguments.streams), trial_ns, bytes };
    let token = token(arguments)?;
    let stop = signal::stop()?;
    let at = SocketAddr::new(arguments.listen, arguments.port);
    let listener = Listener::bind(at, token.clone())?;
    let keeper = arguments.allow_knobs.then(|| keeper(common)).transpose()?;
    let listener = if keeper.is_some() { listener.with_settings()? } else { listener };
    introduce(listener.address(), token.as_ref(), keeper.is_some(), common)?;
    let (quiet, serving) = (common.quiet, keeper.as_ref().map(PeerSettingsThread::serving));
    let served = listener.serve(&stop, move |session| {
        let tell = |text: &str| {
            if !quiet {
                talk::line(text);
            }
        };
        let changes = serving.as_ref().map(|serving| -> &dyn Changes { serving });
        engine::attend(session, &bounds, changes, &tell);
    });
    let left = keeper.map_or_else(Vec::new, PeerSettingsThread::end);
    for one in &left {
        talk::line(&format!("warning: {one}"));
    }
    if !left.is_empty() {
        talk::line(&format!("hint: brickyard undo --store {}, as root", common.store.display()));
    }
    served?;
    Ok(ExitCode::from(130))
}

/// That of the environment; else a new one, where somebody else could have settings changed, or
/// strangers can reach the address.
fn token(arguments: &ReceiveArguments) -> Result<Option<Token>, Error> {
    match Token::from_environment()? {
        None if arguments.allow_knobs || !arguments.listen.is_loopback() => Token::draw().map(Some),
        token => Ok(token),
    }
}

/// Whoever changes settings, once all is back that one which was killed has left.
fn keeper(common: &Common) -> Result<PeerSettingsThread, Error> {
    let journal = journal::beside(&common.store);
    apply::recover(&Host::live(), &journal, &mut |said| {
        talk::line(&format!("an earlier run was killed: {said}"));
    })?;
    PeerSettingsThread::start(&journal)
}

/// Says where it listens, and what to type on the other machine.
fn introduce(
    at: SocketAddr,
    token: Option<&Token>,
    sets: bool,
    common: &Common,
) -> anyhow::Result<()> {
    let assignment = token.map(Token::assignment);
    if common.json {
        let document =
            serde_json::json!({ "listens": at, "token": assignment, "allows_knobs": sets });
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
    let what = match sets {
        false => "changes nothing here".to_owned(),
        true => format!(
            "sets network knobs here for trials with settings-at=peer or both, each noted in {}",
            journal::beside(&common.store).display()
        ),
    };
    talk::data(&format!(
        "listens on {at} until Ctrl-C, and {what}; on {other}:\n  \
         {assignment}brickyard send {there} network"
    ))?;
    Ok(())
}
