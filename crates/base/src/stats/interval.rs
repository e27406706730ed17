//! Mean, variance, and Student's interval of a mean over independent values.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Estimate;

/// The arithmetic mean; `NaN` of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The unbiased variance of a sample (divisor n - 1); `NaN` of fewer than two values.
pub fn sample_variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

/// Student's t: the `probability` quantile with `freedom` degrees of freedom (> 0).
/// Infinite where `freedom` is not positive: no knowledge, no bound.
pub fn t_quantile(probability: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => student.inverse_cdf(probability),
        Err(_) => f64::INFINITY,
    }
}

/// Student's t: how likely a value at least `t` from 0, on either side, is with `freedom` degrees
/// of freedom (> 0) when the truth is 0; 1 where `freedom` is not positive.
pub fn t_two_sided(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => (2.0 * student.cdf(-t.abs())).min(1.0),
        Err(_) => 1.0,
    }
}

/// Student's t: how likely a value of `t` or more is with `freedom` degrees of freedom (> 0) when
/// the truth is 0; 1 where `freedom` is not positive.
pub fn t_one_sided(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => student.cdf(-t),
        Err(_) => 1.0,
    }
}

/// The mean of independent replicates, with Student's 95 % interval; one value has no interval,
/// nothing gives `None`, and neither does anything that is not finite.
///
/// Source: Student, "The probable error of a mean", Biometrika 6 (1908).
pub fn mean_interval(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let centre = mean(values);
    if values.len() < 2 {
        return Some(Estimate::bare(centre));
    }
    let n = values.len() as f64;
    let half = t_quantile(0.975, n - 1.0) * (sample_variance(values) / n).sqrt();
    Some(Estimate::within(centre, centre - half, centre + half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, seeds};

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Mean 10, standard deviation 1, n 3: 10 +- 4.3027 / sqrt(3).
        let estimate = mean_interval(&[9.0, 10.0, 11.0]).unwrap();
        let ends = estimate.interval.unwrap();
        assert!((estimate.value - 10.0).abs() < 1e-12);
        assert!((ends.high - 12.4841).abs() < 1e-4, "{ends:?}");
        assert!((ends.low - 7.5159).abs() < 1e-4, "{ends:?}");
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        assert_eq!(mean_interval(&[5.0]), Some(Estimate::bare(5.0)));
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_chance_of_a_t_is_that_of_the_table() {
        assert!((t_two_sided(4.3027, 2.0) - 0.05).abs() < 1e-5);
        assert!((t_two_sided(-2.2281, 10.0) - 0.05).abs() < 1e-5);
        assert_eq!((t_two_sided(3.0, 0.0), t_two_sided(0.0, 5.0)), (1.0, 1.0));
    }

    #[test]
    fn it_covers_the_truth_95_times_in_100() {
        for n in [2, 3, 5, 10] {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let mut random = Random::new(seed);
                let values: Vec<f64> = (0..n).map(|_| 100.0 + 5.0 * random.normal()).collect();
                coverage.add(mean_interval(&values).and_then(|e| e.interval), 100.0);
            }
            coverage.check(&format!("n {n}"));
        }
    }
}
