//! Spread that several samples have in common.
//!
//! Three repeats know little of their own spread: t is 4.3, of eight times three it is 2.1. Spread
//! is relative, as noise of a server is in proportion to its speed: the variance of one value over
//! the square of the mean. What is pooled was tested, in three steps:
//!
//! - A sample that surely scatters more than all others together (F) stands apart.
//! - What is left has one spread unless Bartlett's test finds that variances differ.
//! - Each must show that it is not one of larger spread: what may well scatter two or three times
//!   as far as the others, and only happened to agree, keeps its own. Few repeats can show that
//!   only where they agree well, so a pair often keeps its own.
//!
//! Sources: Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the Royal
//! Society A 160 (1937); for the burden of proof that lies on what shall be equal, Schuirmann, "A
//! comparison of the two one-sided tests procedure", Journal of Pharmacokinetics and
//! Biopharmaceutics 15 (1987).

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use super::interval::{mean, sample_variance, t_quantile};
use super::{Estimate, mean_interval};

#[cfg(test)]
mod tests;

/// Spreads are alike where a test that finds a difference between equal ones so often finds none.
pub const ALIKE: f64 = 0.10;
/// So seldom one of few equal samples stands apart.
const APART: f64 = 0.05;
/// Of many equal samples so many stand apart on average, and no more: without the largest of them
/// the rest looks calmer than it is.
const APART_OF_ALL: f64 = 0.4;
/// A sample may not scatter so many times as far as the others, and one that does is so seldom
/// taken for their like. The tests show what that covers.
const TIMES: [(f64, f64); 2] = [(2.0, 0.35), (3.0, 0.18)];

/// A relative variance with its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The variance of one value over the square of the mean.
    pub relative: f64,
    /// How many values it rests on, less the means that were taken from them.
    pub freedom: f64,
}

impl Spread {
    /// Of one sample; `None` of fewer than two values, of what is not finite, and of what is not
    /// positive on average.
    pub fn from_samples(values: &[f64]) -> Option<Spread> {
        let centre = mean(values);
        let good = values.len() > 1 && values.iter().all(|it| it.is_finite()) && centre > 0.0;
        let relative = sample_variance(values) / (centre * centre);
        good.then_some(Spread { relative, freedom: values.len() as f64 - 1.0 })
    }

    /// All in one, whether they are alike or not; `None` of nothing.
    pub fn together(all: impl IntoIterator<Item = Spread>) -> Option<Spread> {
        let (mut freedom, mut sum) = (0.0, 0.0);
        for one in all {
            freedom += one.freedom;
            sum += one.freedom * one.relative;
        }
        (freedom > 0.0).then(|| Spread { relative: sum / freedom, freedom })
    }

    /// What is left of this one without `part`, which has a part in it.
    fn without(self, part: Spread) -> Spread {
        let freedom = self.freedom - part.freedom;
        let sum = self.freedom * self.relative - part.freedom * part.relative;
        Spread { relative: (sum / freedom).max(0.0), freedom }
    }

    /// How likely a spread is at least so large, if it is in truth that of `others` (F); 1 where
    /// these do not scatter.
    pub fn chance_of_more(self, others: Spread) -> f64 {
        match FisherSnedecor::new(self.freedom, others.freedom) {
            Ok(usual) if others.relative > 0.0 => 1.0 - usual.cdf(self.relative / others.relative),
            _ => 1.0,
        }
    }

    /// Whether it is shown that it is not that of `others`, two or three times as far.
    fn is_no_larger(self, others: Spread) -> bool {
        let Ok(usual) = FisherSnedecor::new(self.freedom, others.freedom) else { return false };
        let shown = |(times, missed): &(f64, f64)| {
            let larger = times * times * others.relative;
            usual.cdf(self.relative / larger) <= *missed
        };
        self.relative <= 0.0 || (others.relative > 0.0 && TIMES.iter().all(shown))
    }
}

/// How likely variances of normal samples lie as far apart as these if they are equal (Bartlett).
pub fn chance_alike(own: &[Spread]) -> f64 {
    let Some(together) = Spread::together(own.iter().copied()) else { return 1.0 };
    if together.relative <= 0.0 || own.len() < 2 {
        return 1.0;
    }
    let logs: f64 = own.iter().map(|it| it.freedom * it.relative.ln()).sum();
    let apart = together.freedom * together.relative.ln() - logs;
    let groups = own.len() as f64 - 1.0;
    let parts: f64 = own.iter().map(|it| 1.0 / it.freedom).sum();
    let bias = 1.0 + (parts - 1.0 / together.freedom) / (3.0 * groups);
    // One that does not scatter at all is infinitely far from one that does.
    match ChiSquared::new(groups) {
        Ok(usual) if apart.is_finite() => 1.0 - usual.cdf((apart / bias).max(0.0)),
        _ => 0.0,
    }
}

/// A spread that several samples have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// All of theirs in one.
    pub spread: Spread,
    /// How many samples it is of; 2 or more.
    pub samples: u32,
}

/// Of each sample the spread that it shares with others; `None` where it keeps its own.
pub fn shared(own: &[Spread]) -> Vec<Option<Shared>> {
    let none = vec![None; own.len()];
    let Some(all) = Spread::together(own.iter().copied()).filter(|_| own.len() > 1) else {
        return none;
    };
    let limit = APART.min(APART_OF_ALL / own.len() as f64);
    let stays = |one: &Spread| {
        let others = all.without(*one);
        // Beside what does not scatter at all whatever does stands apart.
        let calm = others.relative <= 0.0 && one.relative > 0.0;
        !calm && one.chance_of_more(others) >= limit
    };
    let stay: Vec<bool> = own.iter().map(stays).collect();
    let rest: Vec<Spread> =
        own.iter().zip(&stay).filter(|(_, stays)| **stays).map(|(one, _)| *one).collect();
    let Some(spread) = Spread::together(rest.iter().copied()) else { return none };
    if rest.len() < 2 || chance_alike(&rest) < ALIKE {
        return none;
    }
    let shared = Shared { spread, samples: rest.len() as u32 };
    let of = |(one, stays): (&Spread, &bool)| {
        (*stays && one.is_no_larger(spread.without(*one))).then_some(shared)
    };
    own.iter().zip(&stay).map(of).collect()
}

/// The mean of each sample with Student's 95 % interval, of its own spread or of the one that it
/// shares; `None` as [`mean_interval`] has it. A single value has no interval, whatever its likes.
pub fn mean_intervals(samples: &[Vec<f64>]) -> Vec<Option<(Estimate, Option<Shared>)>> {
    let own: Vec<Option<Spread>> =
        samples.iter().map(|values| Spread::from_samples(values)).collect();
    let known: Vec<Spread> = own.iter().copied().flatten().collect();
    let mut found = shared(&known).into_iter();
    let mut told = Vec::with_capacity(samples.len());
    for (values, own) in samples.iter().zip(own) {
        let shared = own.and_then(|_| found.next().flatten());
        told.push(mean_interval(values).map(|estimate| match shared {
            Some(shared) => (within(estimate.value, values.len(), shared.spread), Some(shared)),
            None => (estimate, None),
        }));
    }
    told
}

/// The mean of `n` values with the interval that a spread makes.
fn within(centre: f64, n: usize, spread: Spread) -> Estimate {
    let error = centre * (spread.relative / n as f64).sqrt();
    let half = t_quantile(0.975, spread.freedom) * error;
    Estimate::on_a_log_scale(centre, half)
}
