//! The time of one operation against its size: a fixed time, and a time in proportion to the bytes.
//!
//! `T = L + S / B` is linear in `L` and `1 / B`. It is fitted to the logarithms, as times scatter
//! in proportion to themselves, with Huber's weights, so that a run that somebody disturbed does
//! not bend the law. Half of the bandwidth is reached at `S = L x B`, the ratio of both
//! coefficients.
//!
//! Source: Hockney, "The Science of Computer Benchmarking" (1996), n-half.

use serde::Serialize;

use super::Estimate;
use super::log_linear::{LogFit, Loss, Ratio, Row};
use super::profile::{Level, Logs};

/// Coefficients of `T`: of 1 and of `S`.
const COEFFICIENTS: usize = 2;

/// The law of a fixed time and a bandwidth as it was fitted to times by size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekLaw {
    /// The fixed time L; its interval begins at nothing where none is shown.
    pub latency: Estimate,
    /// B, bytes in a unit of time.
    pub bandwidth: Bound,
    /// The size at which half of B is reached.
    pub half: Bound,
}

/// What data say of a size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It lies within its 95 % interval.
    At(Estimate),
    /// It is so much or more; the sizes that were measured bound it from below alone.
    NotBelow(f64),
    /// They bound it on neither side.
    Unbounded,
}

impl Bound {
    /// The estimate, where both sides are bounded.
    pub fn at(self) -> Option<Estimate> {
        match self {
            Bound::At(at) => Some(at),
            Bound::NotBelow(_) | Bound::Unbounded => None,
        }
    }

    /// The same of something so many times as large.
    #[must_use]
    pub fn times(self, factor: f64) -> Bound {
        match self {
            Bound::At(at) => Bound::At(at.times(factor)),
            Bound::NotBelow(low) => Bound::NotBelow(low * factor),
            Bound::Unbounded => Bound::Unbounded,
        }
    }
}

/// What there is to say of the times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Described {
    /// The law describes them.
    By(SeekLaw),
    /// It does not: they lie further from it than their scatter explains.
    NotByThisLaw,
}

