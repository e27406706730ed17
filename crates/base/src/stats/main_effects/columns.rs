//! The model of the levels: the mean, each factor by itself, and, where asked for, each pair of
//! factors together.

use super::Factor;
use crate::stats::fit::IndicatorModel;

/// A model of more columns takes seconds to solve, and is left out.
pub const COLUMNS_MAX: usize = 600;

/// A column for the mean, one for each level but the first of each factor, and one for each pair of
/// such levels of each pair of factors.
pub struct Columns<'a> {
    factors: &'a [Factor],
    /// The column of each factor's second level; `None` for a factor that is left out.
    first: Vec<Option<usize>>,
    /// Pairs of factors, each with its first column.
    pairs: Vec<(usize, usize, usize)>,
    pub fit: IndicatorModel,
}

impl<'a> Columns<'a> {
    /// The factors that are `within`, each by itself.
    pub fn additive(
        factors: &'a [Factor],
        cells: &[Vec<usize>],
        within: &dyn Fn(usize) -> bool,
    ) -> Columns<'a> {
        let (first, many) = Columns::places(factors, within);
        let rows = cells.iter().map(|cell| row(factors, &first, &[], cell)).collect();
        Columns { factors, first, pairs: Vec::new(), fit: IndicatorModel::from_rows(rows, many) }
    }

    /// All factors and all pairs of them; `None` where that is more than [`COLUMNS_MAX`].
    pub fn with_pairs(factors: &'a [Factor], cells: &[Vec<usize>]) -> Option<Columns<'a>> {
        let (first, mut many) = Columns::places(factors, &|_| true);
        let mut pairs = Vec::new();
        for one in 0..factors.len() {
            for other in one + 1..factors.len() {
                pairs.push((one, other, many));
                many += (factors[one].levels - 1) * (factors[other].levels - 1);
            }
        }
        if many > COLUMNS_MAX {
            return None;
        }
        let rows = cells.iter().map(|cell| row(factors, &first, &pairs, cell)).collect();
        Some(Columns { factors, first, pairs, fit: IndicatorModel::from_rows(rows, many) })
    }

    fn places(factors: &[Factor], within: &dyn Fn(usize) -> bool) -> (Vec<Option<usize>>, usize) {
        let mut many = 1;
        let mut place = |(number, factor): (usize, &Factor)| {
            let first = many;
            many += if within(number) { factor.levels.saturating_sub(1) } else { 0 };
            within(number).then_some(first)
        };
        (factors.iter().enumerate().map(&mut place).collect(), many)
    }

    /// The columns that are 1 in a cell of these levels.
    pub fn row(&self, cell: &[usize]) -> Vec<usize> {
        row(self.factors, &self.first, &self.pairs, cell)
    }

    /// One weight a column: the sum of `weights`, one a level, of one factor.
    pub fn of_levels(&self, number: usize, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut of = vec![0.0; self.fit.columns()];
        if let Some(first) = self.first[number] {
            // The first level is where all columns of its factor are 0.
            for (place, weight) in weights.enumerate().skip(1) {
                of[first + place - 1] = weight;
            }
        }
        of
    }

    /// One weight a column: the mean where some factors have a level, over all levels of the
    /// others.
    pub fn margin(&self, fixed: &[(usize, usize)]) -> Vec<f64> {
        let share = |factor: usize, level: usize| match fixed.iter().find(|of| of.0 == factor) {
            Some((_, at)) => f64::from(u8::from(*at == level)),
            None => 1.0 / self.factors[factor].levels as f64,
        };
        let mut of = vec![0.0; self.fit.columns()];
        of[0] = 1.0;
        for (factor, first) in self.first.iter().enumerate() {
            let Some(first) = first else { continue };
            for level in 1..self.factors[factor].levels {
                of[first + level - 1] = share(factor, level);
            }
        }
        for (one, other, first) in &self.pairs {
            let width = self.factors[*other].levels - 1;
            for level in 1..self.factors[*one].levels {
                for beside in 0..width {
                    of[first + (level - 1) * width + beside] =
                        share(*one, level) * share(*other, beside + 1);
                }
            }
        }
        of
    }

    pub fn separable(&self, number: usize) -> bool {
        let levels = self.factors[number].levels;
        (1..levels).all(|level| {
            let alone = (0..levels).map(|it| f64::from(u8::from(it == level)));
            self.fit.weights(&self.of_levels(number, alone)).is_some()
        })
    }
}

fn row(
    factors: &[Factor],
    first: &[Option<usize>],
    pairs: &[(usize, usize, usize)],
    cell: &[usize],
) -> Vec<usize> {
    let levels = first.iter().zip(cell).filter(|(_, level)| **level > 0);
    let alone = levels.filter_map(|(first, level)| Some((*first)? + level - 1));
    let together = pairs.iter().filter(|(one, other, _)| cell[*one] > 0 && cell[*other] > 0);
    let together = together.map(|(one, other, first)| {
        first + (cell[*one] - 1) * (factors[*other].levels - 1) + cell[*other] - 1
    });
    std::iter::once(0).chain(alone).chain(together).collect()
}
