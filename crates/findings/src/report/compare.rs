//! (pure) Campaigns side by side: as text, as one document, as a page.

use serde_json::{Value as Json, json};

use super::html::compared as page;
use super::json::begins_with;
use super::nature;
use super::pairs::{Pair, group, ratio, short, strip};
use super::text::grid::{Grid, Side};
use super::words;
use crate::analysis::compare::{Compared, Comparison};
use base::value::percent;

/// One way to print comparisons.
pub struct Format {
    /// As typed after `--format`.
    pub name: &'static str,
    /// What one is, as in "it is no ...".
    pub about: &'static str,
    /// Prints them, whole.
    pub render: fn(&[Pair<'_>]) -> Result<String, serde_json::Error>,
    /// Whether a file is one of ours, by how it begins and how it ends.
    pub mark: fn(start: &[u8], end: &[u8]) -> bool,
}

/// The first is the default.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "comparison of brickyard as text",
        render: text,
        mark: |start, _| {
            start.starts_with(b"Brickyard ")
                && start
                    .split(|it| *it == b'\n')
                    .next()
                    .is_some_and(|line| line.ends_with(SIDE_BY_SIDE.as_bytes()))
        },
    },
    Format {
        name: "json",
        about: "comparison of brickyard as JSON",
        render: json,
        mark: |start, _| begins_with(start, "comparisons"),
    },
    Format {
        name: "html",
        about: "comparison of brickyard as HTML",
        render: page::render,
        mark: page::is_ours,
    },
];

/// How the first line of the text ends.
const SIDE_BY_SIDE: &str = " - two campaigns side by side";

/// Lines of what differs that are shown; the rest is in the document.
const DIFFERENCES_MAX: usize = 20;
/// Width of a label.
const LABEL_MAX: usize = 36;

fn text(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    Ok(pairs.iter().map(one).collect::<Vec<_>>().join("\n"))
}

fn one(pair: &Pair<'_>) -> String {
    let mut text = format!(
        "Brickyard {}{}{SIDE_BY_SIDE}\n\n  A  {}\n  B  {}\n\n",
        env!("CARGO_PKG_VERSION"),
        nature::of_both(pair.before.campaign, pair.now.campaign),
        pair.before.said(),
        pair.now.said()
    );
    for finding in &pair.findings {
        text.push_str(&wrapped(&finding.claim, ""));
    }
    for figure in figures(pair.comparison) {
        let head = words::figure(figure);
        text.push_str(&format!("\n{head}{}\n", direction(pair.comparison, figure)));
        text.push_str(&table(pair.comparison, figure));
    }
    if !pair.comparison.apart.is_empty() {
        text.push_str("\nNot compared\n");
        for line in apart(pair.comparison) {
            text.push_str(&wrapped(&line, "  "));
        }
    }
    text.push_str("\nWhat else differs\n");
    if pair.differences.is_empty() {
        text.push_str("  Nothing that was read.\n");
    }
    for line in pair.differences.iter().take(DIFFERENCES_MAX) {
        text.push_str(&wrapped(line, "  "));
    }
    let more = pair.differences.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        text.push_str(&format!("  and {more} more: --json\n"));
    }
    text
}

/// What is not compared, a line for each reason.
fn apart(comparison: &Comparison) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for apart in &comparison.apart {
        match reasons.iter_mut().find(|(reason, _)| *reason == apart.reason) {
            Some((_, loads)) => loads.push(&apart.load),
            None => reasons.push((&apart.reason, vec![&apart.load])),
        }
    }
    let told = |(reason, loads): &(&str, Vec<&str>)| match loads[..] {
        [load] => format!("{load}: {reason}"),
        _ => format!("{} loads, as {reason}: {}", loads.len(), loads.join("; ")),
    };
    reasons.iter().map(told).collect()
}

/// Names of the figures, in the order in which they first come.
fn figures(comparison: &Comparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &comparison.cells {
        if !names.contains(&cell.figure.as_str()) {
            names.push(&cell.figure);
        }
    }
    names
}

/// What a reader of a figure's table must know.
fn direction(comparison: &Comparison, figure: &str) -> String {
    let less = comparison.cells.iter().any(|cell| cell.figure == figure && cell.less_is_better);
    let order = if less { "less is better" } else { "more is better" };
    let threshold = percent(comparison.threshold);
    format!(" ({order}; less than {threshold} does not matter; A and B are geometric means)")
}

