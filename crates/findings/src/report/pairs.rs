//! (pure) Two campaigns side by side, and the words for them that all formats share.

use serde_json::{Value as Json, json};

use super::nature::Nature;
use super::{programs, words};
use crate::analysis::Finding;
use crate::analysis::compare::{Compared, Comparison};
use base::value::significant;
use experiment::campaign::Campaign;

/// Two campaigns, and what came of setting the second against the first.
#[derive(Debug)]
pub struct Pair<'a> {
    /// What the other is held against.
    pub before: Told<'a>,
    /// What is held against it.
    pub now: Told<'a>,
    /// The cells.
    pub comparison: &'a Comparison,
    /// What it claims.
    pub findings: Vec<Finding>,
    /// What differs besides, one a line.
    pub differences: &'a [String],
}

/// A campaign and where it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// As typed.
    pub typed: &'a str,
    /// The campaign.
    pub campaign: &'a Campaign,
}

impl Told<'_> {
    /// `streams on vm, 2026-11-24 03:42:40 UTC (campaign 1)`.
    pub fn said(&self) -> String {
        let of = self.campaign;
        let date = words::date(of.started_unix_ns);
        format!("{}, {date} (campaign {})", words::subject(of), of.id)
    }

    /// For the document.
    pub fn json(&self) -> Json {
        let of = self.campaign;
        json!({
            "typed": self.typed, "id": of.id, "uid": of.uid, "plan": of.plan, "host": of.host,
            "engine": of.engine, "kind": Nature::of_campaign(of).name(),
            "started_unix_ns": of.started_unix_ns, "seed": of.seed, "brickyard": of.version,
        })
    }
}

/// A figure without its second unit, for a column.
pub fn short(name: &str, value: f64) -> String {
    let told = programs::print(name, value);
    told.split_once(" (").map_or(told.clone(), |(first, _)| first.to_owned())
}

/// `0.921`, and `0.90 to 0.94` or nothing.
pub fn ratio(cell: &Compared) -> (String, String) {
    // Beyond these an end says only that nothing is known.
    let end = |ratio: f64| match ratio {
        ratio if ratio < 0.01 => "< 0.01".to_owned(),
        ratio if ratio > 100.0 => "> 100".to_owned(),
        ratio => significant(ratio),
    };
    let ends = cell.ratio.interval.map(|it| format!("{} to {}", end(it.low), end(it.high)));
    (significant(cell.ratio.value), ends.unwrap_or_default())
}

/// The group that all of these cells are of, when they are of one.
pub fn group<'a>(mut cells: impl Iterator<Item = &'a Compared> + Clone) -> Option<&'a str> {
    let (group, _) = cells.clone().next()?.load.split_once(": ")?;
    cells.all(|cell| strip(&cell.load, group) != cell.load).then_some(group)
}

/// A label without its group.
pub fn strip<'a>(load: &'a str, group: &str) -> &'a str {
    load.strip_prefix(group).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(load)
}
