//! The verdict on one cell.
//!
//! A device that could do eight requests at once is as busy with one of them as a device that can
//! do no more: the kernel counts the time in which there was any. Little's law tells them apart
//! when the campaign has cells with more in flight. Where throughput grows with the operations in
//! flight, their latency is the limit; where it does not, operations only wait longer, and the
//! busy device is. Both are claims: that it grows is one beyond chance, and that it does not is one
//! of sameness (`stats::equivalence`). Where the replicates show neither, neither is said.

use std::collections::HashMap;
use std::sync::Arc;

use super::RunnerUp;
use crate::analysis::assertion::{Assertion, Asserts};
use crate::analysis::curve::{CellReplicates, alike};
use base::stats::equivalence::{CHANCE, chance_of_more};
use base::stats::{RatioOfMeans, mean};
use base::value::throughput_short;
use experiment::knob::{self, Settings};
use experiment::measurement::limit::{BUSY, Limits, Resource, Standing, Use, limits};

/// More in flight that gets more by this share: it was latency.
const GROWS: f64 = 1.15;

/// More in flight gets more beyond chance when the chance is no more than this, on the one side.
const SURE: f64 = CHANCE / 2.0;

/// Nothing says how far single runs scatter. By less than this they may differ by chance, and that
/// they are the same is not claimed of them.
const ALONE: f64 = 1.25;

/// In proportion to what is in flight, or nearly. More than in proportion is noise, or another
/// thing than latency.
const LINEAR: std::ops::Range<f64> = 0.85..1.25;

/// Operations that take so many times as long as with the fewest in flight mostly wait for others.
const QUEUES: f64 = 2.0;

/// A runner-up that would allow so many times as much is none that anybody would meet.
const FAR: f64 = 10.0;

/// A limit must be so much above what was got to be the next.
const ABOVE: f64 = 1.02;

/// Knobs that say how much is in flight.
const IN_FLIGHT: &[&str] = &["streams", "queue-depth"];

/// What the verdict on a cell is made from: the limits and the rates of its trials.
pub struct CellLimits {
    /// The number of its family: cells that differ in what is in flight alone.
    family: usize,
    trials: Vec<Arc<Limits>>,
    in_flight: f64,
    /// What each trial got, bytes per second.
    rates: Vec<f64>,
    /// Their mean.
    bytes_per_s: f64,
    /// Numbers of the trials.
    numbers: Vec<u32>,
}

/// What limits a cell, by what evidence, and what would limit it next.
#[derive(Clone, Debug, PartialEq)]
pub struct BottleneckVerdict {
    /// What limits it; `Unknown` when that is not proved.
    pub limit: Resource,
    /// What it may be when it is not known.
    pub suspect: Option<Resource>,
    /// What was seen, as clauses.
    pub evidence: String,
    /// Where Little's law and the figures disagree: in how many trials, and in one of them how.
    pub mismatch: Option<(usize, String)>,
    /// What would limit it next.
    pub runner_up: Option<RunnerUp>,
    /// What that says of cells with more and with less in flight.
    pub assertion: Option<Assertion>,
}

/// What is known of each cell, in the same order.
pub fn points<'a>(cells: &'a [CellReplicates<'a>]) -> Vec<CellLimits> {
    let free = [knob::EXTENT, IN_FLIGHT].concat();
    // Of a thousand cells each would be held against every other.
    let mut families: HashMap<u64, Vec<(usize, &'a Settings)>> = HashMap::new();
    let mut many = 0;
    let mut family = |settings: &'a Settings| {
        let near = families.entry(settings.fingerprint(&free)).or_default();
        match near.iter().find(|(_, first)| alike(first, settings, IN_FLIGHT)) {
            Some((number, _)) => *number,
            None => {
                near.push((many, settings));
                many += 1;
                many - 1
            }
        }
    };
    let point = |cell: &'a CellReplicates<'a>| {
        let trials: Vec<Arc<Limits>> =
            cell.records.iter().filter_map(|record| limits(record)).collect();
        let rates: Vec<f64> = trials.iter().map(|trial| trial.bytes_per_s).collect();
        let in_flight = trials.first().map_or(0.0, |trial| trial.in_flight);
        let bytes_per_s = if rates.is_empty() { 0.0 } else { mean(&rates) };
        let (family, numbers) = (family(cell.settings), cell.evidence());
        CellLimits { family, trials, in_flight, rates, bytes_per_s, numbers }
    };
    cells.iter().map(point).collect()
}

