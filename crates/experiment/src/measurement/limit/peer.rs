//! (pure) The processors of the other machine, where a trial had one.
//!
//! What is true of this machine's is true of that one's: a thread that never sleeps takes one CPU
//! and no more, and interrupts may fill a CPU that no thread of ours is on. A network that waits
//! for a full machine is no limit.

use super::processors::{self, Cpu};
use super::{Resource, Standing, TimedTrial, Use};
use crate::measurement::PEER;
use base::value::percent;

/// A thread that ran, or could have run had it had a CPU, for a larger share of the time never
/// waited for the network to speak of.
const HUNGRY: f64 = 0.90;

/// What the other machine did.
#[derive(Debug)]
pub struct Peer {
    /// Share of the time in which its busiest thread ran or was ready to.
    pub wanted: f64,
    /// Its busiest CPU, the busy share of that, and of that what interrupts took.
    busiest: (u32, f64, f64),
    /// Busy share of all its CPUs.
    full: f64,
}

/// `None` of a trial on one machine, or when nothing was counted there.
pub fn peer_usage(facts: &TimedTrial<'_>) -> Option<Peer> {
    let cpus = processors::cpus_in(facts, &format!("{PEER}stat"));
    let busiest = cpus.iter().max_by(|a, b| a.busy.total_cmp(&b.busy))?;
    let Cpu { number, busy, interrupts, .. } = busiest;
    let threads = processors::threads_in(facts, &format!("{PEER}threads"));
    let wanted = threads.iter().map(|(ran, waited)| ran + waited).fold(0.0, f64::max);
    Some(Peer {
        wanted: wanted.min(1.0),
        busiest: (*number, *busy, *interrupts),
        full: cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / cpus.len() as f64,
    })
}

impl Peer {
    /// Whether it had processor time to spare.
    pub fn has_spare(&self, awake: f64) -> bool {
        let (_, busy, _) = self.busiest;
        self.wanted < awake && busy < processors::FULL && self.full < processors::FULL
    }

    /// As a limit.
    pub fn used(&self) -> Use {
        let (number, busy, interrupts) = self.busiest;
        let full = busy >= processors::FULL || self.full >= processors::FULL;
        let standing = match self.wanted >= HUNGRY || full {
            true => Standing::Binds,
            false if self.wanted.max(busy) >= processors::FULL * HUNGRY => Standing::Near,
            false => Standing::Clear,
        };
        let evidence = format!(
            "on the other machine the busiest thread wanted a CPU for {} of the time, CPU {number} \
             was busy {}, {} with interrupts, and all its CPUs together {}",
            percent(self.wanted),
            percent(busy),
            percent(interrupts),
            percent(self.full)
        );
        Use {
            resource: Resource::PeerCpu,
            standing,
            share: self.wanted.max(busy),
            allows_bytes_per_s: None,
            at_least: false,
            evidence,
        }
    }
}
