//! Whether what is found rests on one combination alone.
//!
//! The error of a stratum is that of all its plots together, as if all scattered alike. A server
//! has cells that do not: four mirrors give one stream what the placing of its file happens to
//! allow. With two repeats such a cell agrees with itself now and then, by luck, and then nothing
//! in the repeats tells it from the quiet ones; what it is off by is taken for an effect. In our
//! tests that is a false claim in 10 to 20 % of campaigns with one such cell, whatever the error
//! allowed. But it stands alone: of the other combinations none shows the effect. So no claim is
//! made that does not hold without any one combination of the levels of the other factors, those of
//! its own plots first.
//!
//! Where there is no other factor, a claim has to hold by the scatter of the cells it compares.
//!
//! Sources: Tukey, "Bias and confidence in not-quite large samples", Annals of Mathematical
//! Statistics 29 (1958), for leaving one out at a time; Milliken and Johnson, "Analysis of Messy
//! Data", volume 1, 2nd edition (2009), chapter 2, for scatter that is not alike.

use std::collections::BTreeMap;

use super::columns::Columns;
use super::{CHANCE, Judged, Table};
use crate::stats::fit::IndicatorModel;

/// Solving a model anew for each combination may take so many multiplications: a tenth of a second.
const WORK_MAX: usize = 50_000_000;

/// A contrast without the combination on which most of it rests.
#[derive(Clone, Debug)]
pub struct Rest {
    /// That combination: factors and their levels.
    pub on: Vec<(usize, usize)>,
    /// What the contrast is without it.
    pub without: f64,
    /// How many times as large its standard error is then.
    stretch: f64,
}

impl Judged {
    /// How likely so large a `value` were if there were none, with each combination and without
    /// any one of them.
    pub fn chance_beside(&self, value: f64, rest: Option<&Rest>) -> f64 {
        let chance = self.chance(value);
        let without = rest.map(|rest| self.chance_without(value, rest));
        let apart = self
            .apart
            .map(|(deviation, freedom)| Judged { deviation, freedom, ..*self }.chance(value));
        without.into_iter().chain(apart).fold(chance, f64::max)
    }

    /// Whether `value` would be more than chance but for one combination.
    pub fn rests(&self, value: f64, rest: &Rest) -> bool {
        self.chance(value) <= CHANCE && self.chance_without(value, rest) > CHANCE
    }

    fn chance_without(&self, value: f64, rest: &Rest) -> f64 {
        if rest.without * value <= 0.0 {
            return 1.0;
        }
        let deviation = self.deviation * rest.stretch;
        Judged { deviation, ..*self }.chance(rest.without)
    }

    /// With the error by the cells that are compared alone, where no other factor tells more.
    pub fn beside(self, table: &Table, own: &[usize], weights: &[f64]) -> Judged {
        let alone = table.combinations(own).is_none();
        let apart = if alone { table.strata.apart(weights) } else { None };
        Judged { apart: apart.map(|error| (error.variance.sqrt(), error.freedom)), ..self }
    }
}

/// What a contrast of cells rests on: `of` has a weight for each column of the model and `weights`
/// one for each cell, between levels of the factors that are its `own`. `None` where cells were not
/// repeated (then what stands alone is in the error), where there is no other combination, or
/// where cells are missing and there are too many combinations to solve the model without each.
pub fn rest(
    table: &Table,
    columns: &Columns<'_>,
    own: &[usize],
    of: &[f64],
    weights: &[f64],
) -> Option<Rest> {
    if table.strata.unreplicated() {
        return None;
    }
    let (beside, combinations) = table.combinations(own)?;
    let means = table.strata.cell_means();
    let all: f64 = weights.iter().zip(&means).map(|(weight, mean)| weight * mean).sum();
    let size = |weights: &[f64]| weights.iter().map(|it| it * it).sum::<f64>().sqrt();
    let whole = table.cells.len() == table.factors.iter().map(|it| it.levels).product::<usize>();
    if !whole && columns.fit.columns().pow(3) * combinations.len() > WORK_MAX {
        return None;
    }
    let many = combinations.len() as f64;
    let without = |cells: &[usize]| -> Option<(f64, f64)> {
        if whole {
            let here: f64 = cells.iter().map(|cell| weights[*cell] * means[*cell]).sum();
            return Some(((all - here) * many / (many - 1.0), (many / (many - 1.0)).sqrt()));
        }
        let mut left = (0..table.cells.len()).collect::<Vec<_>>();
        left.retain(|cell| cells.binary_search(cell).is_err());
        let rows = left.iter().map(|cell| columns.row(&table.cells[*cell])).collect();
        let others = IndicatorModel::from_rows(rows, columns.fit.columns()).weights(of)?;
        let value = left.iter().zip(&others).map(|(cell, weight)| means[*cell] * weight).sum();
        Some((value, size(&others) / size(weights)))
    };
    let rests = combinations.iter().filter_map(|(levels, cells)| {
        let (value, stretch) = without(cells)?;
        let on = beside.iter().copied().zip(levels.iter().copied()).collect();
        Some(Rest { on, without: value, stretch })
    });
    let left = |rest: &Rest| rest.without * all.signum() / rest.stretch;
    rests.min_by(|a, b| left(a).total_cmp(&left(b)))
}

/// Factors, and the cells of each combination of their levels, in order.
type Combinations = (Vec<usize>, Vec<(Vec<usize>, Vec<usize>)>);

impl Table {
    /// The combinations of the levels of other factors: of those that are set for as long as the
    /// `own` ones or longer, and where that is one alone, of all. `None` where that is one, too.
    fn combinations(&self, own: &[usize]) -> Option<Combinations> {
        let most = own.iter().map(|number| self.factors[*number].stratum).max()?;
        let others = |most: usize| -> Combinations {
            let beside: Vec<usize> = (0..self.factors.len())
                .filter(|it| !own.contains(it) && self.factors[*it].stratum <= most)
                .collect();
            let mut found: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
            for (number, cell) in self.cells.iter().enumerate() {
                let levels = beside.iter().map(|factor| cell[*factor]).collect();
                found.entry(levels).or_default().push(number);
            }
            (beside, found.into_iter().collect())
        };
        [most, usize::MAX].into_iter().map(others).find(|(_, found)| found.len() > 1)
    }
}