/// Where a cell stands among those that differ in what is in flight alone.
enum Growth<'b> {
    /// There is none but itself.
    Alone,
    /// One with more in flight gets more.
    More(&'b CellLimits),
    /// It has the most in flight, and throughput has grown in proportion from this one on.
    Linear(&'b CellLimits),
    /// This one, with much more or much less in flight, gets the same.
    Full(&'b CellLimits),
    /// It has the most in flight, and operations wait for each other most of their time, by this
    /// one's.
    Queues(&'b CellLimits),
    /// Neither.
    Between,
}

fn family<'b>(point: &CellLimits, points: &'b [CellLimits]) -> Vec<&'b CellLimits> {
    let differs = |other: &&CellLimits| {
        other.in_flight > 0.0 && other.in_flight != point.in_flight && other.family == point.family
    };
    points.iter().filter(differs).collect()
}

/// How likely it were that one gets so much more than another, if it did not: by the scatter of
/// their replicates. Of single runs, whether it is far more.
fn chance_of_growth(more: &CellLimits, than: &CellLimits) -> f64 {
    let Some(ratio) = RatioOfMeans::from_samples(&more.rates, &than.rates) else { return 1.0 };
    let far = more.bytes_per_s >= ALONE * than.bytes_per_s;
    ratio.chance_above(1.0).unwrap_or(if far { SURE } else { 1.0 })
}

/// Whether one gets `least` times as much as another or more, and more beyond chance, when it is
/// one of `many` of which any would do.
fn grows(more: &CellLimits, than: &CellLimits, least: f64, many: usize) -> bool {
    let chance = chance_of_growth(more, than);
    // Of single runs there is no chance that could be corrected.
    let many = if more.rates.len() > 1 && than.rates.len() > 1 { many as f64 } else { 1.0 };
    more.bytes_per_s >= least * than.bytes_per_s && chance * many <= SURE
}

fn growth<'b>(point: &CellLimits, points: &'b [CellLimits]) -> Growth<'b> {
    let family = family(point, points);
    let by_rate = |a: &&&CellLimits, b: &&&CellLimits| a.bytes_per_s.total_cmp(&b.bytes_per_s);
    let deeper = || family.iter().filter(move |other| other.in_flight > point.in_flight);
    let many = deeper().count();
    if many > 0 {
        if let Some(best) =
            deeper().filter(|other| grows(other, point, GROWS, many)).max_by(by_rate)
        {
            return Growth::More(best);
        }
        let much = deeper().filter(|other| other.in_flight >= 2.0 * point.in_flight);
        // One that meets another limit says nothing about this one's.
        let mut honest = much.filter(|other| !elsewhere(other));
        let more = chance_of_more(&point.rates, deeper().map(|other| other.rates.as_slice()));
        return match honest.next() {
            Some(other) if more <= CHANCE => Growth::Full(other),
            _ => Growth::Between,
        };
    }
    let shallower = || family.iter().filter(|other| !elsewhere(other));
    let half = || shallower().filter(move |other| 2.0 * other.in_flight <= point.in_flight);
    if let Some(best) = half().max_by(by_rate) {
        // The best of several is high by chance, which speaks for sameness.
        let more = chance_of_more(&best.rates, [point.rates.as_slice()]);
        if more * half().count() as f64 <= CHANCE {
            return Growth::Full(best);
        }
    }
    match shallower().min_by(|a, b| a.in_flight.total_cmp(&b.in_flight)) {
        Some(fewest) => against_fewest(point, fewest),
        None if family.is_empty() => Growth::Alone,
        None => Growth::Between,
    }
}

