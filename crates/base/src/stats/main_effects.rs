//! Effects of a factorial experiment: what each factor does by itself, and whether that depends on
//! another, each with an interval from the stratum in which it was varied, and which of them are
//! more than chance.
//!
//! An effect is an average over the levels of the other factors: the difference of means of cells,
//! each cell counting once. Where cells are missing (fractions, one at a time, exclusions), it is
//! that of the additive model fitted to the cells there are, by least squares; factors that these
//! do not tell apart are said to be inseparable. Where another factor is set with some levels of
//! one alone, levels are compared within each class that shares that setting, and classes by their
//! means: an effect nested in another. Values are logarithms of rates, as a rule: then effects are
//! ratios, which is how settings of a server act, and its noise too.
//!
//! The error of each effect comes from `strata`; what a factor is called is left to `analysis`.

use std::collections::BTreeMap;

use super::interval::{mean, t_quantile, t_two_sided};
use super::strata::{Contrast, Observation, Precision, Strata};
use super::{Estimate, holm_weighted};
pub use alone::Rest;
use columns::{COLUMNS_MAX, Columns};
pub use interactions::Interaction;
use term::Term;

mod alone;
pub(super) mod columns;
mod interactions;
mod nested;
mod shares;
mod spread;
mod term;

/// Less than this is no chance: the claim is made.
pub const CHANCE: f64 = 0.05;

/// Parts of the error allowed (`CHANCE` in all) that the main effects have together, the
/// interactions, and the effects on spread: of the first most is asked.
const PARTS: [f64; 3] = [0.6, 0.2, 0.2];

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
#[derive(Clone, Debug, Default)]
pub struct MainEffect {
    /// Each level against the mean of all levels, with a 95 % interval of its own; empty when the
    /// factor cannot be told from others.
    pub levels: Vec<Estimate>,
    /// The two levels that are furthest apart; `None` when it cannot be told from others.
    pub span: Option<Span>,
    /// The two classes of levels whose means are furthest apart (`most` and `least` number them),
    /// where levels have classes; then [`MainEffect::span`] is of two levels of one class.
    pub beside: Option<Span>,
    /// The combination of levels of other factors without which that would not be more than chance;
    /// `None` where there is no such one.
    pub rests: Option<Rest>,
    /// Sum of squares of the effect over that of all values about the means of replicates, 0 to 1.
    pub share: f64,
    /// Share of all variance that it explains, freed of what chance adds, with a 95 % interval;
    /// `None` without an error for each stratum.
    pub omega_squared: Option<Estimate>,
    /// The factors that it cannot be told from, where those could be found.
    pub aliases: Vec<usize>,
    term: Option<Term>,
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
    /// How likely so large a difference were in anything that is tested if nothing had an effect
    /// (Holm); `None` without an error to judge by.
    pub chance: Option<f64>,
    /// The difference that would have been claimed four times in five; `None` likewise.
    pub detectable: Option<f64>,
    judged: Option<Judged>,
}

/// What all factors do.
#[derive(Clone, Debug)]
pub struct MainEffects {
    /// In the order given.
    pub effects: Vec<MainEffect>,
    /// Of all pairs of factors; `None` where there are too many levels to tell.
    pub interactions: Option<Vec<Interaction>>,
    /// How much more repeats differ at one level of each factor than at another, in the order
    /// given; empty without repeats enough.
    pub spread: Vec<Option<Span>>,
    /// Share of the variation that is of combinations: what the levels of one factor do depends on
    /// those of others; 0 to 1.
    pub together: f64,
    /// Share of all variance that is of plots and trials, with a 95 % interval; `None` without an
    /// error for each stratum.
    pub error_share: Option<Estimate>,
    /// How many replicates there are.
    pub replicates: usize,
    /// The interactions that were taken as error: those of so many factors and more; `None` where
    /// repeats say what the error is, or nothing does.
    pub borrowed: Option<usize>,
}

