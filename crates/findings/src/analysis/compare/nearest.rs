//! (pure) What other tools reported, beside the nearest cell of the other campaign.
//!
//! Nearest is the cell of the same access whose block size, I/Os in flight, streams and path are
//! least far away, in powers of two. Nothing is tested: nobody knows how far a reported figure
//! scatters, and its settings are told only as far as its tool prints them.

use serde::Serialize;

use crate::analysis::words;
use base::stats::Estimate;
use base::value::{Value, setting};
use experiment::knob::{self, Scope, Settings};
use experiment::measurement::figures::{Cell, cells};
use experiment::measurement::origin::{Verdict, origin};
use experiment::measurement::reported::{Figure, PREFIX};
use experiment::measurement::{Record, Reported};

use super::less_is_better;

/// What another tool reported of one access, and the cell that is nearest to it.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedComparison {
    /// Which of the campaigns it is of: `a`, the first, or `b`.
    pub side: &'static str,
    /// The number of its trial there.
    pub trial: u32,
    /// The tool: `fio 3.33`.
    pub by: String,
    /// The file.
    pub place: String,
    /// What the tool calls it; empty where it has no name.
    pub says: String,
    /// What was asked of it, as far as the tool tells.
    pub load: String,
    /// The cell of the other campaign.
    pub nearest: Option<Nearest>,
    /// Why there is none.
    pub reason: Option<String>,
}

/// The cell that is nearest to a reported result.
#[derive(Clone, Debug, Serialize)]
pub struct Nearest {
    /// What it is.
    pub load: String,
    /// Its settings.
    pub settings: Settings,
    /// Its trials.
    pub trials: Vec<u32>,
    /// Where its bytes came from; `None` of other tools', and where its trials differ.
    pub origin: Option<Verdict>,
    /// The figures that both have.
    pub figures: Vec<HeldFigure>,
    /// Settings of which the two have others: `block-size: 4 KiB reported, 1 MiB here`.
    pub differs: Vec<String>,
    /// What the tool does not tell.
    pub untold: Vec<String>,
}

/// A figure that both have.
#[derive(Clone, Debug, Serialize)]
pub struct HeldFigure {
    /// Its name.
    pub name: String,
    /// As the tool reported it, in the unit of the name.
    pub reported: f64,
    /// As it was printed.
    pub printed: String,
    /// Of the nearest cell, over its replicates.
    pub ours: Estimate,
    /// The reported one over ours.
    pub ratio: f64,
    /// Whether less of it is better.
    pub less_is_better: bool,
}

/// What tells loads apart before all else.
const ASKED: [&str; 6] = ["access", "block-size", "queue-depth", "streams", "direct", "file-size"];
/// What a tool that is silent may have done either way.
const CACHED: &str = "whether its bytes came from a device or from memory";
const SAFE: &str = "whether what it wrote was safe on a device when it stopped";

/// What a figure's name says of its access, where the settings do not; longer beginnings first.
const WAYS: [(&str, &str); 6] = [
    ("random_read_", "random-read"),
    ("random_write_", "random-write"),
    ("block_read_", "read"),
    ("block_write_", "write"),
    ("read_", "read"),
    ("write_", "write"),
];

/// What was reported in one trial, where nothing of it was counted here.
pub fn import(record: &Record) -> Option<&Reported> {
    let measurement = record.outcome.measurement()?;
    measurement.reported.as_ref().filter(|_| measurement.programs.is_none())
}

/// The results of tools in either campaign, each beside the nearest cell of the other.
pub fn held(before: &[Record], now: &[Record]) -> Vec<ReportedComparison> {
    let mut all = Vec::new();
    for (side, records, others) in [("a", before, now), ("b", now, before)] {
        // Of two imports the second is held against the first.
        if side == "a" && others.iter().any(|record| import(record).is_some()) {
            continue;
        }
        if !records.iter().any(|record| import(record).is_some()) {
            continue;
        }
        // What only made ready for others is no result.
        let ready = |cell: &Cell| {
            let of = |record: &&Record| cell.trials.contains(&record.trial.number);
            others.iter().find(of).is_some_and(|record| record.trial.prepares())
        };
        let candidates: Vec<CandidateCell> = cells(others)
            .into_iter()
            .filter(|cell| !ready(cell))
            .map(|cell| CandidateCell::of(cell, others))
            .collect();
        for record in records {
            if let Some(reported) = import(record) {
                all.extend(of_result(side, record, reported, &candidates));
            }
        }
    }
    all
}

