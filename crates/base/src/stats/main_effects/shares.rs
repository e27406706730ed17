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
//! (2008), for putting them together.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::interactions::Interaction;
use super::term::Term;
use super::{MainEffect, Table};
use crate::stats::Estimate;
use crate::stats::draws::Draws;

/// Each of so many equal parts of what is known of an error is drawn from once; divisible by 40.
const DRAWS: usize = 120;

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
        VarianceShare { value: *value, low: low.min(*value), high: high.max(*value) }
    });
    let all: Vec<[f64; 2]> = stretches.iter().map(|stretch| whole.rest(stretch)).collect();
    let rest = found[terms.len()..].iter().enumerate();
    let parts: Vec<VarianceShare> =
        alone
            .chain(rest.map(|(of, value)| {
                VarianceShare::of(*value, all.iter().map(|it| it[of]).collect())
            }))
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
struct VarianceShare {
    value: f64,
    low: f64,
    high: f64,
}

impl VarianceShare {
    fn of(value: f64, mut drawn: Vec<f64>) -> VarianceShare {
        drawn.sort_by(f64::total_cmp);
        let between = |place: usize| f64::midpoint(drawn[place - 1], drawn[place]);
        let (low, high) = (between(DRAWS / 40), between(DRAWS - DRAWS / 40));
        VarianceShare { value, low: low.min(value), high: high.max(value) }
    }
}

/// One part's share of all. The rest is a sum, of which each end is as far from it as the ends of
/// all its parts make it together; the logarithm of the ratio of both likewise.
fn share(place: usize, parts: &[VarianceShare]) -> Estimate {
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
