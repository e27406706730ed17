//! What lies between the two ends, and the connections over it.
//!
//! A socket belongs to the network namespace of the thread that made it, for good: everything is
//! made on one thread that goes from namespace to namespace, and ends. What it made lives as long
//! as the sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use super::job::{MTU, NetJob, NetworkPathChoice, SendPath};
use super::{place, socket};
use crate::engine::Error;
use experiment::measurement::Note;
use facts::inventory::Ceiling;
use host::inventory::server::interface;
use host::sys::clock::monotonic_ns;
use host::sys::link::{self, Namespace};
use host::sys::{self, Host};

/// One of the two ends of each veth pair that is made for a trial.
#[derive(Clone, Copy)]
struct PairEnd(u8);

impl PairEnd {
    fn name(self, link: usize) -> String {
        format!("brickyard{}", 2 * link + usize::from(self.0))
    }

    /// A network of four addresses for each link; there are 64 of them, and 16 links at most.
    fn address(self, link: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 89, 77, 4 * (link % 64) as u8 + self.0 + 1)
    }
}

/// This end, and the peer's.
const OURS: PairEnd = PairEnd(0);
const PEER: PairEnd = PairEnd(1);
const PREFIX: u8 = 30;
/// A connection is made in so long, or not at all.
const CONNECTING_MAX: Duration = Duration::from_secs(10);
/// A socket on which nothing moves for so long has failed.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The two sockets of one stream.
#[derive(Debug)]
pub struct Connection {
    /// Bytes go in here,
    pub sender: TcpStream,
    /// and come out here.
    pub receiver: TcpStream,
}

/// What was made over what lies between the ends.
#[derive(Debug)]
pub struct Wire<T> {
    /// One a stream.
    pub made: Vec<T>,
    /// What lies between the ends.
    pub notes: Vec<Note>,
    /// What TCP can carry over it, where that is known.
    pub most: Option<Ceiling>,
    /// The processors of the trial's threads.
    pub cpus: Vec<usize>,
}

/// One end of what lies between both, with an address on each link.
#[derive(Debug)]
pub struct NetworkEnd {
    namespace: Option<Namespace>,
    addresses: Vec<Ipv4Addr>,
}

impl NetworkEnd {
    /// On this link.
    pub fn address(&self, link: usize) -> Ipv4Addr {
        self.addresses[link % self.addresses.len()]
    }

    /// Goes there; what this thread makes from now on is there.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn enter(&self) -> Result<(), Error> {
        let entered = self.namespace.as_ref().map_or(Ok(()), Namespace::enter);
        entered.map_err(|error| Error::Failed(error.to_string()))
    }
}

/// Makes what lies between the ends, and over it, given this end and the peer's, whatever the
/// streams want.
///
/// # Errors
/// `Unsupported` where that needs root that we do not have, or what the kernel does not have.
pub fn over<T: Send + 'static>(
    job: &NetJob,
    make: impl FnOnce(&NetJob, &NetworkEnd, &NetworkEnd) -> Result<Vec<T>, Error> + Send + 'static,
) -> Result<Wire<T>, Error> {
    let job = job.clone();
    let builder = std::thread::Builder::new().name("wire".to_owned());
    let made = builder.spawn(move || {
        let (ours, peer, note) = between(&job)?;
        let most = most(&job, &ours);
        let cpus = place::cpus(&job, IpAddr::V4(ours.address(0)))?;
        let made = make(&job, &ours, &peer)?;
        Ok(Wire { made, notes: vec![note], most, cpus })
    });
    let made = made.map_err(|why| Error::Failed(format!("cannot start a thread: {why}")))?;
    let ended = || Err(Error::Failed("the thread that connects both ends has ended".to_owned()));
    made.join().unwrap_or_else(|_| ended())
}

/// What TCP can carry out of this end, by the interface that has its address. `None` where nobody
/// knows: of a veth pair that nothing shapes, of loopback, and of the way from the peer, whose
/// interface is not ours to ask.
fn most(job: &NetJob, ours: &NetworkEnd) -> Option<Ceiling> {
    let asked = matches!(job.wire, NetworkPathChoice::Peer(_));
    asked.then(|| most_to(job, IpAddr::V4(ours.address(0)))).flatten()
}

