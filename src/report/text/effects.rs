//! (pure) What each knob of a plan does, one table a workload.

use super::grid::{Grid, Side};
use super::{Input, plain};
use crate::analysis::effects::{Effects, KnobEffect};
use crate::measurement::origin::Verdict;
use crate::report::words;
use crate::value::{percent, setting, significant};

/// Appends the tables; none when nothing was varied.
pub fn render(input: &Input<'_>, text: &mut String) {
    for effects in &input.effects {
        let origin = match effects.origin {
            Verdict::None => "written".to_owned(),
            verdict => format!("origin: {}", verdict.name()),
        };
        let title = format!("Effects in {} ({}, {origin})", effects.group, effects.figure);
        text.push_str(&format!("\n{}\n", plain(&title)));
        text.push_str(&table(effects));
    }
}

fn table(effects: &Effects) -> String {
    let mut grid = Grid::new(&[
        ("knob", Side::Left),
        ("scope", Side::Left),
        ("most", Side::Left),
        ("least", Side::Left),
        ("ratio", Side::Right),
        ("95 %", Side::Left),
        ("of variation", Side::Right),
        ("matters", Side::Left),
    ]);
    for knob in &effects.knobs {
        let mut row = vec![knob.knob.to_owned(), knob.scope.to_owned()];
        if let Some(span) = &knob.span {
            let level = |value| words::clipped(&plain(&setting(value)), 14);
            let ends = span.ratio.interval.map_or_else(
                || "none".to_owned(),
                |ends| format!("{} to {}", significant(ends.low), significant(ends.high)),
            );
            row.extend([level(&span.most), level(&span.least)]);
            row.extend([significant(span.ratio.value), ends, percent(knob.share)]);
        } else {
            row.resize(7, String::new());
        }
        row.push(matters(knob).to_owned());
        grid.row(row);
    }
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
