//! The ratio of two means of positive things, with its interval.

use super::interval::{mean, sample_variance, t_one_sided, t_quantile};
use super::{Estimate, Interval};

/// A ratio of two means with what its interval and its tests are made of.
#[derive(Clone, Copy, Debug)]
pub struct RatioOfMeans {
    /// Difference of the mean logarithms.
    difference: f64,
    /// Its standard error and the degrees of freedom of that; `None` where one side was measured
    /// once.
    error: Option<(f64, f64)>,
}

/// `top` over `bottom`, both samples of independent replicates of positive quantities, with a 95 %
/// interval: Welch's t interval of the difference of the mean logarithms, taken back. Ratios are
/// the natural scale of rates: noise of a server is in proportion to its speed. The value is the
/// ratio of the geometric means, which the interval is about; for the scatter of replicates (a few
/// per cent) it is the ratio of the means.
///
/// With one replicate on either side there is no interval. `None` when a side is empty or holds
/// something that is not positive.
///
/// Source: Welch, "The generalization of Student's problem when several different population
/// variances are involved", Biometrika 34 (1947), with Satterthwaite's degrees of freedom.
pub fn ratio_of_means(top: &[f64], bottom: &[f64]) -> Option<Estimate> {
    RatioOfMeans::from_samples(top, bottom).map(|ratio| ratio.estimate())
}

impl RatioOfMeans {
    /// Of two samples, as [`ratio_of_means`] takes them.
    pub fn from_samples(top: &[f64], bottom: &[f64]) -> Option<RatioOfMeans> {
        let logs = |values: &[f64]| -> Option<Vec<f64>> {
            let good = |value: &&f64| value.is_finite() && **value > 0.0;
            let logs: Vec<f64> = values.iter().filter(good).map(|value| value.ln()).collect();
            (!logs.is_empty() && logs.len() == values.len()).then_some(logs)
        };
        let (top, bottom) = (logs(top)?, logs(bottom)?);
        let difference = mean(&top) - mean(&bottom);
        if top.len() < 2 || bottom.len() < 2 {
            return Some(RatioOfMeans { difference, error: None });
        }
        let part = |logs: &[f64]| sample_variance(logs) / logs.len() as f64;
        let (a, b) = (part(&top), part(&bottom));
        let spread = |part: f64, logs: &[f64]| part * part / (logs.len() - 1) as f64;
        let freedom = (a + b).powi(2) / (spread(a, &top) + spread(b, &bottom));
        Some(RatioOfMeans { difference, error: Some(((a + b).sqrt(), freedom)) })
    }

    /// A ratio whose logarithm is `difference`, with the standard error of that and its degrees of
    /// freedom; `None` where nothing tells it.
    pub fn known(difference: f64, error: Option<(f64, f64)>) -> RatioOfMeans {
        RatioOfMeans { difference, error }
    }

    /// The same ratio of samples of so many values each, judged by a variance of the logarithms
    /// that is known from more than these, with so many degrees of freedom (Student).
    #[must_use]
    pub fn by_variance(self, counts: [usize; 2], variance: f64, freedom: f64) -> RatioOfMeans {
        let each: f64 = counts.iter().map(|count| 1.0 / *count as f64).sum();
        RatioOfMeans { error: Some(((variance * each).sqrt(), freedom)), ..self }
    }

    /// The error, where it is a number: by what is none nothing can be judged.
    fn known_error(&self) -> Option<(f64, f64)> {
        self.error.filter(|(error, _)| error.is_finite())
    }

    /// The ratio with its 95 % interval.
    pub fn estimate(&self) -> Estimate {
        let value = self.difference.exp();
        let ends = self.known_error().map(|(error, freedom)| {
            // Two samples without any scatter leave 0 / 0: then the ratio is exact.
            let half = if error > 0.0 { t_quantile(0.975, freedom) * error } else { 0.0 };
            let end = |half: f64| (self.difference + half).exp();
            Interval { low: end(-half), high: end(half) }
        });
        Estimate { value, interval: ends }
    }

    /// How likely a ratio so far below `limit` were, if the truth were `limit` or more (Student,
    /// one-sided); `None` where there is no error to judge by.
    pub fn chance_below(&self, limit: f64) -> Option<f64> {
        let (error, freedom) = self.known_error()?;
        let below = limit.ln() - self.difference;
        if error > 0.0 {
            return Some(t_one_sided(below / error, freedom));
        }
        Some(if below > 0.0 { 0.0 } else { 1.0 })
    }

