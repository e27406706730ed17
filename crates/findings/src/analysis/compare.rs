//! What changed between two campaigns: the same cells side by side.
//!
//! Cells are the same when they differ in nothing but where they ran, how long, and what only a
//! person can change. What has no such partner, or whose bytes came from elsewhere, is not compared
//! and says why. What differs between the two machines is in [`differences`].

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value as Json;

use super::notes::takes_away;
use super::{Finding, Severity, words};
use base::stats::equivalence::geometric_mean;
use base::stats::{Estimate, RatioOfMeans, holm, mean_interval};
use base::value::{Value, counted, percent, setting, significant};
use experiment::knob::{self, Scope, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::{rate, replicates, standing};
use experiment::measurement::origin::{Verdict, origin};
use experiment::measurement::{Outcome, Record, judge};
use facts::inventory::changes;

mod align;
pub mod exchange;
mod nearest;
#[cfg(test)]
mod tests;

pub use nearest::{HeldFigure, Nearest, ReportedComparison};

use align::Partner;

/// What findings of comparisons are called.
pub const QUESTION: &str = "regression";

/// Less of a difference does not matter, where nobody says otherwise.
pub const THRESHOLD: f64 = 0.05;
/// Chance of any wrong claim among all cells at most (Holm).
const CHANCE: f64 = 0.05;

/// What is asked of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonRequest {
    /// Less of a difference than this share does not matter, above 0 and below 1.
    pub threshold: f64,
    /// The figure; `None` takes of each load what it is about.
    pub figure: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Less of a difference than this share does not matter.
    pub threshold: f64,
    /// Cells that both have, in the order of the first campaign.
    pub cells: Vec<Compared>,
    /// Cells that are not compared.
    pub apart: Vec<UncomparedCell>,
    /// What other tools reported, each beside the nearest cell.
    pub held: Vec<ReportedComparison>,
}

/// A cell that both campaigns have.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What tells it from the others of the comparison.
    pub load: String,
    /// Its settings in the first campaign.
    pub settings: Settings,
    /// The name of the figure.
    pub figure: String,
    /// Whether less of it is better, as of a time.
    pub less_is_better: bool,
    /// Where the bytes of all its trials came from.
    pub origin: Verdict,
    /// Over the replicates of the first campaign.
    pub before: Estimate,
    /// Over those of the second.
    pub now: Estimate,
    /// How many there are of each.
    pub replicates: [usize; 2],
    /// The geometric means over the replicates of each, which the ratio is of.
    pub geometric_means: [f64; 2],
    /// The second over the first; 95 %.
    pub ratio: Estimate,
    /// How likely so much beyond the threshold were in any of the cells if there were nothing
    /// (Holm); `None` where a side was measured once.
    pub chance: Option<f64>,
    /// What that means.
    pub change: Change,
    /// Numbers of its trials in each.
    pub trials: [Vec<u32>; 2],
    /// Kinds of the notes that these carry in each, of those that take something away.
    pub notes: [Vec<String>; 2],
}

/// What a ratio means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Better, surely by more than the threshold.
    Better,
    /// Worse, surely by more than the threshold: a regression.
    Worse,
    /// Better, but perhaps by less than the threshold, or by the number of cells alone.
    PerhapsBetter,
    /// The same of worse.
    PerhapsWorse,
    /// Any difference is less than the threshold.
    Same,
    /// The scatter leaves all of that open.
    Open,
    /// A side was measured once: nothing says how far it scatters.
    Untested,
}

impl Change {
    /// In the order in which they are told: what became worse first.
    pub const ORDER: [Change; 7] = [
        Change::Worse,
        Change::PerhapsWorse,
        Change::Better,
        Change::PerhapsBetter,
        Change::Same,
        Change::Open,
        Change::Untested,
    ];

    /// What a ratio means whose chance to be so far beyond the threshold is known, among all that
    /// is tested.
    fn of(ratio: &Estimate, chance: Option<f64>, less_is_better: bool, threshold: f64) -> Change {
        let (low, high) = limits(threshold);
        let (Some(chance), Some(ends)) = (chance, ratio.interval) else {
            return Change::Untested;
        };
        let grew = ratio.value > 1.0;
        let better = grew != less_is_better;
        match better {
            true if chance <= CHANCE => Change::Better,
            false if chance <= CHANCE => Change::Worse,
            _ if ends.low > low && ends.high < high => Change::Same,
            true if !ends.covers(1.0) => Change::PerhapsBetter,
            false if !ends.covers(1.0) => Change::PerhapsWorse,
            _ => Change::Open,
        }
    }

