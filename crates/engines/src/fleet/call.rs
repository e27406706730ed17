//! The end that calls.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::clock::{ClockOffset, Tick};
use super::greeting::{
    Greeting, Introduction, ListenerAnswer, PeerMachine, Proof, Purpose, StreamAnnouncement,
};
use super::link::{ANSWER_BYTES_MAX, GREETING_BYTES_MAX, LineReader, LineWriter};
use super::token::{ProofSide, Token, nonce};
use super::{PROTOCOL, PeerAddress};
use host::sys::Error;
use host::sys::clock::monotonic_ns;

/// A connection is made in so long, or not at all.
const CONNECTING_MAX: Duration = Duration::from_secs(10);
/// An answer to what takes no work comes in so long, or not at all.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// One that is busy is called again for so long, so often.
const BUSY_MAX: Duration = Duration::from_secs(3);
const BUSY_LOOK: Duration = Duration::from_millis(30);
/// Talks about the clock: the shortest of so many is short.
const TALKS: u32 = 48;

/// A talk with a listener.
#[derive(Debug)]
pub struct Call {
    /// What it says.
    pub link: CallReader,
    /// What it is told.
    pub voice: LineWriter,
    /// Who it is.
    pub host: PeerMachine,
    /// Its address.
    pub there: SocketAddr,
    /// Ours, as it sees us.
    pub here: SocketAddr,
}

/// The reading side, which may be lent to a thread.
#[derive(Debug)]
pub struct CallReader(Option<LineReader>);

impl CallReader {
    /// Lends it.
    pub fn take(&mut self) -> Option<LineReader> {
        self.0.take()
    }

    /// Gives it back.
    pub fn put(&mut self, link: LineReader) {
        self.0 = Some(link);
    }
}

impl Call {
    /// Calls, and is let in for this.
    ///
    /// # Errors
    /// When nobody listens there, the listener refuses, or does not know our token.
    pub fn place(
        address: &PeerAddress,
        token: Option<&Token>,
        purpose: Purpose,
    ) -> Result<Call, Error> {
        let until_ns = monotonic_ns() + BUSY_MAX.as_nanos() as u64;
        loop {
            match Call::once(address, token, purpose) {
                // It may not have noticed yet that our trial before this one is over.
                Err((_, true)) if monotonic_ns() < until_ns => std::thread::sleep(BUSY_LOOK),
                Err((error, _)) => return Err(error),
                Ok(call) => return Ok(call),
            }
        }
    }

    /// One attempt; beside its error, whether the other end was busy.
    fn once(
        address: &PeerAddress,
        token: Option<&Token>,
        purpose: Purpose,
    ) -> Result<Call, (Error, bool)> {
        let what = || format!("cannot reach the other end at {address}");
        let socket = connect(address).map_err(|why| {
            let busy = is_renewed(&why);
            let error = Error::new(what(), why).hint(
                "on that machine: `brickyard receive --listen ADDRESS`, an address that this one \
                 reaches and no firewall closes",
            );
            (error, busy)
        })?;
        let failed = |why: std::io::Error| (Error::new(what(), why), false);
        let ends = (socket.peer_addr().map_err(failed)?, socket.local_addr().map_err(failed)?);
        let (link, voice) =
            LineReader::new(socket, ANSWER_MAX, GREETING_BYTES_MAX).map_err(failed)?;
        let link = CallReader(Some(link));
        let mut call =
            Call { link, voice, host: PeerMachine::default(), there: ends.0, here: ends.1 };
        call.greet(token, purpose).map_err(|why| (why.under(&what()), why.busy))?;
        call.link.0.iter_mut().for_each(|link| link.let_in(ANSWER_BYTES_MAX));
        Ok(call)
    }

    fn greet(&mut self, token: Option<&Token>, purpose: Purpose) -> Result<(), GreetingRefusal> {
        let ours = nonce().map_err(|error| GreetingRefusal::from(error.to_string()))?;
        self.tell(&Greeting::Talk(Introduction::own(&ours)))?;
        let theirs = match self.answer()? {
            ListenerAnswer::Nonce(talk) => match talk.mismatch() {
                None => talk.nonce,
                Some(why) => return Err(why.into()),
            },
            ListenerAnswer::Refused(why) => return Err(why.into()),
            ListenerAnswer::Welcome { .. } | ListenerAnswer::Busy(_) => {
                return Err(GreetingRefusal::from(NOT_US.to_owned()));
            }
        };
        let proof = token.map(|token| token.proof(ProofSide::Caller, &ours, &theirs));
        self.tell(&Proof { proof: proof.unwrap_or_default(), purpose })?;
        match self.answer()? {
            ListenerAnswer::Welcome { proof, host } => {
                let known =
                    |token: &Token| token.is_proven(&proof, ProofSide::Listener, &ours, &theirs);
                // One that listens on loopback and has none asks for none.
                if token.is_some_and(|token| !proof.is_empty() && !known(token)) {
                    let why = "it does not know the token, and may be somebody else";
                    return Err(why.to_owned().into());
                }
                self.host = host;
                Ok(())
            }
            ListenerAnswer::Refused(why) => Err(why.into()),
            ListenerAnswer::Busy(why) => Err(GreetingRefusal { why, busy: true }),
            ListenerAnswer::Nonce(_) => Err(GreetingRefusal::from(NOT_US.to_owned())),
        }
    }

