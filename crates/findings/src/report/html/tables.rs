//! (pure) Tables of the page: cells, trials, settings. They need no script.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::panel::{self, AxisPosition, Panel, PanelKind, Point};
use super::{sql, varying};
use crate::report::cells::{self, CellGroup, CellRow, FigureOrigin};
use crate::report::reach::Reach;
use crate::report::{Input, TrialView, operations, per_cpu, programs, reported, words};
use base::stats::Estimate;
use base::value::{self, Value, counted};
use experiment::knob::{self, Settings, distinct};
use experiment::measurement::figure_names::{self, ACCEPTED_THROUGHPUT, THROUGHPUT};
use experiment::measurement::{Record, origin::Verdict};

/// The table of trials may grow to this many bytes where all trials fit in.
const TRIALS_BYTES_MAX: usize = 8 << 20;
/// Where they do not, the first ones are shown up to this many bytes; the rest are in the other
/// formats. A browser takes longer to read a table than to draw every figure of the page.
const SOME_TRIALS_BYTES_MAX: usize = 2 << 20;

/// Rows of all tables of cells together, of some 800 bytes each; the cells beyond are in the other
/// formats.
const CELLS_MAX: usize = 8000;

/// A table in a box of its own that scrolls sideways, so that the page never does.
pub fn boxed(label: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}

/// Links to the first `most` of these trials, and how many more there are.
pub fn linked(trials: &[u32], most: usize) -> Markup {
    html! {
        @for (place, number) in trials.iter().take(most).enumerate() {
            @if place > 0 { ", " }
            a href=(format!("#t{number}")) { (number) }
        }
        @if trials.len() > most { " and " (trials.len() - most) " more" }
    }
}

/// Text with its `quoted` words set as code, and no line that begins with a unit.
pub fn coded(text: &str) -> Markup {
    let text = words::bound(text);
    html! { @for (place, part) in text.split('`').enumerate() {
        @if place % 2 == 1 { code { (part) } } @else { (unbroken(part)) }
    } }
}

