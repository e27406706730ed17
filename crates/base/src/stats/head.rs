//! A first phase of a series that is at another level than the rest, where there is such.
//!
//! The series is split in two where that leaves the least squares; the difference of the two means
//! is then held against the scatter of the rest alone, whose neighbours may resemble each other.
//!
//! Source: Hinkley, "Inference about the change-point in a sequence of random variables",
//! Biometrika 57 (1970); the variance of a mean of an AR(1) series as in `batch_means`.

use super::interval::{mean, sample_variance, t_quantile};

/// A first phase that is not like the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// How many values it has.
    pub length: usize,
    /// Their mean.
    pub before: f64,
    /// The mean of the others.
    pub after: f64,
}

/// A shorter series does not tell a first phase from a wave.
const VALUES_MIN: usize = 12;
/// Values that there must be after it.
const REST_MIN: usize = 8;
/// So often chance alone may make a first phase: of one or two values, and of any length.
const CHANCE: f64 = 0.002;
/// A first phase of one or two values, and a longer one, is told where it is further from the rest
/// than these shares: less does not matter, and longer waves are likelier.
const FAR: [f64; 2] = [0.2, 0.33];
/// ... and where it moves the mean of all by this share of it.
const MATTERS: f64 = 0.005;

/// The first phase of a series of values that are not negative. `floor` is how far single values
/// surely scatter: the standard deviation that whole counts bring.
pub fn head(values: &[f64], floor: f64) -> Option<Head> {
    let n = values.len();
    let good = |value: &f64| value.is_finite() && *value >= 0.0;
    if n < VALUES_MIN || !values.iter().all(good) {
        return None;
    }
    let length = split(values)?;
    let (first, rest) = values.split_at(length);
    let (before, after) = (mean(first), mean(rest));
    let short = length <= 2;
    let far = FAR[usize::from(!short)];
    // As far above as 1 + far is as far below as 1 / (1 + far).
    let ratio = if before > after { before / after } else { after / before };
    let moved = (mean(values) - after).abs();
    if after <= 0.0 || ratio.is_nan() || ratio < 1.0 + far || moved < MATTERS * after {
        return None;
    }
    let phi = autocorrelation(rest, after);
    let worth = (1.0 + phi) / (1.0 - phi);
    let variance = sample_variance(rest).max(floor * floor);
    let of_mean = |count: usize| (worth / count as f64).min(1.0);
    let error = (variance * (of_mean(length) + of_mean(rest.len()))).sqrt();
    let freedom = ((rest.len() - 1) as f64 / worth).max(2.0);
    let places = if short { 1.0 } else { n as f64 };
    let limit = t_quantile(1.0 - CHANCE / 2.0 / places, freedom) * error;
    ((before - after).abs() > limit).then_some(Head { length, before, after })
}

/// The length of a first phase that leaves the least squares around two means.
fn split(values: &[f64]) -> Option<usize> {
    let (all, n) = (values.iter().sum::<f64>(), values.len());
    let mut before = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (place, value) in values.iter().enumerate().take(n - REST_MIN) {
        before += value;
        let (one, other) = ((place + 1) as f64, (n - place - 1) as f64);
        let after = all - before;
        let explained = before * before / one + after * after / other;
        if best.is_none_or(|(_, most)| explained > most) {
            best = Some((place + 1, explained));
        }
    }
    best.map(|(length, _)| length)
}

/// Lag-1 autocorrelation with its bias put right, 0 to 0.95; 0 of values that never change.
fn autocorrelation(values: &[f64], centre: f64) -> f64 {
    let square: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let product: f64 = values.windows(2).map(|two| (two[0] - centre) * (two[1] - centre)).sum();
    if square <= 0.0 {
        return 0.0;
    }
    let raw = product / square;
    (raw + (1.0 + 3.0 * raw) / values.len() as f64).clamp(0.0, 0.95)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Random, seeds};

    /// Rates with noise in proportion, of which the first `length` are `ratio` times as fast.
    fn series(
        seed: u64,
        n: usize,
        (length, ratio): (usize, f64),
        (phi, deviation): (f64, f64),
    ) -> Vec<f64> {
        let noise = Random::new(seed).ar1(n, phi, 0.0, deviation);
        let of = |(at, noise): (usize, f64)| {
            let level = if at < length { 100.0 * ratio } else { 100.0 };
            level * noise.exp()
        };
        noise.into_iter().enumerate().map(of).collect()
    }

    fn share(of: impl Fn(u64) -> bool) -> f64 {
        seeds().filter(|seed| of(*seed)).count() as f64 / seeds().count() as f64
    }

    #[test]
    fn chance_alone_makes_no_first_phase() {
        for (n, phi, deviation) in [
            (12, 0.0, 0.1),
            (20, 0.0, 0.05),
            (20, 0.0, 0.2),
            (20, 0.4, 0.2),
            (50, 0.4, 0.2),
            (120, 0.6, 0.2),
            (600, 0.0, 0.3),
            (600, 0.9, 0.1),
        ] {
            let found =
                share(|seed| head(&series(seed, n, (0, 1.0), (phi, deviation)), 0.0).is_some());
            assert!(found <= 0.015, "n {n}, phi {phi}, {deviation}: {found}");
        }
    }

    #[test]
    fn a_planted_first_phase_is_found_with_its_length() {
        for (n, length, ratio, phi, deviation) in [
            (20, 1, 2.0, 0.0, 0.1),
            (20, 1, 1.5, 0.0, 0.05),
            (20, 2, 0.5, 0.0, 0.1),
            (50, 3, 3.0, 0.4, 0.1),
            (200, 60, 4.0, 0.6, 0.1),
        ] {
            let found = share(|seed| {
                let values = series(seed, n, (length, ratio), (phi, deviation));
                head(&values, 0.0).is_some_and(|head| head.length == length)
            });
            assert!(found > 0.9, "{length} of {n}, {ratio} times: {found}");
        }
    }

    #[test]
    fn what_is_short_still_or_exact_is_no_panic() {
        assert_eq!(head(&[], 0.0), None);
        assert_eq!(head(&[1.0; 11], 0.0), None);
        assert_eq!(head(&[0.0; 40], 0.0), None);
        assert_eq!(head(&[5.0; 40], 0.0), None);
        assert_eq!(head(&[f64::NAN; 40], 0.0), None);
        let mut exact = vec![1.0; 20];
        exact[0] = 2.0;
        assert_eq!(head(&exact, 0.0), Some(Head { length: 1, before: 2.0, after: 1.0 }));
        // Whole counts alone make such a difference.
        assert_eq!(head(&exact, 0.3), None);
        exact[1..].fill(0.0);
        assert_eq!(head(&exact, 0.0), None, "nothing comes after it");
    }
}
