//! Two-way interactions: whether what one factor does depends on another.
//!
//! Four cells' means decide it: two levels of the one under two levels of the other. Of all such
//! fours the largest difference of differences is told, and judged as one picked among all of them.

use super::columns::Columns;
use super::term::Term;
use super::{CHANCE, Factor, Judged, Table, alone, around, t_interval};
use crate::stats::{Estimate, mean};

/// Whether what one factor does depends on another.
#[derive(Clone, Debug)]
pub struct Interaction {
    /// The one whose effect differs: of the two the one that is cheaper to change.
    pub factor: usize,
    /// The one on which that depends.
    pub on: usize,
    /// Where it differs most; `None` when it cannot be told from other effects.
    pub most: Option<Differing>,
    /// What each level of [`Interaction::factor`] does under each level of [`Interaction::on`],
    /// where the interaction is more than chance: against the mean of all its levels there, so that
    /// what is dearer is in neither. Each with a 95 % interval of its own.
    pub lines: Vec<Vec<Estimate>>,
}

/// Two levels of a factor under two levels of another.
#[derive(Clone, Debug)]
pub struct Differing {
    /// Levels of the factor: what the first has more than the second ...
    pub levels: [usize; 2],
    /// ... under these levels of the other: the first is where that is most.
    pub under: [usize; 2],
    /// How much the first level has more than the second, under each; 95 % intervals of their own.
    pub effects: [Estimate; 2],
    /// How much these differ, with a 95 % interval that allows for having picked these four.
    pub difference: Estimate,
    /// How likely so large a difference were in anything that is tested, if nothing had an effect
    /// (Holm); `None` without an error to judge by.
    pub chance: Option<f64>,
    /// Share of all variance that the interaction explains; see
    /// [`super::MainEffect::omega_squared`].
    pub omega_squared: Option<Estimate>,
    pub(super) judged: Option<Judged>,
    pub(super) term: Option<Term>,
}

/// The interactions of all pairs of factors; none of a pair whose error cannot be had.
pub fn interactions(factors: &[Factor], columns: &Columns<'_>, table: &Table) -> Vec<Interaction> {
    let solved = columns.fit.solve(&table.strata.cell_means());
    let pairs =
        (0..factors.len()).flat_map(|one| (one + 1..factors.len()).map(move |other| (one, other)));
    let of = |(one, other): (usize, usize)| {
        // The cheaper one does something that depends on the dearer; of equals the later.
        let earlier = factors[one].stratum > factors[other].stratum;
        let (factor, on) = if earlier { (one, other) } else { (other, one) };
        let pair = Pair { factors, columns, table, factor, on };
        Interaction { factor, on, most: pair.most(&solved), lines: Vec::new() }
    };
    pairs.map(of).collect()
}

/// Fills in the lines where an interaction is more than chance.
pub fn detail(found: &mut [Interaction], factors: &[Factor], columns: &Columns<'_>, table: &Table) {
    let claimed = |it: &&mut Interaction| {
        it.most.as_ref().is_some_and(|most| most.chance.is_some_and(|chance| chance <= CHANCE))
    };
    for it in found.iter_mut().filter(claimed) {
        let pair = Pair { factors, columns, table, factor: it.factor, on: it.on };
        it.lines = pair.lines().unwrap_or_default();
    }
}

struct Pair<'a> {
    factors: &'a [Factor],
    columns: &'a Columns<'a>,
    table: &'a Table,
    factor: usize,
    on: usize,
}

