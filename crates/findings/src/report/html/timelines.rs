//! (pure) The course of single trials: throughput, and under it what the machine did meanwhile.
//!
//! Samples are thinned to a number of points that keeps the file small. They are cumulative counts,
//! so the rate between two that are kept is exact, however many were left out between them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

mod faults;
mod heat;
mod latency;
mod reported;

pub use faults::of_faults;

use super::panel::shortened;
use crate::report::{Input, words};
use experiment::measurement::{Measurement, Record, network};
use facts::counters::series::Series;

/// Trials that no finding cites but that are shown all the same.
const UNCITED_MAX: usize = 100;
/// Trials that findings cite and that are shown: those of a large campaign cite thousands, of which
/// nobody looks at the last.
const CITED_MAX: usize = 400;
/// Points of one line: more than a screen has room for are of no use.
const POINTS_MAX: usize = 300;
/// Numbers of all timelines together; at 7 bytes each this is about 8 MB of the page.
const NUMBERS_MAX: usize = 1_200_000;
/// Devices of one trial that are drawn, busiest first.
const DEVICES_MAX: usize = 12;

/// One trial's course.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// Its number.
    pub trial: u32,
    /// Group, what tells it apart, replicate: for the picker.
    pub label: String,
    /// Whether a finding rests on it.
    pub cited: bool,
    /// The window in which all streams ran, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<(f64, f64)>,
    /// What is drawn.
    pub lines: Vec<TimelineSeries>,
    /// Latency, where it was counted by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<latency::Map>,
}

/// One line of a timeline.
#[derive(Debug, Serialize)]
pub struct TimelineSeries {
    /// Which panel it is drawn in.
    pub panel: &'static str,
    /// For the legend.
    pub name: String,
    /// Ends of the intervals, seconds since the trial's start.
    pub t: Vec<f64>,
    /// Mean over each interval, in the unit of the panel.
    pub v: Vec<f64>,
}

/// The panel that has a map and no lines.
const LATENCY: &str = "latency";

/// Panels from top to bottom, with the title of their axis.
pub const PANELS: &[(&str, &str)] = &[
    ("throughput", "MB/s"),
    ("network", "Gb/s"),
    ("operations", "operations/s"),
    (LATENCY, "latency"),
    (reported::WAIT, "reported wait, us"),
    ("cpu", "CPU, %"),
    ("events", "per second"),
    ("device", "device busy, %"),
    ("pressure", "tasks waiting, %"),
    ("faults", "faults found"),
    ("temperature", "degrees Celsius"),
    ("throttled", "slowed for heat, %"),
];

/// Timelines of the trials that findings cite, and of up to 100 more; and how many have none.
pub fn timelines(input: &Input<'_>) -> (Vec<Timeline>, usize) {
    let cited: BTreeSet<u32> =
        input.findings.iter().flat_map(|finding| finding.evidence.iter().copied()).collect();
    let measured: Vec<(&Record, &Measurement)> = input
        .records
        .iter()
        .filter_map(|record| Some((record, record.outcome.measurement()?)))
        .filter(|(_, measurement)| measurement.has_course())
        .collect();
    let chosen = chosen(&measured, &cited);
    let lines = LINES_MAX;
    // Two numbers a point: its time and its value.
    let room = NUMBERS_MAX / (2 * chosen.len() * lines.max(1)).max(1);
    let points = room.clamp(2, POINTS_MAX);
    let most = NUMBERS_MAX / (2 * points * lines.max(1));
    let varying = names(input, &chosen.iter().map(|(record, _)| record.trial.number).collect());
    let timelines = chosen.iter().take(most).filter_map(|(record, measurement)| {
        let cited = cited.contains(&record.trial.number);
        let drawn = |record: &Record, measurement: &Measurement| Timeline {
            latency: latency::map(measurement, chosen.len()),
            ..timeline(record, measurement, cited, points, &varying)
        };
        if measurement.digest.is_none() {
            return Some(drawn(record, measurement));
        }
        // One at a time: those of all together may be more than the memory holds.
        let full = input.samples?.of(record.trial.number)?;
        Some(drawn(&full, full.outcome.measurement()?))
    });
    let timelines: Vec<Timeline> = timelines.collect();
    let without = measured.len() - timelines.len();
    (timelines, without)
}

