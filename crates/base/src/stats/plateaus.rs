//! Plateaus of a curve, and the steps between them.
//!
//! A plateau is two neighbouring levels or more that do not differ beyond their scatter. Where the
//! plateaus lie is found by optimal partitioning of the mean logarithms: each further piece has to
//! gain as much as the largest of all possible steps gains by chance (a penalty that is the F
//! quantile, Bonferroni over the places of a step). A piece of a single level is no plateau.
//!
//! What declines smoothly falls into pieces as well. So a step between two plateaus is told only
//! where a straight line through both, of the slope that they have within, does not make it up
//! (analysis of covariance). Where in between it lies is left to [`super::edge`].
//!
//! Sources: Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE
//! Signal Processing Letters 12 (2005); Worsley, "Testing for a two-phase multiple regression",
//! Technometrics 25 (1983), for Bonferroni's bound; Cochran, "Analysis of covariance", Biometrics
//! 13 (1957).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::edge::{self, Between, Place};
use super::interval::t_quantile;
use super::profile::{Level, Logs};
use super::{Estimate, mean_interval, ratio_of_means};

/// Levels of one plateau may differ by so much (deviation of the logarithms) though nothing
/// scatters: no two sizes are quite alike to a machine.
const WOBBLE: f64 = 0.02;

/// A step of less is not worth telling.
const STEP_MIN: f64 = 0.10;

/// A fall that ends in no plateau has to be as large as this from one level to the next: any
/// decline falls somewhere.
const OPEN_MIN: f64 = 0.333;

/// A curve of more levels is left alone: the best partition takes the square of their number.
const LEVELS_MAX: usize = 1000;

/// In how many of a hundred curves without a step one is told.
const CHANCE: f64 = 0.05;

/// Places on the grid over which the bend of a smooth curve is searched.
const BENDS: usize = 60;

/// How far beyond the levels it is searched, as a logarithm.
const BENDS_BEYOND: f64 = 4.0;

/// Neighbours on either side by which the scatter of a level is judged, too.
const NEIGHBOURS: usize = 2;

/// A curve's plateaus and the steps between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plateaus {
    /// In ascending order.
    pub plateaus: Vec<Plateau>,
    /// In ascending order; each begins at a plateau, and no two at the same.
    pub steps: Vec<Step>,
}

/// Neighbouring levels that do not differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    /// Place of its first level.
    pub first: usize,
    /// Place of its last level.
    pub last: usize,
    /// The mean over all its values, with Student's interval.
    pub mean: Estimate,
}

/// A step from one plateau to the next, or down to what is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Place of the plateau before it.
    pub from: usize,
    /// Place of the plateau after it; `None` where there is no further one.
    pub to: Option<usize>,
    /// What is left of the plateau before: the plateau after it as a share, or the last level.
    pub left: Estimate,
    /// Where it is.
    pub place: Place,
}

/// The plateaus of the curve through `levels`, which are in ascending order. `None` with fewer than
/// four levels (two plateaus are no less), with more than a thousand or none that was repeated, or
/// when a value is not positive.
pub fn plateaus(levels: &[Level]) -> Option<Plateaus> {
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    let good = |level: &Level| {
        positive(&level.at) && !level.values.is_empty() && level.values.iter().all(positive)
    };
    if !(4..=LEVELS_MAX).contains(&levels.len()) || !levels.iter().all(good) {
        return None;
    }
    let curve = LogMeanCurve::of(levels)?;
    let pieces: Vec<(usize, usize)> = curve.pieces();
    let flat: Vec<(usize, usize)> = pieces.into_iter().filter(|(a, b)| b - a >= 2).collect();
    let mut found = Plateaus::default();
    // Places among `found.plateaus` of the pieces that were told.
    let mut told: Vec<Option<usize>> = vec![None; flat.len()];
    for (i, &piece) in flat.iter().enumerate() {
        let after = flat.get(i + 1).copied();
        // What comes before the plateau after the next one may be the rest of a smooth decline.
        let end = flat.get(i + if after.is_some() { 2 } else { 1 }).map_or(levels.len(), |it| it.0);
        let is_step = match after {
            Some(next) => curve.steps(piece, next, STEP_MIN),
            None => curve.falls_open(piece),
        };
        if !is_step || curve.is_smooth(piece, after, end) {
            continue;
        }
        let beyond = after.unwrap_or((levels.len() - 1, levels.len()));
        let between = Between {
            before: piece.1 - 1 - piece.0,
            next: after.map_or(piece.1, |it| it.0) - piece.0,
        };
        let place = edge::place(&levels[piece.0..beyond.1], &between);
        if after.is_none() && matches!(place, Place::Somewhere(_)) {
            continue;
        }
        let from = tell(&mut found, &mut told, &flat, i, levels)?;
        let to = match after {
            Some(_) => Some(tell(&mut found, &mut told, &flat, i + 1, levels)?),
            None => None,
        };
        let left = ratio_of_means(&values(levels, beyond), &values(levels, piece))?;
        found.steps.push(Step { from, to, left, place });
    }
    // One that is flat altogether is a plateau; pieces of a smooth decline are none.
    if found.steps.is_empty() && flat == [(0, levels.len())] {
        tell(&mut found, &mut told, &flat, 0, levels)?;
    }
    Some(found)
}

