//! (pure) Columns of the explorer: which there are, and what each holds.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::super::panel::shortened;
use super::super::varying;
use crate::report::cells::{self, FigureOrigin};
use crate::report::programs::{self, ProgramUnit};
use crate::report::{Input, TrialView, words};
use base::value::{self, Value};
use experiment::knob::{self, Settings};
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// Knobs that have a column; more cannot be told apart as axes.
const KNOBS_MAX: usize = 24;
/// Figures that have one.
const FIGURES_MAX: usize = 24;
/// A knob of numbers with more levels than this is an axis of numbers, not of levels.
const LEVELS_MAX: usize = 40;
/// Letters of a level's text.
const TEXT_MAX: usize = 60;
/// Axes that are there when the page opens: of knobs, and of figures.
const AXES_MAX: (usize, usize) = (5, 3);
/// Knobs that a reader looks for first.
const FIRST_KNOBS: &[&str] = &["streams", "queue-depth", "block-size", "file-size", "access"];
/// Figures that a reader looks for first.
const FIRST_FIGURES: &[&str] = &[
    figure_names::THROUGHPUT,
    figure_names::DURABLE_THROUGHPUT,
    figure_names::OPS_PER_S,
    figure_names::IOPS,
    "elapsed_s",
    figure_names::LATENCY_P50,
    figure_names::LATENCY_P99,
    figure_names::NAIVE_THROUGHPUT,
];

/// One column of the explorer.
#[derive(Debug, Serialize)]
pub struct ExplorerColumn {
    /// Of the knob or the figure, as in the JSON contract.
    pub name: String,
    /// For people, without the unit.
    pub title: String,
    /// What it tells.
    pub kind: ExplorerColumnKind,
    /// Of its numbers: `MB/s`, `ns`, `B`, or nothing.
    pub unit: &'static str,
    /// Its dictionary, in order; empty for plain numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<ColumnLevel>,
    /// A row each: a number in `unit`, or a place in `levels`; `None` where there is none.
    #[serde(serialize_with = "short")]
    pub values: Vec<Option<f64>>,
}

/// What a column of the explorer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExplorerColumnKind {
    /// A setting.
    Knob,
    /// What was measured.
    Figure,
    /// What a trial is.
    Trial,
}

/// One of the values that a column can have.
#[derive(Debug, PartialEq, Serialize)]
pub struct ColumnLevel {
    /// For people: `4 KiB`.
    pub text: String,
    /// The number, where it is one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_one")]
    pub number: Option<f64>,
    /// An origin that is not the device.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// The word of a trial, and whether it is an origin that is not the device.
type TrialWord = dyn Fn(&Record, &TrialView) -> Option<(String, bool)>;

/// What a column is made of.
pub enum Kept {
    /// The number of the trial.
    Number,
    /// Its group in the plan.
    Group,
    /// Its replicate.
    Replicate,
    /// Where its bytes came from.
    Origin,
    /// What became of it.
    Outcome,
    /// Whether it had settled.
    Steady,
    /// A setting.
    Knob(&'static str),
    /// A figure.
    Figure(String),
}

/// The columns of a campaign, and the names of those that found no room.
pub fn kept(input: &Input<'_>) -> (Vec<Kept>, Vec<String>) {
    let mut knobs = varying::varying(input);
    let place = |knob: &&str| match FIRST_KNOBS.iter().position(|first| first == knob) {
        Some(place) => place,
        None if knob::INCIDENTAL.contains(knob) => FIRST_KNOBS.len() + 1,
        None => FIRST_KNOBS.len(),
    };
    knobs.sort_by_key(place);
    let mut figures = figures(input);
    let beyond_knobs = knobs.split_off(knobs.len().min(KNOBS_MAX));
    let beyond_figures = figures.split_off(figures.len().min(FIGURES_MAX));
    let left_out = beyond_knobs.iter().map(|name| (*name).to_owned()).chain(beyond_figures);
    let trial = [Kept::Number, Kept::Group, Kept::Replicate, Kept::Origin, Kept::Outcome];
    let mut kept: Vec<Kept> = trial.into_iter().collect();
    kept.push(Kept::Steady);
    kept.extend(knobs.into_iter().map(Kept::Knob));
    kept.extend(figures.into_iter().map(Kept::Figure));
    (kept, left_out.collect())
}

/// Names of the figures that are not the same in every trial, those first that are looked for
/// first.
fn figures(input: &Input<'_>) -> Vec<String> {
    let mut seen: BTreeMap<&str, (f64, bool)> = BTreeMap::new();
    for (name, estimate) in input.trials.iter().flat_map(|view| view.figures.iter()) {
        if estimate.value.is_finite() {
            let (first, differs) = seen.entry(name).or_insert((estimate.value, false));
            *differs |= *first != estimate.value;
        }
    }
    let differing = seen.into_iter().filter(|(_, (_, differs))| *differs);
    let mut names: Vec<String> = differing.map(|(name, _)| name.to_owned()).collect();
    let first = |name: &String| {
        FIRST_FIGURES.iter().position(|first| first == name).unwrap_or(FIRST_FIGURES.len())
    };
    names.sort_by_key(first);
    names
}

/// Trials without the samples of an [`Input`], which one thread alone can have.
#[derive(Clone, Copy)]
pub struct Trials<'a> {
    records: &'a [Record],
    views: &'a [TrialView],
}

impl<'a> Trials<'a> {
    /// Those of a campaign.
    pub fn from_input(input: &'a Input<'_>) -> Trials<'a> {
        Trials { records: input.records, views: &input.trials }
    }
}

