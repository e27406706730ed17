//! (pure) What each level of each knob of a plan does.

use super::super::panel::{Axis, AxisPosition, Dash, Panel, PanelKind, Point, Trace};
use super::{Figure, message};
use crate::analysis::effects::{Effects, Interaction, InteractionLine, KnobEffect, Level};
use base::value::{setting, significant};
use experiment::measurement::origin::Verdict;

/// More levels than this cannot be told apart on one axis; the rest is in the JSON document.
const LEVELS_MAX: usize = 40;

/// A panel a workload; `None` when nothing was varied.
pub fn figure(all: &[Effects]) -> Option<Figure> {
    let panels: Vec<Panel> =
        all.iter().enumerate().filter_map(|(place, effects)| panel(place, effects)).collect();
    if panels.is_empty() {
        return None;
    }
    let message = message::main_message(&panels);
    let about = "Each level of each knob against the geometric mean over the levels of that knob, \
                 averaged over the levels of all other knobs: 1 is no effect. Intervals are 95 %, \
                 each from the error of the knob's scope; where there is none, the plan did not \
                 repeat what was compared.";
    Some(Figure {
        id: "effects",
        title: "What each knob does",
        about: about.to_owned(),
        panels,
        message,
    })
}

/// How many interactions are drawn of a workload, strongest first.
const INTERACTIONS_MAX: usize = 4;

/// A panel for each pair of knobs of which one is shown to depend on the other; `None` without any.
pub fn together(all: &[Effects]) -> Option<Figure> {
    let pairs: Vec<(&Effects, &Interaction)> = all.iter().flat_map(strongest).collect();
    let panels: Vec<Panel> = pairs
        .iter()
        .enumerate()
        .map(|(place, (effects, pair))| crossing(place, effects, pair))
        .collect();
    if panels.is_empty() {
        return None;
    }
    let message = message::main_message(&panels);
    let about = "What the levels of one knob do under each level of another, against the geometric \
                 mean over them there: lines that are not parallel say that the one depends on the \
                 other. Drawn where that is more than chance. Intervals are 95 %, each by itself.";
    Some(Figure {
        id: "interactions",
        title: "Knobs that act together",
        about: about.to_owned(),
        panels,
        message,
    })
}

/// The strongest interactions that can be drawn.
fn strongest(effects: &Effects) -> impl Iterator<Item = (&Effects, &Interaction)> {
    let pairs = effects.interactions.iter().flatten().filter(|it| !it.lines.is_empty());
    pairs.filter(|it| fits(it)).take(INTERACTIONS_MAX).map(move |it| (effects, it))
}

/// Whether so many levels can be told apart.
fn fits(it: &Interaction) -> bool {
    it.lines.len() <= 8 && it.lines.iter().all(|line| line.levels.len() <= LEVELS_MAX)
}

fn crossing(place: usize, effects: &Effects, pair: &Interaction) -> Panel {
    let first = pair.lines.iter().take(1).flat_map(|line| &line.levels).enumerate();
    let ticks = first.map(|(at, level)| (at as f64, setting(&level.level))).collect();
    let line = |(hue, line): (usize, &InteractionLine)| Trace {
        name: format!("{} {}", pair.on, setting(&line.under)),
        hue: hue as u8,
        dash: Dash::Solid,
        points: line
            .levels
            .iter()
            .enumerate()
            .map(|(at, level)| point(level, AxisPosition::Number(at as f64)))
            .collect(),
    };
    Panel {
        id: format!("interactions-{place}"),
        kind: PanelKind::Lines,
        x: Axis { ticks, ..Axis::linear(&format!("{} ({})", pair.knob, effects.group)) },
        y: Axis::linear("times the mean there"),
        traces: pair.lines.iter().enumerate().map(line).collect(),
        laws: Vec::new(),
        figures: vec![effects.figure],
        trials: effects.trials.clone(),
    }
}

fn panel(place: usize, effects: &Effects) -> Option<Panel> {
    let mut left = LEVELS_MAX;
    let knobs = effects.knobs.iter().filter(|knob| !knob.levels.is_empty());
    let shown = knobs.take_while(|knob| {
        let fits = knob.levels.len() <= left;
        left = left.saturating_sub(knob.levels.len());
        fits
    });
    let traces: Vec<Trace> = shown.enumerate().map(|(hue, knob)| trace(hue, knob)).collect();
    let what = match effects.origin {
        Verdict::None => effects.group.clone(),
        verdict => format!("{}, origin: {}", effects.group, verdict.name()),
    };
    (!traces.is_empty()).then(|| Panel {
        id: format!("effects-{place}"),
        kind: PanelKind::Dots,
        x: Axis::linear(&what),
        y: Axis::linear(if effects.figure == "elapsed_s" {
            "times the mean time"
        } else {
            "times the mean"
        }),
        traces,
        laws: Vec::new(),
        figures: vec![effects.figure],
        trials: effects.trials.clone(),
    })
}

fn trace(hue: usize, knob: &KnobEffect) -> Trace {
    let named =
        |level: &Level| AxisPosition::Name(format!("{}\n{}", knob.knob, setting(&level.level)));
    Trace {
        name: knob.knob.to_owned(),
        hue: hue as u8,
        dash: Dash::Solid,
        points: knob.levels.iter().map(|level| point(level, named(level))).collect(),
    }
}

fn point(level: &Level, x: AxisPosition) -> Point {
    let figure = format!("{} times the mean", significant(level.ratio.value));
    let interval = level.ratio.interval.map(|ends| (ends.low, ends.high));
    let ends = interval.map_or("no interval".to_owned(), |(low, high)| {
        format!("95 %: {} to {}", significant(low), significant(high))
    });
    let says = format!("{figure}\n{ends}");
    Point { x, y: level.ratio.value, interval, says, figure, mark: "", trials: Vec::new() }
}
