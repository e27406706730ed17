//! Main effects of a factorial experiment: what each factor does by itself, each with an interval
//! from the stratum in which it was varied, and which of them are more than chance.
//!
//! An effect is an average over the levels of the other factors: the difference of means of cells,
//! each cell counting once. Where cells are missing (fractions, one at a time, exclusions), it is
//! that of the additive model fitted to the cells there are, by least squares; factors that these
//! do not tell apart are said to be inseparable. Values are logarithms of rates, as a rule: then
//! effects are ratios, which is how settings of a server act, and its noise too.
//!
//! The error of each effect comes from `strata`; what a factor is called is left to `analysis`.

use std::collections::BTreeMap;

use super::interval::{mean, t_quantile, t_two_sided};
use super::strata::{Observation, Strata};
use super::sweep::{generalized_inverse, times};
use super::{Estimate, holm};

/// Less than this is no chance: the claim is made.
pub const CHANCE: f64 = 0.05;

/// Something that was varied.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    /// How many levels it has.
    pub levels: usize,
    /// How dear it is to change: factors of a smaller number are set for longer. Only the order
    /// counts.
    pub stratum: usize,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Run {
    /// Which replicate (any number; the same for the trials of one).
    pub replicate: u32,
    /// The level of each factor; every level has at least one run.
    pub levels: Vec<usize>,
    /// What was measured.
    pub value: f64,
}

/// What one factor does.
#[derive(Clone, Debug)]
pub struct MainEffect {
    /// Each level against the mean of all levels, with a 95 % interval of its own; empty when the
    /// factor cannot be told from others.
    pub levels: Vec<Estimate>,
    /// The two levels that are furthest apart; `None` when it cannot be told from others.
    pub span: Option<Span>,
    /// Sum of squares of the effect over that of all values about the means of replicates, 0 to 1.
    pub share: f64,
    /// The factors that it cannot be told from, where those could be found.
    pub aliases: Vec<usize>,
}

/// The largest difference between two levels.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The level with the most.
    pub most: usize,
    /// The level with the least.
    pub least: usize,
    /// How much more, with a 95 % interval that allows for having picked this pair among all.
    pub difference: Estimate,
    /// How likely so large a difference were in any of all factors if none had an effect (Holm);
    /// `None` without an error to judge by.
    pub chance: Option<f64>,
    /// The difference that would have been claimed four times in five; `None` likewise.
    pub detectable: Option<f64>,
}

/// What all factors do.
#[derive(Clone, Debug)]
pub struct MainEffects {
    /// In the order given.
    pub effects: Vec<MainEffect>,
    /// Share of the variation that is of combinations: what the levels of one factor do depends on
    /// those of others; 0 to 1.
    pub together: f64,
    /// How many replicates there are.
    pub replicates: usize,
}

/// The main effects of `factors` on `runs`; `None` without runs or factors.
///
/// Source of the correction for many factors: Holm, "A simple sequentially rejective multiple test
/// procedure", Scandinavian Journal of Statistics 6 (1979); for many pairs of levels: Bonferroni.
pub fn main_effects(factors: &[Factor], runs: &[Run]) -> Option<MainEffects> {
    if factors.is_empty() || runs.is_empty() {
        return None;
    }
    let table = Table::of(factors, runs);
    let columns = Columns::of(factors, &table.cells, &|_| true);
    let total = about_replicates(runs);
    let share = |squares: f64| if total > 0.0 { (squares / total).clamp(0.0, 1.0) } else { 0.0 };
    let beyond = columns.beyond(&table.strata.cell_means());
    let effect = |number: usize| {
        let effect = columns.effect(number, &table);
        let Some((levels, span)) = effect else {
            let aliases = aliases(number, factors, &table.cells);
            return MainEffect { levels: Vec::new(), span: None, share: 0.0, aliases };
        };
        let of_runs: Vec<f64> = runs.iter().map(|run| levels[run.levels[number]].value).collect();
        let share = share(about_mean(&of_runs));
        MainEffect { levels, span: Some(span), share, aliases: Vec::new() }
    };
    let mut effects: Vec<MainEffect> = (0..factors.len()).map(effect).collect();
    let spans = effects.iter_mut().filter_map(|effect| effect.span.as_mut()?.chance.as_mut());
    holm(spans.collect());
    let together = beyond.iter().zip(table.strata.totals());
    let together = share(together.map(|(left, total)| left * left * total).sum());
    Some(MainEffects { effects, together, replicates: table.strata.replicates() })
}

