//! (pure) The first screen as plain text: what fits a terminal of a given size.
//!
//! What it shows is decided by `analysis::summary`. Nothing of it is cut but findings: those for
//! which there is no room are one command away, as all else is.

use super::Input;
use super::lines::{folded, plain};
use super::nature::Nature;
use crate::analysis::summary::{Confidence, ShortFinding, Summary, SummaryFigure, Unit};
use base::stats::{Estimate, Interval};
use base::value::{self, duration, iops, significant};

/// Room for text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters of a line.
    pub columns: usize,
    /// Lines; that of the shell's prompt is one of them.
    pub rows: usize,
}

/// What a terminal has at least, and what is assumed of what is none.
pub const USUAL: Size = Size { columns: 80, rows: 24 };

/// No line is longer, however wide the terminal is.
const WIDTH_MAX: usize = 120;

/// From this factor between its ends on an interval is wide, and its value only about right
/// (rule 4).
const WIDE: f64 = 2.0;
/// Beyond this one it says only that runs differ: their range is told.
const OPEN: f64 = 100.0;

/// Prints the first screen, and `ends` below it: where the rest is.
pub fn render(input: &Input<'_>, size: Size, ends: &[String]) -> String {
    let nature = Nature::of_campaign(input.campaign).line();
    let rows = size.rows.saturating_sub(nature.lines().count());
    nature + &body(input, Size { rows, ..size }, ends)
}

/// The same without the line that says that no server was measured.
pub fn body(input: &Input<'_>, size: Size, ends: &[String]) -> String {
    let width = size.columns.min(WIDTH_MAX);
    let summary = &input.summary;
    let mut lines = answer(summary, width);
    let ends: Vec<String> = ends.iter().flat_map(|end| folded("", end, width)).collect();
    // The prompt, and a line before what ends it.
    let taken = lines.len() + ends.len() + 2;
    let found = findings(&summary.findings, width, size.rows.saturating_sub(taken));
    lines.extend(found);
    if !ends.is_empty() {
        lines.push(String::new());
        lines.extend(ends);
    }
    lines.join("\n") + "\n"
}

/// What was measured, confidence, and the figures.
pub fn answer(summary: &Summary, width: usize) -> Vec<String> {
    let mut lines = heading(summary, width);
    summary.said.iter().for_each(|said| lines.extend(folded("", said, width)));
    lines.extend(summary.confidence.iter().flat_map(|it| trust(it, width)));
    let told = figures(summary, width);
    if !told.is_empty() {
        lines.push(String::new());
        lines.extend(told);
    }
    lines
}

/// What was measured, and when at the right.
pub fn heading(summary: &Summary, width: usize) -> Vec<String> {
    let (subject, when) = (plain(&summary.subject), &summary.when);
    let room = width.saturating_sub(subject.chars().count());
    match room > when.chars().count() + 1 {
        true => vec![format!("{subject}{when:>room$}")],
        false => {
            let mut lines = folded("", &subject, width);
            lines.push(when.clone());
            lines
        }
    }
}

/// Confidence with its reason and what to do.
pub fn trust(it: &Confidence, width: usize) -> Vec<String> {
    let advice = it.advice.as_ref().map_or(String::new(), |advice| format!(" {advice}"));
    let level = it.level.name().to_uppercase();
    folded("", &format!("Confidence {level}: {}{advice}", it.reason), width)
}

