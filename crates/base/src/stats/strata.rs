//! Split plots: how far a contrast between cells may be off when dear settings change seldom.
//!
//! Trials that share a layout share whatever that layout happened to be worth when it was made:
//! twenty trials on one array are one array. Each stratum (layouts, settings of the machine within
//! a layout, trials within a setting) has an error of its own, and a contrast is judged by those
//! that it contains. What the contrasts are is left to `main_effects`.
//!
//! The model: value = replicate + cell + error of its plot, for each size of plot, the smallest
//! being the trial. Cells are saturated, so what knobs do together is no error. Replicates are
//! blocks.
//!
//! Sources: Yates, "Complex experiments", Supplement to the Journal of the Royal Statistical
//! Society 2 (1935); Box, Hunter and Hunter, "Statistics for Experimenters", 2nd edition, chapter
//! 9. Where trials are missing: Henderson, "Estimation of variance and covariance components",
//! Biometrics 9 (1953), method 3, and Satterthwaite, Biometrics Bulletin 2 (1946).

use std::collections::BTreeMap;

use super::sweep::{dot, generalized_inverse, times};

mod apart;
mod borrowed;

/// One value.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Which cell; from 0, without gaps.
    pub cell: usize,
    /// Which replicate; from 0, without gaps.
    pub replicate: usize,
    /// What was measured.
    pub value: f64,
}

/// A difference between cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The estimate.
    pub value: f64,
    /// How sure it is; `None` when the plots that it compares were not repeated.
    pub error: Option<Precision>,
}

/// The variance of an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Estimated.
    pub variance: f64,
    /// Degrees of freedom of that estimate, 1 or more.
    pub freedom: f64,
    /// What each stratum has of the variance, in their order; they add up to it.
    pub parts: Vec<f64>,
}

/// The observations, and the error of each stratum.
#[derive(Debug)]
pub struct Strata {
    observations: Vec<Observation>,
    design: Design,
    /// All cells together.
    whole: CellContrast,
    /// For each size of plot but the trial, dearest first: the plot of each observation.
    plots: Vec<Vec<usize>>,
    /// For each size of plot, the trial last.
    strata: Vec<Stratum>,
    /// A stratum of fewer degrees of freedom judges nothing.
    freedom_min: f64,
}

#[derive(Debug)]
struct Stratum {
    squares: f64,
    freedom: f64,
    /// How often the variance of each size of plot is in `squares`, on average.
    holds: Vec<f64>,
}

/// How often each cell was observed in each replicate.
#[derive(Debug)]
struct Design {
    replicates: usize,
    counts: Vec<Vec<f64>>,
    totals: Vec<f64>,
}

/// Cells whose replicates are compared with each other: what is left after their means and those of
/// the replicates were taken out.
#[derive(Debug)]
struct CellContrast {
    inverse: Vec<Vec<f64>>,
    freedom: f64,
}

impl CellContrast {
    fn of(cells: &[usize], design: &Design) -> CellContrast {
        let many = design.replicates;
        let mut normal = vec![vec![0.0; many]; many];
        let mut observed = 0.0;
        for &cell in cells {
            let (counts, total) = (&design.counts[cell], design.totals[cell]);
            observed += total;
            for (one, of_one) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                normal[one][one] += of_one;
                for (other, of_other) in counts.iter().enumerate() {
                    normal[one][other] -= of_one * of_other / total;
                }
            }
        }
        let (inverse, rank) = generalized_inverse(normal);
        CellContrast { inverse, freedom: observed - cells.len() as f64 - rank as f64 }
    }

    /// The sum of squares that is left of `values` (observation and value; all others are zero).
    fn squares(&self, of: &[Observation], values: &[(usize, f64)], design: &Design) -> f64 {
        let (left, own) = leave(of, values, design);
        own - dot(&left, &times(&self.inverse, &left))
    }
}

/// What is left in each replicate, and the sum of squares, once cell means were taken out.
fn leave(of: &[Observation], values: &[(usize, f64)], design: &Design) -> (Vec<f64>, f64) {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    let mut left = vec![0.0; design.replicates];
    let mut squares = 0.0;
    for (number, value) in values {
        *sums.entry(of[*number].cell).or_default() += value;
        left[of[*number].replicate] += value;
        squares += value * value;
    }
    for (cell, sum) in sums {
        let total = design.totals[cell];
        squares -= sum * sum / total;
        for (left, count) in left.iter_mut().zip(&design.counts[cell]) {
            *left -= sum / total * count;
        }
    }
    (left, squares)
}

/// Numbers for keys, in the order of the keys.
fn numbered<K: Ord + Copy>(keys: impl Iterator<Item = K> + Clone) -> (Vec<usize>, usize) {
    let mut known: BTreeMap<K, usize> = keys.clone().map(|key| (key, 0)).collect();
    known.values_mut().enumerate().for_each(|(number, value)| *value = number);
    (keys.map(|key| known[&key]).collect(), known.len())
}