/// A cell that a result may be held against.
struct CandidateCell {
    cell: Cell,
    origin: Option<Verdict>,
}

impl CandidateCell {
    fn of(cell: Cell, records: &[Record]) -> CandidateCell {
        let of = records.iter().filter(|record| cell.trials.contains(&record.trial.number));
        let mut verdicts = of.filter_map(|record| {
            let measurement = record.outcome.measurement()?;
            measurement.reported.is_none().then(|| origin(measurement, &record.trial.settings))
        });
        let first = verdicts.next().map(|origin| origin.verdict);
        let origin = first.filter(|first| verdicts.all(|other| other.verdict == *first));
        CandidateCell { cell, origin }
    }

    /// Its own figure of that name, or one that another tool reported.
    fn figure(&self, name: &str) -> Option<Estimate> {
        let figures = &self.cell.figures;
        let reported = || figures.get(format!("{PREFIX}{name}").as_str());
        figures.get(name).or_else(reported).copied().filter(|it| it.value > 0.0)
    }
}

/// Figures by their names without an access, of the access that stood there.
type OfWay<'a> = (Option<String>, Vec<(String, &'a Figure)>);

/// One for each access that the result has figures of.
fn of_result(
    side: &'static str,
    record: &Record,
    reported: &Reported,
    candidates: &[CandidateCell],
) -> Vec<ReportedComparison> {
    let settings = &record.trial.settings;
    let mut ways: Vec<OfWay<'_>> = Vec::new();
    for figure in &reported.figures {
        let (way, name) = way_of(&figure.name, settings);
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, figures)) => figures.push((name, figure)),
            None => ways.push((way, vec![(name, figure)])),
        }
    }
    // Shares of a processor and the like, of no way, beside ways that have figures.
    if ways.len() > 1 {
        ways.retain(|(way, _)| way.is_some());
    }
    let held = |(way, figures): OfWay<'_>| {
        let found = nearest(way.as_deref(), settings, &figures, candidates);
        let (nearest, reason) = match found {
            Ok(nearest) => (Some(nearest), None),
            Err(reason) => (None, Some(reason)),
        };
        ReportedComparison {
            side,
            trial: record.trial.number,
            by: reported.by.clone(),
            place: reported.place.clone(),
            says: reported.says.clone(),
            load: asked(way.as_deref(), settings),
            nearest,
            reason,
        }
    };
    ways.into_iter().map(held).collect()
}

/// The access of a figure, and its name without it.
fn way_of(name: &str, settings: &Settings) -> (Option<String>, String) {
    if let Some(told) = settings.named(knob::ACCESS.name) {
        return (Some(told.to_string()), name.to_owned());
    }
    let way = WAYS.iter().find_map(|(begins, access)| {
        let rest = name.strip_prefix(begins)?;
        Some((Some((*access).to_owned()), rest.to_owned()))
    });
    way.unwrap_or((None, name.to_owned()))
}

/// `read, 4 KiB, depth 8, direct`.
fn asked(way: Option<&str>, settings: &Settings) -> String {
    let mut parts: Vec<String> = way.iter().map(|way| way.replace('-', " ")).collect();
    for name in &ASKED[1..] {
        if settings.is_moot(name) {
            continue;
        }
        parts.extend(match settings.named(name) {
            None => None,
            Some(Value::Flag(true)) => Some("direct".to_owned()),
            Some(Value::Flag(false)) => Some("through the page cache".to_owned()),
            Some(size) if *name == "file-size" => Some(format!("files of {}", setting(size))),
            Some(_) => words::brief(name, settings),
        });
    }
    match parts.is_empty() {
        true => "of what was asked it tells nothing".to_owned(),
        false => parts.join(", "),
    }
}