/// Text in which no line breaks within `3.4e-13`, as it may after any hyphen.
fn unbroken(text: &str) -> Markup {
    let is_small = |word: &str| {
        word.split_once("e-").is_some_and(|(digits, power)| {
            digits.ends_with(|c: char| c.is_ascii_digit())
                && power.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    // A browser ends a line after the first two letters of `--budget`, too.
    let is_whole = |word: &str| is_small(word) || word.starts_with("--");
    if !text.split(' ').any(is_whole) {
        return html! { (text) };
    }
    html! { @for (place, word) in text.split(' ').enumerate() {
        @if place > 0 { " " }
        @if is_whole(word) { span.whole { (word) } } @else { (word) }
    } }
}

/// A figure with its interval; grey, hatched and marked unless it is the device's. The mark stands
/// first, so that figures of one column stay in line.
fn figure(estimate: Option<Estimate>, source: FigureOrigin, print: fn(f64) -> String) -> Markup {
    marked(estimate, source, source.mark(), print)
}

/// The first figure of a row: its mark is a word.
fn leading(estimate: Option<Estimate>, source: FigureOrigin, print: fn(f64) -> String) -> Markup {
    marked(estimate, source, source.name(), print)
}

fn marked(
    estimate: Option<Estimate>,
    source: FigureOrigin,
    mark: &str,
    print: fn(f64) -> String,
) -> Markup {
    let Some(estimate) = estimate else { return html! { td.number { "\u{2013}" } } };
    let foreign = !source.is_device();
    let spread = Reach::from_estimate(&estimate).map(Reach::signed);
    html! {
        td.number.foreign[foreign] data-v=(format!("{:.6e}", estimate.value)) {
            @if foreign { span.badge title=(source.meaning()) { (mark) } " " }
            (print(estimate.value))
            @if let Some(spread) = spread { " " span.spread { (spread) } }
        }
    }
}

fn megabytes(per_s: f64) -> String {
    value::significant(per_s / 1e6)
}

fn mebibytes(per_s: f64) -> String {
    value::significant(per_s / f64::from(1 << 20))
}

/// One table a group.
pub fn groups(input: &Input<'_>) -> Markup {
    html! {
        @for (group, left_out) in bounded(cells::groups(input), CELLS_MAX) {
            h3 { (group.name) }
            p.quiet { (group.common()) }
            @if programs::are_in(&group) {
                (boxed(&format!("Programs of {}", group.name), &of_programs(input, &group)))
                (sql::of_programs(input, &group))
            }
            @if reported::are_in(&group) {
                (boxed(&format!("Reported of {}", group.name), &of_others(input, &group)))
                (sql::of_others(input, &group))
            }
            @if operations::are_in(&group) {
                (boxed(&format!("Operations of {}", group.name), &of_operations(&group)))
                (sql::of_operations(input, &group))
                (of_machines(&group))
                @for told in per_cpu::cpu_shares(input, &group) { (of_cpus(&told)) }
            } @else if !reported::are_all(&group) {
                (boxed(&format!("Figures of {}", group.name), &group_table(&group)))
                (sql::of_group(input, &group))
            }
            @if left_out > 0 {
                p { (left_out) " more cells are in the store: "
                    code { "brickyard report --format json" } }
            }
        }
    }
}

/// The groups with at most `most` rows together, the first ones whole; and how many rows each lost.
fn bounded(groups: Vec<CellGroup<'_>>, most: usize) -> Vec<(CellGroup<'_>, usize)> {
    let (mut room, mut bounded) = (most, Vec::with_capacity(groups.len()));
    for mut group in groups {
        let left_out = group.rows.len().saturating_sub(room);
        room -= group.rows.len() - left_out;
        group.rows.truncate(group.rows.len() - left_out);
        bounded.push((group, left_out));
    }
    bounded
}

/// Time, processor and memory of programs, and what they said themselves.
fn of_programs(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    let said = programs::said(input, group);
    let columns = programs::COLUMNS.iter().copied().chain(said.iter().map(|name| (*name, *name)));
    let columns: Vec<(&str, &str)> = columns.collect();
    html! {
        table {
            thead { tr {
                @for knob in &group.varying { th scope="col" { (knob.replace('-', " ")) } }
                @for (_, head) in &columns { th.number scope="col" { (head) } }
                th.number scope="col" { "n" }
            } }
            tbody { @for row in &group.rows { tr {
                @for knob in &group.varying { (held(&row.cell.settings, knob, false)) }
                @for (name, _) in &columns {
                    td.number { (programs::cell(row.cell.figures.get(name).copied(), name)) }
                }
                td.number { (row.cell.trials.len()) }
            } } }
        }
    }
}

/// What both machines did, of loads over a network; nothing of others.
fn of_machines(group: &CellGroup<'_>) -> Markup {
    let columns = operations::of_machines(group);
    let table = html! {
        table {
            thead { tr {
                @for knob in &group.varying { th scope="col" { (knob.replace('-', " ")) } }
                @for column in &columns { th.number scope="col" { (column.head) } }
            } }
            tbody { @for row in &group.rows { tr {
                @for knob in &group.varying { (held(&row.cell.settings, knob, false)) }
                @for column in &columns {
                    (figure(cells::figure(row.cell, column.name), row.source, column.print))
                }
            } } }
        }
    };
    html! {
        @if !columns.is_empty() {
            p.quiet { (operations::OF_MACHINES) "." }
            (boxed(&format!("Machines of {}", group.name), &table))
        }
    }
}

/// What each CPU did in one trial.
fn of_cpus(told: &per_cpu::TrialCpuShares) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th.number scope="col" { "CPU" }
                @for kind in per_cpu::KINDS { th.number scope="col" { (kind) } }
            } }
            tbody { @for (number, shares) in &told.cpus { tr {
                th.number scope="row" { (number) }
                @for share in shares { td.number { (per_cpu::percent(*share)) } }
            } } }
        }
    };
    html! {
        p.quiet { (told.title()) }
        (boxed(&told.title(), &table))
        p.quiet { "It is of samples, which the store keeps packed (table " code { "sample" }
            "): no SQL gives it; " code { "brickyard report --format json" } " does." }
    }
}

