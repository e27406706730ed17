//! From which block size on does it deliver what it can?

use super::curve::{Curve, curves};
use super::{Finding, Question, words};
use crate::measurement::Record;
use crate::stats::profile::{Level, fit};
use crate::stats::{Interval, mean_interval};
use crate::value::{Value, bytes, setting, throughput};

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
        half_size(&levels).unwrap_or_default()
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
fn half_size(levels: &[Level]) -> Option<String> {
    let (smallest, largest) = (levels.first()?.at, levels.last()?.at);
    let found = fit(levels, smallest / 16.0, largest * 16.0, |half, at| at / (at + half))?;
    let ends = found.low.zip(found.high).map(|(low, high)| Interval { low, high })?;
    (found.adequate && levels.len() > 3).then(|| {
        format!(
            " A fixed time for each operation and a bandwidth of {} describe this; half of it is \
             reached at {} (95 % interval {} to {}).",
            throughput(found.scale),
            bytes(found.shape),
            bytes(ends.low),
            bytes(ends.high)
        )
    })
}
