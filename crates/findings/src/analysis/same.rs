//! Sameness in sentences: that it is shown, or what leaves it open and what would decide it.
//!
//! "Gives all it has", "no difference", "as fast as" are claims, and are made where a test of
//! equivalence shows them (`stats::equivalence`). What is compared with what is left to the
//! questions.

use super::assertion::{Assertion, Asserts};
use super::curve::Curve;
use super::words;
use base::stats::equivalence::{
    CHANCE, Likeness, MARGIN, chance_of_more, geometric_mean, likeness_of, replicates_for_sameness,
};
use base::stats::knee::{Knee, Scaling};
use base::stats::profile::Level;
use base::stats::{Estimate, Interval, RatioOfMeans};
use base::value::significant;

/// Nobody runs a cell more often than this.
const REPLICATES_MAX: u32 = 200;

/// Beyond these an end of a ratio's interval says only that nothing is known.
const ENDS: (f64, f64) = (0.01, 100.0);

/// What is not decided.
pub struct Undecided {
    /// A sentence without its full stop.
    pub claim: String,
    /// What would decide it.
    pub advice: String,
    /// Nothing else is: not even that more gets more.
    pub all: bool,
}

/// That it is not decided whether the load `label` gets more at levels above the first; `name` says
/// a level. `levels` are in ascending order, two or more.
pub fn undecided(label: &str, levels: &[Level], name: impl Fn(f64) -> String) -> Undecided {
    let advice = more_replicates(levels.iter().map(|level| level.values.as_slice()));
    let Some((first, above)) = levels.split_first() else {
        let claim = format!("Nothing was measured of {}", words::lower(label));
        return Undecided { claim, advice, all: true };
    };
    let few = name(first.at);
    let ratio = |level: &'_ Level| RatioOfMeans::from_samples(&level.values, &first.values);
    let known = above.iter().filter_map(|level| Some((level.at, ratio(level)?)));
    let high = |of: &Estimate| of.interval.map_or(of.value, |ends| ends.high);
    let most = known.max_by(|a, b| high(&a.1.estimate()).total_cmp(&high(&b.1.estimate())));
    let Some((at, ratio)) = most else {
        let label = words::lower(label);
        let claim = format!("Whether {label} gains from more than {few} is not decided");
        return Undecided { claim, advice, all: true };
    };
    let times = match as_much(&ratio.estimate()) {
        Some(times) => format!("{} gave {times}", name(at)),
        None => "runs far apart".to_owned(),
    };
    let chance = ratio.chance_above(1.0).unwrap_or(1.0) * above.len() as f64;
    let all = chance > CHANCE;
    let claim = match all {
        false => format!(
            "{label} gains from more than {few} ({times}), but where it stops growing is not \
             decided"
        ),
        true => format!(
            "Whether {} gains from more than {few} is not decided ({times})",
            words::lower(label)
        ),
    };
    Undecided { claim, advice, all }
}

/// `1.50 times as much, 0.900 to 2.50`; `None` where runs are too far apart to say.
fn as_much(ratio: &Estimate) -> Option<String> {
    let value = significant(ratio.value);
    Some(match ratio.interval {
        Some(ends) if ends.low < ENDS.0 && ends.high > ENDS.1 => return None,
        Some(ends) => format!("{value} times as much, {}", range(&ends)),
        None => format!("{value} times as much, one run of each"),
    })
}

/// `0.900 to 2.50`, as far as anybody can use it.
pub fn range(ends: &Interval) -> String {
    let end = |ratio: f64| match ratio {
        ratio if ratio < ENDS.0 => format!("less than {}", ENDS.0),
        ratio if ratio > ENDS.1 => format!("more than {}", ENDS.1),
        ratio => significant(ratio),
    };
    format!("{} to {}", end(ends.low), end(ends.high))
}

/// What a curve over `levels` states: where more gets more, and from where on it gets no more.
pub fn stated(curve: &Curve<'_>, levels: &[Level], scaling: &Scaling) -> Vec<Assertion> {
    let at = |of: &dyn Fn(f64) -> bool| -> Vec<u32> {
        let points = curve.points.iter().filter(|point| of(point.at));
        points.map(|point| point.record.trial.number).collect()
    };
    let repeated = levels.iter().any(|level| level.values.len() > 1);
    let more = match scaling.knee {
        Knee::At(Estimate { interval: Some(ends), .. }) => {
            Some((at(&|level| level * MARGIN < ends.low), at(&|level| level >= ends.high)))
        }
        Knee::Between(below, reached) if repeated => {
            Some((at(&|level| level == below), at(&|level| level == reached)))
        }
        _ => None,
    };
    let enough = match scaling.knee {
        Knee::BeforeFirst => levels.first().map(|level| level.at),
        Knee::At(_) | Knee::Between(..) => scaling.enough_at,
        Knee::Undecided | Knee::BeyondLast => None,
    };
    let no_more = enough.and_then(|enough| {
        let least = levels.iter().find(|level| level.at == enough)?;
        let above = levels.iter().filter(|level| level.at > enough);
        let chance = chance_of_more(&least.values, above.map(|level| level.values.as_slice()));
        let trials = (at(&|level| level == enough), at(&|level| level > enough));
        Some(Assertion::new(Asserts::NoMore, trials.0, trials.1, chance))
    });
    // The interval of a knee, and the bracket, leave it out with 95 %.
    let more = more.map(|(few, many)| Assertion::new(Asserts::More, few, many, CHANCE / 2.0));
    more.into_iter().chain(no_more).collect()
}

