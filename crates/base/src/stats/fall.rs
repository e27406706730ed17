//! One fall in a series: from one level to a lower one, where there is such.
//!
//! The series is cut into bins; the logarithms of their means are split in two where that leaves
//! the least squares. Neighbours may resemble each other: the long-run variance of an AR(1) series
//! stands for that of independent values.
//!
//! Sources: Bai, "Estimation of a change point in multiple regression models", Review of Economics
//! and Statistics 79 (1997), for the interval of the place; Hinkley, "Inference about the
//! change-point in a sequence of random variables", Biometrika 57 (1970).

use super::{Estimate, batch_means};

/// A fall between two levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// How many values were before it, with an interval that is at least a 95 % one: it ends at
    /// the bins beside, however sure their order is.
    pub place: Estimate,
    /// The level before it, with an interval by batch means where there are values enough.
    pub before: Estimate,
    /// The level after it, likewise.
    pub after: Estimate,
}

/// A shorter series does not tell a fall from a wave.
const VALUES_MIN: usize = 40;
/// More bins would only invite correlation.
const BINS_MAX: usize = 120;
/// Bins that there must be on either side.
const SIDE_MIN: usize = 5;
/// A fall is told where the level after it is surely below this share of the level before it ...
const SURELY: f64 = 0.75;
/// ... by so many standard errors, as the place was chosen among all.
const ERRORS: f64 = 4.0;
/// ... and where a straight line leaves more than the two levels do by this factor: else it is a
/// slope, which has no place.
const LINE: f64 = 1.4;
/// Of the limiting distribution of the place: 97.5 %, over the square of the fall in long-run
/// deviations (Bai 1997).
const PLACE: f64 = 11.0;

/// The largest fall of a series of values that are not negative; `None` where there is none that
/// surely goes to less than three quarters, where the series is shorter than 40, or where it is a
/// slope rather than a fall.
pub fn fall(values: &[f64]) -> Option<Fall> {
    let good = |value: &f64| value.is_finite() && *value >= 0.0;
    if values.len() < VALUES_MIN || !values.iter().all(good) {
        return None;
    }
    let length = values.len().div_ceil(BINS_MAX);
    let average = super::mean(values);
    // A standstill has no logarithm; next to nothing is as far as it matters here.
    let level = |bin: &[f64]| super::mean(bin).max(average / 100.0).ln();
    let bins: Vec<f64> = values.chunks_exact(length).map(level).collect();
    if average <= 0.0 || bins.len() < 2 * SIDE_MIN + 1 {
        return None;
    }
    let n = bins.len() as f64;
    let (place, left) = split(&bins)?;
    let (before, after) = bins.split_at(place);
    let levels = [super::mean(before), super::mean(after)];
    let rest = |bin: usize| bins[bin] - levels[usize::from(bin >= place)];
    let rest: Vec<f64> = (0..bins.len()).map(rest).collect();
    let phi = if left > 0.0 {
        let products: f64 = rest.windows(2).map(|two| two[0] * two[1]).sum();
        let raw = products / left;
        (raw + (2.0 + 6.0 * raw + 4.0 * raw * raw) / n).clamp(0.0, 0.97)
    } else {
        0.0
    };
    // Each of the two means takes a part of what neighbours share away from what is left.
    let worth = (1.0 + phi) / (1.0 - phi);
    let long_run = left / (n - 1.0 - 2.0 * worth).max(n / 4.0) * worth;
    let change = levels[1] - levels[0];
    let parts = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let error = (long_run * parts).sqrt();
    if change + ERRORS * error > SURELY.ln() || line(&bins) < LINE * left {
        return None;
    }
    let half = (PLACE * long_run / (change * change)).floor() + 1.0;
    let at = |bins: f64| (bins * length as f64).clamp(0.0, values.len() as f64);
    let middle = place as f64;
    let ends = [(middle - half).max(0.0), middle + half].map(|bins| at(bins) as usize);
    let level =
        |values: &[f64]| Estimate { value: super::mean(values), interval: batch_means(values) };
    Some(Fall {
        place: Estimate::within(at(middle), at(middle - half), at(middle + half)),
        before: level(&values[..ends[0].max(1)]),
        after: level(&values[ends[1].min(values.len() - 1)..]),
    })
}