    /// For people.
    pub fn said(self) -> &'static str {
        match self {
            Change::Better => "better",
            Change::Worse => "WORSE",
            Change::PerhapsBetter => "perhaps better",
            Change::PerhapsWorse => "perhaps worse",
            Change::Same => "the same",
            Change::Open => "not decided",
            Change::Untested => "one run, not tested",
        }
    }
}

/// A cell of one campaign, or of both, that is not compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UncomparedCell {
    /// What tells it from the others.
    pub load: String,
    /// Why.
    pub reason: String,
}

/// Sets the second campaign against the first.
pub fn compare(before: &[Record], now: &[Record], asked: &ComparisonRequest) -> Comparison {
    let held = nearest::held(before, now);
    // What was imported has no partner with the same settings, and its nearest cell stands beside
    // it already: a list of all that have none would hide it.
    let is_import = |records: &[Record]| records.iter().all(|it| nearest::import(it).is_some());
    let (pairs, mut apart) = match !held.is_empty() && (is_import(before) || is_import(now)) {
        true => (Vec::new(), Vec::new()),
        false => align::align(before, now),
    };
    let mut found = Vec::new();
    for pair in pairs {
        match measured(&pair, asked) {
            Ok(cell) => found.push(cell),
            Err(reason) => apart.push(UncomparedCell { load: pair.load, reason }),
        }
    }
    holm(found.iter_mut().filter_map(|(cell, _)| cell.chance.as_mut()).collect());
    let cells = found.into_iter().map(|(cell, ratio)| cell.judged(&ratio, asked.threshold));
    Comparison { threshold: asked.threshold, cells: cells.collect(), apart, held }
}

/// The same cell of both, before it is judged among the others.
fn measured(
    pair: &Partner<'_>,
    asked: &ComparisonRequest,
) -> Result<(Compared, RatioOfMeans), String> {
    let sides = [("the first", &pair.before), ("the second", &pair.now)];
    for (side, records) in sides {
        let done = |record: &&&Record| record.outcome.measurement().is_some();
        if !records.iter().any(|record| done(&record)) {
            return Err(format!("no trial of {side} was done: {}", why(records)));
        }
    }
    let all: Vec<&Record> = pair.before.iter().chain(&pair.now).copied().collect();
    let name = match &asked.figure {
        Some(name) => name.clone(),
        None => about(&all).to_owned(),
    };
    let [before, now] = [&pair.before, &pair.now].map(|records| with(records, &name));
    for (side, found) in [("the first", &before), ("the second", &now)] {
        if found.is_empty() {
            return Err(format!("{side} has no `{name}`"));
        }
    }
    let origin = one_origin([&before, &now])?;
    let values = |of: &[(&Record, f64)]| of.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let (old, new) = (values(&before), values(&now));
    let no_ratio = || format!("`{name}` is not above 0 in all of its trials: there is no ratio");
    let ratio = RatioOfMeans::from_samples(&new, &old).ok_or_else(no_ratio)?;
    let mean = |values: &[f64]| mean_interval(values).ok_or_else(no_ratio);
    let numbers = |of: &[(&Record, f64)]| of.iter().map(|(it, _)| it.trial.number).collect();
    let (low, high) = limits(asked.threshold);
    let chance = ratio.chance_below(low).zip(ratio.chance_above(high));
    let cell = Compared {
        load: pair.load.clone(),
        settings: pair.before[0].trial.settings.clone(),
        less_is_better: less_is_better(&name),
        figure: name.clone(),
        origin,
        before: mean(&old)?,
        now: mean(&new)?,
        replicates: [old.len(), new.len()],
        geometric_means: [geometric_mean(&old), geometric_mean(&new)],
        ratio: ratio.estimate(),
        // Of the two sides the one that it is on; twice, as either might have been.
        chance: chance.map(|(below, above)| (2.0 * below.min(above)).min(1.0)),
        change: Change::Untested,
        notes: [&before, &now].map(|of| noted(of)),
        trials: [numbers(&before), numbers(&now)],
    };
    Ok((cell, ratio))
}

/// Kinds of the notes of some trials, each once.
fn noted(of: &[(&Record, f64)]) -> Vec<String> {
    let mut kinds = BTreeSet::new();
    for (record, _) in of {
        let all = judge::all(record);
        let kind = all.iter().map(|note| &note.kind).filter(|kind| takes_away(kind));
        kinds.extend(kind.cloned());
    }
    kinds.into_iter().collect()
}

/// Ratios between these do not matter.
fn limits(threshold: f64) -> (f64, f64) {
    (1.0 - threshold, 1.0 / (1.0 - threshold))
}

