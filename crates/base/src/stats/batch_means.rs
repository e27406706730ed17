//! The mean of a series whose neighbours resemble each other, with an honest interval.

use super::interval::{mean, sample_variance, t_quantile};
use super::{Estimate, Interval};

/// Fewer batches than this say too little about their own scatter.
const BATCHES_MIN: usize = 10;

/// More batches would narrow the interval by under 2 % and only invite correlation.
const BATCHES_MAX: usize = 40;

/// A shorter series cannot tell an uncorrelated series from a correlated one.
const VALUES_MIN: usize = 60;

/// Batch means understate the variance of the mean when batches still depend on each other. What
/// they understate is computed and put right; above this factor it is a guess, and none is given.
const CORRECTION_MAX: f64 = 1.5;

/// Scales at which a series has fewer values than this say too little about its correlation.
const SCALE_VALUES_MIN: usize = 60;

/// Batches are made longer until they understate it by no more than this factor.
const CORRECTION_WANTED: f64 = 1.05;

/// The 95 % interval for the mean of an autocorrelated, stationary series by batch means: the
/// series is cut into equal batches long enough that their means are nearly independent, and
/// Student's interval is taken over those means.
///
/// The length of a batch follows from the lag-1 autocorrelation of the series at several scales,
/// and is then doubled while the means themselves still show some. `None` when that leaves fewer
/// than ten batches, or when the series is too short to tell. Of what is never negative it is on a
/// logarithmic scale ([`Estimate::on_a_log_scale`]).
///
/// Source: Law, "Simulation Modeling and Analysis" (5th ed., 2015), 9.5.3; Alexopoulos and Seila,
/// "Output data analysis", in Banks (ed.), "Handbook of Simulation" (1998), for the bias.
pub fn batch_means(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < VALUES_MIN || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let scales = scales(values);
    let correction = |length: usize| {
        let at = |&(scale, phi): &(usize, f64)| correction(phi, length.div_ceil(scale), n / length);
        scales.iter().map(at).fold(1.0, f64::max)
    };
    let longest = n / BATCHES_MIN;
    let mut length = n.div_ceil(BATCHES_MAX);
    while length < longest && correction(length) > CORRECTION_WANTED {
        length += 1;
    }
    let means = loop {
        let means = batches(values, length);
        let freed = 2.0 / (means.len() as f64).sqrt();
        if autocorrelation(&means) <= freed {
            break means;
        }
        length *= 2;
        if length > longest {
            return None;
        }
    };
    let factor = correction(length);
    if factor > CORRECTION_MAX {
        return None;
    }
    let count = means.len() as f64;
    let half = t_quantile(0.975, count - 1.0) * (factor * sample_variance(&means) / count).sqrt();
    let centre = mean(values);
    Some(match values.iter().any(|value| *value < 0.0) {
        true => Interval { low: centre - half, high: centre + half },
        false => Estimate::on_a_log_scale(centre, half).interval?,
    })
}

/// The phi of the series at scale 1, 2, 4, ...: of the means of so many neighbours. A slow wave
/// under fast noise hardly shows between neighbours and shows clearly at a coarser scale.
fn scales(values: &[f64]) -> Vec<(usize, f64)> {
    let scales = std::iter::successors(Some(1), |scale| Some(scale * 2));
    scales
        .take_while(|&scale| scale == 1 || values.len() / scale >= SCALE_VALUES_MIN)
        .map(|scale| (scale, phi(&batches(values, scale))))
        .collect()
}

/// Means of batches of `length`; the values left over are the first, nearest to the start.
fn batches(values: &[f64], length: usize) -> Vec<f64> {
    values[values.len() % length..].chunks(length).map(mean).collect()
}

