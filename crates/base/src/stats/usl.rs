//! The Universal Scalability Law: what one of `N` gives by itself, what they lose by waiting for
//! each other (contention), and what by keeping each other informed (coherency).
//!
//! `X(N) = single N / (1 + contention (N - 1) + coherency N (N - 1))`. Its reciprocal, `N / X`, is
//! linear in three coefficients, and all that is asked for is a ratio of two of them: Fieller's
//! intervals hold, which are open where the data do not bound the ratio. The peak lies at the root
//! of `(1 - contention) / coherency`.
//!
//! Source: Gunther, "Guerrilla Capacity Planning" (2007), chapters 4 to 6.

use super::Estimate;
use super::log_linear::{LogFit, Loss, Ratio, Row};
use super::profile::{Level, Logs};

/// The universal scalability law as it was fitted to some levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalabilityLaw {
    /// What one by itself gives.
    pub single: Estimate,
    /// Share of the work that is done one after another.
    pub contention: Estimate,
    /// What each pair costs, as a share of the work of one.
    pub coherency: Estimate,
    /// Where the law has its peak.
    pub peak: Peak,
}

impl ScalabilityLaw {
    /// What `many` of them give together, in the unit of [`ScalabilityLaw::single`].
    pub fn at(&self, many: f64) -> f64 {
        let waiting = self.contention.value * (many - 1.0);
        let informed = self.coherency.value * many * (many - 1.0);
        self.single.value * many / (1.0 + waiting + informed)
    }
}

/// Where a law has its peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// Here, with its 95 % interval.
    At(Estimate),
    /// Here or above, with 95 % confidence; the data do not bound it from above.
    NotBelow(f64),
    /// The data bound it on neither side.
    Unbounded,
}

/// Coefficients of `N / X`: of 1, of `N - 1` and of `N (N - 1)`.
const COEFFICIENTS: usize = 3;

/// One by itself; those that wait; those that keep each other informed.
const SINGLE: [f64; COEFFICIENTS] = [1.0, 0.0, 0.0];
const WAITING: [f64; COEFFICIENTS] = [0.0, 1.0, 0.0];
const INFORMED: [f64; COEFFICIENTS] = [0.0, 0.0, 1.0];
const NOT_WAITING: [f64; COEFFICIENTS] = [1.0, -1.0, 0.0];

/// The law through `levels`; `None` with fewer than four levels (it has three coefficients) or none
/// that was repeated, when a value is not positive, when it does not describe the levels (see
/// [`Logs::adequate`]), or when it does so only by gains, where it knows nothing but losses.
pub fn law(levels: &[Level]) -> Option<ScalabilityLaw> {
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    let good = |level: &Level| level.at >= 1.0 && level.values.iter().all(positive);
    if levels.len() <= COEFFICIENTS || !levels.iter().all(good) {
        return None;
    }
    let data = Logs::from_levels(levels);
    if data.pure_freedom < 1.0 {
        return None;
    }
    let row = |&(at, log): &(f64, f64)| ([1.0, at - 1.0, at * (at - 1.0)], at.ln() - log);
    let rows: Vec<Row<COEFFICIENTS>> = data.points.iter().map(row).collect();
    let fit = LogFit::from_rows(&rows, Loss::Square)?;
    if !data.adequate(fit.squares, COEFFICIENTS) {
        return None;
    }
    let of_single = |of| match fit.ratio(of, SINGLE) {
        Ratio::Within(ratio) if ratio.interval.is_some_and(|ends| ends.high >= 0.0) => Some(ratio),
        _ => None,
    };
    Some(ScalabilityLaw {
        single: fit.reciprocal(0)?,
        contention: of_single(WAITING)?,
        coherency: of_single(INFORMED)?,
        peak: peak(&fit),
    })
}

