//! How the sockets of both machines find each other: datagrams have no connections.
//!
//! The far end has a door, a socket on the port of its talk. Each stream of the near end sends its
//! greeting there again and again: the ticket that the talk gave out, and its number. For each the
//! far end makes another socket on the same port, connected to where the greeting came from, which
//! the kernel prefers to the door from then on (udp(7)). So one port is to be open, a firewall that
//! follows connections lets the other way in, and whatever is in the way is found before the trial.
//!
//! Nothing is ever sent to an address that is not the one of the talk, whose end knows the token:
//! nobody can have this end send datagrams to somebody else.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::socket::reusable;
use crate::engine::Error;
use crate::engine::net::local_end::RemoteEnd;
use crate::engine::net::peer_protocol::{PeerMessage, PeerWord};
use host::sys::clock::monotonic_ns;

/// All have met by then, or something is in the way.
const MEETING_MAX_NS: u64 = if cfg!(test) { 3_000_000_000 } else { 10_000_000_000 };
/// How often each stream greets.
const GREET_EVERY: Duration = Duration::from_millis(50);
/// What a greeting begins with.
const GREETING: [u8; 8] = *b"brkyard?";
/// Bytes of a ticket, which is 64 hexadecimal digits.
const TICKET_BYTES: usize = 64;
/// Bytes of a greeting.
const GREETING_BYTES: usize = GREETING.len() + 4 + TICKET_BYTES;

/// Whether it begins as a greeting does; one may come late, to a socket that is connected already.
pub fn is_greeting(datagram: &[u8]) -> bool {
    datagram.starts_with(&GREETING)
}

fn greeting(ticket: &str, stream: usize) -> Vec<u8> {
    let number = (stream as u32).to_le_bytes();
    [&GREETING[..], &number, ticket.as_bytes()].concat()
}

/// The stream that greets with this ticket; `None` for anything else.
fn greeted(datagram: &[u8], ticket: &str) -> Option<usize> {
    let rest = datagram.strip_prefix(&GREETING)?;
    let (number, theirs) = rest.split_first_chunk::<4>()?;
    // Hashes compare in constant time.
    let same = || blake3::hash(theirs) == blake3::hash(ticket.as_bytes());
    (theirs.len() == TICKET_BYTES && same()).then(|| u32::from_le_bytes(*number) as usize)
}

/// What the numbers of a stream's datagrams begin at: drawn with the ticket of each trial, so that
/// a datagram of another trial, or a stranger's, is not taken for one of this.
pub fn first_number(ticket: &str, stream: usize) -> u64 {
    let drawn = blake3::derive_key("brickyard 2026-11 numbers of datagrams", ticket.as_bytes());
    let hash = blake3::keyed_hash(&drawn, &(stream as u64).to_le_bytes());
    let bytes = hash.as_bytes().first_chunk::<8>().copied().unwrap_or_default();
    // No count of datagrams brings it to the end of 64 bits.
    u64::from_le_bytes(bytes) >> 1
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |why| Error::Failed(format!("cannot {what}: {why}"))
}

/// The near end: one socket a stream, each known to the far end and connected to it.
///
/// # Errors
/// When no greeting came through, with what to open.
pub fn near(far: &mut RemoteEnd, streams: usize, ticket: &str) -> Result<Vec<UdpSocket>, Error> {
    let (mut here, there) = far.ends();
    here.set_port(0);
    let socket = |_| {
        let socket = UdpSocket::bind(here).map_err(failed("bind a socket of datagrams"))?;
        socket.connect(there).map_err(failed("connect a socket of datagrams"))?;
        Ok(socket)
    };
    let sockets: Vec<UdpSocket> = (0..streams).map(socket).collect::<Result<_, Error>>()?;
    let over = AtomicBool::new(false);
    let greet = || {
        while !over.load(Relaxed) {
            for (stream, socket) in sockets.iter().enumerate() {
                // A refusal of the last one: the far end says what came, and what did not.
                let _ = socket.send(&greeting(ticket, stream));
            }
            std::thread::sleep(GREET_EVERY);
        }
    };
    let answer = std::thread::scope(|scope| {
        let greets = std::thread::Builder::new().name("greets".to_owned());
        greets.spawn_scoped(scope, greet).map_err(failed("start a thread"))?;
        let answer = far.answer();
        over.store(true, Relaxed);
        answer
    })?;
    match answer {
        PeerMessage::Word(PeerWord::Met {}) => Ok(sockets),
        other => Err(far.refusal(other)),
    }
}

/// The far end's socket to which the streams of the near end send their greetings.
#[derive(Debug)]
pub struct MeetingSocket {
    socket: UdpSocket,
    here: SocketAddr,
    caller: IpAddr,
}

impl MeetingSocket {
    /// On the address and the port of the talk, for whoever has called from there.
    ///
    /// # Errors
    /// When somebody else has the port.
    pub fn open(here: SocketAddr, caller: IpAddr) -> Result<MeetingSocket, Error> {
        let socket = reusable(here).map_err(|why| {
            Error::Failed(format!(
                "cannot listen for datagrams on UDP port {} of {}: {why}; another program may have \
                 it: `brickyard receive --port` takes another",
                here.port(),
                here.ip()
            ))
        })?;
        socket.set_read_timeout(Some(GREET_EVERY)).map_err(failed("set SO_RCVTIMEO"))?;
        Ok(MeetingSocket { socket, here, caller })
    }

