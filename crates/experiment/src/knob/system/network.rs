//! Knobs of the network's stack: files of /proc/sys/net, in the network namespace that Brickyard
//! runs in (Documentation/networking/ip-sysctl.rst, Documentation/admin-guide/sysctl/net.rst).

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::place::{Form, Place, one};
use super::{Apply, GIB, Knob, Scope};
use crate::knob::typed::{Bytes, Count, OrAsIs, Setting, Word};
use base::value::Domain;
use host::inventory::Target;
use host::journal::Identity;
use host::sys::{Error, Host};

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

/// The kernel keeps these sizes in a signed number of 32 bits, and needs a page.
const SIZES: Domain = Domain::Bytes { min: 4096, max: 2 * GIB - 1, step: 1 };

pub const TCP_BUFFER_MAX: Knob<OrAsIs<Bytes>> = knob(
    "tcp-buffer-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(tcp_buffer_max),
    "What the kernel lets the buffers of a TCP connection grow to by itself, for reading and for \
     writing (net.ipv4.tcp_rmem, tcp_wmem); bounds the window",
);
pub const SOCKET_BUFFER_MAX: Knob<OrAsIs<Bytes>> = knob(
    "socket-buffer-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(socket_buffer_max),
    "The largest buffer that a program may ask for with SO_RCVBUF and SO_SNDBUF \
     (net.core.rmem_max, wmem_max)",
);
pub const TCP_CONGESTION: Knob<OrAsIs<Word>> = knob(
    "tcp-congestion",
    Domain::OrAsIs(&Domain::Label),
    Apply::Files(tcp_congestion),
    "Congestion control of new TCP connections, one of net.ipv4.tcp_available_congestion_control",
);
pub const NETDEV_BACKLOG_MAX: Knob<OrAsIs<Count>> = knob(
    "netdev-backlog-max",
    Domain::OrAsIs(&Domain::Count { min: 1, max: i32::MAX as u64 }),
    Apply::Files(netdev_backlog_max),
    "Packets that wait for a CPU on their way in before more are dropped \
     (net.core.netdev_max_backlog)",
);

pub const OPTMEM_MAX: Knob<OrAsIs<Bytes>> = knob(
    "optmem-max",
    Domain::OrAsIs(&SIZES),
    Apply::Files(optmem_max),
    "What one socket may hold besides its buffers, such as what it was told of sends without a \
     copy (net.core.optmem_max)",
);

const BYTES: Form = Form::Number(1);

/// These files, as those of our network namespace.
fn ours(host: &Host, paths: [&str; 2], form: Form) -> Result<Vec<Place>, Error> {
    let mut places = Vec::new();
    for path in paths {
        places.extend(one(host, path, form)?);
    }
    for place in &mut places {
        place.device = Identity::of_network(host);
    }
    Ok(places)
}

fn tcp_buffer_max(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    let mut places =
        ours(host, ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"], BYTES)?;
    for place in &mut places {
        let text = host.read(&place.path)?;
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        let (Some(Some(least)), Some(Some(first))) = (numbers.next(), numbers.next()) else {
            let why = format!("it holds {:?}, and three numbers were expected", text.trim());
            return Err(Error::new(format!("cannot change {}", place.path), why));
        };
        place.form = Form::Last([least, first]);
    }
    Ok(places)
}

fn socket_buffer_max(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    ours(host, ["/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"], BYTES)
}

fn tcp_congestion(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let mut places = one(host, "/proc/sys/net/ipv4/tcp_congestion_control", Form::Word)?;
    places[0].device = Identity::of_network(host);
    let choices = host.read(AVAILABLE)?;
    places[0].choices = choices.split_whitespace().map(str::to_owned).collect();
    Ok(places)
}

fn netdev_backlog_max(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    let mut places = one(host, "/proc/sys/net/core/netdev_max_backlog", BYTES)?;
    places[0].device = Identity::of_network(host);
    Ok(places)
}

fn optmem_max(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    let mut places = one(host, "/proc/sys/net/core/optmem_max", BYTES)?;
    places[0].device = Identity::of_network(host);
    Ok(places)
}