/// The members of each of `many` groups.
fn members(group_of: &[usize], many: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); many];
    for (member, group) in group_of.iter().enumerate() {
        groups[*group].push(member);
    }
    groups
}

impl Strata {
    /// `settings[k][cell]` numbers what a cell has set in the scopes of plots of size k and larger,
    /// dearest first; the smallest plot, the trial, is not among them. Each must divide the one
    /// before it. Values are best given as differences from their mean, for the rounding.
    pub fn new(observations: Vec<Observation>, settings: &[Vec<usize>]) -> Strata {
        let replicates = observations.iter().map(|it| it.replicate + 1).max().unwrap_or(0);
        let cells = observations.iter().map(|it| it.cell + 1).max().unwrap_or(0);
        let mut counts = vec![vec![0.0; replicates]; cells];
        for it in &observations {
            counts[it.cell][it.replicate] += 1.0;
        }
        let totals = counts.iter().map(|counts| counts.iter().sum()).collect();
        let design = Design { replicates, counts, totals };
        let plots: Vec<Vec<usize>> = settings
            .iter()
            .map(|of| numbered(observations.iter().map(|it| (of[it.cell], it.replicate))).0)
            .collect();
        // What is left at each level: after replicates, then after plots of each size.
        let undivided = vec![0; cells];
        let mut levels: Vec<ResidualSquares> = std::iter::once(&undivided)
            .chain(settings)
            .map(|of| ResidualSquares::new(&observations, of, &plots, &design))
            .collect();
        let whole = CellContrast::of(&(0..cells).collect::<Vec<_>>(), &design);
        levels.push(ResidualSquares::nothing(plots.len() + 1));
        let strata = levels.windows(2).map(|two| Stratum::between(&two[0], &two[1])).collect();
        Strata { observations, design, whole, plots, strata, freedom_min: 1.0 }
    }

    /// How many replicates there are.
    pub fn replicates(&self) -> usize {
        self.design.replicates
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.design.totals.len()
    }

    /// How often each cell was observed.
    pub fn totals(&self) -> &[f64] {
        &self.design.totals
    }

    /// The mean of each cell, freed of how well the replicates that it has went on the whole.
    pub fn cell_means(&self) -> Vec<f64> {
        let blocks = self.blocks();
        let mut means = vec![0.0; self.cells()];
        for it in &self.observations {
            means[it.cell] += (it.value - blocks[it.replicate]) / self.design.totals[it.cell];
        }
        means
    }

    /// How well each replicate went on the whole.
    fn blocks(&self) -> Vec<f64> {
        let values: Vec<(usize, f64)> =
            self.observations.iter().map(|it| it.value).enumerate().collect();
        let (left, _) = leave(&self.observations, &values, &self.design);
        times(&self.whole.inverse, &left)
    }

    /// Degrees of freedom of each stratum, dearest first.
    pub fn freedoms(&self) -> Vec<f64> {
        self.strata.iter().map(|stratum| stratum.freedom).collect()
    }

    /// The variance between plots of each size, the trial last, if the mean square of each stratum
    /// were so many times what was found; never negative. Each stratum has degrees of freedom.
    pub fn components(&self, stretch: &[f64]) -> Vec<f64> {
        let mut found = vec![0.0; self.strata.len()];
        for (place, stratum) in self.strata.iter().enumerate().rev() {
            let cheaper: f64 = found.iter().zip(&stratum.holds).map(|(of, held)| of * held).sum();
            let left = stratum.squares * stretch[place] - cheaper;
            found[place] = (left / stratum.holds[place]).max(0.0);
        }
        found
    }

    /// The sum of cell means times `weights`, which add up to 0; `None` when replicates and cells
    /// cannot be told apart in it, as where cells that it compares share no replicate.
    pub fn contrast(&self, weights: &[f64]) -> Option<Contrast> {
        let shares = self.shares(weights)?;
        let value = self.observations.iter().zip(&shares).map(|(it, share)| it.value * share).sum();
        Some(Contrast { value, error: self.precision(&shares) })
    }

    /// What each observation weighs in the contrast.
    fn shares(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let design = &self.design;
        let mut blocks = vec![0.0; design.replicates];
        for (cell, weight) in weights.iter().enumerate() {
            for (block, count) in blocks.iter_mut().zip(&design.counts[cell]) {
                *block += weight * count / design.totals[cell];
            }
        }
        let correction = times(&self.whole.inverse, &blocks);
        let of_cell: Vec<f64> = (0..self.cells())
            .map(|cell| dot(&design.counts[cell], &correction) / design.totals[cell])
            .collect();
        let levels: Vec<f64> =
            weights.iter().zip(&design.totals).map(|(weight, total)| weight / total).collect();
        let mut sums = vec![0.0; design.replicates];
        let share = |it: &Observation| {
            let share = levels[it.cell] - (correction[it.replicate] - of_cell[it.cell]);
            sums[it.replicate] += share;
            share
        };
        let shares: Vec<f64> = self.observations.iter().map(share).collect();
        // A replicate that went well as a whole must not be taken for a difference between cells.
        let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
        sums.iter().all(|sum| sum.abs() <= 1e-8 * size).then_some(shares)
    }

