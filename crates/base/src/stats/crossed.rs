//! What goes with which of several factors, from set-ups of which each was made by hand: servers
//! and disks that were exchanged, not always in every combination.
//!
//! Each set-up is one observation, however often it was measured: what it happened to be worth as
//! it was put together (a loose cable, a warm day) is in all its repeats. An additive model of the
//! factors is fitted to the set-ups. What it leaves of them is the error, factors that do not act
//! together included: of a crossing of two and two that is one degree of freedom, with which an
//! interval is 12.7 deviations wide on either side, and still holds the truth 95 times in 100.
//! Repeats that scatter more than the set-ups did make it wider. Where nothing is left, repeats
//! alone tell how well the set-ups themselves are known, and nothing tells more.
//!
//! Sources: Box, Hunter and Hunter, "Statistics for Experimenters", 2nd edition (2005), chapters 4
//! and 5; Satterthwaite, Biometrics Bulletin 2 (1946), for repeats that scatter differently.

use super::interval::sample_variance;
use super::main_effects::Factor;
use super::main_effects::columns::Columns;
use super::{Estimate, Interval, RatioOfMeans, mean};

/// One set-up.
#[derive(Clone, Debug)]
pub struct SetUp {
    /// The level of each factor.
    pub levels: Vec<usize>,
    /// What each of its repeats gave: logarithms of positive quantities; one or more.
    pub repeats: Vec<f64>,
}

/// Set-ups with the model that is fitted to them.
pub struct Crossed<'a> {
    factors: Vec<Factor>,
    cells: Vec<Vec<usize>>,
    set_ups: &'a [SetUp],
    means: Vec<f64>,
}

/// One level of a factor over another, all other factors held.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// By how far set-ups are from what all factors say; no error where none is left to tell.
    pub by_set_ups: RatioOfMeans,
    /// By how far the repeats of each set-up differ; no error where one of them has no repeat.
    pub by_repeats: RatioOfMeans,
}

impl<'a> Crossed<'a> {
    /// `levels` has for each factor how many it has; every set-up has one of each.
    pub fn from_set_ups(levels: &[usize], set_ups: &'a [SetUp]) -> Crossed<'a> {
        let factor = |levels: &usize| Factor { levels: *levels, stratum: 0 };
        let factors: Vec<Factor> = levels.iter().map(factor).collect();
        let cells: Vec<Vec<usize>> = set_ups.iter().map(|it| it.levels.clone()).collect();
        let means = set_ups.iter().map(|it| mean(&it.repeats)).collect();
        Crossed { factors, cells, set_ups, means }
    }

    /// The model without those factors that are not `within`.
    fn columns(&self, within: &dyn Fn(usize) -> bool) -> Columns<'_> {
        Columns::additive(&self.factors, &self.cells, within)
    }

    /// How many degrees of freedom set-ups leave to tell how far each may be off.
    pub fn freedom(&self) -> f64 {
        self.columns(&|_| true).fit.freedom()
    }

    /// A level over another; `None` where the set-ups do not tell this from other factors.
    pub fn beside(&self, factor: usize, level: usize, base: usize) -> Option<Beside> {
        let columns = self.columns(&|_| true);
        let weights = weights(&columns, self.factors[factor], factor, level, base)?;
        let difference = weights.iter().zip(&self.means).map(|(weight, mean)| weight * mean).sum();
        let freedom = columns.fit.freedom();
        let left: f64 = columns.fit.left(&self.means).iter().map(|left| left * left).sum();
        let held: f64 = weights.iter().map(|weight| weight * weight).sum();
        let by_set_ups = (freedom > 0.5).then(|| ((left / freedom * held).sqrt(), freedom));
        Some(Beside {
            by_set_ups: RatioOfMeans::known(difference, by_set_ups),
            by_repeats: RatioOfMeans::known(difference, self.of_repeats(&weights)),
        })
    }

    /// The error of a sum of set-ups by their repeats, and its degrees of freedom (Satterthwaite).
    fn of_repeats(&self, weights: &[f64]) -> Option<(f64, f64)> {
        let (mut variance, mut spread) = (0.0, 0.0);
        for (weight, set_up) in weights.iter().zip(self.set_ups).filter(|it| it.0.abs() > 1e-9) {
            let many = set_up.repeats.len() as f64;
            if many < 2.0 {
                return None;
            }
            let part = weight * weight * sample_variance(&set_up.repeats) / many;
            variance += part;
            spread += part * part / (many - 1.0);
        }
        // Without any scatter the quotient is 0 / 0: any number of degrees says that it is none.
        let freedom = if spread > 0.0 { variance * variance / spread } else { 1.0 };
        Some((variance.sqrt(), freedom))
    }

