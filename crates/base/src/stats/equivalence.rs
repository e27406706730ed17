//! Whether groups of replicates are the same: a claim like any other, which needs proof.
//!
//! A test that finds no difference says nothing where it could not have found one. So sameness is
//! tested by itself: that the ratio of two means is not as large as [`MARGIN`] and not as small as
//! its inverse, by Welch's interval of the logarithms. Of many groups that may not be more than
//! one, each is tested so on the one side (Student, 5 %, by the scatter of all of them), and none
//! needs a correction: the claim is made only where all of them hold.
//!
//! Sources: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
//! Journal of Pharmacokinetics and Biopharmaceutics 15 (1987); Lakens, "Equivalence tests", Social
//! Psychological and Personality Science 8 (2017); of many at once Berger, "Multiparameter
//! hypothesis testing and acceptance sampling", Technometrics 24 (1982).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::interval::{mean, sample_variance, t_quantile};
use super::profile::Level;
use super::{Estimate, RatioOfMeans};

/// Two means are told as the same when their ratio is surely nearer to 1 than this, or its inverse.
pub const MARGIN: f64 = 1.10;

/// How often a claim may be wrong where the truth is its limit.
pub const CHANCE: f64 = 0.05;

/// What is known of two groups of replicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// They differ by less than [`MARGIN`], beyond doubt.
    Equal,
    /// The first is more, beyond chance; by how much is another question.
    More,
    /// The first is less, beyond chance.
    Less,
    /// The replicates leave it open, or there are none.
    NotDecided,
}

/// How two groups stand to each other by the 95 % interval of their ratio, so that the interval
/// that is printed says it too: the whole of it lies within the margin, or on one side of 1. Groups
/// of one value have no scatter to judge by, and nothing is decided.
pub fn likeness_of(ratio: &Estimate) -> Likeness {
    let Some(ends) = ratio.interval else { return Likeness::NotDecided };
    match () {
        () if ends.low > 1.0 / MARGIN && ends.high < MARGIN => Likeness::Equal,
        () if ends.low > 1.0 => Likeness::More,
        () if ends.high < 1.0 => Likeness::Less,
        () => Likeness::NotDecided,
    }
}

/// How likely figures that speak so clearly against it were, if one of `others` were [`MARGIN`]
/// times `than` or more: at most [`CHANCE`] where none of them is, beyond doubt. 1 where a group
/// was measured once, or is not positive; 0 of no others.
///
/// Their scatter is pooled, as they differ in little, but for groups that scatter more than the
/// rest (F test at 5 %): these are judged by their own (Welch).
pub fn chance_of_more<'a>(than: &'a [f64], others: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let groups = Groups::of(std::iter::once(than).chain(others).collect());
    groups.chance(0)
}

/// Groups in an order, and what they scatter by.
struct Groups<'a> {
    groups: Vec<&'a [f64]>,
    /// Those that scatter more than the rest.
    wild: Vec<bool>,
    /// Of all others together.
    alike: Squares,
}

