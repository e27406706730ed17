//! (pure) Campaigns side by side: as text, as Markdown, as one document, as a page.

use serde_json::{Value as Json, json};

use super::html::compared as page;
use super::json::begins_with;
use super::pairs::Pair;

pub mod exchange;
mod markdown;
mod picture;
mod text;

/// One way to print comparisons.
pub struct ComparisonFormat {
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
pub const FORMATS: &[ComparisonFormat] = &[
    ComparisonFormat {
        name: "text",
        about: "comparison of brickyard as text",
        render: text::render,
        mark: text::is_ours,
    },
    ComparisonFormat {
        name: "markdown",
        about: "comparison of brickyard as Markdown",
        render: markdown::render,
        mark: markdown::is_ours,
    },
    ComparisonFormat {
        name: "json",
        about: "comparison of brickyard as JSON",
        render: json,
        mark: |start, _| begins_with(start, "comparisons"),
    },
    ComparisonFormat {
        name: "html",
        about: "comparison of brickyard as HTML",
        render: page::render,
        mark: page::is_ours,
    },
];

fn json(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    let pair = |pair: &Pair<'_>| {
        json!({
            "a": pair.before.json(),
            "b": pair.now.json(),
            "threshold": pair.comparison.threshold,
            "cells": pair.comparison.cells,
            "apart": pair.comparison.apart,
            "held": pair.comparison.held,
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
    use super::text::render as text;
    use super::*;
    use crate::analysis::compare::{Change, Compared, ComparisonRequest, compare};
    use crate::report::fixture;
    use crate::report::pairs::{NamedCampaign, View, short};
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

    /// What is printed of all cells.
    fn with<T>(
        change: impl FnOnce(&mut fixture::Fixture),
        then: impl FnOnce(&[Pair<'_>]) -> T,
    ) -> T {
        seen(&View { all: true, command: String::new() }, |_, now| change(now), then)
    }

    fn seen<T>(
        view: &View,
        change: impl FnOnce(&mut fixture::Fixture, &mut fixture::Fixture),
        then: impl FnOnce(&[Pair<'_>]) -> T,
    ) -> T {
        let (mut before, mut now) = (fixture::evaluated(), fixture::evaluated());
        (before.records, now.records) = (server(1), server(2));
        (before.campaign.engine, now.campaign.engine) = ("sim".into(), "sim".into());
        change(&mut before, &mut now);
        let asked = ComparisonRequest { threshold: 0.05, figure: None };
        let comparison = compare(&before.records, &now.records, &asked);
        let told = |of| NamedCampaign { typed: "1", campaign: of };
        let differences = vec![format!("machine kernel: {HOSTILE}, was 6.1")];
        let pair = Pair {
            before: told(&before.campaign),
            now: told(&now.campaign),
            findings: comparison.findings(),
            comparison: &comparison,
            differences: &differences,
            view,
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
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
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

    /// Some loads half as fast as before, some twice or four times, and some as they were.
    fn uneven(before: &mut fixture::Fixture, now: &mut fixture::Fixture) {
        now.records = server(1);
        // No record has more bytes than its device moved: one that did would be no figure.
        for (side, slower) in [(before, [(8, 4), (16, 2)]), (now, [(4, 2), (0, 1)])] {
            for record in &mut side.records {
                let streams = record.trial.settings.get(knob::STREAMS);
                let Outcome::Done(measurement) = &mut record.outcome else { continue };
                let Some(window) = &mut measurement.window else { continue };
                let by = slower.iter().find(|(of, _)| *of == streams).map_or(1, |(_, by)| *by);
                window.done.read_bytes /= by;
            }
        }
    }

    /// Thirty cells that are the same stood between the one that became worse and its reader, in
    /// the order of the plan.
    #[test]
    fn what_became_worse_is_first_and_what_is_the_same_is_a_count() {
        let command = "brickyard compare 1 2 --all".to_owned();
        let view = View { all: false, command };
        seen(&view, uneven, |pairs| {
            let changes: Vec<Change> =
                pairs[0].comparison.cells.iter().map(|cell| cell.change).collect();
            use Change::{Better, Same, Worse};
            assert_eq!(changes, [Same, Same, Worse, Better, Better]);
            let text = text(pairs).unwrap();
            let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
            let order = [
                "Of 5 cells that both have: 1 worse, 2 better, 2 the same",
                "A  ",
                "WORSE, 1 cell: surely by more than 5.0 %",
                "4 streams: throughput",
                "better, 2 cells: surely by more than 5.0 %",
                // The greater difference first.
                "8 streams: throughput",
                "16 streams: throughput",
                "2 cells not shown: 2 the same. To see them:\n  brickyard compare 1 2 --all\n",
                "What else differs",
            ];
            let places: Vec<usize> = order.iter().map(|part| at(part)).collect();
            assert!(places.is_sorted(), "{places:?}: {text}");
            assert!(!text.contains(": 2 streams") && !text.contains("1 stream:"), "{text}");
            // Which way is told without colour: the bar is left of the middle, or right of it.
            let bar = |name: &str| text[at(name)..].lines().nth(1).unwrap().to_owned();
            let (worse, better) = (bar("4 streams: throughput"), bar(" 8 streams: throughput"));
            assert!(worse.contains("#|") && !worse.contains("|#"), "{text}");
            assert!(better.contains("|#") && !better.contains("#|"), "{text}");
            assert!(worse.contains(" 0.500 ") && better.contains(" 4.00 "), "{text}");
            let markdown = markdown::render(pairs).unwrap();
            let headings: Vec<&str> =
                markdown.lines().filter(|line| line.starts_with("## ")).collect();
            assert!(headings[0].starts_with("## WORSE, 1 cell"), "{headings:?}");
            assert!(headings[1].starts_with("## better, 2 cells"), "{headings:?}");
            assert!(
                markdown.contains("2 the same. To see them:\n\n    brickyard compare 1 2 --all")
            );
            assert_eq!(markdown.matches("\n| reading").count(), 3, "{markdown}");
        });
    }

    #[test]
    fn all_cells_are_shown_where_that_is_asked_for() {
        seen(&View { all: true, command: String::new() }, uneven, |pairs| {
            let told = text(pairs).unwrap();
            assert!(told.contains("the same, 2 cells: any difference is below 5.0 %"), "{told}");
            assert!(!told.contains("not shown"), "{told}");
            assert_eq!(told.matches("streams: throughput").count(), 4, "{told}");
            assert_eq!(markdown::render(pairs).unwrap().matches("\n| reading").count(), 5);
        });
    }

    /// Each run once, nothing is decided; a plan of one replicate showed nothing at all.
    #[test]
    fn of_one_run_each_what_differs_by_more_than_matters_is_shown() {
        let once = |before: &mut fixture::Fixture, now: &mut fixture::Fixture| {
            uneven(before, now);
            now.records.retain(|record| record.trial.replicate == 1);
        };
        seen(&View::default(), once, |pairs| {
            let told = text(pairs).unwrap();
            assert!(told.contains("one run, not tested, 3 cells"), "{told}");
            assert!(told.contains("2 of one run that differ by less than 5.0 %"), "{told}");
        });
    }

    #[test]
    fn the_text_fits_80_columns_of_ascii_whatever_is_compared() {
        let wide = |before: &mut fixture::Fixture, now: &mut fixture::Fixture| {
            uneven(before, now);
            now.campaign.engine = "import".into();
            now.campaign.inventory["imported"] = json!(["a"]);
            for record in before.records.iter_mut().chain(&mut now.records) {
                record.trial.group = "a workload with a long name that somebody wrote".to_owned();
            }
        };
        let slow = |before: &mut fixture::Fixture, now: &mut fixture::Fixture| {
            uneven(before, now);
            for record in &mut now.records {
                let Outcome::Done(measurement) = &mut record.outcome else { continue };
                let Some(window) = &mut measurement.window else { continue };
                window.done.read_bytes /= 1000 * (1 + u64::from(record.trial.replicate));
            }
        };
        let fits = |pairs: &[Pair<'_>]| {
            let told = text(pairs).unwrap();
            for line in told.lines().filter(|line| !line.contains(HOSTILE)) {
                assert!(line.chars().count() <= 80 && line.is_ascii(), "{line}");
            }
            assert!(text::is_ours(told.as_bytes(), b""), "{told}");
        };
        let all = View { all: true, command: "brickyard compare 1 2 --all".to_owned() };
        for view in [&all, &View { all: false, ..all.clone() }] {
            seen(view, wide, fits);
            seen(view, slow, fits);
            seen(view, uneven, fits);
        }
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
