//! (pure) What tables of reported figures show: each with its author's words, in our units and as
//! printed. No interval, origin or verdict of ours stands beside one.

use super::cells::CellGroup;
use super::{Input, programs};
use experiment::measurement::Reported;
use experiment::measurement::reported::{Figure, PREFIX};

/// A table of reported figures, in words.
pub struct ReportedSheet {
    /// Heads of its columns; the first is of what tells the rows apart.
    pub heads: Vec<String>,
    /// As many cells in each.
    pub rows: Vec<Vec<String>>,
    /// `reported by A and B, 2010 (table 2)`.
    pub source: String,
}

/// Whether all figures of a group are reported ones: nothing of it was measured here.
pub fn are_all(group: &CellGroup<'_>) -> bool {
    are_in(group) && !programs::are_in(group)
}

/// Whether there are reported ones among the figures of a group.
pub fn are_in(group: &CellGroup<'_>) -> bool {
    let names = group.rows.iter().flat_map(|row| row.cell.figures.keys());
    names.into_iter().any(|name| name.starts_with(PREFIX))
}

/// Figures of so many names are also shown as printed.
const PRINTED_MAX: usize = 2;

/// The table of a group.
pub fn sheet(input: &Input<'_>, group: &CellGroup<'_>) -> ReportedSheet {
    let rows =
        group.rows.iter().filter_map(|row| Some((row, of(input, row.cell.trials.first()?)?)));
    let rows: Vec<_> = rows.collect();
    let mut names: Vec<&str> = Vec::new();
    for figure in rows.iter().flat_map(|(_, reported)| &reported.figures) {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let single = rows.iter().all(|(row, _)| row.cell.trials.len() == 1);
    let printed = names.len() <= PRINTED_MAX && single;
    let mut heads = vec![group.varying.join(", ")];
    heads.extend(names.iter().map(|name| head(name)));
    heads.extend(printed.then(|| "as printed".to_owned()));
    let line = |(row, reported): &(&super::cells::CellRow<'_>, &Reported)| {
        let alone = group.varying.is_empty();
        let mut line = vec![if alone { String::new() } else { group.label(row) }];
        let figure = |name: &&str| match row.cell.trials.len() {
            1 => reported.figure(name).map_or("-".to_owned(), told),
            // A tool that we ran several times: the mean of what it said, and how far that varied.
            _ => {
                let all = format!("{PREFIX}{name}");
                programs::cell(row.cell.figures.get(all.as_str()).copied(), name)
            }
        };
        line.extend(names.iter().map(figure));
        if printed {
            let all: Vec<&str> = reported.figures.iter().map(|it| it.printed.as_str()).collect();
            line.push(all.join(", "));
        }
        line
    };
    let source = rows.first().map_or(String::new(), |(_, reported)| {
        format!("reported by {} ({})", reported.by, reported.place)
    });
    ReportedSheet { rows: rows.iter().map(line).collect(), heads, source }
}

/// What was reported as the trial of that number.
fn of<'a>(input: &'a Input<'_>, number: &u32) -> Option<&'a Reported> {
    let record = input.records.iter().find(|record| record.trial.number == *number)?;
    record.outcome.measurement()?.reported.as_ref()
}

/// A figure in our units with what its author said of it.
pub fn told(figure: &Figure) -> String {
    format!("{}{}", figure.bound.before(), programs::print(&figure.name, figure.value))
}

/// A name without its unit, which each figure carries.
fn head(name: &str) -> String {
    let units = ["_bytes_per_s", "_share", "_bytes", "_ms"];
    let bare = units.iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name);
    // What is counted may stand beside its rate.
    let bare = bare.replace("latency_ns_", "latency_").replace("_per_s", "/s");
    bare.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FORMATS, cells};
    use experiment::campaign::Campaign;
    use experiment::published;

    /// Every format says who reported a figure, and none gives it an interval or an origin.
    #[test]
    fn every_format_prints_every_set_and_names_its_author() {
        for set in published::SETS.iter() {
            let campaign = Campaign {
                plan: set.name.clone(),
                host: set.host.clone(),
                engine: published::ENGINE.into(),
                ..Campaign::default()
            };
            let input = Input::new(&campaign, &set.records);
            assert!(input.trials.iter().all(|view| view.origin.is_none() && view.steady.is_none()));
            assert!(input.answer[0].contains(&set.by), "{:?}", input.answer);
            for format in FORMATS {
                let text = format.bytes(&input).unwrap();
                let text = String::from_utf8_lossy(&text);
                let words = text.replace(['\n', '\u{a0}'], " ");
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                let of_trials = ["csv", "parquet", "r", "python"].contains(&format.name);
                let said = words.contains(&set.by) || of_trials;
                assert!(said, "{}: {words:.400}", format.name);
                assert!(!words.contains("the device delivers"), "{}", format.name);
                if format.name == "text" {
                    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
                }
            }
            for group in cells::groups(&input) {
                let sheet = sheet(&input, &group);
                assert!(are_in(&group) && sheet.rows.len() == group.rows.len());
                assert!(sheet.rows.iter().all(|row| row.len() == sheet.heads.len()));
            }
        }
    }
}