/// The cited ones first, as far as there is room for them; then the others, first replicates before
/// second ones, as a second one mostly shows the same again.
fn chosen<'a>(
    measured: &[(&'a Record, &'a Measurement)],
    cited: &BTreeSet<u32>,
) -> Vec<(&'a Record, &'a Measurement)> {
    let (mut chosen, mut others): (Vec<_>, Vec<_>) =
        measured.iter().copied().partition(|(record, _)| cited.contains(&record.trial.number));
    let earliest = |(record, _): &(&Record, _)| (record.trial.replicate, record.trial.number);
    others.sort_by_key(earliest);
    chosen.sort_by_key(earliest);
    chosen.truncate(CITED_MAX);
    chosen.extend(others.into_iter().take(UNCITED_MAX));
    // A probe is seldom what a reader looks for.
    chosen.sort_by_key(|(record, _)| record.trial.prepares());
    chosen
}

/// An upper bound on the lines of a trial: throughput and operations, processors, events, devices,
/// pressure, faults, heat.
const LINES_MAX: usize = 3
    + CPU_KINDS.len()
    + 2
    + 2 * DEVICES_MAX
    + 3
    + faults::LINES_MAX
    + heat::LINES_MAX
    + reported::LINES_MAX;

/// What tells a trial from the others of a group in which it stands.
type Names<'a> = BTreeMap<(&'a str, u32), String>;

/// Of the trials with the numbers of `wanted`.
fn names<'a>(input: &'a Input<'_>, wanted: &BTreeSet<u32>) -> Names<'a> {
    let groups = crate::report::cells::groups(input);
    let mut names = Names::new();
    for group in &groups {
        for row in &group.rows {
            let mut trials = row.cell.trials.iter().filter(|number| wanted.contains(*number));
            let Some(first) = trials.next() else { continue };
            let label = match group.varying.is_empty() {
                true => String::new(),
                false => {
                    let told = group.varying.iter().filter_map(|knob| {
                        let held = crate::report::cells::value(row.cell, knob)?;
                        Some(words::phrase(knob, held))
                    });
                    format!(": {}", told.collect::<Vec<_>>().join(", "))
                }
            };
            for number in trials.chain([first]) {
                names.insert((group.name, *number), label.clone());
            }
        }
    }
    names
}

fn timeline(
    record: &Record,
    measurement: &Measurement,
    cited: bool,
    points: usize,
    names: &Names<'_>,
) -> Timeline {
    let trial = &record.trial;
    let apart = names.get(&(trial.group.as_str(), trial.number)).map_or("", String::as_str);
    let mut lines = Vec::new();
    match source(measurement, network::SOURCE) {
        Some(sent) => on_the_way(measurement, sent, points, &mut lines),
        None => throughput(&measurement.load, points, &mut lines),
    }
    if let Some(stat) = source(measurement, "stat") {
        cpu(stat, points, &mut lines);
        for (column, name) in
            [("interrupts", "interrupts"), ("context_switches", "context switches")]
        {
            let line = rate(stat, column, points, 1.0, "events", name);
            lines.extend(line);
        }
    }
    if let Some(disks) = source(measurement, "diskstats") {
        busy(disks, points, &mut lines);
    }
    if let Some(pressure) = source(measurement, "pressure") {
        for resource in ["io", "cpu", "memory"] {
            let column = format!("{resource}.some_ns");
            let line = rate(pressure, &column, points, 1e-7, "pressure", resource);
            // Nothing waited for it: a line along the axis.
            let idle = |line: &TimelineSeries| {
                resource != "io" && line.v.iter().all(|share| *share == 0.0)
            };
            lines.extend(line.filter(|line| !idle(line)));
        }
    }
    faults::lines(measurement, points, &mut lines);
    heat::lines(measurement, points, &mut lines);
    reported::lines(measurement, points, &mut lines);
    let seconds = |ns: u64| shortened(ns as f64 / 1e9);
    Timeline {
        trial: trial.number,
        label: format!(
            "{}{apart} (trial {}, replicate {})",
            trial.group, trial.number, trial.replicate
        ),
        cited,
        window: measurement.window.map(|window| (seconds(window.start_ns), seconds(window.end_ns))),
        lines,
        latency: None,
    }
}

