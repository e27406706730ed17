//! Which share of the variance each factor and each pair of factors explains: omega squared.
//!
//! The share is that of the variance that effects have over the levels that were measured, each
//! combination counting once, in all variance: that of all effects and that of the errors of all
//! plots and trials. An effect of chance alone has squares too, so what its error is expected to
//! have is taken away first; the plain share of squares grows with the number of levels.
//!
//! The interval of each part is made of draws of the errors of all strata from what is known of
//! them (chi squared), and for each of these of how likely an effect's squares were for its size
//! (the noncentral distribution, inverted). For one effect against its own error that is the exact
//! interval from the noncentral F. Intervals of parts are put together to one of a share by the
//! method of variance estimates recovery; nothing exact is known, and the tests say what it covers.
//! (A share drawn as a whole is too small: what is drawn of each of many parts is more than its
//! estimate, on average.)
//!
//! Sources: Hays, "Statistics for Psychologists" (1963), for omega squared; Steiger, "Beyond the F
//! test", Psychological Methods 9 (2004), for the interval from the noncentral F; Weerahandi,
//! "Generalized confidence intervals", Journal of the American Statistical Association 88 (1993),
//! for the draws; McKay, Beckman and Conover, "A comparison of three methods for selecting values
//! of input variables", Technometrics 21 (1979), for drawing them evenly (a Latin hypercube); Zou
//! and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27
//! (2008), for putting them together; Sankaran, "Approximations to the non-central chi-square
//! distribution", Biometrika 50 (1963).

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::erfc;

use super::{Interaction, MainEffect, Table};
use crate::stats::Estimate;
use crate::stats::draws::Draws;

/// Each of so many equal parts of what is known of an error is drawn from once; divisible by 40.
const DRAWS: usize = 120;

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
    fn found(&self) -> f64 {
        self.squares - self.freedom * self.parts.iter().sum::<f64>() / self.many
    }

    /// What the error is expected to add.
    fn noise(&self, stretch: &[f64]) -> f64 {
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
    fn end(&self, tail: f64, stretches: &[Vec<f64>]) -> f64 {
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

/// The share of the variance that the errors of plots and trials have, with its interval; those of
/// effects and pairs are put into them. `None` where the error of some stratum is not known.
pub fn shares(
    table: &Table,
    effects: &mut [MainEffect],
    pairs: &mut [Interaction],
    borrowed: bool,
) -> Option<Estimate> {
    let terms: Vec<Term> = {
        let alone = effects.iter().filter_map(|it| it.term.clone());
        alone.chain(pairs.iter().filter_map(|it| it.most.as_ref()?.term.clone())).collect()
    };
    let whole = Whole::of(table, &terms, borrowed)?;
    let strata = table.strata.freedoms();
    let found: Vec<f64> =
        terms.iter().map(Term::found).chain(whole.rest(&vec![1.0; strata.len()])).collect();
    let mut draws = Draws::new(1);
    let each = strata.iter().map(|freedom| {
        let usual = ChiSquared::new(*freedom).ok()?;
        Some(evenly(&mut draws, |chance| freedom / usual.inverse_cdf(chance)))
    });
    let each: Vec<Vec<f64>> = each.collect::<Option<_>>()?;
    let stretches: Vec<Vec<f64>> =
        (0..DRAWS).map(|draw| each.iter().map(|of| of[draw]).collect()).collect();
    let alone = terms.iter().zip(&found).map(|(term, value)| {
        let [low, high] = [0.025, 0.975].map(|tail| term.end(tail, &stretches));
        Part { value: *value, low: low.min(*value), high: high.max(*value) }
    });
    let all: Vec<[f64; 2]> = stretches.iter().map(|stretch| whole.rest(stretch)).collect();
    let rest = found[terms.len()..].iter().enumerate();
    let parts: Vec<Part> = alone
        .chain(rest.map(|(of, value)| Part::of(*value, all.iter().map(|it| it[of]).collect())))
        .collect();
    let mut estimates = (0..terms.len() + 1).map(|place| share(place, &parts));
    for it in effects.iter_mut().filter(|it| it.term.is_some()) {
        it.omega_squared = estimates.next();
    }
    for it in pairs.iter_mut().filter_map(|it| it.most.as_mut()).filter(|it| it.term.is_some()) {
        it.omega_squared = estimates.next();
    }
    estimates.next()
}

/// The quantiles in the middle of [`DRAWS`] parts that are equally likely, in random order.
fn evenly(draws: &mut Draws, quantile: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> =
        (0..DRAWS).map(|part| quantile((part as f64 + 0.5) / DRAWS as f64)).collect();
    for place in (1..DRAWS).rev() {
        let other = (draws.uniform() * (place + 1) as f64) as usize;
        all.swap(place, other.min(place));
    }
    all
}

/// All variance.
struct Whole<'a> {
    table: &'a Table,
    terms: &'a [Term],
    /// The mean square of what cells have beyond the terms; 0 where that is taken as the error.
    beyond: f64,
    /// Of each size of plot, the share of its variance that is between cells' means.
    between: Vec<f64>,
}

impl Whole<'_> {
    fn of<'a>(table: &'a Table, terms: &'a [Term], borrowed: bool) -> Option<Whole<'a>> {
        let known = table.strata.freedoms().iter().all(|freedom| *freedom >= 1.0);
        if !known || terms.is_empty() {
            return None;
        }
        let means = table.strata.cell_means();
        let many = means.len() as f64;
        let free: f64 = terms.iter().map(|term| term.freedom).sum();
        let squares: f64 = terms.iter().map(|term| term.squares).sum();
        let all = super::about_mean(&means) / many;
        let beyond = if borrowed || many - 1.0 - free < 0.5 { 0.0 } else { all - squares };
        let inverse: f64 = table.strata.totals().iter().map(|total| 1.0 / total).sum();
        let repeated = inverse / many;
        let together = |plots: &Vec<usize>| {
            let mut sizes = vec![0.0; plots.len()];
            plots.iter().for_each(|plot| sizes[*plot] += 1.0 / many);
            (1.0 - sizes.iter().map(|size| size * size).sum::<f64>()) * repeated
        };
        let trial = (1.0 - 1.0 / many) * repeated;
        let between = table.plots.iter().map(together).chain([trial]).collect();
        Some(Whole { table, terms, beyond, between })
    }

    /// The variance of the errors, and what is beyond them and the terms, if the mean square of
    /// each stratum were so many times what was found.
    fn rest(&self, stretch: &[f64]) -> [f64; 2] {
        let errors = self.table.strata.components(stretch);
        let noise: f64 = errors.iter().zip(&self.between).map(|(error, of)| error * of).sum();
        let told: f64 = self.terms.iter().map(|term| term.noise(stretch)).sum();
        // What three factors or more do together is known by its squares alone.
        let beyond = if self.beyond > 0.0 { self.beyond - (noise - told) } else { 0.0 };
        [errors.iter().sum(), beyond.max(0.0)]
    }
}

