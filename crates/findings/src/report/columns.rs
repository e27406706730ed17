//! (pure) The table of trials for other programs: a row a trial, a column for each verdict,
//! setting and figure. What a format makes of it is the format's business.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Input, TrialView, words};
use base::stats::Interval;
use base::value::Value;
use experiment::measurement::{Outcome, Record, machine};

/// The type that all values of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers, none below 0.
    Integer,
    /// Any numbers that are finite.
    Number,
    /// Yes or no.
    Switch,
    /// Words.
    Text,
}

/// What one trial has in one column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue<'a> {
    /// A whole number.
    Integer(u64),
    /// A finite number.
    Number(f64),
    /// Yes or no.
    Switch(bool),
    /// Words.
    Text(Cow<'a, str>),
}

impl ColumnValue<'_> {
    fn kind(&self) -> ColumnType {
        match self {
            ColumnValue::Integer(_) => ColumnType::Integer,
            ColumnValue::Number(_) => ColumnType::Number,
            ColumnValue::Switch(_) => ColumnType::Switch,
            ColumnValue::Text(_) => ColumnType::Text,
        }
    }

    /// As a number; 0 and 1 for a switch, nothing for words.
    pub fn number(&self) -> Option<f64> {
        match self {
            ColumnValue::Integer(number) => Some(*number as f64),
            ColumnValue::Number(number) => Some(*number),
            ColumnValue::Switch(on) => Some(f64::from(u8::from(*on))),
            ColumnValue::Text(_) => None,
        }
    }
}

/// As it stands in CSV; a number in the fewest digits that give it back.
impl fmt::Display for ColumnValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnValue::Integer(number) => number.fmt(f),
            ColumnValue::Number(number) => number.fmt(f),
            ColumnValue::Switch(on) => on.fmt(f),
            ColumnValue::Text(text) => f.write_str(text),
        }
    }
}

/// One column of the table of trials.
#[derive(Clone, Debug)]
pub struct TrialColumn<'a> {
    /// No two columns have the same, whatever the case.
    pub name: String,
    /// What its values are.
    pub kind: ColumnType,
    /// Of its values: `bytes`, `ns`, `bytes/s`; empty where there is none or none is known.
    pub unit: &'static str,
    source: ColumnSource<'a>,
}

type Get = for<'t> fn(&'t Record, &'t TrialView) -> Option<ColumnValue<'t>>;

