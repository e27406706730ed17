//! (pure) What lies between an NFS client and its server.
//!
//! Two things tell. The interface on the way that says what it carries, and carried that. And the
//! sender's own connections: where bytes always wait in them, none more would get through, however
//! fast the disks are; those that come from a disk which limits are gone before the next are there.
//! The sender is the server when files are read, whose connections can be seen when it is on this
//! machine, and the client when they are written. Processors that are full empty queues late, so
//! that they come first.

use super::{Limits, Resource, Standing, TimedTrial, Use, wire};
use crate::measurement::nfs::{CONNECTIONS, is_nfs};
use base::value::{bytes, percent};

/// Samples with something in the queue, as a share of all: so many, and there always is something
/// but for the moment between two requests; so many make it a suspect.
const ALWAYS: f64 = 0.85;
const OFTEN: f64 = 0.50;

/// Fewer samples say nothing.
const SAMPLES_MIN: usize = 8;

/// With a thread that wanted a processor for a larger share of the time it may have been that end.
const AWAKE: f64 = 0.80;

/// Adds the network to what a trial used.
pub fn judge(facts: &TimedTrial<'_>, limits: &mut Limits) {
    if !is_nfs(facts.measurement) {
        return;
    }
    let most = wire::at_most(facts);
    let full = most.as_ref().is_some_and(|most| most.standing == Standing::Binds);
    let network = if full { most } else { queued(facts, limits).or(most) };
    limits.uses.extend(network);
}

/// By what waited in the sender's connections.
fn queued(facts: &TimedTrial<'_>, limits: &Limits) -> Option<Use> {
    let done = facts.measurement.window?.done;
    let reads = done.read_bytes >= done.write_bytes;
    let served = facts.measurement.evidence.served.is_some();
    let (end, who) = match (reads, served) {
        (true, true) => ("server", "the server"),
        (false, _) => ("client", "the client"),
        (true, false) => return None,
    };
    let series = facts.series(CONNECTIONS)?;
    let queue = series.column(&format!("{end}.send_queue_bytes"))?;
    let inside = series.at_ns.iter().zip(&queue.values);
    let inside = inside.filter(|(at, _)| (facts.start_ns..=facts.end_ns).contains(*at));
    let samples: Vec<u64> = inside.map(|(_, value)| *value).collect();
    if samples.len() < SAMPLES_MIN {
        return None;
    }
    let count = samples.len() as f64;
    let waiting = samples.iter().filter(|queue| **queue > 0).count() as f64 / count;
    let mean = samples.iter().map(|queue| *queue as f64).sum::<f64>() / count;
    let short = short_of_processors(limits);
    let standing = match waiting {
        share if share >= ALWAYS && short.is_none() => Standing::Binds,
        share if share >= OFTEN => Standing::Near,
        _ => Standing::Clear,
    };
    let mut evidence = format!(
        "bytes that {who} had to send waited in TCP in {} of {} samples, {} on average",
        percent(waiting),
        samples.len(),
        bytes(mean)
    );
    if let Some(short) = short.filter(|_| standing == Standing::Near) {
        evidence += &format!(", but {short}");
    }
    Some(Use {
        resource: Resource::Network,
        standing,
        share: waiting,
        allows_bytes_per_s: (standing == Standing::Binds).then_some(facts.bytes_per_s),
        at_least: false,
        evidence,
    })
}

