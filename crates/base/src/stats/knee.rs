//! Where a curve of throughput against streams, or of IOPS against queue depth, stops growing.
//!
//! Two answers, as there is no agreement on what a knee is. One needs no model: the first level
//! that reaches 95 % of the peak. The other is where the line through the origin meets the plateau,
//! `y = min(a N, C)` at `N = C / a`; it is given only when that curve describes the data. "Not
//! within what was measured" is an answer of both.
//!
//! That a curve no longer grows is a claim of sameness, which needs proof (`equivalence`): without
//! it, where it stops is not decided.

use super::equivalence::{CHANCE, chance_of_more, enough_from};
use super::interval::{mean, sample_variance, t_quantile};
use super::profile::{self, Level};
use super::{Estimate, Interval, ratio_of_means};

/// A level has reached the peak when it gives this share of it.
pub const REACHED: f64 = 0.95;

/// A loss beyond the peak smaller than this share is not worth telling.
pub const LOSS_MIN: f64 = 0.05;

/// What a scaling curve shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The level with the highest mean.
    pub peak_at: f64,
    /// The mean there, with Student's interval.
    pub peak: Estimate,
    /// The first level whose mean reaches 95 % of the peak.
    pub reached_at: f64,
    /// Where it stops growing.
    pub knee: Knee,
    /// The first level from there on after which none gives more, beyond doubt; `None` where that
    /// is shown of none, or only the last reaches the peak.
    pub enough_at: Option<f64>,
    /// The loss beyond the peak, when the curve falls there beyond doubt.
    pub loss: Option<PeakDecline>,
}

/// Where a curve stops growing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// Here, by `min(a N, C)`, with the 95 % interval if levels were repeated.
    At(Estimate),
    /// Above the one level and at or below the other; no curve describes it more exactly.
    Between(f64, f64),
    /// It had stopped growing at the first level: none gives more, beyond doubt.
    BeforeFirst,
    /// It may have: whether any level gives more than the first is not decided.
    Undecided,
    /// It may still grow at the last level.
    BeyondLast,
}

/// What is lost beyond the peak: what the last level gives of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakDecline {
    /// The last level.
    pub at: f64,
    /// What it gives, as a share of the peak, with its 95 % interval.
    pub left: Estimate,
}

/// What the curve through `levels` shows; they are sorted here. `None` with fewer than three
/// levels, or when a value is not positive.
pub fn scaling(levels: &[Level]) -> Option<Scaling> {
    let mut levels = levels.to_vec();
    levels.sort_by(|a, b| a.at.total_cmp(&b.at));
    let (first, last) = (levels.first()?.at, levels.last()?.at);
    let fit = profile::fit(&levels, first, last, |knee, at| at.min(knee))?;
    let top = levels.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()))?;
    let enough = REACHED * top.mean();
    let place = levels.iter().position(|level| level.mean() >= enough)?;
    let reached_at = levels[place].at;
    let enough = enough_from(&levels, place);
    let loss = loss(&levels, place, top);
    let knee = if place + 1 == levels.len() {
        // Only the last level reaches 95 % of the peak, which is its own.
        Knee::BeyondLast
    } else if loss.is_none() && levels.len() > 3 && fit.adequate {
        by_fit(&fit, first, last)
    } else {
        // What falls beyond its peak does not go on growing.
        bracket(&levels, place, top, loss.map(|_| place).or(enough))
    };
    let knee = match knee {
        Knee::BeforeFirst if !enough_already(&levels) => Knee::Undecided,
        knee => knee,
    };
    let peak = super::mean_interval(&top.values)?;
    let enough_at = enough.map(|place| levels[place].at);
    Some(Scaling { peak_at: top.at, peak, reached_at, knee, enough_at, loss })
}

/// Whether no level gives more than the first, beyond doubt.
fn enough_already(levels: &[Level]) -> bool {
    let above = levels[1..].iter().map(|level| level.values.as_slice());
    chance_of_more(&levels[0].values, above) <= CHANCE
}

