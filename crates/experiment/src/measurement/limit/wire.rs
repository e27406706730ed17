//! (pure) What lies between the two ends of a trial over a network.
//!
//! Two things prove that it is the limit. An interface on the way that says what it carries, and
//! carried that. And TCP itself, whatever is on the way: it counts the time in which it had bytes
//! to send (`tcpi_busy_time` of linux/tcp.h), and when these wait in a queue before a narrow place,
//! a round trip takes far longer than the shortest one (Cardwell et al., "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016). While both ends have processor time to spare, no
//! more comes through because the network lets no more through.

use super::processors::{self, Cpu, Processors};
use super::{Limits, Resource, Standing, TimedTrial, Use, peer};
use crate::knob;
use crate::measurement::course::level;
use crate::measurement::network::SOURCE;
use base::value::{duration, percent, significant};

/// So much of what an interface can carry is all that gets through, and so much makes it a suspect.
const FULL: f64 = 0.97;
const NEAR: f64 = 0.85;

/// More than it can carry: then what it says is not so.
const ABOVE: f64 = 1.02;

/// With bytes on the way for a smaller share of the time it was the sender that had no more.
const BUSY: f64 = 0.90;

/// With a thread that wanted a processor for a larger share of the time it may have been that end.
const AWAKE: f64 = 0.80;

/// A round trip that takes so many times as long as the shortest, and so much longer, is spent in a
/// queue. Less is what threads need to wake up.
const QUEUED: f64 = 2.0;
const QUEUED_NS: f64 = 1e6;

/// The CPU of the busiest thread is a suspect from here on: one connection hands its bytes from end
/// to end, and each waits for the other now and then.
const SUSPECT: f64 = 0.75;

/// Where all CPUs are full, and both ends and the interrupts took a smaller share of them, and no
/// thread waited for one to speak of, they are full of work that gave way to the load.
const PART: f64 = 0.25;

/// A thread that was seen on one CPU in so many of the looks at it lives there.
const SETTLED: f64 = 0.90;

/// Adds the network to what a trial used, and says of the processors which end needed them where.
pub fn judge(facts: &TimedTrial<'_>, limits: &mut Limits) {
    if facts.series(SOURCE).is_none() {
        return;
    }
    let most = at_most(facts);
    let full = most.as_ref().is_some_and(|most| most.standing == Standing::Binds);
    let network = if full { most } else { queued(facts, limits).or(most) };
    limits.uses.extend(network);
    limits.uses.extend(peer::peer_usage(facts).map(|peer| peer.used()));
    let told = told(facts);
    let all_full = limits.processors.as_ref().and_then(|all| all.full);
    let all_full = all_full.is_some_and(|full| full >= processors::FULL);
    let yielded = limits.processors.as_ref().is_some_and(|all| have_yielded(facts, all));
    let home = home(facts).filter(|_| !all_full);
    for used in &mut limits.uses {
        // The kernel's part of the work, done in interrupts, is nobody's thread's: no thread needs
        // to be full where its core is, or all are.
        match (used.resource, &home) {
            (Resource::Core, Some(home)) => {
                let standing = match home.busy {
                    busy if busy >= processors::FULL => Standing::Binds,
                    busy if busy >= SUSPECT => Standing::Near,
                    _ => Standing::Clear,
                };
                used.standing = used.standing.max(standing);
                used.share = used.share.max(home.busy);
                used.evidence += &format!("; {}{told}", home.in_words());
            }
            (Resource::Cpu, _) if all_full => {
                used.standing = if yielded { Standing::Near } else { Standing::Binds };
                used.evidence += &told;
            }
            (Resource::Core, None) if all_full => used.standing = used.standing.min(Standing::Near),
            (Resource::Core | Resource::Cpu | Resource::Softirq, _) => used.evidence += &told,
            _ => {}
        }
    }
}

/// Whether what fills the CPUs is others' work that let the load go first, as niced programs do.
fn have_yielded(facts: &TimedTrial<'_>, all: &Processors) -> bool {
    let interrupts: f64 = processors::cpus(facts).iter().map(|cpu| cpu.interrupts).sum();
    let waited = all.wanted * all.waited;
    all.used_cpus + interrupts < PART * all.allowed as f64 && waited < processors::CROWDED
}