/// A column over those rows of a campaign.
pub fn column(trials: Trials<'_>, kept: &Kept, rows: &[usize]) -> ExplorerColumn {
    let of = |row: &usize| (&trials.records[*row], &trials.views[*row]);
    let trial = |name: &str, title: &str| ExplorerColumn {
        name: name.to_owned(),
        title: title.to_owned(),
        kind: ExplorerColumnKind::Trial,
        unit: "",
        levels: Vec::new(),
        values: Vec::new(),
    };
    let words = |column, told: &TrialWord| {
        let of = rows.iter().map(of);
        by_word(column, &of.map(|(record, view)| told(record, view)).collect::<Vec<_>>())
    };
    match kept {
        Kept::Number | Kept::Replicate => {
            let replicate = matches!(kept, Kept::Replicate);
            let number = |record: &Record| match replicate {
                true => f64::from(record.trial.replicate),
                false => f64::from(record.trial.number),
            };
            let values = rows.iter().map(|row| Some(number(of(row).0))).collect();
            let column = match replicate {
                true => trial("replicate", "replicate"),
                false => trial("trial", "trial"),
            };
            ExplorerColumn { values, ..column }
        }
        Kept::Group => {
            words(trial("group", "group"), &|record, _| Some((record.trial.group.clone(), false)))
        }
        Kept::Origin => words(trial("origin", "origin"), &|record, view| {
            let source = FigureOrigin::from_trial(view);
            let done = record.outcome.measurement().is_some();
            done.then(|| (source.name().to_owned(), !source.is_device()))
        }),
        Kept::Outcome => words(trial("outcome", "outcome"), &|record, _| {
            Some((record.outcome.name().to_owned(), false))
        }),
        Kept::Steady => words(trial("steady", "steady"), &|record, view| {
            record.outcome.measurement()?;
            let told = view.steady.map_or("not tested", |yes| if yes { "yes" } else { "no" });
            Some((told.to_owned(), false))
        }),
        Kept::Knob(name) => {
            let settings: Vec<_> = rows.iter().map(|row| &of(row).0.trial.settings).collect();
            by_level(name, &settings)
        }
        Kept::Figure(name) => figure(trials, name, rows),
    }
}

/// A column of words, in the order in which they first come.
fn by_word(column: ExplorerColumn, told: &[Option<(String, bool)>]) -> ExplorerColumn {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut levels: Vec<ColumnLevel> = Vec::new();
    let values = told.iter().map(|told| {
        let (text, foreign) = told.as_ref()?;
        let place = *known.entry(text).or_insert_with(|| {
            levels.push(ColumnLevel { text: bounded(text), number: None, foreign: *foreign });
            levels.len() - 1
        });
        Some(place as f64)
    });
    let values = values.collect();
    ExplorerColumn { levels, values, ..column }
}