/// The set of figures, and what limits the first.
pub fn figures(summary: &Summary, width: usize) -> Vec<String> {
    let labels = summary.figures.iter().map(|it| it.label.chars().count());
    let label = labels.max().unwrap_or(0).max("limit".len());
    let rows: Vec<[String; 4]> = summary.figures.iter().map(row).collect();
    let column = |place: usize| rows.iter().map(|row| row[place].chars().count()).max();
    let (value, load) = (column(1).unwrap_or(0), column(2).unwrap_or(0));
    let mut lines = Vec::new();
    for (row, figure) in rows.iter().zip(&summary.figures) {
        let [name, told, under, known] = row;
        let line = format!("  {name:<label$}  {told:>value$}  {under:<load$}  {known}");
        let indent = " ".repeat(label + 4);
        match line.chars().count() <= width {
            true => lines.push(line.trim_end().to_owned()),
            false => {
                lines.push(format!("  {name:<label$}  {told:>value$}  {under}"));
                lines.extend(folded(&indent, known, width));
            }
        }
        if !figure.caveat.is_empty() {
            lines.extend(folded(&indent, &format!("! {}", figure.caveat), width));
        }
    }
    if let Some(limit) = &summary.limit {
        let lead = format!("  {:<label$}  ", "limit");
        lines.extend(folded(&lead, &limit.text, width));
    }
    lines
}

/// Name, value, load, and how well it is known.
fn row(figure: &SummaryFigure) -> [String; 4] {
    let known = known(figure);
    [plain(&figure.label), told(figure), plain(&figure.load), known]
}

/// The value with its unit, and "about" where its interval is wide.
pub fn told(figure: &SummaryFigure) -> String {
    let about = match figure.estimate.interval {
        Some(ends) if ends.high > WIDE * ends.low => "about ",
        _ => "",
    };
    format!("{about}{}", amount(figure.unit, figure.estimate.value))
}

/// How well it is known: its interval, or that there is none; and what its reader must know of it.
pub fn known(figure: &SummaryFigure) -> String {
    let unit = figure.unit;
    let interval = match figure.estimate.interval {
        None if figure.trials.len() > 1 => "no interval".to_owned(),
        None => "one run".to_owned(),
        Some(ends) if ends.high > OPEN * ends.low => {
            let (low, high) = figure.range;
            format!("runs {}", between(unit, Interval { low, high }))
        }
        Some(ends) => between(unit, ends),
    };
    let tail =
        figure.p99.map(|Estimate { value, .. }| format!(", 99 % within {}", duration(value)));
    let remark = (!figure.remark.is_empty()).then(|| format!(", {}", figure.remark));
    [Some(interval), tail, remark].into_iter().flatten().collect()
}

fn amount(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => format!("{} MB/s", significant(value / 1e6)),
        Unit::BitsPerSecond => value::bits(value),
        Unit::Iops => format!("{} IOPS", iops(value)),
        Unit::OperationsPerSecond => format!("{} ops/s", iops(value)),
        Unit::TransactionsPerSecond => format!("{} trans/s", iops(value)),
        Unit::Nanoseconds => duration(value),
    }
}

/// Two ends, with a unit where the value's may not be theirs, and once where both have the same.
fn between(unit: Unit, ends: Interval) -> String {
    let bare = |value: f64| match unit {
        Unit::BytesPerSecond => significant(value / 1e6),
        Unit::BitsPerSecond => significant(value * 8e-9),
        Unit::Nanoseconds => duration(value),
        _ => iops(value),
    };
    let (low, high) = (bare(ends.low), bare(ends.high));
    let name = |told: &str| told.split_once(' ').map(|(_, name)| name.to_owned());
    let low = match (name(&low), name(&high)) {
        (Some(of_low), Some(of_high)) if of_low == of_high => {
            low.trim_end_matches(&of_low).trim_end().to_owned()
        }
        _ => low,
    };
    format!("{low} to {high}")
}

/// As many as there is room for in so many lines, an empty one before them.
fn findings(all: &[ShortFinding], width: usize, rows: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for finding in all {
        let mut told = folded("- ", &finding.text, width);
        // What can be typed says what to do, too, and a screen has few lines.
        let next = finding.command.as_ref().or(finding.advice.as_ref());
        let advice = next.map(|next| format!("-> {next}"));
        told.extend(advice.iter().flat_map(|advice| folded("  ", advice, width)));
        if lines.len() + told.len() > rows {
            continue;
        }
        lines.extend(told);
    }
    if lines.len() == 1 { Vec::new() } else { lines }
}

#[cfg(test)]
mod tests;