impl<'a> Groups<'a> {
    fn of(groups: Vec<&'a [f64]>) -> Groups<'a> {
        let scatter: Vec<Squares> = groups.iter().map(|group| Squares::of(group)).collect();
        let all = scatter.iter().fold(Squares::default(), |all, own| all.plus(own));
        let wild: Vec<bool> = scatter.iter().map(|own| own.is_more_than(&all.less(own))).collect();
        let alike = scatter.iter().zip(&wild).filter(|(_, wild)| !**wild);
        let alike = alike.fold(Squares::default(), |all, (own, _)| all.plus(own));
        Groups { groups, wild, alike }
    }

    /// As [`chance_of_more`], of the group at `place` and all after it.
    fn chance(&self, place: usize) -> f64 {
        let after = place + 1..self.groups.len();
        after.map(|other| self.chance_of(other, place).unwrap_or(1.0)).fold(0.0, f64::max)
    }

    fn chance_of(&self, other: usize, than: usize) -> Option<f64> {
        let [top, bottom] = [self.groups[other], self.groups[than]];
        let ratio = RatioOfMeans::from_samples(top, bottom)?;
        if top.len() < 2 || bottom.len() < 2 {
            return None;
        }
        let Squares { squares, freedom } = self.alike;
        let judged = match self.wild[other] || self.wild[than] {
            true => ratio,
            false => ratio.by_variance([top.len(), bottom.len()], squares / freedom, freedom),
        };
        judged.chance_below(MARGIN)
    }
}

/// Whether all values of a group have a logarithm.
fn are_positive(group: &[f64]) -> bool {
    group.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// How far the logarithms of a group lie from their mean.
#[derive(Clone, Copy, Debug, Default)]
struct Squares {
    squares: f64,
    freedom: f64,
}

impl Squares {
    /// Nothing of a group of fewer than two values, or of one that has no logarithms.
    fn of(group: &[f64]) -> Squares {
        if group.len() < 2 || !are_positive(group) {
            return Squares::default();
        }
        let logs: Vec<f64> = group.iter().map(|value| value.ln()).collect();
        let freedom = (logs.len() - 1) as f64;
        Squares { squares: sample_variance(&logs) * freedom, freedom }
    }

    fn plus(&self, other: &Squares) -> Squares {
        let Squares { squares, freedom } = other;
        Squares { squares: self.squares + squares, freedom: self.freedom + freedom }
    }

    fn less(&self, other: &Squares) -> Squares {
        let squares = (self.squares - other.squares).max(0.0);
        Squares { squares, freedom: self.freedom - other.freedom }
    }

    /// Whether these scatter more than `rest`, beyond chance.
    fn is_more_than(&self, rest: &Squares) -> bool {
        let (Ok(usual), true) =
            (FisherSnedecor::new(self.freedom, rest.freedom), self.squares > 0.0)
        else {
            return false;
        };
        let ratio = (self.squares / self.freedom) / (rest.squares / rest.freedom);
        !ratio.is_finite() || usual.cdf(ratio) > 1.0 - CHANCE
    }
}

/// The first of `levels`, from place `from` on, after which none gives more, beyond doubt; `None`
/// where that is shown of none but the last.
///
/// Tested from the last but one downwards, until it is not shown: of claims in a fixed order, each
/// made only after the one before, none needs a correction (Maurer, Hothorn and Lehmacher,
/// "Multiple comparisons in drug clinical trials", 1995).
pub fn enough_from(levels: &[Level], from: usize) -> Option<usize> {
    let groups = Groups::of(levels.iter().map(|level| level.values.as_slice()).collect());
    let shown = |place: &usize| groups.chance(*place) <= CHANCE;
    (from..levels.len().saturating_sub(1)).rev().take_while(shown).last()
}

/// The fewest replicates with which two cells that are the same are told so four times in five,
/// where the groups' logarithms scatter as these do; `None` where nothing was repeated, where a
/// value is not positive, or where that takes more than `most`.
///
/// Source: Julious, "Sample sizes for clinical trials with normal data", Statistics in Medicine 23
/// (2004), for equivalence.
pub fn replicates_for_sameness<'a>(
    groups: impl IntoIterator<Item = &'a [f64]>,
    most: u32,
) -> Option<u32> {
    let all = groups.into_iter().map(|group| are_positive(group).then(|| Squares::of(group)));
    let all = all.collect::<Option<Vec<Squares>>>()?;
    let all = all.iter().fold(Squares::default(), |all, own| all.plus(own));
    let deviation = (all.squares / all.freedom).sqrt();
    let enough = |n: &u32| {
        let n = f64::from(*n);
        let freedom = 2.0 * (n - 1.0);
        let quantiles = t_quantile(0.975, freedom) + t_quantile(0.9, freedom);
        quantiles * deviation * (2.0 / n).sqrt() <= MARGIN.ln()
    };
    deviation.is_finite().then(|| (2..=most).find(enough)).flatten()
}

/// Whether sameness cannot be shown by so many replicates of each of two groups whose logarithms
/// scatter by `deviation`: not even where their means are alike to the last digit.
pub fn out_of_reach(deviation: f64, replicates: u32) -> bool {
    let n = f64::from(replicates);
    t_quantile(1.0 - CHANCE, 2.0 * (n - 1.0)) * deviation * (2.0 / n).sqrt() > MARGIN.ln()
}

/// The mean that a ratio on a logarithmic scale is a ratio of; `NaN` of nothing, and of what is not
/// positive.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ratio_of_means;
    use crate::stats::testing::{Random, null_limit, seeds};