/// A column of a knob: levels by size, or plain numbers where there are too many.
fn by_level(name: &str, settings: &[&Settings]) -> ExplorerColumn {
    let held = |settings: &&Settings| -> Option<(String, Value)> {
        let held = settings.named(name).filter(|_| !settings.is_moot(name))?;
        Some((held.to_string(), held.clone()))
    };
    let held: Vec<Option<(String, Value)>> = settings.iter().map(held).collect();
    let distinct: BTreeMap<&str, &Value> =
        held.iter().flatten().map(|(text, value)| (text.as_str(), value)).collect();
    let mut levels: Vec<(&str, &Value)> = distinct.into_iter().collect();
    levels.sort_by(|(_, a), (_, b)| cells::compare(Some(a), Some(b)));
    let column = ExplorerColumn {
        name: name.to_owned(),
        title: name.replace('-', " "),
        kind: ExplorerColumnKind::Knob,
        unit: "",
        levels: Vec::new(),
        values: Vec::new(),
    };
    if levels.len() > LEVELS_MAX && levels.iter().all(|(_, value)| number(value).is_some()) {
        let unit = match levels.first() {
            Some((_, Value::Bytes(_) | Value::BytesPerSecond(_))) => "B",
            Some((_, Value::Duration(_))) => "ns",
            _ => "",
        };
        let values = held.iter().map(|held| number(&held.as_ref()?.1)).collect();
        return ExplorerColumn { unit, values, ..column };
    }
    let places: BTreeMap<&str, f64> =
        levels.iter().enumerate().map(|(place, (text, _))| (*text, place as f64)).collect();
    let values = held.iter().map(|held| places.get(held.as_ref()?.0.as_str()).copied()).collect();
    let level = |(_, value): &(&str, &Value)| ColumnLevel {
        text: bounded(&value::setting(value)),
        number: number(value),
        foreign: false,
    };
    ExplorerColumn { levels: levels.iter().map(level).collect(), values, ..column }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
            Some(*n as f64)
        }
        Value::Number(n) => Some(*n),
        _ => None,
    }
}

fn figure(trials: Trials<'_>, name: &str, rows: &[usize]) -> ExplorerColumn {
    let network = trials.records.iter().all(|record| record.trial.settings.is_network());
    let (unit, scale) = match programs::unit(name) {
        ProgramUnit::Throughput if network => ("Gb/s", 8e-9),
        ProgramUnit::Throughput => ("MB/s", 1e-6),
        ProgramUnit::Bytes => ("B", 1.0),
        ProgramUnit::Share => ("%", 100.0),
        ProgramUnit::Time(ns) => ("ns", ns),
        ProgramUnit::Plain if name.ends_with("_per_s") || name == figure_names::IOPS => ("/s", 1.0),
        ProgramUnit::Plain => ("", 1.0),
    };
    let mut place = 0;
    let value = |row: &usize| {
        let value = trials.views[*row].figures.get_near(name, &mut place)?.value * scale;
        value.is_finite().then(|| shortened(value))
    };
    ExplorerColumn {
        name: name.to_owned(),
        title: words::figure(name),
        kind: ExplorerColumnKind::Figure,
        unit,
        levels: Vec::new(),
        values: rows.iter().map(value).collect(),
    }
}

fn bounded(text: &str) -> String {
    match text.chars().count() > TEXT_MAX {
        true => text.chars().take(TEXT_MAX - 1).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}

/// The axes when the page opens: knobs, then figures, as far as the rows differ in them.
pub fn axes(columns: &[ExplorerColumn]) -> Vec<usize> {
    let of = |kind: ExplorerColumnKind, most: usize| {
        let fit = |column: &ExplorerColumn| {
            // What only a few loads have leaves most lines at the foot of its axis.
            let held = column.values.iter().flatten().count();
            let common = kind == ExplorerColumnKind::Knob || 2 * held >= column.values.len();
            column.kind == kind && common && !knob::INCIDENTAL.contains(&column.name.as_str())
        };
        let mut places: Vec<usize> =
            (0..columns.len()).filter(|place| fit(&columns[*place])).collect();
        places.truncate(most);
        places
    };
    let (knobs, figures) = AXES_MAX;
    let origin =
        columns.iter().position(|column| column.name == "origin" && column.levels.len() > 1);
    of(ExplorerColumnKind::Knob, knobs)
        .into_iter()
        .chain(of(ExplorerColumnKind::Figure, figures))
        .chain(origin)
        .collect()
}

/// A number; whole ones without a fraction, which `serde_json` gives to each.
#[derive(Serialize)]
#[serde(untagged)]
enum Short {
    Whole(i64),
    Any(Option<f64>),
}

impl Short {
    fn of(value: Option<f64>) -> Short {
        match value {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => Short::Whole(whole as i64),
            other => Short::Any(other),
        }
    }
}

fn short<S: Serializer>(values: &[Option<f64>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().copied().map(Short::of))
}

fn short_one<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    Short::of(*value).serialize(to)
}