    /// Waits until so many streams have greeted with this ticket: a socket for each, connected.
    ///
    /// # Errors
    /// When some did not, with what to open.
    pub fn meet(self, ticket: &str, count: usize) -> Result<Vec<UdpSocket>, Error> {
        let until_ns = monotonic_ns() + MEETING_MAX_NS;
        let mut met: Vec<Option<(SocketAddr, UdpSocket)>> = (0..count).map(|_| None).collect();
        let mut buffer = [0; GREETING_BYTES + 1];
        while met.iter().any(Option::is_none) {
            if monotonic_ns() > until_ns {
                return Err(self.nobody(met.iter().flatten().count(), count));
            }
            let (bytes, from) = match self.socket.recv_from(&mut buffer) {
                Ok(came) => came,
                Err(why) if is_passing(&why) => continue,
                Err(why) => return Err(failed("receive a datagram")(why)),
            };
            let stream = greeted(&buffer[..bytes], ticket).filter(|_| from.ip() == self.caller);
            let known = met.iter().flatten().any(|(one, _)| *one == from);
            let place = stream.filter(|_| !known).and_then(|stream| met.get_mut(stream));
            if let Some(place @ None) = place {
                let socket = reusable(self.here).map_err(failed("bind a socket of datagrams"))?;
                socket.connect(from).map_err(failed("connect a socket of datagrams"))?;
                *place = Some((from, socket));
            }
        }
        Ok(met.into_iter().flatten().map(|(_, socket)| socket).collect())
    }

    fn nobody(&self, came: usize, count: usize) -> Error {
        let (caller, port, here) = (self.caller, self.here.port(), self.here.ip());
        let what = match came {
            0 => "no datagram".to_owned(),
            _ => format!("datagrams of {came} of {count} streams alone"),
        };
        Error::Failed(format!(
            "{what} came from {caller} to UDP port {port} of {here} within {} s, while TCP does: a \
             firewall drops them, on one of both machines or on the way; let UDP port {port} in at \
             {here}, as TCP port {port} is",
            MEETING_MAX_NS / 1_000_000_000
        ))
    }
}

/// Nothing came yet, or an answer to a datagram of another socket did.
fn is_passing(why: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, WouldBlock};
    matches!(why.kind(), WouldBlock | Interrupted | ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn ticket() -> String {
        "0123456789abcdef".repeat(4)
    }

    fn door() -> (MeetingSocket, SocketAddr) {
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = free.local_addr().unwrap();
        drop(free);
        (MeetingSocket::open(at, at.ip()).unwrap(), at)
    }

    /// Nothing but the greeting itself is one, with this ticket, and with nothing behind it.
    #[test]
    fn a_greeting_is_known_by_its_ticket_and_by_nothing_less() {
        let whole = greeting(&ticket(), 7);
        assert_eq!(greeted(&whole, &ticket()), Some(7));
        assert_eq!(greeted(&whole, &ticket().replace('0', "1")), None);
        assert_eq!(greeted(&[&whole[..], b"x"].concat(), &ticket()), None);
        for end in 0..whole.len() {
            assert_eq!(greeted(&whole[..end], &ticket()), None, "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_at_all_are_taken_for_a_greeting(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            prop_assert_eq!(greeted(&bytes, &ticket()), None);
            prop_assert_eq!(greeted(&[&GREETING[..], &bytes].concat(), &ticket()), None);
        }
    }

    #[test]
    fn each_stream_and_each_trial_begins_at_a_number_of_its_own() {
        let other = ticket().replace('0', "1");
        let mut all: Vec<u64> =
            (0..8).flat_map(|s| [first_number(&ticket(), s), first_number(&other, s)]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16);
        assert!(all.iter().all(|first| *first < 1 << 63));
    }

    /// Streams that have met have sockets of their own on the one port; whoever has no ticket, or
    /// calls from elsewhere, has none.
    #[test]
    fn who_has_the_ticket_is_met_and_nobody_else() {
        let (door, at) = door();
        let own = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.connect(at).unwrap();
            socket
        };
        let (stranger, elsewhere) = (own(), UdpSocket::bind("127.0.0.2:0").unwrap());
        stranger.send(&greeting(&ticket().replace('0', "1"), 0)).unwrap();
        stranger.send(b"nonsense").unwrap();
        elsewhere.connect(at).unwrap();
        elsewhere.send(&greeting(&ticket(), 0)).unwrap();
        let streams = [own(), own()];
        for (number, socket) in streams.iter().enumerate() {
            socket.send(&greeting(&ticket(), number)).unwrap();
            socket.send(&greeting(&ticket(), 9)).unwrap();
        }
        let met = door.meet(&ticket(), 2).unwrap();
        for (socket, stream) in met.iter().zip(&streams) {
            assert_eq!(socket.peer_addr().unwrap(), stream.local_addr().unwrap());
            assert_eq!(socket.local_addr().unwrap(), at);
            // Late ones of its own may stand there; a stranger's never comes to it.
            let _ = stranger.send(b"stranger");
            stream.send(b"own").unwrap();
            let next = || {
                let mut buffer = [0; 100];
                let bytes = socket.recv(&mut buffer).unwrap();
                buffer[..bytes].to_vec()
            };
            let mut came = next();
            while is_greeting(&came) {
                came = next();
            }
            assert_eq!(came, b"own");
        }
    }

    #[test]
    fn a_port_that_somebody_else_has_is_told_with_what_to_type() {
        let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = taken.local_addr().unwrap();
        match MeetingSocket::open(at, at.ip()) {
            Err(Error::Failed(why)) => assert!(why.contains("--port"), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    /// It was 100 % loss without a word, or a trial that waited for ever.
    #[test]
    fn a_way_that_no_datagram_gets_through_is_told_with_the_port_to_open() {
        let (door, at) = door();
        match door.meet(&ticket(), 1) {
            Err(Error::Failed(why)) => {
                assert!(why.contains(&format!("let UDP port {} in", at.port())), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
