//! (pure) What each knob of a plan does, one table a workload.

use super::grid::{Grid, Side};
use super::{Input, plain};
use crate::analysis::effects::{Beside, Effects, KnobEffect};
use crate::measurement::origin::Verdict;
use crate::report::words;
use crate::stats::Estimate;
use crate::stats::main_effects::CHANCE;
use crate::value::{Value, percent, setting, significant};

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
    format!("Effects in {} ({}, {origin})", effects.group, words::figure(effects.figure))
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
    ("effect", Side::Left),
];

/// Its rows, one a knob; and one more of a knob that others follow, for what they do together.
pub fn rows(effects: &Effects) -> impl Iterator<Item = Vec<String>> {
    effects.knobs.iter().flat_map(|knob| {
        let Some(beside) = &knob.beside else { return vec![row(knob, knob.matters)] };
        let shown = |chance: Option<f64>| chance.map(|chance| chance <= CHANCE);
        let alone = knob.span.as_ref().and_then(|span| shown(span.chance));
        vec![row(knob, alone), together(effects, knob, beside, shown(beside.chance))]
    })
}

fn row(knob: &KnobEffect, shown: Option<bool>) -> Vec<String> {
    let mut row = vec![knob.knob.to_owned(), knob.scope.to_owned()];
    if let Some(span) = &knob.span {
        row.extend([level(&setting(&span.most)), level(&setting(&span.least))]);
        let share = knob.omega_squared.map_or(knob.share, |share| share.value);
        row.extend([significant(span.ratio.value), ends(&span.ratio), percent(share)]);
    } else {
        row.resize(7, String::new());
    }
    row.push(matters(shown, knob.span.is_some()).to_owned());
    row
}

/// A knob and what follows it, of which the share of the variance stands in the row above.
fn together(
    effects: &Effects,
    knob: &KnobEffect,
    beside: &Beside,
    shown: Option<bool>,
) -> Vec<String> {
    let follow = effects.following.iter().filter(|it| it.from == [knob.knob]);
    let names: Vec<&str> = std::iter::once(knob.knob).chain(follow.map(|it| it.knob)).collect();
    let levels = |of: &[Value]| level(&of.iter().map(setting).collect::<Vec<_>>().join(", "));
    let (most, least) = (levels(&beside.most), levels(&beside.least));
    let ratio = significant(beside.ratio.value);
    let matters = matters(shown, true).to_owned();
    let scope = knob.scope.to_owned();
    let ends = ends(&beside.ratio);
    vec![names.join(" and "), scope, most, least, ratio, ends, String::new(), matters]
}

fn level(text: &str) -> String {
    words::clipped(&plain(text), 14)
}

fn ends(ratio: &Estimate) -> String {
    ratio.interval.map_or_else(
        || "none".to_owned(),
        |ends| format!("{} to {}", significant(ends.low), significant(ends.high)),
    )
}

fn table(effects: &Effects) -> String {
    let mut grid = Grid::new(&HEADS);
    rows(effects).for_each(|row| grid.row(row));
    grid.render()
}

fn matters(shown: Option<bool>, separable: bool) -> &'static str {
    match (shown, separable) {
        (Some(true), _) => "shown",
        (Some(false), _) => "not shown",
        (None, true) => "not tested",
        (None, false) => "not separable",
    }
}
