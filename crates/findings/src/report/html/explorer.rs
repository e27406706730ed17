//! (pure) All trials as one table of typed columns: what the page's explorer draws and brushes.
//!
//! A row is a trial; a column is a knob that varies, a figure, or what a trial is (its group, its
//! origin, its outcome). Words are numbers into a dictionary, numbers have five digits, and there
//! are at most [`ROWS_MAX`] rows: the page stays small however long the campaign.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::Serialize;

use crate::report::{Input, words};
use base::value;

mod columns;
pub mod edges;
mod place;
mod sample;

pub use columns::ExplorerColumn;
pub use place::section;

/// More rows than this are sampled: lines of more trials are not told apart on any screen.
const ROWS_MAX: usize = 20_000;
/// Numbers of all columns together; at 6 bytes each this is about 4 MB of the page.
const NUMBERS_MAX: usize = 700_000;

/// The table.
#[derive(Debug, Serialize)]
pub struct Explorer {
    /// How many trials the campaign has.
    pub of: usize,
    /// Numbers of the trials that have a row, ascending.
    pub trials: Vec<u32>,
    /// What is known of each.
    pub columns: Vec<ExplorerColumn>,
    /// Which columns stand as axes when the page opens, from left to right.
    pub axes: Vec<usize>,
    /// Figures and knobs that found no room, by name.
    #[serde(skip)]
    pub left_out: Vec<String>,
}

/// The table of a campaign; `None` when fewer than two trials were run, where nothing differs.
pub fn explorer(input: &Input<'_>) -> Option<Explorer> {
    of_rows(input, ROWS_MAX)
}

fn of_rows(input: &Input<'_>, rows_max: usize) -> Option<Explorer> {
    let count = input.records.len().min(input.trials.len());
    if count < 2 {
        return None;
    }
    let (kept, left_out) = columns::kept(input);
    let most = (NUMBERS_MAX / kept.len().max(1)).min(rows_max);
    let rows = sample::rows(input, &kept, most);
    let trials = columns::Trials::from_input(input);
    let columns: Vec<ExplorerColumn> =
        kept.par_iter().map(|kept| columns::column(trials, kept, &rows)).collect();
    let axes = columns::axes(&columns);
    let trials = rows.iter().map(|row| input.records[*row].trial.number).collect();
    Some(Explorer { of: count, trials, columns, axes, left_out })
}

/// Numbers of trials as spans: `1-3 9`. Evidence is long, and mostly of neighbours.
pub fn spans(numbers: &[u32]) -> String {
    let told = runs(numbers.iter().copied()).into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    told.collect::<Vec<_>>().join(" ")
}