/// Where the values of a column are taken from.
#[derive(Clone, Copy, Debug)]
enum ColumnSource<'a> {
    Trial(Get),
    Knob(&'a str),
    Figure(&'a str),
    /// An end of the figure's interval within the trial.
    End(&'a str, fn(Interval) -> f64),
    /// Of the campaign, the same in every line: a table has no other place for it.
    LeftOut(&'a BTreeMap<String, u64>),
    Machine(&'static str),
}

impl<'a> TrialColumn<'a> {
    /// What a trial has in it.
    pub fn cell<'t>(&self, record: &'t Record, view: &'t TrialView) -> Option<ColumnValue<'t>> {
        let cell = match self.source {
            ColumnSource::Trial(get) => get(record, view),
            ColumnSource::Knob(knob) => record.trial.settings.named(knob).and_then(setting),
            ColumnSource::Figure(name) => Some(ColumnValue::Number(view.figures.get(name)?.value)),
            ColumnSource::End(name, end) => {
                Some(ColumnValue::Number(end(view.figures.get(name)?.interval?)))
            }
            ColumnSource::LeftOut(reasons) => {
                Some(ColumnValue::Text(words::left_out(reasons).join("; ").into()))
            }
            ColumnSource::Machine(name) => {
                let counted = machine::counters(record.outcome.measurement()?);
                Some(ColumnValue::Number(*counted.get(name)?))
            }
        };
        cell.filter(|cell| !matches!(cell, ColumnValue::Number(number) if !number.is_finite()))
    }

    /// The knob that it is, if it is one.
    pub fn knob(&self) -> Option<&'a str> {
        match self.source {
            ColumnSource::Knob(knob) => Some(knob),
            _ => None,
        }
    }

    /// Whether it is the figure `name` itself.
    pub fn is_figure(&self, name: &str) -> bool {
        matches!(self.source, ColumnSource::Figure(figure) if figure == name)
    }
}

/// The columns of a campaign: what each trial was and its verdicts, every setting, every figure
/// with the ends of its interval, what the machine did. Numbers are in the units of the JSON
/// contract.
pub fn trial_columns<'a>(input: &'a Input<'_>) -> Vec<TrialColumn<'a>> {
    let mut all: Vec<TrialColumn<'a>> = of_trials();
    let reasons = &input.campaign.left_out;
    all.extend((!reasons.is_empty()).then(|| TrialColumn {
        name: "left_out".to_owned(),
        kind: ColumnType::Text,
        unit: "",
        source: ColumnSource::LeftOut(reasons),
    }));
    all.extend(of_knobs(input.records));
    let figures: BTreeSet<&str> =
        input.trials.iter().flat_map(|view| view.figures.keys()).map(AsRef::as_ref).collect();
    for name in figures.into_iter().filter(|name| !is_of_machine(input, name)) {
        let sources = [
            ("", ColumnSource::Figure(name)),
            ("_low", ColumnSource::End(name, |interval| interval.low)),
            ("_high", ColumnSource::End(name, |interval| interval.high)),
        ];
        all.extend(sources.map(|(end, source)| TrialColumn {
            name: format!("{name}{end}"),
            kind: ColumnType::Number,
            unit: unit(name),
            source,
        }));
    }
    let machine = machine::COUNTERS;
    all.extend(machine.map(|name| {
        let (kind, unit) = (ColumnType::Number, unit(name));
        TrialColumn { name: name.to_owned(), kind, unit, source: ColumnSource::Machine(name) }
    }));
    // A figure of a program has the name that a plan gave it, perhaps that of a knob.
    let mut taken = BTreeSet::new();
    for column in &mut all {
        while !taken.insert(column.name.to_lowercase()) {
            column.name.insert_str(0, "figure_");
        }
    }
    all
}

/// Whether a figure is what the machine did, which has a column of its own: loads over a network
/// have it as a figure too. A program's own figure may have the same name.
fn is_of_machine(input: &Input<'_>, name: &str) -> bool {
    let counted = |record: &Record| {
        let measurement = record.outcome.measurement()?;
        machine::counters(measurement).get(name).copied()
    };
    let alike = |(view, record): (&TrialView, &Record)| {
        view.figures.get(name).is_none_or(|figure| counted(record) == Some(figure.value))
    };
    machine::COUNTERS.contains(&name) && input.trials.iter().zip(input.records).all(alike)
}

/// The names of the first columns, which every campaign has.
pub fn of_every_trial() -> Vec<String> {
    of_trials().into_iter().map(|column| column.name).collect()
}

fn of_trials<'a>() -> Vec<TrialColumn<'a>> {
    let column = |name: &str, kind, get: Get| TrialColumn {
        name: name.to_owned(),
        kind,
        unit: "",
        source: ColumnSource::Trial(get),
    };
    vec![
        column("trial", ColumnType::Integer, |record, _| {
            Some(ColumnValue::Integer(record.trial.number.into()))
        }),
        column("replicate", ColumnType::Integer, |record, _| {
            Some(ColumnValue::Integer(record.trial.replicate.into()))
        }),
        column("group", ColumnType::Text, |record, _| text(&record.trial.group)),
        column("engine", ColumnType::Text, |record, _| {
            Some(record.trial.settings.engine()).filter(|engine| !engine.is_empty()).and_then(text)
        }),
        column("outcome", ColumnType::Text, |record, _| text(record.outcome.name())),
        column("reason", ColumnType::Text, |record, _| match &record.outcome {
            Outcome::Failed(why) | Outcome::Skipped(why) => text(why),
            Outcome::Done(_) | Outcome::Interrupted => None,
        }),
        column("origin", ColumnType::Text, |_, view| text(view.origin.as_ref()?.verdict.name())),
        column("steady", ColumnType::Switch, |_, view| view.steady.map(ColumnValue::Switch)),
        column("notes", ColumnType::Text, |_, view| {
            let mut kinds: Vec<&str> = Vec::new();
            for note in view.notes.iter().filter(|note| !note.kind.is_empty()) {
                if !kinds.contains(&note.kind.as_str()) {
                    kinds.push(&note.kind);
                }
            }
            (!kinds.is_empty()).then(|| ColumnValue::Text(kinds.join(" ").into()))
        }),
    ]
}

fn text(text: &str) -> Option<ColumnValue<'_>> {
    Some(ColumnValue::Text(Cow::Borrowed(text)))
}

/// One for each knob that any trial has. One that holds whole and broken numbers is of numbers, one
/// of which some trials hold a word (`as-is`) is of words.
fn of_knobs(records: &[Record]) -> impl Iterator<Item = TrialColumn<'_>> {
    let mut knobs: BTreeMap<&str, (ColumnType, &'static str)> = BTreeMap::new();
    for (knob, value) in records.iter().flat_map(|record| record.trial.settings.iter()) {
        let Some(cell) = setting(value) else { continue };
        let found = (cell.kind(), unit_of(value));
        let known = knobs.entry(knob).or_insert(found);
        if *known != found {
            known.0 = match (known.0, found.0) {
                (one, other) if one == other => one,
                (ColumnType::Integer, ColumnType::Number)
                | (ColumnType::Number, ColumnType::Integer) => ColumnType::Number,
                _ => ColumnType::Text,
            };
            known.1 = if known.1 == found.1 { known.1 } else { "" };
        }
    }
    knobs.into_iter().map(|(knob, (kind, unit))| TrialColumn {
        name: knob.to_owned(),
        kind,
        unit,
        source: ColumnSource::Knob(knob),
    })
}

/// A setting as in the JSON contract: sizes in bytes, times in ns, lists as JSON.
fn setting(value: &Value) -> Option<ColumnValue<'_>> {
    Some(match value {
        Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
            ColumnValue::Integer(*n)
        }
        Value::Number(number) => ColumnValue::Number(*number),
        Value::Flag(on) => ColumnValue::Switch(*on),
        Value::Word(word) => ColumnValue::Text(Cow::Borrowed(word)),
        other => ColumnValue::Text(match serde_json::to_value(other).ok()? {
            serde_json::Value::String(word) => word.into(),
            json => json.to_string().into(),
        }),
    })
}

