//! (pure) One table a group of cells, with footnotes.

use std::collections::BTreeMap;

use super::grid::{Grid, Side};
use super::{Input, cells, layouts, plain, wrapped};
use crate::report::cells::{CellGroup, CellRow, FigureOrigin};
use crate::report::reach::{self, Reach};
use crate::report::{operations, per_cpu, programs, reported, words};
use base::stats::Estimate;
use base::value;
use experiment::measurement::figure_names;

/// Appends all tables, then what their marks and notes mean.
pub fn render(input: &Input<'_>, text: &mut String) {
    let groups = cells::groups(input);
    let numbers = note_numbers(&groups);
    for group in &groups {
        text.push_str(&format!("\n{}\n", plain(group.name)));
        let common = group.common();
        if !common.is_empty() {
            text.push_str(&wrapped("  ", &common));
        }
        if reported::are_in(group) {
            text.push_str(&of_others(input, group));
        }
        if reported::are_all(group) {
            rest(group, text);
            continue;
        }
        if programs::are_in(group) {
            text.push_str(&of_programs(input, group, &numbers));
        }
        if operations::are_in(group) {
            text.push_str(&of_operations(group, &numbers));
            of_machines(group, text);
            of_cpus(input, group, text);
        } else if has_table(group) {
            text.push_str(&table(group, &numbers));
        }
        rest(group, text);
        text.push_str(&layouts::table(group));
    }
    if !groups.is_empty() {
        if !groups.iter().all(reported::are_all) {
            legend(&groups, text);
        }
        footnotes(input, &numbers, text);
    }
}

/// Of a table of thousands of cells the first are shown, and it is said where the others are.
fn rest(group: &CellGroup<'_>, text: &mut String) {
    if let Some(rest) = group.rest() {
        text.push_str(&wrapped("  ", &rest));
    }
}

/// Kinds of notes, numbered in the order in which a reader meets them.
fn note_numbers<'a>(groups: &[CellGroup<'a>]) -> BTreeMap<&'a str, usize> {
    let mut numbers = BTreeMap::new();
    for kind in groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.notes) {
        let next = numbers.len() + 1;
        numbers.entry(*kind).or_insert(next);
    }
    numbers
}

/// Whether anything is known of what a group's programs read or wrote.
fn moved(group: &CellGroup<'_>) -> bool {
    group.rows.iter().any(|row| cells::figure(row.cell, figure_names::THROUGHPUT).is_some())
}

/// Whether a group's rates stand in the table of bytes, with their marks.
fn has_table(group: &CellGroup<'_>) -> bool {
    let of_programs = programs::are_in(group) && !moved(group);
    !reported::are_all(group) && !operations::are_in(group) && !of_programs
}

/// Figures that others reported, as many columns beside each other as fit.
fn of_others(input: &Input<'_>, group: &CellGroup<'_>) -> String {
    let sheet = reported::sheet(input, group);
    let cell = |text: &str, column: usize| match column {
        0 => words::clipped(&plain(text), 26),
        _ => plain(text),
    };
    let lines = || std::iter::once(&sheet.heads).chain(&sheet.rows);
    let width = |column: usize| {
        let cells = lines().filter_map(|line| line.get(column));
        2 + cells.map(|text| cell(text, column).chars().count()).max().unwrap_or(0)
    };
    let mut text = wrapped("  ", &sheet.source);
    let mut next = 1;
    let shown = sheet.heads.len().min(1 + REPORTED_MAX);
    while next < shown {
        let (mut columns, mut used) = (vec![0], width(0));
        while next < shown && (columns.len() == 1 || used + width(next) < super::WIDTH) {
            used += width(next);
            columns.push(next);
            next += 1;
        }
        let side = |column: usize| if column == 0 { Side::Left } else { Side::Right };
        let heads: Vec<(&str, Side)> =
            columns.iter().map(|at| (sheet.heads[*at].as_str(), side(*at))).collect();
        let mut grid = Grid::new(&heads);
        for row in sheet.rows.iter().take(cells::ROWS_MAX) {
            grid.row(columns.iter().map(|at| cell(&row[*at], *at)).collect());
        }
        text.push_str(&grid.render());
    }
    if shown < sheet.heads.len() {
        let more = sheet.heads.len() - shown;
        text.push_str(&wrapped(
            "  ",
            &format!("{more} more of its figures are in the other formats"),
        ));
    }
    text
}