/// The cell with the most in flight against that with the fewest, by Little's law: how many times
/// as long an operation takes says whether it grew in proportion, or waits for others.
fn against_fewest<'b>(point: &CellLimits, fewest: &'b CellLimits) -> Growth<'b> {
    let flight = point.in_flight / fewest.in_flight;
    let share = point.bytes_per_s / fewest.bytes_per_s.max(1.0) / flight;
    let ratio = RatioOfMeans::from_samples(&point.rates, &fewest.rates);
    let ends = ratio.and_then(|ratio| ratio.estimate().interval);
    // Each is said where the interval leaves out the other.
    let (least, most) = match ends {
        Some(ends) => (ends.low / flight, ends.high / flight),
        None => (share / ALONE, share * ALONE),
    };
    if LINEAR.contains(&share) && grows(point, fewest, 1.0, 1) && least * QUEUES > 1.0 {
        return Growth::Linear(fewest);
    }
    match share * QUEUES <= 1.0 && most < LINEAR.start {
        true => Growth::Queues(fewest),
        false => Growth::Between,
    }
}

/// Whether something other than devices and latency binds a cell.
fn elsewhere(point: &CellLimits) -> bool {
    let bound = |trial: &&Arc<Limits>| {
        trial.binding().is_some_and(|used| {
            !matches!(used.resource, Resource::Device | Resource::DeviceCache | Resource::Link)
        })
    };
    point.trials.iter().filter(bound).count() * 2 >= point.trials.len().max(1)
}

/// What limits one trial, with the evidence as a clause.
struct TrialLimit {
    limit: Resource,
    suspect: Option<Resource>,
    evidence: String,
}

fn found(limit: Resource, evidence: impl Into<String>) -> TrialLimit {
    TrialLimit { limit, suspect: None, evidence: evidence.into() }
}

fn suspected(suspect: Resource, evidence: impl Into<String>) -> TrialLimit {
    TrialLimit { limit: Resource::Unknown, suspect: Some(suspect), evidence: evidence.into() }
}

fn judge(trial: &Limits, growth: &Growth<'_>) -> TrialLimit {
    let latency = |what: String| {
        let words = trial.in_words().unwrap_or_else(|| format!("{} in flight", trial.in_flight));
        found(Resource::Latency, format!("{words}; {what}"))
    };
    let got = |other: &CellLimits| {
        let rate = throughput_short(other.bytes_per_s);
        format!("{} in flight got {rate}", other.in_flight)
    };
    let binding = trial.binding();
    let cache = binding.is_some_and(|used| used.resource == Resource::DeviceCache);
    if let Some(used) = binding.filter(|_| !cache) {
        return found(used.resource, used.evidence.clone());
    }
    if let Growth::More(other) = growth {
        return latency(got(other));
    }
    if let Some(used) = binding {
        return found(used.resource, used.evidence.clone());
    }
    if let Growth::Linear(other) = growth {
        return latency(format!("it grew in proportion, as {}", got(other)));
    }
    // Unless the server is here, and its disks were counted.
    if trial.remote && trial.disks.is_none() {
        return suspected(Resource::Network, "the bytes came over a wire, which was not counted");
    }
    let disks = trial.disks.as_ref();
    let busy = disks.filter(|disks| disks.busy >= BUSY);
    match (busy, growth) {
        (Some(disks), Growth::Full(other) | Growth::Queues(other)) => {
            found(Resource::Device, format!("{}, and {}", disks.in_words(), got(other)))
        }
        (Some(disks), Growth::Alone) => suspected(
            Resource::Device,
            format!(
                "{}, but whether more in flight would get more was not measured",
                disks.in_words()
            ),
        ),
        (Some(disks), _) => suspected(
            Resource::Device,
            format!("{}, but whether more in flight gets more is not decided", disks.in_words()),
        ),
        (None, _) => nothing_full(trial),
    }
}

