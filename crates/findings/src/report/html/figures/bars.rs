//! (pure) Figures that set two numbers of the same cell side by side.

use super::super::panel::{Axis, AxisPosition, Dash, GREY, Panel, PanelKind, Point, Trace};
use super::{Figure, Planned, megabytes, point};
use crate::report::cells::{self, CellGroup, CellRow};
use crate::report::words;
use experiment::knob;
use experiment::measurement::figure_names;

/// More groups of bars than this are not told apart.
const PLACES_MAX: usize = 12;

/// Knobs that decide whether a read is served from memory; cells that differ in nothing else of
/// weight are set side by side.
const CACHE_KNOBS: &[&str] = &["direct", "cold"];

/// The same files from cache and from the device.
pub fn cache(groups: &[CellGroup<'_>]) -> Planned {
    let rows = cells::rows(groups.iter());
    let partners = |cached: &CellRow<'_>| -> Vec<&CellRow<'_>> {
        rows.iter().copied().filter(|row| same_but_for_cache(row, cached)).collect()
    };
    let warm = rows.iter().copied().filter(|row| words::warm(&row.cell.settings));
    let warm: Vec<&CellRow<'_>> =
        warm.filter(|cached| partners(cached).len() > 1).take(PLACES_MAX).collect();
    let (common, names) = names(&warm);
    let mut bars: [Vec<Point>; 3] = Default::default();
    for (cached, name) in warm.iter().zip(names) {
        let place = AxisPosition::Name(name);
        for row in partners(cached) {
            let settings = &row.cell.settings;
            let kind = match () {
                () if words::warm(settings) => 2,
                () if settings.get(knob::DIRECT) => 0,
                () => 1,
            };
            let taken = bars[kind].iter().any(|bar| bar.x == place);
            if let (false, Some(estimate)) =
                (taken, cells::figure(row.cell, figure_names::THROUGHPUT))
            {
                bars[kind].push(point(place.clone(), row, estimate, megabytes));
            }
        }
    }
    let [direct, cold, cached] = bars;
    let traces = vec![
        trace("device, direct", 0, direct),
        trace("device, through a cold cache", 1, cold),
        trace("from cache", GREY, cached),
    ];
    let figure = Figure {
        id: "cache",
        title: "Cache against device",
        about:
            "The same files, read from memory and from the device. Hatched grey is the speed of \
                memory: it says nothing of the storage."
                .to_owned(),
        panels: panel("cache-throughput", "MB/s", &common, &[figure_names::THROUGHPUT], traces),
        message: String::new(),
    };
    (figure, &["cache", "memory"])
}

fn same_but_for_cache(row: &CellRow<'_>, cached: &CellRow<'_>) -> bool {
    let settings = &row.cell.settings;
    let has = settings.has(knob::DIRECT) && settings.has(knob::COLD) && settings.has(knob::ACCESS);
    has && settings.iter().all(|(knob, held)| {
        CACHE_KNOBS.contains(&knob)
            || knob::INCIDENTAL.contains(&knob)
            || cells::value(cached.cell, knob) == Some(held)
    })
}

/// Writes: when the kernel had taken the bytes, and when they were on the device.
pub fn durable(groups: &[CellGroup<'_>]) -> Planned {
    let rows = cells::rows(groups.iter());
    let rows = rows
        .into_iter()
        .filter(|row| cells::figure(row.cell, figure_names::DURABLE_THROUGHPUT).is_some());
    // Apart, as what a mix of small operations writes would not be seen beside large writes.
    let (mixed, alone): (Vec<_>, Vec<_>) = rows.partition(|row| words::mixes(&row.cell.settings));
    let mut panels = durable_panel("durable-throughput", "MB/s", alone);
    panels.extend(durable_panel("durable-mixed", "MB/s written", mixed));
    let figure = Figure {
        id: "durable",
        title: "Accepted against durable",
        about: "Writing: bytes over the time until the kernel had taken them (hatched grey: part \
                of them is still in memory), and over the time until fsync had returned."
            .to_owned(),
        panels,
        message: String::new(),
    };
    (figure, &["writ", "durable"])
}

fn durable_panel(id: &str, title: &str, mut written: Vec<&CellRow<'_>>) -> Vec<Panel> {
    written.truncate(PLACES_MAX);
    let (common, names) = names(&written);
    let (mut accepted, mut durable) = (Vec::new(), Vec::new());
    for (row, name) in written.into_iter().zip(names) {
        let place = AxisPosition::Name(name);
        let taken = durable.iter().any(|bar: &Point| bar.x == place);
        if taken {
            continue;
        }
        let add = |name, bars: &mut Vec<Point>| {
            if let Some(estimate) = cells::figure(row.cell, name) {
                bars.push(point(place.clone(), row, estimate, megabytes));
            }
        };
        add(figure_names::ACCEPTED_THROUGHPUT, &mut accepted);
        add(figure_names::DURABLE_THROUGHPUT, &mut durable);
    }
    let traces =
        vec![trace("accepted by the kernel", GREY, accepted), trace("durable", 0, durable)];
    panel(
        id,
        title,
        &common,
        &[figure_names::ACCEPTED_THROUGHPUT, figure_names::DURABLE_THROUGHPUT],
        traces,
    )
}

/// Knobs by which bars are named.
const NAMING: &[&str] = &["access", "streams", "block-size", "queue-depth", "directories"];

/// Splits what rows do into what all of them do, for the axis, and a name for each, short enough
/// to stand under a bar.
fn names(rows: &[&CellRow<'_>]) -> (String, Vec<String>) {
    let told = |row: &CellRow<'_>, knob: &str| {
        cells::value(row.cell, knob).map(|held| words::phrase(knob, held))
    };
    let (mut common, mut apart) = (Vec::new(), Vec::new());
    for knob in NAMING {
        let Some(first) = rows.first().and_then(|row| told(row, knob)) else { continue };
        match rows.iter().all(|row| told(row, knob).as_ref() == Some(&first)) {
            // One directory of all is in the title of the page.
            true if *knob == "directories" => {}
            true => common.push(first),
            false => apart.push(*knob),
        }
    }
    let name = |row: &&CellRow<'_>| {
        let parts: Vec<String> = apart.iter().filter_map(|knob| told(row, knob)).collect();
        parts.join("\n")
    };
    (common.join(", "), rows.iter().map(name).collect())
}

fn trace(name: &str, hue: u8, points: Vec<Point>) -> Trace {
    Trace { name: name.to_owned(), hue, dash: Dash::Solid, points }
}

fn panel(
    id: &str,
    title: &str,
    common: &str,
    figures: &[&'static str],
    mut traces: Vec<Trace>,
) -> Vec<Panel> {
    traces.retain(|trace| !trace.points.is_empty());
    if traces.len() < 2 {
        return Vec::new();
    }
    let x = Axis::linear(common);
    vec![Panel {
        id: id.to_owned(),
        kind: PanelKind::Bars,
        x,
        y: Axis::linear(title),
        traces,
        laws: Vec::new(),
        figures: figures.to_vec(),
        trials: Vec::new(),
    }]
}