/// The same, by the interface that has this address.
pub fn most_to(job: &NetJob, ours: IpAddr) -> Option<Ceiling> {
    // What it derives is for TCP's headers.
    // One way alone is known.
    if job.reversed || job.both || job.datagrams.is_some() {
        return None;
    }
    let name = link::having(ours).ok()??;
    let capacity = interface::capacity(&Host::live(), &name)?;
    Some(Ceiling {
        bytes_per_s: Some(capacity.bytes_per_s),
        why: format!("{name} ({})", capacity.derivation),
        ..Ceiling::default()
    })
}

/// Both ends, and what is said of them.
fn between(job: &NetJob) -> Result<(NetworkEnd, NetworkEnd, Note), Error> {
    let unsupported = |error: sys::Error| Error::Unsupported(error.to_string());
    match &job.wire {
        NetworkPathChoice::Loopback => Ok(loopback("over-loopback", "as wire=loopback says")),
        NetworkPathChoice::Peer(name) => existing(name).map_err(unsupported),
        NetworkPathChoice::Namespaces => namespaces(job.mtu, job.interfaces).map_err(|error| {
            Error::Unsupported(format!("{error}; wire=namespaces takes root, wire=loopback none"))
        }),
        NetworkPathChoice::Machine(there) => {
            Err(Error::Failed(format!("{there} is another machine, and has no namespace here")))
        }
        NetworkPathChoice::Auto => match (namespaces(job.mtu, job.interfaces), job.mtu) {
            (Err(error), _) if job.interfaces > 1 => Err(Error::Unsupported(format!(
                "{error}; interfaces={} need network namespaces, which take root",
                job.interfaces
            ))),
            (Ok(made), _) => Ok(made),
            (Err(error), None) => {
                Ok(loopback("loopback-instead", &format!("as root alone can do better: {error}")))
            }
            (Err(error), Some(mtu)) => Err(Error::Unsupported(format!(
                "{error}; mtu={mtu} needs network namespaces, which take root"
            ))),
        },
    }
}

fn loopback(kind: &'static str, why: &str) -> (NetworkEnd, NetworkEnd, Note) {
    let end = || NetworkEnd { namespace: None, addresses: vec![Ipv4Addr::LOCALHOST] };
    let text = format!(
        "both ends are on this machine's loopback interface, {why}: no card and no wire is in the \
         figure"
    );
    (end(), end(), Note::new(kind, text))
}

/// Veth pairs between two namespaces of their own.
fn namespaces(
    mtu: Option<u32>,
    links: usize,
) -> Result<(NetworkEnd, NetworkEnd, Note), sys::Error> {
    let before = Namespace::own()?;
    let peer = Namespace::make()?;
    let joined = join(&peer, mtu, links);
    if joined.is_err() {
        // What comes next, loopback, is that of the namespace in which we were.
        before.enter()?;
    }
    let ours = joined?;
    let join = match links {
        1 => "a veth pair".to_owned(),
        _ => format!("{links} veth pairs"),
    };
    let text = format!(
        "both ends are on this machine, in two network namespaces that {join} with an MTU of {} \
         {}: no card and no wire is in the figure",
        mtu.unwrap_or(MTU),
        if links == 1 { "joins" } else { "join" }
    );
    let end = |namespace, of: PairEnd| NetworkEnd {
        namespace: Some(namespace),
        addresses: (0..links).map(|link| of.address(link)).collect(),
    };
    Ok((end(ours, OURS), end(peer, PEER), Note::new("over-namespaces", text)))
}

/// Another new namespace, joined to `peer`.
fn join(peer: &Namespace, mtu: Option<u32>, links: usize) -> Result<Namespace, sys::Error> {
    let ours = Namespace::make()?;
    for link in 0..links {
        ours.enter()?;
        link::make_pair(&OURS.name(link), &PEER.name(link), peer, mtu)?;
        link::set_up(&OURS.name(link), OURS.address(link), PREFIX)?;
        peer.enter()?;
        link::set_up(&PEER.name(link), PEER.address(link), PREFIX)?;
    }
    Ok(ours)
}

