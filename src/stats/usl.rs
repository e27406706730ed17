//! The Universal Scalability Law: what one of `N` gives by itself, what they lose by waiting for
//! each other (contention), and what by keeping each other informed (coherency).
//!
//! `X(N) = single N / (1 + contention (N - 1) + coherency N (N - 1))`. Its reciprocal, `N / X`, is
//! linear in three coefficients, and all that is asked for is a ratio of two of them: Fieller's
//! intervals hold, which are open where the data do not bound the ratio. The peak lies at the root
//! of `(1 - contention) / coherency`.
//!
//! Sources: Gunther, "Guerrilla Capacity Planning" (2007), chapters 4 to 6; Fieller, "Some problems
//! in interval estimation", Journal of the Royal Statistical Society B 16 (1954).

use super::Estimate;
use super::interval::t_quantile;
use super::profile::{Level, Logs};
use super::sweep::{dot, generalized_inverse, times};

/// The law through some levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// What one by itself gives.
    pub single: Estimate,
    /// Share of the work that is done one after another.
    pub contention: Estimate,
    /// What each pair costs, as a share of the work of one.
    pub coherency: Estimate,
    /// Where the law has its peak.
    pub peak: Peak,
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

/// Steps of Gauss and Newton; some five are needed.
const STEPS: usize = 40;

/// The law through `levels`; `None` with fewer than four levels (it has three coefficients) or none
/// that was repeated, when a value is not positive, when it does not describe the levels (see
/// [`Logs::adequate`]), or when it does so only by gains, where it knows nothing but losses.
pub fn law(levels: &[Level]) -> Option<Law> {
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    let good = |level: &Level| level.at >= 1.0 && level.values.iter().all(positive);
    if levels.len() <= COEFFICIENTS || !levels.iter().all(good) {
        return None;
    }
    let data = Logs::of(levels);
    let fit = Fit::of(&data).filter(|fit| data.adequate(fit.squares, COEFFICIENTS))?;
    let of_single = |of| match fit.ratio(of, SINGLE) {
        Ratio::Within(ratio) if ratio.interval.is_some_and(|ends| ends.high >= 0.0) => Some(ratio),
        _ => None,
    };
    Some(Law {
        single: fit.single()?,
        contention: of_single(WAITING)?,
        coherency: of_single(INFORMED)?,
        peak: fit.peak(),
    })
}

/// `N / X` by least squares of the logarithms of `X`.
struct Fit {
    coefficients: [f64; COEFFICIENTS],
    covariance: Vec<Vec<f64>>,
    /// Student's quantile for a 95 % interval.
    bound: f64,
    /// What is left of the logarithms, squared and summed.
    squares: f64,
}

/// What the data say of a ratio.
enum Ratio {
    Within(Estimate),
    /// No upper end: the denominator may be nothing.
    NotBelow(f64),
    Unbounded,
}

impl Fit {
    /// By the steps of Gauss and Newton, from the fit of the reciprocals, each weighed by its size.
    /// `None` when the levels do not tell the coefficients apart.
    fn of(data: &Logs) -> Option<Fit> {
        let freedom = data.count - COEFFICIENTS as f64;
        if data.pure_freedom < 1.0 || freedom < 1.0 {
            return None;
        }
        let most = data.points.iter().map(|(at, _)| *at).fold(1.0, f64::max);
        let scale = [1.0, most, most * most];
        // Scaled, so that the matrix of squares is a tame one.
        let row = |at: f64| [1.0, (at - 1.0) / scale[1], at * (at - 1.0) / scale[2]];
        let rows: Vec<([f64; COEFFICIENTS], f64)> =
            data.points.iter().map(|&(at, log)| (row(at), at.ln() - log)).collect();
        let mut found = step(&rows, |_, log| (1.0 / log.exp(), 1.0))?.0;
        let mut squares = left(&rows, &found)?;
        for _ in 0..STEPS {
            let residual = |row: &[f64], log: f64| {
                let fitted = dot(row, &found);
                (1.0 / fitted, log - fitted.ln())
            };
            let (by, _) = step(&rows, residual)?;
            let halved = (0..20).map(|half| 0.5_f64.powi(half));
            let next = halved.map(|share| moved(&found, &by, share));
            let better = next.filter_map(|it| Some((left(&rows, &it)?, it)));
            match better.into_iter().find(|(sum, _)| *sum < squares) {
                Some((sum, it)) => (squares, found) = (sum, it),
                None => break,
            }
        }
        let (_, inverse) = step(&rows, |row, _| (1.0 / dot(row, &found), 0.0))?;
        let variance = squares / freedom;
        let unscaled = |i: usize, j: usize| inverse[i][j] * variance / scale[i] / scale[j];
        let of = |i| (0..COEFFICIENTS).map(|j| unscaled(i, j)).collect();
        Some(Fit {
            coefficients: std::array::from_fn(|i| found[i] / scale[i]),
            covariance: (0..COEFFICIENTS).map(of).collect(),
            bound: t_quantile(0.975, freedom),
            squares,
        })
    }