fn source<'a>(measurement: &'a Measurement, name: &str) -> Option<&'a Series> {
    measurement.counters.iter().find(|series| series.source == name)
}

fn throughput(load: &Series, points: usize, lines: &mut Vec<TimelineSeries>) {
    for (column, scale, panel, name) in [
        ("read_bytes", 1e-6, "throughput", "read"),
        ("write_bytes", 1e-6, "throughput", "written"),
        ("metadata_ops", 1.0, "operations", "operations"),
    ] {
        let line = rate(load, column, points, scale, panel, name);
        lines.extend(line.filter(|line| line.v.iter().any(|v| *v != 0.0)));
    }
}

/// What disks gave, what went into sockets and what arrived, on one axis: where the first is above
/// the others nobody waits for the disk, and where it is the lowest everybody does.
fn on_the_way(
    measurement: &Measurement,
    sent: &Series,
    points: usize,
    lines: &mut Vec<TimelineSeries>,
) {
    let gigabits = 8e-9;
    let mut add = |series: &Series, column: &str, name: &str| {
        lines.extend(rate(series, column, points, gigabits, "network", name));
    };
    if let Some(disks) = source(measurement, "diskstats") {
        for device in measurement.evidence.devices.iter().take(DEVICES_MAX) {
            add(disks, &format!("{device}.read_bytes"), &format!("from {device}"));
        }
    }
    add(sent, "sent_bytes", "sent");
    add(&measurement.load, "read_bytes", "arrived");
}

/// Kinds of processor time, as drawn from the bottom up.
const CPU_KINDS: &[&str] = &["user", "system", "softirq", "irq", "steal", "iowait"];

/// Shares of all processors together.
fn cpu(stat: &Series, points: usize, lines: &mut Vec<TimelineSeries>) {
    let rows = kept(stat.at_ns.len(), points);
    let sums = |kind: &str| -> Vec<u64> {
        let suffix = format!(".{kind}_ns");
        let columns = stat.columns.iter().filter(|column| column.name.ends_with(&suffix));
        let mut sums = vec![0_u64; stat.at_ns.len()];
        for column in columns {
            for (sum, value) in sums.iter_mut().zip(&column.values) {
                *sum = sum.saturating_add(*value);
            }
        }
        growths(&sums, &rows)
    };
    let kinds: Vec<(&str, Vec<u64>)> =
        CPU_KINDS.iter().chain(&["idle"]).map(|kind| (*kind, sums(kind))).collect();
    let total = |row: usize| kinds.iter().map(|(_, grown)| grown[row]).sum::<u64>() as f64;
    for (kind, grown) in kinds.iter().filter(|(kind, _)| *kind != "idle") {
        let share = |(row, ns): (usize, &u64)| shortened(100.0 * *ns as f64 / total(row).max(1.0));
        let v: Vec<f64> = grown.iter().enumerate().map(share).collect();
        if v.iter().any(|share| *share > 0.0) {
            lines.push(TimelineSeries {
                panel: "cpu",
                name: (*kind).to_owned(),
                t: ends(stat, &rows),
                v,
            });
        }
    }
}

fn busy(disks: &Series, points: usize, lines: &mut Vec<TimelineSeries>) {
    let devices = disks.columns.iter().filter_map(|column| {
        let device = column.name.strip_suffix(".busy_ms")?;
        let grown = column.values.last()?.saturating_sub(*column.values.first()?);
        Some((grown, device, column.name.as_str()))
    });
    let mut devices: Vec<(u64, &str, &str)> = devices.collect();
    devices.sort_by_key(|(grown, device, _)| (std::cmp::Reverse(*grown), *device));
    for (_, device, column) in devices.into_iter().take(DEVICES_MAX) {
        // Milliseconds a second are thousandths; the axis is in percent.
        lines.extend(rate(disks, column, points, 0.1, "device", device));
    }
}

