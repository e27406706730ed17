//! (pure) The SQL behind each table: the statement with which `brickyard query` gives its rows from
//! the store, shown to whoever asks for it.
//!
//! Names of views and columns, and how they are quoted, are the business of `store::query`.

use std::collections::{BTreeSet, HashSet};

use maud::{Markup, html};

use super::panel::{Panel, PanelKind};
use super::{explorer, varying};
use crate::analysis::compare::Comparison;
use crate::report::cells::{self, CellGroup};
use crate::report::integrity::IntegritySheet;
use crate::report::pairs::NamedCampaign;
use crate::report::{Input, TrialView, operations, programs, words};
use experiment::measurement::figure_names;
use experiment::measurement::{INTERRUPTED, Record};
use experiment::query::{column, literal, typed};

/// A statement, folded away.
fn shown(statement: &str, about: &str) -> Markup {
    named(statement, "SQL of this table", about)
}

fn named(statement: &str, title: &str, about: &str) -> Markup {
    html! {
        details.sql {
            summary { (title) }
            p.quiet { (about) " It is asked by " code { "brickyard query - < FILE" } "." }
            pre tabindex="0" { code { (statement) } }
        }
    }
}

/// SQLite has no quantile of Student's t.
const MEANS: &str = "Means over replicates, in the units of the store. Their intervals are not \
                     among them: these may be of a spread that is pooled over cells. Percentiles \
                     of the table are of all operations of a cell together, and lie between the \
                     least and the most of its trials.";

/// The mean of the first of `names` that a cell has, if any cell of the group has one.
fn mean(group: &CellGroup<'_>, names: &[&str], divided: &str, head: &str) -> Option<String> {
    let has = |name: &&&str| group.rows.iter().any(|row| row.cell.figures.contains_key(name));
    let means: Vec<&str> = names.iter().filter(has).copied().collect();
    // SQLite cannot put histograms together.
    if let [one] = means.as_slice()
        && let Some((_, part)) = one.split_once("latency_ns_").filter(|(_, part)| *part != "mean")
    {
        let of = column(one);
        let (least, most) = (format!("{head}, least"), format!("{head}, most"));
        return Some(match part {
            "max" => format!("max({of}) AS {}", typed(head)),
            _ => format!("min({of}) AS {},\n       max({of}) AS {}", typed(&least), typed(&most)),
        });
    }
    let means: Vec<String> = means.iter().map(|name| format!("avg({})", column(name))).collect();
    let mean = match means.as_slice() {
        [] => return None,
        [mean] => mean.clone(),
        several => format!("coalesce({})", several.join(", ")),
    };
    Some(format!("{mean}{divided} AS {}", typed(head)))
}

/// Of a table of cells: what its group's rows are told apart by, these means, and how many
/// replicates there are.
fn of_cells(input: &Input<'_>, group: &CellGroup<'_>, means: Vec<String>) -> Markup {
    let keys: Vec<String> = cells::keys(group).into_iter().map(column).collect();
    let origin = "group_concat(DISTINCT origin) AS origin".to_owned();
    let n = "sum(outcome = 'done') AS n".to_owned();
    let columns: Vec<String> = keys.iter().cloned().chain(means).chain([n, origin]).collect();
    let others: Vec<String> =
        cells::of_other_groups(input, group).iter().map(u32::to_string).collect();
    let own = format!("workload = {}", literal(group.name));
    // A cell on two axes was measured once, by whichever group asked first.
    let rows = match others.is_empty() {
        true => own,
        false => format!("({own} OR trial IN ({}))", others.join(", ")),
    };
    let mut statement = format!(
        "SELECT {}\nFROM trials\nWHERE campaign = {} AND {rows}",
        columns.join(",\n       "),
        input.campaign.id
    );
    if !keys.is_empty() {
        // The axis changes first, as in the table.
        let order: Vec<&str> = keys.iter().rev().map(String::as_str).collect();
        statement.push_str(&format!("\nGROUP BY {}", keys.join(", ")));
        statement.push_str(&format!("\nORDER BY {}", order.join(", ")));
    }
    shown(&statement, MEANS)
}

/// Of the usual table of a group.
pub fn of_group(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let mean = |names: &[&str], divided: &str, head: &str| mean(group, names, divided, head);
    let first = match written {
        true => vec![
            mean(
                &[figure_names::ACCEPTED_THROUGHPUT, figure_names::THROUGHPUT],
                " / 1e6",
                "accepted MB/s",
            ),
            mean(&[figure_names::DURABLE_THROUGHPUT], " / 1e6", "durable MB/s"),
        ],
        false => vec![
            mean(&[figure_names::THROUGHPUT], " / 1e6", "MB/s"),
            mean(&[figure_names::THROUGHPUT], " / 1048576", "MiB/s"),
            mean(&[figure_names::NAIVE_THROUGHPUT], " / 1e6", "naive MB/s"),
        ],
    };
    let rest = [figure_names::IOPS, figure_names::LATENCY_P50, figure_names::LATENCY_P99]
        .map(|name| mean(&[name], "", name));
    of_cells(input, group, first.into_iter().chain(rest).flatten().collect())
}

