//! The mean of a series whose neighbours resemble each other, with an honest interval.

use super::Interval;
use super::interval::{mean, sample_variance, t_quantile};

/// Fewer batches than this say too little about their own scatter.
const BATCHES_MIN: usize = 10;

/// More batches would narrow the interval by under 2 % and only invite correlation.
const BATCHES_MAX: usize = 40;

/// A shorter series cannot tell an uncorrelated series from a correlated one.
const VALUES_MIN: usize = 60;

/// Batch means understate the variance of the mean when batches still depend on each other. What
/// they understate is computed and put right; above this factor it is a guess, and none is given.
const CORRECTION_MAX: f64 = 1.25;

/// Batches are made longer until they understate it by no more than this factor.
const CORRECTION_WANTED: f64 = 1.05;

/// The 95 % interval for the mean of an autocorrelated, stationary series by batch means: the
/// series is cut into equal batches long enough that their means are nearly independent, and
/// Student's interval is taken over those means.
///
/// The length of a batch follows from the lag-1 autocorrelation of the series, and is then doubled
/// while the means themselves still show some. `None` when that leaves fewer than ten batches, or
/// when the series is too short to tell.
///
/// Source: Law, "Simulation Modeling and Analysis" (5th ed., 2015), 9.5.3; Alexopoulos and Seila,
/// "Output data analysis", in Banks (ed.), "Handbook of Simulation" (1998), for the bias.
pub fn batch_means(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < VALUES_MIN || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let phi = phi(values);
    let longest = n / BATCHES_MIN;
    let mut length = n.div_ceil(BATCHES_MAX);
    while length < longest && correction(phi, length, n / length) > CORRECTION_WANTED {
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
    let factor = correction(phi, length, means.len());
    if factor > CORRECTION_MAX {
        return None;
    }
    let count = means.len() as f64;
    let half = t_quantile(0.975, count - 1.0) * (factor * sample_variance(&means) / count).sqrt();
    let centre = mean(values);
    Some(Interval { low: centre - half, high: centre + half })
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
    use crate::stats::testing::{Coverage, Random, seeds};

    #[test]
    fn experiment() {
        for phi in [0.0, 0.2, 0.5, 0.7, 0.8, 0.9] {
            for n in [20, 50, 60, 100, 200, 300, 400, 600, 1000, 2000] {
                let mut c = Coverage::default();
                for seed in seeds() {
                    let mut random = Random::new(seed);
                    let v = random.ar1(n, phi, 100.0, 10.0);
                    c.add(batch_means(&v), 100.0);
                }
                println!(
                    "phi {phi} n {n}: given {:.3} cover {:.3} wrong/asked {:.3}",
                    c.given_share(),
                    c.share(),
                    (c.given - c.covered) as f64 / c.asked as f64
                );
            }
        }
    }
}
