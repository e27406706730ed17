//! (pure) The curve of load tests: what one operation takes, against how many are done, as the
//! depth grows.

use super::super::curves::{self, PlotCurve};
use super::super::panel::{
    Axis, AxisPosition, Dash, GREY, Panel, PanelKind, Point, Trace, time_tick,
};
use super::{Figure, Planned, about, heights, nanoseconds, point};
use crate::report::cells::{self, CellGroup};
use crate::report::words;
use experiment::knob::Settings;
use experiment::measurement::figure_names;

/// Fewer depths are no curve.
const LOAD_POINTS_MIN: usize = 3;

/// The curve of load tests.
pub fn figure(groups: &[CellGroup<'_>]) -> Planned {
    let fit = |settings: &Settings| !words::warm(settings);
    let (curves, beyond) = curves::curves(groups, "queue-depth", fit);
    let panels = load_curve(&curves).into_iter().collect();
    let about = about(
        "The time of one operation, median and 99th percentile, against operations per second, \
         from depth to depth. Where it turns upward the device is full.",
        beyond,
    );
    let title = "Latency against load";
    (Figure { id: "load", title, about, panels, message: String::new() }, &["depth"])
}

/// Latency against operations per second, as the depth grows.
fn load_curve(curves: &[PlotCurve<'_>]) -> Option<Panel> {
    let trace = |place: usize, curve: &PlotCurve<'_>, name: &str, suffix: &str, dash: Dash| {
        let points = curve.points.iter().filter_map(|(depth, row)| {
            let (iops, latency) =
                (cells::figure(row.cell, figure_names::IOPS)?, cells::figure(row.cell, name)?);
            let mut point =
                point(AxisPosition::Number(iops.value.round()), row, latency, nanoseconds);
            point.says = format!("queue depth {depth}\n{}", point.says);
            Some(point)
        });
        let points: Vec<Point> = points.collect();
        let foreign = points.iter().all(|point| !point.mark.is_empty());
        let hue = if foreign { GREY } else { place as u8 };
        let name = match curves.len() {
            1 => suffix.to_owned(),
            _ => format!("{}, {suffix}", curve.name),
        };
        (points.len() >= LOAD_POINTS_MIN).then_some(Trace { name, hue, dash, points })
    };
    let both = [
        (figure_names::LATENCY_P50, "p50", Dash::Solid),
        (figure_names::LATENCY_P99, "p99", Dash::Broken),
    ];
    let traces: Vec<Trace> = both
        .into_iter()
        .flat_map(|(name, suffix, dash)| {
            let each = curves.iter().enumerate();
            each.filter_map(move |(place, curve)| trace(place, curve, name, suffix, dash))
        })
        .collect();
    if traces.is_empty() {
        return None;
    }
    Some(Panel {
        id: "depth-load".to_owned(),
        kind: PanelKind::Lines,
        x: Axis::linear("operations per second"),
        y: Axis::log("latency", heights(&traces), time_tick),
        traces,
        laws: Vec::new(),
        figures: vec![figure_names::IOPS, figure_names::LATENCY_P50, figure_names::LATENCY_P99],
        trials: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use base::value::duration;

    fn drawn(depths: &[&str]) -> (Figure, fixture::Fixture) {
        let cell = |depth: &&str| {
            let typed =
                [("queue-depth", *depth), ("access", "random-read"), ("block-size", "4KiB")];
            ("queue depth".to_owned(), experiment::knob::testing::settings("file", &typed))
        };
        let cells: Vec<_> = depths.iter().map(cell).collect();
        let fixture = fixture::campaign_of(experiment::plan::blocked(&cells, 2, 1), 4);
        let figure = figure(&cells::groups(&fixture.input())).0;
        (figure, fixture)
    }

    /// No test named the one figure by which load tests are read.
    #[test]
    fn each_depth_is_a_point_of_its_operations_and_its_latency() {
        let (figure, fixture) = drawn(&["1", "8", "32", "128"]);
        let [panel] = figure.panels.as_slice() else { panic!("{:?}", figure.panels) };
        assert_eq!((panel.x.title.as_str(), panel.x.log), ("operations per second", false));
        assert_eq!((panel.y.title.as_str(), panel.y.log), ("latency", true));
        let names: Vec<(&str, Dash)> =
            panel.traces.iter().map(|trace| (trace.name.as_str(), trace.dash)).collect();
        assert_eq!(names, [("p50", Dash::Solid), ("p99", Dash::Broken)]);
        for (trace, figure) in
            panel.traces.iter().zip([figure_names::LATENCY_P50, figure_names::LATENCY_P99])
        {
            assert_eq!(trace.points.len(), 4);
            for (point, depth) in trace.points.iter().zip([1, 8, 32, 128]) {
                let is = |cell: &&experiment::measurement::figures::Cell| {
                    cell.settings.get(experiment::knob::QUEUE_DEPTH) == depth
                };
                let cell = fixture.cells.iter().find(is).unwrap();
                assert_eq!(
                    point.x,
                    AxisPosition::Number(cell.figures[figure_names::IOPS].value.round())
                );
                assert_eq!(point.y, cell.figures[figure].value);
                assert!(point.says.starts_with(&format!("queue depth {depth}\n")), "{point:?}");
                assert_eq!(point.figure, duration(point.y));
                assert_eq!(point.trials, cell.trials);
            }
        }
        // More in flight is more done, until the device is full: then it is only longer waiting.
        let places = |trace: &Trace| -> Vec<f64> {
            let x =
                |point: &Point| if let AxisPosition::Number(x) = point.x { x } else { f64::NAN };
            trace.points.iter().map(x).collect()
        };
        assert!(places(&panel.traces[0]).is_sorted(), "{:?}", panel.traces[0]);
        let latencies = &panel.traces[0].points;
        assert!(latencies.is_sorted_by(|a, b| a.y <= b.y) && latencies[0].y < latencies[3].y);
    }

    #[test]
    fn two_depths_are_no_curve() {
        assert!(drawn(&["1", "32"]).0.panels.is_empty());
        assert!(!drawn(&["1", "8", "32"]).0.panels.is_empty());
    }
}