/// Runs sorted into cells.
struct Table {
    /// The levels of each cell.
    cells: Vec<Vec<usize>>,
    strata: Strata,
}

impl Table {
    fn of(factors: &[Factor], runs: &[Run]) -> Table {
        let mut numbers: BTreeMap<&[usize], usize> = BTreeMap::new();
        let mut replicates: BTreeMap<u32, usize> = BTreeMap::new();
        for run in runs {
            numbers.insert(&run.levels, 0);
            replicates.insert(run.replicate, 0);
        }
        numbers.values_mut().enumerate().for_each(|(number, value)| *value = number);
        replicates.values_mut().enumerate().for_each(|(number, value)| *value = number);
        let cells: Vec<Vec<usize>> = numbers.keys().map(|levels| levels.to_vec()).collect();
        let centre = mean(&runs.iter().map(|run| run.value).collect::<Vec<_>>());
        let observed = runs.iter().map(|run| Observation {
            cell: numbers[run.levels.as_slice()],
            replicate: replicates[&run.replicate],
            value: run.value - centre,
        });
        let mut strata: Vec<usize> = factors.iter().map(|factor| factor.stratum).collect();
        strata.sort_unstable();
        strata.dedup();
        // The cheapest is changed with every trial.
        strata.pop();
        let plots: Vec<Vec<usize>> =
            strata.iter().map(|most| combinations(factors, &cells, *most)).collect();
        let strata = Strata::new(observed.collect(), &plots);
        Table { cells, strata }
    }
}

/// For each cell a number for the levels of those factors that are as dear as `most` or dearer.
fn combinations(factors: &[Factor], cells: &[Vec<usize>], most: usize) -> Vec<usize> {
    let dear = |cell: &Vec<usize>| -> Vec<usize> {
        let levels = factors.iter().zip(cell).filter(|(factor, _)| factor.stratum <= most);
        levels.map(|(_, level)| *level).collect()
    };
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let number = |cell: &Vec<usize>| {
        let next = known.len();
        *known.entry(dear(cell)).or_insert(next)
    };
    cells.iter().map(number).collect()
}

/// The sum of squares about the mean.
fn about_mean(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// The sum of squares about the mean of each replicate.
fn about_replicates(runs: &[Run]) -> f64 {
    let mut replicates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs {
        replicates.entry(run.replicate).or_default().push(run.value);
    }
    replicates.values().map(|values| about_mean(values)).sum()
}

/// The additive model: a column for the mean, and one for each level but the first of each factor.
struct Columns<'a> {
    factors: &'a [Factor],
    cells: &'a [Vec<usize>],
    /// The column of each factor's second level; `None` for a factor that is left out.
    first: Vec<Option<usize>>,
    normal: Vec<Vec<f64>>,
    inverse: Vec<Vec<f64>>,
}

