//! What a trial over a network is to do, read from its settings.

use crate::engine::Error;
use crate::engine::file::job::format;
use crate::engine::load::cpus::Pinning;
use crate::fleet::PeerAddress;
use base::pattern::block::{Format, SECTOR_BYTES};
use base::value::Stop;
use experiment::knob::{self, Settings};

/// Bytes of an IP packet at most, where nothing else is said.
pub const MTU: u32 = 1500;
/// The number and the time in each datagram, bytes.
pub const HEADER_BYTES: usize = 16;
/// The most that one datagram of IPv4 can hold, bytes.
pub const DATAGRAM_MAX: usize = 65_507;

/// How bytes leave the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum SendPath {
    /// write(2) from a buffer.
    Write,
    /// sendfile(2) from a file in memory.
    Sendfile,
    /// send(2) with MSG_ZEROCOPY from a buffer.
    Zerocopy,
    /// sendfile(2), with threads that read ahead of it.
    SendfileAhead,
    /// splice(2) through a pipe.
    Splice,
    /// write(2) from a map of a file.
    Mmap,
    /// io_uring, a send from a registered buffer.
    Uring,
    /// The same without copying.
    UringZerocopy,
}

impl SendPath {
    /// As typed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the kernel says of each send whether it was copied.
    pub fn tells_of_copies(self) -> bool {
        matches!(self, SendPath::Zerocopy | SendPath::UringZerocopy)
    }
}

/// How bytes come in at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivePath {
    /// read(2) into a buffer.
    Read,
    /// recv(2) with MSG_TRUNC: they are dropped, not copied.
    Truncate,
    /// io_uring, into buffers that the kernel takes as bytes come.
    Multishot,
}

/// What the user wants between the two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkPathChoice {
    /// A veth pair where root allows, else loopback.
    Auto,
    /// A veth pair of our own.
    Namespaces,
    /// The loopback interface.
    Loopback,
    /// Whatever leads to the existing namespace of that name.
    Peer(String),
    /// Whatever leads to another machine, on which `brickyard receive` waits.
    Machine(PeerAddress),
}

/// Datagrams, as they are sent and taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Bytes of one.
    pub bytes: usize,
    /// The kernel cuts many of them from one call (UDP_SEGMENT).
    pub segmented: bool,
    /// The kernel may hand over several as one (UDP_GRO).
    pub coalesced: bool,
}

impl Default for Datagrams {
    fn default() -> Datagrams {
        Datagrams { bytes: of_mtu(MTU, true), segmented: false, coalesced: false }
    }
}

/// What fits into one packet: without the headers of IPv4 (RFC 791) or IPv6 (RFC 8200), and of UDP
/// (RFC 768).
pub fn of_mtu(mtu: u32, over_ipv4: bool) -> usize {
    let headers = if over_ipv4 { 20 + 8 } else { 40 + 8 };
    (mtu as usize).saturating_sub(headers).clamp(HEADER_BYTES, DATAGRAM_MAX)
}

/// What one trial over a network is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetJob {
    /// Bytes of one message; of files, of one block.
    pub message_bytes: usize,
    /// Blocks that are read ahead of the one that is sent, and that one; of files alone.
    pub depth: usize,
    /// Senders, and as many receivers.
    pub streams: usize,
    /// How bytes leave.
    pub send: SendPath,
    /// How they come in.
    pub receive: ReceivePath,
    /// The peer sends, and this end receives.
    pub reversed: bool,
    /// Every second stream does that, and the others do not.
    pub both: bool,
    /// What lies between the ends.
    pub wire: NetworkPathChoice,
    /// Of our own veth pair; `None` leaves it to the kernel.
    pub mtu: Option<u32>,
    /// Links between the ends, over which streams are dealt in turn.
    pub interfaces: usize,
    /// Bytes per second that each stream sends at most; `None` is as fast as it goes.
    pub pacing: Option<u64>,
    /// What is sent when it is no stream of bytes.
    pub datagrams: Option<Datagrams>,
    /// Of both sockets; `None` leaves them to the kernel.
    pub socket_buffer: Option<u64>,
    /// Bytes that must have come before a receiver is woken; `None` leaves it to the kernel.
    pub low_water: Option<u64>,
    /// Of the sender; `None` leaves it to the kernel.
    pub congestion: Option<String>,
    /// TCP_NODELAY of the sender.
    pub nodelay: bool,
    /// When the timed part ends.
    pub stop: Stop,
    /// Streams count as started after this, ns.
    pub warm_up_ns: u64,
    /// A trial that ends by its interval goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Everything ends after this, ns.
    pub at_most_ns: u64,
    /// The processors of sender, receiver, sender, ... in turn; empty when nothing is pinned.
    pub cpus: Vec<usize>,
    /// They are those of the card's node, once it is known which card that is.
    pub numa_local: bool,
    /// How what is sent from memory can be checked where it arrives, if it is to be.
    pub verify: Option<Format>,
    /// Draws the bytes that are sent.
    pub seed: u64,
}