fn gigabits(bytes_per_s: f64) -> String {
    format!("{} Gb/s", significant(bytes_per_s * 8.0 / 1e9))
}

fn network(standing: Standing, share: f64, allows: f64, evidence: String) -> Use {
    Use {
        resource: Resource::Network,
        standing,
        share,
        allows_bytes_per_s: Some(allows),
        at_least: false,
        evidence,
    }
}

/// By what an interface says of itself.
pub(super) fn at_most(facts: &TimedTrial<'_>) -> Option<Use> {
    let wire = facts.measurement.evidence.wire.as_ref()?;
    let most = wire.bytes_per_s.filter(|most| *most > 0.0)?;
    let share = facts.bytes_per_s / most;
    let standing = match share {
        share if share > ABOVE => Standing::Clear,
        share if share >= FULL => Standing::Binds,
        share if share >= NEAR => Standing::Near,
        _ => Standing::Clear,
    };
    let (rate, of) = (gigabits(facts.bytes_per_s), gigabits(most));
    let evidence = format!(
        "{rate} of payload is {} of the {of} that TCP can get through {}",
        percent(share),
        wire.why
    );
    Some(network(standing, share, most.max(facts.bytes_per_s), evidence))
}

/// By what TCP says.
fn queued(facts: &TimedTrial<'_>, limits: &Limits) -> Option<Use> {
    let processors = limits.processors.as_ref()?;
    let series = facts.series(SOURCE)?;
    let mean = |name: &str| level(series, name, facts.start_ns, facts.end_ns);
    let streams = facts.settings.how_many(knob::STREAMS);
    let busy = facts.per_s(SOURCE, "busy_ns")? / 1e9 / streams;
    let (round_ns, least_ns) = (mean("rtt_ns")?, mean("rtt_min_ns")?);
    let waits = least_ns > 0.0
        && round_ns >= QUEUED * least_ns
        && round_ns - least_ns >= QUEUED_NS
        && busy >= BUSY;
    let (interrupts, _) = processors.softirq;
    // Where all processors are full, be it of others' work, who is to take the bytes comes late.
    let spare = processors.wanted < AWAKE
        && interrupts < AWAKE
        && processors.wanted * processors.waited < processors::CROWDED
        && processors.full.is_none_or(|full| full < processors::FULL)
        && peer::peer_usage(facts).is_none_or(|peer| peer.has_spare(AWAKE))
        && home(facts).is_none_or(|home| home.busy < processors::FULL);
    (waits && spare).then(|| {
        let evidence = format!(
            "TCP had bytes on the way for {} of the time, and they waited in a queue: a round \
             trip took {}, the shortest one {}; the threads of the busier end wanted a CPU for {} \
             of the time",
            percent(busy.min(1.0)),
            duration(round_ns),
            duration(least_ns),
            percent(processors.wanted)
        );
        network(Standing::Binds, 1.0, facts.bytes_per_s, evidence)
    })
}

/// The CPU on which the busiest thread of the load lives.
struct Home {
    number: u32,
    busy: f64,
    interrupts: f64,
}

impl Home {
    fn in_words(&self) -> String {
        format!(
            "the busiest thread was on CPU {}, which was busy {} of the time, {} with interrupts",
            self.number,
            percent(self.busy),
            percent(self.interrupts)
        )
    }
}