fn table(comparison: &Comparison, figure: &str) -> String {
    let cells = || comparison.cells.iter().filter(|cell| cell.figure == figure);
    let group = group(cells());
    let label = |cell: &Compared| strip(&cell.load, group.unwrap_or_default()).to_owned();
    // What would be cut off is what tells it from the next: then it has a line of its own.
    let own_lines = cells().any(|cell| label(cell).chars().count() > LABEL_MAX);
    let mut grid = Grid::new(&[
        (if own_lines { "" } else { group.unwrap_or("cell") }, Side::Left),
        ("A", Side::Right),
        ("B", Side::Right),
        ("n", Side::Right),
        ("B / A", Side::Right),
        ("95 %", Side::Left),
        ("", Side::Left),
        ("notes", Side::Left),
    ]);
    let mut notes = Vec::new();
    for cell in cells() {
        let (value, ends) = ratio(cell);
        let [before, now] = cell.replicates;
        grid.row(vec![
            if own_lines { " ".to_owned() } else { label(cell) },
            short(figure, cell.geometric_means[0]),
            short(figure, cell.geometric_means[1]),
            if before == now { before.to_string() } else { format!("{before}, {now}") },
            value,
            ends,
            cell.change.said().to_owned(),
            mark(&mut notes, cell.noted()),
        ]);
    }
    let rendered = grid.render();
    let mut lines = rendered.lines();
    let mut text = lines.next().map(|head| format!("{head}\n")).unwrap_or_default();
    if let (true, Some(group)) = (own_lines, group) {
        text.insert_str(0, &format!("  {group}\n"));
    }
    for (line, cell) in lines.zip(cells()) {
        if own_lines {
            text.push_str(&wrapped(&label(cell), "  "));
        }
        text.push_str(&format!("{line}\n"));
    }
    for (place, note) in notes.iter().enumerate() {
        let told = format!("{} its trials have notes: {note}", letter(place));
        text.push_str(&wrapped(&told, "  "));
    }
    text
}

/// The mark of a cell's notes, which are kept to be told below.
fn mark(known: &mut Vec<String>, notes: String) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let place = known.iter().position(|other| *other == notes).unwrap_or_else(|| {
        known.push(notes);
        known.len() - 1
    });
    letter(place)
}

/// `(a)`, `(b)`, ..., `(z)`, `(27)`.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place) if place < 26 => format!("({})", char::from(b'a' + place)),
        _ => format!("({})", place + 1),
    }
}