impl NetJob {
    /// Reads it. Whether it can be done here is told by [`super::asked::job`].
    ///
    /// # Errors
    /// `Unsupported` for what this engine cannot honour, with what would work.
    pub fn new(settings: &Settings, seed: u64) -> Result<NetJob, Error> {
        let mtu = settings.get(knob::MTU).map(|bytes| bytes as u32);
        let datagrams = settings.has(knob::DATAGRAM_SIZE).then(|| Datagrams {
            bytes: match settings.get(knob::DATAGRAM_SIZE) {
                Some(bytes) => bytes as usize,
                None => of_mtu(mtu.unwrap_or(MTU), true),
            },
            segmented: settings.get(knob::UDP_SEGMENTATION),
            coalesced: settings.get(knob::UDP_COALESCING),
        });
        let pinning = Pinning::parse(settings.get(knob::CPU_PINNING))?;
        let numa_local = pinning == Pinning::NumaLocal;
        let job = NetJob {
            message_bytes: match datagrams {
                Some(datagrams) => datagrams.bytes,
                None if of_files(settings) => settings.get(knob::BLOCK_SIZE) as usize,
                None => settings.get(knob::MESSAGE_SIZE) as usize,
            },
            interfaces: settings.get(knob::INTERFACES).max(1) as usize,
            pacing: settings.get(knob::PACING),
            datagrams,
            depth: settings.get(knob::QUEUE_DEPTH) as usize,
            streams: settings.get(knob::STREAMS) as usize,
            send: settings.get(knob::SEND_PATH).parse().unwrap_or(SendPath::Write),
            receive: match settings.get(knob::RECEIVE_PATH) {
                "truncate" => ReceivePath::Truncate,
                "uring-multishot" => ReceivePath::Multishot,
                _ => ReceivePath::Read,
            },
            reversed: settings.get(knob::DIRECTION) == "receive",
            both: settings.get(knob::DIRECTION) == "both",
            wire: wanted(settings)?,
            mtu,
            socket_buffer: settings.get(knob::SOCKET_BUFFER),
            low_water: settings.get(knob::RECEIVE_LOW_WATER),
            congestion: settings.get(knob::CONGESTION_CONTROL).map(str::to_owned),
            nodelay: settings.get(knob::NODELAY),
            stop: settings.stop(),
            warm_up_ns: settings.get(knob::WARM_UP),
            at_least_ns: settings.get(knob::AT_LEAST),
            at_most_ns: settings.get(knob::AT_MOST),
            cpus: if numa_local { Vec::new() } else { pinning.cpus()? },
            numa_local,
            // Blocks of files are those that were written.
            verify: format(settings).filter(|_| !of_files(settings)).map(
                |format| match datagrams {
                    // One a datagram.
                    Some(Datagrams { bytes, .. }) => {
                        Format { block_bytes: bytes.saturating_sub(HEADER_BYTES), ..format }
                    }
                    None => format,
                },
            ),
            seed,
        };
        job.check()?;
        Ok(job)
    }

    /// Whether the peer sends what goes over this stream.
    pub fn comes_in(&self, stream: usize) -> bool {
        self.reversed || (self.both && !stream.is_multiple_of(2))
    }

    /// The link of a stream: they are dealt over all in turn, in pairs where both ways are taken.
    pub fn link(&self, stream: usize) -> usize {
        let turn = if self.both { stream / 2 } else { stream };
        turn % self.interfaces.max(1)
    }

    /// Threads of each sender that read ahead of it.
    pub fn helpers(&self) -> usize {
        if self.send == SendPath::SendfileAhead { self.depth.max(1) } else { 0 }
    }