fn by_fit(fit: &profile::ShapeFit, first: f64, last: f64) -> Knee {
    match (fit.low, fit.high) {
        (Some(low), Some(high)) => Knee::At(Estimate::within(fit.shape, low, high)),
        (_, Some(_)) => Knee::BeforeFirst,
        (Some(_), None) => Knee::BeyondLast,
        // Nothing was repeated: a value without an interval, unless it lies at an end.
        (None, None) if fit.shape <= first * 1.01 => Knee::BeforeFirst,
        (None, None) if fit.shape >= last * 0.99 => Knee::BeyondLast,
        (None, None) => Knee::At(Estimate::bare(fit.shape)),
    }
}

/// Between the last level that surely has not reached the peak and the first that surely has and
/// after which none gives more (from place `enough` on), as far as replicates can tell; where there
/// are none, by the means.
///
/// The highest of several like levels is high by chance, and each of the others is compared with
/// it. So the scatter is pooled over all levels, and Student's bound is that of so many comparisons
/// (Bonferroni), which is on the safe side of Hsu's comparisons with the best.
///
/// Source: Hsu, "Multiple Comparisons: Theory and Methods" (1996), chapter 4.
fn bracket(levels: &[Level], place: usize, top: &Level, enough: Option<usize>) -> Knee {
    let repeated = levels.iter().filter(|level| level.values.len() > 1);
    let freedom: usize = repeated.clone().map(|level| level.values.len() - 1).sum();
    let variance = repeated.map(within).sum::<f64>() / freedom.max(1) as f64;
    let bound = match freedom {
        0 => 0.0,
        _ => t_quantile(1.0 - 0.025 / (levels.len() - 1) as f64, freedom as f64),
    };
    let share = |level: &Level| {
        let each = 1.0 / level.values.len() as f64 + 1.0 / top.values.len() as f64;
        let half = bound * (variance * each).sqrt();
        let log = mean_log(level) - mean_log(top);
        Interval { low: (log - half).exp(), high: (log + half).exp() }
    };
    let surely_reached = |level: &&Level| level.at == top.at || share(level).low >= REACHED;
    let below = levels[..place].iter().rev().find(|level| share(level).high < REACHED);
    let from = if freedom == 0 { Some(place) } else { enough };
    let reached = from.and_then(|from| levels[from..].iter().find(surely_reached));
    match (below, reached) {
        (None, None) => Knee::BeforeFirst,
        (Some(_), None) => Knee::BeyondLast,
        (_, Some(reached)) if Some(reached.at) == levels.last().map(|level| level.at) => {
            Knee::BeyondLast
        }
        (None, Some(_)) => Knee::BeforeFirst,
        (Some(below), Some(reached)) => Knee::Between(below.at, reached.at),
    }
}

fn mean_log(level: &Level) -> f64 {
    let logs: Vec<f64> = level.values.iter().map(|value| value.ln()).collect();
    mean(&logs)
}

/// The loss from level `place`, where the peak is reached, to the last: only when the line through
/// the logarithms against the logarithm of the level falls (Student's one-sided test at 2.5 %), as
/// the highest of several like levels is always above the last by chance.
fn loss(levels: &[Level], place: usize, top: &Level) -> Option<PeakDecline> {
    let flat = &levels[place..];
    let last = flat.last().filter(|_| flat.len() >= 2)?;
    let points: Vec<(f64, f64)> = flat
        .iter()
        .flat_map(|level| level.values.iter().map(|value| (level.at.ln(), value.ln())))
        .collect();
    let pure: f64 = flat.iter().filter(|level| level.values.len() > 1).map(within).sum();
    let freedom = (points.len() - flat.len()) as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (middle, centre) = (mean(&x), mean(&y));
    let xx: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
    let xy: f64 = points.iter().map(|(x, y)| (x - middle) * (y - centre)).sum();
    let slope = xy / xx;
    let error = (pure / freedom / xx).sqrt();
    let falls = freedom >= 1.0 && slope + t_quantile(0.975, freedom) * error < 0.0;
    let left = ratio_of_means(&last.values, &top.values)?;
    // The line pools the spread of all levels, the ratio has that of two: "25 % less (95 % interval
    // -2.4 % to 45 %)" contradicts itself.
    let sure = left.interval.is_none_or(|ends| ends.high < 1.0);
    let told = falls && sure && last.at != top.at && left.value < 1.0 - LOSS_MIN;
    told.then_some(PeakDecline { at: last.at, left })
}

