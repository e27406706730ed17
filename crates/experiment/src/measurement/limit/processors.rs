//! (pure) Processors: the load's threads, and what every CPU did.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Limits, Resource, Standing, TimedTrial, Use, of_most};
use crate::knob;
use base::value::{bytes, percent};

/// A thread that ran, or could have run had it had a CPU, for a larger share of the time never
/// waited for storage to speak of.
const HUNGRY: f64 = 0.90;

/// A larger share of a thread's wish for a CPU that was not granted means that others had it.
pub(super) const CROWDED: f64 = 0.15;

/// A program that used more of a CPU than this has several threads.
const ONE_THREAD: f64 = 1.05;

/// Every CPU that the load may use is full.
pub(super) const FULL: f64 = 0.95;

/// One CPU full of interrupts.
const SOFTIRQ_FULL: f64 = 0.90;

/// The hypervisor took so much of the CPUs that a load which wants them all is short of it.
const STOLEN: f64 = 0.25;

/// Reading alone takes so much of what memory was measured to deliver. With more, the bytes lay in
/// the processors' caches.
const MEMORY_FULL: Range<f64> = 0.85..1.15;

/// From here on copying is what a cached read spends its time on: a call takes about 1 us, and
/// copying 64 KiB 5 us and more.
const COPIED_BLOCK_BYTES: f64 = 65_536.0;

/// Share of the processor time that bytes over the measured copy rate explain: most of it, or so
/// much that what is left is the finding of pages to copy, where blocks are large.
const COPIED: f64 = 0.5;
const COPIED_LARGE: f64 = 0.3;

/// The load's threads and the machine's CPUs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Processors {
    /// CPUs that the load used, on average: 0.5 is half of one.
    pub used_cpus: f64,
    /// Share of the time in which a stream's thread ran or was ready to, mean over the streams.
    pub wanted: f64,
    /// Of that, the part in which it had no CPU.
    pub waited: f64,
    /// Busy share of the CPUs that the load may use; `None` when not counted.
    pub full: Option<f64>,
    /// Share of the time of those that the hypervisor took.
    pub stolen: f64,
    /// The largest share of one CPU's time that went to interrupts, and which CPU.
    pub softirq: (f64, u32),
    /// How many CPUs the load may use.
    pub allowed: usize,
}

/// What was counted; `None` when nothing was.
pub fn processors(facts: &TimedTrial<'_>) -> Option<Processors> {
    let streams = facts.settings.how_many(knob::STREAMS) as usize;
    let programs = facts.measurement.programs.is_some();
    // What watches over programs is not the load.
    let counted = if programs { Vec::new() } else { threads(facts) };
    let own = facts.measurement.streams.iter().filter_map(own_account).collect();
    let mut threads = completed(counted, own);
    if programs && threads.iter().any(|(ran, _)| *ran > ONE_THREAD) {
        // How many threads it has, and what each did, was not counted.
        return None;
    }
    if threads.is_empty() {
        return None;
    }
    threads.sort_by(busier);
    let used_cpus = threads.iter().map(|(ran, _)| ran).sum();
    let busiest = &threads[..streams.min(threads.len())];
    let count = busiest.len() as f64;
    let ran = busiest.iter().map(|(ran, _)| ran).sum::<f64>() / count;
    let waited = busiest.iter().map(|(_, waited)| waited).sum::<f64>() / count;
    let wanted = ran + waited;
    let cpus = cpus(facts);
    let own = &facts.measurement.evidence.allowed_cpus;
    let ours: Vec<&Cpu> =
        cpus.iter().filter(|cpu| own.is_empty() || own.contains(&cpu.number)).collect();
    let mean = |of: &dyn Fn(&Cpu) -> f64| {
        (!ours.is_empty()).then(|| ours.iter().map(|cpu| of(cpu)).sum::<f64>() / ours.len() as f64)
    };
    let most = cpus.iter().max_by(|a, b| a.interrupts.total_cmp(&b.interrupts));
    // While the hypervisor has the CPU a thread neither runs nor waits, as the kernel counts it.
    let stolen = mean(&|cpu| cpu.stolen).unwrap_or(0.0).min(STOLEN);
    Some(Processors {
        used_cpus,
        wanted: (wanted / (1.0 - stolen)).min(1.0),
        waited: if wanted > 0.0 { waited / wanted } else { 0.0 },
        full: mean(&|cpu| cpu.busy),
        stolen: mean(&|cpu| cpu.stolen).unwrap_or(0.0),
        softirq: most.map_or((0.0, 0), |cpu| (cpu.interrupts, cpu.number)),
        allowed: ours.len(),
    })
}

