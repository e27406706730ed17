//! (pure) Block devices, the links to them, and caches in them.

use super::{Limits, Resource, Standing, TimedTrial, Use, of_most};
use crate::knob;
use crate::measurement::origin::{Origin, Verdict};
use base::value::{duration, percent};

/// A disk that was busy for a larger share of the time had no time left that shows.
pub const BUSY: f64 = 0.90;

/// So much of what the line code leaves, or of what headers leave, is all that gets through:
/// acknowledgements and flow control have a few percent.
const LINK_FULL: f64 = 0.90;
const DATA_FULL: f64 = 0.96;

/// From here on a link is a suspect: headers alone may take this much of a link's bits.
const LINK_NEAR: f64 = 0.75;

/// A cache serves when what it caches delivers less than this share.
const CACHED: f64 = 0.10;

/// The disks under a load while it ran.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Disks {
    /// The busiest.
    pub name: String,
    /// Share of the time in which it had a request: the kernel's io_ticks, but no more than its
    /// mean queue, because io_ticks counts a whole tick for a short request.
    pub busy: f64,
    /// Requests in it on average.
    pub queue: f64,
    /// Mean time of its requests, seconds.
    pub request_s: f64,
    /// How many disks there are.
    pub count: usize,
    /// How many of them were as busy, or nearly: within a tenth.
    pub as_busy: usize,
    /// Seconds of busy time for each byte that the load moved.
    pub busy_s_per_byte: f64,
}

impl Disks {
    /// `loop0 was busy 98 % of the time with 7.9 requests in it on average, 41.0 ms each`
    pub fn in_words(&self) -> String {
        let which = match (self.count, self.as_busy) {
            (1, _) => self.name.clone(),
            (all, busy) if busy == all => format!("each of the {all} disks ({} most)", self.name),
            (all, _) => format!("{}, the busiest of {all} disks,", self.name),
        };
        format!(
            "{which} was busy {} of the time, with {:.1} requests in it on average, {} each",
            percent(self.busy.min(1.0)),
            self.queue,
            duration(self.request_s * 1e9)
        )
    }
}

/// One block device in the window.
struct One {
    busy: f64,
    queue: f64,
    ops_per_s: f64,
    read_bytes_per_s: f64,
}

fn one(facts: &TimedTrial<'_>, name: &str) -> Option<One> {
    let of = |column: &str| facts.per_s("diskstats", &format!("{name}.{column}"));
    let queue = of("queue_time_ms")? / 1000.0;
    Some(One {
        busy: (of("busy_ms")? / 1000.0).min(queue),
        queue,
        ops_per_s: of("read_ops")? + of("write_ops")?,
        read_bytes_per_s: of("read_bytes")?,
    })
}

/// The disks of the load; `None` when one was not counted, or they did nothing. Where the disks
/// lie on files of others, those at the very bottom are what is busy, unless they are clearly less
/// so than what lies on them: then something between, or a limit, holds the upper ones up.
pub fn disks(facts: &TimedTrial<'_>) -> Option<Disks> {
    let evidence = &facts.measurement.evidence;
    let upper = of_names(facts, &evidence.disks);
    let lower = of_names(facts, &evidence.below.leaves);
    match (upper, lower) {
        (Some(upper), Some(lower)) if lower.busy < 0.9 * upper.busy => Some(upper),
        (upper, lower) => lower.or(upper),
    }
}

fn of_names(facts: &TimedTrial<'_>, names: &[String]) -> Option<Disks> {
    let all: Option<Vec<(&String, One)>> =
        names.iter().map(|name| Some((name, one(facts, name)?))).collect();
    let all = all?;
    let (name, most) = all.iter().max_by(|a, b| a.1.busy.total_cmp(&b.1.busy))?;
    if most.ops_per_s <= 0.0 {
        return None;
    }
    Some(Disks {
        name: (*name).clone(),
        busy: most.busy,
        queue: most.queue,
        request_s: most.queue / most.ops_per_s,
        count: all.len(),
        as_busy: all.iter().filter(|(_, disk)| disk.busy >= 0.9 * most.busy).count(),
        busy_s_per_byte: most.busy / facts.bytes_per_s,
    })
}