/// Puts piece `i` among the plateaus, unless it is there; its place.
fn tell(
    found: &mut Plateaus,
    told: &mut [Option<usize>],
    flat: &[(usize, usize)],
    i: usize,
    levels: &[Level],
) -> Option<usize> {
    if told[i].is_none() {
        let (first, end) = flat[i];
        let mean = mean_interval(&values(levels, flat[i]))?.not_negative();
        told[i] = Some(found.plateaus.len());
        found.plateaus.push(Plateau { first, last: end - 1, mean });
    }
    told[i]
}

/// All values of some levels.
fn values(levels: &[Level], (from, to): (usize, usize)) -> Vec<f64> {
    levels[from..to].iter().flat_map(|level| level.values.iter().copied()).collect()
}

/// Mean logarithms of the levels' values with their variances, and sums up to each level.
struct LogMeanCurve {
    /// Logarithms of the levels.
    x: Vec<f64>,
    /// Mean logarithm of each level.
    y: Vec<f64>,
    /// Variance of each mean.
    variance: Vec<f64>,
    /// Degrees of freedom of the scatter.
    freedom: f64,
    /// Sums up to each level: of weights, of weighted means, of weighted squares.
    sums: Vec<[f64; 3]>,
}

impl LogMeanCurve {
    fn of(levels: &[Level]) -> Option<LogMeanCurve> {
        let data = Logs::from_levels(levels);
        let freedom = data.pure_freedom;
        if freedom < 1.0 {
            return None;
        }
        let each: Vec<(f64, f64)> = levels.iter().map(scatter).collect();
        let pooled = data.pure / freedom;
        let around = |i: usize| {
            let near = &each[i.saturating_sub(NEIGHBOURS)..(i + NEIGHBOURS + 1).min(each.len())];
            let sum = near.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            if sum.1 < 1.0 { 0.0 } else { sum.0 / sum.1 }
        };
        // A device may scatter more than memory: pooled over both it would seem to scatter less.
        let variance = |(i, level): (usize, &Level)| {
            pooled.max(around(i)) / level.values.len() as f64 + WOBBLE * WOBBLE
        };
        let y: Vec<f64> = levels.iter().map(mean_log).collect();
        let variance: Vec<f64> = levels.iter().enumerate().map(variance).collect();
        // Logarithms from the first on: sums of squares of large numbers would lose digits.
        let mut sums = vec![[0.0; 3]];
        for (mean, variance) in y.iter().zip(&variance) {
            let (weight, mean) = (1.0 / variance, mean - y[0]);
            let last = sums[sums.len() - 1];
            sums.push([last[0] + weight, last[1] + weight * mean, last[2] + weight * mean * mean]);
        }
        let x = levels.iter().map(|level| level.at.ln()).collect();
        Some(LogMeanCurve { x, y, variance, freedom, sums })
    }

