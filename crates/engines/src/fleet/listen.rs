//! The end that listens.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::address::PORT;
use super::greeting::{
    Greeting, Introduction, ListenerAnswer, PeerMachine, Proof, Purpose, StreamAnnouncement,
};
use super::link::{LineReader, LineWriter, TOLD_BYTES_MAX};
use super::token::{ProofSide, Token, nonce};
use host::sys::Error;
use host::sys::crowd::{Crowd, CrowdSlot, Doing};
use host::sys::signal::Stop;

/// Who has not said by then who he is never will.
const GREETING_MAX: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 10 });
/// So many may be about to say it, of one address and in all: the streams of a trial come together,
/// and whoever knows the token has said it within milliseconds. See [`Crowd`] for who has to go.
const STRANGERS_OF_ONE_MAX: usize = 64;
const STRANGERS_MAX: usize = 128;
/// Their threads call nothing deep.
const STACK_BYTES: usize = 1 << 20;
/// The listener makes its socket anew within this, or has stopped.
const RENEWAL_MAX: Duration = Duration::from_secs(10);
/// Connections that may wait to be let in; as many as the standard library's listeners have.
const BACKLOG: i32 = 128;
/// How often the user's wish to stop is looked for.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What one trial may take of this end.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Streams, each with a connection.
    pub streams: usize,
    /// Its length, ns.
    pub trial_ns: u64,
    /// Bytes that it moves.
    pub bytes: u64,
}

/// Waits for callers.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    at: SocketAddr,
    rules: AdmissionRules,
    door: Arc<ListenerState>,
}

/// The rules by which callers are let in.
#[derive(Clone, Debug)]
struct AdmissionRules {
    token: Option<Token>,
    /// Settings of this machine may be changed.
    settings: bool,
}

/// What the threads of all connections of a listener share.
#[derive(Debug)]
struct ListenerState {
    /// Connections that have not said what they are for.
    strangers: Arc<Crowd>,
    /// Who is being talked to.
    held: Mutex<CurrentCallers>,
    /// The streams that are expected.
    expected: Mutex<Option<ExpectedStreams>>,
    /// Who waits for the listening socket to be made anew.
    renewal: Mutex<Option<Sender<()>>>,
}

/// The callers that are being talked to.
#[derive(Debug, Default)]
struct CurrentCallers {
    /// Whose trials are run.
    trials: Option<SocketAddr>,
    /// Whose settings are in force, and for which campaign.
    settings: Option<(SocketAddr, u64)>,
}

impl CurrentCallers {
    /// Takes the place of such a talk; else why there is none.
    fn take(&mut self, caller: SocketAddr, purpose: Purpose) -> Result<(), String> {
        match (purpose.settings, self.trials, self.settings) {
            (true, _, Some((other, _))) => {
                Err(format!("settings of its machine are in force for {other}; one at a time"))
            }
            (true, Some(other), None) | (false, Some(other), _) => Err(format!(
                "it is in the middle of a talk with {other}; one at a time is measured"
            )),
            (false, None, Some((other, campaign))) if campaign != purpose.campaign => Err(format!(
                "settings of its machine are in force for a campaign of {other}; one at a time is \
                 measured"
            )),
            (true, None, None) => {
                self.settings = Some((caller, purpose.campaign));
                Ok(())
            }
            (false, None, _) => {
                self.trials = Some(caller);
                Ok(())
            }
        }
    }

    fn leave(&mut self, purpose: Purpose) {
        match purpose.settings {
            true => self.settings = None,
            false => self.trials = None,
        }
    }
}

/// The streams of a trial that are to come, by their ticket.
#[derive(Debug)]
struct ExpectedStreams {
    ticket: String,
    streams: Sender<(usize, TcpStream)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while it held the lock left a whole value behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A caller who was let in. One is talked to at a time: two trials at once would measure each
/// other. Whoever has settings changed talks beside the trials of the same campaign.
#[derive(Debug)]
pub struct Session {
    /// What it says; to be taken by whoever listens to it.
    pub link: Option<LineReader>,
    /// What it is told.
    pub voice: LineWriter,
    /// Where it is.
    pub caller: SocketAddr,
    /// Which of our addresses it called.
    pub here: SocketAddr,
    /// What it wants.
    pub purpose: Purpose,
    door: Arc<ListenerState>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.purpose.settings {
            lock(&self.door.expected).take();
        }
        lock(&self.door.held).leave(self.purpose);
    }
}