/// `None` when that thread moved about, or nobody looked.
fn home(facts: &TimedTrial<'_>) -> Option<Home> {
    let series = facts.series("threads")?;
    let names = series.columns.iter().filter_map(|column| column.name.strip_suffix(".cpu_ns"));
    let ran = |name: &str| facts.per_s("threads", &format!("{name}.cpu_ns")).unwrap_or(0.0);
    let busiest = names.max_by(|a, b| ran(a).total_cmp(&ran(b)))?;
    let seen = &series.column(&format!("{busiest}.cpu"))?.values;
    let looks = series.at_ns.iter().zip(seen);
    let looks = looks.filter(|(at, _)| (facts.start_ns..=facts.end_ns).contains(*at));
    let looks: Vec<u64> = looks.map(|(_, cpu)| *cpu).collect();
    let on = |cpu: u64| looks.iter().filter(|one| **one == cpu).count();
    let number = looks.iter().copied().max_by_key(|cpu| on(*cpu))?;
    if (on(number) as f64) < SETTLED * looks.len() as f64 {
        return None;
    }
    let of = |cpu: &Cpu| u64::from(cpu.number) == number;
    let cpu = processors::cpus(facts).into_iter().find(of)?;
    Some(Home { number: cpu.number, busy: cpu.busy, interrupts: cpu.interrupts })
}