/// Nothing that was counted was at its limit.
fn nothing_full(trial: &Limits) -> TrialLimit {
    let near = trial.uses.iter().filter(|used| used.standing == Standing::Near);
    if let Some(used) = near.max_by(|a, b| a.share.total_cmp(&b.share)) {
        return suspected(used.resource, used.evidence.clone());
    }
    let above = trial.above_share.filter(|above| *above >= 0.5);
    let evidence = match (&trial.disks, above) {
        (None, _) if trial.processors.is_none() => "nothing was counted that could tell".to_owned(),
        (Some(disks), Some(above)) => format!(
            "{}; {} of an operation's time passed above it, before a lock, in the file system, or \
             before a limit that cannot be seen from here",
            disks.in_words(),
            base::value::percent(above)
        ),
        (Some(disks), None) => format!("nothing that was counted was full; {}", disks.in_words()),
        (None, _) => "nothing that was counted was full".to_owned(),
    };
    // Of bytes that went over a wire, what it did is half of the answer.
    let wire = trial.use_of(Resource::Network).map(|used| format!("; {}", used.evidence));
    let evidence = evidence + &wire.unwrap_or_default();
    TrialLimit { limit: Resource::Unknown, suspect: None, evidence }
}

/// The verdict on `point`, one of `points`.
pub fn bottleneck_verdict(point: &CellLimits, points: &[CellLimits]) -> BottleneckVerdict {
    let growth = growth(point, points);
    let all: Vec<TrialLimit> = point.trials.iter().map(|trial| judge(trial, &growth)).collect();
    let mismatches: Vec<String> =
        point.trials.iter().filter_map(|trial| trial.mismatch()).collect();
    let mismatch = mismatches.first().map(|first| (mismatches.len(), first.clone()));
    let Some(limit) = most_common(&all) else {
        let evidence = match all.is_empty() {
            true => "no trial ran long enough to tell".to_owned(),
            false => "its trials do not agree".to_owned(),
        };
        let limit = Resource::Unknown;
        let (suspect, runner_up, assertion) = (None, None, None);
        return BottleneckVerdict { limit, suspect, evidence, mismatch, runner_up, assertion };
    };
    let first = all.iter().find(|one| one.limit == limit);
    let (suspect, evidence) =
        first.map_or((None, String::new()), |one| (one.suspect, one.evidence.clone()));
    let runner_up = match limit {
        Resource::Unknown => None,
        limit => next(limit, point, &growth, points),
    };
    let assertion = assertion(limit, point, &growth, points);
    BottleneckVerdict { limit, suspect, evidence, mismatch, runner_up, assertion }
}

/// What a verdict says of cells with more and with less in flight.
fn assertion(
    limit: Resource,
    point: &CellLimits,
    growth: &Growth<'_>,
    points: &[CellLimits],
) -> Option<Assertion> {
    let held = |says, of: &CellLimits, against: Vec<&CellLimits>, chance| {
        let against = against.iter().flat_map(|point| point.numbers.iter().copied()).collect();
        Assertion::new(says, of.numbers.clone(), against, chance)
    };
    match (limit, growth) {
        (Resource::Latency, Growth::More(other)) => {
            let chance = chance_of_growth(other, point);
            Some(held(Asserts::More, point, vec![*other], chance))
        }
        (Resource::Latency, Growth::Linear(other)) => {
            let chance = chance_of_growth(point, other);
            Some(held(Asserts::More, other, vec![point], chance))
        }
        (Resource::Device, Growth::Full(other)) if other.in_flight < point.in_flight => {
            let chance = chance_of_more(&other.rates, [point.rates.as_slice()]);
            Some(held(Asserts::NoMore, other, vec![point], chance))
        }
        (Resource::Device, Growth::Full(_)) => {
            let mut deeper = family(point, points);
            deeper.retain(|other| other.in_flight > point.in_flight);
            let rates = deeper.iter().map(|other| other.rates.as_slice());
            let chance = chance_of_more(&point.rates, rates);
            Some(held(Asserts::NoMore, point, deeper, chance))
        }
        _ => None,
    }
}

