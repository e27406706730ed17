//! Knobs of one network interface, which a plan names: ethtool(8), ip-link(8), tc(8) and the
//! receive packet steering of its queues (Documentation/networking/scaling.rst).
//!
//! None is ever found by itself: an interface that nobody named is not touched. What its driver
//! refuses makes the trial skipped, in the kernel's words; in front of a run that is not known.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::place::{Form, Place, of_machine};
use super::{Apply, Knob, Scope};
use crate::knob::typed::{Count, Nanoseconds, OrAsIs, Setting, Word};
use crate::knob::{self, Settings};
use base::value::Domain;
use host::inventory::server::interrupt;
use host::journal::Identity;
use host::sys::{Error, Host, port};

const fn knob<T: Setting>(
    name: &'static str,
    domain: Domain,
    places: Find,
    about: &'static str,
) -> Knob<T> {
    named(name, domain, Apply::Interface(places), about)
}

/// Only what may use the network obeys.
const fn named<T: Setting>(
    name: &'static str,
    domain: Domain,
    apply: Apply,
    about: &'static str,
) -> Knob<T> {
    let (scope, default) = (Scope::System, "as-is");
    Knob { name, fio: "", about, domain, default, scope, apply, reads: PhantomData }
}

/// Finds the places of a knob on an interface.
type Find = fn(&Host, &str) -> Result<Vec<Place>, Error>;

const RING: Domain = Domain::Count { min: 1, max: 1 << 20 };

pub const NETWORK_INTERFACE: Knob<OrAsIs<Word>> = named(
    "network-interface",
    Domain::OrAsIs(&Domain::Label),
    Apply::Name,
    "The network interface that the knobs of network cards change, such as eth0; by itself it \
     changes nothing, and without it none of them does",
);
pub const INTERFACE_MTU: Knob<OrAsIs<Count>> = knob(
    "interface-mtu",
    Domain::OrAsIs(&Domain::Count { min: 576, max: 65_535 }),
    |host, interface| one(host, interface, "mtu", Form::Number(1)),
    "Bytes of an IP packet at most on network-interface; 9000 are jumbo frames, which all ends and \
     switches must take (`mtu` is that of a trial's own wire)",
);
pub const INTERRUPT_COALESCING: Knob<OrAsIs<Nanoseconds>> = knob(
    "interrupt-coalescing",
    Domain::OrAsIs(&Domain::Duration { min_ns: 0, max_ns: 1_000_000_000 }),
    |host, interface| one(host, interface, "rx-usecs", Form::Number(1000)),
    "How long network-interface waits with an interrupt after a packet has come (ethtool -C \
     rx-usecs), in whole microseconds",
);
pub const ADAPTIVE_COALESCING: Knob<OrAsIs<bool>> = knob(
    "adaptive-coalescing",
    Domain::OrAsIs(&Domain::Flag),
    adaptive,
    "Whether the driver of network-interface chooses that time itself (ethtool -C adaptive-rx)",
);
pub const RX_RING: Knob<OrAsIs<Count>> = knob(
    "rx-ring",
    Domain::OrAsIs(&RING),
    |host, interface| one(host, interface, "rx-ring", Form::Number(1)),
    "Packets that the receive ring of network-interface holds (ethtool -G rx)",
);
pub const TX_RING: Knob<OrAsIs<Count>> = knob(
    "tx-ring",
    Domain::OrAsIs(&RING),
    |host, interface| one(host, interface, "tx-ring", Form::Number(1)),
    "Packets that the transmit ring of network-interface holds (ethtool -G tx)",
);
pub const TSO: Knob<OrAsIs<bool>> = knob(
    "tso",
    Domain::OrAsIs(&Domain::Flag),
    |host, interface| {
        let names = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation"];
        features(host, interface, &names)
    },
    "Whether network-interface cuts TCP's bytes into packets itself (ethtool -K tso)",
);
pub const GSO: Knob<OrAsIs<bool>> = knob(
    "gso",
    Domain::OrAsIs(&Domain::Flag),
    |host, interface| features(host, interface, &["tx-generic-segmentation"]),
    "Whether the kernel cuts them just before network-interface gets them (ethtool -K gso)",
);
pub const GRO: Knob<OrAsIs<bool>> = knob(
    "gro",
    Domain::OrAsIs(&Domain::Flag),
    |host, interface| features(host, interface, &["rx-gro"]),
    "Whether the kernel joins what network-interface received before TCP sees it (ethtool -K gro)",
);
pub const LRO: Knob<OrAsIs<bool>> = knob(
    "lro",
    Domain::OrAsIs(&Domain::Flag),
    |host, interface| features(host, interface, &["rx-lro"]),
    "Whether network-interface joins it itself (ethtool -K lro); not for machines that forward",
);
pub const RSS_QUEUES: Knob<OrAsIs<Count>> = knob(
    "rss-queues",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 4096 }),
    |host, interface| {
        // A driver without any refuses when it is read, and the trial is skipped.
        let name = port::channels(host, interface).unwrap_or("combined-channels");
        one(host, interface, name, Form::Number(1))
    },
    "Queues over which network-interface spreads what it receives (ethtool -L combined, or rx)",
);
pub const RPS: Knob<OrAsIs<Word>> = knob(
    "rps",
    Domain::OrAsIs(&Domain::CpuList),
    rps,
    "CPUs among which the kernel spreads what each receive queue of network-interface got \
     (rps_cpus)",
);
pub const INTERRUPT_CPUS: Knob<OrAsIs<Word>> = knob(
    "interrupt-cpus",
    Domain::OrAsIs(&Domain::CpuList),
    interrupts,
    "CPUs that take the interrupts of network-interface (smp_affinity); a running irqbalance(1) \
     moves them again, and drivers that manage their interrupts refuse",
);
pub const QDISC: Knob<OrAsIs<Word>> = knob(
    "qdisc",
    Domain::OrAsIs(&Domain::OneOf(&[
        "fq",
        "fq_codel",
        "pfifo_fast",
        "pfifo",
        "sfq",
        "cake",
        "noqueue",
    ])),
    |host, interface| one(host, interface, "qdisc", Form::Word),
    "The queueing discipline at the root of network-interface, with its own options; the kernel \
     loads and keeps its module",
);

