//! Exact bounds for the rate of rare events that were counted over a known exposure.
//!
//! An event is whatever is counted once: a block that came back wrong, a place that could not be
//! read. The exposure is what it could have happened in, in any unit: bits read, hours. Where
//! events come independently and at an even rate, their count is Poisson distributed, and the
//! bounds below hold for every count, for none as well: each covers the true rate at least 95 times
//! in 100. What comes in bursts is not such: then the bounds are too narrow, and a burst should be
//! counted once.
//!
//! Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936), with
//! quantiles of the gamma distribution in the place of his chi-square (half of it, with twice the
//! degrees of freedom). For no event at all the upper bound is -ln 0.05 = 2.9957 over the exposure:
//! the rule of three of Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?",
//! JAMA 249 (1983).

use statrs::distribution::{ContinuousCDF, Gamma, Normal};

/// How sure the bounds are.
const CONFIDENCE: f64 = 0.95;

/// Beyond so many events the exact sum takes long and gains nothing: the approximation of Wilson
/// and Hilferty, "The distribution of chi-square", PNAS 17 (1931), is right to eight digits there.
const EXACT_MAX: u64 = 100_000;

/// The largest rate per unit of `exposure` that is not refuted at 95 % by `events` in it: the
/// one-sided upper bound. `events / exposure` is the best single value.
///
/// Infinite where `exposure` is not positive: no knowledge, no bound. Nothing where it is infinite.
pub fn rate_upper(events: u64, exposure: f64) -> f64 {
    over(count_quantile(events.saturating_add(1), CONFIDENCE), exposure)
}

/// The two-sided 95 % interval for the rate per unit of `exposure`, from `events` in it: its upper
/// end is higher than [`rate_upper`]'s, as each end is missed 2.5 times in 100 at most.
///
/// From 0 to infinity where `exposure` is not positive.
pub fn rate_interval(events: u64, exposure: f64) -> (f64, f64) {
    let beyond = (1.0 - CONFIDENCE) / 2.0;
    let high = over(count_quantile(events.saturating_add(1), 1.0 - beyond), exposure);
    // Of no events the lower end is 0, and without an exposure nothing is known either.
    if events == 0 || exposure.is_nan() || exposure <= 0.0 {
        return (0.0, high);
    }
    (over(count_quantile(events, beyond), exposure), high)
}

/// How much exposure without any event shows at 95 % that the rate is below `rate`: -ln 0.05 over
/// it. Infinite where `rate` is not positive: that cannot be shown.
pub fn exposure_needed(rate: f64) -> f64 {
    exposure_needed_with(0, rate)
}

/// The same where `events` have been seen already: how much exposure in all, with no further one.
pub fn exposure_needed_with(events: u64, rate: f64) -> f64 {
    rate_upper(events, rate)
}

/// The mean at which `events` or more (of a Poisson distribution) have this `probability`: the
/// quantile of a gamma distribution of that shape. `events` is 1 or more.
fn count_quantile(events: u64, probability: f64) -> f64 {
    let shape = events as f64;
    if events > EXACT_MAX {
        let z = Normal::standard().inverse_cdf(probability);
        let ninth = 1.0 / (9.0 * shape);
        return shape * (1.0 - ninth + z * ninth.sqrt()).powi(3);
    }
    match Gamma::new(shape, 1.0) {
        Ok(gamma) => gamma.inverse_cdf(probability),
        // Of no events: nothing is below.
        Err(_) => 0.0,
    }
}