/// Squares of the logarithms of a level's replicates around their mean.
fn within(level: &Level) -> f64 {
    let logs: Vec<f64> = level.values.iter().map(|value| value.ln()).collect();
    sample_variance(&logs) * (logs.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    const STREAMS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 100.0];

    /// Three replicates at each level, with relative noise.
    fn levels(
        at: &[f64],
        noise: f64,
        random: &mut Random,
        curve: impl Fn(f64) -> f64,
    ) -> Vec<Level> {
        let level = |&at: &f64| {
            let values = (0..3).map(|_| curve(at) * (1.0 + noise * random.normal())).collect();
            Level { at, values }
        };
        at.iter().map(level).collect()
    }

    #[test]
    fn the_interval_covers_the_planted_knee_95_times_in_100() {
        for noise in [0.002, 0.02, 0.05] {
            let (mut coverage, mut silent) = (Coverage::default(), 0);
            for seed in seeds() {
                let mut random = Random::new(seed);
                let planted = random.between(2.0, 30.0);
                let data = levels(&STREAMS, noise, &mut random, |n| 100.0 * n.min(planted));
                match scaling(&data).unwrap().knee {
                    Knee::At(at) => coverage.add(at.interval, planted),
                    Knee::Between(low, high) => {
                        silent += 1;
                        assert!(
                            low < planted && planted * REACHED < high,
                            "{low} {planted} {high}"
                        );
                    }
                    // "The data do not bound it" is no wrong answer, but must be rare.
                    Knee::BeyondLast => silent += 1,
                    Knee::BeforeFirst | Knee::Undecided => {
                        panic!("seed {seed}: no knee, planted {planted}")
                    }
                }
            }
            assert!(f64::from(silent) < 0.1 * seeds().end as f64, "noise {noise}: {silent}");
            coverage.check(&format!("noise {noise}"));
        }
    }

    /// With three replicates that scatter by 5 % nobody can know that eight levels give the same
    /// to 10 %: then nothing is decided, and still no knee is claimed.
    #[test]
    fn no_knee_is_found_where_none_was_planted() {
        for noise in [0.002, 0.02, 0.05] {
            let (mut claims, undecided) = ([0; 3], noise > 0.02);
            for seed in seeds() {
                let mut random = Random::new(seed);
                let grows = scaling(&levels(&STREAMS, noise, &mut random, |n| n)).unwrap();
                claims[0] += u32::from(grows.knee != Knee::BeyondLast);
                let flat = scaling(&levels(&STREAMS, noise, &mut random, |_| 100.0)).unwrap();
                let open = undecided && flat.knee == Knee::Undecided;
                claims[1] += u32::from(flat.knee != Knee::BeforeFirst && !open);
                claims[2] += u32::from(flat.loss.is_some());
            }
            let limit = null_limit() * seeds().end as f64;
            assert!(claims.iter().all(|&claims| f64::from(claims) <= limit), "{noise}: {claims:?}");
        }
    }

    /// One stream got 1253 and 32 got 1878 MB/s, where replicates lay 30 % apart: that one "gives
    /// all it has already" was the answer, as no difference was beyond chance.
    #[test]
    fn what_may_be_more_is_not_called_all_it_has() {
        let (mut wrong, mut said, mut quiet) = (0, 0, 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let spread = random.between(0.02, 0.3);
            let streams = &STREAMS[..6];
            let curve = |n: f64| if n < 32.0 { 1253.0 } else { 1878.0 };
            let found = scaling(&levels(streams, spread, &mut random, curve));
            wrong += u32::from(found.is_some_and(|it| it.knee == Knee::BeforeFirst));
            let times = random.between(1.1, 1.5);
            let curve = |n: f64| if n < 4.0 { 100.0 } else { 100.0 * times };
            let found = scaling(&levels(streams, spread, &mut random, curve));
            quiet += u32::from(found.is_some_and(|it| it.knee == Knee::BeforeFirst));
            let flat: Vec<Level> = streams
                .iter()
                .map(|&at| {
                    let values = (0..6).map(|_| 100.0 * (0.02 * random.normal()).exp());
                    Level { at, values: values.collect() }
                })
                .collect();
            said += u32::from(scaling(&flat).unwrap().knee == Knee::BeforeFirst);
        }
        let share = |count: u32| f64::from(count) / seeds().count() as f64;
        assert!(share(wrong) <= 0.01 && share(quiet) <= 0.05, "{wrong}, {quiet} wrong");
        assert!(share(said) >= 0.8, "{said} said");
    }

    #[test]
    fn a_collapse_is_found_with_its_size_and_the_knee_is_bracketed() {
        let (mut found, mut coverage, mut wrong) = (0, Coverage::default(), 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let planted = random.between(2.0, 10.0);
            let curve = |n: f64| n.min(planted) * (1.0 - 0.005 * (n - planted).max(0.0));
            let scaling = scaling(&levels(&STREAMS, 0.02, &mut random, curve)).unwrap();
            if let Some(loss) = scaling.loss {
                found += 1;
                coverage.add(loss.left.interval, curve(100.0) / curve(scaling.peak_at));
            }
            match scaling.knee {
                Knee::Between(low, high) => {
                    wrong += u32::from(planted < low || planted * REACHED > high);
                }
                Knee::At(_) | Knee::BeforeFirst | Knee::Undecided | Knee::BeyondLast => wrong += 1,
            }
        }
        let limit = null_limit() * seeds().end as f64;
        assert!(f64::from(found) > 0.99 * seeds().end as f64, "{found}");
        assert!(f64::from(wrong) <= limit, "{wrong}");
        coverage.check("share left after the collapse");
    }

    #[test]
    fn a_smooth_curve_is_bracketed_rather_than_given_a_sharp_knee() {
        let mut wrong = 0;
        for seed in seeds() {
            let mut random = Random::new(seed);
            // Half the peak at 8, but no corner there nor anywhere.
            let curve = |n: f64| 100.0 * n / (1.0 + n / 8.0);
            let scaling = scaling(&levels(&STREAMS, 0.005, &mut random, curve)).unwrap();
            wrong += u32::from(matches!(scaling.knee, Knee::At(_)));
        }
        assert_eq!(wrong, 0);
    }

    #[test]
    fn too_little_is_no_answer_and_one_replicate_gives_no_interval() {
        let level = |at: f64, value: f64| Level { at, values: vec![value] };
        assert_eq!(scaling(&[level(1.0, 5.0), level(2.0, 10.0)]), None);
        assert_eq!(scaling(&[level(1.0, 0.0), level(2.0, 1.0), level(4.0, 1.0)]), None);
        let once: Vec<Level> = STREAMS.iter().map(|&n| level(n, n.min(6.0))).collect();
        let found = scaling(&once).unwrap();
        let Knee::At(knee) = found.knee else { panic!("{found:?}") };
        assert!((knee.value - 6.0).abs() < 0.01);
        assert_eq!(knee.interval, None);
        assert_eq!(found.reached_at, 8.0);
    }
}
