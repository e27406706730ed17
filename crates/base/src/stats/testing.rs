//! For tests alone: seeds, random series with planted truth, and the count of what was covered.

use std::fmt;

use statrs::distribution::{Beta, ContinuousCDF};

use super::Interval;
use super::draws::Draws;

/// Seeds 0 to 199; with `BRICKYARD_LONG=1` in the environment, 0 to 1999. None is chosen.
pub fn seeds() -> std::ops::Range<u64> {
    0..if long() { 2000 } else { 200 }
}

/// Whether the long form of the statistical tests was asked for.
pub fn long() -> bool {
    std::env::var("BRICKYARD_LONG").is_ok_and(|value| value == "1")
}

/// The largest share of null cases in which anything may be claimed.
pub fn null_limit() -> f64 {
    if long() { 0.065 } else { 0.10 }
}

/// Normal, uniform and chi-squared draws.
pub struct Random(Draws);

impl Random {
    /// The same seed gives the same draws.
    pub fn new(seed: u64) -> Random {
        Random(Draws::new(seed))
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Uniform in (`low`, `high`].
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        self.0.normal()
    }

    /// Chi-squared with `freedom` (> 0) degrees of freedom.
    ///
    /// Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM
    /// Transactions on Mathematical Software 26 (2000).
    pub fn chi_squared(&mut self, freedom: f64) -> f64 {
        let shape = freedom / 2.0;
        if shape < 1.0 {
            let larger = self.chi_squared(freedom + 2.0);
            return larger * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return 2.0 * d * v;
            }
        }
    }

    /// AR(1) around `mean` with standard deviation `sd`, started in its stationary state.
    pub fn ar1(&mut self, n: usize, phi: f64, mean: f64, sd: f64) -> Vec<f64> {
        let mut x = self.normal();
        let mut next = || {
            let now = x;
            x = phi * x + (1.0 - phi * phi).sqrt() * self.normal();
            mean + sd * now
        };
        (0..n).map(|_| next()).collect()
    }
}

/// What a 95 % interval may cover.
fn bounds() -> (f64, f64) {
    if long() { (0.93, 0.97) } else { (0.90, 0.99) }
}

/// How often intervals were given, and how often they covered the truth.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Asked for.
    pub asked: u32,
    /// Given.
    pub given: u32,
    /// Covered the truth.
    pub covered: u32,
}

impl Coverage {
    /// Counts one interval, or its absence.
    pub fn add(&mut self, interval: Option<Interval>, truth: f64) {
        self.asked += 1;
        self.given += u32::from(interval.is_some());
        self.covered += u32::from(interval.is_some_and(|ends| ends.covers(truth)));
    }

    /// Share of those given that covered.
    pub fn share(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.given)
    }

    /// Share of those given among those asked for.
    pub fn given_share(&self) -> f64 {
        f64::from(self.given) / f64::from(self.asked)
    }

    /// Every case has its interval, and they cover 90-99 % (long: 93-97 %) of the time.
    pub fn check(&self, what: &str) {
        assert_eq!(self.given, self.asked, "{what}: some have no interval");
        self.check_given(what);
    }

    /// Those that are given cover 90-99 % (long: 93-97 %) of the time.
    pub fn check_given(&self, what: &str) {
        let (low, high) = bounds();
        let share = self.share();
        assert!((low..=high).contains(&share), "{what}: covered {share:.4} of {self:?}");
    }

    /// Those that are given cover more than 93 % of the time, of few seeds too; for intervals
    /// that cannot but cover more, of which the test says why.
    pub fn check_surely(&self, what: &str) {
        self.check_least(what);
        assert!(self.share() > 0.93, "{what}: {self:?}");
    }

    /// The same, but at least 90 % (long: 93 %) of the time, for those that cover hardly more.
    #[expect(clippy::print_stdout, reason = "by how much they cover more is told with --nocapture")]
    pub fn check_least(&self, what: &str) {
        let share = self.share();
        println!("{what}: covered {share:.4} of {self:?}");
        assert!(share >= bounds().0, "{what}: covered {share:.4} of {self:?}");
    }
}

/// How often something was right, of so many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Right.
    pub right: u64,
    /// Of all.
    pub all: u64,
}

impl Counts {
    /// Counts one time.
    pub fn add(&mut self, right: bool) {
        self.right += u64::from(right);
        self.all += 1;
    }

    /// The shares that these counts leave possible, a 95 % interval.
    ///
    /// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
    /// case of the binomial", Biometrika 26 (1934).
    pub fn bounds(&self) -> (f64, f64) {
        let (right, wrong) = (self.right as f64, (self.all - self.right) as f64);
        let end = |a: f64, b: f64, chance: f64| Some(Beta::new(a, b).ok()?.inverse_cdf(chance));
        let low = end(right, wrong + 1.0, 0.025).unwrap_or(0.0);
        (low, end(right + 1.0, wrong, 0.975).unwrap_or(1.0))
    }
}

/// `195 of 200, 94.3 to 99.2 %`: the bounds are those of the share.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.bounds();
        write!(f, "{} of {}, {:.1} to {:.1} %", self.right, self.all, 100.0 * low, 100.0 * high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{mean, sample_variance};

    /// Textbooks have 44.4 to 97.5 % for eight of ten.
    #[test]
    fn bounds_of_a_share_are_those_of_clopper_and_pearson() {
        let of = |right, all| Counts { right, all };
        assert_eq!(of(8, 10).to_string(), "8 of 10, 44.4 to 97.5 %");
        assert_eq!(of(20, 20).to_string(), "20 of 20, 83.2 to 100.0 %");
        assert_eq!(of(0, 20).to_string(), "0 of 20, 0.0 to 16.8 %");
        assert_eq!(of(0, 0).bounds(), (0.0, 1.0));
        let mut counts = of(1, 2);
        counts.add(true);
        counts.add(false);
        assert_eq!(counts, of(2, 4));
    }

    #[test]
    fn chi_squared_draws_have_their_mean_and_variance() {
        for freedom in [1.0, 2.0, 7.0] {
            let mut random = Random::new(1);
            let all: Vec<f64> = (0..20_000).map(|_| random.chi_squared(freedom)).collect();
            let (centre, variance) = (mean(&all), sample_variance(&all));
            assert!((centre / freedom - 1.0).abs() < 0.05, "{freedom}: mean {centre}");
            assert!((variance / freedom / 2.0 - 1.0).abs() < 0.1, "{freedom}: {variance}");
        }
    }
}