/// What more than half of the trials come to.
fn most_common(all: &[TrialLimit]) -> Option<Resource> {
    let count = |limit: Resource| all.iter().filter(|one| one.limit == limit).count();
    all.iter().map(|one| one.limit).find(|limit| 2 * count(*limit) > all.len())
}

/// A limit that may be the next.
struct CandidateLimit {
    limit: Resource,
    bytes_per_s: f64,
    at_least: bool,
}

/// The lowest of the other limits that is above what was got.
fn next(
    limit: Resource,
    point: &CellLimits,
    growth: &Growth<'_>,
    points: &[CellLimits],
) -> Option<RunnerUp> {
    let got = point.bytes_per_s;
    let mut candidates: Vec<CandidateLimit> = Vec::new();
    let mut seen: Vec<Resource> = vec![limit, Resource::Latency, Resource::DeviceCache];
    if let Growth::More(best) = growth
        && limit == Resource::Latency
    {
        // What the deeper cell got is there to be had; what bound it is next.
        let own = super::verdict::growth(best, points);
        let by: Vec<TrialLimit> = best.trials.iter().map(|trial| judge(trial, &own)).collect();
        let by = most_common(&by).filter(|by| !matches!(by, Resource::Unknown));
        let known = by.filter(|by| *by != Resource::Latency);
        seen.push(Resource::Device);
        candidates.push(CandidateLimit {
            limit: known.unwrap_or(Resource::Device),
            bytes_per_s: best.bytes_per_s,
            at_least: known.is_none(),
        });
    }
    let parallel = parallel(point, points);
    let resources = point.trials.iter().flat_map(|trial| &trial.uses).map(|used| used.resource);
    for resource in resources {
        if seen.contains(&resource) {
            continue;
        }
        seen.push(resource);
        let uses: Vec<&Use> =
            point.trials.iter().filter_map(|trial| trial.use_of(resource)).collect();
        let allows: Option<Vec<f64>> = uses.iter().map(|used| used.allows_bytes_per_s).collect();
        let Some(allows) = allows.filter(|allows| !allows.is_empty()) else { continue };
        // A paced load finds the disk idle, and pays for what a steady one shares: by its busy time
        // it seems nearer its limit than it is.
        let paced = limit == Resource::Generator;
        let at_least = uses.iter().any(|used| used.at_least)
            || (resource == Resource::Device && (parallel || paced));
        candidates.push(CandidateLimit { limit: resource, bytes_per_s: mean(&allows), at_least });
    }
    let near =
        |one: &CandidateLimit| one.bytes_per_s >= ABOVE * got && one.bytes_per_s <= FAR * got;
    let lowest = candidates
        .into_iter()
        .filter(near)
        .min_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))?;
    Some(RunnerUp {
        limit: lowest.limit.name(),
        throughput_bytes_per_s: lowest.bytes_per_s,
        at_least: lowest.at_least,
    })
}

/// Whether the device does several requests in the time of one: it was busy for less time for each
/// byte where more was in flight. Then busy time is no measure of what is left of it.
fn parallel(point: &CellLimits, points: &[CellLimits]) -> bool {
    const LESS: f64 = 1.25;
    let each = |point: &CellLimits| {
        let all: Vec<f64> = point
            .trials
            .iter()
            .filter_map(|trial| Some(trial.disks.as_ref()?.busy_s_per_byte))
            .collect();
        (!all.is_empty()).then(|| mean(&all))
    };
    let Some(own) = each(point) else { return false };
    family(point, points)
        .into_iter()
        .filter_map(each)
        .any(|other| other > LESS * own || own > LESS * other)
}