/// Operations per second, and what each took.
fn of_operations(group: &CellGroup<'_>) -> Markup {
    let columns = operations::columns(group);
    let noted = group.rows.iter().any(|row| !row.notes.is_empty());
    html! {
        table {
            thead { tr {
                @for knob in &group.varying { th scope="col" { (knob.replace('-', " ")) } }
                @for column in &columns { th.number scope="col" { (column.head) } }
                th.number scope="col" { "n" }
                @if noted { th scope="col" { "notes" } }
            } }
            tbody { @for row in &group.rows { tr {
                @for knob in &group.varying { (held(&row.cell.settings, knob, false)) }
                @for (place, column) in columns.iter().enumerate() {
                    @let found = cells::figure(row.cell, column.name);
                    @if place == 0 { (leading(found, row.source, column.print)) }
                    @else { (figure(found, row.source, column.print)) }
                }
                td.number { (row.cell.trials.len()) }
                @if noted {
                    td.wraps { (row.notes.iter().copied().collect::<Vec<_>>().join(", ")) }
                }
            } } }
        }
    }
}

/// Figures that others reported, without any mark of ours.
fn of_others(input: &Input<'_>, group: &CellGroup<'_>) -> Markup {
    let sheet = reported::sheet(input, group);
    html! {
        table {
            caption { (sheet.source) }
            thead { tr {
                @for (place, head) in sheet.heads.iter().enumerate() {
                    th.number[place > 0] scope="col" { (head) }
                }
            } }
            tbody { @for row in &sheet.rows { tr {
                @for (place, cell) in row.iter().enumerate() {
                    @if place == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                }
            } } }
        }
    }
}

fn group_table(group: &CellGroup<'_>) -> Markup {
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let noted = group.rows.iter().any(|row| !row.notes.is_empty());
    html! {
        table {
            thead { tr {
                @for knob in &group.varying { th scope="col" { (knob.replace('-', " ")) } }
                @if written {
                    th.number scope="col" { "accepted MB/s" }
                    th.number scope="col" { "durable MB/s" }
                } @else {
                    th.number scope="col" { "MB/s" }
                    th.number scope="col" { "MiB/s" }
                    th.number scope="col" { "naive MB/s" }
                }
                th.number scope="col" { "IOPS" }
                th.number scope="col" { "p50" }
                th.number scope="col" { "p99" }
                th.number scope="col" { "n" }
                @if !written { th scope="col" { "origin" } }
                @if noted { th scope="col" { "notes" } }
            } }
            tbody { @for row in &group.rows { (group_row(group, row, written, noted)) } }
        }
    }
}

fn group_row(group: &CellGroup<'_>, row: &CellRow<'_>, written: bool, noted: bool) -> Markup {
    let get = |name| cells::figure(row.cell, name);
    // The binary unit repeats the figure beside it, so it does without the interval.
    let bare = get(THROUGHPUT).map(|estimate| Estimate::bare(estimate.value));
    html! {
        tr {
            @for knob in &group.varying {
                th scope="row" {
                    @if let Some(held) = cells::value(row.cell, knob) { (value::setting(held)) }
                }
            }
            @if written {
                (leading(get(ACCEPTED_THROUGHPUT).or(get(THROUGHPUT)), row.source, megabytes))
                (figure(get(figure_names::DURABLE_THROUGHPUT), row.source, megabytes))
            } @else {
                (leading(get(THROUGHPUT), row.source, megabytes))
                (figure(bare, row.source, mebibytes))
                (figure(get(figure_names::NAIVE_THROUGHPUT), row.source, megabytes))
            }
            (figure(get(figure_names::IOPS), row.source, value::iops))
            (figure(get(figure_names::LATENCY_P50), row.source, value::duration))
            (figure(get(figure_names::LATENCY_P99), row.source, value::duration))
            td.number { (row.cell.trials.len()) }
            @if !written { td { (row.source.name()) } }
            @if noted { td.wraps { (row.notes.iter().copied().collect::<Vec<_>>().join(", ")) } }
        }
    }
}

