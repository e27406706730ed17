//! What limits each cell, and what would next?
//!
//! One trial says how busy each thing was (`measurement::limit`); whether more in flight would have
//! got more is known from the campaign's other cells. A limit is named when it is proved, and
//! `unknown` with the first suspect otherwise: a wrong name costs more than none. How a cell is
//! judged is in `bottleneck/verdict.rs`, how it is put in words in `bottleneck/tell.rs`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::curve::cells;
use super::{Finding, Question};
use experiment::knob::Settings;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::limit::Resource;

mod tell;
#[cfg(test)]
mod tests;
mod verdict;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "bottleneck",
    about: "What limits each cell, and what would next?",
    answer: |asked| answer(asked.records),
};

/// What would bind were the limit gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunnerUp {
    /// As `limit` of a finding.
    pub limit: &'static str,
    /// The throughput that it would allow, bytes per second.
    pub throughput_bytes_per_s: f64,
    /// It may allow more.
    pub at_least: bool,
}

/// Two throughputs that differ by a smaller share are told as one.
const ALIKE: f64 = 0.10;

/// What limits a cell: its rates in bytes per second, and the verdict on them.
#[derive(Clone, Debug, PartialEq)]
pub struct CellBottleneck {
    settings: Settings,
    /// What it does.
    load: String,
    /// What each trial got, bytes per second.
    rates: Vec<f64>,
    /// Numbers of its trials.
    trials: Vec<u32>,
    verdict: verdict::BottleneckVerdict,
    /// Of how many cells it is one.
    all: usize,
}

fn answer(records: &[Record]) -> Vec<Finding> {
    let cells = cells(records);
    let points = verdict::points(&cells);
    let told = cells.iter().zip(&points).map(|(cell, point)| {
        let verdict = verdict::bottleneck_verdict(point, &points);
        CellBottleneck {
            settings: cell.settings.clone(),
            load: cell.load(&["block-size", "queue-depth", "streams", "io-engine"]),
            rates: cell.values(figure_names::THROUGHPUT),
            trials: cell.evidence(),
            verdict,
            all: cells.len(),
        }
    });
    let mut groups: Vec<Vec<CellBottleneck>> = Vec::new();
    for one in told {
        match groups.iter_mut().find(|group| alike(&group[0].verdict, &one.verdict)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    // What is known comes before what is not.
    groups.sort_by_key(|group| group[0].verdict.limit == Resource::Unknown);
    groups.into_iter().map(tell::finding).collect()
}

/// A limit by its name in JSON, as a noun: `the device`.
pub fn in_words(name: &str) -> String {
    tell::named(name)
}

/// A finding on several cells as two: one on those that stay, and one on those that leave, which
/// are those whose assertions stand at these places. `None` where all leave.
pub fn split(finding: &Finding, leaving: &BTreeSet<usize>) -> Option<(Finding, Finding)> {
    let mut places = 0..;
    let leaves = |told: &CellBottleneck| {
        let place = told.verdict.assertion.as_ref().and_then(|_| places.next());
        place.is_some_and(|place| leaving.contains(&place))
    };
    let (leave, stay): (Vec<CellBottleneck>, Vec<CellBottleneck>) =
        finding.cells.iter().cloned().partition(leaves);
    let both = !leave.is_empty() && !stay.is_empty();
    both.then(|| (tell::finding(stay), tell::finding(leave)))
}

/// Whether two cells are told in one breath.
fn alike(one: &verdict::BottleneckVerdict, other: &verdict::BottleneckVerdict) -> bool {
    let next = match (&one.runner_up, &other.runner_up) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let ratio = one.throughput_bytes_per_s / other.throughput_bytes_per_s;
            one.limit == other.limit
                && one.at_least == other.at_least
                && (ratio - 1.0).abs() <= ALIKE
        }
        _ => false,
    };
    match one.limit {
        limit if limit != other.limit => false,
        Resource::Unknown => one.suspect == other.suspect,
        _ => next,
    }
}