/// Shares of the time in which each thread of the load ran, and waited for a CPU.
fn threads(facts: &TimedTrial<'_>) -> Vec<(f64, f64)> {
    threads_in(facts, "threads")
}

/// The same, as counted in this series.
pub(super) fn threads_in(facts: &TimedTrial<'_>, source: &str) -> Vec<(f64, f64)> {
    let Some(series) = facts.series(source) else { return Vec::new() };
    let names = series.columns.iter().filter_map(|column| column.name.strip_suffix(".cpu_ns"));
    let of = |name: &str| {
        let per_s = |what: &str| facts.per_s(source, &format!("{name}.{what}"));
        Some((per_s("cpu_ns")? / 1e9, per_s("wait_ns").unwrap_or(0.0) / 1e9))
    };
    names.filter_map(of).collect()
}

/// What a stream says of itself: the clock of its thread, read as it begins and ends. It knows no
/// waiting.
fn own_account(stream: &crate::measurement::Stream) -> Option<(f64, f64)> {
    let ran_ns = stream.stopped_ns.checked_sub(stream.started_ns).filter(|ns| *ns > 0)?;
    Some((stream.cpu_ns as f64 / ran_ns as f64, 0.0))
}

/// The counted threads, none below what the streams say of themselves. Threads are looked at once a
/// second, so a thread that begins or ends between two looks seems idle for a part of that second;
/// both its times are short by the same share then. Which thread is a stream's is not counted: the
/// one that ran the most is taken for that of the stream that did, as one that mostly waited would
/// have its waiting multiplied.
fn completed(mut counted: Vec<(f64, f64)>, mut own: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    counted.sort_by(ran_more);
    own.sort_by(ran_more);
    counted.resize(counted.len().max(own.len()), (0.0, 0.0));
    for ((ran, waited), (own, _)) in counted.iter_mut().zip(own) {
        if own > *ran {
            let longer = if *ran > 0.0 { own / *ran } else { 1.0 };
            (*ran, *waited) = (own, (*waited * longer).min(1.0 - own.min(1.0)));
        }
    }
    counted
}

/// The one that ran for more of the time first.
fn ran_more(a: &(f64, f64), b: &(f64, f64)) -> Ordering {
    b.0.total_cmp(&a.0)
}

/// The one that wanted a CPU more of the time first.
fn busier(a: &(f64, f64), b: &(f64, f64)) -> Ordering {
    (b.0 + b.1).total_cmp(&(a.0 + a.1))
}

/// Shares of one CPU's time.
pub(super) struct Cpu {
    pub(super) number: u32,
    pub(super) busy: f64,
    stolen: f64,
    pub(super) interrupts: f64,
}

/// What each CPU of this machine did.
pub(super) fn cpus(facts: &TimedTrial<'_>) -> Vec<Cpu> {
    cpus_in(facts, "stat")
}

/// What each CPU did, as counted in this series.
pub(super) fn cpus_in(facts: &TimedTrial<'_>, source: &str) -> Vec<Cpu> {
    let Some(stat) = facts.series(source) else { return Vec::new() };
    let names = stat.columns.iter().filter_map(|column| column.name.strip_suffix(".idle_ns"));
    let of = |name: &str| {
        // The kernel says itself that iowait may go backwards: proc_stat(5).
        let per_s = |what: &str| facts.per_s(source, &format!("{name}.{what}_ns")).unwrap_or(0.0);
        let idle = per_s("idle") + per_s("iowait");
        let interrupts = per_s("irq") + per_s("softirq");
        let stolen = per_s("steal");
        let busy = per_s("user") + per_s("system") + interrupts + stolen;
        let all = idle + busy;
        let number = name.strip_prefix("cpu")?.parse().ok()?;
        (all > 0.0).then(|| Cpu {
            number,
            busy: busy / all,
            stolen: stolen / all,
            interrupts: interrupts / all,
        })
    };
    names.filter_map(of).collect()
}

/// Processors as limits. `cached`: the bytes came from memory.
pub fn uses(facts: &TimedTrial<'_>, limits: &Limits, cached: bool) -> Vec<Use> {
    let Some(all) = &limits.processors else { return Vec::new() };
    let mut uses = Vec::new();
    let hungry = all.wanted >= HUNGRY;
    let (share, cpu) = all.softirq;
    if share >= SOFTIRQ_FULL {
        let evidence = format!("CPU {cpu} spent {} of its time on interrupts", percent(share));
        uses.push(used(Resource::Softirq, Standing::Binds, share, None, evidence));
    }
    if all.stolen >= STOLEN / 5.0 {
        let evidence = format!("the hypervisor took {} of the CPUs' time", percent(all.stolen));
        let binds = hungry && all.stolen >= STOLEN;
        let standing = if binds { Standing::Binds } else { Standing::Near };
        // What the host would give if it gave more is not known.
        uses.push(used(Resource::Hypervisor, standing, all.stolen, None, evidence));
    }
    uses.extend(memory(facts, all, hungry, cached));
    uses.extend(crowded(facts, all, hungry));
    uses.push(alone(facts, all, hungry, cached));
    uses
}

