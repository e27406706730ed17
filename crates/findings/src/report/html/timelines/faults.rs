//! (pure) Faults over a trial: how many had been found by then, with the temperatures under it.

use super::{POINTS_MAX, Timeline, TimelineSeries, heat, names, shortened, timeline};
use crate::analysis::integrity::pool::UNREADABLE;
use crate::report::Input;
use experiment::measurement::Measurement;

/// Wrong blocks, and unreadable places.
pub const LINES_MAX: usize = 2;
/// Trials whose faults are drawn in the section of integrity.
const TRIALS_MAX: usize = 4;

/// Faults that were kept, cumulative, at the ends of so many equal parts of the trial's time.
pub fn lines(measurement: &Measurement, points: usize, lines: &mut Vec<TimelineSeries>) {
    let Some(integrity) = &measurement.integrity else { return };
    let last = integrity.faults.iter().map(|fault| fault.at_ns).max();
    let Some(last) = last else { return };
    let length_ns = measurement.elapsed_ns.max(last).max(1);
    let points = points.max(2) as u64;
    let part = |place: u64| (u128::from(length_ns) * u128::from(place) / u128::from(points)) as u64;
    for (name, lost) in [("wrong blocks", false), ("unreadable places", true)] {
        let mut times: Vec<u64> = integrity
            .faults
            .iter()
            .filter(|fault| (fault.kind == UNREADABLE) == lost)
            .map(|fault| fault.at_ns)
            .collect();
        if times.is_empty() {
            continue;
        }
        times.sort_unstable();
        let ends = 1..=points;
        let t = ends.clone().map(|place| shortened(part(place) as f64 / 1e9)).collect();
        let by = |place| times.partition_point(|at_ns| *at_ns <= part(place)) as f64;
        lines.push(TimelineSeries {
            panel: "faults",
            name: name.to_owned(),
            t,
            v: ends.map(by).collect(),
        });
    }
}

/// Of the first trials that found any: faults, and temperatures where they were read; and how many
/// trials more found some.
pub fn of_faults(input: &Input<'_>) -> (Vec<Timeline>, usize) {
    let faulty = |measurement: &Measurement| {
        measurement.integrity.as_ref().is_some_and(|integrity| !integrity.faults.is_empty())
    };
    let mut found: Vec<_> = input
        .records
        .iter()
        .filter_map(|record| Some((record, record.outcome.measurement()?)))
        .filter(|(_, measurement)| faulty(measurement))
        .collect();
    if found.is_empty() {
        return (Vec::new(), 0);
    }
    let more = found.len().saturating_sub(TRIALS_MAX);
    found.truncate(TRIALS_MAX);
    let names = names(input, &found.iter().map(|(record, _)| record.trial.number).collect());
    let shown = found.iter().map(|(record, measurement)| {
        let mut lines = Vec::new();
        self::lines(measurement, POINTS_MAX, &mut lines);
        // Samples of stored trials are had one at a time.
        let full = input.samples.filter(|_| measurement.digest.is_some());
        let full = full.and_then(|samples| samples.of(record.trial.number));
        let sampled = full.as_ref().and_then(|full| full.outcome.measurement());
        heat::lines(sampled.unwrap_or(measurement), POINTS_MAX, &mut lines);
        // Slowing down for heat has a panel of its own in the whole timeline.
        lines.retain(|line| line.panel != "throttled");
        Timeline { lines, ..timeline(record, &Measurement::default(), true, 2, &names) }
    });
    (shown.collect(), more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn faults_add_up_to_all_that_were_kept_and_temperatures_lie_under_them() {
        let (campaign, records) = fixture::damaged();
        let input = Input::new(&campaign, &records);
        let (timelines, more) = of_faults(&input);
        assert_eq!((timelines.len(), more), (2, 0), "the third found none");
        let lines = &timelines[0].lines;
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["wrong blocks", "unreadable places", "sda"]);
        assert_eq!((lines[0].v.last(), lines[1].v.last()), (Some(&5.0), Some(&1.0)));
        assert_eq!(lines[0].t.last(), Some(&7200.0), "to the end of the trial");
        let before = lines[0].t.iter().filter(|t| **t < 21.0 * 60.0).count();
        assert!(lines[0].v[..before].iter().all(|count| *count == 0.0), "none before the first");
        assert!(lines[0].v.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_fault_after_the_end_or_at_the_very_start_is_drawn_too() {
        let mut measurement = Measurement::default();
        let mut drawn = Vec::new();
        lines(&measurement, 10, &mut drawn);
        assert!(drawn.is_empty());
        let fault =
            |at_ns| experiment::measurement::integrity::Fault { at_ns, ..Default::default() };
        let faults = vec![fault(u64::MAX), fault(0)];
        let integrity = experiment::measurement::Integrity { faults, ..Default::default() };
        measurement.integrity = Some(integrity);
        lines(&measurement, 10, &mut drawn);
        assert_eq!((drawn[0].v[0], drawn[0].v.last()), (1.0, Some(&2.0)));
    }
}