impl Compared {
    fn judged(mut self, ratio: &RatioOfMeans, threshold: f64) -> Compared {
        self.change = Change::of(&ratio.estimate(), self.chance, self.less_is_better, threshold);
        self
    }

    /// The notes of both: `generator-bound (A, B), not-steady (B)`; empty where there is none.
    pub fn noted(&self) -> String {
        let kinds: BTreeSet<&String> = self.notes.iter().flatten().collect();
        let sides = |kind: &String| {
            let has = |side: usize| self.notes[side].contains(kind);
            match (has(0), has(1)) {
                (true, true) => "A, B",
                (true, false) => "A",
                _ => "B",
            }
        };
        kinds.iter().map(|kind| format!("{kind} ({})", sides(kind))).collect::<Vec<_>>().join(", ")
    }

    /// Of more or less: `8.1 % less (6.0 % to 10 % less)`.
    pub fn said(&self) -> String {
        let side = |ratio: f64| match ratio < 1.0 {
            true => format!("{} less", percent(1.0 - ratio)),
            false if ratio >= 2.0 => format!("{} times", significant(ratio)),
            false => format!("{} more", percent(ratio - 1.0)),
        };
        match self.ratio.interval {
            Some(ends) => {
                format!("{} ({} to {})", side(self.ratio.value), side(ends.low), side(ends.high))
            }
            None => format!("{} (one run)", side(self.ratio.value)),
        }
    }
}

impl Comparison {
    /// How many cells came out so.
    pub fn count(&self, change: Change) -> usize {
        self.cells.iter().filter(|cell| cell.change == change).count()
    }

    /// Whether a cell differs, surely or perhaps; of one that was run once, whether by more than
    /// what matters.
    pub fn differs(&self, cell: &Compared) -> bool {
        let (low, high) = limits(self.threshold);
        match cell.change {
            Change::Worse | Change::PerhapsWorse | Change::Better | Change::PerhapsBetter => true,
            Change::Same | Change::Open => false,
            Change::Untested => !(low..=high).contains(&cell.ratio.value),
        }
    }

    /// What it claims: each regression, and one sentence on the rest.
    pub fn findings(&self) -> Vec<Finding> {
        let worse = self.cells.iter().filter(|cell| cell.change == Change::Worse);
        let mut findings: Vec<Finding> = worse
            .map(|cell| {
                let claim = format!(
                    "{}: {} of {}, which is worse, surely by more than {}.",
                    cell.load,
                    cell.said(),
                    words::figure(&cell.figure),
                    percent(self.threshold)
                );
                let claim = match cell.noted() {
                    none if none.is_empty() => claim,
                    notes => format!("{claim} But its trials have notes: {notes}."),
                };
                Finding::info(QUESTION, claim, cell.trials[1].clone()).warn()
            })
            .collect();
        for finding in &mut findings {
            finding.severity = Severity::Error;
        }
        findings.push(Finding::info(QUESTION, self.summary(), Vec::new()));
        findings
    }

    /// One sentence on all cells.
    pub fn summary(&self) -> String {
        if self.cells.is_empty() && !self.held.is_empty() {
            return self.held_summary();
        }
        if self.cells.is_empty() {
            return format!("No cell can be compared; {} cannot.", self.apart.len());
        }
        let parts = Change::ORDER.iter().filter(|change| self.count(**change) > 0).map(|change| {
            let said = change.said().to_lowercase();
            format!("{} {said}", self.count(*change))
        });
        let parts: Vec<String> = parts.collect();
        let cells = match self.cells.len() {
            1 => "1 cell".to_owned(),
            count => format!("{count} cells"),
        };
        let apart = match self.apart.len() {
            0 => String::new(),
            count => format!(" {count} cannot be compared."),
        };
        format!(
            "Of {cells} that both have: {}; a difference matters from {} on.{apart}",
            parts.join(", "),
            percent(self.threshold)
        )
    }
}

impl Comparison {
    /// One sentence on what other tools reported.
    fn held_summary(&self) -> String {
        let with = self.held.iter().filter(|held| held.nearest.is_some()).count();
        let results = counted(self.held.len() as u64, "reported result");
        match with {
            0 => format!("{results}, and the other campaign has no cell that is near."),
            _ => format!(
                "{results}, each beside the nearest cell that was measured. One run of a tool \
                 does not tell how far it scatters: nothing is tested."
            ),
        }
    }
}

