//! (pure) What lies between an NFS client and its server.
//!
//! Two things tell. The interface on the way that says what it carries, and carried that. And the
//! sender's own connections: where bytes always wait in them, none more would get through, however
//! fast the disks are; those that come from a disk which limits are gone before the next are there.
//! The sender is the server when files are read, whose connections can be seen when it is on this
//! machine, and the client when they are written. Processors that are full empty queues late, so
//! that they come first.

use super::{Facts, Limits, Resource, Standing, Use, wire};
use crate::measurement::nfs::{CONNECTIONS, is_nfs};
use crate::value::{bytes, percent};

/// Samples with something in the queue, as a share of all: so many, and there always is something
/// but for the moment between two requests; so many make it a suspect.
const ALWAYS: f64 = 0.85;
const OFTEN: f64 = 0.50;

/// Fewer samples say nothing.
const SAMPLES_MIN: usize = 8;

/// With a thread that wanted a processor for a larger share of the time it may have been that end.
const AWAKE: f64 = 0.80;

/// Adds the network to what a trial used.
pub fn judge(facts: &Facts<'_>, limits: &mut Limits) {
    if !is_nfs(facts.measurement) {
        return;
    }
    let most = wire::at_most(facts);
    let full = most.as_ref().is_some_and(|most| most.standing == Standing::Binds);
    let network = if full { most } else { queued(facts, limits).or(most) };
    limits.uses.extend(network);
}

/// By what waited in the sender's connections.
fn queued(facts: &Facts<'_>, limits: &Limits) -> Option<Use> {
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
    let spare = limits.processors.as_ref().is_some_and(|all| {
        all.wanted < AWAKE
            && all.softirq.0 < AWAKE
            && all.full.is_none_or(|full| full < super::processors::FULL)
    });
    let standing = match waiting {
        share if share >= ALWAYS && spare => Standing::Binds,
        share if share >= OFTEN => Standing::Near,
        _ => Standing::Clear,
    };
    let evidence = format!(
        "bytes that {who} had to send waited in TCP in {} of {} samples, {} on average",
        percent(waiting),
        samples.len(),
        bytes(mean)
    );
    Some(Use {
        resource: Resource::Network,
        standing,
        share: waiting,
        allows_bytes_per_s: (standing == Standing::Binds).then_some(facts.bytes_per_s),
        at_least: false,
        evidence,
    })
}