    fn tell(&self, message: &impl Serialize) -> Result<(), GreetingRefusal> {
        self.voice.expect_within(ANSWER_MAX);
        self.voice.say(message).map_err(GreetingRefusal::from_io_error)
    }

    fn answer(&mut self) -> Result<ListenerAnswer, GreetingRefusal> {
        let line = self
            .link
            .0
            .as_mut()
            .map(LineReader::line)
            .transpose()
            .map_err(GreetingRefusal::from_io_error)?;
        let line =
            line.flatten().ok_or_else(|| GreetingRefusal::from("it has hung up".to_owned()))?;
        understood(&line).map_err(GreetingRefusal::from)
    }

    /// The next message; in words why there is none.
    ///
    /// # Errors
    /// When the other end hangs up, says nothing in time, or is not what it seems.
    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let Some(link) = self.link.0.as_mut() else {
            return Err("somebody else listens to it".to_owned());
        };
        match link.line() {
            Ok(Some(line)) => understood(&line),
            Ok(None) => Err("it has hung up".to_owned()),
            Err(why) => Err(why.to_string()),
        }
    }

    /// Its answers are no longer than this from now on.
    pub(super) fn answers_within(&mut self, bytes_max: usize) {
        self.link.0.iter_mut().for_each(|link| link.let_in(bytes_max));
    }

    /// Compares both clocks.
    ///
    /// # Errors
    /// As [`Call::hear`].
    pub fn clock(&mut self) -> Result<ClockOffset, String> {
        let mut talks = Vec::new();
        for clock in 0..TALKS {
            self.voice.expect_within(ANSWER_MAX);
            let asked_ns = monotonic_ns();
            self.voice.say(&Tick { clock, monotonic_ns: 0 }).map_err(|why| why.to_string())?;
            let answer: Tick = self.hear()?;
            talks.push((asked_ns, answer.monotonic_ns, monotonic_ns()));
        }
        ClockOffset::from_round_trips(&talks)
            .ok_or_else(|| "its clock was not asked for".to_owned())
    }

    /// Opens stream `stream` of the trial that was given this ticket.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn stream(&self, ticket: &str, stream: usize) -> std::io::Result<TcpStream> {
        let socket = TcpStream::connect_timeout(&self.there, CONNECTING_MAX)?;
        let first = Greeting::Bytes(StreamAnnouncement { ticket: ticket.to_owned(), stream });
        let mut line = serde_json::to_string(&first).map_err(std::io::Error::other)?;
        line.push('\n');
        std::io::Write::write_all(&mut &socket, line.as_bytes())?;
        Ok(socket)
    }
}

/// Whether the listener may have made its socket anew, as it does when settings of its machine
/// have changed: who was about to be let in is to call again.
fn is_renewed(why: &std::io::Error) -> bool {
    why.kind() == std::io::ErrorKind::ConnectionReset
}

fn understood<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|_| format!("{NOT_US} (protocol {PROTOCOL} is spoken here)"))
}

const NOT_US: &str = "what answers there is no `brickyard receive`";

/// Why a caller was not let in.
struct GreetingRefusal {
    why: String,
    busy: bool,
}

impl From<String> for GreetingRefusal {
    fn from(why: String) -> GreetingRefusal {
        GreetingRefusal { why, busy: false }
    }
}

impl GreetingRefusal {
    fn from_io_error(why: std::io::Error) -> GreetingRefusal {
        GreetingRefusal { busy: is_renewed(&why), why: why.to_string() }
    }

    fn under(&self, what: &str) -> Error {
        // It is printed, and a stranger may have written it.
        let why: String = self.why.chars().filter(|c| !c.is_control()).take(600).collect();
        Error::new(what, why)
    }
}

fn connect(address: &PeerAddress) -> std::io::Result<TcpStream> {
    let mut last = None;
    for one in address.resolve()? {
        match TcpStream::connect_timeout(&one, CONNECTING_MAX) {
            Ok(socket) => return Ok(socket),
            Err(why) => last = Some(why),
        }
    }
    Err(last.unwrap_or_else(|| std::io::Error::other("its name has no address")))
}