fn over(count: f64, exposure: f64) -> f64 {
    // Also for what is not a number.
    if exposure > 0.0 { count / exposure } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;
    use crate::stats::testing::{Coverage, Random, seeds};

    fn close(one: f64, other: f64, digits: f64) -> bool {
        (one - other).abs() < digits
    }

    /// One-sided: Garwood's table, and the rule of three for none.
    #[test]
    fn upper_bounds_are_those_of_the_table() {
        let table = [
            (0, 2.996),
            (1, 4.744),
            (2, 6.296),
            (3, 7.754),
            (4, 9.154),
            (5, 10.513),
            (10, 16.962),
            (20, 29.062),
            (30, 40.691),
            (50, 63.287),
        ];
        for (events, bound) in table {
            let found = rate_upper(events, 1.0);
            assert!(close(found, bound, 6e-4), "{events}: {found} for {bound}");
            assert!(close(rate_upper(events, 1e15) * 1e15, found, 1e-6));
        }
        assert!(close(rate_upper(0, 1.0), -(0.05_f64.ln()), 1e-9));
    }

    /// Two-sided: Garwood 1936, as in the tables of Pearson and Hartley.
    #[test]
    fn intervals_are_those_of_the_table() {
        let table = [
            (0, 0.0, 3.689),
            (1, 0.0253, 5.572),
            (2, 0.2422, 7.225),
            (3, 0.6187, 8.767),
            (4, 1.090, 10.242),
            (5, 1.623, 11.668),
            (10, 4.795, 18.390),
            (20, 12.217, 30.888),
            (50, 37.111, 65.919),
            (100, 81.364, 121.627),
        ];
        for (events, low, high) in table {
            let found = rate_interval(events, 1.0);
            assert!(close(found.0, low, 6e-4) && close(found.1, high, 6e-4), "{events}: {found:?}");
        }
    }

    #[test]
    fn an_exposure_that_is_needed_is_one_that_suffices() {
        for rate in [1e-14, 1e-15, 1e-17, 2.5] {
            for events in [0, 1, 7] {
                let needed = exposure_needed_with(events, rate);
                assert!(close(rate_upper(events, needed) / rate, 1.0, 1e-12));
            }
            assert_eq!(exposure_needed(rate), exposure_needed_with(0, rate));
        }
        // 3.0e15 bits are 374 TB.
        assert!(close(exposure_needed(1e-15) / 8e12, 374.466, 1e-3));
    }

    #[test]
    fn without_exposure_nothing_is_known() {
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(rate_upper(3, nothing), f64::INFINITY);
            assert_eq!(rate_interval(3, nothing), (0.0, f64::INFINITY));
            assert_eq!(exposure_needed(nothing), f64::INFINITY);
        }
        assert_eq!(rate_upper(0, f64::INFINITY), 0.0);
        assert!(rate_upper(u64::MAX, 1.0).is_finite());
    }

    /// The approximation takes over without a step.
    #[test]
    fn bounds_rise_with_the_count_and_do_not_jump() {
        for events in (0..60).chain(EXACT_MAX - 3..EXACT_MAX + 3) {
            let steps = [
                rate_upper(events + 1, 1.0) - rate_upper(events, 1.0),
                rate_interval(events + 1, 1.0).1 - rate_interval(events, 1.0).1,
            ];
            assert!(steps.iter().all(|step| (0.99..2.2).contains(step)), "{events}: {steps:?}");
            let (low, high) = rate_interval(events, 1.0);
            assert!(low <= events as f64 && high > events as f64);
        }
    }

    /// The share of counts of this mean whose bounds cover it, computed, not drawn.
    fn covered(mean: f64, covers: impl Fn(u64) -> bool) -> f64 {
        let mut probability = (-mean).exp();
        let mut share = 0.0;
        for events in 0..(mean + 12.0 * mean.sqrt() + 20.0) as u64 {
            share += if covers(events) { probability } else { 0.0 };
            probability *= mean / (events + 1) as f64;
        }
        share
    }

    #[test]
    fn no_mean_is_covered_less_often_than_is_said() {
        let upper: Vec<f64> = (0..200).map(|events| rate_upper(events, 1.0)).collect();
        let both: Vec<(f64, f64)> = (0..200).map(|events| rate_interval(events, 1.0)).collect();
        let mut least: f64 = 1.0;
        for step in 1..1000 {
            let mean = 0.05 * f64::from(step);
            let above = covered(mean, |events| upper[events as usize] >= mean);
            let between = covered(mean, |events| {
                let (low, high) = both[events as usize];
                (low..=high).contains(&mean)
            });
            assert!(above >= 0.95 - 1e-9 && between >= 0.95 - 1e-9, "{mean}: {above} {between}");
            least = least.min(above);
        }
        // They are exact: some mean is covered hardly more often than that.
        assert!(least < 0.951, "{least}");
    }

    /// A draw of that mean (Knuth's, for small means).
    fn draw(random: &mut Random, mean: f64) -> u64 {
        let (mut product, mut events) = (random.uniform(), 0);
        while product > (-mean).exp() {
            product *= random.uniform();
            events += 1;
        }
        events
    }

    #[test]
    fn drawn_counts_of_small_means_are_covered() {
        for mean in [0.1, 0.5, 1.0, 3.0, 10.0] {
            let (mut upper, mut both) = (Coverage::default(), Coverage::default());
            for seed in seeds() {
                // Some 10^14 bits, at the rate that gives this mean.
                let (bits, rate) = (1.3e14, mean / 1.3e14);
                let events = draw(&mut Random::new(seed), mean);
                let high = rate_upper(events, bits);
                upper.add(Some(Interval { low: 0.0, high }), rate);
                let (low, high) = rate_interval(events, bits);
                both.add(Some(Interval { low, high }), rate);
            }
            for coverage in [&upper, &both] {
                coverage.check_least(&format!("mean {mean}"));
            }
        }
    }
}