    /// `n` replicates around `mean`, whose logarithms scatter by `spread`.
    fn group(random: &mut Random, mean: f64, spread: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| mean * (spread * random.normal()).exp()).collect()
    }

    fn likeness(top: &[f64], bottom: &[f64]) -> Likeness {
        ratio_of_means(top, bottom).map_or(Likeness::NotDecided, |ratio| likeness_of(&ratio))
    }

    /// Of all seeds, the share in which something is so.
    fn share(mut of: impl FnMut(&mut Random) -> bool) -> f64 {
        let count = seeds().filter(|seed| of(&mut Random::new(*seed))).count();
        count as f64 / seeds().count() as f64
    }

    /// "No difference is shown" was said of two runs of each that differed by a third: nothing is
    /// shown where nothing could have been.
    #[test]
    #[expect(clippy::print_stdout, reason = "how often is told with --nocapture")]
    fn sameness_is_said_of_the_same_and_hardly_ever_of_what_differs() {
        let wrong = share(|random| {
            let n = random.between(1.0, 6.0).ceil() as usize;
            let (spread, times) = (random.between(0.02, 0.2), random.between(1.1, 1.5));
            let slow = group(random, 100.0, spread, n.max(2));
            let fast = group(random, 100.0 * times, spread, n.max(2));
            likeness(&fast, &slow) == Likeness::Equal
        });
        let right = share(|random| {
            let pair = [(); 2].map(|()| group(random, 100.0, 0.02, 6));
            likeness(&pair[0], &pair[1]) == Likeness::Equal
        });
        println!("the same: wrong {wrong}, said {right}");
        assert!(wrong <= 0.05 && right >= 0.8, "wrong {wrong}, said {right}");
    }

    /// Where the truth is the margin itself the claim is as rare as it says, however few replicates
    /// there are and however differently they scatter.
    #[test]
    fn at_the_margin_the_claim_is_as_rare_as_it_says() {
        for (n, spreads) in [(2, [0.02, 0.02]), (3, [0.05, 0.01]), (6, [0.03, 0.03])] {
            let wrong = share(|random| {
                let slow = group(random, 100.0, spreads[0], n);
                let fast = group(random, 100.0 * MARGIN, spreads[1], n);
                likeness(&fast, &slow) == Likeness::Equal
            });
            assert!(wrong <= null_limit(), "n {n}, {spreads:?}: {wrong}");
            let by_chance = share(|random| {
                let pair = spreads.map(|spread| group(random, 100.0, spread, n));
                matches!(likeness(&pair[0], &pair[1]), Likeness::More | Likeness::Less)
            });
            assert!(by_chance <= null_limit(), "n {n}, {spreads:?}: {by_chance}");
        }
    }

    /// Seven levels of which one gives more than the first, and seven that give the same.
    #[test]
    #[expect(clippy::print_stdout, reason = "how often is told with --nocapture")]
    fn of_many_levels_all_must_be_shown_to_be_no_more() {
        let enough = |levels: &[Vec<f64>]| {
            let above = levels[1..].iter().map(Vec::as_slice);
            chance_of_more(&levels[0], above) <= CHANCE
        };
        let wrong = share(|random| {
            let n = random.between(1.0, 6.0).ceil().max(2.0) as usize;
            let (spread, times) = (random.between(0.02, 0.2), random.between(1.1, 1.5));
            let which = random.between(0.0, 6.0).ceil() as usize;
            let worth = |level: usize| if level >= which { 100.0 * times } else { 100.0 };
            let levels: Vec<Vec<f64>> =
                (0..7).map(|level| group(random, worth(level), spread, n)).collect();
            enough(&levels)
        });
        let right = share(|random| {
            let levels: Vec<Vec<f64>> = (0..7).map(|_| group(random, 100.0, 0.02, 6)).collect();
            enough(&levels)
        });
        println!("enough: wrong {wrong}, said {right}");
        assert!(wrong <= 0.05 && right >= 0.8, "wrong {wrong}, said {right}");
    }

    /// A level that scatters far more than the others is judged by itself where that shows: of
    /// three replicates it does not always, and at the margin itself 7 % are wrong.
    #[test]
    fn a_level_that_scatters_six_times_as_much_is_hardly_ever_called_no_more() {
        for n in [3, 6] {
            let wrong = share(|random| {
                let mut levels: Vec<Vec<f64>> =
                    (0..6).map(|_| group(random, 100.0, 0.02, n)).collect();
                levels.push(group(random, 100.0 * MARGIN, 0.12, n));
                let above = levels[1..].iter().map(Vec::as_slice);
                chance_of_more(&levels[0], above) <= CHANCE
            });
            assert!(wrong <= 0.10, "n {n}: {wrong}");
        }
    }

    #[test]
    fn from_which_level_on_there_is_no_more_is_searched_from_the_last() {
        let level = |at: f64, rate: f64| {
            let values = [0.99, 1.0, 1.01].map(|it| it * rate).to_vec();
            Level { at, values }
        };
        let levels = [10.0, 20.0, 39.0, 40.0, 41.0];
        let levels: Vec<Level> =
            levels.iter().zip(1..).map(|(rate, at)| level(f64::from(at), *rate)).collect();
        assert_eq!(enough_from(&levels, 0), Some(2));
        assert_eq!(enough_from(&levels, 3), Some(3));
        assert_eq!(enough_from(&levels[..3], 0), None);
        assert_eq!(enough_from(&levels[..1], 0), None);
        assert_eq!(enough_from(&[], 0), None);
    }

    /// One level of 0 made the scatter of all of them no number, and a level that gave half again
    /// as much was "surely no more", as the chance of that came out as 0.
    #[test]
    fn what_has_no_logarithm_makes_nothing_certain() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let (low, high) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0]);
            for broken in [[bad, 1.0, 1.0], [bad; 3]] {
                let level = |at: f64, values: &[f64]| Level { at, values: values.to_vec() };
                let levels = [level(1.0, &broken), level(2.0, &low), level(3.0, &high)];
                assert_eq!(enough_from(&levels, 1), None, "{bad}: the last gives more");
                assert_eq!(enough_from(&levels, 0), None, "{bad}");
                let same = [level(1.0, &broken), level(2.0, &low), level(3.0, &low)];
                assert_eq!(enough_from(&same, 0), Some(1), "{bad}: others are judged as ever");
                assert_eq!(chance_of_more(&low, [&broken[..], &low]), 1.0, "{bad}");
                assert_eq!(chance_of_more(&broken, [&low[..]]), 1.0, "{bad}");
                assert_eq!(replicates_for_sameness([&broken[..], &low], 200), None, "{bad}");
                assert_eq!(likeness(&broken, &low), Likeness::NotDecided, "{bad}");
            }
        }
        let ends = Estimate::within(f64::NAN, f64::NAN, f64::NAN);
        assert_eq!(likeness_of(&ends), Likeness::NotDecided);
    }

    #[test]
    fn one_run_of_each_decides_nothing() {
        assert_eq!(likeness(&[100.0], &[100.0]), Likeness::NotDecided);
        assert_eq!(likeness(&[100.0, 100.0], &[100.0]), Likeness::NotDecided);
        assert_eq!(likeness(&[], &[100.0]), Likeness::NotDecided);
        assert_eq!(likeness(&[100.0, 100.0], &[100.0, 100.0]), Likeness::Equal);
        assert_eq!(likeness(&[200.0, 201.0], &[100.0, 101.0]), Likeness::More);
        assert_eq!(likeness(&[100.0, 101.0], &[200.0, 201.0]), Likeness::Less);
        assert_eq!(likeness_of(&Estimate::bare(1.0)), Likeness::NotDecided);
        assert_eq!(likeness_of(&Estimate::within(1.02, 1.01, 1.03)), Likeness::Equal);
        assert_eq!(likeness_of(&Estimate::within(1.2, 1.05, 1.4)), Likeness::More);
        let once: [&[f64]; 1] = [&[100.0]];
        assert_eq!(chance_of_more(&[100.0], once), 1.0);
        assert_eq!(chance_of_more(&[100.0], std::iter::empty()), 0.0);
    }

    #[test]
    fn so_many_replicates_as_are_asked_for_show_it_four_times_in_five() {
        let spread = 0.06;
        let known = share_of_said(spread, 3);
        assert!(known < 0.5, "{known}");
        let pair: [&[f64]; 2] = [&[0.96, 1.04, 1.0, 0.93, 1.07], &[1.0, 0.95, 1.05, 1.08, 0.92]];
        let n = replicates_for_sameness(pair, 200).unwrap();
        assert!((6..=12).contains(&n), "{n}");
        assert!(share_of_said(spread, n as usize) > 0.7);
        assert_eq!(replicates_for_sameness([&[1.0][..]], 200), None);
        assert_eq!(replicates_for_sameness([&[1.0, 5.0][..]], 20), None);
    }

    fn share_of_said(spread: f64, n: usize) -> f64 {
        share(|random| {
            let pair = [(); 2].map(|()| group(random, 100.0, spread, n));
            likeness(&pair[0], &pair[1]) == Likeness::Equal
        })
    }

    #[test]
    fn what_scatters_by_a_third_is_out_of_reach_of_few_replicates() {
        assert!(out_of_reach(0.3, 3) && out_of_reach(0.06, 3) && out_of_reach(0.01, 1));
        assert!(!out_of_reach(0.05, 3) && !out_of_reach(0.06, 6));
    }

    #[test]
    fn a_geometric_mean_is_what_a_ratio_of_logarithms_is_of() {
        assert!((geometric_mean(&[1.0, 100.0]) - 10.0).abs() < 1e-9);
        assert!(geometric_mean(&[]).is_nan());
    }
}