/// From the namespace that we are in to an existing one.
fn existing(name: &str) -> Result<(NetworkEnd, NetworkEnd, Note), sys::Error> {
    let (own, peer) = (Namespace::own()?, Namespace::named(name)?);
    peer.enter()?;
    let found = link::addresses();
    own.enter()?;
    let what = || format!("cannot reach the network namespace `{name}`");
    let there = match found?.as_slice() {
        [one] => *one,
        [] => {
            let why = "no interface in it is up and has an IPv4 address";
            let hint = format!("`ip -n {name} address add ADDRESS/PREFIX dev INTERFACE`");
            return Err(sys::Error::new(what(), why).hint(&hint));
        }
        several => {
            let all: Vec<String> = several.iter().map(Ipv4Addr::to_string).collect();
            let why = format!("it has several IPv4 addresses: {}", all.join(", "));
            return Err(sys::Error::new(what(), why).hint("leave one interface up in it"));
        }
    };
    let here = towards(there).map_err(|why| sys::Error::new(what(), why))?;
    let text = format!(
        "both ends are on this machine; bytes go between {here} and {there} in the network \
         namespace {name}, over what somebody has put between them"
    );
    let end =
        |namespace, address| NetworkEnd { namespace: Some(namespace), addresses: vec![address] };
    Ok((end(own, here), end(peer, there), Note::new("over-peer-namespace", text)))
}

/// The address of ours from which `there` is reached; sends nothing.
fn towards(there: Ipv4Addr) -> std::io::Result<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((there, 9))?;
    match socket.local_addr()?.ip() {
        IpAddr::V4(here) => Ok(here),
        IpAddr::V6(_) => Err(std::io::ErrorKind::AddrNotAvailable.into()),
    }
}

/// The receiver listens, for each stream on the address of its link and a port of the kernel's
/// choice, until it is there.
///
/// # Errors
/// `Unsupported` for what the kernel does not have; `Failed` with its words for the rest.
pub fn connections(
    job: &NetJob,
    ours: &NetworkEnd,
    peer: &NetworkEnd,
) -> Result<Vec<Connection>, Error> {
    let mut connections = Vec::with_capacity(job.streams);
    for stream in 0..job.streams {
        let (from, to) = if job.comes_in(stream) { (peer, ours) } else { (ours, peer) };
        let link = job.link(stream);
        to.enter()?;
        let listener = TcpListener::bind((to.address(link), 0)).map_err(failed("listen"))?;
        if let Some(bytes) = job.socket_buffer {
            // Connections inherit it, with a window that fits.
            socket::set_receive_buffer(&listener, bytes).map_err(failed("set SO_RCVBUF"))?;
        }
        listener.set_nonblocking(true).map_err(failed("listen"))?;
        let address = listener.local_addr().map_err(failed("listen"))?;
        from.enter()?;
        let sender = TcpStream::connect_timeout(&address, CONNECTING_MAX);
        let sender = sender.map_err(|why| {
            let from = from.address(link);
            Error::Failed(format!("cannot connect {from} to {address}: {why}"))
        })?;
        let own = sender.local_addr().map_err(failed("connect"))?;
        let receiver = accept(&listener, own)?;
        prepare_sender(job, &sender)?;
        prepare_receiver(job, &receiver)?;
        connections.push(Connection { sender, receiver });
    }
    Ok(connections)
}

/// The connection that comes from `sender`; anybody else's is closed.
fn accept(listener: &TcpListener, sender: SocketAddr) -> Result<TcpStream, Error> {
    let until_ns = monotonic_ns() + CONNECTING_MAX.as_nanos() as u64;
    loop {
        match listener.accept() {
            Ok((socket, from)) if from == sender => return Ok(socket),
            Ok(_) => {}
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(why) => return Err(Error::Failed(format!("cannot accept a connection: {why}"))),
        }
        if monotonic_ns() > until_ns {
            let why = format!("the connection from {sender} did not come in within 10 s");
            return Err(Error::Failed(why));
        }
    }
}

/// Makes the sockets of all streams ready, each to send or to receive; those that send first.
///
/// # Errors
/// As [`connections`].
pub fn prepare(
    job: &NetJob,
    sockets: Vec<TcpStream>,
    sends: impl Fn(usize) -> bool,
) -> Result<(Vec<TcpStream>, Vec<TcpStream>), Error> {
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    for (stream, socket) in sockets.into_iter().enumerate() {
        if sends(stream) {
            prepare_sender(job, &socket)?;
            outgoing.push(socket);
        } else {
            prepare_receiver(job, &socket)?;
            incoming.push(socket);
        }
    }
    Ok((outgoing, incoming))
}

