//! (pure) Latency over a trial, as a map: how many operations of each interval took how long.

use serde::Serialize;

use super::{growths, kept, shortened};
use base::value::duration;
use experiment::measurement::Measurement;
use experiment::measurement::latency::{class_of, class_series, from_ns};
use facts::counters::series::Series;

/// Intervals of one map: more than a screen has room for are of no use.
const INTERVALS_MAX: usize = 240;
/// Fewer tell nothing of the course.
const INTERVALS_MIN: usize = 20;
/// Squares of all maps together; at some 5 bytes each this is about 4 MB of the page.
const SQUARES_MAX: usize = 800_000;
/// An interval with fewer operations has no 99th percentile to tell of.
const OPERATIONS_MIN: u64 = 100;

/// The map of one trial.
#[derive(Debug, Serialize)]
pub struct Map {
    /// Bounds of the intervals, seconds since the trial's start: one more than there are.
    pub t: Vec<f64>,
    /// Bounds of the classes from the lowest that anything fell into to the highest, ns: one more
    /// than there are. The first is 0 and the last is `None` where that class is open.
    pub bounds_ns: Vec<Option<u64>>,
    /// The classes in words.
    pub names: Vec<String>,
    /// Operations of each class in each interval.
    pub counts: Vec<Vec<u64>>,
    /// What is to be seen, in words.
    pub says: String,
}

/// The map of a trial whose latencies were counted by class, one of `trials` on the page; `None`
/// where they were not.
pub fn map(measurement: &Measurement, trials: usize) -> Option<Map> {
    let series = class_series(measurement)?;
    let classes = series.columns.iter().filter_map(|column| class_of(&column.name));
    let (lowest, highest) = (classes.clone().min()?, classes.max()?);
    let used = highest + 1 - lowest;
    let room = SQUARES_MAX / (used * trials.max(1));
    let rows = kept(series.at_ns.len(), room.clamp(INTERVALS_MIN, INTERVALS_MAX));
    let counts: Vec<Vec<u64>> = (lowest..=highest).map(|at| grown(series, at, &rows)).collect();
    let t: Vec<f64> = rows.iter().map(|row| shortened(series.at_ns[*row] as f64 / 1e9)).collect();
    let says = says(&t, lowest, &counts)?;
    let bounds_ns = (lowest..=highest + 1).map(from_ns).collect();
    let names = (lowest..=highest).map(within).collect();
    Some(Map { t, bounds_ns, names, counts, says })
}

/// Operations of a class in each interval; nobody fell into one that has no column.
fn grown(series: &Series, class: usize, rows: &[usize]) -> Vec<u64> {
    let column = series.columns.iter().find(|column| class_of(&column.name) == Some(class));
    match column.filter(|column| column.values.len() >= series.at_ns.len()) {
        Some(column) => growths(&column.values, rows),
        None => vec![0; rows.len().saturating_sub(1)],
    }
}

/// The slowest operations, and the worst 99th percentile of an interval; `None` when there were no
/// operations.
fn says(t: &[f64], lowest: usize, counts: &[Vec<u64>]) -> Option<String> {
    let intervals = t.len().saturating_sub(1);
    let (slowest, ended) = counts.iter().enumerate().rev().find_map(|(at, row)| {
        let ended: Vec<usize> = (0..intervals).filter(|place| row[*place] > 0).collect();
        (!ended.is_empty()).then_some((at, ended))
    })?;
    // To hundredths: by how much the sampler was late is no news. The last may be shorter.
    let between = |place: usize| {
        let (from, until) = (t[place], t[place + 1]);
        match [from, until].map(|second| (second * 100.0).round() / 100.0) {
            [short, long] if short < long => format!("between {short} and {long} s"),
            _ => format!("between {from} and {until} s"),
        }
    };
    let many = counts[slowest].iter().sum::<u64>();
    let (operations, they) = match many {
        1 => ("operation".to_owned(), "it"),
        many => (format!("{many} operations"), "they"),
    };
    let first = if ended.len() > 1 { ", first " } else { ", " };
    let mut text = format!(
        "The slowest {operations} took {}; {they} ended in {} of {intervals} intervals{first}{}.",
        within(lowest + slowest),
        ended.len(),
        between(ended[0]),
    );
    let all: Vec<u64> = counts.iter().map(|row| row.iter().sum()).collect();
    let of = |place: usize| counts.iter().map(|row| row[place]).collect::<Vec<u64>>();
    let told = (0..intervals).filter_map(|place| Some((p99(&of(place))?, place)));
    // Of those that are equally bad the first.
    let worst = told.max_by_key(|(at, place)| (*at, std::cmp::Reverse(*place)));
    if let (Some((at, place)), Some(whole)) = (worst, p99(&all)) {
        text.push_str(&match at > whole {
            true => format!(
                " The 99th percentile of an interval was highest {}: {}; that of all is {}.",
                between(place),
                within(lowest + at),
                within(lowest + whole)
            ),
            false => format!(
                " In no interval was the 99th percentile in a slower class than that of all: {}.",
                within(lowest + whole)
            ),
        });
    }
    Some(text)
}

/// The class that holds the 99th percentile; `None` of too few operations.
fn p99(counts: &[u64]) -> Option<usize> {
    let sum = counts.iter().sum::<u64>();
    let rank = sum - sum / 100;
    let mut seen = 0;
    let holds = |count: &u64| {
        seen += count;
        seen >= rank
    };
    (sum >= OPERATIONS_MIN).then(|| counts.iter().position(holds))?
}