/// How two cells compare, at the end of a sentence that gave the figures of both: that the first
/// has so many times as much, that there is no difference, or that this is not decided.
pub fn compared(top: &[f64], bottom: &[f64], ratio: &Estimate) -> String {
    let ends = ratio.interval.as_ref().map(range);
    match (likeness_of(ratio), ends) {
        (Likeness::Equal, Some(ends)) => {
            format!("no difference of 10 % or more (ratio {ends})")
        }
        (Likeness::NotDecided, Some(ends)) => {
            format!("whether they differ is not decided (ratio {ends})")
        }
        _ => {
            let of = means(top, bottom).unwrap_or_default();
            format!("{} as much{of}", words::number(ratio, " times"))
        }
    }
}

/// The two means that a ratio is of, MB/s, where it is not that of the means that stand beside it:
/// 1.30 was printed beside 1158 and 1413, as ratios are of geometric means.
pub fn means(top: &[f64], bottom: &[f64]) -> Option<String> {
    let mean = base::stats::mean;
    let [above, below] = [geometric_mean(top), geometric_mean(bottom)];
    let off = (mean(top) / mean(bottom)) / (above / below) - 1.0;
    let mb_per_s = |rate: f64| significant(rate / 1e6);
    (off.abs() > 0.005)
        .then(|| format!(" (of geometric means, {} and {} MB/s)", mb_per_s(above), mb_per_s(below)))
}

/// What would decide whether some groups are the same.
pub fn more_replicates<'a>(groups: impl Iterator<Item = &'a [f64]> + Clone) -> String {
    let most = groups.clone().map(<[f64]>::len).max().unwrap_or(0) as u32;
    match replicates_for_sameness(groups, REPLICATES_MAX) {
        Some(needed) => {
            let needed = needed.max(most + 1);
            format!("some {needed} replicates would tell: --replicates {needed}")
        }
        None if most < 2 => "run three replicates or more: --replicates 3".to_owned(),
        None => "replicates lie too far apart to tell: find out what else the machine does".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(at: f64, values: &[f64]) -> Level {
        Level { at, values: values.to_vec() }
    }

    #[test]
    fn what_is_open_says_by_how_much_and_what_would_decide_it() {
        let first = level(1.0, &[1240.0, 1253.0, 1266.0]);
        let open = |values: &[f64]| {
            let levels = [first.clone(), level(4.0, &[1200.0, 1250.0]), level(32.0, values)];
            undecided("Random reading (direct)", &levels, words::streams)
        };
        let wide = open(&[1000.0, 1900.0, 2900.0]);
        let lead = "Whether random reading (direct) gains from more than 1 stream is not \
                    decided (32 streams gave 1.4";
        assert!(wide.claim.starts_with(lead), "{}", wide.claim);
        assert!(wide.advice.contains("too far apart to tell"), "{}", wide.advice);
        let more = open(&[1860.0, 1878.0, 1890.0]);
        let lead = "Random reading (direct) gains from more than 1 stream (32 streams gave 1.5";
        assert!(more.claim.starts_with(lead), "{}", more.claim);
        assert_eq!(more.advice, "some 4 replicates would tell: --replicates 4");
        let once = [level(1.0, &[10.0]), level(2.0, &[12.0])];
        let once = undecided("Reading", &once, words::streams);
        assert!(once.claim.ends_with("(2 streams gave 1.20 times as much, one run of each)"));
        assert_eq!(once.advice, "run three replicates or more: --replicates 3");
    }

    /// A ratio of 1.30 stood beside 1158 and 1413, of which the ratio is 1.22.
    #[test]
    fn a_ratio_stands_beside_the_means_that_it_is_of() {
        let (top, bottom) = ([1400.0e6, 1426.0e6], [600.0e6, 1716.0e6]);
        let said = means(&top, &bottom).unwrap();
        assert_eq!(said, " (of geometric means, 1413 and 1015 MB/s)");
        assert_eq!(means(&[4e6, 4.01e6], &[2e6, 2.01e6]), None);
    }

    #[test]
    fn of_two_cells_no_difference_is_said_where_it_is_shown() {
        let said = |top: &[f64], bottom: &[f64]| {
            let ratio = base::stats::ratio_of_means(top, bottom).unwrap();
            compared(top, bottom, &ratio)
        };
        let base = [100e6, 101e6, 99e6];
        assert!(said(&[100e6, 102e6, 98e6], &base).starts_with("no difference of 10 % or more"));
        assert!(said(&[80e6, 140e6, 110e6], &base).contains("is not decided (ratio 0."));
        assert!(said(&[200e6, 202e6, 198e6], &base).starts_with("2.00 times ("));
        assert_eq!(said(&[300e6], &[100e6]), "3.00 times (one run of each) as much");
    }
}
