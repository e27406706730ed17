//! (pure) What a trial used of each thing that may have limited it.
//!
//! Gregg's USE method ("Thinking Methodically about Performance", ACM Queue 10(12), 2012) asks of
//! every resource how busy it was, and what waited for it; Little's law (Operations Research 9(3),
//! 1961) ties throughput, latency and operations in flight together. Here stands what one trial
//! says by itself; whether a deeper queue got more is known to the campaign alone, so the verdict
//! on a cell is `analysis::bottleneck`'s.
//!
//! Processors are judged in `limit/processors.rs`, block devices in `limit/devices.rs`, limits that
//! somebody set in `limit/set.rs`, what lies between two ends of a network in `limit/wire.rs` and,
//! of datagrams, in `limit/datagrams.rs`, or between an NFS client and its server, in
//! `limit/nfs.rs`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::origin::{Verdict, origin};
use super::span::{NoRate, Span, span};
use super::stopped::stopped;
use super::{Measurement, Record, bins};
use crate::knob::engine::Does;
use crate::knob::{self, Settings};
use base::value::{duration, throughput_short};

mod datagrams;
mod devices;
mod nfs;
mod peer;
mod processors;
mod set;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod wire;

pub use devices::{BUSY, Disks};
pub use processors::Processors;

/// What can be at its limit.
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Resource {
    /// The block devices: no more comes out of them, whatever is asked.
    Device,
    /// A link on the way to them.
    Link,
    /// All processors that the load may use, or its share of them.
    Cpu,
    /// One processor, which is as much as a thread can use.
    Core,
    /// One processor full of interrupt work.
    Softirq,
    /// The processors of the other machine of a trial on two.
    PeerCpu,
    /// Time on processors that a control group allows.
    CpuQuota,
    /// Bytes or operations that a control group allows.
    CgroupIo,
    /// Copying from memory to memory.
    Copying,
    /// The bandwidth of memory.
    Memory,
    /// What lies between this machine and the server.
    Network,
    /// The time of an operation: no more are in flight.
    Latency,
    /// The load, which asked for no more.
    Generator,
    /// Another guest of the same host.
    Hypervisor,
    /// A cache behind the kernel, not what it caches.
    DeviceCache,
    /// Not known.
    Unknown,
}

impl Resource {
    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a resource stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standing {
    /// Far from its limit.
    Clear,
    /// Near it, or at it without proof that it binds.
    Near,
    /// At its limit, and that is why there was no more.
    Binds,
}

/// What a trial used of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// Of what.
    pub resource: Resource,
    /// How it stood.
    pub standing: Standing,
    /// Used share of what it can do, 0 to about 1.
    pub share: f64,
    /// The throughput of this load that it would allow were it the only limit, bytes per second.
    pub allows_bytes_per_s: Option<f64>,
    /// It may allow more than that.
    pub at_least: bool,
    /// What was seen, as a clause with figures.
    pub evidence: String,
}

/// What one trial says about its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// In the window, bytes per second.
    pub bytes_per_s: f64,
    /// In the window, operations per second; `None` of programs that are not ours.
    pub ops_per_s: Option<f64>,
    /// Operations that the load keeps in flight at most: streams times depth.
    pub in_flight: f64,
    /// Mean time of an operation, seconds.
    pub latency_s: Option<f64>,
    /// Operations in flight as throughput and latency prove them, over those asked for. 1 when the
    /// figures agree; `None` where a rate was asked for, or nothing is known of latency.
    pub little: Option<f64>,
    /// The disks, where they were counted.
    pub disks: Option<Disks>,
    /// The processors and threads of the load, where they were counted.
    pub processors: Option<Processors>,
    /// Share of an operation's time that it waited above the device; direct I/O alone.
    pub above_share: Option<f64>,
    /// The bytes came over a wire.
    pub remote: bool,
    /// One a resource that something is known of; the order means nothing.
    pub uses: Vec<Use>,
}

/// The note of a load whose streams made their files durable whenever they came to their end.
pub const FLUSHED_AT_WRAP: &str = "flushed-at-wrap";

/// Little's law and the figures may differ by this share before it is said.
pub const LITTLE_TOLERANCE: f64 = 0.10;

/// A shorter window holds too few ticks of the kernel's clocks.
const SHORTEST_S: f64 = 0.4;

impl Limits {
    /// What is known of `resource`.
    pub fn use_of(&self, resource: Resource) -> Option<&Use> {
        self.uses.iter().find(|used| used.resource == resource)
    }

    /// What the trial alone proves to bind, the surest first.
    pub fn binding(&self) -> Option<&Use> {
        const ORDER: [Resource; 14] = [
            Resource::Generator,
            Resource::CpuQuota,
            Resource::CgroupIo,
            Resource::Softirq,
            Resource::Hypervisor,
            Resource::Network,
            Resource::Memory,
            Resource::Copying,
            Resource::Core,
            Resource::Cpu,
            Resource::PeerCpu,
            Resource::Link,
            Resource::DeviceCache,
            Resource::Device,
        ];
        let binds = |resource: &Resource| {
            self.use_of(*resource).filter(|used| used.standing == Standing::Binds)
        };
        ORDER.iter().find_map(binds)
    }

    /// By how much Little's law and the figures disagree, as a sentence; `None` when they agree.
    pub fn mismatch(&self) -> Option<String> {
        let (share, ops_per_s, latency_s) = (self.little?, self.ops_per_s?, self.latency_s?);
        ((share - 1.0).abs() > LITTLE_TOLERANCE).then(|| {
            format!(
                "throughput times latency is {:.2} operations in flight (Little's law), and the \
                 load was to keep {} in flight",
                ops_per_s * latency_s,
                self.in_flight
            )
        })
    }