/// Why none of these trials was done.
fn why(records: &[&Record]) -> String {
    let reason = |record: &&Record| match &record.outcome {
        Outcome::Failed(why) | Outcome::Skipped(why) => Some(why.clone()),
        Outcome::Done(_) | Outcome::Interrupted => None,
    };
    records.iter().find_map(reason).unwrap_or_else(|| "interrupted".to_owned())
}

/// What a load is about: transactions, operations on names, the time of a program, what was
/// durable of a writing, else bytes.
fn about(records: &[&Record]) -> &'static str {
    let has = |name: &str| records.iter().any(|record| rate(record, name).is_some());
    let settings = &records[0].trial.settings;
    let programs = |record: &&Record| {
        record.outcome.measurement().is_some_and(|measurement| measurement.programs.is_some())
    };
    let bytes = figure_names::THROUGHPUT;
    let durable = figure_names::DURABLE_THROUGHPUT;
    match () {
        () if has(figure_names::TRANSACTIONS_PER_S) => figure_names::TRANSACTIONS_PER_S,
        () if records.iter().any(programs) => "elapsed_s",
        () if has(figure_names::OPS_PER_S) && (settings.has(knob::OPERATION) || !has(bytes)) => {
            figure_names::OPS_PER_S
        }
        () if settings.only_writes() && has(durable) => durable,
        () => bytes,
    }
}

/// Whether less of a figure is better: of times, and of what is lost or spent.
pub fn less_is_better(name: &str) -> bool {
    const LESS: &[&str] =
        &["latency", "elapsed", "seconds", "lost", "retransmit", "faults", "dropped", "jitter"];
    let is_time = |end: &&str| name.ends_with(*end) && !name.ends_with("_per_s");
    LESS.iter().any(|part| name.contains(part)) || ["_s", "_ns", "_ms"].iter().any(is_time)
}

/// Those that have the figure, and do not contradict it.
fn with<'a>(records: &[&'a Record], name: &str) -> Vec<(&'a Record, f64)> {
    let value = |record: &&'a Record| Some((*record, standing(record).get(name)?.value));
    records.iter().filter_map(value).collect()
}

/// The places that bytes of these trials came from.
fn verdicts(of: &[(&Record, f64)]) -> BTreeSet<&'static str> {
    let verdict = |(record, _): &(&Record, f64)| {
        let measurement = record.outcome.measurement()?;
        Some(origin(measurement, &record.trial.settings).verdict.name())
    };
    of.iter().filter_map(verdict).collect()
}

/// Where the bytes of all of them came from.
///
/// # Errors
/// When they came from several places.
fn one_origin(sides: [&[(&Record, f64)]; 2]) -> Result<Verdict, String> {
    let verdicts = sides.map(verdicts);
    let said = |of: &BTreeSet<&str>| of.iter().copied().collect::<Vec<_>>().join(" and ");
    if verdicts[0] != verdicts[1] || verdicts[0].len() > 1 {
        return Err(format!(
            "bytes came from elsewhere: {} in the first, {} in the second",
            said(&verdicts[0]),
            said(&verdicts[1])
        ));
    }
    let of = |(record, _): &(&Record, f64)| {
        Some(origin(record.outcome.measurement()?, &record.trial.settings).verdict)
    };
    Ok(sides[0].first().and_then(of).unwrap_or(Verdict::None))
}

/// What differs between two campaigns besides their figures, one a line: settings that are the same
/// throughout each, then the machines, part by part.
pub fn differences(before: (&[Record], &Json), now: (&[Record], &Json)) -> Vec<String> {
    let mut lines = Vec::new();
    let of = |records: &[Record], name: &str| {
        let held = records.iter().map(|record| record.trial.settings.named(name).cloned());
        let all: Vec<Option<Value>> = held.collect();
        let first = all.first().cloned().flatten()?;
        all.iter().all(|one| one.as_ref() == Some(&first)).then_some(first)
    };
    for knob in knob::KNOBS {
        let apart = align::is_where(knob.name) || knob.scope == Scope::Label;
        if let (true, Some(old), Some(new)) = (apart, of(before.0, knob.name), of(now.0, knob.name))
            && old != new
        {
            lines.push(format!("{}: {}, was {}", knob.name, setting(&new), setting(&old)));
        }
    }
    lines.extend(changes(before.1, now.1));
    lines
}

/// What only a person can change.
fn labels() -> impl Iterator<Item = &'static knob::Knob> {
    knob::KNOBS.iter().copied().filter(|knob| knob.scope == Scope::Label)
}

/// Records of the same cell, in the order in which the first of each appears.
fn groups(records: &[Record]) -> Vec<Vec<&Record>> {
    let all = replicates(records).into_iter();
    all.filter(|group| !group[0].trial.prepares()).collect()
}