/// What each end needed of the processors, and which of them were full.
fn told(facts: &TimedTrial<'_>) -> String {
    let cpus = |end: &str| facts.per_s(SOURCE, &format!("{end}_cpu_ns")).map(|ns| ns / 1e9);
    let Some((sender, receiver)) = cpus("sender").zip(cpus("receiver")) else {
        return String::new();
    };
    let all = processors::cpus(facts);
    let full: Vec<String> = all
        .iter()
        .filter(|cpu| cpu.busy >= processors::FULL)
        .map(|cpu| format!("CPU {} was busy {}", cpu.number, percent(cpu.busy)))
        .collect();
    let full = if full.is_empty() { String::new() } else { format!("; {}", full.join(", ")) };
    format!("; sending took {sender:.2} CPUs, receiving {receiver:.2}{full}")
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, limits};
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::{Amount, Evidence, Measurement, Outcome, Record, Stream, Window};
    use crate::plan::Trial;
    use facts::counters::series::{Column, ColumnKind, Series};
    use facts::inventory::Ceiling;

    const SECOND: u64 = 1_000_000_000;

    /// Four seconds of TCP in one stream at 1 Gb/s of payload.
    #[derive(Clone)]
    struct Scene {
        /// What an interface says that it carries.
        wire: Option<f64>,
        /// Share of the time in which bytes were on the way.
        busy: f64,
        /// Round trip and the shortest one, ms.
        round_ms: (f64, f64),
        /// Shares of a CPU that the sender and the receiver used.
        ends: (f64, f64),
        /// Busy share of each CPU; the busier end lives on the last.
        cpus: [f64; 2],
        /// The busier end's thread lives nowhere.
        moves: bool,
        /// Of another machine: the share of a CPU that its thread ran, and of its one CPU.
        peer: Option<(f64, f64)>,
    }

    const IDLE: Scene = Scene {
        wire: None,
        busy: 0.99,
        round_ms: (20.0, 0.1),
        ends: (0.1, 0.2),
        cpus: [0.2, 0.3],
        moves: false,
        peer: None,
    };

    fn series(source: &str, columns: &[(&str, ColumnKind, f64)]) -> Series {
        let column = |(name, kind, value): &(&str, ColumnKind, f64)| {
            let at = |row: u64| match kind {
                ColumnKind::Counter => (row as f64 * value) as u64,
                ColumnKind::Gauge => *value as u64,
            };
            Column { name: (*name).to_owned(), kind: *kind, values: (0..7).map(at).collect() }
        };
        let at_ns = (-1..6).map(|second| second * SECOND as i64).collect();
        Series { source: source.into(), at_ns, columns: columns.iter().map(column).collect() }
    }

    impl Scene {
        fn limits(&self) -> Limits {
            let (gauge, counter) = (ColumnKind::Gauge, ColumnKind::Counter);
            let tcp = series(
                SOURCE,
                &[
                    ("sender_cpu_ns", counter, self.ends.0 * 1e9),
                    ("receiver_cpu_ns", counter, self.ends.1 * 1e9),
                    ("busy_ns", counter, self.busy * 1e9),
                    ("rtt_ns", gauge, self.round_ms.0 * 1e6),
                    ("rtt_min_ns", gauge, self.round_ms.1 * 1e6),
                ],
            );
            let threads = series(
                "threads",
                &[
                    ("t1.cpu_ns", counter, self.ends.0 * 1e9),
                    ("t1.cpu", gauge, 0.0),
                    ("t2.cpu_ns", counter, self.ends.1 * 1e9),
                    ("t2.cpu", if self.moves { counter } else { gauge }, 1.0),
                ],
            );
            let stat = series(
                "stat",
                &[
                    ("cpu0.idle_ns", counter, (1.0 - self.cpus[0]) * 1e9),
                    ("cpu0.system_ns", counter, self.cpus[0] * 1e9),
                    ("cpu1.idle_ns", counter, (1.0 - self.cpus[1]) * 1e9),
                    ("cpu1.system_ns", counter, self.cpus[1] * 1e9),
                ],
            );
            let mut counters = vec![tcp, threads, stat];
            if let Some((ran, busy)) = self.peer {
                counters.push(series("peer/threads", &[("t9.cpu_ns", counter, ran * 1e9)]));
                let cpu = [
                    ("cpu0.idle_ns", counter, (1.0 - busy) * 1e9),
                    ("cpu0.softirq_ns", counter, busy * 1e9),
                ];
                counters.push(series("peer/stat", &cpu));
            }
            let done = Amount { read_bytes: 500_000_000, read_ops: 4000, ..Amount::default() };
            let ceiling = |bytes| Ceiling {
                bytes_per_s: Some(bytes),
                why: "eth7 (a cable)".into(),
                ..Ceiling::default()
            };
            let measurement = Measurement {
                elapsed_ns: 4 * SECOND,
                window: Some(Window { start_ns: 0, end_ns: 4 * SECOND, done }),
                streams: vec![Stream { stopped_ns: 4 * SECOND, ..Stream::default() }],
                evidence: Evidence { wire: self.wire.map(ceiling), ..Evidence::default() },
                counters,
                ..Measurement::default()
            };
            let trial = Trial {
                number: 1,
                replicate: 1,
                group: String::new(),
                settings: Settings::defaults("net"),
                first_file: 0,
                seed: 1,
                planned: None,
            };
            limits(&Record::new(trial, Outcome::Done(Box::new(measurement))))
                .unwrap()
                .as_ref()
                .clone()
        }

        #[track_caller]
        fn binds(&self) -> Option<(Resource, String)> {
            let limits = self.limits();
            limits.binding().map(|used| (used.resource, used.evidence.clone()))
        }
    }

    #[test]
    fn an_interface_that_carried_what_it_can_is_the_limit() {
        let (limit, words) = Scene { wire: Some(126e6), ..IDLE }.binds().unwrap();
        assert_eq!(limit, Resource::Network);
        assert!(words.contains("99 % of the 1.01 Gb/s that TCP can get through eth7"), "{words}");
        // Busy ends do not change what the cable can do.
        let ends = (0.99, 0.99);
        let busy = Scene { wire: Some(126e6), ends, round_ms: (0.1, 0.1), ..IDLE };
        assert_eq!(busy.binds().unwrap().0, Resource::Network);
    }

    /// A switch's port or a provider's shaper says nothing of itself.
    #[test]
    fn a_narrow_place_that_nobody_can_ask_shows_in_the_round_trip() {
        let (limit, words) = IDLE.binds().unwrap();
        assert_eq!(limit, Resource::Network);
        assert!(words.contains("20.0 ms") && words.contains("99 %"), "{words}");
        // It is not the interface of ours, which has room.
        let (limit, words) = Scene { wire: Some(1e9), ..IDLE }.binds().unwrap();
        assert!(limit == Resource::Network && words.contains("queue"), "{words}");
    }

    #[test]
    fn without_proof_nothing_is_said_of_the_network() {
        for scene in [
            // No queue: it may be the window that is too small.
            Scene { round_ms: (20.0, 15.0), ..IDLE },
            // Threads that wake up late.
            Scene { round_ms: (0.3, 0.02), ..IDLE },
            // The sender had no more, as one that waits for its disk.
            Scene { busy: 0.5, ..IDLE },
            // No kernel that says.
            Scene { busy: 0.0, round_ms: (20.0, 0.0), ..IDLE },
            // An end that was nearly full.
            Scene { ends: (0.1, 0.85), ..IDLE },
            // An interface that is half full.
            Scene { wire: Some(250e6), busy: 0.5, ..IDLE },
        ] {
            assert_eq!(scene.binds(), None);
        }
    }

    /// Files were sent over a wire without a rate while others kept all processors busy: the bytes
    /// waited in a queue, for a receiver that waited for a processor, and the network was named.
    #[test]
    fn a_queue_on_a_machine_that_others_keep_busy_is_not_the_networks() {
        let crowded = Scene { cpus: [0.97, 0.99], ends: (0.3, 0.5), moves: true, ..IDLE };
        assert_eq!(crowded.binds().unwrap().0, Resource::Cpu);
        // Files came from a disk at 26 MB/s, the ends took 0.02 CPUs and niced compilers the rest:
        // the number of CPUs was named.
        let niced = Scene { cpus: [1.0, 1.0], ends: (0.01, 0.01), busy: 0.3, moves: true, ..IDLE };
        assert_eq!(niced.binds(), None);
        assert_eq!(niced.limits().use_of(Resource::Cpu).unwrap().standing, Standing::Near);
        let moving = Scene { moves: true, ..IDLE };
        assert_eq!(moving.binds().unwrap().0, Resource::Network);
    }

    /// The queue of a link is full as well when who is to take the bytes has no time for them.
    #[test]
    fn another_machine_that_is_full_is_the_limit_and_not_the_network_before_it() {
        for (peer, words) in [((0.97, 0.6), "97 %"), ((0.4, 0.99), "CPU 0 was busy 99 %")] {
            let (limit, said) = Scene { peer: Some(peer), ..IDLE }.binds().unwrap();
            assert_eq!(limit, Resource::PeerCpu);
            assert!(said.contains(words) && said.contains("other machine"), "{said}");
        }
        let idle = Scene { peer: Some((0.3, 0.4)), ..IDLE };
        assert_eq!(idle.binds().unwrap().0, Resource::Network);
        // Neither proved nor ruled out.
        let near = Scene { peer: Some((0.85, 0.87)), ..IDLE };
        assert_eq!(near.binds(), None);
        assert_eq!(near.limits().use_of(Resource::PeerCpu).unwrap().standing, Standing::Near);
        // What the link says of itself holds whatever the other end does.
        let cable = Scene { wire: Some(126e6), peer: Some((0.99, 0.99)), ..IDLE };
        assert_eq!(cable.binds().unwrap().0, Resource::Network);
    }

    #[test]
    fn a_full_core_is_the_limit_and_named() {
        let (limit, words) =
            Scene { ends: (0.5, 0.98), cpus: [0.6, 0.99], ..IDLE }.binds().unwrap();
        assert_eq!(limit, Resource::Core);
        assert!(words.contains("on CPU 1, which was busy 99 %"), "{words}");
        assert!(words.contains("sending took 0.50 CPUs, receiving 0.98"), "{words}");
        // Interrupts did the rest of its work: no thread is full, but the core is.
        let shared = Scene { ends: (0.3, 0.7), cpus: [0.4, 0.98], ..IDLE };
        assert_eq!(shared.binds().unwrap().0, Resource::Core);
        // All are full: one more connection would get no more.
        let (limit, words) =
            Scene { ends: (0.9, 0.97), cpus: [0.97, 0.99], ..IDLE }.binds().unwrap();
        assert_eq!(limit, Resource::Cpu);
        assert!(words.contains("CPU 0 was busy 97 %, CPU 1 was busy 99 %"), "{words}");
        // Each end waits for the other now and then: a suspect, and no more than that.
        let nearly = Scene { ends: (0.5, 0.8), cpus: [0.6, 0.9], ..IDLE };
        assert_eq!(nearly.binds(), None);
        let limits = nearly.limits();
        assert_eq!(limits.use_of(Resource::Core).unwrap().standing, Standing::Near);
    }
}