/// The root of what [`LogFit::ratio`] says of its square; a peak below one is a peak at one.
fn peak(fit: &LogFit<COEFFICIENTS>) -> Peak {
    match fit.ratio(NOT_WAITING, INFORMED) {
        Ratio::Within(square) => match square.interval {
            Some(ends) if ends.high > 0.0 => {
                let root = |square: f64| square.max(1.0).sqrt();
                let (low, high) = (root(ends.low), root(ends.high));
                Peak::At(Estimate::within(root(square.value), low, high))
            }
            _ => Peak::Unbounded,
        },
        Ratio::NotBelow(square) if square > 1.0 => Peak::NotBelow(square.sqrt()),
        Ratio::NotBelow(_) | Ratio::Unbounded => Peak::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    const STREAMS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 100.0];

    fn levels(noise: f64, random: &mut Random, curve: impl Fn(f64) -> f64) -> Vec<Level> {
        let level = |&at: &f64| {
            let values = (0..3).map(|_| curve(at) * (1.0 + noise * random.normal())).collect();
            Level { at, values }
        };
        STREAMS.iter().map(level).collect()
    }

    fn usl(single: f64, contention: f64, coherency: f64) -> impl Fn(f64) -> f64 {
        move |n| single * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
    }

    #[test]
    fn the_planted_law_lies_within_its_intervals() {
        for noise in [0.002, 0.02, 0.05] {
            let mut coverage: [Coverage; 4] = Default::default();
            let mut refused = 0;
            for seed in seeds() {
                let mut random = Random::new(seed);
                let (contention, peak) = (random.between(0.01, 0.3), random.between(4.0, 60.0));
                let coherency = (1.0 - contention) / (peak * peak);
                let curve = usl(100.0, contention, coherency);
                let Some(law) = law(&levels(noise, &mut random, curve)) else {
                    refused += 1;
                    continue;
                };
                coverage[0].add(law.single.interval, 100.0);
                coverage[1].add(law.contention.interval, contention);
                coverage[2].add(law.coherency.interval, coherency);
                let ends = match law.peak {
                    Peak::At(at) => at.interval.unwrap(),
                    Peak::NotBelow(low) => Interval { low, high: f64::INFINITY },
                    Peak::Unbounded => Interval { low: 1.0, high: f64::INFINITY },
                };
                coverage[3].add(Some(ends), peak);
            }
            // The test of fit is one at 1 %.
            assert!(f64::from(refused) < 0.03 * seeds().end as f64, "{noise}: {refused} refused");
            let parts = ["single", "contention", "coherency", "peak"];
            for (part, coverage) in parts.iter().zip(&coverage) {
                coverage.check(&format!("{part}, noise {noise}"));
            }
        }
    }

    #[test]
    fn no_peak_is_claimed_where_none_was_planted() {
        for noise in [0.002, 0.02, 0.05] {
            let (mut claims, mut refused) = (0, 0);
            for seed in seeds() {
                let mut random = Random::new(seed);
                let contention = random.between(0.01, 0.3);
                let law = law(&levels(noise, &mut random, usl(100.0, contention, 0.0)));
                refused += u32::from(law.is_none());
                claims += u32::from(law.is_some_and(|law| matches!(law.peak, Peak::At(_))));
            }
            let share = f64::from(claims) / seeds().end as f64;
            assert!(share <= null_limit(), "noise {noise}: {share}");
            // By the test of fit at 1 %, and where chance makes a gain of no loss, 2.5 %.
            assert!(f64::from(refused) < 0.07 * seeds().end as f64, "{noise}: {refused} refused");
        }
    }

    #[test]
    fn without_noise_the_law_is_exact() {
        let mut random = Random::new(0);
        let data = levels(1e-9, &mut random, usl(50e6, 0.05, 0.001));
        let law = law(&data).unwrap();
        assert!((law.single.value / 50e6 - 1.0).abs() < 1e-6, "{law:?}");
        assert!((law.contention.value - 0.05).abs() < 1e-6, "{law:?}");
        assert!((law.coherency.value - 0.001).abs() < 1e-7, "{law:?}");
        let planted = usl(50e6, 0.05, 0.001);
        for many in [1.0, 7.5, 100.0] {
            assert!((law.at(many) / planted(many) - 1.0).abs() < 1e-5, "{many}: {law:?}");
        }
        let Peak::At(peak) = law.peak else { panic!("{law:?}") };
        assert!((peak.value - 950.0_f64.sqrt()).abs() < 1e-3, "{law:?}");
    }

    #[test]
    fn what_is_no_such_curve_gets_no_law() {
        let mut random = Random::new(3);
        let mut of = |curve: &dyn Fn(f64) -> f64| law(&levels(0.002, &mut random, curve));
        assert_eq!(of(&|n| n.min(7.0)), None, "a sharp corner");
        assert_eq!(of(&|n| n.powf(1.2)), None, "two give more than twice as much");
        let once: Vec<Level> =
            STREAMS.iter().map(|&at| Level { at, values: vec![usl(1.0, 0.1, 0.01)(at)] }).collect();
        assert_eq!(law(&once), None, "nothing was repeated");
        let data = levels(0.01, &mut Random::new(0), usl(1.0, 0.1, 0.01));
        assert_eq!(law(&data[..3]), None, "three levels for three coefficients");
        let mut zero = data.clone();
        zero[0].values[0] = 0.0;
        assert_eq!(law(&zero), None);
    }
}