    /// Factors without any one of which a level could be told from another, where it cannot.
    pub fn entangled(&self, factor: usize, level: usize, base: usize) -> Vec<usize> {
        let decides = |other: &usize| {
            let columns = self.columns(&|it| it != *other);
            weights(&columns, self.factors[factor], factor, level, base).is_some()
        };
        (0..self.factors.len()).filter(|it| *it != factor).filter(decides).collect()
    }

    /// The fewest set-ups, one after the other, that tell all factors apart; none where that is
    /// so. Each differs from one that there is in as few factors as may be.
    pub fn wanted(&self) -> Vec<Vec<usize>> {
        let mut cells = self.cells.clone();
        let rank = |cells: &[Vec<usize>]| {
            let fit = Columns::additive(&self.factors, cells, &|_| true).fit;
            cells.len() as f64 - fit.freedom()
        };
        let whole = 1 + self.factors.iter().map(|it| it.levels - 1).sum::<usize>();
        let mut wanted = Vec::new();
        while rank(&cells) + 0.5 < whole as f64 {
            let now = rank(&cells);
            let more = |cell: &Vec<usize>| {
                rank(&[&cells[..], std::slice::from_ref(cell)].concat()) > now + 0.5
            };
            let Some(cell) = self.absent(&cells).into_iter().find(more) else { break };
            cells.push(cell.clone());
            wanted.push(cell);
        }
        wanted
    }

    /// The set-up that tells most of how far one may be off: a combination that was not set up,
    /// else the first of all, once more. Both add a degree of freedom.
    pub fn once_more(&self) -> Option<Vec<usize>> {
        let absent = self.absent(&self.cells).into_iter().next();
        absent.or_else(|| self.cells.first().cloned())
    }