    /// Weighted squares of levels `from` to before `to` around their mean.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let of = |i: usize| self.sums[to][i] - self.sums[from][i];
        (of(2) - of(1) * of(1) / of(0)).max(0.0)
    }

    /// The pieces of the best partition, each from a level to before another.
    fn pieces(&self) -> Vec<(usize, usize)> {
        let count = self.y.len();
        let penalty = FisherSnedecor::new(1.0, self.freedom)
            .map_or(f64::INFINITY, |usual| usual.inverse_cdf(1.0 - CHANCE / (count - 1) as f64));
        // The least cost of all levels up to each, and where its last piece begins.
        let mut least = vec![(0.0, 0)];
        for to in 1..=count {
            let with = |from: usize| {
                let (before, _): (f64, usize) = least[from];
                let another = if from == 0 { 0.0 } else { penalty };
                (before + another + self.cost(from, to), from)
            };
            let best = (0..to).map(with).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
            least.push(best);
        }
        let mut pieces = Vec::new();
        let mut to = count;
        while to > 0 {
            pieces.push((least[to].1, to));
            to = least[to].1;
        }
        pieces.reverse();
        pieces
    }

    /// Whether the step from one piece to another is more than `share` and than what a straight
    /// line of the slope that they have within makes up.
    fn steps(&self, one: (usize, usize), other: (usize, usize), share: f64) -> bool {
        let ((before, near), (after, far)) = (self.centre(one), self.centre(other));
        let (mut xx, mut xy, mut noise) = (0.0, 0.0, 0.0_f64);
        for ((from, to), (x, y)) in [(one, (before, near)), (other, (after, far))] {
            for i in from..to {
                xx += (self.x[i] - x).powi(2);
                xy += (self.x[i] - x) * (self.y[i] - y);
                noise = noise.max(self.variance[i]);
            }
        }
        if xx <= 0.0 {
            return false;
        }
        let gap = after - before;
        let step = far - near - xy / xx * gap;
        let counts = [one, other].map(|(from, to)| 1.0 / (to - from) as f64);
        let error = (noise * (counts[0] + counts[1] + gap * gap / xx)).sqrt();
        let tail = CHANCE / 2.0 / (self.y.len() - 1) as f64;
        let enough = (step.abs() / error) > t_quantile(1.0 - tail, self.freedom);
        enough && step.abs().min((far - near).abs()) >= -(1.0 - share).ln()
    }

    /// Whether it falls steeply from the last plateau to what is none.
    fn falls_open(&self, last: (usize, usize)) -> bool {
        let next = (last.1, last.1 + 1);
        // One level beyond could be anything.
        last.1 + 1 < self.y.len()
            && self.y[last.1] < self.y[last.1 - 1]
            && self.steps(last, next, OPEN_MIN)
    }

    /// Whether a smooth curve describes what begins with plateau `one` and ends before level `end`
    /// as well as it and the plateau `other` do, with every level that is in neither for itself.
    fn is_smooth(&self, one: (usize, usize), other: Option<(usize, usize)>, end: usize) -> bool {
        let in_other = other.map_or((0, 0.0), |(from, to)| (to - from, self.cost(from, to)));
        let own = end - one.0 - (one.1 - one.0) - in_other.0;
        let gained = self.smooth(one.0, end) - self.cost(one.0, one.1) - in_other.1;
        let parameters = (own + 1) as f64;
        let tail = CHANCE / (self.y.len() - 1) as f64;
        let usual = FisherSnedecor::new(parameters, self.freedom);
        usual.is_ok_and(|usual| gained / parameters <= usual.inverse_cdf(1.0 - tail))
    }

    /// The weighted squares that the best smooth curve leaves of some levels: straight lines that
    /// bend once, gently, on either side: `a + b ln(1 + x / c)` and `a + b ln(1 + c / x)`.
    fn smooth(&self, from: usize, to: usize) -> f64 {
        let (low, high) = (self.x[from] - BENDS_BEYOND, self.x[to - 1] + BENDS_BEYOND);
        let bends = (0..=BENDS).map(|i| low + (high - low) * i as f64 / BENDS as f64);
        let left = bends.flat_map(|bend| {
            [1.0, -1.0].map(|side| self.line(from, to, |x| (side * (x - bend)).exp().ln_1p()))
        });
        left.fold(f64::INFINITY, f64::min)
    }

    /// The weighted squares that the best multiple of a curve leaves of some levels.
    fn line(&self, from: usize, to: usize, curve: impl Fn(f64) -> f64) -> f64 {
        let points: Vec<[f64; 3]> = (from..to)
            .map(|i| [1.0 / self.variance[i], curve(self.x[i]), self.y[i] - self.y[from]])
            .collect();
        let total: f64 = points.iter().map(|[weight, ..]| weight).sum();
        let mean = |of: usize| points.iter().map(|it| it[0] * it[of]).sum::<f64>() / total;
        let (x, y) = (mean(1), mean(2));
        let sum =
            |of: &dyn Fn(&[f64; 3]) -> f64| points.iter().map(|it| it[0] * of(it)).sum::<f64>();
        let (xx, yy) = (sum(&|it| (it[1] - x).powi(2)), sum(&|it| (it[2] - y).powi(2)));
        let xy = sum(&|it| (it[1] - x) * (it[2] - y));
        if xx > 0.0 { (yy - xy * xy / xx).max(0.0) } else { yy }
    }

    /// The middle of a piece.
    fn centre(&self, (from, to): (usize, usize)) -> (f64, f64) {
        let mean = |of: &[f64]| super::mean(&of[from..to]);
        (mean(&self.x), mean(&self.y))
    }
}

