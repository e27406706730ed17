//! (pure) How long single operations take, tail and all, of the core set's small loads.

use super::super::panel::{
    Axis, AxisPosition, Dash, GREY, Panel, PanelKind, Point, Trace, time_tick,
};
use super::{Figure, message, nanoseconds};
use crate::analysis::summary::SummaryFigure;
use crate::report::Input;
use crate::report::cells::{self, CellGroup, FigureOrigin};
use base::stats::quantile::values_needed;
use base::value::counted;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::PooledLatency;

pub mod reported;

/// Figures of the first screen whose loads are drawn, by their names in JSON.
const LOADS: &[&str] =
    &["read_latency_4k", "commit_latency_4k", "random_read_4k", "random_write_4k"];

/// Quantiles that are drawn, and how they are told. Those of one digit label the axis.
const QUANTILES: &[(f64, &str)] = &[
    (0.01, "1 %"),
    (0.05, "5 %"),
    (0.1, "10 %"),
    (0.25, "25 %"),
    (0.5, "50 %"),
    (0.75, "75 %"),
    (0.9, "90 %"),
    (0.95, "95 %"),
    (0.98, "98 %"),
    (0.99, "99 %"),
    (0.995, "99.5 %"),
    (0.998, "99.8 %"),
    (0.999, "99.9 %"),
    (0.9995, "99.95 %"),
    (0.9998, "99.98 %"),
    (0.9999, "99.99 %"),
    (0.99995, "99.995 %"),
    (0.99998, "99.998 %"),
    (0.99999, "99.999 %"),
];

/// Those that label the axis.
const LABELLED: &[&str] = &["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"];

/// A line has a dash of its own beside its colour and its symbol.
const DASHES: &[Dash] = &[Dash::Solid, Dash::Broken, Dash::Dotted, Dash::Mixed];

/// Figures that the SQL gives of each trial.
const FIGURES: &[&str] = &[
    figure_names::LATENCY_P50,
    "latency_ns_p90",
    figure_names::LATENCY_P99,
    "latency_ns_p999",
    "latency_ns_max",
];

/// None where no latency of these loads was counted.
pub fn figure(input: &Input<'_>, groups: &[CellGroup<'_>]) -> Option<Figure> {
    let rows = cells::rows(groups.iter());
    let loads = LOADS
        .iter()
        .filter_map(|name| input.summary.figures.iter().find(|figure| figure.name == *name));
    let traces = loads.enumerate().filter_map(|(place, load)| {
        let row = rows
            .iter()
            .find(|row| load.trials.first().is_some_and(|first| row.cell.trials.contains(first)));
        let source = row.map_or(FigureOrigin::Written, |row| row.source);
        trace(place, load, input.records, source)
    });
    let traces: Vec<Trace> = traces.collect();
    let trials: Vec<u32> = LOADS
        .iter()
        .flat_map(|name| input.summary.figures.iter().filter(move |it| it.name == *name))
        .flat_map(|figure| figure.trials.iter().copied())
        .collect();
    if traces.is_empty() {
        return None;
    }
    let panels = vec![panel("distribution-latency", traces, trials, FIGURES)];
    let about = "How many of the operations were done within so long, of all runs of a load \
                 together. Each nine more is as far down the tail as the one before. Ends where \
                 the operations counted no longer bound it. Each load waits for an answer before \
                 it asks again.";
    Some(Figure {
        id: "distribution",
        title: "Latency distribution",
        about: about.to_owned(),
        message: message::main_message(&panels),
        panels,
    })
}