/// Figures of others that a terminal has room for; dbench has 50.
const REPORTED_MAX: usize = 18;

/// Time, processor and memory of programs, then what they said themselves.
fn of_programs(
    input: &Input<'_>,
    group: &CellGroup<'_>,
    numbers: &BTreeMap<&str, usize>,
) -> String {
    let axis = group.varying.join(", ");
    let mut heads = vec![(axis.as_str(), Side::Left)];
    heads.extend(programs::COLUMNS.iter().map(|(_, head)| (*head, Side::Right)));
    heads.extend([("n", Side::Right), ("notes", Side::Left)]);
    let figure = |row: &CellRow<'_>, name: &str| {
        let estimate = row.cell.figures.get(name).copied();
        // Only the first column has room for an interval.
        match name == "elapsed_s" {
            true => programs::cell(estimate, name),
            false => number(estimate, |value| programs::print(name, value)),
        }
    };
    let mut grid = Grid::new(&heads);
    for row in group.shown() {
        let mut line = vec![label(group, row)];
        line.extend(programs::COLUMNS.iter().map(|(name, _)| figure(row, name)));
        line.push(row.cell.trials.len().to_string());
        line.push(noted(row, numbers));
        grid.row(line);
    }
    let mut text = grid.render();
    let said = programs::said(input, group);
    // So many fit beside each other; all are in the other formats.
    for names in said.chunks(3) {
        let mut heads = vec![(axis.as_str(), Side::Left)];
        heads.extend(names.iter().map(|name| (*name, Side::Right)));
        let mut grid = Grid::new(&heads);
        for row in group.shown() {
            let said =
                names.iter().map(|name| programs::cell(row.cell.figures.get(name).copied(), name));
            grid.row(std::iter::once(label(group, row)).chain(said).collect());
        }
        text.push_str(&grid.render());
    }
    text
}

/// Operations per second, and what each took.
fn of_operations(group: &CellGroup<'_>, numbers: &BTreeMap<&str, usize>) -> String {
    let axis = group.varying.join(", ");
    let columns = operations::columns(group);
    let mut heads = vec![(axis.as_str(), Side::Left)];
    for (place, column) in columns.iter().enumerate() {
        heads.push((column.head, Side::Right));
        if place == 0 {
            heads.push(("+-", Side::Left));
        }
    }
    heads.extend([("n", Side::Right), ("notes", Side::Left)]);
    let mut grid = Grid::new(&heads);
    for row in group.shown() {
        let mut line = vec![label(group, row)];
        for (place, column) in columns.iter().enumerate() {
            line.push(operations::cell(row, column));
            if place == 0 {
                line.push(spread(cells::figure(row.cell, column.name)));
            }
        }
        line.push(row.cell.trials.len().to_string());
        line.push(noted(row, numbers));
        grid.row(line);
    }
    grid.render()
}

/// What both machines did, of loads over a network.
fn of_machines(group: &CellGroup<'_>, text: &mut String) {
    let columns = operations::of_machines(group);
    if columns.is_empty() {
        return;
    }
    text.push('\n');
    text.push_str(&wrapped("  ", operations::OF_MACHINES));
    let axis = group.varying.join(", ");
    let mut heads = vec![(axis.as_str(), Side::Left)];
    heads.extend(columns.iter().map(|column| (column.head, Side::Right)));
    let mut grid = Grid::new(&heads);
    for row in group.shown() {
        let figures = columns.iter().map(|column| operations::cell(row, column));
        grid.row(std::iter::once(label(group, row)).chain(figures).collect());
    }
    text.push_str(&grid.render());
}