/// Squares of a level's logarithms around their mean, and their degrees of freedom.
fn scatter(level: &Level) -> (f64, f64) {
    let centre = mean_log(level);
    let squares = level.values.iter().map(|value| (value.ln() - centre).powi(2)).sum();
    (squares, (level.values.len() - 1) as f64)
}

fn mean_log(level: &Level) -> f64 {
    let logs: Vec<f64> = level.values.iter().map(|value| value.ln()).collect();
    super::mean(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// Sizes from 1 on by twos, three values each.
    fn levels(
        count: i32,
        noise: f64,
        random: &mut Random,
        curve: impl Fn(f64) -> f64,
    ) -> Vec<Level> {
        let level = |power: i32| {
            let at = 2.0_f64.powi(power);
            let values = (0..3).map(|_| curve(at) * (1.0 + noise * random.normal())).collect();
            Level { at, values }
        };
        (0..count).map(level).collect()
    }

    #[test]
    fn nothing_is_told_where_there_is_no_step() {
        for noise in [0.003, 0.02, 0.06] {
            let mut claims = [0; 4];
            for seed in seeds() {
                let mut random = Random::new(seed);
                let slope = random.between(0.03, 0.6);
                let turn = random.between(1.0, 4096.0);
                let curves: [&dyn Fn(f64) -> f64; 4] = [
                    &|_| 100.0,
                    &|size| size.powf(-slope),
                    &|size| 1.0 / (1.0 + size / turn),
                    &|size| 1.0 / (1.0 + turn / size),
                ];
                for (place, curve) in curves.into_iter().enumerate() {
                    let found = plateaus(&levels(12, noise, &mut random, curve)).unwrap();
                    claims[place] += u32::from(!found.steps.is_empty());
                }
            }
            let limit = null_limit() * seeds().end as f64;
            assert!(claims.iter().all(|&claims| f64::from(claims) <= limit), "{noise}: {claims:?}");
        }
    }

    /// What one step's interval and its plateaus' say of a curve with one planted edge.
    #[derive(Default)]
    struct Told {
        silent: u32,
        more: u32,
        somewhere: u32,
        edge: Coverage,
        before: Coverage,
        narrow: u32,
    }

    impl Told {
        fn add(&mut self, found: &Plateaus, edge: f64, before: f64) {
            let Some(step) = found.steps.first() else {
                self.silent += 1;
                return;
            };
            self.more += u32::from(found.steps.len() > 1);
            self.before.add(found.plateaus[step.from].mean.interval, before);
            let Place::Within { ends, .. } = step.place else {
                self.somewhere += 1;
                return;
            };
            self.edge.add(Some(ends), edge);
            // One step from level to level.
            self.narrow += u32::from(ends.high / ends.low < 2.01);
        }

        fn shares(&self) -> [f64; 4] {
            let all = seeds().end as f64;
            [self.silent, self.more, self.somewhere, self.narrow]
                .map(|count| f64::from(count) / all)
        }
    }

    #[test]
    fn a_planted_edge_lies_where_it_is_said_to() {
        for noise in [0.003, 0.06] {
            let (mut cliffs, mut slopes) = (Told::default(), Told::default());
            for seed in seeds() {
                let mut random = Random::new(seed);
                let edge = 2.0_f64.powf(random.between(2.0, 8.0));
                let fall = random.between(1.5, 12.0);
                let cliff = |size: f64| if size <= edge { fall } else { 1.0 };
                let found = plateaus(&levels(12, noise, &mut random, cliff)).unwrap();
                cliffs.add(&found, edge, fall);
                let slope = |size: f64| {
                    let hit = (edge / size).min(1.0);
                    1.0 / (hit / fall + 1.0 - hit)
                };
                let found = plateaus(&levels(12, noise, &mut random, slope)).unwrap();
                slopes.add(&found, edge, fall);
            }
            let what = format!("noise {noise}: {:?} {:?}", cliffs.shares(), slopes.shares());
            // Nothing lies between two sizes that were measured: the interval of a cliff is one of
            // steps, and covers more than it has to.
            cliffs.edge.check_surely(&format!("cliff, {what}"));
            assert!(cliffs.shares()[3] > 0.9, "cliff, {what}");
            slopes.edge.check_given(&format!("slope, {what}"));
            cliffs.before.check_given(&format!("plateau, {what}"));
            for told in [&cliffs, &slopes] {
                let [silent, more, somewhere, _] = told.shares();
                assert!(silent.max(more) <= null_limit() && somewhere <= 0.05, "{what}");
            }
        }
    }

    #[test]
    fn steps_to_several_plateaus_and_a_fall_without_an_end_are_told() {
        let mut random = Random::new(0);
        let stairs = |size: f64| match size {
            _ if size <= 8.0 => 16.0,
            _ if size <= 128.0 => 8.0,
            _ => 1.0,
        };
        let found = plateaus(&levels(12, 0.02, &mut random, stairs)).unwrap();
        let joins: Vec<_> = found.steps.iter().map(|step| (step.from, step.to)).collect();
        assert_eq!((found.plateaus.len(), joins), (3, vec![(0, Some(1)), (1, Some(2))]));
        let ends: Vec<Interval> = found.steps.iter().map(|step| step.place.ends()).collect();
        assert_eq!(ends[0], Interval { low: 8.0, high: 16.0 });
        assert_eq!(ends[1], Interval { low: 128.0, high: 256.0 });
        // A cache of 100 answers its share, and the largest size is four times as large.
        let slope = |size: f64| {
            let hit = (100.0 / size).min(1.0);
            1.0 / (hit / 8.0 + 1.0 - hit)
        };
        let found = plateaus(&levels(10, 0.02, &mut random, slope)).unwrap();
        assert_eq!((found.steps.len(), found.steps[0].to), (1, None), "{found:?}");
        let ends = found.steps[0].place.ends();
        assert!(ends.low > 90.0 && ends.high < 110.0, "{found:?}");
    }

    #[test]
    fn too_little_gets_nothing_and_a_flat_curve_is_one_plateau() {
        let mut random = Random::new(0);
        let flat = levels(6, 0.01, &mut random, |_| 5.0);
        let found = plateaus(&flat).unwrap();
        assert_eq!((found.plateaus.len(), found.steps.len()), (1, 0));
        assert_eq!((found.plateaus[0].first, found.plateaus[0].last), (0, 5));
        assert_eq!(plateaus(&flat[..3]), None);
        let once: Vec<Level> =
            flat.iter().map(|one| Level { at: one.at, values: vec![one.values[0]] }).collect();
        assert_eq!(plateaus(&once), None);
        let mut zero = flat.clone();
        zero[2].values[1] = 0.0;
        assert_eq!(plateaus(&zero), None);
        let many: Vec<Level> =
            (1..=LEVELS_MAX + 1).map(|i| Level { at: i as f64, values: vec![1.0, 1.0] }).collect();
        assert_eq!(plateaus(&many), None);
    }
}
