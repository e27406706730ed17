//! Knobs of the network's stack: files of /proc/sys/net, in the network namespace that Brickyard
//! runs in (Documentation/networking/ip-sysctl.rst, Documentation/admin-guide/sysctl/net.rst).

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::lies::{KnobFiles, ValueFormat};
use super::{Apply, GIB, Knob, Scope};
use crate::knob::typed::{Bytes, Count, OrAsIs, Setting, Word};
use base::value::Domain;

/// Only what may use the network obeys: files may lie on a server elsewhere.
const fn knob<T: Setting>(
    name: &'static str,
    domain: Domain,
    apply: Apply,
    about: &'static str,
) -> Knob<T> {
    let (scope, default) = (Scope::System, "as-is");
    Knob { name, fio: "", about, domain, default, scope, apply, reads: PhantomData }
}

/// Whole numbers, of bytes or of packets.
const ONES: ValueFormat = ValueFormat::Number(1);

/// The kernel keeps these sizes in a signed number of 32 bits, and needs a page.
const SIZES: Domain = Domain::Bytes { min: 4096, max: 2 * GIB - 1, step: 1 };

pub const TCP_BUFFER_MAX: Knob<OrAsIs<Bytes>> = knob(
    "tcp-buffer-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(KnobFiles::network(
        &["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"],
        ValueFormat::Last([0, 0]),
    )),
    "What the kernel lets the buffers of a TCP connection grow to by itself, for reading and for \
     writing (net.ipv4.tcp_rmem, tcp_wmem); bounds the window",
);
pub const SOCKET_BUFFER_MAX: Knob<OrAsIs<Bytes>> = knob(
    "socket-buffer-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(KnobFiles::network(
        &["/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"],
        ONES,
    )),
    "The largest buffer that a program may ask for with SO_RCVBUF and SO_SNDBUF \
     (net.core.rmem_max, wmem_max)",
);
pub const TCP_CONGESTION: Knob<OrAsIs<Word>> = knob(
    "tcp-congestion",
    Domain::OrAsIs(&Domain::Label),
    Apply::Files(KnobFiles::Network {
        paths: &["/proc/sys/net/ipv4/tcp_congestion_control"],
        form: ValueFormat::Word,
        choices: Some("/proc/sys/net/ipv4/tcp_available_congestion_control"),
    }),
    "Congestion control of new TCP connections, one of net.ipv4.tcp_available_congestion_control",
);
pub const NETDEV_BACKLOG_MAX: Knob<OrAsIs<Count>> = knob(
    "netdev-backlog-max",
    Domain::OrAsIs(&Domain::Count { min: 1, max: i32::MAX as u64 }),
    Apply::Files(KnobFiles::network(&["/proc/sys/net/core/netdev_max_backlog"], ONES)),
    "Packets that wait for a CPU on their way in before more are dropped \
     (net.core.netdev_max_backlog)",
);

pub const OPTMEM_MAX: Knob<OrAsIs<Bytes>> = knob(
    "optmem-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(KnobFiles::network(&["/proc/sys/net/core/optmem_max"], ONES)),
    "What one socket may hold besides its buffers, such as what it was told of sends without a \
     copy (net.core.optmem_max)",
);
