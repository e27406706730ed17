//! (pure) Latencies as other tools counted them, from histograms of theirs that were imported.

use super::super::super::curves::CURVES_MAX;
use super::{AxisPosition, DASHES, Figure, Point, QUANTILES, Trace, message, nanoseconds, panel};
use crate::report::Input;
use base::stats::quantile::values_needed;
use base::value::counted;
use experiment::measurement::reported::ReportedHistogram;
use experiment::measurement::{Record, Reported};

/// Their names end so; of other histograms nothing is drawn.
const ENDING: &str = "latency_ns";

/// Imported results that are looked at: a store gives one after the other.
const TRIALS_MAX: usize = 200;

/// A histogram of latencies that another tool counted, and whose it is.
struct ImportedHistogram {
    by: String,
    place: String,
    histogram: ReportedHistogram,
    trial: u32,
}

/// `None` where no text that was imported has one.
pub fn figure(input: &Input<'_>) -> Option<Figure> {
    let imported = |record: &&Record| {
        record.outcome.measurement().is_some_and(|measurement| measurement.reported.is_some())
    };
    let all = input.records.iter().filter(imported).take(TRIALS_MAX);
    let all = all.flat_map(|record| of_trial(input, record));
    let mut traces: Vec<Trace> = all.enumerate().filter_map(trace).take(CURVES_MAX + 1).collect();
    let left = match traces.len() > CURVES_MAX {
        true => format!(" The first {CURVES_MAX} are drawn; the JSON has all."),
        false => String::new(),
    };
    traces.truncate(CURVES_MAX);
    if traces.is_empty() {
        return None;
    }
    let trials = traces.iter().filter_map(|it| it.points.first()).flat_map(|it| it.trials.clone());
    let trials = trials.collect();
    // SQL cannot put a histogram together: the panel names no figures.
    let panels = vec![panel("reported-latency", traces, trials, &[])];
    Some(Figure {
        id: "reported",
        title: "Latency distribution that other tools counted",
        about: format!(
            "How many operations were done within so long, by the histograms of the imported \
             texts. Each ends where its operations no longer bound it.{left}"
        ),
        message: message::main_message(&panels),
        panels,
    })
}

/// Those of a result, which a store keeps apart from its figures.
fn of_trial(input: &Input<'_>, record: &Record) -> Vec<ImportedHistogram> {
    let kept = input.samples.and_then(|samples| samples.of(record.trial.number));
    let record = kept.as_ref().unwrap_or(record);
    let reported = record.outcome.measurement().and_then(|it| it.reported.as_ref());
    let all = reported.iter().flat_map(|of| of.histograms.iter().map(move |it| (*of, it)));
    let drawn = all.filter(|(_, it)| it.name.ends_with(ENDING));
    let told = |(of, it): (&Reported, &ReportedHistogram)| ImportedHistogram {
        by: of.by.clone(),
        place: of.place.clone(),
        histogram: it.clone(),
        trial: record.trial.number,
    };
    drawn.map(told).collect()
}

/// One histogram; `None` where too few operations were counted.
fn trace((place, told): (usize, ImportedHistogram)) -> Option<Trace> {
    let histogram = &told.histogram;
    let operations: u64 = histogram.counts.iter().fold(0, |sum, it| sum.saturating_add(*it));
    let bounded = QUANTILES.iter().filter(|(quantile, _)| operations >= values_needed(*quantile));
    let point = |(quantile, label): &(f64, &str)| {
        let ns = quantile_of(histogram, operations, *quantile)?;
        let (_, time) = nanoseconds(ns);
        let figure = format!("{label} within {time}");
        let says =
            format!("{figure}\n{}, as {} counted", counted(operations, "operation"), told.by);
        let (x, y) = (AxisPosition::Number(ns), 1.0 - quantile);
        Some(Point { x, y, interval: None, says, figure, mark: "", trials: vec![told.trial] })
    };
    let points: Vec<Point> = bounded.filter_map(point).collect();
    let dash = DASHES[place % DASHES.len()];
    let what = histogram.name.trim_end_matches("_ns").replace('_', " ");
    // A legend has no room for folders, and cuts at the end.
    let file = told.place.rsplit('/').next().unwrap_or(&told.place);
    let name = format!("{what}, {file}");
    (!points.is_empty()).then_some(Trace { name, hue: place as u8, dash, points })
}

/// The value of the bin in which that share of all is reached; above 0, for a scale of powers.
fn quantile_of(histogram: &ReportedHistogram, operations: u64, quantile: f64) -> Option<f64> {
    let wanted = quantile * operations as f64;
    let mut seen = 0.0;
    for (value, count) in histogram.values.iter().zip(&histogram.counts) {
        seen += *count as f64;
        if seen >= wanted {
            return Some(value.max(&1)).map(|ns| *ns as f64);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::measurement::{Measurement, Outcome};

    fn of(values: &[u64], counts: &[u64]) -> ReportedHistogram {
        let name = "read_completion_latency_ns".to_owned();
        ReportedHistogram { name, values: values.to_vec(), counts: counts.to_vec() }
    }

    /// Histograms that fio counted were kept, and shown to nobody but a reader of the JSON.
    #[test]
    fn a_histogram_of_another_tool_is_drawn_as_far_as_it_is_bound() {
        let (campaign, mut records) = fixture::simulated();
        let us = 1000;
        let histograms = vec![of(&[100 * us, 1000 * us, 9000 * us], &[9000, 990, 10])];
        let reported = Reported {
            by: "fio-3.33".to_owned(),
            place: "/srv/job1.json".to_owned(),
            histograms,
            ..Reported::default()
        };
        let measurement = Measurement { reported: Some(reported), ..Measurement::default() };
        records[0].outcome = Outcome::Done(Box::new(measurement));
        let figure = figure(&Input::new(&campaign, &records)).unwrap();
        let [panel] = figure.panels.as_slice() else { panic!("{:?}", figure.panels) };
        let [trace] = panel.traces.as_slice() else { panic!("{:?}", panel.traces) };
        assert_eq!(trace.name, "read completion latency, job1.json");
        let told: Vec<&str> = trace.points.iter().map(|it| it.figure.as_str()).collect();
        for wanted in ["90 % within 100 us", "95 % within 1.00 ms", "99.9 % within 1.00 ms"] {
            assert!(told.contains(&wanted), "{told:?}");
        }
        // 10 000 operations bound the 99.95th percentile, not the 99.98th.
        assert_eq!(told.last(), Some(&"99.95 % within 9.00 ms"));
    }

    #[test]
    fn none_is_drawn_of_too_few_or_of_what_is_no_latency() {
        assert_eq!(quantile_of(&of(&[0, 5], &[1, 1]), 2, 0.5), Some(1.0));
        assert_eq!(quantile_of(&of(&[], &[]), 0, 0.5), None);
        let (campaign, records) = fixture::simulated();
        assert!(figure(&Input::new(&campaign, &records)).is_none());
    }
}