/// Why a queue may have been emptied late for want of a processor, as a clause; `None` when the
/// processors had time to spare.
fn short_of_processors(limits: &Limits) -> Option<String> {
    let Some(all) = &limits.processors else { return Some("processors were not counted".into()) };
    let (softirq, cpu) = all.softirq;
    let full = all.full.filter(|full| *full >= super::processors::FULL);
    if let Some(full) = full {
        return Some(format!("the CPUs were {} busy", percent(full)));
    }
    if softirq >= AWAKE {
        return Some(format!("CPU {cpu} spent {} of its time on interrupts", percent(softirq)));
    }
    (all.wanted >= AWAKE)
        .then(|| format!("a thread wanted a CPU for {} of the time", percent(all.wanted)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scene, link};
    use super::super::{Limits, limits};
    use super::*;
    use crate::measurement::evidence::NfsServerEvidence;
    use crate::measurement::{Amount, Evidence, Measurement, Outcome, Record};
    use facts::counters::series::{Column, ColumnKind, Series};

    /// Samples of a connection lie so far apart, ns: 17 of them in the four seconds of a scene.
    const SAMPLE_NS: i64 = 250_000_000;

    /// A trial of four seconds on NFS, on a server with a disk of its own, or on this machine.
    #[derive(Clone)]
    struct Nfs {
        served: bool,
        writes: bool,
        /// Share of the samples in which something waits in the queue of this end.
        queue: Option<(&'static str, f64)>,
        scene: Scene,
    }

    fn nfs(served: bool) -> Nfs {
        let disks = if served { vec![(0.5, 0.5, 400.0)] } else { Vec::new() };
        let queue = Some((if served { "server" } else { "client" }, 0.0));
        Nfs { served, writes: false, queue, scene: Scene { disks, ..Scene::default() } }
    }

    impl Nfs {
        fn queue(self, end: &'static str, share: f64) -> Nfs {
            Nfs { queue: Some((end, share)), ..self }
        }

        fn wire(mut self, bytes_per_s: f64) -> Nfs {
            self.scene.evidence.wire = Some(link(bytes_per_s));
            self
        }

        fn with(self, change: impl FnOnce(&mut Scene)) -> Nfs {
            let mut made = self;
            change(&mut made.scene);
            made
        }

        fn record(&self) -> Record {
            let mut record = self.scene.record(1);
            let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
            self.put(measurement);
            record
        }

        fn put(&self, measurement: &mut Measurement) {
            let served = self.served.then(NfsServerEvidence::default);
            let evidence = std::mem::take(&mut measurement.evidence);
            measurement.evidence =
                Evidence { remote: true, filesystem: "nfs4".into(), served, ..evidence };
            if let (true, Some(window)) = (self.writes, &mut measurement.window) {
                let Amount { read_bytes, read_ops, .. } = window.done;
                let done = Amount { write_bytes: read_bytes, write_ops: read_ops, ..window.done };
                window.done = Amount { read_bytes: 0, read_ops: 0, ..done };
            }
            let Some((end, share)) = self.queue else { return };
            let at_ns: Vec<i64> = (0..17).map(|sample| sample * SAMPLE_NS).collect();
            let full = (share * 17.0).round() as usize;
            let values = (0..17).map(|sample| if sample < full { 65_536 } else { 0 }).collect();
            let name = format!("{end}.send_queue_bytes");
            let columns = vec![Column { name, kind: ColumnKind::Gauge, values }];
            measurement.counters.push(Series { source: CONNECTIONS.into(), at_ns, columns });
        }

        fn limits(&self) -> Limits {
            limits(&self.record()).expect("a window").as_ref().clone()
        }

        fn network(&self) -> Option<Use> {
            self.limits().use_of(Resource::Network).cloned()
        }

        #[track_caller]
        fn stands(&self, standing: Standing) -> Use {
            let found = self.limits();
            let used = found.use_of(Resource::Network).unwrap_or_else(|| panic!("{found:#?}"));
            assert_eq!(used.standing, standing, "{found:#?}");
            let binds = found.binding().map(|used| used.resource);
            let network = standing == Standing::Binds;
            assert_eq!(binds == Some(Resource::Network), network, "{found:#?}");
            used.clone()
        }
    }

    #[test]
    fn a_server_whose_connections_always_have_more_to_send_waits_for_the_network() {
        let used = nfs(true).queue("server", 0.95).stands(Standing::Binds);
        assert_eq!(used.allows_bytes_per_s.map(f64::round), Some(100e6));
        assert!(used.evidence.contains("the server had to send"), "{}", used.evidence);
        assert!(used.evidence.contains("of 17 samples"), "{}", used.evidence);
        let used = nfs(true).queue("server", 0.6).stands(Standing::Near);
        assert_eq!(used.allows_bytes_per_s, None);
        nfs(true).queue("server", 0.3).stands(Standing::Clear);
    }

    /// Who is late to empty a queue because he has no processor is not held up by the network.
    #[test]
    fn a_queue_that_full_processors_empty_late_proves_nothing() {
        let waits = nfs(true).queue("server", 1.0);
        let near = |why: &str, change: &dyn Fn(&mut Scene)| {
            let used = waits.clone().with(change).stands(Standing::Near);
            assert!(used.evidence.ends_with(why), "{}", used.evidence);
        };
        near("but a thread wanted a CPU for 85 % of the time", &|it| it.thread = Some((0.85, 0.0)));
        near("but CPU 0 spent 82 % of its time on interrupts", &|it| {
            it.cpus[0] = (0.95, 0.82, 0.0);
        });
        near("but the CPUs were 97 % busy", &|it| it.cpus = vec![(0.97, 0.0, 0.0); 2]);
    }

    #[test]
    fn of_writes_it_is_the_client_s_queue_that_tells_wherever_the_server_is() {
        for served in [true, false] {
            let writes = Nfs { writes: true, ..nfs(served) };
            let used = writes.clone().queue("client", 1.0).stands(Standing::Binds);
            assert!(used.evidence.contains("the client had to send"), "{}", used.evidence);
            assert_eq!(writes.queue("server", 1.0).network(), None);
        }
    }

    #[test]
    fn nothing_is_said_of_a_network_on_which_nobody_saw_the_sender() {
        assert_eq!(nfs(false).queue("client", 1.0).network(), None, "reads come from elsewhere");
        assert_eq!(Nfs { queue: None, ..nfs(true) }.network(), None);
        assert_eq!(nfs(false).limits().binding(), None, "it is not known");
        let mut local = nfs(true).queue("server", 1.0).record();
        let Outcome::Done(measurement) = &mut local.outcome else { panic!("it was done") };
        measurement.evidence.filesystem = "ext4".into();
        assert_eq!(limits(&local).unwrap().use_of(Resource::Network), None);
        let mut few = nfs(true).queue("server", 1.0).record();
        let Outcome::Done(measurement) = &mut few.outcome else { panic!("it was done") };
        let series = measurement.counters.last_mut().expect("what waits");
        series.at_ns.iter_mut().for_each(|at| *at *= 3);
        assert_eq!(limits(&few).unwrap().use_of(Resource::Network), None, "six samples");
    }

    #[test]
    fn an_interface_that_carries_what_it_can_is_full_and_else_the_queue_is_asked_first() {
        let used = nfs(false).wire(101e6).stands(Standing::Binds);
        assert!(used.evidence.contains("that TCP can get through"), "{}", used.evidence);
        nfs(true).wire(101e6).stands(Standing::Binds);
        let used = nfs(true).wire(400e6).queue("server", 1.0).stands(Standing::Binds);
        assert!(used.evidence.contains("waited in TCP"), "{}", used.evidence);
        // Without a queue to ask, what the interface says is all there is.
        nfs(false).wire(110e6).stands(Standing::Near);
        nfs(false).wire(400e6).stands(Standing::Clear);
    }
}
