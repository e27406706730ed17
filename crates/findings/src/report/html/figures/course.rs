//! (pure) The rate of the longest load that wrote, over time: where a drive's cache is full, it
//! falls and stays down.

use super::super::curves::CURVES_MAX;
use std::collections::BTreeSet;

use super::super::panel::{Axis, AxisPosition, Dash, Panel, PanelKind, Point, Trace};
use super::{Figure, megabytes, message};
use crate::report::{Input, words};
use base::value::duration;
use experiment::knob::{self, Settings};
use experiment::measurement::{Measurement, Record};
use facts::counters::series::Series;

/// Points of a line: more than this hide each other's symbols.
const POINTS_MAX: u64 = 60;
/// Fewer tell nothing of a course.
const POINTS_MIN: usize = 5;

/// Lengths of an interval, in ms; each is as wide as the longest run asks for.
const STEPS_MS: &[u64] = &[
    20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
    600_000, 1_200_000, 1_800_000, 3_600_000,
];

/// Knobs by which the load is told.
const NAMING: &[&str] = &["access", "block-size", "streams", "queue-depth", "direct"];

/// None where nothing was written for long enough to have a course.
pub fn figure(input: &Input<'_>) -> Option<Figure> {
    let runs = longest(input);
    let first = *runs.first()?;
    let shown = CURVES_MAX / if first.trial.settings.get(knob::DIRECT) { 1 } else { 2 };
    let traces = traces(input, &runs[..runs.len().min(shown)]);
    if traces.is_empty() {
        return None;
    }
    let panels = vec![Panel {
        id: "course-written".to_owned(),
        kind: PanelKind::Course,
        x: Axis::linear("seconds since the start"),
        y: Axis::linear("MB/s"),
        traces,
        laws: Vec::new(),
        // What was counted each moment is packed in the store: no SQL gives it.
        figures: Vec::new(),
        trials: Vec::new(),
    }];
    Some(Figure {
        id: "course",
        title: "Write rate over time",
        about: about(&runs, shown),
        message: message::main_message(&panels),
        panels,
    })
}

/// Replicates of the load whose longest run took longest, of those that only write: results, and
/// what laid the files out.
fn longest<'a>(input: &Input<'a>) -> Vec<&'a Record> {
    let results: BTreeSet<u32> =
        input.cells.iter().flat_map(|cell| cell.trials.iter().copied()).collect();
    let of = |record: &Record| -> Option<u64> {
        let measurement = record.outcome.measurement()?;
        let trial = &record.trial;
        let shown = trial.prepares() || results.contains(&trial.number);
        let writes = words::writes_only(&trial.settings) && !trial.settings.is_network();
        (shown && writes && measurement.has_course()).then_some(measurement.elapsed_ns)
    };
    let all: Vec<(&Record, u64)> =
        input.records.iter().filter_map(|record| Some((record, of(record)?))).collect();
    // Of two as long a result is taken.
    let length = |(record, ns): &&(&Record, u64)| (*ns, !record.trial.prepares());
    let Some((longest, _)) = all.iter().max_by_key(length) else { return Vec::new() };
    let same = |record: &&Record| {
        record.trial.group == longest.trial.group && record.trial.settings == longest.trial.settings
    };
    all.iter().map(|(record, _)| *record).filter(same).collect()
}

fn about(runs: &[&Record], shown: usize) -> String {
    let settings = &runs[0].trial.settings;
    let load: Vec<String> = NAMING
        .iter()
        .filter_map(|knob| Some(words::phrase(knob, settings.named(knob)?)))
        .filter(|words| !words.is_empty())
        .collect();
    let mut told = format!(
        "Of the load that wrote for longest: {}. Where a cache of the drive is full, the rate \
         falls and stays down.",
        load.join(", ")
    );
    if !settings.get(knob::DIRECT) {
        told.push_str(" Dashed: what the kernel had sent on to the device.");
    }
    let durable = runs.iter().take(shown).filter_map(|record| {
        Some(duration(record.outcome.measurement()?.durable?.durable_ns as f64))
    });
    let durable: Vec<String> = durable.collect();
    if !durable.is_empty() {
        told.push_str(&format!(" All was durable after {}.", durable.join(", ")));
    }
    if runs.len() > shown {
        let more = runs.len() - shown;
        told.push_str(&format!(" Of {more} more the timelines tell."));
    }
    if runs[0].trial.prepares() {
        told.push_str(" It laid out the files and is no result.");
    }
    told
}