/// What each CPU did, of loads over a network.
fn of_cpus(input: &Input<'_>, group: &CellGroup<'_>, text: &mut String) {
    for told in per_cpu::cpu_shares(input, group) {
        text.push('\n');
        text.push_str(&wrapped("  ", &plain(&told.title())));
        let mut heads = vec![("CPU", Side::Right)];
        heads.extend(per_cpu::KINDS.iter().map(|kind| (*kind, Side::Right)));
        let mut grid = Grid::new(&heads);
        for (number, shares) in &told.cpus {
            let shares = shares.iter().map(|share| per_cpu::percent(*share));
            grid.row(std::iter::once(number.to_string()).chain(shares).collect());
        }
        text.push_str(&grid.render());
    }
}

/// What tells a row from the others of its group; the line above the table has said all that a lone
/// one did.
fn label(group: &CellGroup<'_>, row: &CellRow<'_>) -> String {
    match group.varying.is_empty() {
        true => String::new(),
        false => words::clipped(&plain(&group.label(row)), 26),
    }
}

/// The numbers of a row's notes: `[1][3]`.
fn noted(row: &CellRow<'_>, numbers: &BTreeMap<&str, usize>) -> String {
    let notes = row.notes.iter().filter_map(|kind| numbers.get(kind));
    let mut notes: Vec<usize> = notes.copied().collect();
    notes.sort_unstable();
    notes.iter().map(|number| format!("[{number}]")).collect()
}