/// The interface that a trial names.
///
/// # Errors
/// When it names none, there is none of that name, or the trial does not go over it.
pub fn interface(host: &Host, settings: &Settings) -> Result<String, Error> {
    let what = "cannot change a network interface";
    let own_wire = settings.get(knob::PEER_NAMESPACE).is_none()
        && settings.get(knob::PEER).is_none()
        && settings.find(knob::WIRE).is_some_and(|wire| wire != "loopback");
    if own_wire {
        let why = "this trial goes over a veth pair of its own, which has no settings of a card";
        let hint = "peer-namespace=NAME sends over an interface that is there, or leave it out";
        return Err(Error::new(what, why).hint(hint));
    }
    let there = || host.list("/sys/class/net").join(", ");
    let Some(name) = settings.get(NETWORK_INTERFACE).map(str::to_owned) else {
        let why = format!("the plan names none, and none is chosen for it (here: {})", there());
        return Err(Error::new(what, why).hint("network-interface=NAME, or leave it out"));
    };
    match Identity::of_interface(host, &name) {
        Some(_) => Ok(name),
        None => {
            let why = format!("there is no `{name}` in this network namespace ({})", there());
            Err(Error::new(what, why).hint("`ip link` lists those that there are, or leave it out"))
        }
    }
}

fn place(host: &Host, interface: &str, path: String, form: Form) -> Place {
    Place { device: Identity::of_interface(host, interface), ..of_machine(path, form) }
}

fn one(host: &Host, interface: &str, name: &str, form: Form) -> Result<Vec<Place>, Error> {
    Ok(vec![place(host, interface, port::setting(interface, name), form)])
}

/// A driver that chooses the time changes it meanwhile.
fn adaptive(host: &Host, interface: &str) -> Result<Vec<Place>, Error> {
    let mut places = one(host, interface, "adaptive-rx", Form::Switch)?;
    let along = port::setting(interface, "rx-usecs");
    places[0].disturbs.extend(Some(along).filter(|path| host.setting(path).is_ok()));
    Ok(places)
}

/// Those of these features that the driver lets be switched; the first when it lets none, which is
/// then what is refused.
fn features(host: &Host, interface: &str, names: &[&str]) -> Result<Vec<Place>, Error> {
    let mut found = Vec::new();
    for name in names {
        if port::can_switch(host, interface, name)? {
            found.push(*name);
        }
    }
    if found.is_empty() {
        found.extend(names.first());
    }
    let path = |name: &&str| port::feature(interface, name);
    Ok(found.iter().map(|name| place(host, interface, path(name), Form::Switch)).collect())
}

fn rps(host: &Host, interface: &str) -> Result<Vec<Place>, Error> {
    let failed = |why: String| {
        Error::new(format!("cannot steer what the network interface {interface} receives"), why)
    };
    if !port::is_shown(host, interface) {
        let why = "/sys shows another network namespace here".to_owned();
        return Err(failed(why).hint("enter namespaces with `ip netns exec`, or leave `rps` out"));
    }
    let folder = format!("/sys/class/net/{interface}/queues");
    let queues = host.list(&folder).into_iter().filter(|name| name.starts_with("rx-"));
    let mut places = Vec::new();
    for queue in queues {
        let path = format!("{folder}/{queue}/rps_cpus");
        let text = host.read(&path).map_err(|error| failed(error.why))?;
        let digits = text.chars().filter(char::is_ascii_hexdigit).count();
        places.push(place(host, interface, path, Form::Mask(digits)));
    }
    match places.is_empty() {
        false => Ok(places),
        true => Err(failed(format!("{folder} has no receive queue"))),
    }
}

/// The interrupts of the card behind it, each by its mask (Documentation/core-api/irq/
/// irq-affinity.rst).
fn interrupts(host: &Host, interface: &str) -> Result<Vec<Place>, Error> {
    let failed = |why: String| {
        let what = format!("cannot place the interrupts of the network interface {interface}");
        Error::new(what, why).hint("leave `interrupt-cpus` out")
    };
    let card = interrupt::of_card(host, interface);
    let Some((function, numbers)) = card.filter(|_| port::is_shown(host, interface)) else {
        return Err(failed("it is no card on a PCI bus that /sys shows here".to_owned()));
    };
    let mut places = Vec::new();
    for number in numbers {
        let path = format!("/proc/irq/{number}/smp_affinity");
        // One that the driver has not asked for has no such file.
        let Ok(text) = host.read(&path) else { continue };
        let digits = text.chars().filter(char::is_ascii_hexdigit).count();
        places.push(place(host, interface, path, Form::Mask(digits)));
    }
    match places.is_empty() {
        false => Ok(places),
        true => Err(failed(format!("{function} has no interrupt of its own in /proc/irq"))),
    }
}
