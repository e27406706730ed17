//! (pure) What each level of each knob of a plan does.

use super::super::panel::{Axis, Dash, Kind, Panel, Place, Point, Trace};
use super::{Figure, message};
use crate::analysis::effects::{Effects, KnobEffect, Level};
use crate::measurement::origin::Verdict;
use crate::value::{setting, significant};

/// More levels than this cannot be told apart on one axis; the rest is in the JSON document.
const LEVELS_MAX: usize = 40;

/// A panel a workload; `None` when nothing was varied.
pub fn figure(all: &[Effects]) -> Option<Figure> {
    let panels: Vec<Panel> =
        all.iter().enumerate().filter_map(|(place, effects)| panel(place, effects)).collect();
    if panels.is_empty() {
        return None;
    }
    let message = message::of(&panels);
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
        kind: Kind::Dots,
        x: Axis::linear(&what),
        y: Axis::linear(if effects.figure == "elapsed_s" {
            "times the mean time"
        } else {
            "times the mean"
        }),
        traces,
    })
}

fn trace(hue: usize, knob: &KnobEffect) -> Trace {
    let point = |level: &Level| {
        let figure = format!("{} times the mean", significant(level.ratio.value));
        let interval = level.ratio.interval.map(|ends| (ends.low, ends.high));
        let ends = interval.map_or("no interval".to_owned(), |(low, high)| {
            format!("95 %: {} to {}", significant(low), significant(high))
        });
        Point {
            x: Place::Name(format!("{}\n{}", knob.knob, setting(&level.level))),
            y: level.ratio.value,
            interval,
            says: format!("{figure}\n{ends}"),
            figure,
            mark: "",
        }
    };
    Trace {
        name: knob.knob.to_owned(),
        hue: hue as u8,
        dash: Dash::Solid,
        points: knob.levels.iter().map(point).collect(),
    }
}
