//! How many values a quantile takes.

/// The fewest values of which the distribution-free 95 % interval of this `quantile` (above 0,
/// below 1) has an upper end: the chance that all of `n` values are below it, `quantile^n`, is no
/// more than 2.5 %. Of fewer, the largest value may well be less than the quantile, and nothing
/// that was seen bounds it: 368 for the 99th percentile, 3688 for the 99.9th.
///
/// Source: David and Nagaraja, "Order Statistics", 3rd edition (2003), 7.1.
pub fn values_needed(quantile: f64) -> u64 {
    (0.025_f64.ln() / quantile.ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Random, seeds};

    #[test]
    fn the_largest_of_so_many_values_is_above_the_quantile_and_of_fewer_it_may_not_be() {
        assert_eq!([0.5, 0.99, 0.999].map(values_needed), [6, 368, 3688]);
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let n = values_needed(quantile) as i32;
            assert!(quantile.powi(n) <= 0.025 && quantile.powi(n - 1) > 0.025);
        }
        let (mut below, needed) = (0, values_needed(0.99));
        for seed in seeds() {
            let mut random = Random::new(seed);
            below += u32::from((0..needed).all(|_| random.uniform() < 0.99));
        }
        let share = f64::from(below) / seeds().count() as f64;
        assert!((0.0..=0.06).contains(&share), "{below}");
    }
}
