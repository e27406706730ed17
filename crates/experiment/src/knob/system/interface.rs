//! Knobs of one network interface, which a plan names: ethtool(8), ip-link(8), tc(8) and the
//! receive packet steering of its queues (Documentation/networking/scaling.rst).
//!
//! None is ever found by itself: an interface that nobody named is not touched. What its driver
//! refuses makes the trial skipped, in the kernel's words; in front of a run that is not known.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::lies::{Interface, ValueFormat};
use super::{Apply, Knob, Scope};
use crate::knob::typed::{Count, Nanoseconds, OrAsIs, Setting, Word};
use base::value::Domain;

const fn knob<T: Setting>(
    name: &'static str,
    domain: Domain,
    holds: Interface,
    about: &'static str,
) -> Knob<T> {
    named(name, domain, Apply::Interface(holds), about)
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

const RING: Domain = Domain::Count { min: 1, max: 1 << 20 };

pub const NETWORK_INTERFACE: Knob<OrAsIs<Word>> = named(
    "network-interface",
    Domain::OrAsIs(&Domain::Label),
    Apply::Name,
    "The network interface that the knobs of network cards change, such as eth0; by itself it \
     changes nothing, and without it none of them does",
);
pub const SETTINGS_AT: Knob<Word> = Knob {
    default: "here",
    ..named(
        "settings-at",
        Domain::OneOf(&["here", "peer", "both"]),
        Apply::Name,
        "Where knobs of the network's stack, of its cards and of the CPUs' governor are set: on \
         this machine, on the peer (`brickyard receive --allow-knobs` there), or on both",
    )
};
pub const PEER_INTERFACE: Knob<OrAsIs<Word>> = named(
    "peer-interface",
    Domain::OrAsIs(&Domain::Label),
    Apply::Name,
    "The network interface of the peer that the knobs of network cards change there, with \
     settings-at=peer or both; network-interface is this machine's",
);
pub const INTERFACE_MTU: Knob<OrAsIs<Count>> = knob(
    "interface-mtu",
    Domain::OrAsIs(&Domain::Count { min: 576, max: 65_535 }),
    Interface::Port("mtu", ValueFormat::Number(1)),
    "Bytes of an IP packet at most on network-interface; 9000 are jumbo frames, which all ends and \
     switches must take (`mtu` is that of a trial's own wire)",
);
pub const INTERRUPT_COALESCING: Knob<OrAsIs<Nanoseconds>> = knob(
    "interrupt-coalescing",
    Domain::OrAsIs(&Domain::Duration { min_ns: 0, max_ns: 1_000_000_000 }),
    Interface::Port("rx-usecs", ValueFormat::Number(1000)),
    "How long network-interface waits with an interrupt after a packet has come (ethtool -C \
     rx-usecs), in whole microseconds",
);
pub const ADAPTIVE_COALESCING: Knob<OrAsIs<bool>> = knob(
    "adaptive-coalescing",
    Domain::OrAsIs(&Domain::Flag),
    Interface::Adaptive,
    "Whether the driver of network-interface chooses that time itself (ethtool -C adaptive-rx)",
);
pub const RX_RING: Knob<OrAsIs<Count>> = knob(
    "rx-ring",
    Domain::OrAsIs(&RING),
    Interface::Port("rx-ring", ValueFormat::Number(1)),
    "Packets that the receive ring of network-interface holds (ethtool -G rx)",
);
pub const TX_RING: Knob<OrAsIs<Count>> = knob(
    "tx-ring",
    Domain::OrAsIs(&RING),
    Interface::Port("tx-ring", ValueFormat::Number(1)),
    "Packets that the transmit ring of network-interface holds (ethtool -G tx)",
);
pub const TSO: Knob<OrAsIs<bool>> = knob(
    "tso",
    Domain::OrAsIs(&Domain::Flag),
    Interface::Features(&[
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-tcp-ecn-segmentation",
    ]),
    "Whether network-interface cuts TCP's bytes into packets itself (ethtool -K tso)",
);
pub const GSO: Knob<OrAsIs<bool>> = knob(
    "gso",
    Domain::OrAsIs(&Domain::Flag),
    Interface::Features(&["tx-generic-segmentation"]),
    "Whether the kernel cuts them just before network-interface gets them (ethtool -K gso)",
);
pub const GRO: Knob<OrAsIs<bool>> = knob(
    "gro",
    Domain::OrAsIs(&Domain::Flag),
    Interface::Features(&["rx-gro"]),
    "Whether the kernel joins what network-interface received before TCP sees it (ethtool -K gro)",
);
pub const LRO: Knob<OrAsIs<bool>> = knob(
    "lro",
    Domain::OrAsIs(&Domain::Flag),
    Interface::Features(&["rx-lro"]),
    "Whether network-interface joins it itself (ethtool -K lro); not for machines that forward",
);
pub const RSS_QUEUES: Knob<OrAsIs<Count>> = knob(
    "rss-queues",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 4096 }),
    Interface::Channels,
    "Queues over which network-interface spreads what it receives (ethtool -L combined, or rx)",
);
pub const RPS: Knob<OrAsIs<Word>> = knob(
    "rps",
    Domain::OrAsIs(&Domain::CpuList),
    Interface::ReceiveSteering,
    "CPUs among which the kernel spreads what each receive queue of network-interface got \
     (rps_cpus)",
);
pub const INTERRUPT_CPUS: Knob<OrAsIs<Word>> = knob(
    "interrupt-cpus",
    Domain::OrAsIs(&Domain::CpuList),
    Interface::Interrupts,
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
    Interface::Port("qdisc", ValueFormat::Word),
    "The queueing discipline at the root of network-interface, with its own options; the kernel \
     loads and keeps its module",
);
