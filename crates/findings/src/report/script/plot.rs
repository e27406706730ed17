//! (pure) The first plot of a script: the bars of the core set, where they were measured; else the
//! axis that the report would choose, over the trials of one group, with what came from elsewhere
//! than the device told apart.

use std::collections::BTreeMap;

use super::{Language, Table};
use crate::report::cells::{self, CellGroup};
use crate::report::{Input, bars, operations, programs, words};
use base::stats::t_quantile;
use experiment::measurement::figure_names;

/// What is drawn; of nothing, nothing.
#[derive(Default)]
pub struct Plot {
    title: String,
    subtitle: String,
    /// Trials of this group, and these.
    group: Option<String>,
    also: Vec<u32>,
    /// Columns, by their name in the script.
    axis: Option<String>,
    axis_title: String,
    lines: Vec<String>,
    figure: Option<String>,
    figure_title: String,
    /// The figure is shown times this.
    scale: f64,
    /// Origins that are not the device, each with what that means.
    foreign: Vec<(String, String)>,
}

/// What all have in common; and that the script's intervals know each cell alone, where the
/// report's are of a pooled spread.
fn subtitle(group: &CellGroup<'_>, figure: &str) -> String {
    let pooled = group.rows.iter().any(|row| row.cell.pooled.contains_key(figure));
    let own = pooled.then(|| "intervals: each cell's own spread, not pooled".to_owned());
    let told = [Some(group.common()).filter(|common| !common.is_empty()), own];
    told.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The plot of the first group of the report.
pub fn first(input: &Input<'_>, table: &Table<'_>) -> Plot {
    let groups = cells::groups(input);
    let group = groups.iter().find(|group| figure(group).is_some());
    let Some((group, name)) = group.and_then(|group| Some((group, figure(group)?))) else {
        return Plot::default();
    };
    let knob = |knob: &str| table.name(|column| column.knob() == Some(knob)).map(str::to_owned);
    let unit = |name: &str| {
        let column = table.columns.iter().find(|column| column.knob() == Some(name));
        column.map_or("", |column| column.unit)
    };
    let axis = group.varying.first().copied();
    let axis_title = axis.map_or("trial".to_owned(), |name| {
        let unit = unit(name);
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        format!("{}{unit}", name.replace('-', " "))
    });
    let (scale, figure_title) = scaled(group, &name);
    let mut foreign: BTreeMap<String, String> = BTreeMap::new();
    for row in group.rows.iter().filter(|row| !row.source.is_device()) {
        foreign.insert(row.source.name().to_owned(), row.source.meaning().to_owned());
    }
    let keys = cells::keys(group).into_iter();
    Plot {
        title: group.name.to_owned(),
        subtitle: subtitle(group, &name),
        group: Some(group.name.to_owned()),
        also: cells::of_other_groups(input, group),
        axis: axis.and_then(knob),
        axis_title,
        lines: keys.filter(|knob| Some(*knob) != axis).filter_map(knob).collect(),
        figure: table.name(|column| column.is_figure(&name)).map(str::to_owned),
        figure_title,
        scale,
        foreign: foreign.into_iter().collect(),
    }
}

/// The figure that leads a group's table.
fn figure(group: &CellGroup<'_>) -> Option<String> {
    let has = |name: &str| group.rows.iter().any(|row| cells::figure(row.cell, name).is_some());
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let leading = match () {
        () if operations::are_in(group) => operations::columns(group).first().map(|it| it.name),
        () if programs::are_in(group) => programs::COLUMNS.first().map(|(name, _)| *name),
        // What was only accepted is not on the device.
        () if written => Some(figure_names::DURABLE_THROUGHPUT),
        () => Some(figure_names::THROUGHPUT),
    };
    let usual =
        [figure_names::DURABLE_THROUGHPUT, figure_names::THROUGHPUT, figure_names::OPS_PER_S];
    let known = leading.into_iter().chain(usual).find(|name| has(name)).map(str::to_owned);
    let mut any = group.rows.iter().flat_map(|row| row.cell.figures.keys());
    known.or_else(|| any.find(|name| has(name)).map(|name| name.to_string()))
}

/// By what a figure is multiplied, and what it is called then.
fn scaled(group: &CellGroup<'_>, name: &str) -> (f64, String) {
    let unit = super::columns::unit(name);
    let bare = name.trim_end_matches("_bytes_per_s").trim_end_matches("_per_s").replace('_', " ");
    match unit {
        "bytes/s" if operations::network(group) => (8e-9, format!("{bare} (Gb/s)")),
        "bytes/s" => (1e-6, format!("{bare} (MB/s)")),
        "1/s" => (1.0, format!("{bare} (1/s)")),
        "" | "1" => (1.0, name.replace('_', " ")),
        unit => (1.0, format!("{} ({unit})", name.replace('_', " "))),
    }
}

/// The places of a template that the first chart fills: a bar in each place of these lists.
pub fn of_bars(
    input: &Input<'_>,
    table: &Table<'_>,
    language: &Language,
) -> BTreeMap<&'static str, String> {
    let Language { text, list, .. } = language;
    let (mut panels, mut labels, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    let (mut scales, mut trials) = (Vec::new(), Vec::new());
    for (panel, bars) in bars::panels(input) {
        for bar in bars {
            let Some(column) = table.name(|column| column.is_figure(bar.figure)) else { continue };
            let numbers: Vec<String> = bar.each.iter().map(|(it, _)| it.to_string()).collect();
            panels.push(text(panel.title));
            labels.push(text(bar.label));
            columns.push(text(column));
            scales.push(format!("{:e}", panel.unit));
            trials.push(text(&numbers.join(" ")));
        }
    }
    BTreeMap::from([
        ("bar_panels", list(&panels)),
        ("bar_labels", list(&labels)),
        ("bar_columns", list(&columns)),
        ("bar_scales", list(&scales)),
        ("bar_trials", list(&trials)),
    ])
}

/// Degrees of freedom for which a script is given Student's quantile; beyond, it approximates.
const FREEDOM_MAX: u32 = 30;

/// The places of a template that a plot fills.
pub fn places(plot: &Plot, language: &Language) -> BTreeMap<&'static str, String> {
    let Language { text, list, none, .. } = language;
    let maybe = |held: &Option<String>| match held {
        Some(held) => text(held),
        None => (*none).to_owned(),
    };
    let texts = |all: &[String]| list(&all.iter().map(|it| text(it)).collect::<Vec<_>>());
    let numbers: Vec<String> = plot.also.iter().map(u32::to_string).collect();
    let t = (1..=FREEDOM_MAX).map(|freedom| format!("{:.6}", t_quantile(0.975, freedom.into())));
    let (foreign, meanings): (Vec<String>, Vec<String>) = plot.foreign.iter().cloned().unzip();
    BTreeMap::from([
        ("plot_title", text(&plot.title)),
        ("plot_subtitle", text(&plot.subtitle)),
        ("plot_group", maybe(&plot.group)),
        ("plot_also", list(&numbers)),
        ("plot_axis", maybe(&plot.axis)),
        ("plot_axis_title", text(&plot.axis_title)),
        ("plot_lines", texts(&plot.lines)),
        ("plot_figure", maybe(&plot.figure)),
        ("plot_figure_title", text(&plot.figure_title)),
        ("plot_scale", format!("{:e}", plot.scale)),
        ("plot_foreign", texts(&foreign)),
        ("plot_meanings", texts(&meanings)),
        ("student", list(&t.collect::<Vec<_>>())),
    ])
}