fn traces(input: &Input<'_>, runs: &[&Record]) -> Vec<Trace> {
    let length = |record: &&Record| record.outcome.measurement().map(|it| it.elapsed_ns);
    let longest_ns = runs.iter().filter_map(length).max().unwrap_or(0);
    let step = STEPS_MS.iter().map(|ms| ms * 1_000_000);
    let wide = |step: &u64| longest_ns / step <= POINTS_MAX;
    let Some(step_ns) = step.into_iter().find(wide) else { return Vec::new() };
    let mut traces = Vec::new();
    for (hue, record) in runs.iter().enumerate() {
        // One at a time: samples of all together may be more than the memory holds.
        let full = input.samples.and_then(|samples| samples.of(record.trial.number));
        let Some(measurement) = full.as_ref().unwrap_or(record).outcome.measurement() else {
            continue;
        };
        let settings = &record.trial.settings;
        let name = format!("{}, run {}", what(settings), record.trial.replicate);
        let load = vec!["write_bytes".to_owned()];
        let accepted = points(&measurement.load, &load, step_ns, record.trial.number);
        traces.extend(trace(name, hue as u8, Dash::Solid, accepted));
        if !settings.get(knob::DIRECT) {
            let name = format!("to the device, run {}", record.trial.replicate);
            let sent = to_devices(measurement, step_ns, record.trial.number);
            traces.extend(trace(name, hue as u8, Dash::Broken, sent));
        }
    }
    traces
}

/// What the bytes of a write were when it returned.
fn what(settings: &Settings) -> &'static str {
    if settings.find(knob::FSYNC) == Some("every") { "durable" } else { "accepted" }
}

fn trace(name: String, hue: u8, dash: Dash, points: Vec<Point>) -> Option<Trace> {
    (points.len() >= POINTS_MIN).then_some(Trace { name, hue, dash, points })
}

/// What reached the devices under the target.
fn to_devices(measurement: &Measurement, step_ns: u64, trial: u32) -> Vec<Point> {
    let disks = measurement.counters.iter().find(|series| series.source == "diskstats");
    let devices = measurement.evidence.devices.iter();
    let columns: Vec<String> = devices.map(|name| format!("{name}.write_bytes")).collect();
    disks.map_or_else(Vec::new, |disks| points(disks, &columns, step_ns, trial))
}

