//! (pure) What logs of other tools tell over time, in the panels of what we sample.

use super::{TimelineSeries, kept, shortened};
use experiment::measurement::Measurement;
use experiment::measurement::figure_names;
use experiment::measurement::reported::ReportedSeries;

/// Waits that another tool logged: our own are a map.
pub const WAIT: &str = "reported-wait";
/// Series of one result that are drawn, the first ones.
pub const LINES_MAX: usize = 12;

/// How a name ends, where it is drawn, and what it is multiplied with for the axis there.
const PANELS: [(&str, &str, f64); 4] = [
    (figure_names::THROUGHPUT, "throughput", 1e-6),
    (figure_names::IOPS, "operations", 1.0),
    (figure_names::OPS_PER_S, "operations", 1.0),
    ("latency_ns", WAIT, 1e-3),
];

/// Adds them.
pub fn lines(measurement: &Measurement, points: usize, lines: &mut Vec<TimelineSeries>) {
    lines.extend(measurement.reported_series().filter_map(|of| line(of, points)).take(LINES_MAX));
}

/// Its values, or the mean of as many as stand between two that are kept: it tells levels, of
/// which none may be left out.
fn line(of: &ReportedSeries, points: usize) -> Option<TimelineSeries> {
    let (ending, panel, factor) = PANELS.into_iter().find(|(end, ..)| of.name.ends_with(end))?;
    let rows = kept(of.at_ns.len().min(of.values.len()), points);
    let ends = rows.get(1..)?;
    let (mut t, mut v) = (Vec::new(), Vec::new());
    for (place, end) in ends.iter().enumerate() {
        // The first value is of the interval before it, and is in the first mean.
        let from = if place == 0 { 0 } else { rows[place] + 1 };
        let values = &of.values[from..=*end];
        t.push(shortened(of.at_ns[*end] as f64 / 1e9));
        v.push(shortened(values.iter().sum::<f64>() / values.len() as f64 * factor));
    }
    let way = of.name.strip_suffix(ending).unwrap_or_default().trim_end_matches('_');
    let name = if way.is_empty() { "reported".to_owned() } else { format!("{way}, reported") };
    let name = name.replace('_', " ");
    (!v.is_empty()).then_some(TimelineSeries { panel, name, t, v })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_mean_of_one_point() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let at_ns = (1..=1000).map(|second| second * 1_000_000_000).collect();
        let name = "read_throughput_bytes_per_s".to_owned();
        let of = ReportedSeries { name, at_ns, values: values.iter().map(|v| v * 1e6).collect() };
        let drawn = line(&of, 9).unwrap();
        assert_eq!((drawn.panel, drawn.name.as_str()), ("throughput", "read, reported"));
        assert_eq!((drawn.t.len(), drawn.t.last()), (9, Some(&1000.0)));
        assert!(drawn.v.is_sorted());
        let all = line(&of, 999).unwrap();
        // The first two stand in one point; each other one is a point.
        assert_eq!((all.v[0], all.v[1], all.v.last()), (0.5, 2.0, Some(&999.0)));
        let other = ReportedSeries { name: "jitter_ns".to_owned(), ..of };
        assert!(line(&other, 9).is_none(), "of what there is no panel nothing is drawn");
    }
}