/// As [`with_shares`], without these.
///
/// Source of the correction for many tests: Holm, "A simple sequentially rejective multiple test
/// procedure", Scandinavian Journal of Statistics 6 (1979), with weights; for many pairs of levels:
/// Bonferroni. For tests alone, which need no shares.
#[cfg(test)]
pub fn main_effects(factors: &[Factor], runs: &[Run]) -> Option<MainEffects> {
    Some(judged(factors, &[], runs)?.1)
}

/// The effects of `factors` on `runs`, with the share of the variance that each explains; `None`
/// without runs or factors. `classes` has for each factor the class of each of its levels, what
/// goes with them alike; nothing for a factor (or for all) whose levels are of one class, or of one
/// each. Takes some milliseconds. Sources as of `main_effects`: Holm's weighted procedure
/// (Scandinavian Journal of Statistics 6, 1979), and Bonferroni for pairs of levels; of nested
/// factors: Montgomery, "Design and Analysis of Experiments", chapter 14.
pub fn with_shares(
    factors: &[Factor],
    classes: &[Vec<usize>],
    runs: &[Run],
) -> Option<MainEffects> {
    let (table, mut found) = judged(factors, classes, runs)?;
    let pairs = found.interactions.as_deref_mut().unwrap_or_default();
    let borrowed = found.borrowed.is_some();
    found.error_share = shares::shares(&table, &mut found.effects, pairs, borrowed);
    Some(found)
}

fn judged(
    factors: &[Factor],
    classes: &[Vec<usize>],
    runs: &[Run],
) -> Option<(Table, MainEffects)> {
    if factors.is_empty() || runs.is_empty() {
        return None;
    }
    let mut table = Table::of(factors, runs);
    let columns = Columns::additive(factors, &table.cells, &|_| true);
    let pairs = Columns::with_pairs(factors, &table.cells);
    let borrowed = table.borrow(&columns, pairs.as_ref());
    let total = about_replicates(runs);
    let share = |squares: f64| if total > 0.0 { (squares / total).clamp(0.0, 1.0) } else { 0.0 };
    let beyond = columns.fit.left(&table.strata.cell_means());
    let effect = |number: usize| {
        let none = Vec::new();
        let classes = classes.get(number).unwrap_or(&none);
        let Some(effect) = effect(number, classes, &columns, &table) else {
            let aliases = aliases(number, factors, &table.cells);
            return MainEffect { aliases, ..MainEffect::default() };
        };
        let of_runs: Vec<f64> =
            runs.iter().map(|run| effect.levels[run.levels[number]].value).collect();
        MainEffect { share: share(about_mean(&of_runs)), ..effect }
    };
    let mut effects: Vec<MainEffect> = (0..factors.len()).map(effect).collect();
    // What is taken as error is not tested.
    let mut interactions = pairs
        .as_ref()
        .filter(|_| borrowed != Some(2))
        .map(|columns| interactions::interactions(factors, columns, &table));
    let mut spread = spread::spread(factors, runs);
    correct(&mut effects, interactions.as_deref_mut().unwrap_or_default(), &mut spread);
    if let (Some(found), Some(columns)) = (&mut interactions, &pairs) {
        interactions::detail(found, factors, columns, &table);
    }
    let together = beyond.iter().zip(table.strata.totals());
    let together = share(together.map(|(left, total)| left * left * total).sum());
    let found = MainEffects {
        effects,
        interactions,
        spread,
        together,
        error_share: None,
        replicates: table.strata.replicates(),
        borrowed,
    };
    Some((table, found))
}

/// A chance, what would have been found, where that is told, and what both come from.
type Tested<'a> = (&'a mut Option<f64>, Option<&'a mut Option<f64>>, Option<Judged>);

impl Span {
    fn tested(&mut self) -> Tested<'_> {
        (&mut self.chance, Some(&mut self.detectable), self.judged)
    }
}