impl Session {
    /// Lets streams in that have the ticket which is returned; those that were announced before no
    /// longer are.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn announce(&self) -> Result<(String, Receiver<(usize, TcpStream)>), Error> {
        let ticket = nonce()?;
        let (streams, come) = channel();
        *lock(&self.door.expected) = Some(ExpectedStreams { ticket: ticket.clone(), streams });
        Ok((ticket, come))
    }

    /// Lets no more streams in.
    pub fn shut(&self) {
        lock(&self.door.expected).take();
    }

    /// Whether somebody's trial runs here.
    pub fn is_measuring(&self) -> bool {
        lock(&self.door.held).trials.is_some()
    }

    /// Has the listening socket made anew, and waits for that: a connection that it lets in begins
    /// with the buffers which were in force when the socket was made. Whoever is about to connect,
    /// and is nobody of this talk, is turned away.
    ///
    /// # Errors
    /// When nobody listens any more.
    pub fn renew(&self) -> Result<(), Error> {
        let (sender, done) = channel();
        *lock(&self.door.renewal) = Some(sender);
        done.recv_timeout(RENEWAL_MAX).map_err(|_| {
            Error::new("cannot listen with the new settings", "the listener has stopped")
        })
    }
}

impl Listener {
    /// Listens on this address.
    ///
    /// # Errors
    /// When it is not this machine's, or taken; or when it is not loopback and there is no token.
    pub fn bind(address: SocketAddr, token: Option<Token>) -> Result<Listener, Error> {
        let what = || format!("cannot listen on {address}");
        if token.is_none() && !address.ip().is_loopback() {
            let why = "whoever reaches this address could use it, and there is no token";
            return Err(Error::new(what(), why).hint("leave the address out to listen on loopback"));
        }
        let failed = |why: std::io::Error| {
            Error::new(what(), why).hint("`ip address` lists this machine's; --port takes another")
        };
        let socket = listen(address).map_err(failed)?;
        let at = socket.local_addr().map_err(failed)?;
        let door = ListenerState {
            strangers: Crowd::new(STRANGERS_MAX, STRANGERS_OF_ONE_MAX),
            held: Mutex::default(),
            expected: Mutex::default(),
            renewal: Mutex::default(),
        };
        let rules = AdmissionRules { token, settings: false };
        Ok(Listener { socket, at, rules, door: Arc::new(door) })
    }

    /// Lets in as well who wants settings of this machine changed.
    ///
    /// # Errors
    /// When the kernel does not let it listen in the same place by a socket that has a successor.
    pub fn with_settings(self) -> Result<Listener, Error> {
        let Listener { socket, at, mut rules, door } = self;
        // Nobody else listened there: the first socket, which is alone, has told that.
        drop(socket);
        let failed = |why| Error::new(format!("cannot listen on {at}"), why);
        let socket = listen_beside(at).map_err(failed)?;
        rules.settings = true;
        Ok(Listener { socket, at, rules, door })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Lets callers in until the user wants to stop; `hold` talks to each on a thread of its own.
    ///
    /// # Errors
    /// When the kernel lets no more connections in.
    pub fn serve(
        self,
        stop: &Stop,
        hold: impl Fn(Session) + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let Listener { mut socket, at, rules, door } = self;
        while !stop.asked() {
            // A signal ends the wait as well.
            let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&LOOK));
            if let Some(waits) = lock(&door.renewal).take() {
                let again = |why| Error::new(format!("cannot listen on {at} again"), why);
                socket = listen_beside(at).map_err(again)?;
                let _ = waits.send(());
            }
            match socket.accept() {
                Ok((socket, caller)) => meet(socket, caller, &rules, &door, hold.clone()),
                Err(why) if is_passing(&why) => {}
                Err(why) => return Err(Error::new("cannot accept a connection", why)),
            }
        }
        Ok(())
    }
}