    /// Refuses ways that take files.
    pub fn check_path(&self) -> Result<(), Error> {
        match self.send {
            path @ (SendPath::SendfileAhead | SendPath::Splice | SendPath::Mmap) => {
                Err(Error::Unsupported(of_files_alone(path)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses ways by which no block can be made anew, or looked at.
    fn check_verify(&self) -> Result<(), Error> {
        let Some(Format { block_bytes, .. }) = self.verify else { return Ok(()) };
        if let Some(Datagrams { bytes, .. }) = self.datagrams {
            return match block_bytes < SECTOR_BYTES {
                false => Ok(()),
                true => Err(Error::Unsupported(format!(
                    "with verify each datagram has a block that names itself, of {SECTOR_BYTES} \
                     bytes or more, behind its header of {HEADER_BYTES}; datagram-size={bytes}B \
                     has no room for one: choose datagram-size={}B or more",
                    HEADER_BYTES + SECTOR_BYTES
                ))),
            };
        }
        if self.send != SendPath::Write || self.receive != ReceivePath::Read {
            return Err(Error::Unsupported(
                "with verify each block is made anew by the sender and looked at by the receiver; \
                 it needs send-path=write and receive-path=read"
                    .to_owned(),
            ));
        }
        if !self.message_bytes.is_multiple_of(block_bytes) {
            return Err(Error::Unsupported(format!(
                "message-size={}B is no multiple of verify-block={block_bytes}B, and blocks are \
                 sent whole; choose verify-block=512B, or another message-size",
                self.message_bytes
            )));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        let unsupported = |what: String| Err(Error::Unsupported(what));
        if let Stop::Pass | Stop::Bytes(_) | Stop::Bits(_) = self.stop {
            return unsupported(
                "over a network time ends a trial; choose a time (stop=10s), stop=steady or \
                 stop=interval:5%"
                    .to_owned(),
            );
        }
        if self.warm_up_ns >= self.at_most_ns {
            return unsupported(
                "warm-up takes as long as at-most leaves; choose a longer at-most".to_owned(),
            );
        }
        if self.interfaces > 1
            && !matches!(self.wire, NetworkPathChoice::Auto | NetworkPathChoice::Namespaces)
        {
            return unsupported(format!(
                "interfaces={} are veth pairs of our own; choose wire=namespaces (as root), or \
                 leave it out",
                self.interfaces
            ));
        }
        if self.both && !self.streams.is_multiple_of(2) {
            return unsupported(format!(
                "direction=both has as many streams go to the peer as come from it; choose \
                 streams={}",
                self.streams + 1
            ));
        }
        if let (true, NetworkPathChoice::Machine(there)) = (self.both, &self.wire) {
            if self.datagrams.is_some() {
                return unsupported(format!(
                    "peer={there} takes datagrams one way at a time; direction=both there is of \
                     tcp-stream: choose direction=send,receive"
                ));
            }
            if !matches!(self.stop, Stop::After(_)) {
                return unsupported(format!(
                    "direction=both with peer={there} is received at both ends, and neither can \
                     say alone when all of it is steady; choose a time (stop=10s)"
                ));
            }
        }
        let dealt = if self.both { self.streams / 2 } else { self.streams };
        if self.interfaces > dealt {
            return unsupported(format!(
                "interfaces={} with streams={} leaves some without a stream; choose streams={} or \
                 more",
                self.interfaces,
                self.streams,
                self.interfaces * if self.both { 2 } else { 1 }
            ));
        }
        self.check_verify()?;
        match (&self.wire, self.mtu) {
            (NetworkPathChoice::Loopback, Some(mtu)) => unsupported(format!(
                "mtu={mtu} is that of a veth pair of our own, and wire=loopback has none; choose \
                 wire=namespaces, or leave mtu out"
            )),
            (NetworkPathChoice::Peer(name), Some(mtu)) => unsupported(format!(
                "mtu={mtu} is that of a veth pair of our own, and the way to \
                 peer-namespace={name} is somebody else's; leave mtu out, and set it with `ip link`"
            )),
            (NetworkPathChoice::Machine(there), Some(mtu)) => unsupported(format!(
                "mtu={mtu} is that of a veth pair of our own, and the way to peer={there} is \
                 somebody else's; leave mtu out: interface-mtu sets a card's"
            )),
            _ => Ok(()),
        }
    }
}

/// Whether what is sent comes from files.
pub fn of_files(settings: &Settings) -> bool {
    settings.has(knob::FILES)
}

/// Why bytes from memory do not go by this way.
pub fn of_files_alone(path: SendPath) -> String {
    format!(
        "send-path={} sends files (workload file-stream); from memory write, sendfile, \
         zerocopy, uring and uring-zerocopy would work",
        path.name()
    )
}

fn wanted(settings: &Settings) -> Result<NetworkPathChoice, Error> {
    let wire = settings.get(knob::WIRE);
    if let Some(machine) = machine(settings)? {
        return Ok(machine);
    }
    let Some(peer) = settings.get(knob::PEER_NAMESPACE) else {
        return Ok(match wire {
            "namespaces" => NetworkPathChoice::Namespaces,
            "loopback" => NetworkPathChoice::Loopback,
            _ => NetworkPathChoice::Auto,
        });
    };
    if wire != "auto" {
        return Err(Error::Unsupported(format!(
            "peer-namespace={peer} says where the other end is, and so does wire={wire}; leave \
             one of them out"
        )));
    }
    Ok(NetworkPathChoice::Peer(peer.to_owned()))
}

/// The other machine, when one is named.
fn machine(settings: &Settings) -> Result<Option<NetworkPathChoice>, Error> {
    let Some(peer) = settings.get(knob::PEER) else { return Ok(None) };
    let there = PeerAddress::parse(peer).map_err(Error::Unsupported)?;
    let named = settings.get(knob::PEER_NAMESPACE).is_some();
    let other = match (named, settings.get(knob::WIRE)) {
        (true, _) => "peer-namespace".to_owned(),
        (false, "auto") => return Ok(Some(NetworkPathChoice::Machine(there))),
        (false, wire) => format!("wire={wire}"),
    };
    Err(Error::Unsupported(format!(
        "peer={there} says where the other end is, and so does {other}; leave one of them out"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn job(knobs: &[(&str, &str)]) -> Result<NetJob, String> {
        crate::engine::net::asked::job(&settings("net", knobs), 1).map_err(|error| match error {
            Error::Unsupported(why) => why,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn settings_become_what_is_done() {
        let job = job(&[
            ("message-size", "10B"),
            ("send-path", "zerocopy"),
            ("receive-path", "truncate"),
            ("direction", "receive"),
            ("mtu", "9000"),
            ("wire", "namespaces"),
            ("socket-buffer", "1MiB"),
            ("receive-low-water", "64KiB"),
            ("congestion-control", "reno"),
        ]);
        let job = job.unwrap();
        assert_eq!((job.message_bytes, job.send), (10, SendPath::Zerocopy));
        assert_eq!(job.receive, ReceivePath::Truncate);
        assert!(job.reversed && !job.nodelay);
        assert_eq!((job.wire, job.mtu), (NetworkPathChoice::Namespaces, Some(9000)));
        assert_eq!((job.socket_buffer, job.congestion), (Some(1 << 20), Some("reno".into())));
        assert_eq!(job.low_water, Some(64 << 10));
    }

    #[test]
    fn what_is_not_said_is_left_to_the_kernel() {
        let job = job(&[]).unwrap();
        assert_eq!((job.wire, job.mtu, job.socket_buffer), (NetworkPathChoice::Auto, None, None));
        assert_eq!((job.interfaces, job.pacing, job.datagrams), (1, None, None));
        assert_eq!((job.congestion, job.send), (None, SendPath::Write));
        assert_eq!(job.low_water, None);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name_with_what_would_work() {
        for (knobs, word) in [
            (&[("stop", "pass")][..], "choose a time"),
            (&[("stop", "1GiB")], "choose a time"),
            (&[("warm-up", "2h")], "at-most"),
            (&[("mtu", "9000"), ("wire", "loopback")], "wire=namespaces"),
            (&[("mtu", "9000"), ("peer-namespace", "b")], "ip link"),
            (&[("wire", "loopback"), ("peer-namespace", "b")], "leave one of them out"),
            (&[("wire", "loopback"), ("interfaces", "2"), ("streams", "2")], "wire=namespaces"),
            (&[("interfaces", "3"), ("streams", "2")], "choose streams=3"),
            (&[("direction", "both"), ("streams", "3")], "choose streams=4"),
            (&[("direction", "both"), ("streams", "2"), ("interfaces", "2")], "streams=4"),
            (
                &[("direction", "both"), ("streams", "2"), ("peer", "b"), ("stop", "steady")],
                "stop=10s",
            ),
            (&[("verify", "crc32c"), ("send-path", "uring")], "send-path=write"),
            (&[("verify", "crc32c"), ("receive-path", "truncate")], "receive-path=read"),
            (&[("verify", "crc32c"), ("message-size", "1000B")], "verify-block=512B"),
            (&[("cpu-pinning", "numa-local")], "a veth pair of our own, which has none"),
            (&[("cpu-pinning", "numa-local"), ("wire", "loopback")], "cpu-pinning=spread"),
        ] {
            let refused = job(knobs).unwrap_err();
            assert!(refused.contains(word), "{knobs:?}: {refused}");
        }
    }
}