/// Corrects chances for how many there are, and says what would have been found.
fn correct(
    effects: &mut [MainEffect],
    interactions: &mut [Interaction],
    spread: &mut [Option<Span>],
) {
    let alone = effects.iter_mut().flat_map(|it| [it.span.as_mut(), it.beside.as_mut()]);
    let alone = alone.flatten().map(Span::tested).collect();
    let pairs = interactions.iter_mut().filter_map(|it| it.most.as_mut());
    let pairs = pairs.map(|it| (&mut it.chance, None, it.judged)).collect();
    let spread = spread.iter_mut().flatten().map(Span::tested).collect();
    let families: [Vec<Tested<'_>>; 3] = [alone, pairs, spread];
    let many = families.each_ref().map(|of| of.iter().filter(|it| it.2.is_some()).count());
    let all: f64 = PARTS.iter().zip(many).filter(|(_, many)| *many > 0).map(|(of, _)| of).sum();
    let mut chances = Vec::new();
    for ((family, part), many) in families.into_iter().zip(PARTS).zip(many) {
        for (chance, detectable, judged) in family {
            let Some(judged) = judged else { continue };
            let part = part / many as f64 / all;
            if let Some(detectable) = detectable {
                *detectable = Some(judged.detectable(part));
            }
            chances.extend(chance.as_mut().map(|chance| (chance, part)));
        }
    }
    holm_weighted(chances);
}

/// Runs sorted into cells.
struct Table {
    factors: Vec<Factor>,
    /// The levels of each cell.
    cells: Vec<Vec<usize>>,
    /// For each size of plot but the trial, dearest first: what each cell has set in it.
    plots: Vec<Vec<usize>>,
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
        Table { factors: factors.to_vec(), cells, plots, strata }
    }

    /// Takes interactions as error where nothing was repeated: those of three factors and more, or,
    /// where these are too few, those of two; which, by their number of factors.
    fn borrow(&mut self, alone: &Columns<'_>, pairs: Option<&Columns<'_>>) -> Option<usize> {
        let models = [(3, pairs.filter(|_| self.factors.len() > 2)), (2, Some(alone))];
        let borrow = |(order, columns): (usize, Option<&Columns<'_>>)| {
            let columns = columns?;
            let rows: Vec<Vec<usize>> = self.cells.iter().map(|cell| columns.row(cell)).collect();
            let many = columns.fit.columns();
            self.strata.borrow(&rows, many, COLUMNS_MAX).then_some(order)
        };
        models.into_iter().find_map(borrow)
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

/// A difference that was picked among several, and how sure it is.
#[derive(Clone, Copy, Debug)]
struct Judged {
    deviation: f64,
    freedom: f64,
    /// Among how many it was picked.
    among: f64,
    /// The deviation and its degrees of freedom by the cells that are compared alone, where that is
    /// what a claim has to hold by, too.
    apart: Option<(f64, f64)>,
}

impl Judged {
    fn of(error: Precision, among: f64) -> Judged {
        Judged { deviation: error.variance.sqrt(), freedom: error.freedom, among, apart: None }
    }

    /// Half the 95 % interval that holds for all of them at once (Bonferroni).
    fn half(&self) -> f64 {
        t_quantile(1.0 - CHANCE / 2.0 / self.among, self.freedom) * self.deviation
    }

    /// How likely so large a difference were in any of them, if there were none.
    fn chance(&self, difference: f64) -> f64 {
        let chance = match (difference.abs() > 1e-9, self.deviation > 0.0) {
            (_, true) => t_two_sided(difference / self.deviation, self.freedom) * self.among,
            (true, false) => 0.0,
            (false, false) => 1.0,
        };
        chance.min(1.0)
    }

    /// The difference that would have been claimed four times in five by the first step of Holm's
    /// procedure, which no claim can do without, when this has `part` of the error allowed.
    fn detectable(&self, part: f64) -> f64 {
        let needed = t_quantile(1.0 - CHANCE * part / 2.0 / self.among, self.freedom);
        (needed + t_quantile(0.8, self.freedom)) * self.deviation
    }
}

/// What a factor does whose levels have these classes; `None` where it cannot be told from others.
fn effect(
    number: usize,
    classes: &[usize],
    columns: &Columns<'_>,
    table: &Table,
) -> Option<MainEffect> {
    let many = table.factors[number].levels;
    if many < 2 || !columns.separable(number) {
        return None;
    }
    let even = 1.0 / many as f64;
    let level = |level: usize| {
        let weights = (0..many).map(|it| f64::from(u8::from(it == level)) - even);
        let weights = columns.fit.weights(&columns.of_levels(number, weights))?;
        table.strata.contrast(&weights)
    };
    let contrasts: Vec<Contrast> = (0..many).map(level).collect::<Option<_>>()?;
    let levels: Vec<Estimate> = contrasts.iter().map(t_interval).collect();
    let values: Vec<f64> = levels.iter().map(|level| level.value).collect();
    let sets = nested::sets(classes, many);
    let picked = nested::within(&sets, &values)?;
    let apart = Apart { number, columns, table };
    let (span, rests) = apart.span(&picked)?;
    let beside = nested::between(&sets, &values);
    let beside = beside.and_then(|picked| Some(apart.span(&picked)?.0));
    let term = term(&contrasts);
    Some(MainEffect { levels, span: Some(span), beside, rests, term, ..MainEffect::default() })
}

/// Sets of a factor's levels, held against each other.
struct Apart<'a> {
    number: usize,
    columns: &'a Columns<'a>,
    table: &'a Table,
}

impl Apart<'_> {
    /// How far the means of two sets of levels are apart, and what that rests on alone.
    fn span(&self, picked: &nested::Picked) -> Option<(Span, Option<Rest>)> {
        let Apart { number, columns, table } = *self;
        let share = |set: &[usize], level: usize| match set.contains(&level) {
            true => 1.0 / set.len() as f64,
            false => 0.0,
        };
        let weight = |level: usize| share(&picked.more, level) - share(&picked.less, level);
        let of = columns.of_levels(number, (0..table.factors[number].levels).map(weight));
        let weights = columns.fit.weights(&of)?;
        let contrast = table.strata.contrast(&weights)?;
        let value = contrast.value;
        let judged = contrast.error.map(|error| Judged::of(error, picked.among));
        let judged = judged.map(|it| it.beside(table, &[number], &weights));
        let rest = alone::rest(table, columns, &[number], &of, &weights);
        let span = Span {
            most: picked.most,
            least: picked.least,
            difference: around(value, judged.as_ref().map(Judged::half)),
            chance: judged.as_ref().map(|judged| judged.chance_beside(value, rest.as_ref())),
            detectable: None,
            judged,
        };
        let rest = rest.filter(|rest| judged.is_some_and(|it| it.rests(value, rest)));
        Some((span, rest))
    }
}

/// How large the effects of all levels are; `None` without their errors.
fn term(contrasts: &[Contrast]) -> Option<Term> {
    let (many, freedom) = (contrasts.len() as f64, contrasts.len() as f64 - 1.0);
    let mut parts = Vec::new();
    for contrast in contrasts {
        let of = &contrast.error.as_ref()?.parts;
        parts.resize(of.len(), 0.0);
        parts.iter_mut().zip(of).for_each(|(sum, part)| *sum += part / freedom);
    }
    let squares = contrasts.iter().map(|it| it.value * it.value).sum::<f64>() / many;
    Some(Term { squares, many, freedom, parts })
}

/// A contrast with a 95 % interval of its own.
fn t_interval(contrast: &Contrast) -> Estimate {
    let error = contrast.error.as_ref();
    let half = error.map(|error| t_quantile(0.975, error.freedom) * error.variance.sqrt());
    around(contrast.value, half)
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
    let decides = |other: &usize| {
        Columns::additive(factors, cells, &|within| within != *other).separable(number)
    };
    others.filter(decides).collect()
}

#[cfg(test)]
mod tests;