impl Pair<'_> {
    /// The coefficient of each pair of levels: all that differences of differences contain.
    fn together(&self, solved: &[f64]) -> Vec<Vec<f64>> {
        let (levels, under) = (self.factors[self.factor].levels, self.factors[self.on].levels);
        let alone = |at: Vec<usize>| at.into_iter().map(|at| solved[at]).sum::<f64>();
        let mut cell = vec![0; self.factors.len()];
        let mut value = |level: usize, beside: usize| {
            cell[self.factor] = level;
            cell[self.on] = beside;
            alone(self.columns.row(&cell))
        };
        (0..levels).map(|level| (0..under).map(|it| value(level, it)).collect()).collect()
    }

    /// The four that differ most: levels of the factor, and of the one on which it depends.
    fn four(&self, solved: &[f64]) -> ([usize; 2], [usize; 2]) {
        let values = self.together(solved);
        let (mut best, mut most) = (([1, 0], [1, 0]), f64::NEG_INFINITY);
        for one in 0..values.len() {
            for other in 0..one {
                let gain = |at: &usize| values[one][*at] - values[other][*at];
                let by_gain = |a: &usize, b: &usize| gain(a).total_cmp(&gain(b));
                let under = 0..values[one].len();
                let Some(high) = under.clone().max_by(by_gain) else { continue };
                let Some(low) = under.min_by(by_gain) else { continue };
                if high != low && gain(&high) - gain(&low) > most {
                    most = gain(&high) - gain(&low);
                    best = ([one, other], [high, low]);
                }
            }
        }
        best
    }

    fn most(&self, solved: &[f64]) -> Option<Differing> {
        let (mut levels, mut under) = self.four(solved);
        let fits = |at: usize| self.columns.fit.weights(&self.gain(levels, at));
        let (mut high, mut low) = (fits(under[0])?, fits(under[1])?);
        let contrast = |weights: &[f64]| self.table.strata.contrast(weights);
        let [mut first, mut second] = [contrast(&high)?, contrast(&low)?];
        // Told from where it is largest, and as more rather than as less.
        if second.value.abs() > first.value.abs() {
            levels.reverse();
            under.reverse();
            let negative = |of: &mut Vec<f64>| of.iter_mut().for_each(|weight| *weight = -*weight);
            negative(&mut high);
            negative(&mut low);
            std::mem::swap(&mut high, &mut low);
            [first, second] = [contrast(&high)?, contrast(&low)?];
        }
        let weights: Vec<f64> = high.iter().zip(&low).map(|(a, b)| a - b).collect();
        let differing = contrast(&weights)?;
        let pairs = |many: usize| (many * (many - 1) / 2) as f64;
        let fours = pairs(self.factors[self.factor].levels) * pairs(self.factors[self.on].levels);
        let value = differing.value;
        let term = differing.error.as_ref().map(|error| self.term(solved, &error.parts));
        let own = [self.factor, self.on];
        let judged = differing.error.map(|error| Judged::of(error, fours));
        let judged = judged.map(|it| it.beside(self.table, &own, &weights));
        let [of, other] = under.map(|at| self.gain(levels, at));
        let of: Vec<f64> = of.iter().zip(&other).map(|(a, b)| a - b).collect();
        let rest = alone::rest(self.table, self.columns, &own, &of, &weights);
        Some(Differing {
            levels,
            under,
            effects: [t_interval(&first), t_interval(&second)],
            difference: around(value, judged.as_ref().map(Judged::half)),
            chance: judged.as_ref().map(|judged| judged.chance_beside(value, rest.as_ref())),
            omega_squared: None,
            judged,
            term,
        })
    }

    /// How large the interaction is in all; `parts` are those of the variance of four cells, of
    /// which each has a quarter. Where trials are missing, other fours may have a little more or
    /// less.
    fn term(&self, solved: &[f64], parts: &[f64]) -> Term {
        let values = self.together(solved);
        let (rows, columns) = (values.len() as f64, values[0].len() as f64);
        let row: Vec<f64> = values.iter().map(|row| mean(row)).collect();
        let column = |at: usize| values.iter().map(|row| row[at]).sum::<f64>() / rows;
        let column: Vec<f64> = (0..values[0].len()).map(column).collect();
        let all = mean(&row);
        let squares: f64 = values
            .iter()
            .zip(&row)
            .flat_map(|(values, row)| {
                values.iter().zip(&column).map(move |(it, column)| it - row - column + all)
            })
            .map(|it| it * it)
            .sum();
        let many = rows * columns;
        Term {
            squares: squares / many,
            many,
            freedom: (rows - 1.0) * (columns - 1.0),
            parts: parts.iter().map(|part| part / 4.0).collect(),
        }
    }

    /// The weights of columns that say what the first of two levels has more than the second, under
    /// one level of the other factor.
    fn gain(&self, levels: [usize; 2], at: usize) -> Vec<f64> {
        let margin =
            |level: usize| self.columns.margin(&[(self.factor, level), (self.on, at)]).into_iter();
        margin(levels[0]).zip(margin(levels[1])).map(|(a, b)| a - b).collect()
    }

    fn lines(&self) -> Option<Vec<Vec<Estimate>>> {
        let point = |level: usize, at: usize| {
            let all = self.columns.margin(&[(self.on, at)]);
            let here = self.columns.margin(&[(self.factor, level), (self.on, at)]);
            let of: Vec<f64> = here.iter().zip(&all).map(|(here, all)| here - all).collect();
            let weights = self.columns.fit.weights(&of)?;
            Some(t_interval(&self.table.strata.contrast(&weights)?))
        };
        let levels = 0..self.factors[self.factor].levels;
        let under = 0..self.factors[self.on].levels;
        under.map(|at| levels.clone().map(|level| point(level, at)).collect()).collect()
    }
}
