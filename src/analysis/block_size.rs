//! From which block size on does it deliver what it can?

use super::curve::{Curve, curves};
use super::{Finding, Question, words};
use crate::measurement::Record;
use crate::stats::profile::{Fit, Level, fit};
use crate::stats::{Estimate, Interval, mean_interval};
use crate::value::{Value, bytes, duration, setting};

pub const QUESTION: Question = Question {
    name: "block-size",
    about: "Which block size does it need to deliver what it can?",
    answer,
};

/// A share of the most at which a block size is large enough.
const ENOUGH: f64 = 0.90;

fn answer(records: &[Record]) -> Vec<Finding> {
    curves(records, "block-size").iter().filter_map(tell).collect()
}

fn tell(curve: &Curve<'_>) -> Option<Finding> {
    let levels = curve.levels("throughput_bytes_per_s");
    if levels.len() < 3 {
        return None;
    }
    let top = levels.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()))?;
    let reaches = |share: f64| levels.iter().find(|level| level.mean() >= share * top.mean());
    let (half, enough) = (reaches(0.5)?.at, reaches(ENOUGH)?.at);
    let most = words::rate(&mean_interval(&top.values)?, top.values.len());
    let label = curve.load(&["queue-depth", "streams"]);
    let reached = if enough == levels[0].at {
        format!("gives 90 % of its most with blocks of {} already", size(enough))
    } else if half == enough {
        format!("gives half of its most, and 90 % of it, with blocks of {}", size(half))
    } else {
        format!(
            "gives half of its most with blocks of {} and 90 % with blocks of {}",
            size(half),
            size(enough)
        )
    };
    let claim = format!(
        "{label} {reached}, of the sizes measured; the most was {most} with {}.{}",
        size(top.at),
        half_size(curve, &levels).unwrap_or_default()
    );
    let finding = Finding::info(QUESTION.name, claim, curve.evidence());
    Some(finding.doubted(curve.strays(), curve.points.len()))
}

/// A size that was asked for.
fn size(bytes: f64) -> String {
    setting(&Value::Bytes(bytes as u64))
}

/// The size at which half of the bandwidth is reached when an operation takes a fixed time and a
/// time in proportion to its size, `T = L + S / B`; only where that describes the data.
///
/// Source: Hockney, "The Science of Computer Benchmarking" (1996), n-half.
fn half_size(curve: &Curve<'_>, levels: &[Level]) -> Option<String> {
    let found = law(levels)?;
    let ends = found.low.zip(found.high).map(|(low, high)| Interval { low, high })?;
    let fitted = found.adequate && levels.len() > 3;
    let (latency, bandwidth, fits) = latency_and_bandwidth(curve).filter(|_| fitted)?;
    Some(format!(
        " A fixed time of {} for each operation and a bandwidth of {} describe this; half of it is \
         reached at {} (95 % interval {} to {}).",
        time(&latency),
        words::rate(&bandwidth, fits),
        bytes(found.shape),
        bytes(ends.low),
        bytes(ends.high)
    ))
}

/// `T = L + S / B` as throughput: `B x S / (S + L x B)`.
fn law(levels: &[Level]) -> Option<Fit> {
    let (smallest, largest) = (levels.first()?.at, levels.last()?.at);
    fit(levels, smallest / 16.0, largest * 16.0, |half, at| at / (at + half))
}

/// The time L of each operation, ns, and the bandwidth B, bytes per second: the law is fitted to
/// each replicate alone, and these are the means, with Student's interval between the replicates.
/// So many operations are under way at once that each of them has that many times longer.
fn latency_and_bandwidth(curve: &Curve<'_>) -> Option<(Estimate, Estimate, usize)> {
    let of = |knob: &str| if curve.settings.has(knob) { curve.settings.number(knob) } else { 1.0 };
    let in_flight = of("queue-depth") * of("streams");
    let mut replicates: Vec<u32> =
        curve.points.iter().map(|point| point.record.trial.replicate).collect();
    replicates.sort_unstable();
    replicates.dedup();
    let (mut latencies, mut bandwidths) = (Vec::new(), Vec::new());
    for replicate in replicates {
        let Some(found) = law(&curve.levels_of(replicate, "throughput_bytes_per_s")) else {
            continue;
        };
        latencies.push(in_flight * found.shape / found.scale * 1e9);
        bandwidths.push(found.scale);
    }
    let mean = |values: &[f64]| Some(mean_interval(values)?.not_negative());
    Some((mean(&latencies)?, mean(&bandwidths)?, latencies.len()))
}

/// A time with its interval.
fn time(ns: &Estimate) -> String {
    let told = duration(ns.value);
    let interval = ns
        .interval
        .map(|ends| format!(" (95 % interval {} to {})", duration(ends.low), duration(ends.high)));
    told + &interval.unwrap_or_default()
}
