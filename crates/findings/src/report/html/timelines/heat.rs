//! (pure) Temperatures of drives and processors over a trial, and for how long these were
//! throttled.

use super::{TimelineSeries, ends, kept, rate, shortened, source};
use experiment::measurement::Measurement;
use facts::counters::series::Series;

/// Drives and processors that are drawn, the hottest first.
const SENSORS_MAX: usize = 12;
/// An upper bound on the lines of a trial.
pub const LINES_MAX: usize = SENSORS_MAX + 4;
/// 0 degrees Celsius, thousandths of a kelvin.
const ZERO_MILLIKELVIN: i64 = facts::counters::ZERO_CELSIUS_MILLIKELVIN as i64;

/// Adds them.
pub fn lines(measurement: &Measurement, points: usize, lines: &mut Vec<TimelineSeries>) {
    let mut sensors: Vec<(u64, TimelineSeries)> = Vec::new();
    for name in ["nvme-temperature", "sata-temperature", "cpu-temperature"] {
        let Some(series) = source(measurement, name) else { continue };
        for column in &series.columns {
            let Some(part) = column.name.strip_suffix(".temperature_millikelvin") else { continue };
            let highest = column.values.iter().max().copied().unwrap_or(0);
            sensors.extend(gauge(series, &column.values, points, part).map(|line| (highest, line)));
        }
    }
    sensors.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    lines.extend(sensors.into_iter().take(SENSORS_MAX).map(|(_, line)| line));
    if let Some(cpus) = source(measurement, "cpu-throttling") {
        lines.extend(throttled(cpus, points, "throttled_ms"));
    }
}

/// Levels at the ends of the intervals that are kept: the highest since the end before, as what
/// matters of a temperature is its peaks.
fn gauge(series: &Series, values: &[u64], points: usize, name: &str) -> Option<TimelineSeries> {
    let rows = kept(series.at_ns.len().min(values.len()), points);
    let peaks = rows.windows(2).map(|pair| {
        let peak = values[pair[0] + 1..=pair[1]].iter().max().copied().unwrap_or(0);
        let milli = i64::try_from(peak).unwrap_or(i64::MAX).saturating_sub(ZERO_MILLIKELVIN);
        shortened(milli as f64 / 1e3)
    });
    let v: Vec<f64> = peaks.collect();
    let (panel, name) = ("temperature", name.to_owned());
    (!v.is_empty()).then(|| TimelineSeries { panel, name, t: ends(series, &rows), v })
}

/// The processors that were throttled, worst first; of those that never were, none.
fn throttled(cpus: &Series, points: usize, what: &str) -> Vec<TimelineSeries> {
    let grown = |values: &[u64]| {
        let (first, last) = (values.first().copied(), values.last().copied());
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
    };
    let columns = cpus.columns.iter().filter(|column| column.name.ends_with(what));
    let mut worst: Vec<(u64, &str)> = columns
        .map(|column| (grown(&column.values), column.name.as_str()))
        .filter(|(ms, _)| *ms > 0)
        .collect();
    worst.sort_by_key(|(ms, name)| (std::cmp::Reverse(*ms), *name));
    // Milliseconds a second are thousandths; the axis is in percent.
    let line = |(_, column): &(u64, &str)| {
        let name = column.trim_end_matches("_throttled_ms").replace('.', " ");
        rate(cpus, column, points, 0.1, "throttled", &name)
    };
    worst.iter().take(LINES_MAX - SENSORS_MAX).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::counters::series::{Column, ColumnKind};

    fn column(name: &str, kind: ColumnKind, values: Vec<u64>) -> Column {
        Column { name: name.into(), kind, values }
    }

    /// A night of 8 h with one hot minute, thinned to 10 points: the minute is still there.
    #[test]
    fn a_night_is_drawn_whole_and_its_peak_survives_thinning() {
        let rows = 2880_usize;
        let mut values = vec![273_150 + 40_000; rows];
        values[1500] = 273_150 + 85_500;
        let at_ns: Vec<i64> = (0..rows as i64).map(|row| row * 10_000_000_000).collect();
        let throttled = (0..rows as u64).map(|row| if row > 1500 { 6000 } else { 0 }).collect();
        let counters = vec![
            Series {
                source: "nvme-temperature".into(),
                at_ns: at_ns.clone(),
                columns: vec![
                    column("nvme0.temperature_millikelvin", ColumnKind::Gauge, values),
                    column("nvme0.warning_millikelvin", ColumnKind::Gauge, vec![1; rows]),
                ],
            },
            Series {
                source: "cpu-throttling".into(),
                at_ns,
                columns: vec![
                    column("cpu3.core_throttled_ms", ColumnKind::Counter, throttled),
                    column("cpu4.core_throttled_ms", ColumnKind::Counter, vec![7; rows]),
                ],
            },
        ];
        let measurement = Measurement { counters, ..Measurement::default() };
        let mut drawn = Vec::new();
        lines(&measurement, 10, &mut drawn);
        assert_eq!(drawn.len(), 2, "{drawn:?}");
        assert_eq!((drawn[0].panel, drawn[0].name.as_str()), ("temperature", "nvme0"));
        assert_eq!(drawn[0].v.iter().filter(|v| **v == 85.5).count(), 1);
        assert_eq!(drawn[0].t.last(), Some(&shortened(28_790.0)), "to the end of the night");
        assert_eq!((drawn[1].panel, drawn[1].name.as_str()), ("throttled", "cpu3 core"));
        assert!(drawn[1].v.iter().any(|share| *share > 0.0));
    }
}