impl<'a> Columns<'a> {
    fn of(
        factors: &'a [Factor],
        cells: &'a [Vec<usize>],
        within: &dyn Fn(usize) -> bool,
    ) -> Columns<'a> {
        let mut many = 1;
        let mut place = |(number, factor): (usize, &Factor)| {
            let first = many;
            many += if within(number) { factor.levels.saturating_sub(1) } else { 0 };
            within(number).then_some(first)
        };
        let first: Vec<Option<usize>> = factors.iter().enumerate().map(&mut place).collect();
        let mut normal = vec![vec![0.0; many]; many];
        for cell in cells {
            let row = row(&first, cell);
            for one in &row {
                row.iter().for_each(|other| normal[*one][*other] += 1.0);
            }
        }
        let (inverse, _) = generalized_inverse(normal.clone());
        Columns { factors, cells, first, normal, inverse }
    }

    /// The weights of cells that estimate `of` (a weight for each column); `None` when the cells do
    /// not decide it.
    fn weights(&self, of: &[f64]) -> Option<Vec<f64>> {
        let solved = times(&self.inverse, of);
        let back = times(&self.normal, &solved);
        if back.iter().zip(of).any(|(back, of)| (back - of).abs() > 1e-7) {
            return None;
        }
        let weight = |cell: &Vec<usize>| row(&self.first, cell).iter().map(|at| solved[*at]).sum();
        Some(self.cells.iter().map(weight).collect())
    }

    /// What of each of `means`, one a cell, is beyond the additive model.
    fn beyond(&self, means: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.normal.len()];
        let rows: Vec<Vec<usize>> = self.cells.iter().map(|cell| row(&self.first, cell)).collect();
        for (row, mean) in rows.iter().zip(means) {
            row.iter().for_each(|at| sums[*at] += mean);
        }
        let solved = times(&self.inverse, &sums);
        let fit = |row: &Vec<usize>| row.iter().map(|at| solved[*at]).sum::<f64>();
        rows.iter().zip(means).map(|(row, mean)| mean - fit(row)).collect()
    }

    /// One weight a column: the sum of `weights`, one a level.
    fn column_weights(&self, number: usize, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut of = vec![0.0; self.normal.len()];
        if let Some(first) = self.first[number] {
            // The first level is where all columns of its factor are 0.
            for (place, weight) in weights.enumerate().skip(1) {
                of[first + place - 1] = weight;
            }
        }
        of
    }

    fn separable(&self, number: usize) -> bool {
        let levels = self.factors[number].levels;
        (1..levels).all(|level| {
            let alone = (0..levels).map(|it| f64::from(u8::from(it == level)));
            self.weights(&self.column_weights(number, alone)).is_some()
        })
    }

    /// Each level against the mean of all, and the two furthest apart.
    fn effect(&self, number: usize, table: &Table) -> Option<(Vec<Estimate>, Span)> {
        let many = self.factors[number].levels;
        if many < 2 || !self.separable(number) {
            return None;
        }
        let even = 1.0 / many as f64;
        let level = |level: usize| {
            let weights = (0..many).map(|it| f64::from(u8::from(it == level)) - even);
            let weights = self.weights(&self.column_weights(number, weights))?;
            let contrast = table.strata.contrast(&weights)?;
            let half = contrast
                .error
                .map(|error| t_quantile(0.975, error.freedom) * error.variance.sqrt());
            Some(around(contrast.value, half))
        };
        let levels: Vec<Estimate> = (0..many).map(level).collect::<Option<_>>()?;
        let by_value = |a: &usize, b: &usize| levels[*a].value.total_cmp(&levels[*b].value);
        let most = (0..many).max_by(by_value)?;
        let least = (0..many).min_by(by_value)?;
        let (most, least) = if most == least { (1, 0) } else { (most, least) };
        let sign = |it: usize| f64::from(i8::from(it == most) - i8::from(it == least));
        let weights = self.weights(&self.column_weights(number, (0..many).map(sign)))?;
        let contrast = table.strata.contrast(&weights)?;
        let pairs = (many * (many - 1) / 2) as f64;
        let Some(error) = contrast.error else {
            let difference = Estimate::bare(contrast.value);
            let span = Span { most, least, difference, chance: None, detectable: None };
            return Some((levels, span));
        };
        let deviation = error.variance.sqrt();
        let half = t_quantile(1.0 - CHANCE / 2.0 / pairs, error.freedom) * deviation;
        let chance = match (contrast.value.abs() > 1e-9, deviation > 0.0) {
            (_, true) => t_two_sided(contrast.value / deviation, error.freedom) * pairs,
            (true, false) => 0.0,
            (false, false) => 1.0,
        };
        // The first step of Holm's procedure, which no claim can do without.
        let tests = pairs * self.factors.len() as f64;
        let needed = t_quantile(1.0 - CHANCE / 2.0 / tests, error.freedom);
        let detectable = (needed + t_quantile(0.8, error.freedom)) * deviation;
        let span = Span {
            most,
            least,
            difference: around(contrast.value, Some(half)),
            chance: Some(chance.min(1.0)),
            detectable: Some(detectable),
        };
        Some((levels, span))
    }
}

/// The columns that are 1 in the row of a cell.
fn row(first: &[Option<usize>], cell: &[usize]) -> Vec<usize> {
    let levels = first.iter().zip(cell).filter(|(_, level)| **level > 0);
    let columns = levels.filter_map(|(first, level)| Some((*first)? + level - 1));
    std::iter::once(0).chain(columns).collect()
}

fn around(value: f64, half: Option<f64>) -> Estimate {
    match half.filter(|half| half.is_finite()) {
        Some(half) => Estimate::within(value, value - half, value + half),
        None => Estimate::bare(value),
    }
}

/// Factors without any one of which `number` could be told apart from the rest.
fn aliases(number: usize, factors: &[Factor], cells: &[Vec<usize>]) -> Vec<usize> {
    let others = (0..factors.len()).filter(|other| *other != number);
    let decides =
        |other: &usize| Columns::of(factors, cells, &|within| within != *other).separable(number);
    others.filter(decides).collect()
}

#[cfg(test)]
mod tests;