    /// The part of the claim that Little's law gives: `1 in flight of 1.00 MiB, 10.2 ms each`.
    pub fn in_words(&self) -> Option<String> {
        let latency_s = self.latency_s?;
        Some(format!("{} in flight, {} each", self.in_flight, duration(latency_s * 1e9)))
    }
}

/// The trial that is judged, and the time in which all its streams ran: ns since its start, s.
struct TimedTrial<'a> {
    measurement: &'a Measurement,
    settings: &'a Settings,
    start_ns: i64,
    end_ns: i64,
    seconds: f64,
    bytes_per_s: f64,
    ops_per_s: Option<f64>,
}

impl TimedTrial<'_> {
    fn of(record: &Record) -> Option<TimedTrial<'_>> {
        let measurement = record.outcome.measurement()?;
        let window = measurement.window?;
        let seconds = window.seconds();
        let bytes = window.done.bytes();
        if seconds < SHORTEST_S || bytes == 0 {
            return None;
        }
        let ops = Some(window.done.ops() as f64).filter(|ops| *ops > 0.0);
        Some(TimedTrial {
            measurement,
            settings: &record.trial.settings,
            start_ns: i64::try_from(window.start_ns).ok()?,
            end_ns: i64::try_from(window.end_ns).ok()?,
            seconds,
            bytes_per_s: bytes as f64 / seconds,
            ops_per_s: ops.map(|ops| ops / seconds),
        })
    }

    /// Growth of a counter in the window, per second.
    fn per_s(&self, source: &str, column: &str) -> Option<f64> {
        let series = self.series(source)?;
        Some(series.growth(column, self.start_ns, self.end_ns)? / self.seconds)
    }

    fn series(&self, source: &str) -> Option<&super::Series> {
        self.measurement.counters.iter().find(|series| series.source == source)
    }

    /// Operations per second that each stream was to begin; 0 when as fast as it can.
    fn rate(&self) -> f64 {
        self.settings.get(knob::RATE) as f64
    }

    /// Mean time of an operation, seconds.
    fn latency_s(&self) -> Option<f64> {
        bins::mean(self.measurement.operations()).map(|mean_ns| mean_ns / 1e9)
    }
}

/// What the trial says about its limits; `None` when it has no window long enough to judge.
///
/// Those of a record without samples are shared with it.
pub fn limits(record: &Record) -> Option<Arc<Limits>> {
    let measurement = record.outcome.measurement()?;
    if let Some(digest) = &measurement.digest {
        return digest.limits.as_ref().map(Arc::clone);
    }
    if stopped(measurement).is_some() {
        return None;
    }
    // Within one batch of completions nothing is seen of what limits a load.
    let of = span(measurement, &record.trial.settings);
    if matches!(of, Ok(Span { window: None, .. }) | Err(NoRate::TooFew { .. })) {
        return None;
    }
    let facts = TimedTrial::of(record)?;
    let in_flight = in_flight(&record.trial.settings);
    let latency_s = facts.latency_s();
    // Checking a block, noting that it was acknowledged, or making files durable before they are
    // written over is no part of an operation's time: meanwhile fewer are in flight.
    let pauses = measurement.integrity.is_some()
        || record.trial.settings.does(Does::PausesBetween)
        || measurement.notes.iter().any(|note| note.kind == FLUSHED_AT_WRAP);
    let little = match (facts.ops_per_s, latency_s, facts.rate() > 0.0 || pauses) {
        (Some(ops), Some(latency), false) => Some(ops * latency / in_flight),
        _ => None,
    };
    let mut limits = Limits {
        bytes_per_s: facts.bytes_per_s,
        ops_per_s: facts.ops_per_s,
        in_flight,
        latency_s,
        little,
        disks: devices::disks(&facts),
        processors: processors::processors(&facts),
        above_share: None,
        remote: measurement.evidence.remote,
        uses: Vec::new(),
    };
    limits.above_share = devices::above(&facts, &limits);
    let from = origin(measurement, &record.trial.settings);
    // What a cache below the devices gave went through these all the same.
    let below = measurement.evidence.is_cached_below();
    let cached = from.verdict == Verdict::Cache && !below;
    limits.uses.extend(set::generator(&facts));
    limits.uses.extend(set::quota(&facts, &limits));
    limits.uses.extend(set::cgroup_io(&facts, &limits));
    limits.uses.extend(processors::uses(&facts, &limits, cached));
    limits.uses.extend(devices::uses(&facts, &limits, &from));
    wire::judge(&facts, &mut limits);
    datagrams::judge(&facts, &mut limits);
    nfs::judge(&facts, &mut limits);
    Some(Arc::new(limits))
}

/// Operations in flight, of all streams together: an mmap or a read that sleeps has one, whatever
/// the depth asked for.
pub fn in_flight(settings: &Settings) -> f64 {
    // How many segments a connection has in flight is for TCP to say; of files that are sent, what
    // counts is what is asked of the disk.
    if settings.is_network() && !settings.has(knob::FILES) {
        return 0.0;
    }
    let deep = matches!(settings.get(knob::IO_ENGINE), "uring" | "aio") || settings.is_network();
    settings.how_many(knob::STREAMS) * if deep { settings.how_many(knob::QUEUE_DEPTH) } else { 1.0 }
}

/// `812 MB/s of 1000 MB/s`
fn of_most(used: f64, most: f64) -> String {
    format!("{} of {}", throughput_short(used), throughput_short(most))
}