fn panel(id: &str, traces: Vec<Trace>, trials: Vec<u32>, figures: &[&'static str]) -> Panel {
    let points = || traces.iter().flat_map(|trace| &trace.points);
    let across = |point: &Point| match point.x {
        AxisPosition::Number(x) => x,
        AxisPosition::Name(_) => f64::NAN,
    };
    let least = points().map(|point| point.y).fold(1.0, f64::min);
    let ticks = QUANTILES.iter().filter(|(_, label)| LABELLED.contains(label));
    let ticks = ticks.map(|(quantile, label)| (1.0 - quantile, (*label).to_owned()));
    let ticks = ticks.filter(|(share, _)| *share > least * 0.999).collect();
    Panel {
        id: id.to_owned(),
        kind: PanelKind::Distribution,
        x: Axis::log("latency", points().map(across), time_tick),
        y: Axis { title: "operations done".to_owned(), log: true, ticks, order: Vec::new() },
        traces,
        laws: Vec::new(),
        figures: figures.to_vec(),
        trials,
    }
}

/// One load; `None` where too few of its operations were timed.
fn trace(
    place: usize,
    load: &SummaryFigure,
    records: &[Record],
    source: FigureOrigin,
) -> Option<Trace> {
    let own = records.iter().filter(|record| load.trials.contains(&record.trial.number));
    let pooled = PooledLatency::from_records(own);
    let operations = pooled.operations(None);
    let bounded = QUANTILES.iter().filter(|(quantile, _)| operations >= values_needed(*quantile));
    let bounded: Vec<&(f64, &str)> = bounded.collect();
    let wanted: Vec<f64> = bounded.iter().map(|(quantile, _)| *quantile).collect();
    let mark = if source.is_device() { "" } else { source.name() };
    let point = |(&&(quantile, label), ns): (&&(f64, &str), f64)| {
        let (_, time) = nanoseconds(ns);
        let figure = format!("{label} within {time}");
        let mut says = format!(
            "{figure}\n{} in {}",
            counted(operations, "operation"),
            counted(load.trials.len() as u64, "run")
        );
        if source != FigureOrigin::Written {
            says.push_str(&format!("\n{}", source.meaning()));
        }
        let (x, y) = (AxisPosition::Number(ns), 1.0 - quantile);
        Point { x, y, interval: None, says, figure, mark, trials: load.trials.clone() }
    };
    let points: Vec<Point> =
        bounded.iter().zip(pooled.quantiles(None, &wanted)).map(point).collect();
    let hue = if mark.is_empty() { place as u8 } else { GREY };
    let dash = DASHES[place % DASHES.len()];
    (!points.is_empty()).then(|| Trace { name: name(load), hue, dash, points })
}

/// `one 4K read`, `commit of 4K`, `4K write, depth 32`.
fn name(load: &SummaryFigure) -> String {
    match load.name.as_str() {
        "read_latency_4k" => load.load.clone(),
        _ => format!("{}, {}", load.label, load.load),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, samples};
    use engines::engine::testing::campaign;
    use experiment::campaign::Campaign;
    use experiment::measurement::{Operation, Outcome, latency_histogram};

    const US: u64 = 1000;

    /// The core set twice; of each load the first run has 10 000 operations of 100 us, the second
    /// 9900 of them and 100 of 10 ms.
    fn planted() -> (Campaign, Vec<Record>) {
        let mut records = campaign(&samples::core_cells(&[]), 2, 7);
        for record in &mut records {
            let slow = if record.trial.replicate == 2 { 100 } else { 0 };
            let Outcome::Done(measurement) = &mut record.outcome else { continue };
            let mut histogram = latency_histogram();
            histogram.saturating_record_n(100 * US, 10_000 - slow);
            histogram.saturating_record_n(10_000 * US, slow);
            measurement.latency = vec![(Operation::Read, histogram)];
        }
        let campaign = fixture::campaign_of(Vec::new(), 0).campaign;
        (Campaign { engine: "sim".into(), ..campaign }, records)
    }

    /// What the tail of a load is was in no figure: only the median and the 99th percentile, and a
    /// map of one trial after the other.
    #[test]
    fn the_tail_of_all_runs_together_is_drawn_as_far_as_they_bound_it() {
        let (campaign, records) = planted();
        let input = Input::new(&campaign, &records);
        let figure = figure(&input, &cells::groups(&input)).unwrap();
        let [panel] = figure.panels.as_slice() else { panic!("{:?}", figure.panels) };
        assert_eq!(panel.kind, PanelKind::Distribution);
        assert_eq!(panel.traces.len(), LOADS.len(), "{:?}", panel.traces);
        let own = panel.traces.iter().find(|it| it.name == "one 4K read").unwrap();
        let at = |label: &str| {
            let says = |point: &&Point| point.figure.starts_with(&format!("{label} within "));
            own.points.iter().find(says).map(|point| point.x.clone())
        };
        let near = |place: Option<AxisPosition>, ns: f64| match place {
            Some(AxisPosition::Number(x)) => (x / ns - 1.0).abs() < 0.005,
            _ => false,
        };
        // Half a percent of 20 000 took 10 ms: neither run alone has that.
        for label in ["1 %", "50 %", "99 %", "99.5 %"] {
            assert!(near(at(label), 100e3), "{label}: {own:?}");
        }
        for label in ["99.8 %", "99.95 %"] {
            assert!(near(at(label), 10e6), "{label}: {own:?}");
        }
        // 36 887 operations bound the 99.99th percentile.
        assert_eq!(at("99.99 %"), None);
        let labels: Vec<&str> = panel.y.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["50 %", "90 %", "99 %", "99.9 %"]);
        assert!(figure.message.contains("one 4K read: 50 % within 100 us, 90 % within 100 us"));
    }

    #[test]
    fn each_load_has_a_dash_and_a_colour_of_its_own_and_no_line_turns_back() {
        let (campaign, records) = fixture::simulated();
        let input = Input::new(&campaign, &records);
        let figure = figure(&input, &cells::groups(&input)).unwrap();
        let traces = &figure.panels[0].traces;
        assert!(traces.len() >= 3, "{traces:?}");
        for (place, trace) in traces.iter().enumerate() {
            assert!(traces[..place].iter().all(|other| other.dash != trace.dash));
            let x =
                |point: &Point| if let AxisPosition::Number(x) = point.x { x } else { f64::NAN };
            assert!(trace.points.is_sorted_by(|a, b| x(a) <= x(b) && a.y > b.y), "{trace:?}");
        }
        assert!(figure.panels[0].traces.iter().all(|trace| trace.points.len() > 5));
    }

    #[test]
    fn without_a_histogram_there_is_no_figure() {
        let (campaign, mut records) = planted();
        for record in &mut records {
            if let Outcome::Done(measurement) = &mut record.outcome {
                measurement.latency.clear();
            }
        }
        let input = Input::new(&campaign, &records);
        assert!(figure(&input, &cells::groups(&input)).is_none());
    }
}