/// The place at which two levels leave the least squares, and these.
fn split(bins: &[f64]) -> Option<(usize, f64)> {
    let (all, n) = (bins.iter().sum::<f64>(), bins.len());
    let squares: f64 = bins.iter().map(|bin| bin * bin).sum();
    let mut before = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (place, bin) in bins.iter().enumerate() {
        if place >= SIDE_MIN && n - place >= SIDE_MIN {
            let after = all - before;
            let explained = before * before / place as f64 + after * after / (n - place) as f64;
            let left = (squares - explained).max(0.0);
            if best.is_none_or(|(_, least)| left < least) {
                best = Some((place, left));
            }
        }
        before += bin;
    }
    best
}

/// The squares that a straight line leaves.
fn line(bins: &[f64]) -> f64 {
    let (centre, middle) = (super::mean(bins), (bins.len() - 1) as f64 / 2.0);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (place, bin) in bins.iter().enumerate() {
        let (x, y) = (place as f64 - middle, bin - centre);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    yy - xy * xy / xx
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// `n` rates that fall to `ratio` after `place` of them, with noise in proportion.
    fn series(seed: u64, n: usize, (place, ratio): (f64, f64), (phi, sd): (f64, f64)) -> Vec<f64> {
        let noise = Random::new(seed).ar1(n, phi, 0.0, sd);
        let level = |at: usize| {
            let before = (place - at as f64).clamp(0.0, 1.0);
            100.0 * (before + (1.0 - before) * ratio)
        };
        (0..n).map(|at| level(at) * noise[at].exp()).collect()
    }

    #[test]
    fn a_planted_fall_is_found_with_its_place_and_its_levels() {
        for (n, phi, sd) in [(200, 0.0, 0.1), (200, 0.5, 0.1), (200, 0.9, 0.05), (3000, 0.9, 0.2)] {
            let [mut place, mut before, mut after] = [(); 3].map(|()| Coverage::default());
            for seed in seeds() {
                let mut random = Random::new(seed + 10_000);
                let truth = (random.between(0.15, 0.85) * n as f64, random.between(0.15, 0.5));
                let found = fall(&series(seed, n, truth, (phi, sd)));
                place.add(found.and_then(|it| it.place.interval), truth.0);
                // The mean of a log-normal distribution.
                let level = 100.0 * (sd * sd / 2.0).exp();
                before.add(found.and_then(|it| it.before.interval), level);
                after.add(found.and_then(|it| it.after.interval), level * truth.1);
            }
            let what = format!("{n} values, phi {phi}: {place:?} {before:?} {after:?}");
            place.check_least(&what);
            assert!(place.given_share() > 0.9, "{what}");
            for levels in [before, after].iter().filter(|it| it.given_share() > 0.2) {
                levels.check_given(&what);
            }
        }
    }

    #[test]
    fn no_fall_is_found_in_a_level_a_slope_or_a_rise() {
        for (phi, sd) in [(0.0, 0.3), (0.5, 0.2), (0.9, 0.1), (0.9, 0.3)] {
            let mut claims = [0; 3];
            for seed in seeds() {
                let level = series(seed, 300, (0.0, 1.0), (phi, sd));
                let slope = level.iter().enumerate();
                let slope = slope.map(|(at, rate)| rate * (-(at as f64) / 300.0).exp());
                let slope: Vec<f64> = slope.collect();
                let rise = series(seed, 300, (150.0, 3.0), (phi, sd));
                let found = [&level, &slope, &rise].map(|of| u32::from(fall(of).is_some()));
                (0..3).for_each(|of| claims[of] += found[of]);
            }
            let share = claims.map(|count| f64::from(count) / seeds().count() as f64);
            assert!(share.iter().all(|it| *it <= null_limit()), "phi {phi}, {sd}: {share:?}");
        }
    }

    #[test]
    fn a_standstill_and_a_short_series_are_no_panic() {
        assert_eq!(fall(&[]), None);
        assert_eq!(fall(&[0.0; 100]), None);
        assert_eq!(fall(&[5.0; 100]), None);
        assert_eq!(fall(&[f64::NAN; 100]), None);
        let mut stands = vec![100.0; 50];
        stands.extend([0.0; 50]);
        let found = fall(&stands).unwrap();
        let ends = found.place.interval.unwrap();
        assert!((ends.low, found.place.value, ends.high) == (49.0, 50.0, 51.0), "{found:?}");
        assert_eq!(fall(&stands[20..58]), None);
    }
}