/// The rate of these counters together over each whole interval of `step_ns`, in its middle.
fn points(series: &Series, columns: &[String], step_ns: u64, trial: u32) -> Vec<Point> {
    let Some(last_ns) = series.at_ns.last().filter(|_| !columns.is_empty()) else {
        return Vec::new();
    };
    let whole = (*last_ns).max(0) as u64 / step_ns;
    let rate = |place: u64| -> Option<Point> {
        let (start, end) = ((place * step_ns) as i64, ((place + 1) * step_ns) as i64);
        let grown = |column: &String| series.growth(column, start, end);
        let bytes: f64 = columns.iter().map(grown).sum::<Option<f64>>()?;
        let (y, figure) = megabytes(bytes * 1e9 / step_ns as f64);
        let middle = (start + end) as f64 / 2e9;
        let seconds = |ns: i64| base::value::significant(ns as f64 / 1e9);
        let says =
            format!("{figure}\nfrom {} to {} s\ntrial {trial}", seconds(start), seconds(end));
        let x = AxisPosition::Number(middle);
        Some(Point { x, y, interval: None, says, figure, mark: "", trials: vec![trial] })
    };
    (0..whole).filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, samples};

    fn drawn(of: &samples::Sample) -> Option<Figure> {
        figure(&of.input())
    }

    /// A drive whose cache of 14 GB takes 8 GB/s until it is full, and 1 GB/s from then on: the
    /// courses of single trials were folded away, and no figure showed it.
    #[test]
    fn the_cliff_of_a_drives_cache_is_seen() {
        let figure = drawn(&samples::cliff()).unwrap();
        let [panel] = figure.panels.as_slice() else { panic!("{:?}", figure.panels) };
        let names: Vec<&str> = panel.traces.iter().map(|trace| trace.name.as_str()).collect();
        assert_eq!(names, ["accepted, run 1", "accepted, run 2", "accepted, run 3"]);
        for trace in &panel.traces {
            let at = |seconds: f64| {
                let near = |point: &&Point| match point.x {
                    AxisPosition::Number(x) => (x - seconds).abs() < 0.11,
                    AxisPosition::Name(_) => false,
                };
                trace.points.iter().find(near).unwrap().y
            };
            assert!(at(1.0) > 5.0 * at(4.0), "{trace:?}");
            assert!((at(1.0) - 8000.0).abs() < 800.0, "{trace:?}");
            assert!((at(4.0) - 1000.0).abs() < 100.0, "{trace:?}");
        }
        assert!(figure.message.contains("lowest"), "{}", figure.message);
        assert!(figure.about.contains("write, 1 MiB blocks, 8 streams"), "{}", figure.about);
    }

    /// All bytes that were written are under the line: no interval is counted twice or left out.
    #[test]
    fn the_line_holds_what_was_written() {
        let sample = samples::cliff();
        let input = sample.input();
        let figure = figure(&input).unwrap();
        let trace = &figure.panels[0].traces[0];
        let record = &input.records[0];
        let load = &record.outcome.measurement().unwrap().load;
        let places: Vec<f64> = trace
            .points
            .iter()
            .map(|point| if let AxisPosition::Number(x) = point.x { x } else { f64::NAN })
            .collect();
        let step = places[1] - places[0];
        assert!(places.len() as u64 <= POINTS_MAX && places.len() >= POINTS_MIN, "{places:?}");
        let drawn: f64 = trace.points.iter().map(|point| point.y * 1e6 * step).sum();
        let end_ns = ((places.len() as f64 * step) * 1e9).round() as i64;
        let written = load.growth("write_bytes", 0, end_ns).unwrap();
        assert!((drawn / written - 1.0).abs() < 1e-6, "{drawn} of {written}");
    }

    #[test]
    fn of_several_loads_the_longest_is_drawn_and_of_reads_none() {
        let cell = |group: &str, stop: &str, access: &str| {
            let typed = [("access", access), ("stop", stop), ("direct", "true")];
            (group.to_owned(), engines::engine::testing::settings(&typed))
        };
        let cells = [
            cell("short", "1s", "write"),
            cell("long", "3s", "write"),
            cell("reads", "9s", "read"),
        ];
        let mut records = engines::engine::testing::campaign(&cells, 2, 3);
        let campaign = fixture::campaign_of(Vec::new(), 0).campaign;
        let groups = |records: &[Record]| -> Vec<String> {
            let input = Input::new(&campaign, records);
            longest(&input).iter().map(|record| record.trial.group.clone()).collect()
        };
        assert_eq!(groups(&records), ["long", "long"]);
        // What laid the files out is drawn where it took longest, and is told to be no result.
        for record in records.iter_mut().filter(|record| record.trial.group == "long") {
            record.trial.group = experiment::plan::LAYOUT.to_owned();
        }
        assert_eq!(groups(&records), ["layout", "layout"]);
        let input = Input::new(&campaign, &records);
        assert!(about(&longest(&input), 8).ends_with("It laid out the files and is no result."));
        records.retain(|record| record.trial.group == "reads");
        assert!(groups(&records).is_empty());
    }
}