fn nearest(
    way: Option<&str>,
    settings: &Settings,
    figures: &[(String, &Figure)],
    candidates: &[CandidateCell],
) -> Result<Nearest, String> {
    let has = |of: &&CandidateCell| figures.iter().any(|(name, _)| of.figure(name).is_some());
    let access =
        |of: &CandidateCell| of.cell.settings.named(knob::ACCESS.name).map(Value::to_string);
    let same = |of: &&CandidateCell| way.is_none_or(|way| access(of).is_none_or(|it| it == way));
    let mut near: Option<(f64, &CandidateCell)> = None;
    for candidate in candidates.iter().filter(has).filter(same) {
        let far = distance(way, settings, &candidate.cell.settings);
        if near.is_none_or(|(least, _)| far < least) {
            near = Some((far, candidate));
        }
    }
    let Some((_, candidate)) = near else {
        return Err(match way {
            Some(way) => format!("the other campaign has no cell of {}", way.replace('-', " ")),
            None => "the other campaign has no such figure".to_owned(),
        });
    };
    let figures = figures.iter().filter_map(|(name, figure)| {
        let ours = candidate.figure(name)?;
        Some(HeldFigure {
            name: name.clone(),
            reported: figure.value,
            printed: figure.printed.clone(),
            ours,
            ratio: figure.value / ours.value,
            less_is_better: less_is_better(name),
        })
    });
    let cell = &candidate.cell;
    let told = access(candidate);
    Ok(Nearest {
        load: format!("{}: {}", cell.groups.join(", "), asked(told.as_deref(), &cell.settings)),
        settings: cell.settings.clone(),
        trials: cell.trials.clone(),
        origin: candidate.origin,
        figures: figures.collect(),
        differs: differs(settings, &cell.settings),
        untold: untold(way, settings, &cell.settings),
    })
}

/// How far a cell is from what was asked: a step for each power of two in size, depth and streams.
/// Another path through the kernel is further than any of these is likely to be, as it decides
/// whether a cache is measured.
fn distance(way: Option<&str>, asked: &Settings, cell: &Settings) -> f64 {
    const OTHER_PATH: f64 = 8.0;
    /// Where all of that is the same, the rest decides.
    const REST: f64 = 0.01;
    let mut far = 0.0;
    // A cell of no access has none to be the same.
    if way.is_some() && cell.named(knob::ACCESS.name).is_none() {
        far += OTHER_PATH;
    }
    for (name, value) in asked.iter() {
        let Some(other) = cell.named(name).filter(|other| *other != value) else { continue };
        far += match name {
            "block-size" | "queue-depth" | "streams" => steps(value, other).unwrap_or(OTHER_PATH),
            "direct" => OTHER_PATH,
            "file-size" => REST * steps(value, other).unwrap_or(1.0),
            _ => REST,
        };
    }
    far
}

/// How many powers of two lie between two sizes or counts.
fn steps(one: &Value, other: &Value) -> Option<f64> {
    let number = |value: &Value| match value {
        Value::Bytes(n) | Value::Count(n) => Some(*n as f64),
        _ => None,
    };
    let (one, other) = (number(one)?, number(other)?);
    (one > 0.0 && other > 0.0).then(|| (one / other).log2().abs())
}

fn differs(asked: &Settings, cell: &Settings) -> Vec<String> {
    let line = |(name, value): (&'static str, &Value)| {
        let other = cell.named(name).filter(|other| *other != value)?;
        // A label is what we call it, to tell results apart.
        let is_label = knob::find(name).is_some_and(|knob| knob.scope == Scope::Label);
        let apart = super::align::is_where(name) || cell.is_moot(name) || is_label;
        let (theirs, ours) = (setting(value), setting(other));
        (!apart).then(|| format!("{name}: {theirs} reported, {ours} here"))
    };
    asked.iter().filter_map(line).collect()
}

fn untold(way: Option<&str>, asked: &Settings, cell: &Settings) -> Vec<String> {
    let silent = |name: &&&str| {
        let known = **name == "access" && way.is_some();
        !known && asked.named(name).is_none() && cell.named(name).is_some() && !cell.is_moot(name)
    };
    let mut all: Vec<String> = ASKED.iter().filter(silent).map(|it| (*it).to_owned()).collect();
    let is_direct = matches!(asked.named(knob::DIRECT.name), Some(Value::Flag(true)));
    let writes = way.is_some_and(|way| way.contains("write"));
    match way {
        Some(_) if writes && asked.named(knob::FSYNC.name).is_none() => all.push(SAFE.to_owned()),
        Some(_) if !writes && !is_direct => all.push(CACHED.to_owned()),
        _ => {}
    }
    all
}

impl ReportedComparison {
    /// `fio 3.33 in results.json, seq-read: read, 1 MiB, depth 8`.
    pub fn said(&self) -> String {
        let name = if self.says.is_empty() { String::new() } else { format!(", {}", self.says) };
        format!("{} in {}{name}: {}", self.by, self.place, self.load)
    }
}