/// What a panel draws, as a table.
pub fn panel(panel: &Panel) -> Markup {
    if panel.kind == PanelKind::Distribution {
        return percentiles(panel);
    }
    let mut places: Vec<&AxisPosition> = Vec::new();
    for point in panel.traces.iter().flat_map(|trace| &trace.points) {
        if !places.contains(&&point.x) {
            places.push(&point.x);
        }
    }
    let label = |place: &AxisPosition| match place {
        AxisPosition::Name(name) => name.replace('\n', ", "),
        AxisPosition::Number(x) => {
            let tick = panel.x.ticks.iter().find(|(at, _)| at == x);
            tick.map_or_else(|| x.to_string(), |(_, label)| label.clone())
        }
    };
    let table = html! {
        table {
            thead { tr {
                th scope="col" { (panel.x.title) }
                @for trace in &panel.traces { th.number scope="col" { (trace.name) } }
            } }
            tbody { @for place in places { tr {
                th scope="row" { (label(place)) }
                @for trace in &panel.traces {
                    @let point = trace.points.iter().find(|point| point.x == *place);
                    td.number.foreign[point.is_some_and(|point| !point.mark.is_empty())]
                        data-v=[point.map(|point| panel::shortened(point.y))] {
                        @if let Some(point) = point {
                            @if !point.mark.is_empty() { span.badge { (point.mark) } " " }
                            (point.figure)
                        }
                    }
                }
            } } }
        }
    };
    boxed(&format!("Data: {}", panel.y.title), &table)
}

/// A distribution: a row a percentile, as no two lines pass the same latency.
fn percentiles(panel: &Panel) -> Markup {
    let named =
        |point: &Point| point.figure.split_once(" within ").map(|(name, _)| name.to_owned());
    let mut rows: Vec<(f64, String)> = Vec::new();
    for point in panel.traces.iter().flat_map(|trace| &trace.points) {
        if let (false, Some(name)) = (rows.iter().any(|(y, _)| *y == point.y), named(point)) {
            rows.push((point.y, name));
        }
    }
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let table = html! {
        table {
            thead { tr {
                th scope="col" { (panel.y.title) }
                @for trace in &panel.traces { th.number scope="col" { (trace.name) } }
            } }
            tbody { @for (y, name) in rows { tr {
                th.number scope="row" { (name) }
                @for trace in &panel.traces {
                    @let point = trace.points.iter().find(|point| point.y == y);
                    td.number.foreign[point.is_some_and(|point| !point.mark.is_empty())] {
                        @if let Some(point) = point {
                            @if !point.mark.is_empty() { span.badge { (point.mark) } " " }
                            (point.figure.split_once(" within ").map_or("", |(_, time)| time))
                        }
                    }
                }
            } } }
        }
    };
    boxed(&format!("Data: {}", panel.x.title), &table)
}