/// Lag-1 autocorrelation; 0 of a series that never changes.
fn autocorrelation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let square: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let product: f64 = values.windows(2).map(|two| (two[0] - centre) * (two[1] - centre)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// The phi of an AR(1) series, with the small-sample bias of its estimate put right, in [0, 0.995].
///
/// Source: Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41 (1954).
fn phi(values: &[f64]) -> f64 {
    let raw = autocorrelation(values);
    (raw + (1.0 + 3.0 * raw) / values.len() as f64).clamp(0.0, 0.995)
}

/// What the variance of the mean of `batches` batches of `length` values of an AR(1) series is,
/// over what the scatter of the batches makes of it on average.
fn correction(phi: f64, length: usize, batches: usize) -> f64 {
    let (one, all) = (variance_of_mean(phi, length), variance_of_mean(phi, length * batches));
    let batches = batches as f64;
    // E[S^2] = (sum of E[y_i^2] - b E[y^2]) / (b - 1)
    let scatter = (one - all) * batches / (batches - 1.0);
    all / (scatter / batches)
}

/// Variance of the mean of `n` values of an AR(1) series of variance 1.
fn variance_of_mean(phi: f64, n: usize) -> f64 {
    let n = n as f64;
    let sum = (1.0 + phi) / (1.0 - phi)
        - 2.0 * phi * (1.0 - phi.powf(n)) / (n * (1.0 - phi) * (1.0 - phi));
    sum / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// The interval over seeds, for AR(1) series of `n` values.
    fn coverage(phi: f64, n: usize) -> Coverage {
        let mut coverage = Coverage::default();
        for seed in seeds() {
            let series = Random::new(seed).ar1(n, phi, 100.0, 10.0);
            coverage.add(batch_means(&series), 100.0);
        }
        coverage
    }

    #[test]
    fn it_covers_the_truth_95_times_in_100_however_the_series_hangs_together() {
        for (phi, lengths) in [
            (0.0, &[60, 100, 600, 2000][..]),
            (0.5, &[100, 200, 600, 2000]),
            (0.9, &[600, 1000, 2000]),
        ] {
            for &n in lengths {
                let coverage = coverage(phi, n);
                let what = format!("phi {phi}, n {n}");
                assert!(coverage.given_share() > 0.85, "{what}: {coverage:?}");
                coverage.check_given(&what);
            }
        }
    }

    #[test]
    fn a_series_too_short_for_its_correlation_yields_none_rather_than_a_wrong_interval() {
        for phi in [0.0, 0.5, 0.7, 0.9] {
            for n in [20, 40, 60, 100, 200, 400] {
                let coverage = coverage(phi, n);
                let wrong = coverage.given - coverage.covered;
                let share = f64::from(wrong) / f64::from(coverage.asked);
                assert!(share <= null_limit(), "phi {phi}, n {n}: {coverage:?}");
            }
        }
        assert_eq!(coverage(0.0, 59).given, 0);
        assert!(coverage(0.9, 100).given_share() < 0.06);
    }

    #[test]
    fn a_slow_wave_under_fast_noise_is_not_missed() {
        // Lag 1 alone sees little here; the means of the batches show the rest.
        let (mut coverage, mut naive) = (Coverage::default(), Coverage::default());
        for seed in seeds() {
            let mut random = Random::new(seed);
            let wave = random.ar1(600, 0.98, 100.0, 5.0);
            let series: Vec<f64> = wave.iter().map(|value| value + 5.0 * random.normal()).collect();
            coverage.add(batch_means(&series), 100.0);
            naive.add(super::super::mean_interval(&series).and_then(|e| e.interval), 100.0);
        }
        let wrong = f64::from(coverage.given - coverage.covered) / f64::from(coverage.asked);
        assert!(wrong <= 0.10, "{coverage:?}");
        assert!(naive.share() < 0.50, "Student alone would be as good: {naive:?}");
    }

    #[test]
    fn what_never_changes_has_an_interval_of_no_width_and_what_is_no_number_has_none() {
        let ends = batch_means(&[7.0; 100]).unwrap();
        assert_eq!((ends.low, ends.high), (7.0, 7.0));
        assert_eq!(batch_means(&[f64::NAN; 100]), None);
        assert_eq!(batch_means(&[]), None);
    }
}