/// The first and the last of each run of numbers without a gap, in ascending order.
pub fn runs(numbers: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers.collect::<BTreeSet<u32>>() {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

impl Explorer {
    /// What is drawn, where that is not all there is; empty where it is.
    pub fn said(&self) -> String {
        let mut said = String::new();
        if self.trials.len() < self.of {
            said = format!(
                "{} of {} trials are drawn here: the extremes of every figure, those that failed \
                 and those that findings rest on as far as there is room, and others drawn by \
                 chance. All are in the store.",
                value::count(self.trials.len() as u64),
                value::count(self.of as u64)
            );
        }
        if !self.left_out.is_empty() {
            let names: Vec<String> = self.left_out.iter().map(|name| words::figure(name)).collect();
            said = format!("{said} Without a column here: {}.", names.join(", "));
        }
        said.trim_start().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cells;
    use crate::report::fixture::{self, Fixture};
    use base::stats::Estimate;
    use experiment::knob;
    use experiment::measurement::figures::Figures;
    use experiment::measurement::{Outcome, figure_names};

    fn column<'a>(explorer: &'a Explorer, name: &str) -> &'a ExplorerColumn {
        explorer.columns.iter().find(|column| column.name == name).unwrap()
    }

    /// Trials of one cell each, with a figure that the number decides.
    fn many(count: u32) -> Fixture {
        let (group, settings) = fixture::planned().remove(0);
        let cells: Vec<_> = (1..=count)
            .map(|at| {
                let mut settings = settings.clone();
                settings.set(knob::STREAMS, u64::from(at % 100) + 1);
                (group.clone(), settings)
            })
            .collect();
        let mut fixture = fixture::campaign_of(Vec::new(), 0);
        let trials = experiment::plan::blocked(&cells, 1, 1);
        fixture.records = trials
            .into_iter()
            .map(|trial| experiment::measurement::Record::new(trial, Outcome::Interrupted))
            .collect();
        fixture.trials = fixture
            .records
            .iter()
            .map(|record| {
                let value = f64::from(record.trial.number.wrapping_mul(7919) % 100_003);
                let figures: Figures =
                    [(figure_names::THROUGHPUT.into(), Estimate::bare(value * 1e6))]
                        .into_iter()
                        .collect();
                crate::report::TrialView { figures: figures.into(), ..Default::default() }
            })
            .collect();
        fixture
    }

    #[test]
    fn every_trial_is_a_row_and_every_varying_knob_and_figure_a_column() {
        let fixture = fixture::evaluated();
        let explorer = explorer(&fixture.input()).unwrap();
        assert_eq!(explorer.trials.len(), fixture.records.len());
        assert_eq!(explorer.said(), "");
        for column in &explorer.columns {
            assert_eq!(column.values.len(), explorer.trials.len(), "{}", column.name);
        }
        let streams = column(&explorer, "streams");
        let levels: Vec<&str> = streams.levels.iter().map(|level| level.text.as_str()).collect();
        assert_eq!(levels, ["1", "2", "4", "8", "16", "32", "60", "100"]);
        let sizes = column(&explorer, "block-size");
        assert_eq!(sizes.levels[0].text, "4 KiB");
        assert_eq!(sizes.levels[0].number, Some(4096.0));
        let throughput = column(&explorer, figure_names::THROUGHPUT);
        let first = fixture.trials[0].figures[figure_names::THROUGHPUT].value / 1e6;
        let drawn = throughput.values[0].unwrap();
        assert!((drawn / first - 1.0).abs() < 1e-4, "{drawn} for {first}");
        assert_eq!((throughput.title.as_str(), throughput.unit), ("throughput", "MB/s"));
        assert_eq!(*throughput.values.last().unwrap(), None, "that trial failed");
        let axes: Vec<&str> =
            explorer.axes.iter().map(|at| explorer.columns[*at].name.as_str()).collect();
        assert!(axes.contains(&"streams") && axes.contains(&figure_names::THROUGHPUT), "{axes:?}");
    }

    /// Rule 2: a figure of cached bytes must never pass for the device's.
    #[test]
    fn every_row_says_whether_its_bytes_were_the_devices() {
        let fixture = fixture::evaluated();
        let explorer = explorer(&fixture.input()).unwrap();
        let origin = column(&explorer, "origin");
        for (row, view) in fixture.trials.iter().enumerate() {
            let done = fixture.records[row].outcome.measurement().is_some();
            let level = origin.values[row].map(|level| &origin.levels[level as usize]);
            let foreign = level.is_some_and(|level| level.foreign);
            assert_eq!(level.is_some(), done);
            assert_eq!(foreign, done && !cells::FigureOrigin::from_trial(view).is_device());
        }
    }

    #[test]
    fn a_large_campaign_is_sampled_with_its_extremes() {
        const ALL: u32 = 2000;
        const DRAWN: usize = 400;
        let fixture = many(ALL);
        let input = fixture.input();
        let explorer = of_rows(&input, DRAWN).unwrap();
        assert_eq!((explorer.trials.len(), explorer.of), (DRAWN, ALL as usize));
        assert!(explorer.said().starts_with("400 of 2 000 trials"), "{}", explorer.said());
        let of =
            |view: &crate::report::TrialView| view.figures[figure_names::THROUGHPUT].value / 1e6;
        let all: Vec<f64> = fixture.trials.iter().map(of).collect();
        let drawn: Vec<f64> =
            column(&explorer, figure_names::THROUGHPUT).values.iter().flatten().copied().collect();
        let ends = |values: &[f64]| {
            values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)))
        };
        assert_eq!(ends(&drawn), ends(&all));
        // Those between are drawn without a preference: their mean is that of all, within 4
        // standard errors of the mean of so many out of a uniform.
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let error = 100_003.0 / 12f64.sqrt() / (DRAWN as f64).sqrt();
        assert!((mean(&drawn) - mean(&all)).abs() < 4.0 * error);
        assert!(explorer.trials.is_sorted());
        let again = of_rows(&input, DRAWN).unwrap();
        assert_eq!(explorer.trials, again.trials, "the same page twice");
    }

    #[test]
    fn what_failed_has_a_row_without_figures() {
        let fixture = fixture::evaluated();
        let explorer = explorer(&fixture.input()).unwrap();
        let outcome = column(&explorer, "outcome");
        let words: Vec<&str> = outcome.levels.iter().map(|level| level.text.as_str()).collect();
        assert_eq!(words, ["done", "failed"]);
        assert_eq!(outcome.values.iter().filter(|value| **value == Some(1.0)).count(), 1);
    }

    #[test]
    fn numbers_of_trials_are_told_as_spans() {
        assert_eq!(spans(&[3, 1, 2, 9, 9]), "1-3 9");
        assert_eq!(spans(&[]), "");
    }

    #[test]
    fn whole_numbers_are_written_without_a_fraction() {
        let fixture = fixture::evaluated();
        let explorer = explorer(&fixture.input()).unwrap();
        let json = serde_json::to_string(column(&explorer, "streams")).unwrap();
        assert!(!json.contains(".0"), "{json}");
    }
}