    /// Combinations of levels that are not among `cells`: first those that differ from the first
    /// one in the fewest factors.
    fn absent(&self, cells: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for factor in &self.factors {
            let longer = |begun: Vec<usize>| {
                (0..factor.levels).map(move |level| [&begun[..], &[level]].concat())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all.retain(|cell| !cells.contains(cell));
        let first = self.cells.first();
        let far = |cell: &Vec<usize>| {
            first.map_or(0, |first| first.iter().zip(cell).filter(|(a, b)| a != b).count())
        };
        all.sort_by_key(far);
        all
    }
}

impl Beside {
    /// The ratio, with an interval that holds by set-ups and by repeats, whichever is wider; none
    /// where set-ups leave nothing to tell it by.
    pub fn estimate(&self) -> Estimate {
        let (own, repeats) = (self.by_set_ups.estimate(), self.by_repeats.estimate().interval);
        let wider = |ends: Interval| match repeats {
            Some(other) => {
                Interval { low: ends.low.min(other.low), high: ends.high.max(other.high) }
            }
            None => ends,
        };
        Estimate { value: own.value, interval: own.interval.map(wider) }
    }

    /// How likely a ratio so far outside of `low` to `high` were if the truth were inside, by the
    /// error that makes it likelier; twice, as either side might have been. `None` where set-ups
    /// leave nothing to tell it by.
    pub fn chance_outside(&self, low: f64, high: f64) -> Option<f64> {
        let by = |ratio: &RatioOfMeans| {
            let (below, above) = ratio.chance_below(low).zip(ratio.chance_above(high))?;
            Some((2.0 * below.min(above)).min(1.0))
        };
        let own = by(&self.by_set_ups)?;
        Some(by(&self.by_repeats).map_or(own, |other| own.max(other)))
    }
}

/// The weights of set-ups in the difference of two levels; `None` where they do not decide it.
fn weights(
    columns: &Columns<'_>,
    factor: Factor,
    number: usize,
    level: usize,
    base: usize,
) -> Option<Vec<f64>> {
    let of = |it: usize| f64::from(u8::from(it == level)) - f64::from(u8::from(it == base));
    columns.fit.weights(&columns.of_levels(number, (0..factor.levels).map(of)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// Of each combination `times` set-ups of three repeats: what the factors do, what the set-up
    /// was worth, and what each repeat was.
    fn set_ups(
        random: &mut Random,
        cells: &[[usize; 2]],
        does: [[f64; 3]; 2],
        scatter: [f64; 2],
    ) -> Vec<SetUp> {
        let set_up = |cell: &[usize; 2]| {
            let worth = does[0][cell[0]] + does[1][cell[1]] + scatter[0] * random.normal();
            let repeats = (0..3).map(|_| worth + scatter[1] * random.normal()).collect();
            SetUp { levels: cell.to_vec(), repeats }
        };
        cells.iter().map(set_up).collect()
    }

    const FOUR: [[usize; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];
    /// Eight of nine, and the first again.
    const NINE: [[usize; 2]; 9] =
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [0, 0]];

    /// What repeats scatter by alone is not what set-ups scatter by: intervals by repeats hold the
    /// truth about half of the time where set-ups differ as much as repeats do.
    #[test]
    fn intervals_hold_whether_set_ups_scatter_or_not() {
        for (cells, levels) in [(&FOUR[..], [2, 2]), (&NINE, [3, 3])] {
            for scatter in [[0.03, 0.01], [0.0, 0.02]] {
                let (mut both, mut repeats) = (Coverage::default(), Coverage::default());
                let (mut null, mut found) = (0, 0);
                for seed in seeds() {
                    let mut random = Random::new(seed);
                    let does = [[0.0; 3], [0.0, 0.5, 0.2]];
                    let all = set_ups(&mut random, cells, does, scatter);
                    let crossed = Crossed::from_set_ups(&levels, &all);
                    let disks = crossed.beside(1, 1, 0).unwrap();
                    both.add(disks.estimate().interval, f64::exp(0.5));
                    repeats.add(disks.by_repeats.estimate().interval, f64::exp(0.5));
                    found += u32::from(disks.chance_outside(0.95, 1.0 / 0.95).unwrap() <= 0.05);
                    let server = crossed.beside(0, 1, 0).unwrap();
                    null += u32::from(server.chance_outside(1.0, 1.0).unwrap() <= 0.05);
                }
                let what = format!("{} set-ups that scatter by {scatter:?}", cells.len());
                let share = |count: u32| f64::from(count) / seeds().count() as f64;
                both.check_least(&what);
                assert!(share(null) <= null_limit(), "{what}: {null}");
                assert!(share(found) > 0.75, "{what}: {found}");
                if scatter[0] > 0.0 {
                    assert!(repeats.share() < 0.75, "{what}: {}", repeats.share());
                }
            }
        }
    }

    /// One server with the one set and the other server with the other.
    #[test]
    fn what_always_changed_together_is_not_told_apart_and_one_exchange_tells() {
        let of = |cells: &[[usize; 2]]| {
            set_ups(&mut Random::new(1), cells, [[0.0; 3], [0.0, 0.5, 0.2]], [0.01; 2])
        };
        let all = of(&[[0, 0], [1, 1]]);
        let crossed = Crossed::from_set_ups(&[2, 2], &all);
        assert!(crossed.beside(0, 1, 0).is_none() && crossed.beside(1, 1, 0).is_none());
        assert_eq!((crossed.entangled(0, 1, 0), crossed.entangled(1, 1, 0)), (vec![1], vec![0]));
        assert_eq!(crossed.wanted(), [[0, 1]]);
        // The exchange of the first source: three of four. Nothing is left to tell the scatter.
        let all = of(&[[0, 0], [0, 1], [1, 1]]);
        let crossed = Crossed::from_set_ups(&[2, 2], &all);
        let disks = crossed.beside(1, 1, 0).unwrap();
        assert!(crossed.wanted().is_empty() && crossed.freedom() == 0.0);
        assert_eq!((disks.estimate().interval, disks.chance_outside(0.9, 1.1)), (None, None));
        assert!(disks.by_repeats.estimate().interval.is_some());
        assert_eq!(crossed.once_more(), Some(vec![1, 0]));
        // Three pairs take two exchanges; all combinations, the first again.
        let all = of(&[[0, 0], [1, 1], [2, 2]]);
        assert_eq!(Crossed::from_set_ups(&[3, 3], &all).wanted(), [[0, 1], [0, 2]]);
        let all = of(&FOUR);
        assert_eq!(Crossed::from_set_ups(&[2, 2], &all).once_more(), Some(vec![0, 0]));
        // Two are told apart although a third, with disks of its own, is not.
        let all = of(&[[0, 0], [0, 1], [1, 0], [2, 2]]);
        let crossed = Crossed::from_set_ups(&[3, 3], &all);
        assert!(crossed.beside(0, 1, 0).is_some() && crossed.beside(0, 2, 0).is_none());
    }

    /// What a set-up was worth that was measured once is in the error of all.
    #[test]
    fn without_repeats_set_ups_alone_tell() {
        let set_up = |levels: [usize; 2], value: f64| SetUp {
            levels: levels.to_vec(),
            repeats: vec![value],
        };
        let all = [
            set_up([0, 0], 0.0),
            set_up([0, 1], 0.5),
            set_up([1, 0], 0.1),
            set_up([1, 1], 0.6 + 0.02),
        ];
        let disks = Crossed::from_set_ups(&[2, 2], &all).beside(1, 1, 0).unwrap();
        assert_eq!(disks.by_repeats.estimate().interval, None);
        // The two differences are 0.50 and 0.52: 0.51, give or take 12.7 x 0.01.
        let ends = disks.estimate().interval.unwrap();
        assert!((ends.low.ln() - (0.51 - 0.12706)).abs() < 1e-3, "{ends:?}");
    }
}