/// `67.1 ms to 101 ms`, `less than 1.02 us`.
fn within(class: usize) -> String {
    let bound = |class| from_ns(class).map(|ns| duration(ns as f64));
    match (bound(class), bound(class + 1)) {
        (_, Some(until)) if class == 0 => format!("less than {until}"),
        (Some(from), Some(until)) => format!("{from} to {until}"),
        (from, _) => format!("{} or longer", from.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::latency::{CLASSES, Course, LatencyClassCounts, class};

    const MS: u64 = 1_000_000;

    /// A read takes 0.2 ms, 500 in 100 ms; one stream of five waits 98 ms once in 5 s.
    fn paused(seconds: u64) -> Measurement {
        let mut course = Course::default();
        let mut counts: LatencyClassCounts = [0; CLASSES];
        for row in 1..=seconds * 10 {
            counts[class(MS / 5)] += 500;
            if row % 50 == 30 {
                counts[class(98 * MS)] += 7;
            }
            let at_ns = row * 100 * MS;
            if course.is_due(at_ns) {
                course.row(at_ns, &counts);
            }
        }
        let series = course.end(seconds * 1000 * MS, &counts).unwrap();
        Measurement { counters: vec![series], ..Measurement::default() }
    }

    #[test]
    fn a_pause_every_five_seconds_is_a_square_every_five_seconds() {
        let map = map(&paused(20), 1).unwrap();
        assert_eq!((map.t.len(), map.t[0], map.t[200]), (201, 0.0, 20.0));
        let slow = map.counts.last().unwrap();
        let places = (0..200).filter(|place| slow[*place] > 0).map(|place| map.t[place]);
        assert_eq!(places.collect::<Vec<_>>(), [2.9, 7.9, 12.9, 17.9]);
        let bounds: Vec<u64> = map.bounds_ns.iter().flatten().copied().collect();
        assert!(bounds.len() == map.counts.len() + 1 && bounds.is_sorted_by(|a, b| a < b));
        assert!(bounds[0] <= MS / 5 && MS / 5 < bounds[1], "{bounds:?}");
        assert_eq!(
            map.says,
            "The slowest 28 operations took 67.1 ms to 101 ms; they ended in 4 of 200 intervals, \
             first between 2.9 and 3 s. The 99th percentile of an interval was highest between \
             2.9 and 3 s: 67.1 ms to 101 ms; that of all is 197 us to 262 us."
        );
    }

    #[test]
    fn many_trials_get_coarser_maps_and_lose_no_operation() {
        for (trials, most) in [(1, 240), (500, 90), (100_000, 20)] {
            let map = map(&paused(100), trials).unwrap();
            assert!(map.counts.iter().all(|row| row.len() == map.t.len() - 1));
            assert!((most / 2..=most).contains(&map.counts[0].len()), "{}", map.counts[0].len());
            assert_eq!(map.counts.iter().flatten().sum::<u64>(), 100 * 10 * 500 + 20 * 7);
        }
    }

    #[test]
    fn what_was_not_counted_by_class_has_no_map_and_strange_series_none_either() {
        assert!(map(&Measurement::default(), 1).is_none());
        let mut strange = paused(5);
        strange.counters[0].columns.iter_mut().for_each(|column| column.values.truncate(3));
        assert!(map(&strange, 1).is_none());
        let mut strange = paused(5);
        strange.counters[0].columns[0].name = "cpu0.user_ns".into();
        assert_eq!(map(&strange, 1).unwrap().counts.len(), 1);
        strange.counters[0].at_ns.clear();
        assert!(map(&strange, 1).is_none());
    }

    #[test]
    fn few_operations_have_no_percentile_and_the_ends_are_open() {
        let until = |end_ns: u64, classes: &[(usize, u64)]| {
            let mut counts: LatencyClassCounts = [0; CLASSES];
            classes.iter().for_each(|(class, count)| counts[*class] = *count);
            let series = Course::default().end(end_ns, &counts).unwrap();
            map(&Measurement { counters: vec![series], ..Measurement::default() }, 1).unwrap()
        };
        let of = |classes: &[(usize, u64)]| until(100 * MS, classes);
        // Of a trial of 4 ms "between 0 and 0 s" was told.
        let short = until(4 * MS, &[(3, 5)]);
        assert!(short.says.ends_with("1 of 1 intervals, between 0 and 0.004 s."), "{}", short.says);
        let one = of(&[(CLASSES - 1, 1), (3, 98)]);
        assert_eq!(one.bounds_ns.last(), Some(&None));
        assert_eq!(
            one.says,
            "The slowest operation took 1 min 09 s or longer; it ended in 1 of 1 intervals, \
             between 0 and 0.1 s."
        );
        let all = of(&[(0, 1000)]);
        assert_eq!((all.bounds_ns, all.counts), (vec![Some(0), Some(1024)], vec![vec![1000]]));
        assert!(all.says.contains("took less than 1.02 us;"), "{}", all.says);
        assert!(all.says.ends_with("slower class than that of all: less than 1.02 us."));
    }

    #[test]
    fn the_99th_percentile_is_that_of_nearest_rank() {
        for (counts, holds) in
            [([99, 1], Some(0)), ([98, 2], Some(1)), ([98, 1], None), ([990, 10], Some(0))]
        {
            assert_eq!(p99(&counts), holds, "{counts:?}");
        }
    }
}