/// Every trial with its notes; and how many did not fit.
pub fn trials(input: &Input<'_>) -> (Markup, usize) {
    let (sizes, varying): (Vec<_>, Vec<_>) =
        varying::varying(input).into_iter().partition(|knob| knob::INCIDENTAL.contains(knob));
    let mut rows = Vec::new();
    let (mut bytes, mut some) = (0, 0);
    for (record, view) in input.records.iter().zip(&input.trials) {
        let row = trial(record, view, &varying, &sizes);
        bytes += row.0.len();
        if bytes > TRIALS_BYTES_MAX {
            rows.truncate(some);
            break;
        }
        rows.push(row);
        if bytes <= SOME_TRIALS_BYTES_MAX {
            some = rows.len();
        }
    }
    let left_out = input.records.len().min(input.trials.len()) - rows.len();
    let table = html! {
        table #trials-table {
            thead { tr {
                th.number scope="col" data-sort="number" { "trial" }
                th scope="col" data-sort="text" { "group" }
                @for knob in &varying {
                    th scope="col" data-sort="number" { (knob.replace('-', " ")) }
                }
                th.number scope="col" data-sort="number" { "rep." }
                th.number scope="col" data-sort="number" { "MB/s" }
                th.number scope="col" data-sort="number" { "IOPS" }
                th.number scope="col" data-sort="number" { "p50" }
                th.number scope="col" data-sort="number" { "p99" }
                th scope="col" data-sort="text" { "origin" }
                th scope="col" data-sort="text" { "steady" }
                th scope="col" data-sort="text" { "notes" }
                @for knob in &sizes {
                    th.size scope="col" data-sort="number" { (knob.replace('-', " ")) }
                }
            } }
            tbody { @for row in &rows { (row) } }
        }
    };
    let sql = sql::of_trials(input, &varying, &sizes);
    (html! { div.wide { (boxed("All trials", &table)) } (sql) }, left_out)
}

