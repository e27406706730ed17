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
/// nothing gives `None`, and neither does anything that is not finite. Where no value is negative,
/// as of rates and times, the interval is on a logarithmic scale ([`Estimate::on_a_log_scale`]).
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
    let sign = values.iter().any(|value| *value < 0.0);
    Some(match sign {
        true => Estimate::within(centre, centre - half, centre + half),
        false => Estimate::on_a_log_scale(centre, half),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;
    use crate::stats::testing::{Coverage, Random, seeds};

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Mean 0, standard deviation 1, n 3: 0 +- 4.3027 / sqrt(3).
        let estimate = mean_interval(&[-1.0, 0.0, 1.0]).unwrap();
        let ends = estimate.interval.unwrap();
        assert!(estimate.value.abs() < 1e-12);
        assert!((ends.high - 2.4841).abs() < 1e-4, "{ends:?}");
        assert!((ends.low + 2.4841).abs() < 1e-4, "{ends:?}");
    }

    /// "-1.21k to 82.1k IOPS": no rate is less than nothing. Its interval is as many times less as
    /// more, and where it is narrow the same as on a plain scale.
    #[test]
    fn what_cannot_be_negative_has_its_interval_on_a_logarithmic_scale() {
        let ends = |values: &[f64]| mean_interval(values).unwrap().interval.unwrap();
        let wide = ends(&[5.0, 15.0]);
        assert!((wide.high / 10.0 - 10.0 / wide.low).abs() < 1e-9 * wide.high, "{wide:?}");
        assert!(wide.low > 0.0 && wide.high > 100.0, "{wide:?}");
        let narrow = ends(&[99.0, 100.0, 101.0]);
        assert!((narrow.high - 102.484).abs() < 0.04 && (narrow.low - 97.516).abs() < 0.04);
        assert_eq!(ends(&[0.0, 0.0]), Interval { low: 0.0, high: 0.0 });
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

    /// What six trials have of latencies that are not normal at all: each is a mean of many.
    #[test]
    fn of_six_trials_of_heavy_tails_and_of_waves_it_covers_the_truth() {
        const OPERATIONS: usize = 1000;
        let lognormal = |random: &mut Random| random.normal().exp();
        let stalls = |random: &mut Random| if random.uniform() < 0.01 { 50.0 } else { 1.0 };
        type Draw = fn(&mut Random) -> f64;
        let cases: [(&str, f64, Draw); 2] = [
            ("lognormal, sigma 1", 0.5_f64.exp(), lognormal),
            ("1 % of stalls, 50 times as long", 1.49, stalls),
        ];
        for (what, truth, draw) in cases {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let mut random = Random::new(seed);
                let mut trial =
                    || mean(&(0..OPERATIONS).map(|_| draw(&mut random)).collect::<Vec<_>>());
                let trials: Vec<f64> = (0..6).map(|_| trial()).collect();
                coverage.add(mean_interval(&trials).and_then(|it| it.interval), truth);
            }
            coverage.check(what);
        }
        for phi in [0.5, 0.9] {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let mut random = Random::new(seed);
                let mut trial = || mean(&random.ar1(100, phi, 100.0, 20.0));
                let trials: Vec<f64> = (0..6).map(|_| trial()).collect();
                coverage.add(mean_interval(&trials).and_then(|it| it.interval), 100.0);
            }
            coverage.check(&format!("AR(1), phi {phi}"));
        }
    }
}
