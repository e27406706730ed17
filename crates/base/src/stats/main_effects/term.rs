//! How large an effect looks beside what chance alone adds to it, and which size is too large or
//! too small for that.
//!
//! Source: Sankaran, "Approximations to the non-central chi-square distribution", Biometrika 50
//! (1963).

use statrs::function::erf::erfc;

/// How large an effect looks, and what its error is expected to add to that.
#[derive(Clone, Debug)]
pub struct Term {
    /// The mean of the squares of the effects of all levels (of all pairs of levels).
    pub squares: f64,
    /// How many levels, or pairs of them.
    pub many: f64,
    /// How many of these are free.
    pub freedom: f64,
    /// The variance of one of them, by stratum.
    pub parts: Vec<f64>,
}

impl Term {
    /// The variance when the mean square of each stratum is so many times what was found.
    fn variance(&self, stretch: &[f64]) -> f64 {
        self.parts.iter().zip(stretch).map(|(part, times)| part * times).sum()
    }

    /// The variance of the effects, freed of what the error is expected to add; below 0 where they
    /// look smaller than chance.
    pub fn found(&self) -> f64 {
        self.squares - self.freedom * self.parts.iter().sum::<f64>() / self.many
    }

    /// What the error is expected to add.
    pub fn noise(&self, stretch: &[f64]) -> f64 {
        self.freedom * self.variance(stretch) / self.many
    }

    /// How likely the variance of the effects is no more than `size`, which is below 0 as often as
    /// chance alone looks smaller than it is expected to.
    fn chance(&self, size: f64, stretch: &[f64]) -> f64 {
        let variance = self.variance(stretch);
        if variance <= 0.0 {
            return if size >= self.squares { 1.0 } else { 0.0 };
        }
        let of = |what: f64| self.many * what / variance;
        no_more(of(self.squares), self.freedom, of(size))
    }

    /// The size that it is no more than with a chance of `tail`, over all draws of the errors.
    pub fn end(&self, tail: f64, stretches: &[Vec<f64>]) -> f64 {
        let excess = |size: f64| {
            let chances = stretches.iter().map(|stretch| self.chance(size, stretch));
            chances.sum::<f64>() / stretches.len() as f64 - tail
        };
        let widest = stretches.iter().map(|stretch| self.variance(stretch)).fold(0.0, f64::max);
        let noise = widest / self.many;
        // Ten deviations of a chi-squared to either side.
        let far = 10.0 * (noise * (2.0 * self.freedom * noise + 4.0 * self.squares)).sqrt();
        let (low, high) = (self.squares - self.freedom * noise - far, self.squares + far);
        root(excess, low, high + 40.0 * noise)
    }
}

/// How likely the noncentrality of a chi-squared with `freedom` degrees of freedom is no more than
/// `size`, when `squares` were found: as likely as more than these are with that noncentrality.
/// Below 0, how likely the central one has so much more than `squares`.
fn no_more(squares: f64, freedom: f64, size: f64) -> f64 {
    if size < 0.0 {
        // Wilson and Hilferty, "The distribution of chi-square", 1931.
        let ninth = 2.0 / (9.0 * freedom);
        let third = ((squares - size) / freedom).cbrt();
        return below((1.0 - ninth - third) / ninth.sqrt());
    }
    // Of one degree: the normal on both sides of 0.
    if freedom < 1.5 {
        let (root, far) = (squares.max(0.0).sqrt(), size.sqrt());
        return below(far - root) + below(-root - far);
    }
    below(-sankaran(squares.max(0.0), freedom, size))
}

/// Where a function that grows is 0, between two places around it (Illinois: the secant, with the
/// end that stays put counted half; and the middle every third time, as it is flat far away).
fn root(of: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let (mut at_low, mut at_high) = (of(low), of(high));
    if at_low >= 0.0 {
        return low;
    }
    if at_high <= 0.0 {
        return high;
    }
    let width = high - low;
    for step in 0..60 {
        let secant = (low * at_high - high * at_low) / (at_high - at_low);
        let middle = if step % 3 == 2 { f64::midpoint(low, high) } else { secant };
        let at = of(middle);
        if at.abs() < 1e-5 || high - low < 1e-6 * width {
            return middle;
        }
        if at < 0.0 {
            (low, at_low, at_high) = (middle, at, at_high / 2.0);
        } else {
            (high, at_high, at_low) = (middle, at, at_low / 2.0);
        }
    }
    f64::midpoint(low, high)
}

/// How likely a standard normal is below `at`.
fn below(at: f64) -> f64 {
    0.5 * erfc(-at / std::f64::consts::SQRT_2)
}

/// The standard normal quantile of a noncentral chi-squared at `x`.
fn sankaran(x: f64, freedom: f64, noncentrality: f64) -> f64 {
    let (one, two, three) =
        (freedom + noncentrality, freedom + 2.0 * noncentrality, freedom + 3.0 * noncentrality);
    let h = 1.0 - 2.0 / 3.0 * one * three / (two * two);
    let p = two / (one * one);
    let m = (h - 1.0) * (1.0 - 3.0 * h);
    let centre = 1.0 + h * p * (h - 1.0 - 0.5 * (2.0 - h) * m * p);
    ((x / one).powf(h) - centre) / (h * (2.0 * p).sqrt() * (1.0 + 0.5 * m * p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::draws::Draws;

    #[test]
    fn a_noncentrality_is_no_more_as_often_as_squares_of_that_are_more() {
        for (freedom, truth) in [(4, 5.0), (2, 1.0), (12, 30.0), (1, 1.0), (3, 0.0)] {
            let mut draws = Draws::new(2);
            let mut square = |far: f64| (draws.normal() + far).powi(2);
            let mut all: Vec<f64> = (0..40_000)
                .map(|_| square(f64::sqrt(truth)) + (1..freedom).map(|_| square(0.0)).sum::<f64>())
                .collect();
            all.sort_by(f64::total_cmp);
            for chance in [0.025, 0.1, 0.5, 0.9, 0.975] {
                let squares = all[(40_000.0 * (1.0 - chance)) as usize];
                let found = no_more(squares, f64::from(freedom), truth);
                // Sankaran is off by most where few degrees of freedom have few squares.
                assert!((found - chance).abs() < 0.02, "{freedom}, {truth}, {chance}: {found}");
            }
        }
        // One degree: P(|z + 1| > 1.5) = 1 - Phi(0.5) + Phi(-2.5).
        assert!((no_more(2.25, 1.0, 1.0) - 0.3147).abs() < 1e-3);
        // Continuous at 0 but for Sankaran's error, and growing.
        assert!((no_more(3.0, 4.0, -1e-9) - no_more(3.0, 4.0, 0.0)).abs() < 0.01);
        assert!(no_more(3.0, 4.0, -2.0) < no_more(3.0, 4.0, -1.0));
    }

    #[test]
    fn a_root_is_found_or_is_the_end_beyond_which_it_lies() {
        assert!((root(|x| x.powi(3) - 8.0, -10.0, 50.0) - 2.0).abs() < 1e-3);
        assert_eq!((root(|x| x, 1.0, 2.0), root(|x| x, -2.0, -1.0)), (1.0, -1.0));
    }
}