/// Of a table whose columns are figures as they are.
fn of_figures<'a>(
    input: &Input<'_>,
    group: &CellGroup<'_>,
    names: impl Iterator<Item = &'a str>,
) -> Markup {
    of_cells(input, group, names.filter_map(|name| mean(group, &[name], "", name)).collect())
}

/// Of the table of operations of a group.
pub fn of_operations(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    of_figures(input, group, operations::columns(group).iter().map(|column| column.name))
}

/// Of the table of programs of a group.
pub fn of_programs(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    let said = programs::said(input, group);
    let usual = programs::COLUMNS.iter().map(|(name, _)| *name);
    of_figures(input, group, usual.chain(said))
}

/// Of the table of what others reported.
pub fn of_others(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    let figures = group.rows.iter().flat_map(|row| row.cell.figures.keys()).map(AsRef::as_ref);
    let reported =
        figures.filter(|name| name.starts_with(experiment::measurement::reported::PREFIX));
    let names: BTreeSet<&str> = reported.collect();
    of_figures(input, group, names.into_iter())
}

/// Of the table of trials, with these knobs.
pub fn of_trials(input: &Input<'_>, knobs: &[&str], sizes: &[&str]) -> Markup {
    let has =
        |name: &&str| input.trials.iter().any(|view: &TrialView| view.figures.contains_key(name));
    let mut columns = vec!["trial".to_owned(), "workload".to_owned()];
    columns.extend(knobs.iter().map(|knob| column(knob)));
    columns.push("replicate".to_owned());
    let rate = [figure_names::THROUGHPUT].into_iter().filter(has);
    columns.extend(rate.map(|name| format!("{} / 1e6 AS {}", column(name), typed("MB/s"))));
    columns.extend(
        [figure_names::IOPS, figure_names::LATENCY_P50, figure_names::LATENCY_P99]
            .into_iter()
            .filter(has)
            .map(column),
    );
    columns.extend(["origin", "steady", "outcome", "reason", "notes"].map(str::to_owned));
    columns.extend(sizes.iter().map(|knob| column(knob)));
    let statement = format!(
        "SELECT {}\nFROM trials\nWHERE campaign = {}\nORDER BY trial",
        columns.join(", "),
        input.campaign.id
    );
    shown(&statement, "Every trial that the store has of this campaign.")
}

/// Of what the budget did not buy: a row a cell, where the table has a row a budget.
pub fn of_not_bought(input: &Input<'_>) -> Markup {
    let statement = format!(
        "SELECT j.value ->> 'budget_ns' AS budget_ns, j.value ->> 'cell' AS buys\nFROM campaign AS \
         c, json_each(c.not_bought) AS j\nWHERE c.id = {}\nORDER BY 1",
        input.campaign.id
    );
    shown(&statement, "A row a cell; budgets are in ns.")
}

/// Of a table of settings that has these knobs, or all but these.
pub fn of_settings(input: &Input<'_>, knobs: &[&str], but: bool) -> Markup {
    let names: Vec<String> = knobs.iter().map(|knob| format!("'{knob}'")).collect();
    let statement = format!(
        "SELECT j.key AS knob, group_concat(DISTINCT j.value) AS value\nFROM trial AS t, \
         json_each(t.settings) AS j\nWHERE t.campaign = {} AND j.key {}IN ({})\nGROUP BY 1\n\
         ORDER BY 1",
        input.campaign.id,
        if but { "NOT " } else { "" },
        names.join(", ")
    );
    shown(&statement, "Sizes are in bytes, times in ns, switches 0 or 1.")
}

/// Of the table of faults.
pub fn of_faults(input: &Input<'_>) -> Markup {
    let statement = format!(
        "SELECT t.number AS trial, f.at_ns, f.file, f.\"offset\", f.kind, f.what, f.lasting, \
         f.rereads\nFROM fault AS f JOIN trial AS t ON t.id = f.trial\nWHERE t.campaign = {}\n\
         ORDER BY f.rowid",
        input.campaign.id
    );
    shown(&statement, "Every fault that the store has of this campaign.")
}

/// Of the table of problems of a user's own files.
pub fn of_problems(input: &Input<'_>) -> Markup {
    let statement = format!(
        "SELECT t.number AS trial, p.kind, p.path, p.why\nFROM problem AS p JOIN trial AS t ON \
         t.id = p.trial\nWHERE t.campaign = {}\nORDER BY p.rowid",
        input.campaign.id
    );
    shown(&statement, "Every problem that the store has of this campaign.")
}

/// Runs of trials that a statement lists; beyond, it gives all between the first and the last.
const RUNS_MAX: usize = 100;

