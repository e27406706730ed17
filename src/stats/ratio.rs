//! The ratio of two means of positive things, with its interval.

use super::interval::{mean, sample_variance, t_quantile};
use super::{Estimate, Interval};

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
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        let good = |value: &&f64| value.is_finite() && **value > 0.0;
        let logs: Vec<f64> = values.iter().filter(good).map(|value| value.ln()).collect();
        (!logs.is_empty() && logs.len() == values.len()).then_some(logs)
    };
    let (top, bottom) = (logs(top)?, logs(bottom)?);
    let difference = mean(&top) - mean(&bottom);
    if top.len() < 2 || bottom.len() < 2 {
        return Some(Estimate::bare(difference.exp()));
    }
    let part = |logs: &[f64]| sample_variance(logs) / logs.len() as f64;
    let (a, b) = (part(&top), part(&bottom));
    let spread = |part: f64, logs: &[f64]| part * part / (logs.len() - 1) as f64;
    let freedom = (a + b).powi(2) / (spread(a, &top) + spread(b, &bottom));
    // Two samples without any scatter leave 0 / 0: then the ratio is exact.
    let half = if a + b > 0.0 { t_quantile(0.975, freedom) * (a + b).sqrt() } else { 0.0 };
    let ends = Interval { low: (difference - half).exp(), high: (difference + half).exp() };
    Some(Estimate { value: difference.exp(), interval: Some(ends) })
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