/// Lines of at most 100 columns, of which those after the first are indented by two more.
pub fn wrapped(text: &str, indent: &str) -> String {
    const WIDTH: usize = 98;
    let mut lines = String::new();
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let begins = line.trim().is_empty();
        if !begins && line.chars().count() + word.chars().count() >= WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = format!("{indent}  ");
        } else if !begins {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

fn json(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    let pair = |pair: &Pair<'_>| {
        json!({
            "a": pair.before.json(),
            "b": pair.now.json(),
            "threshold": pair.comparison.threshold,
            "cells": pair.comparison.cells,
            "apart": pair.comparison.apart,
            "differences": pair.differences,
            "findings": pair.findings,
        })
    };
    let all: Vec<Json> = pairs.iter().map(pair).collect();
    serde_json::to_string_pretty(&json!({
        "brickyard": env!("CARGO_PKG_VERSION"),
        "comparisons": all,
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::analysis::compare::{Asked, compare};
    use crate::report::fixture;
    use crate::report::pairs::Told;
    use crate::report::schema::check;
    use engines::engine::testing::{campaign, settings};
    use experiment::knob;
    use experiment::measurement::{Outcome, Record};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>&";

    /// The same simulated server, at several numbers of streams.
    fn server(seed: u64) -> Vec<Record> {
        let cell = |streams: &&str| {
            let knobs = [("stop", "200ms"), ("sim-noise", "0.05"), ("streams", streams)];
            ("reading".to_owned(), settings(&knobs))
        };
        campaign(&["1", "2", "4", "8", "16"].iter().map(cell).collect::<Vec<_>>(), 3, seed)
    }

    fn with<T>(
        change: impl FnOnce(&mut fixture::Fixture),
        then: impl FnOnce(&[Pair<'_>]) -> T,
    ) -> T {
        let (mut before, mut now) = (fixture::evaluated(), fixture::evaluated());
        (before.records, now.records) = (server(1), server(2));
        (before.campaign.engine, now.campaign.engine) = ("sim".into(), "sim".into());
        change(&mut now);
        let asked = Asked { threshold: 0.05, figure: None };
        let comparison = compare(&before.records, &now.records, &asked);
        let told = |of| Told { typed: "1", campaign: of };
        let differences = vec![format!("machine kernel: {HOSTILE}, was 6.1")];
        let pair = Pair {
            before: told(&before.campaign),
            now: told(&now.campaign),
            findings: comparison.findings(),
            comparison: &comparison,
            differences: &differences,
        };
        then(&[pair])
    }

    /// A comparison in every format, by what it is.
    pub fn printed() -> Vec<(&'static str, Vec<u8>)> {
        let print = |pairs: &[Pair<'_>]| {
            let all = FORMATS.iter();
            all.map(|it| (it.about, (it.render)(pairs).unwrap().into_bytes())).collect()
        };
        with(|_| {}, print)
    }

    /// "The first has no such cell" stood eleven times below each other.
    #[test]
    fn a_reason_not_to_compare_is_told_once() {
        let few = |now: &mut fixture::Fixture| {
            now.records.retain(|record| record.trial.settings.get(knob::STREAMS) < 4);
        };
        let text = with(few, |pairs| text(pairs).unwrap());
        let told = "3 loads, as the second has no such cell";
        assert!(text.contains(told) && text.contains("; reading: 8 streams"), "{text}");
        assert_eq!(text.matches("no such cell").count(), 1, "{text}");
    }

    #[test]
    fn every_format_prints_what_is_compared_what_is_not_and_what_else_differs() {
        with(
            |now| {
                now.campaign.host = HOSTILE.into();
                let alone = |it: &Record| it.trial.settings.get(knob::STREAMS) == 16;
                for record in now.records.iter_mut().filter(|record| alone(record)) {
                    record.trial.group.push_str(HOSTILE);
                    record.trial.settings.set(knob::QUEUE_DEPTH, 7);
                }
            },
            |pairs| {
                let found = pairs[0].comparison;
                assert_eq!((found.cells.len(), found.apart.len()), (4, 2), "{:#?}", found.apart);
                for format in FORMATS {
                    let text = (format.render)(pairs).unwrap();
                    assert!(text.contains("kernel"), "{}", format.name);
                    if format.name == "html" {
                        assert!(!text.contains("<img src=x"), "not escaped");
                    }
                    if format.name == "text" {
                        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
                        assert!(text.contains("What else differs") && text.contains("B / A"));
                    }
                }
            },
        );
    }

    /// B / A of 1.30 stood beside 1158 and 1413, whose ratio is 1.22: those were arithmetic means,
    /// and the ratio is of geometric ones.
    #[test]
    fn a_reader_can_compute_the_ratio_from_the_means_beside_it() {
        let wild = |now: &mut fixture::Fixture| {
            for record in &mut now.records {
                let Outcome::Done(measurement) = &mut record.outcome else { continue };
                let Some(window) = &mut measurement.window else { continue };
                window.done.read_bytes =
                    window.done.read_bytes * 2 / (1 + u64::from(record.trial.replicate));
            }
        };
        with(wild, |pairs| {
            let cells = &pairs[0].comparison.cells;
            assert_eq!(cells.len(), 5);
            let off = |cell: &&Compared| {
                (cell.now.value / cell.before.value / cell.ratio.value - 1.0).abs() > 0.02
            };
            assert!(cells.iter().any(|cell| off(&cell)), "the other means have other ratios");
            for cell in cells {
                let [a, b] = cell.geometric_means;
                assert!((b / a / cell.ratio.value - 1.0).abs() < 1e-9, "{cell:?}");
            }
            let text = text(pairs).unwrap();
            assert!(text.contains("A and B are geometric means"), "{text}");
            let first = short(&cells[0].figure, cells[0].geometric_means[1]);
            assert!(text.contains(&first), "{first}: {text}");
        });
    }

    #[test]
    fn samples_for_the_browser_of_two_campaigns_are_written_where_asked() {
        let Some(folder) = std::env::var_os("BRICKYARD_SAMPLES") else { return };
        let slower = |now: &mut fixture::Fixture| {
            for (place, record) in now.records.iter_mut().enumerate() {
                let Outcome::Done(measurement) = &mut record.outcome else { continue };
                let Some(window) = &mut measurement.window else { continue };
                // Some half as fast, some twice, some as they were.
                let streams = record.trial.settings.get(knob::STREAMS);
                let times = [1, 2, 4][(streams.ilog2() % 3) as usize];
                window.done.read_bytes = window.done.read_bytes * times / 2 + place as u64;
            }
            now.campaign.host = HOSTILE.into();
        };
        let page = with(slower, |pairs| page::render(pairs).unwrap());
        #[expect(clippy::disallowed_methods, reason = "a test makes its fixture")]
        std::fs::write(std::path::Path::new(&folder).join("compared.html"), page).unwrap();
    }

    #[test]
    fn the_document_obeys_its_schema() {
        let schema = include_str!("../../../../docs/reference/compare.schema.json");
        let schema: Json = serde_json::from_str(schema).unwrap();
        let text = with(|_| {}, |pairs| json(pairs).unwrap());
        let document: Json = serde_json::from_str(&text).unwrap();
        check("", &document, &schema, &schema).unwrap();
    }
}
