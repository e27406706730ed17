//! (pure) Limits that somebody set: the load's own rate, control groups.

use super::{Limits, Resource, Standing, TimedTrial, Use, of_most};
use crate::knob;
use crate::measurement::datagrams;
use base::value::{bits, iops, percent};
use facts::counters::bounds::{Bound, Bounded};

/// A load at a fixed rate that did so much of what it was to do kept up.
const KEPT_UP: f64 = 0.97;

/// A throttle is exact to a few percent in a trial of seconds: it begins a slice of 0.1 s full.
const THROTTLED: std::ops::Range<f64> = 0.93..1.15;

/// One that operations wait for may let a little less through: a request that does not fit in what
/// is left of a slice waits for the next (block/blk-throttle.c).
const NEARLY_THROTTLED: std::ops::Range<f64> = 0.88..0.93;

/// A share of an operation's time above the device that only a throttle or a lock explains.
const WAITS_ABOVE: f64 = 0.6;

/// A group that is out of time in most of its periods, and has used its quota up.
const OUT_OF_TIME: f64 = 0.7;
const QUOTA_USED: f64 = 0.80;

/// A load that always wants a CPU and has used all of its quota is out of time in fewer periods
/// when others on the CPUs leave it little more than the quota.
const OUT_OF_TIME_WHEN_HUNGRY: f64 = 0.3;
const HUNGRY: f64 = 0.9;

/// The load did all that it was asked for, at the times it was asked for.
pub fn generator(facts: &TimedTrial<'_>) -> Option<Use> {
    if let Some(paced) = paced(facts) {
        return Some(paced);
    }
    let asked = facts.rate() * facts.settings.how_many(knob::STREAMS);
    let ops_per_s = facts.ops_per_s.filter(|_| asked > 0.0)?;
    let share = ops_per_s / asked;
    let standing = if share >= KEPT_UP { Standing::Binds } else { Standing::Clear };
    Some(Use {
        resource: Resource::Generator,
        standing,
        share,
        allows_bytes_per_s: Some(facts.bytes_per_s / share),
        at_least: false,
        evidence: format!("{}/s were done of {}/s asked for", iops(ops_per_s), iops(asked)),
    })
}

/// The load over a network sent all that its pace lets through, and all of it arrived.
fn paced(facts: &TimedTrial<'_>) -> Option<Use> {
    let of_one = facts.settings.get(knob::PACING).filter(|rate| *rate > 0)?;
    let asked = of_one as f64 * facts.settings.how_many(knob::STREAMS);
    let sent = facts.per_s(datagrams::SOURCE, "sent_bytes").unwrap_or(facts.bytes_per_s);
    let lost = datagrams::DatagramCount::from_measurement(facts.measurement)
        .map_or(0.0, |count| count.lost_share());
    let share = sent / asked;
    let kept = share >= KEPT_UP && lost < super::datagrams::LOST;
    Some(Use {
        resource: Resource::Generator,
        standing: if kept { Standing::Binds } else { Standing::Clear },
        share,
        allows_bytes_per_s: Some(facts.bytes_per_s / share),
        at_least: false,
        evidence: format!("{} were sent of the {} that pacing lets go", bits(sent), bits(asked)),
    })
}

/// The control group was out of processor time.
pub fn quota(facts: &TimedTrial<'_>, limits: &Limits) -> Option<Use> {
    let bounds = &facts.measurement.evidence.bounds;
    let quotas = bounds.iter().filter(|bound| bound.what == Bounded::CpuTime && bound.most > 0.0);
    let tightest = quotas.min_by(|a, b| a.most.total_cmp(&b.most))?;
    let processors = limits.processors.as_ref()?;
    let cpus = processors.used_cpus;
    let share = cpus / tightest.most;
    let throttled = throttled(facts);
    let cut = throttled.unwrap_or(0.0);
    let hungry = processors.wanted >= HUNGRY && share >= HUNGRY;
    let out = cut >= OUT_OF_TIME || (hungry && cut >= OUT_OF_TIME_WHEN_HUNGRY);
    let standing = match share >= QUOTA_USED {
        true if out => Standing::Binds,
        true => Standing::Near,
        false => Standing::Clear,
    };
    let periods = throttled.map_or(String::new(), |share| {
        format!(", and its group was out of time in {} of its periods", percent(share))
    });
    let evidence = format!(
        "the load used {cpus:.2} CPUs of {:.2} allowed ({}){periods}",
        tightest.most, tightest.from
    );
    let allows = (share > 0.01).then(|| facts.bytes_per_s / share.min(1.0));
    Some(Use {
        resource: Resource::CpuQuota,
        standing,
        share,
        allows_bytes_per_s: allows,
        at_least: false,
        evidence,
    })
}