    /// What one by itself gives: the reciprocal of the first coefficient.
    fn single(&self) -> Option<Estimate> {
        let (value, half) = (self.coefficients[0], self.bound * self.covariance[0][0].sqrt());
        (value > half)
            .then(|| Estimate::within(1.0 / value, 1.0 / (value + half), 1.0 / (value - half)))
    }

    /// Fieller's set for the ratio of two linear functions of the coefficients: all ratios at which
    /// `top - ratio * bottom` is nothing but chance.
    fn ratio(&self, top: [f64; COEFFICIENTS], bottom: [f64; COEFFICIENTS]) -> Ratio {
        let value = |of: &[f64]| dot(of, &self.coefficients);
        let both = |one: &[f64], other: &[f64]| dot(one, &times(&self.covariance, other));
        let spread = self.bound * self.bound;
        let a = value(&bottom).powi(2) - spread * both(&bottom, &bottom);
        let b = value(&top) * value(&bottom) - spread * both(&top, &bottom);
        let c = value(&top).powi(2) - spread * both(&top, &top);
        let root = (b * b - a * c).max(0.0).sqrt();
        if a > 0.0 {
            let ratio = value(&top) / value(&bottom);
            return Ratio::Within(Estimate::within(ratio, (b - root) / a, (b + root) / a));
        }
        // Where the denominator may be nothing, all that lies between two ratios is left out.
        let above = (b - root) / a;
        match b * b > a * c && above > 0.0 {
            true => Ratio::NotBelow(above),
            false => Ratio::Unbounded,
        }
    }

    /// The root of what [`Fit::ratio`] says of its square; a peak below one is a peak at one.
    fn peak(&self) -> Peak {
        match self.ratio(NOT_WAITING, INFORMED) {
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
}

type Row = ([f64; COEFFICIENTS], f64);

/// The least squares of weighted rows, and the inverse of the matrix of their squares: `of` gives
/// each row's weight and what it should come to.
fn step(rows: &[Row], of: impl Fn(&[f64], f64) -> (f64, f64)) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    let mut squares = vec![vec![0.0; COEFFICIENTS]; COEFFICIENTS];
    let mut sums = vec![0.0; COEFFICIENTS];
    for (row, log) in rows {
        let (weight, wanted) = of(row, *log);
        for i in 0..COEFFICIENTS {
            sums[i] += row[i] * weight * wanted;
            (0..COEFFICIENTS).for_each(|j| squares[i][j] += row[i] * row[j] * weight * weight);
        }
    }
    let (inverse, rank) = generalized_inverse(squares);
    (rank == COEFFICIENTS).then(|| (times(&inverse, &sums), inverse))
}

/// The squares that coefficients leave of the logarithms; `None` where they make a rate negative.
fn left(rows: &[Row], coefficients: &[f64]) -> Option<f64> {
    let each = rows.iter().map(|(row, log)| {
        let fitted = dot(row, coefficients);
        (fitted > 0.0).then(|| (log - fitted.ln()).powi(2))
    });
    each.sum()
}

fn moved(from: &[f64], by: &[f64], share: f64) -> Vec<f64> {
    from.iter().zip(by).map(|(from, by)| from + share * by).collect()
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