/// Growth a second of one counter, times `factor`; nothing when the series has no such column.
fn rate(
    series: &Series,
    column: &str,
    points: usize,
    factor: f64,
    panel: &'static str,
    name: &str,
) -> Option<TimelineSeries> {
    let values = &series.column(column)?.values;
    let rows = kept(series.at_ns.len().min(values.len()), points);
    let grown = growths(values, &rows);
    let lengths = rows.windows(2).map(|pair| series.at_ns[pair[1]] - series.at_ns[pair[0]]);
    let v = grown.iter().zip(lengths).map(|(grown, length_ns)| {
        shortened(*grown as f64 * factor * 1e9 / (length_ns.max(1) as f64))
    });
    Some(TimelineSeries { panel, name: name.to_owned(), t: ends(series, &rows), v: v.collect() })
}

/// Which rows to keep so that there are at most `points` intervals: evenly, with first and last.
fn kept(rows: usize, points: usize) -> Vec<usize> {
    if rows < 2 {
        return Vec::new();
    }
    let intervals = (rows - 1).min(points.max(1));
    (0..=intervals).map(|place| place * (rows - 1) / intervals).collect()
}

fn growths(values: &[u64], rows: &[usize]) -> Vec<u64> {
    rows.windows(2).map(|pair| values[pair[1]].saturating_sub(values[pair[0]])).collect()
}

fn ends(series: &Series, rows: &[usize]) -> Vec<f64> {
    let ends = rows.get(1..).unwrap_or_default().iter();
    ends.map(|row| shortened(series.at_ns[*row] as f64 / 1e9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use facts::counters::series::{Column, ColumnKind};

    #[test]
    fn thinning_keeps_the_totals() {
        let values: Vec<u64> = (0..1001).map(|row| row * row).collect();
        let series = Series {
            source: "load".into(),
            at_ns: (0..1001).map(|row| row * 100_000_000).collect(),
            columns: vec![Column { name: "x".into(), kind: ColumnKind::Counter, values }],
        };
        let line = rate(&series, "x", 50, 1.0, "throughput", "x").unwrap();
        assert_eq!(line.t.len(), 50);
        let mut from = 0.0;
        let total: f64 = line
            .t
            .iter()
            .zip(&line.v)
            .map(|(until, rate)| {
                let grown = rate * (until - from);
                from = *until;
                grown
            })
            .sum();
        assert!((total / 1e6 - 1.0).abs() < 1e-3, "{total}");
    }

    #[test]
    fn no_two_rows_are_the_same_and_short_series_are_kept_whole() {
        assert_eq!(kept(5, 300), [0, 1, 2, 3, 4]);
        assert_eq!(kept(5, 2), [0, 2, 4]);
        assert!(kept(1, 300).is_empty());
        assert!(kept(0, 300).is_empty());
    }

    #[test]
    fn cited_trials_come_first_and_100_more() {
        let fixture = fixture::evaluated();
        let input = fixture.input();
        let (timelines, without) = timelines(&input);
        let cited: Vec<u32> = input.findings.iter().flat_map(|f| f.evidence.clone()).collect();
        let done: Vec<u32> = cited.into_iter().filter(|number| *number != 117).collect();
        for timeline in timelines.iter().filter(|timeline| timeline.cited) {
            assert!(done.contains(&timeline.trial));
        }
        let uncited = timelines.iter().filter(|timeline| !timeline.cited).count();
        assert_eq!(uncited, UNCITED_MAX);
        let measured = input.records.iter().filter(|r| r.outcome.measurement().is_some()).count();
        assert_eq!(without, measured - timelines.len());
    }

    #[test]
    fn cpu_kinds_are_shares_of_all_processors() {
        let column = |name: &str, values: &[u64]| Column {
            name: name.into(),
            kind: ColumnKind::Counter,
            values: values.to_vec(),
        };
        let stat = Series {
            source: "stat".into(),
            at_ns: vec![0, 100],
            columns: vec![
                column("cpu0.user_ns", &[0, 100]),
                column("cpu1.user_ns", &[0, 0]),
                column("cpu0.idle_ns", &[0, 0]),
                column("cpu1.idle_ns", &[0, 100]),
            ],
        };
        let mut lines = Vec::new();
        cpu(&stat, 10, &mut lines);
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].name.as_str(), &lines[0].v[..]), ("user", &[50.0][..]));
    }
}
