//! Is what was accepted also safe?

use super::curve::{Cell, cells};
use super::{Finding, Question, same, words};
use crate::measurement::Record;
use crate::stats::equivalence::{Likeness, likeness_of};
use crate::stats::{Estimate, mean_interval};
use crate::value::significant;

pub const QUESTION: Question = Question {
    name: "durability",
    about: "How much faster are writes accepted than they become durable?",
    answer: |asked| answer(asked.records),
};

/// Accepting faster by less is what one flush costs, and no cache.
const GAP_MIN: f64 = 1.02;

fn answer(records: &[Record]) -> Vec<Finding> {
    cells(records).iter().filter_map(gap).collect()
}

fn gap(cell: &Cell<'_>) -> Option<Finding> {
    let accepted = cell.values("accepted_throughput_bytes_per_s");
    let durable = cell.values("durable_throughput_bytes_per_s");
    // Replicate by replicate: what makes a run slow slows both.
    let ratios: Vec<f64> =
        accepted.iter().zip(&durable).map(|(accepted, durable)| accepted / durable).collect();
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let log = mean_interval(&logs)?;
    let ratio = Estimate {
        value: log.value.exp(),
        interval: log
            .interval
            .map(|ends| crate::stats::Interval { low: ends.low.exp(), high: ends.high.exp() }),
    };
    let of =
        |values: &[f64]| Some(words::rate(&mean_interval(values)?.not_negative(), values.len()));
    let means = same::means(&accepted, &durable).unwrap_or_default();
    let (accepted, durable) = (of(&accepted)?, of(&durable)?);
    let label = cell.load(&["block-size", "queue-depth", "streams", "fsync"]);
    let surely = ratio.interval.map_or(ratio.value, |ends| ends.low) > GAP_MIN;
    let likeness = likeness_of(&ratio);
    let finding = |verdict: String| {
        let claim = format!("{label}: accepted {accepted}, durable {durable}; {verdict}.");
        Finding::info(QUESTION.name, claim, cell.evidence())
    };
    Some(if surely {
        let times = words::number(&ratio, " times");
        finding(format!("writes are accepted {times} as fast as they become durable{means}"))
            .warn()
            .advise("size by the durable figure: the rest is in a memory that a power cut empties")
    } else if matches!(likeness, Likeness::Equal | Likeness::Less) {
        finding("writes are durable as fast as they are accepted".to_owned())
    } else {
        let known = match ratio.interval {
            Some(ends) => format!(
                "ratio {} to {}, 95 % interval",
                significant(ends.low),
                significant(ends.high)
            ),
            None => format!("ratio {}, one run, no interval", significant(ratio.value)),
        };
        finding(format!(
            "whether writes are accepted faster than they become durable is not decided ({known})"
        ))
        .advise(same::more_replicates([ratios.as_slice()].into_iter()))
    })
}