/// A socket that listens there.
fn listen(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpListener::bind(at)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A socket that listens there beside its predecessor, which is closed later: a port that is free
/// in between may go to anybody's outgoing connection.
fn listen_beside(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn meet(
    socket: TcpStream,
    caller: SocketAddr,
    rules: &AdmissionRules,
    door: &Arc<ListenerState>,
    hold: impl Fn(Session) + Send + 'static,
) {
    // Whoever has to go for another one finds his connection closed.
    let Ok(closes) = socket.try_clone() else { return };
    let leave = move || drop(closes.shutdown(Shutdown::Both));
    let Some(stranger) = door.strangers.enter(caller.ip(), leave) else { return };
    let (rules, door) = (rules.clone(), Arc::clone(door));
    let builder = std::thread::Builder::new().name("caller".to_owned());
    // Without a thread for him the caller is turned away.
    let _ = builder.stack_size(STACK_BYTES).spawn(move || {
        let met = greet(socket, caller, &rules, &door, &stranger);
        drop(stranger);
        if let Some(session) = met {
            hold(session);
        }
    });
}

/// What one connection does to `accept`, and the next need not: accept(2).
fn is_passing(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    // Out of descriptors: others will close theirs, and poll(2) waits a moment.
    let full = matches!(why.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS));
    if full {
        std::thread::sleep(Duration::from_millis(100));
    }
    full || matches!(why.kind(), WouldBlock | Interrupted | ConnectionAborted)
}

/// Hears who it is; gives whoever wants to talk and may, and passes streams on. All others are gone
/// when this returns.
fn greet(
    socket: TcpStream,
    caller: SocketAddr,
    rules: &AdmissionRules,
    door: &Arc<ListenerState>,
    stranger: &CrowdSlot,
) -> Option<Session> {
    let here = socket.local_addr().ok()?;
    let (mut link, voice) = LineReader::new(socket, GREETING_MAX, 1024).ok()?;
    match serde_json::from_str(&link.line().ok()??).ok()? {
        Greeting::Bytes(stream) => {
            pass_on(stream, link, door, stranger);
            None
        }
        Greeting::Talk(talk) => {
            let (welcome, purpose) =
                match let_in(&talk, &mut link, &voice, rules, (caller, here), door) {
                    Ok(welcome) => welcome,
                    Err(why) => {
                        let _ = voice.say(&why?);
                        return None;
                    }
                };
            stranger.set(Doing::Served);
            link.let_in(TOLD_BYTES_MAX);
            // From here on it is somebody: dropping this opens the place again.
            let link = Some(link);
            let session = Session { link, voice, caller, here, purpose, door: door.clone() };
            session.voice.say(&welcome).ok()?;
            Some(session)
        }
    }
}

/// Takes the one place that there is; else why not, or `None` for somebody who has hung up or
/// speaks nonsense.
fn let_in(
    talk: &Introduction,
    link: &mut LineReader,
    voice: &LineWriter,
    rules: &AdmissionRules,
    (caller, here): (SocketAddr, SocketAddr),
    door: &ListenerState,
) -> Result<(ListenerAnswer, Purpose), Option<ListenerAnswer>> {
    let refused = |why: &str| Some(ListenerAnswer::Refused(why.to_owned()));
    if let Some(why) = talk.mismatch() {
        return Err(refused(&why));
    }
    let ours = nonce().map_err(|error| refused(&error.to_string()))?;
    voice.say(&ListenerAnswer::Nonce(Introduction::own(&ours))).map_err(|_| None)?;
    let line = link.line().ok().flatten().ok_or(None)?;
    let proof: Proof = serde_json::from_str(&line).map_err(|_| None)?;
    let (theirs, purpose) = (&talk.nonce, proof.purpose);
    let proof = match &rules.token {
        None => String::new(),
        Some(token) if token.is_proven(&proof.proof, ProofSide::Caller, theirs, &ours) => {
            token.proof(ProofSide::Listener, theirs, &ours)
        }
        Some(_) if proof.proof.is_empty() => {
            let why = "it asks for the token that `brickyard receive` printed there: set \
                       BRICKYARD_TOKEN to it";
            return Err(refused(why));
        }
        Some(_) => {
            let why = "BRICKYARD_TOKEN is not the token that `brickyard receive` printed there";
            return Err(refused(why));
        }
    };
    if purpose.settings && !rules.settings {
        return Err(refused(&not_allowed(here)));
    }
    lock(&door.held).take(caller, purpose).map_err(|why| Some(ListenerAnswer::Busy(why)))?;
    Ok((ListenerAnswer::Welcome { proof, host: PeerMachine::own() }, purpose))
}

/// Why no setting is changed, with what to type at this end.
fn not_allowed(here: SocketAddr) -> String {
    let port = match here.port() {
        PORT => String::new(),
        other => format!(" --port {other}"),
    };
    format!(
        "`brickyard receive` there changes no setting of its machine; type there, as root: \
         `brickyard receive --listen {}{port} --allow-knobs`",
        here.ip()
    )
}

/// Gives a stream to whoever expects it; any other is closed.
fn pass_on(
    stream: StreamAnnouncement,
    link: LineReader,
    door: &ListenerState,
    stranger: &CrowdSlot,
) {
    let expected = lock(&door.expected);
    let Some(expected) = expected.as_ref() else { return };
    let known = blake3::hash(expected.ticket.as_bytes()) == blake3::hash(stream.ticket.as_bytes());
    // Nothing is sent before all streams are there: what came with the line is nobody's.
    if known && let Some(socket) = link.into_socket() {
        stranger.set(Doing::Served);
        let _ = expected.streams.send((stream.stream, socket));
    }
}
