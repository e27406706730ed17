//! The largest of several means, without the luck of being picked.
//!
//! Whoever picks the highest of several means picks chance along with it: its own interval then
//! lies too high. Here the interval is one for the choice. Its lower end is the highest of lower
//! ends that hold for all rivals at once (Sidak), its upper end the highest of their own upper
//! ends, which needs no allowance: the truly largest is one of them. Rivals are those that do not
//! surely lie below the best. The value is drawn toward the mean of the rivals by the share of
//! their differences that chance makes (empirical Bayes, by moments).
//!
//! Spread is pooled where it is alike: relative variances, as noise of a server is in proportion to
//! its speed, unless Bartlett's test finds that they differ or the best scatters more than the
//! others ([`alike`](super::alike)).
//!
//! Sources: Sidak, "Rectangular confidence regions for the means of multivariate normal
//! distributions", Journal of the American Statistical Association 62 (1967); Dudewicz,
//! "Confidence intervals for ranked means", Naval Research Logistics Quarterly 17 (1970); Bartlett,
//! "Properties of sufficiency and statistical tests", Proceedings of the Royal Society A 160
//! (1937); Efron and Morris, "Data analysis using Stein's estimator and its generalizations",
//! Journal of the American Statistical Association 70 (1975).

use super::alike::{ALIKE, Spread, chance_alike};
use super::interval::{mean, sample_variance, t_quantile};
use super::{Estimate, Interval};

/// The largest of some means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Largest {
    /// Which sample has the highest mean, of those that were given.
    pub place: usize,
    /// What the largest mean is, with an interval that allows for the choice; none where the best
    /// was measured once.
    pub estimate: Estimate,
    /// How many samples may be the best, this one among them.
    pub rivals: usize,
}

/// A sample is no rival where it lies below the best by more than chance makes any of all, so sure.
const BELOW: f64 = 0.975;
/// One end of a 95 % interval.
const END: f64 = 0.975;

/// One sample of replicates.
#[derive(Clone, Copy, Debug)]
struct Sample {
    place: usize,
    n: f64,
    mean: f64,
    /// `None` of a single value.
    own: Option<Spread>,
}

/// The largest of the means of `samples`, each of independent replicates of something positive.
/// Those that are empty, or hold what is not finite or not positive on average, have no part.
/// `None` where that is all of them.
pub fn largest(samples: &[Vec<f64>]) -> Option<Largest> {
    let all = samples.iter().enumerate().filter_map(|(place, values)| Sample::of(place, values));
    let all: Vec<Sample> = all.collect();
    let best = *all.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
    if best.own.is_none() {
        let rivals = all.len();
        return Some(Largest { place: best.place, estimate: Estimate::bare(best.mean), rivals });
    }
    let among = all.len();
    let shared = pooled(&best, &all);
    let mut rivals: Vec<Sample> = Vec::new();
    rivals.extend(all.iter().filter(|it| rivals_best(&best, it, shared, &all, among)));
    // Where not all scatter alike, those that are near the best may.
    let shared = shared.or_else(|| pooled(&best, &rivals));
    rivals.retain(|it| rivals_best(&best, it, shared, &all, among));
    let spread = |of: &Sample| shared.or(of.own);
    let once = END.powf(1.0 / rivals.len() as f64);
    let end = |of: &Sample, chance: f64| {
        let spread = spread(of)?;
        Some(t_quantile(chance, spread.freedom) * of.error(&spread))
    };
    let ends =
        |it: &Sample, chance: f64| Estimate::on_a_log_scale(it.mean, end(it, chance)?).interval;
    let low = rivals.iter().filter_map(|it| Some(ends(it, once)?.low));
    let high = rivals.iter().filter_map(|it| Some(ends(it, END)?.high));
    let low = low.fold(f64::MIN, f64::max);
    let high = high.fold(best.mean, f64::max);
    let errors: Vec<f64> =
        rivals.iter().filter_map(|it| Some(it.error(&spread(it)?).powi(2))).collect();
    let value = drawn_in(&best, &rivals, mean(&errors)).clamp(low.min(high), high);
    let estimate = Estimate { value, interval: Some(Interval { low: low.min(value), high }) };
    Some(Largest { place: best.place, estimate, rivals: rivals.len() })
}

