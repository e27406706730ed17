//! (pure) What each knob of a plan does, one table a workload.

use super::grid::{Grid, Side};
use super::{Input, plain};
use crate::analysis::effects::{Effects, KnobEffect};
use crate::measurement::origin::Verdict;
use crate::report::words;
use crate::value::{percent, setting, significant};

/// Appends the tables; none when nothing was varied.
pub fn render(input: &Input<'_>, text: &mut String) {
    for effects in &input.shown.effects {
        text.push_str(&format!("\n{}\n", plain(&title(effects))));
        text.push_str(&table(effects));
    }
}

/// Over a table.
pub fn title(effects: &Effects) -> String {
    let origin = match effects.origin {
        Verdict::None => "written".to_owned(),
        verdict => format!("origin: {}", verdict.name()),
    };
    format!("Effects in {} ({}, {origin})", effects.group, effects.figure)
}

/// Heads of its columns.
pub const HEADS: [(&str, Side); 8] = [
    ("knob", Side::Left),
    ("scope", Side::Left),
    ("most", Side::Left),
    ("least", Side::Left),
    ("ratio", Side::Right),
    ("95 %", Side::Left),
    ("of variance", Side::Right),
    ("matters", Side::Left),
];

/// Its rows, one a knob.
pub fn rows(effects: &Effects) -> impl Iterator<Item = Vec<String>> {
    effects.knobs.iter().map(|knob| {
        let mut row = vec![knob.knob.to_owned(), knob.scope.to_owned()];
        if let Some(span) = &knob.span {
            let level = |value| words::clipped(&plain(&setting(value)), 14);
            let ends = span.ratio.interval.map_or_else(
                || "none".to_owned(),
                |ends| format!("{} to {}", significant(ends.low), significant(ends.high)),
            );
            row.extend([level(&span.most), level(&span.least)]);
            let share = knob.omega_squared.map_or(knob.share, |share| share.value);
            row.extend([significant(span.ratio.value), ends, percent(share)]);
        } else {
            row.resize(7, String::new());
        }
        row.push(matters(knob).to_owned());
        row
    })
}

fn table(effects: &Effects) -> String {
    let mut grid = Grid::new(&HEADS);
    rows(effects).for_each(|row| grid.row(row));
    grid.render()
}

fn matters(knob: &KnobEffect) -> &'static str {
    match (knob.matters, &knob.span) {
        (Some(true), _) => "yes",
        (Some(false), _) => "not shown",
        (None, Some(_)) => "not tested",
        (None, None) => "not separable",
    }
}