/// Makes a socket ready to receive.
///
/// # Errors
/// As [`connections`].
pub fn prepare_receiver(job: &NetJob, receiver: &TcpStream) -> Result<(), Error> {
    receiver.set_nonblocking(false).map_err(failed("wait for bytes"))?;
    receiver.set_read_timeout(Some(SILENCE_MAX)).map_err(failed("set SO_RCVTIMEO"))?;
    receive_buffer(job, receiver)?;
    low_water(job, receiver)
}

/// Makes a socket ready to send.
///
/// # Errors
/// As [`connections`].
pub fn prepare_sender(job: &NetJob, sender: &TcpStream) -> Result<(), Error> {
    sender.set_write_timeout(Some(SILENCE_MAX)).map_err(failed("set SO_SNDTIMEO"))?;
    sender.set_nodelay(job.nodelay).map_err(failed("set TCP_NODELAY"))?;
    if let Some(name) = &job.congestion {
        socket::set_congestion(sender, name).map_err(|why| {
            Error::Unsupported(format!(
                "cannot use congestion-control={name}: {why}; \
                 /proc/sys/net/ipv4/tcp_available_congestion_control lists what is there"
            ))
        })?;
    }
    send_buffer(job, sender)?;
    if let Some(rate) = job.pacing {
        socket::pace(sender, rate).map_err(failed("set SO_MAX_PACING_RATE"))?;
    }
    if job.send == SendPath::Zerocopy {
        socket::allow_zerocopy(sender).map_err(|why| {
            Error::Unsupported(format!(
                "cannot send without copying (SO_ZEROCOPY): {why}; send-path=write copies"
            ))
        })?;
    }
    Ok(())
}

/// Gives a sender the buffer that was asked for.
///
/// # Errors
/// `Unsupported` when the kernel does not.
pub fn send_buffer(job: &NetJob, sender: &impl AsFd) -> Result<(), Error> {
    let Some(asked) = job.socket_buffer else { return Ok(()) };
    socket::set_send_buffer(sender, asked).map_err(failed("set SO_SNDBUF"))?;
    let (got, _) = socket::buffers(sender).map_err(failed("ask for socket buffers"))?;
    granted(asked, got, "SO_SNDBUF", "net.core.wmem_max")
}

/// The same of a receiver.
///
/// # Errors
/// As [`send_buffer`].
pub fn receive_buffer(job: &NetJob, receiver: &impl AsFd) -> Result<(), Error> {
    let Some(asked) = job.socket_buffer else { return Ok(()) };
    socket::set_receive_buffer(receiver, asked).map_err(failed("set SO_RCVBUF"))?;
    let (_, got) = socket::buffers(receiver).map_err(failed("ask for socket buffers"))?;
    granted(asked, got, "SO_RCVBUF", "net.core.rmem_max")
}

/// The kernel cuts it to half of what it may ever buffer, and says nothing.
fn low_water(job: &NetJob, receiver: &TcpStream) -> Result<(), Error> {
    let Some(asked) = job.low_water else { return Ok(()) };
    socket::set_low_water(receiver, asked).map_err(failed("set SO_RCVLOWAT"))?;
    let got = socket::low_water(receiver).map_err(failed("ask for SO_RCVLOWAT"))?;
    match got < asked {
        false => Ok(()),
        true => Err(Error::Unsupported(format!(
            "cannot have receive-low-water={asked}B: the kernel gave {got}B, half of what it may \
             buffer for a receiver; ask for less, or for more by socket-buffer or \
             tcp-buffer-max (the last number of net.ipv4.tcp_rmem)"
        ))),
    }
}

/// The kernel cuts a buffer to what the machine's settings allow, and says nothing.
fn granted(asked: u64, got: u64, option: &str, limit: &str) -> Result<(), Error> {
    match got < asked.saturating_mul(2) {
        false => Ok(()),
        true => Err(Error::Unsupported(format!(
            "cannot have socket-buffer={asked}B: the kernel gave {}B for {option}; raise it with \
             `sysctl {limit}={asked}`, or ask for less",
            got / 2
        ))),
    }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |why| Error::Failed(format!("cannot {what}: {why}"))
}