/// A part of all variance, with the ends of its 95 % interval.
struct Part {
    value: f64,
    low: f64,
    high: f64,
}

impl Part {
    fn of(value: f64, mut drawn: Vec<f64>) -> Part {
        drawn.sort_by(f64::total_cmp);
        let between = |place: usize| f64::midpoint(drawn[place - 1], drawn[place]);
        let (low, high) = (between(DRAWS / 40), between(DRAWS - DRAWS / 40));
        Part { value, low: low.min(value), high: high.max(value) }
    }
}

/// One part's share of all. The rest is a sum, of which each end is as far from it as the ends of
/// all its parts make it together; the logarithm of the ratio of both likewise.
fn share(place: usize, parts: &[Part]) -> Estimate {
    let others = || parts.iter().enumerate().filter(|(other, _)| *other != place);
    let rest: f64 = others().map(|(_, part)| part.value).sum();
    let below: f64 = others().map(|(_, part)| (part.value - part.low).powi(2)).sum();
    let above: f64 = others().map(|(_, part)| (part.high - part.value).powi(2)).sum();
    let part = &parts[place];
    let (value, rest) = (part.value.max(0.0), rest.max(f64::MIN_POSITIVE));
    let (least, most) = ((rest - below.sqrt()).max(0.0), rest + above.sqrt());
    let of = |ratio: f64| if ratio.is_finite() { ratio / (1.0 + ratio) } else { 1.0 };
    let apart = |one: f64, other: f64| one.ln().hypot(other.ln()).exp();
    // Of nothing, or next to it, there is no logarithm: the ends stand for themselves.
    let low = match part.low > 0.0 {
        true => of(value / rest / apart(value / part.low, most / rest)),
        false => 0.0,
    };
    let high = match (part.high > 0.0, value > 0.0 && part.low > 0.0) {
        (false, _) => 0.0,
        (true, false) => of(part.high / rest),
        (true, true) => of(value / rest * apart(part.high / value, rest / least)),
    };
    Estimate::within(of(value / rest), low, high)
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