impl Sample {
    fn of(place: usize, values: &[f64]) -> Option<Sample> {
        let centre = mean(values);
        let good = values.iter().all(|value| value.is_finite()) && centre > 0.0;
        let own = Spread::from_samples(values);
        good.then_some(Sample { place, n: values.len() as f64, mean: centre, own })
    }

    /// The standard error of the mean.
    fn error(&self, spread: &Spread) -> f64 {
        self.mean * (spread.relative / self.n).sqrt()
    }
}

/// All their spreads in one, whether they are alike or not; `None` where nothing was repeated.
fn put_together(all: &[Sample]) -> Option<Spread> {
    Spread::together(all.iter().filter_map(|it| it.own))
}

/// The spread that all have in common; `None` where they surely do not, or only one was repeated.
fn pooled(best: &Sample, all: &[Sample]) -> Option<Spread> {
    let own: Vec<Spread> = all.iter().filter_map(|it| it.own).collect();
    if own.len() < 2 || chance_alike(&own) < ALIKE {
        return None;
    }
    let rest: Vec<Sample> = all.iter().filter(|it| it.place != best.place).copied().collect();
    let alike = best.own?.chance_of_more(put_together(&rest)?) >= ALIKE;
    alike.then(|| put_together(all)).flatten()
}

/// Whether `other` does not surely lie below `best`, one of `among`: Welch's test, or Student's
/// where their spread is `shared`. One that was run once scatters as `all` do together.
fn rivals_best(
    best: &Sample,
    other: &Sample,
    shared: Option<Spread>,
    all: &[Sample],
    among: usize,
) -> bool {
    if other.place == best.place {
        return true;
    }
    let spread = |of: &Sample| shared.or(of.own).or_else(|| put_together(all));
    let (Some(one), Some(two)) = (spread(best), spread(other)) else { return true };
    let (a, b) = (best.error(&one).powi(2), other.error(&two).powi(2));
    let freedom = match shared {
        Some(shared) => shared.freedom,
        None => (a + b).powi(2) / (a * a / one.freedom + b * b / two.freedom),
    };
    let distance = best.mean - other.mean;
    if a + b <= 0.0 {
        return distance <= 0.0;
    }
    let chance = BELOW.powf(1.0 / (among - 1) as f64);
    distance <= t_quantile(chance, freedom) * (a + b).sqrt()
}

