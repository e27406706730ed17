//! Knobs of the engine `net`: what is sent over a network, and by what way of the kernel's.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Bytes, BytesPerSecond, Count, OrAsIs, Word};
use super::{Knob, own};
use base::value::Domain;

pub const WIRE: Knob<Word> = own(
    "wire",
    Domain::OneOf(&["auto", "namespaces", "loopback"]),
    "auto",
    "Between the two ends: a veth pair that joins two network namespaces made for the trial (takes \
     root), the loopback interface, or `auto`: the first where root allows, else the second",
);
pub const PEER_NAMESPACE: Knob<OrAsIs<Word>> = own(
    "peer-namespace",
    Domain::OrAsIs(&Domain::Label),
    "as-is",
    "The other end is in this existing network namespace (ip-netns(8)), reached from the one that \
     brickyard runs in; its one IPv4 address is asked for there (takes root)",
);
pub const PEER: Knob<OrAsIs<Word>> = own(
    "peer",
    Domain::OrAsIs(&Domain::Text),
    "as-is",
    "The other end is on this machine, HOST or HOST:PORT, on which `brickyard receive` waits; \
     `brickyard send HOST PLAN` sets it",
);
pub const MTU: Knob<OrAsIs<Count>> = own(
    "mtu",
    Domain::OrAsIs(&Domain::Count { min: 576, max: 65_535 }),
    "as-is",
    "Bytes of an IP packet at most, on the veth pair of wire=namespaces (its own: 1500)",
);
pub const DIRECTION: Knob<Word> = own(
    "direction",
    Domain::OneOf(&["send", "receive", "both"]),
    "send",
    "What the server does: bytes go from this end to the peer, from the peer to this end, or both \
     at once: of two streams the first goes to the peer and the second comes from it",
);
pub const MESSAGE_SIZE: Knob<Bytes> = own(
    "message-size",
    Domain::Bytes { min: 1, max: 64 << 20, step: 1 },
    "128KiB",
    "Bytes that the sender hands to the kernel by one call (iperf3 -l)",
);
pub const SEND_PATH: Knob<Word> = own(
    "send-path",
    Domain::OneOf(&[
        "write",
        "sendfile",
        "sendfile-ahead",
        "zerocopy",
        "splice",
        "mmap",
        "uring",
        "uring-zerocopy",
    ]),
    "write",
    "From memory: write(2) from a buffer, sendfile(2) from a file in memory (memfd), send(2) with \
     MSG_ZEROCOPY, whose completions say how many sends the kernel copied after all, or io_uring, \
     many messages by one call, copied or not. From files: read(2) and write(2), sendfile(2), \
     the same with queue-depth threads that read ahead of it into the page cache, splice(2) \
     through a pipe of 1 MiB, write(2) from a memory map, or io_uring: reads into registered \
     buffers, queue-depth in flight, and sends from them, copied or not",
);
pub const RECEIVE_PATH: Knob<Word> = own(
    "receive-path",
    Domain::OneOf(&["read", "truncate", "uring-multishot"]),
    "read",
    "read(2) into a buffer, recv(2) with MSG_TRUNC, which drops the bytes without copying them, or \
     io_uring, into buffers that the kernel takes as bytes come (multishot)",
);
pub const SOCKET_BUFFER: Knob<OrAsIs<Bytes>> = own(
    "socket-buffer",
    Domain::OrAsIs(&Domain::Bytes { min: 4096, max: 1 << 30, step: 1 }),
    "as-is",
    "SO_SNDBUF of the sender and SO_RCVBUF of the receiver (the kernel doubles what is asked, \
     socket(7)); `as-is`: the kernel tunes both",
);
pub const RECEIVE_LOW_WATER: Knob<OrAsIs<Bytes>> = own(
    "receive-low-water",
    Domain::OrAsIs(&Domain::Bytes { min: 1, max: 1 << 30, step: 1 }),
    "as-is",
    "A receiver is woken once so many bytes have come (SO_RCVLOWAT, socket(7)), instead of by the \
     first of them: fewer wake-ups, and each byte waits longer; `as-is`: 1",
);
pub const CONGESTION_CONTROL: Knob<OrAsIs<Word>> = own(
    "congestion-control",
    Domain::OrAsIs(&Domain::Label),
    "as-is",
    "Algorithm of the sender, as in net.ipv4.tcp_available_congestion_control: cubic, reno, bbr",
);
pub const NODELAY: Knob<bool> = own(
    "nodelay",
    Domain::Flag,
    "false",
    "Small messages are sent at once (TCP_NODELAY); `false`: they are gathered (Nagle)",
);
pub const PACING: Knob<OrAsIs<BytesPerSecond>> = own(
    "pacing",
    Domain::OrAsIs(&Domain::BytesPerSecond),
    "as-is",
    "The most that each stream sends, such as 10Gb/s: of TCP the kernel paces it \
     (SO_MAX_PACING_RATE), of datagrams the sender's clock does; `as-is`: as fast as it goes",
);
pub const INTERFACES: Knob<Count> = own(
    "interfaces",
    Domain::Count { min: 1, max: 16 },
    "1",
    "Veth pairs between the two namespaces of wire=namespaces; streams are dealt over them in turn",
);
pub const DATAGRAM_SIZE: Knob<OrAsIs<Bytes>> = own(
    "datagram-size",
    Domain::OrAsIs(&Domain::Bytes { min: 16, max: 65_507, step: 1 }),
    "as-is",
    "Bytes of one datagram, without the headers of IP and UDP (iperf3 -u -l); `as-is`: what one \
     packet of the MTU holds, 1472 at 1500",
);
pub const UDP_SEGMENTATION: Knob<bool> = own(
    "udp-segmentation",
    Domain::Flag,
    "false",
    "One call hands over many datagrams as one piece, and the kernel or the card cuts them \
     (UDP_SEGMENT); `false`: each is a message of its own (sendmmsg)",
);
pub const UDP_COALESCING: Knob<bool> = own(
    "udp-coalescing",
    Domain::Flag,
    "false",
    "The receiver lets the kernel hand over several datagrams as one (UDP_GRO)",
);