/// Share of the time of a direct operation that it was not in a device: before a throttle, a lock,
/// in the file system, or waiting for a processor. An operation that is cut into k requests, of
/// which a device does one after the other, is as slow as its last: 2k/(k+1) times the mean.
pub fn above(facts: &TimedTrial<'_>, limits: &Limits) -> Option<f64> {
    // A read through the page cache may be a read-ahead's; one at a fixed time may wait for us.
    if !facts.settings.get(knob::DIRECT) || facts.rate() > 0.0 {
        return None;
    }
    let (latency_s, ops_per_s) = (limits.latency_s?, facts.ops_per_s?);
    let devices = &facts.measurement.evidence.devices;
    let all: Option<Vec<One>> = devices.iter().map(|name| one(facts, name)).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let requests_per_s: f64 = all.iter().map(|one| one.ops_per_s).sum();
    if requests_per_s <= 0.0 {
        return None;
    }
    let request_s = all.iter().map(|one| one.queue).sum::<f64>() / requests_per_s;
    let cut = (requests_per_s / ops_per_s).max(1.0);
    let inside_s = request_s * 2.0 * cut / (cut + 1.0);
    Some((1.0 - inside_s / latency_s).clamp(0.0, 1.0))
}

/// Devices, links and caches of devices.
pub fn uses(facts: &TimedTrial<'_>, limits: &Limits, origin: &Origin) -> Vec<Use> {
    let mut uses = Vec::new();
    if origin.verdict == Verdict::Cache && !facts.measurement.evidence.is_cached_below() {
        return uses;
    }
    uses.extend(link(facts));
    uses.extend(cached(facts, origin));
    uses.extend(limits.disks.as_ref().map(|disks| device(facts, disks)));
    uses
}

/// A busy device alone proves nothing: one that could do eight requests at once is as busy with
/// one. Cells with more in flight tell, in `analysis`.
fn device(facts: &TimedTrial<'_>, disks: &Disks) -> Use {
    let busy = disks.busy.clamp(0.0, 1.0);
    let standing = if busy >= BUSY { Standing::Near } else { Standing::Clear };
    let allows = (busy > 0.01).then(|| facts.bytes_per_s / busy);
    Use {
        resource: Resource::Device,
        standing,
        share: busy,
        allows_bytes_per_s: allows,
        at_least: false,
        evidence: disks.in_words(),
    }
}

fn link(facts: &TimedTrial<'_>) -> Option<Use> {
    let ceiling = facts.measurement.evidence.ceiling.as_ref()?;
    let most = ceiling.bytes_per_s.filter(|most| *most > 0.0)?;
    let data = ceiling.data_bytes_per_s.filter(|data| *data > 0.0 && *data <= most);
    let full = data.is_some_and(|data| facts.bytes_per_s >= DATA_FULL * data);
    let share = facts.bytes_per_s / most;
    // More than the link can carry came from a cache, which the origin tells.
    let standing = match share {
        share if share > 1.02 => Standing::Clear,
        share if share >= LINK_FULL || full => Standing::Binds,
        share if share >= LINK_NEAR => Standing::Near,
        _ => Standing::Clear,
    };
    let of = of_most(facts.bytes_per_s, most);
    let mut evidence = format!("{of}, which is {} of what {}", percent(share), ceiling.why);
    if let Some(data) = data {
        let after = percent(facts.bytes_per_s / data);
        evidence += &format!(" ({after} of what headers leave of that)");
    }
    let allows_bytes_per_s = Some(data.unwrap_or(most).max(facts.bytes_per_s));
    Some(Use {
        resource: Resource::Link,
        standing,
        share,
        allows_bytes_per_s,
        at_least: false,
        evidence,
    })
}

/// What came out of the devices although their own store did not deliver it.
fn cached(facts: &TimedTrial<'_>, origin: &Origin) -> Option<Use> {
    let found = |share: f64, evidence: String| Use {
        resource: Resource::DeviceCache,
        standing: Standing::Binds,
        share,
        allows_bytes_per_s: None,
        at_least: false,
        evidence,
    };
    if origin.verdict == Verdict::DeviceCache {
        return Some(found(1.0, origin.reason.clone()));
    }
    let evidence = &facts.measurement.evidence;
    // Where the hardware below cannot be seen the origin is unknown; which of two devices moved
    // the bytes is seen all the same.
    let through = matches!(origin.verdict, Verdict::Device | Verdict::Unknown);
    if evidence.backing.is_empty() || !(through || evidence.is_cached_below()) {
        return None;
    }
    let read = |names: &[String]| -> Option<f64> {
        names.iter().map(|name| Some(one(facts, name)?.read_bytes_per_s)).sum()
    };
    let (above, below) = (read(&evidence.devices)?, read(&evidence.backing)?);
    (above > 0.0 && below < CACHED * above).then(|| {
        let of = of_most(below, above);
        let text = format!(
            "{} delivered {of} that {} delivered: the rest was in a cache between them",
            evidence.backing.join(" + "),
            evidence.devices.join(" + ")
        );
        found(1.0 - below / above, text)
    })
}