fn unit_of(value: &Value) -> &'static str {
    match value {
        Value::Bytes(_) => "bytes",
        Value::BytesPerSecond(_) => "bytes/s",
        Value::Duration(_) => "ns",
        _ => "",
    }
}

/// The unit of a figure, which its name tells; empty where it tells none.
pub fn unit(figure: &str) -> &'static str {
    const UNITS: [(&str, &str); 11] = [
        ("_bytes_per_s", "bytes/s"),
        ("iops", "1/s"),
        ("_per_s", "1/s"),
        ("_ns", "ns"),
        ("_ms", "ms"),
        ("_seconds_per_gib", "s/GiB"),
        ("_bytes", "bytes"),
        ("_share", "1"),
        ("_ratio", "1"),
        ("_s", "s"),
        ("_s_max", "s"),
    ];
    if figure.contains("_ns_") {
        // `latency_ns_p99`, `cpu_ns_per_op`.
        return "ns";
    }
    UNITS.iter().find(|(end, _)| figure.ends_with(end)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::knob;

    #[test]
    fn every_figure_has_a_unit_and_every_setting_the_one_of_its_kind() {
        let fixture = fixture::evaluated();
        let input = fixture.input();
        let columns = trial_columns(&input);
        let find = |name: &str| columns.iter().find(|column| column.name == name).unwrap();
        for (name, kind, unit) in [
            ("trial", ColumnType::Integer, ""),
            ("steady", ColumnType::Switch, ""),
            ("origin", ColumnType::Text, ""),
            ("block-size", ColumnType::Integer, "bytes"),
            ("at-most", ColumnType::Integer, "ns"),
            ("direct", ColumnType::Switch, ""),
            ("directories", ColumnType::Text, ""),
            ("throughput_bytes_per_s_low", ColumnType::Number, "bytes/s"),
            ("latency_ns_p99", ColumnType::Number, "ns"),
            ("iops", ColumnType::Number, "1/s"),
            ("cpu_busy_share", ColumnType::Number, "1"),
        ] {
            assert_eq!((find(name).kind, find(name).unit), (kind, unit), "{name}");
        }
        let figures =
            columns.iter().filter(|column| matches!(column.source, ColumnSource::Figure(_)));
        assert!(figures.clone().count() > 5);
        figures.for_each(|column| assert!(!column.unit.is_empty(), "{}", column.name));
    }

    #[test]
    fn a_column_holds_what_its_kind_says_of_every_trial() {
        for fixture in [fixture::evaluated(), fixture::names(), fixture::campaign_of(vec![], 0)] {
            let input = fixture.input();
            for column in trial_columns(&input) {
                for (record, view) in input.records.iter().zip(&input.trials) {
                    let Some(cell) = column.cell(record, view) else { continue };
                    let fits = column.kind == ColumnType::Text || cell.kind() == column.kind;
                    assert!(fits, "{}: {cell:?}", column.name);
                }
            }
        }
    }

    /// `read-ahead` is `as-is` in one trial and 128 KiB in another: no number for both.
    #[test]
    fn a_knob_of_words_and_numbers_is_of_words_and_loses_its_unit() {
        let mut fixture = fixture::evaluated();
        fixture.records[0].trial.settings.set(knob::READ_AHEAD, Some(131_072));
        let input = fixture.input();
        let columns = trial_columns(&input);
        let column = columns.iter().find(|column| column.name == "read-ahead").unwrap();
        assert_eq!((column.kind, column.unit), (ColumnType::Text, ""));
        let told = |place: usize| {
            column.cell(&input.records[place], &input.trials[place]).unwrap().to_string()
        };
        assert_eq!((told(0), told(1)), ("131072".to_owned(), "as-is".to_owned()));
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let mut fixture = fixture::evaluated();
        for name in ["Trial", "streams", "figure_streams", "trial_low"] {
            let figure = base::stats::Estimate::bare(1.0);
            fixture.trials[0].set(name, figure);
        }
        let input = fixture.input();
        let mut names: Vec<String> =
            trial_columns(&input).iter().map(|column| column.name.to_lowercase()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.contains(&"figure_figure_streams".to_owned()), "{names:?}");
    }
}