fn trial(
    record: &Record,
    view: &TrialView,
    varying: &[&'static str],
    sizes: &[&'static str],
) -> Markup {
    let trial = &record.trial;
    let source = FigureOrigin::from_trial(view);
    let others = record.outcome.measurement().and_then(|it| it.reported.as_ref());
    let get = |name| view.figures.get(name).copied().filter(|e: &Estimate| e.value.is_finite());
    let steady = match view.steady {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not tested",
    };
    let why = record.outcome.why().map(|why| (record.outcome.name(), why));
    html! {
        tr id=(format!("t{}", trial.number)) {
            th.number scope="row" data-v=(trial.number) { (trial.number) }
            td { (trial.group) }
            @for knob in varying { (held(&trial.settings, knob, false)) }
            td.number { (trial.replicate) }
            (figure(get(THROUGHPUT), source, megabytes))
            (figure(get(figure_names::IOPS), source, value::iops))
            (figure(get(figure_names::LATENCY_P50), source, value::duration))
            (figure(get(figure_names::LATENCY_P99), source, value::duration))
            td { @if let Some(origin) = &view.origin {
                (origin.verdict.name())
                @let mixed = origin.verdict == Verdict::Mixed;
                @if let Some(share) = origin.device_share.filter(|_| mixed) {
                    " (" (value::percent(share)) " device)"
                }
            } }
            td { @if why.is_none() { (steady) } }
            td.notes {
                @if let Some(of) = others {
                    p { "reported by " (of.by) " (" (of.place) "): "
                        (of.figures.iter().map(reported::told).collect::<Vec<_>>().join(", ")) }
                }
                @if let Some((outcome, why)) = why { p { strong { (outcome) } ": " (why) } }
                @for note in view.notes.iter() {
                    details { summary { (note.kind) } p { (note.text) } }
                }
            }
            @for knob in sizes { (held(&trial.settings, knob, true)) }
        }
    }
}

/// The cell of a setting in the table of trials.
fn held(settings: &Settings, knob: &'static str, size: bool) -> Markup {
    let held = settings.named(knob);
    html! { td.size[size] data-v=[sort_key(settings, knob)] {
        @if let Some(held) = held { (value::setting(held)) }
    } }
}

fn sort_key(settings: &Settings, knob: &str) -> Option<String> {
    let number = settings.named(knob)?.number();
    number.is_finite().then(|| number.to_string())
}

/// Every setting: the value that all trials have, or which values there are.
pub fn settings(input: &Input<'_>) -> Markup {
    let varying = varying::varying(input);
    let mut values: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for settings in distinct(input.records.iter().map(|record| &record.trial.settings)) {
        for (knob, held) in settings.iter() {
            let known = values.entry(knob).or_default();
            // A knob with very many levels is told by its first ones.
            if known.len() < 33 && !known.contains(&held) {
                known.push(held);
            }
        }
    }
    let print = |held: &[&Value]| {
        let texts = held.iter().take(32).map(|held| value::setting(held)).collect::<Vec<_>>();
        let more = if held.len() > 32 { ", \u{2026}" } else { "" };
        format!("{}{more}", texts.join(", "))
    };
    let engines = input.records.iter().map(|record| record.trial.settings.engine());
    let engines: BTreeSet<&str> = engines.collect();
    let defaults: Vec<Settings> = engines.into_iter().map(Settings::defaults).collect();
    // What has its default everywhere nobody touched.
    let touched = |name: &str, held: &[&Value]| {
        let is_default = |one: &Settings| one.named(name).is_none_or(|value| held == [value]);
        !defaults.iter().all(is_default)
    };
    let known = knob::KNOBS.iter().filter_map(|knob| Some((*knob, values.get(knob.name)?)));
    let (first, rest): (Vec<_>, Vec<_>) = known.partition(|(knob, held)| touched(knob.name, held));
    let table = |knobs: &[(&knob::Knob, &Vec<&Value>)]| {
        html! {
            table {
                thead { tr {
                    th scope="col" { "knob" } th scope="col" { "value" }
                    th scope="col" { "what it is" }
                } }
                tbody { @for (knob, held) in knobs { tr {
                    th scope="row" { code { (knob.name) } }
                    td.wraps {
                        (print(held))
                        @if varying.contains(&knob.name) { " " span.badge { "varies" } }
                    }
                    td.quiet { (coded(knob.about)) }
                } } }
            }
        }
    };
    let names: Vec<&str> = first.iter().map(|(knob, _)| knob.name).collect();
    html! {
        (boxed("Settings", &table(&first)))
        (sql::of_settings(input, &names, false))
        @if !rest.is_empty() {
            details.rest {
                summary { (counted(rest.len() as u64, "more knob")) " at their defaults" }
                (boxed("Settings at their defaults", &table(&rest)))
                (sql::of_settings(input, &names, true))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    /// The first of 162 rows was a knob that nobody had touched, and so were 150 of the others.
    #[test]
    fn settings_that_nobody_touched_are_folded() {
        let fixture = fixture::evaluated();
        let page = settings(&fixture.input()).into_string();
        let (first, rest) = page.split_once("<details class=\"rest\">").expect("a fold");
        let row = |knob: &str| format!("<code>{knob}</code>");
        assert!(first.contains(&row("streams")) && !rest.contains(&row("streams")), "{first}");
        assert!(rest.contains(&row("zipf-theta")) && !first.contains(&row("zipf-theta")));
        assert!(first.matches("<tr>").count() < 20, "{first}");
        assert!(rest.contains(" more knobs at their defaults"), "{rest}");
    }

    /// A campaign of 20 000 cells made tables of 16 MB, and a page that no browser liked.
    #[test]
    fn tables_of_cells_are_bounded_and_what_is_left_out_is_counted() {
        let fixture = fixture::evaluated();
        let input = fixture.input();
        let all: usize = cells::groups(&input).iter().map(|group| group.rows.len()).sum();
        let bounded = super::bounded(cells::groups(&input), 10);
        let shown: usize = bounded.iter().map(|(group, _)| group.rows.len()).sum();
        let lost: usize = bounded.iter().map(|(_, lost)| lost).sum();
        assert_eq!((shown, shown + lost), (10, all));
        assert_eq!(bounded[0].1, 0, "the first group is whole");
        assert!(super::bounded(cells::groups(&input), all).iter().all(|(_, lost)| *lost == 0));
    }
}