    /// The variance of a contrast as a sum of mean squares, one a stratum, so that the variance of
    /// each size of plot is in it as often as it is in the contrast. With no trial missing, that is
    /// the mean square of one stratum, and its degrees of freedom are exact.
    fn precision(&self, shares: &[f64]) -> Option<Precision> {
        let mut wanted: Vec<f64> = self.plots.iter().map(|plots| squared(plots, shares)).collect();
        wanted.push(shares.iter().map(|share| share * share).sum());
        let size = wanted.iter().fold(0.0_f64, |a, b| a.max(*b));
        let (mut variance, mut spread) = (0.0, 0.0);
        let mut least_freedom = f64::INFINITY;
        let mut parts = vec![0.0; self.strata.len()];
        for (place, stratum) in self.strata.iter().enumerate() {
            if wanted[place].abs() <= 1e-9 * size {
                continue;
            }
            if stratum.freedom < self.freedom_min - 0.5 {
                return None;
            }
            let times = wanted[place] / stratum.holds[place];
            for (wanted, held) in wanted.iter_mut().zip(&stratum.holds) {
                *wanted -= times * held;
            }
            // What would have to be taken away is left in: too wide rather than too narrow.
            let part = times.max(0.0) * stratum.squares;
            variance += part;
            parts[place] = part;
            spread += part * part / stratum.freedom;
            if times > 0.0 {
                least_freedom = least_freedom.min(stratum.freedom);
            }
        }
        let freedom = if spread > 0.0 { variance * variance / spread } else { least_freedom };
        let sure = freedom.is_finite() && freedom >= 1.0 - 1e-9;
        sure.then_some(Precision { variance, freedom, parts })
    }
}

/// The sum of the squares of the sums within each plot.
fn squared(plots: &[usize], shares: &[f64]) -> f64 {
    let mut sums = vec![0.0; plots.iter().max().map_or(0, |most| most + 1)];
    for (plot, share) in plots.iter().zip(shares) {
        sums[*plot] += share;
    }
    sums.iter().map(|sum| sum * sum).sum()
}

/// The sum of squares that is left once the means of cells and of the plots of one size were taken
/// out.
struct ResidualSquares {
    squares: f64,
    freedom: f64,
    /// What would be left of a variance of 1 between plots of each size.
    holds: Vec<f64>,
}

impl ResidualSquares {
    fn new(
        of: &[Observation],
        settings: &[usize],
        plots: &[Vec<usize>],
        design: &Design,
    ) -> ResidualSquares {
        let (settings, many) = numbered(settings.iter().copied());
        let cells = members(&settings, many);
        let parts: Vec<CellContrast> =
            cells.iter().map(|cells| CellContrast::of(cells, design)).collect();
        let mut values = vec![Vec::new(); many];
        for (number, it) in of.iter().enumerate() {
            values[settings[it.cell]].push((number, it.value));
        }
        let left = parts
            .iter()
            .zip(&values)
            .map(|(part, of_part)| part.squares(of, of_part, design).max(0.0));
        let squares = left.sum();
        let freedom = parts.iter().map(|part| part.freedom).sum();
        let held = |plots: &Vec<usize>| {
            let many = plots.iter().max().map_or(0, |most| most + 1);
            let each = members(plots, many).into_iter().map(|members| {
                let part = &parts[settings[of[members[0]].cell]];
                let ones: Vec<(usize, f64)> = members.into_iter().map(|it| (it, 1.0)).collect();
                part.squares(of, &ones, design)
            });
            each.sum()
        };
        let mut holds: Vec<f64> = plots.iter().map(held).collect();
        holds.push(freedom);
        ResidualSquares { squares, freedom, holds }
    }

    fn nothing(sizes: usize) -> ResidualSquares {
        ResidualSquares { squares: 0.0, freedom: 0.0, holds: vec![0.0; sizes] }
    }
}

impl Stratum {
    fn between(before: &ResidualSquares, after: &ResidualSquares) -> Stratum {
        let holds = before.holds.iter().zip(&after.holds).map(|(a, b)| a - b).collect();
        // Of values without scatter only rounding is left.
        let squares = before.squares - after.squares;
        let squares = if squares > 1e-12 * before.squares { squares } else { 0.0 };
        Stratum { squares, freedom: before.freedom - after.freedom, holds }
    }
}