    /// The same of a ratio so far above `limit`.
    pub fn chance_above(&self, limit: f64) -> Option<f64> {
        let turned = RatioOfMeans { difference: -self.difference, ..*self };
        turned.chance_below(1.0 / limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, seeds};

    #[test]
    fn a_ratio_without_scatter_is_exact() {
        let ratio = ratio_of_means(&[8.0, 8.0], &[2.0, 2.0]).unwrap();
        assert!((ratio.value - 4.0).abs() < 1e-12);
        let ends = ratio.interval.unwrap();
        assert!((ends.high - ends.low).abs() < 1e-9);
    }

    /// Where the truth is the limit itself, or short of it, a claim that it is passed is an error:
    /// as rare as it says. Where it is far beyond, it is made.
    #[test]
    fn a_limit_is_passed_by_chance_as_often_as_is_said() {
        let (mut at, mut short, mut beyond) = (0, 0, 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let mut sample = |mean: f64| -> Vec<f64> {
                (0..3).map(|_| mean * (0.03 * random.normal()).exp()).collect()
            };
            let base = sample(100.0);
            let mut passed = |mean: f64| {
                let ratio = RatioOfMeans::from_samples(&sample(mean), &base).unwrap();
                u32::from(ratio.chance_below(0.95).unwrap() < 0.05)
            };
            at += passed(95.0);
            short += passed(100.0);
            beyond += passed(70.0);
        }
        let share = |count: u32| f64::from(count) / seeds().count() as f64;
        assert!(share(at) <= crate::stats::testing::null_limit(), "{at} at the limit");
        assert!(short < at && share(beyond) > 0.95, "{short} short of it, {beyond} beyond");
        let exact = RatioOfMeans::from_samples(&[8.0, 8.0], &[2.0, 2.0]).unwrap();
        assert_eq!((exact.chance_above(3.9), exact.chance_above(4.1)), (Some(0.0), Some(1.0)));
        assert_eq!(RatioOfMeans::from_samples(&[8.0], &[2.0]).unwrap().chance_above(1.0), None);
    }

    /// An error that was no number was less than nothing, which made a ratio certain.
    #[test]
    fn an_error_that_is_no_number_makes_nothing_certain() {
        let ratio = RatioOfMeans::from_samples(&[8.0, 8.0], &[2.0, 2.1]).unwrap();
        for variance in [f64::NAN, f64::INFINITY] {
            let judged = ratio.by_variance([2, 2], variance, 2.0);
            assert_eq!((judged.chance_below(9.0), judged.chance_above(1.0)), (None, None));
            assert_eq!(judged.estimate().interval, None, "{variance}");
        }
        assert!(ratio.by_variance([2, 2], 0.01, 2.0).chance_above(1.0).unwrap() < 0.05);
    }

    #[test]
    fn nothing_is_said_of_what_is_not_positive_or_not_there() {
        assert_eq!(ratio_of_means(&[], &[1.0]), None);
        assert_eq!(ratio_of_means(&[1.0, 0.0], &[1.0]), None);
        assert_eq!(ratio_of_means(&[1.0], &[f64::NAN]), None);
        assert_eq!(ratio_of_means(&[6.0], &[3.0]).unwrap().interval, None);
    }

    #[test]
    fn it_covers_the_planted_ratio_and_rarely_finds_a_difference_in_equals() {
        let (mut coverage, mut null) = (Coverage::default(), Coverage::default());
        for seed in seeds() {
            let mut random = Random::new(seed);
            let mut sample = |mean: f64, noise: f64| -> Vec<f64> {
                (0..3).map(|_| mean * (1.0 + noise * random.normal())).collect()
            };
            let (fast, slow) = (sample(800.0, 0.05), sample(200.0, 0.02));
            coverage.add(ratio_of_means(&fast, &slow).and_then(|e| e.interval), 4.0);
            let (one, other) = (sample(200.0, 0.03), sample(200.0, 0.03));
            null.add(ratio_of_means(&one, &other).and_then(|e| e.interval), 1.0);
        }
        coverage.check("planted ratio of 4");
        null.check("no difference");
    }
}