fn used(
    resource: Resource,
    standing: Standing,
    share: f64,
    allows_bytes_per_s: Option<f64>,
    evidence: String,
) -> Use {
    Use { resource, standing, share, allows_bytes_per_s, at_least: false, evidence }
}

/// Whether it is the number of CPUs, or others on them, that leave the load short.
fn crowded(facts: &TimedTrial<'_>, all: &Processors, hungry: bool) -> Option<Use> {
    let full = all.full?;
    let crowded = all.waited >= CROWDED && full >= FULL;
    let standing = match (hungry && crowded, crowded) {
        (true, _) => Standing::Binds,
        (false, true) => Standing::Near,
        (false, false) => Standing::Clear,
    };
    let evidence = format!(
        "the {} that the load may use {} busy {} of the time, and its threads waited for one in {} \
         of the time in which they could have run",
        if all.allowed == 1 { "CPU".to_owned() } else { format!("{} CPUs", all.allowed) },
        if all.allowed == 1 { "was" } else { "were" },
        percent(full),
        percent(all.waited)
    );
    let most = match all.allowed as f64 {
        n if all.used_cpus > 0.0 => Some(facts.bytes_per_s * n / all.used_cpus),
        _ => None,
    };
    // What others leave is not known beforehand: only when all is the load's it is a capacity.
    Some(used(Resource::Cpu, standing, full, most.filter(|_| !crowded), evidence))
}

/// What comes from the page cache is read from memory once; the buffers that it is copied into are
/// used again and again and stay in the processors' caches.
fn memory(facts: &TimedTrial<'_>, all: &Processors, hungry: bool, cached: bool) -> Option<Use> {
    let most = facts.measurement.evidence.memory_bytes_per_s.filter(|most| *most > 0.0)?;
    let share = facts.bytes_per_s / most;
    let full = cached && hungry && all.waited < CROWDED;
    let standing = match share {
        share if !MEMORY_FULL.contains(&share) => Standing::Clear,
        _ if full => Standing::Binds,
        _ if cached => Standing::Near,
        _ => Standing::Clear,
    };
    let evidence = format!(
        "reading took {} that memory was measured to deliver to all cores",
        of_most(facts.bytes_per_s, most)
    );
    let allows = cached.then_some(most);
    Some(used(Resource::Memory, standing, share, allows, evidence))
}

/// What each thread could do with a CPU of its own: a core's speed, which is copying where that is
/// all there is to do.
fn alone(facts: &TimedTrial<'_>, all: &Processors, hungry: bool, cached: bool) -> Use {
    let ran = all.wanted * (1.0 - all.waited);
    let short = all.waited >= CROWDED;
    let standing = match hungry {
        true if !short => Standing::Binds,
        true => Standing::Near,
        false => Standing::Clear,
    };
    let copy_rate = facts.measurement.evidence.copy_bytes_per_s.filter(|rate| *rate > 0.0);
    let copied = copy_rate.map(|rate| facts.bytes_per_s / rate / all.used_cpus.max(1e-9));
    let large = facts.settings.get(knob::BLOCK_SIZE) as f64 >= COPIED_BLOCK_BYTES;
    let copying = match copied {
        _ if !cached => false,
        Some(share) => share >= COPIED || (large && share >= COPIED_LARGE),
        None => large,
    };
    let streams = facts.settings.how_many(knob::STREAMS);
    let threads = if streams > 1.0 { "its threads" } else { "its thread" };
    let mut evidence = format!("{threads} used a CPU for {} of the time", percent(ran));
    if copying {
        evidence += &match copied {
            Some(share) => format!(
                ", of which copying as fast as was measured takes {}",
                percent(share.min(1.0))
            ),
            None => " with nothing to do but to copy".to_owned(),
        };
        let block = facts.settings.get(knob::BLOCK_SIZE) as f64;
        evidence += &format!(" ({} at a time, from memory)", bytes(block));
    }
    let resource = if copying { Resource::Copying } else { Resource::Core };
    let allows = (ran > 0.005).then(|| facts.bytes_per_s / ran.min(1.0));
    used(resource, standing, ran, allows, evidence)
}