fn table(group: &CellGroup<'_>, numbers: &BTreeMap<&str, usize>) -> String {
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let axis = group.varying.join(", ");
    let (second, third) = if written { ("durable MB/s", "+-") } else { ("MiB/s", "") };
    let first = if written { "accepted MB/s" } else { "MB/s" };
    let mut grid = Grid::new(&[
        (axis.as_str(), Side::Left),
        (first, Side::Right),
        ("+-", Side::Left),
        (second, Side::Right),
        (third, Side::Left),
        ("IOPS", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("n", Side::Right),
        ("origin", Side::Left),
        ("notes", Side::Left),
    ]);
    // Where one figure bears a mark, the others get a space in its place, to stay in line.
    let marks = group.rows.iter().any(|row| !row.source.mark().is_empty());
    for row in group.shown() {
        let mark = match row.source.mark() {
            "" if marks => "  ".to_owned(),
            "" => String::new(),
            mark => format!(" {mark}"),
        };
        grid.row(line(group, row, written, &mark, numbers));
    }
    grid.render()
}

fn line(
    group: &CellGroup<'_>,
    row: &CellRow<'_>,
    written: bool,
    mark: &str,
    numbers: &BTreeMap<&str, usize>,
) -> Vec<String> {
    let figure = |name| cells::figure(row.cell, name);
    // What was accepted in the window is not what was accepted in all, but it is in all that both
    // can be compared.
    let accepted = figure(figure_names::ACCEPTED_THROUGHPUT).filter(|_| written);
    let first = accepted.or_else(|| figure(figure_names::THROUGHPUT));
    let marked = |text: String| format!("{text}{mark}");
    let megabytes = |e: Option<Estimate>| number(e, |per_s| value::significant(per_s / 1e6));
    let durable = figure(figure_names::DURABLE_THROUGHPUT).filter(|_| written);
    let mebibytes = number(first, |per_s| value::significant(per_s / f64::from(1 << 20)));
    let label = label(group, row);
    vec![
        label,
        marked(megabytes(first)),
        spread(first),
        if written { megabytes(durable) } else { marked(mebibytes) },
        if written { spread(durable) } else { String::new() },
        marked(number(figure(figure_names::IOPS), value::iops)),
        marked(number(figure(figure_names::LATENCY_P50), value::duration)),
        marked(number(figure(figure_names::LATENCY_P99), value::duration)),
        row.cell.trials.len().to_string(),
        if row.source == FigureOrigin::Written {
            String::new()
        } else {
            row.source.name().to_owned()
        },
        noted(row, numbers),
    ]
}

fn number(estimate: Option<Estimate>, print: impl Fn(f64) -> String) -> String {
    estimate.map_or("-".to_owned(), |estimate| print(estimate.value))
}

/// Half the interval in percent of the figure; empty where none can be given.
fn spread(estimate: Option<Estimate>) -> String {
    let reach = estimate.as_ref().and_then(Reach::from_estimate);
    reach.map_or(String::new(), |reach| reach.told().replace(' ', ""))
}

fn legend(groups: &[CellGroup<'_>], text: &mut String) {
    let told = format!("n: replicates. +-: {}. p50, p99: latency of one operation.", reach::LEGEND);
    text.push('\n');
    text.push_str(&wrapped("  ", &told));
    let rows = || groups.iter().flat_map(|group| &group.rows);
    if let Some(told) = words::pooled(cells::rows(groups.iter()).into_iter().map(|row| row.cell)) {
        text.push_str(&wrapped("  ", &told));
    }
    if groups.iter().any(operations::network) {
        let told = "Gb/s: 10^9 bits a second of payload that arrived; from memory it is no figure \
                    of any storage. sent: what the sender's kernel took. s/GB: processor \
                    time of the sender's (out) and the receiver's (in) threads for 10^9 bytes \
                    that arrived. RTT: as TCP estimates it.";
        text.push_str(&wrapped("  ", told));
        let datagrams = |row: &CellRow<'_>| cells::figure(row.cell, operations::LOSS).is_some();
        if rows().any(datagrams) {
            let told = "loss: datagrams that never arrived, of those that were sent; by socket: of \
                        these, those that found the receiver's socket full. reordered: came after \
                        one that was sent later (RFC 4737). jitter: RFC 3550. link: what arrived \
                        over each.";
            text.push_str(&wrapped("  ", told));
        }
        let disks = |row: &CellRow<'_>| cells::figure(row.cell, operations::DISK).is_some();
        if rows().any(disks) {
            let told = "disk: what the devices under the files gave in the same time, to whoever \
                        reads.";
            text.push_str(&wrapped("  ", told));
        }
    }
    if rows().any(|row| cells::figure(row.cell, figure_names::TRANSACTIONS_PER_S).is_some()) {
        let told = "trans: transactions, each made of several operations. p50, p99 are those of \
                    the operations.";
        text.push_str(&wrapped("  ", told));
    }
    if rows().any(|row| cells::figure(row.cell, operations::DURABLE_OPS).is_some()) {
        let told = "durable ops/s: operations over the time until all that they had changed was \
                    on the device.";
        text.push_str(&wrapped("  ", told));
    }
    if rows().any(|row| words::writes_only(&row.cell.settings)) {
        let told = "accepted: taken by the kernel. durable: on the device, after fsync.";
        text.push_str(&wrapped("  ", told));
    }
    // Other tables print no marks.
    let with_marks = groups.iter().filter(|group| has_table(group)).flat_map(|group| &group.rows);
    for source in FigureOrigin::marked(with_marks) {
        let line = format!("{}: {}", source.mark(), source.meaning());
        text.push_str(&wrapped("  ", &line));
    }
}

fn footnotes(input: &Input<'_>, numbers: &BTreeMap<&str, usize>, text: &mut String) {
    let mut kinds: Vec<(&str, usize)> = numbers.iter().map(|(kind, n)| (*kind, *n)).collect();
    kinds.sort_by_key(|(_, number)| *number);
    for (kind, number) in kinds {
        let mut said = Vec::new();
        let mut trials = Vec::new();
        for (record, view) in input.records.iter().zip(&input.trials) {
            if let Some(note) = view.notes.iter().find(|note| note.kind == kind) {
                trials.push(record.trial.number);
                if !said.contains(&note.text.as_str()) {
                    said.push(note.text.as_str());
                }
            }
        }
        // The trials follow, so the sentence does not end here.
        let first = said.first().copied().unwrap_or_default().trim_end_matches('.');
        let others = match said.len() {
            0 | 1 => String::new(),
            many => format!(", and {} like it", many - 1),
        };
        // Some notes are sentences; the list goes on after them.
        let first = first.trim_end_matches('.');
        let line = format!("{kind}: {first}{others} ({})", super::numbers(&trials));
        text.push_str(&wrapped(&format!("  [{number}] "), &line));
    }
}
