//! (pure) Operations on names, and transactions, against the number of streams.

use super::{Axis, Dash, Figure, about, curves, heights, law, message, panel, traces};
use crate::analysis::scaling::Followed;
use crate::report::cells::CellGroup;
use crate::report::html::panel::count_tick;
use base::value;
use experiment::knob::{self, Settings};
use experiment::measurement::figure_names;

/// None where no two numbers of streams were measured.
pub fn figure(groups: &[CellGroup<'_>], followed: &[Followed]) -> Option<Figure> {
    let counts =
        |settings: &Settings| settings.has(knob::OPERATION) || settings.has(knob::JOURNAL_MODE);
    let (curves, beyond) = curves::curves(groups, "streams", counts);
    let traces = traces(&curves, figure_names::OPS_PER_S, Dash::Solid, "", per_s);
    let axis = Axis::log("operations per second", heights(&traces), count_tick);
    let mut panels =
        panel("operations-per-s", &curves, "streams", &[figure_names::OPS_PER_S], axis, traces);
    let told = "Operations in the time in which every stream ran, per second, with the 95 % \
                interval over replicates.";
    let told =
        law::add(&mut panels, law::fitted(followed, &curves, figure_names::OPS_PER_S, per_s), told);
    (!panels.is_empty()).then(|| Figure {
        id: "operations",
        title: "Operations against streams",
        about: about(&told, beyond),
        message: message::main_message(&panels),
        panels,
    })
}

fn per_s(per_s: f64) -> (f64, String) {
    (per_s, format!("{} operations per s", value::iops(per_s)))
}