/// Share of the periods in which some group of the load was out of time.
fn throttled(facts: &TimedTrial<'_>) -> Option<f64> {
    let series = facts.series("cgroup-cpu")?;
    let groups = series.columns.iter().filter_map(|column| column.name.strip_suffix(".periods"));
    let shares = groups.filter_map(|group| {
        let periods = facts.per_s("cgroup-cpu", &format!("{group}.periods"))?;
        let out = facts.per_s("cgroup-cpu", &format!("{group}.throttled_periods"))?;
        (periods > 0.0).then(|| out / periods)
    });
    shares.reduce(f64::max)
}

/// The tightest limit on I/O that a control group sets.
pub fn cgroup_io(facts: &TimedTrial<'_>, limits: &Limits) -> Option<Use> {
    let bounds = facts.measurement.evidence.bounds.iter();
    let all = bounds.filter_map(|bound| Some((bound, used(facts, bound)? / bound.most)));
    let (bound, share) =
        all.filter(|(_, share)| *share > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let waits = limits.above_share.is_some_and(|share| share >= WAITS_ABOVE);
    let hungry = limits.processors.as_ref().is_some_and(|all| all.wanted >= 0.7);
    let busy = limits.disks.as_ref().is_some_and(|disks| disks.busy >= super::BUSY);
    let at_limit = THROTTLED.contains(&share) && (waits || !busy);
    let at_limit = at_limit || (NEARLY_THROTTLED.contains(&share) && waits && !hungry);
    let twice = charged_twice(facts, share) && waits && !hungry;
    let standing = match share {
        _ if at_limit || twice => Standing::Binds,
        share if THROTTLED.contains(&share) => Standing::Near,
        _ => Standing::Clear,
    };
    let used = match bound.what {
        Bounded::ReadOps | Bounded::WriteOps => {
            format!("{} of {} a second", iops(share * bound.most), iops(bound.most))
        }
        _ => of_most(share * bound.most, bound.most),
    };
    let mut evidence = format!("{used} that a control group allows ({})", bound.from);
    if let Some(above) = limits.above_share.filter(|above| *above >= 0.2) {
        evidence += &format!(", and {} of an operation's time passed above it", percent(above));
    }
    if twice && !at_limit {
        evidence += "; io_uring's operations that are cut in two are charged twice";
    }
    let allows = Some(if twice { facts.bytes_per_s } else { facts.bytes_per_s / share });
    Some(Use {
        resource: Resource::CgroupIo,
        standing,
        share,
        allows_bytes_per_s: allows,
        at_least: false,
        evidence,
    })
}

/// io_uring issues without blocking at first. A request that must be split is charged, refused, and
/// charged again when it is issued for good: half of the limit, or a little more, gets through.
fn charged_twice(facts: &TimedTrial<'_>, share: f64) -> bool {
    const LARGE_BYTES: u64 = 512 * 1024;
    let large = facts.settings.get(knob::BLOCK_SIZE) > LARGE_BYTES;
    large
        && facts.settings.get(knob::IO_ENGINE) == "uring"
        && (0.42..THROTTLED.start).contains(&share)
}

/// What the load, or its device, took of what `bound` limits.
fn used(facts: &TimedTrial<'_>, bound: &Bound) -> Option<f64> {
    let device = bound.device.as_deref()?;
    let of = |column: &str| facts.per_s("diskstats", &format!("{device}.{column}"));
    let window = facts.measurement.window?.done;
    let asked = |ops: u64| ops as f64 / facts.seconds;
    if bound.most <= 0.0 {
        return None;
    }
    match bound.what {
        Bounded::ReadBytes => of("read_bytes"),
        Bounded::WriteBytes => of("write_bytes"),
        // Those that were merged were charged one by one.
        Bounded::ReadOps => Some(of("read_ops")?.max(direct(facts, asked(window.read_ops)))),
        Bounded::WriteOps => Some(of("write_ops")?.max(direct(facts, asked(window.write_ops)))),
        Bounded::CpuTime => None,
    }
}

/// Operations around the page cache are requests; others may be none.
fn direct(facts: &TimedTrial<'_>, ops_per_s: f64) -> f64 {
    let one_disk = facts.measurement.evidence.devices.len() == 1;
    if facts.settings.get(knob::DIRECT) && one_disk { ops_per_s } else { 0.0 }
}