/// The law through `levels`: sizes with the times of an operation of that size. `None` with fewer
/// than four levels (two for the law and two to test it by) or none that was repeated, or when a
/// value is not positive.
pub fn law(levels: &[Level]) -> Option<Described> {
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    let good = |level: &Level| positive(&level.at) && level.values.iter().all(positive);
    if levels.len() < COEFFICIENTS + 2 || !levels.iter().all(good) {
        return None;
    }
    let data = Logs::from_levels(levels);
    if data.pure_freedom < 1.0 {
        return None;
    }
    let row = |&(at, log): &(f64, f64)| ([1.0, at], log);
    let rows: Vec<Row<COEFFICIENTS>> = data.points.iter().map(row).collect();
    // A law that would make some time negative is none.
    let Some(fit) = LogFit::from_rows(&rows, Loss::Huber) else {
        return Some(Described::NotByThisLaw);
    };
    let (latency, each) = (fit.coefficient(0), fit.coefficient(1));
    let gains = |of: &Estimate| of.interval.is_none_or(|ends| ends.high <= 0.0);
    if !data.adequate(fit.squares, COEFFICIENTS) || gains(&latency) || gains(&each) {
        return Some(Described::NotByThisLaw);
    }
    let bandwidth = match (fit.reciprocal(1), each.interval) {
        (Some(bandwidth), _) => Bound::At(bandwidth),
        (None, Some(ends)) => Bound::NotBelow(1.0 / ends.high),
        (None, None) => Bound::Unbounded,
    };
    let half = match fit.ratio([1.0, 0.0], [0.0, 1.0]) {
        Ratio::Within(half) => Bound::At(half.not_negative()),
        Ratio::NotBelow(half) => Bound::NotBelow(half),
        Ratio::Unbounded => Bound::Unbounded,
    };
    Some(Described::By(SeekLaw { latency: latency.not_negative(), bandwidth, half }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// Times of blocks from 4 KiB by fours, each so often.
    fn times(
        levels: i32,
        each: usize,
        noise: f64,
        random: &mut Random,
        of: impl Fn(f64) -> f64,
    ) -> Vec<Level> {
        let level = |power: i32| {
            let at = 4096.0 * 4.0_f64.powi(power);
            let values = (0..each).map(|_| of(at) * (1.0 + noise * random.normal())).collect();
            Level { at, values }
        };
        (0..levels).map(level).collect()
    }

    fn interval(of: Bound) -> Option<crate::stats::Interval> {
        of.at()?.interval
    }

    #[test]
    fn the_planted_law_lies_within_its_intervals() {
        for (count, each) in [(4, 3), (6, 2), (6, 3), (8, 3), (8, 5)] {
            for noise in [0.003, 0.03] {
                let mut coverage: [Coverage; 3] = Default::default();
                let mut refused = 0;
                for seed in seeds() {
                    let mut random = Random::new(seed);
                    let (latency, rate) = (random.between(0.1, 10.0), random.between(50e3, 500e3));
                    let planted = |size: f64| latency + size / rate;
                    match law(&times(count, each, noise, &mut random, planted)).unwrap() {
                        Described::By(law) => {
                            coverage[0].add(law.latency.interval, latency);
                            coverage[1].add(interval(law.bandwidth), rate);
                            coverage[2].add(interval(law.half), latency * rate);
                        }
                        Described::NotByThisLaw => refused += 1,
                    }
                }
                let what = format!("{count} x {each}, noise {noise}");
                // The test of fit is one at 1 %.
                let share = f64::from(refused) / seeds().end as f64;
                assert!(share <= 0.03, "{what}: {share} refused");
                for (part, coverage) in ["latency", "bandwidth", "half"].iter().zip(&coverage) {
                    coverage.check_given(&format!("{part}, {what}"));
                    assert!(coverage.given_share() > 0.9, "{part}, {what}: {coverage:?}");
                }
            }
        }
    }

    #[test]
    fn what_obeys_no_such_law_gets_no_numbers() {
        let mut claims = [0; 2];
        for seed in seeds() {
            let mut random = Random::new(seed);
            // A read-ahead that begins with large blocks; pieces that are read at once.
            let step = |size: f64| if size < 1e5 { 4.0 + size / 1e5 } else { 1.0 + size / 1e5 };
            let root = |size: f64| 1.0 + (size / 4096.0).sqrt();
            for (place, of) in [&step as &dyn Fn(f64) -> f64, &root].into_iter().enumerate() {
                let found = law(&times(8, 3, 0.02, &mut random, of)).unwrap();
                claims[place] += u32::from(found != Described::NotByThisLaw);
            }
        }
        let limit = null_limit() * seeds().end as f64;
        assert!(claims.iter().all(|&claims| f64::from(claims) <= limit), "{claims:?}");
    }

    #[test]
    fn what_the_sizes_do_not_bound_is_open() {
        let mut wrong = [0; 2];
        for seed in seeds() {
            let mut random = Random::new(seed);
            let fixed = law(&times(6, 3, 0.03, &mut random, |_| 5.0)).unwrap();
            let bound = matches!(fixed, Described::By(SeekLaw { bandwidth: Bound::At(_), .. }));
            wrong[0] += u32::from(bound);
            let flowing = law(&times(6, 3, 0.03, &mut random, |size| size / 1e5)).unwrap();
            let Described::By(law) = flowing else { continue };
            wrong[1] += u32::from(law.latency.interval.unwrap().low > 0.0);
        }
        let limit = null_limit() * seeds().end as f64;
        assert!(wrong.iter().all(|&wrong| f64::from(wrong) <= limit), "{wrong:?}");
    }

    #[test]
    fn too_little_gets_nothing() {
        let mut random = Random::new(0);
        let data = times(6, 3, 0.01, &mut random, |size| 1.0 + size / 1e5);
        assert_eq!(law(&data[..3]), None);
        let once: Vec<Level> =
            data.iter().map(|one| Level { at: one.at, values: vec![one.values[0]] }).collect();
        assert_eq!(law(&once), None);
        let mut zero = data.clone();
        zero[0].values[0] = 0.0;
        assert_eq!(law(&zero), None);
    }
}