/// Which trials, as a condition; and whether these are all that it holds for.
fn among(numbers: impl Iterator<Item = u32>) -> (String, bool) {
    let runs = explorer::runs(numbers);
    if let (true, Some((first, _)), Some((_, last))) =
        (runs.len() > RUNS_MAX, runs.first(), runs.last())
    {
        return (format!("trial BETWEEN {first} AND {last}"), false);
    }
    let (mut parts, mut single) = (Vec::new(), Vec::new());
    for (first, last) in runs {
        match first == last {
            true => single.push(first.to_string()),
            false => parts.push(format!("trial BETWEEN {first} AND {last}")),
        }
    }
    if !single.is_empty() || parts.is_empty() {
        parts.push(format!("trial IN ({})", single.join(", ")));
    }
    (format!("({})", parts.join(" OR ")), true)
}

/// Said where [`among`] holds for more.
const MORE: &str = " Others that lie between them are among these.";

/// Of what a panel draws: the trials that it rests on, with what they were told apart by.
pub fn of_panel(input: &Input<'_>, panel: &Panel) -> Option<Markup> {
    let points = panel.traces.iter().flat_map(|trace| &trace.points);
    let rests: HashSet<u32> =
        points.flat_map(|point| &point.trials).chain(&panel.trials).copied().collect();
    let has = |name: &&&str| {
        let views = input.records.iter().zip(&input.trials);
        let mut of = views.filter(|(record, _)| rests.contains(&record.trial.number));
        of.any(|(_, view)| view.figures.contains_key(name))
    };
    let figures: Vec<String> = panel.figures.iter().filter(has).map(|name| column(name)).collect();
    if rests.is_empty() || figures.is_empty() {
        return None;
    }
    let own = |record: &&Record| rests.contains(&record.trial.number);
    let knobs = varying::varying_in(input.records.iter().filter(own));
    let knobs = knobs.into_iter().map(column);
    let columns = ["trial", "replicate"].map(str::to_owned).into_iter();
    let columns: Vec<String> = columns.chain(knobs).chain(figures).collect();
    let (among, whole) = among(rests.into_iter());
    let statement = format!(
        "SELECT {}\nFROM trials\nWHERE campaign = {} AND {among}\nORDER BY trial",
        columns.join(", "),
        input.campaign.id
    );
    let about = match panel.trials.is_empty() {
        _ if panel.kind == PanelKind::Distribution => {
            "A row a trial that this rests on. Drawn are all operations of a load together, from \
             the table `histogram`, which SQL cannot put together."
        }
        true => {
            "A row a trial that this rests on; drawn are means over replicates. Rows give a cell's \
             own spread: an interval that is drawn may be of one that is pooled over cells."
        }
        false => {
            "A row a trial that this rests on; least squares on logarithms give what is drawn."
        }
    };
    let about = format!("{about} In the units of the store.{}", if whole { "" } else { MORE });
    Some(named(&statement, "SQL of this figure", &about))
}

/// Of one side of a comparison.
pub fn of_side(side: &NamedCampaign<'_>, comparison: &Comparison, place: usize) -> Markup {
    let figures: BTreeSet<&str> =
        comparison.cells.iter().map(|cell| cell.figure.as_str()).collect();
    let figures: Vec<String> = figures.into_iter().map(column).collect();
    let numbers = comparison.cells.iter().flat_map(|cell| &cell.trials[place]);
    let (among, whole) = among(numbers.copied());
    let statement = format!(
        "SELECT trial, workload, replicate, {}\nFROM trials\nWHERE campaign = {} AND \
         {among}\nORDER BY trial",
        figures.join(", "),
        side.campaign.id
    );
    let title = format!("SQL of {}", ["A", "B"][place]);
    let about = format!(
        "A row a trial that was compared, in the units of the store.{}",
        if whole { "" } else { MORE }
    );
    named(&statement, &title, &about)
}

/// Of the table of failures.
pub fn of_failures(input: &Input<'_>) -> Markup {
    let statement = format!(
        "SELECT outcome, count(*) AS trials, coalesce(reason, {}) AS why,\n       \
         group_concat(trial, ', ') AS which\nFROM trials\nWHERE campaign = {} AND outcome <> \
         'done'\nGROUP BY 1, 3\nORDER BY trials DESC, min(trial)",
        literal(INTERRUPTED),
        input.campaign.id
    );
    shown(&statement, "Every reason that the store has of this campaign.")
}

/// Of the table of what drives count.
pub fn of_drives(input: &Input<'_>, sheet: &IntegritySheet<'_>, heads: &[(&str, &str)]) -> Markup {
    let counts = heads
        .iter()
        .map(|(key, head)| format!("d.value -> 'health' ->> {} AS {}", literal(key), typed(head)));
    let names: Vec<String> = sheet.drives.iter().map(|drive| literal(drive.name)).collect();
    let columns: Vec<String> = std::iter::once("d.value ->> 'name' AS drive".to_owned())
        .chain(counts)
        .chain(["d.value -> 'health' ->> 'source' AS \"told by\"".to_owned()])
        .collect();
    let statement = format!(
        "SELECT {}\nFROM campaign AS c, json_each(c.inventory, '$.server.drives') AS d\nWHERE \
         c.id = {} AND d.value ->> 'name' IN ({})\nORDER BY d.key",
        columns.join(",\n       "),
        input.campaign.id,
        names.join(", ")
    );
    shown(&statement, "As the drives told it when the campaign began.")
}