/// The best mean, drawn toward the mean of all rivals by the share of their variance that is no
/// more than the `chance` of each (the square of its standard error).
fn drawn_in(best: &Sample, rivals: &[Sample], chance: f64) -> f64 {
    if rivals.len() < 2 {
        return best.mean;
    }
    let means: Vec<f64> = rivals.iter().map(|it| it.mean).collect();
    let (centre, between) = (mean(&means), sample_variance(&means));
    let real = if between > 0.0 { (1.0 - chance / between).max(0.0) } else { 0.0 };
    centre + real * (best.mean - centre)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean_interval;
    use crate::stats::testing::{Coverage, Random, seeds};

    /// Samples of `n` around each of `truths`, with a relative standard deviation each.
    fn drawn(seed: u64, truths: &[(f64, f64)], n: usize) -> Vec<Vec<f64>> {
        let mut random = Random::new(seed);
        let sample = |(truth, deviation): &(f64, f64)| {
            (0..n).map(|_| truth * (1.0 + deviation * random.normal())).collect()
        };
        truths.iter().map(sample).collect()
    }

    /// How often it covers the largest truth, and so does Student's interval of the highest mean;
    /// how far both values are from it on average, as a share; and how many times as wide it is.
    fn judged(truths: &[(f64, f64)], n: usize) -> (Coverage, Coverage, [f64; 2], f64) {
        let most = truths.iter().map(|it| it.0).fold(0.0, f64::max);
        let (mut fair, mut naive) = (Coverage::default(), Coverage::default());
        let (mut off, mut widths) = ([0.0; 2], [0.0; 2]);
        for seed in seeds() {
            let samples = drawn(seed, truths, n);
            let found = largest(&samples).unwrap();
            let own = mean_interval(&samples[found.place]).unwrap();
            fair.add(found.estimate.interval, most);
            naive.add(own.interval, most);
            for (place, of) in [found.estimate, own].iter().enumerate() {
                let ends = of.interval.unwrap();
                assert!(ends.covers(of.value), "seed {seed}: {found:?}");
                off[place] += of.value / most - 1.0;
                widths[place] += ends.high - ends.low;
            }
        }
        let seeds = seeds().count() as f64;
        (fair, naive, off.map(|sum| sum / seeds), widths[0] / widths[1])
    }

    /// The highest of eight equal cells was announced with its own interval, and that lay wholly
    /// above the truth in 24 of 200 campaigns.
    #[test]
    fn the_highest_of_equal_means_is_not_announced_too_high() {
        for (cells, n) in [(2, 3), (4, 3), (8, 2), (8, 3), (8, 5), (8, 10), (30, 3)] {
            let (fair, naive, off, wider) = judged(&vec![(1000.0, 0.03); cells], n);
            let what = format!("{cells} equal cells, n {n}, {wider:.2} times as wide");
            fair.check_least(&what);
            assert!(cells < 8 || fair.share() >= 0.93, "{what}: {fair:?}");
            assert!(off[0].abs() < 0.5 * off[1], "{what}: off by {off:?}");
            assert!(n > 3 || wider < 1.0, "{what}: pooled spread is worth more");
            let missed = |of: &Coverage| of.given - of.covered;
            assert!(cells < 8 || n < 5 || missed(&fair) * 2 < missed(&naive), "{what}: {naive:?}");
        }
    }

    #[test]
    fn where_one_is_clearly_the_best_its_interval_is_its_own_or_narrower() {
        for n in [3, 5] {
            let mut truths = vec![(700.0, 0.02); 7];
            truths.push((1000.0, 0.02));
            let (fair, _, off, wider) = judged(&truths, n);
            fair.check(&format!("one best, n {n}, {wider:.2} times as wide"));
            assert!(wider < 1.1 && off[0].abs() < 0.005, "n {n}: {wider} times, {off:?}");
            // One that scatters otherwise than the rest has nothing from them.
            let mut unlike = vec![(500.0, 0.002); 3];
            unlike.push((1000.0, 0.06));
            let (fair, _, _, wider) = judged(&unlike, n);
            fair.check(&format!("one best, unlike, n {n}, {wider:.2} times as wide"));
        }
    }

    #[test]
    fn the_largest_of_a_ladder_and_of_unlike_cells_is_covered() {
        let ladder: Vec<(f64, f64)> =
            [1000.0, 990.0, 970.0, 940.0, 800.0, 500.0].map(|truth| (truth, 0.03)).to_vec();
        let unlike: Vec<(f64, f64)> =
            [0.01, 0.01, 0.02, 0.02, 0.04, 0.08].map(|deviation| (1000.0, deviation)).to_vec();
        let twice: Vec<(f64, f64)> =
            [0.02, 0.02, 0.02, 0.04].map(|deviation| (1000.0, deviation)).to_vec();
        for n in [3, 5, 10] {
            judged(&ladder, n).0.check_least(&format!("ladder, n {n}"));
            judged(&unlike, n).0.check_least(&format!("unlike, n {n}"));
            judged(&twice, n).0.check_least(&format!("one twice as restless, n {n}"));
        }
    }

    #[test]
    fn what_was_run_once_or_does_not_scatter_is_no_panic() {
        assert_eq!(largest(&[]), None);
        assert_eq!(largest(&[vec![], vec![f64::NAN], vec![0.0]]), None);
        let once = largest(&[vec![1.0], vec![3.0], vec![2.0, 2.1]]).unwrap();
        assert_eq!((once.place, once.estimate), (1, Estimate::bare(3.0)));
        let same = largest(&[vec![2.0; 3], vec![2.0; 3], vec![1.0; 3]]).unwrap();
        assert_eq!((same.rivals, same.estimate), (2, Estimate::within(2.0, 2.0, 2.0)));
        let alone = largest(&[vec![9.0, 10.0, 11.0]]).unwrap();
        let own = mean_interval(&[9.0, 10.0, 11.0]).unwrap().interval.unwrap();
        let ends = alone.estimate.interval.unwrap();
        assert!((ends.low - own.low).abs() < 1e-9 && (ends.high - own.high).abs() < 1e-9);
        // One that was run once may be as good as one that was repeated.
        let mixed = largest(&[vec![10.0, 10.4, 10.8], vec![10.3]]).unwrap();
        assert_eq!((mixed.place, mixed.rivals), (0, 2));
        assert!(mixed.estimate.interval.is_some());
    }
}
