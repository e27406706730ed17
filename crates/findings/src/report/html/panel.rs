//! (pure) What is drawn, free of how: panels of traces, as the page's script takes them.

use serde::{Serialize, Serializer};

use base::value;

/// One pair of axes with what is drawn on them.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// Names its place in the page.
    pub id: String,
    /// Lines or bars.
    pub kind: PanelKind,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// In the order of the legend.
    pub traces: Vec<Trace>,
    /// Laws that some of them follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub laws: Vec<Fitted>,
    /// Names of the figures that it draws, for its SQL.
    #[serde(skip)]
    pub figures: Vec<&'static str>,
    /// Numbers of the trials that all of it rests on, where its points have none of their own.
    #[serde(skip)]
    pub trials: Vec<u32>,
}

/// A law through what was measured, drawn as a curve and never beyond it.
#[derive(Debug, Serialize)]
pub struct Fitted {
    /// For the legend.
    pub name: String,
    /// The colour of the trace that it describes.
    pub hue: u8,
    /// Its course, in the units of the axes.
    pub points: Vec<(f64, f64)>,
    /// Places on it that have a name: across, up, what it is.
    pub marks: Vec<(f64, f64, String)>,
}

/// How a panel's traces are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelKind {
    /// Points joined by lines, on numbers.
    Lines,
    /// Groups of bars, on names.
    Bars,
    /// Points without lines, on names.
    Dots,
    /// Lines of how many operations took longer than so long, the share going down the axis by
    /// powers of ten, so that the slowest of 100 000 can be read.
    Distribution,
    /// Thin lines of single trials over time.
    Course,
}

/// An axis.
#[derive(Debug, Serialize)]
pub struct Axis {
    /// What, with its unit.
    pub title: String,
    /// Whether equal steps are equal ratios.
    pub log: bool,
    /// Where it is labelled, and with what; empty leaves that to the script.
    pub ticks: Vec<(f64, String)>,
    /// Its names from left to right; empty takes them as they come, trace by trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
}

/// A line, or the bars of one colour.
#[derive(Debug, Serialize)]
pub struct Trace {
    /// For the legend.
    pub name: String,
    /// Which colour of the palette; [`GREY`] for what is not the device's.
    pub hue: u8,
    /// How its line is drawn.
    pub dash: Dash,
    /// Its points.
    pub points: Vec<Point>,
}

/// The hue of figures that are not the device's; they are hatched too.
pub const GREY: u8 = 255;

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dash {
    /// The figure itself.
    Solid,
    /// A second figure of the same cells.
    #[serde(rename = "dash")]
    Broken,
    /// Not the device's.
    #[serde(rename = "dot")]
    Dotted,
    /// One more kind of line, where each has its own.
    #[serde(rename = "dashdot")]
    Mixed,
}

/// A point or a bar.
#[derive(Debug, Serialize)]
pub struct Point {
    /// Where across.
    pub x: AxisPosition,
    /// Where up, in the unit of the axis.
    #[serde(serialize_with = "short")]
    pub y: f64,
    /// The 95 % interval, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_pair")]
    pub interval: Option<(f64, f64)>,
    /// All of it in words, for whoever points at it.
    pub says: String,
    /// The figure alone, for tables.
    #[serde(skip)]
    pub figure: String,
    /// What the figure's bytes were, when not the device's.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub mark: &'static str,
    /// Numbers of the trials that it rests on, where it rests on some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<u32>,
}

/// Where a point lies across: at a number, or at a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AxisPosition {
    /// On an axis of numbers.
    Number(f64),
    /// On an axis of names.
    Name(String),
}

impl Axis {
    /// An axis of equal steps from 0.
    pub fn linear(title: &str) -> Axis {
        Axis { title: title.to_owned(), log: false, ticks: Vec::new(), order: Vec::new() }
    }

    /// An axis of equal ratios, labelled at 1, 10, 100 ... or, over a short range, at 1, 2, 5, 10.
    pub fn log(title: &str, values: impl Iterator<Item = f64>, print: fn(f64) -> String) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for number in values.filter(|number| number.is_finite() && *number > 0.0) {
            (low, high) = (low.min(number), high.max(number));
        }
        let mut ticks = Vec::new();
        if low <= high {
            let steps: &[f64] = if high / low < 400.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = (low.log10().floor() as i32 - 1)..=(high.log10().ceil() as i32);
            let all = decades.flat_map(|decade| steps.iter().map(move |s| s * 10f64.powi(decade)));
            let near = all.filter(|tick| *tick >= low / 2.1 && *tick <= high * 2.1);
            ticks = near.map(|tick| (tick, print(tick))).collect();
        }
        Axis { title: title.to_owned(), log: true, ticks, order: Vec::new() }
    }
}

/// A tick of time: `100 us`, `2 ms`.
pub fn time_tick(ns: f64) -> String {
    round_tick(&value::duration(ns))
}

/// A tick of operations: `500`, `10k`.
pub fn count_tick(number: f64) -> String {
    round_tick(&value::iops(number))
}

/// `100 us` for `100 us`, `2 ms` for `2.00 ms`: ticks are round numbers.
fn round_tick(text: &str) -> String {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => text.to_owned(),
    }
}

/// Five digits are more than a screen can show.
pub fn shortened(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let digits = 4 - number.abs().log10().floor() as i32;
    if digits > 0 {
        let scale = 10f64.powi(digits.min(300));
        (number * scale).round() / scale
    } else {
        number.round()
    }
}

fn short<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(shortened(*number))
}

fn short_pair<S: Serializer>(pair: &Option<(f64, f64)>, to: S) -> Result<S::Ok, S::Error> {
    pair.map(|(low, high)| (shortened(low), shortened(high))).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_axes_are_labelled_with_round_numbers() {
        let axis = Axis::log("latency", [90_900.0, 770_000.0].into_iter(), time_tick);
        let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["50 us", "100 us", "200 us", "500 us", "1 ms"]);
        let axis = Axis::log("IOPS", [150.0, 400_000.0].into_iter(), count_tick);
        let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["100", "1k", "10k", "100k"]);
        assert!(Axis::log("none", [f64::NAN, 0.0].into_iter(), count_tick).ticks.is_empty());
    }

    #[test]
    fn numbers_are_shortened_to_five_digits() {
        assert_eq!(shortened(1_633.123_456), 1633.1);
        assert_eq!(shortened(123_456_789.4), 123_456_789.0);
        assert_eq!(shortened(0.000_012_345_678), 0.000_012_346);
        assert!(shortened(f64::NAN).is_nan());
    }
}
