//! Which factors change how much repeats differ.
//!
//! The response is the logarithm of the standard deviation of the repeats of each cell. Its scatter
//! from cell to cell is known for normal values alone (the trigamma function of half the degrees
//! of freedom), and is twice that where tails are heavy; so it is taken from the cells themselves:
//! what an additive model of all factors leaves, with plots kept apart, as cells of one layout
//! share what its repeats differed by. It has to be alike in all cells, and what factors do
//! together to the spread is in it.
//!
//! Sources: Bartlett and Kendall, "The statistical analysis of variance-heterogeneity and the
//! logarithmic transformation", Supplement to the Journal of the Royal Statistical Society 8
//! (1946); Box, "Non-normality and tests on variances", Biometrika 40 (1953), for why not by the
//! former.

use std::collections::BTreeMap;

use statrs::function::gamma::digamma;

use super::columns::{COLUMNS_MAX, Columns};
use super::{Factor, Run, Span, Table, effect};
use crate::stats::sample_variance;

/// Fewer repeats of a cell say next to nothing of how much they differ.
const REPEATS_MIN: usize = 3;

/// How much more, as a difference of logarithms, repeats differ at one level of each factor than at
/// another; empty where cells were not repeated often enough to tell of any, or did not differ.
pub fn spread(factors: &[Factor], runs: &[Run]) -> Vec<Option<Span>> {
    let mut cells: BTreeMap<&[usize], Vec<f64>> = BTreeMap::new();
    for run in runs {
        cells.entry(&run.levels).or_default().push(run.value);
    }
    let often = cells.into_iter().filter(|(_, values)| values.len() >= REPEATS_MIN);
    let of = |(levels, values): (&[usize], Vec<f64>)| {
        let variance = sample_variance(&values);
        let half = (values.len() - 1) as f64 / 2.0;
        // What the logarithm of few is too small by, on average.
        let value = (variance.ln() - digamma(half) + half.ln()) / 2.0;
        (variance > 0.0).then(|| Run { replicate: 0, levels: levels.to_vec(), value })
    };
    let Some(deviations) = often.map(of).collect::<Option<Vec<Run>>>() else { return Vec::new() };
    if deviations.is_empty() {
        return Vec::new();
    }
    let mut table = Table::of(factors, &deviations);
    let columns = Columns::additive(factors, &table.cells, &|_| true);
    let rows: Vec<Vec<usize>> = table.cells.iter().map(|cell| columns.row(cell)).collect();
    if !table.strata.borrow(&rows, columns.fit.columns(), COLUMNS_MAX) {
        return Vec::new();
    }
    (0..factors.len()).map(|number| effect(number, &[], &columns, &table)?.span).collect()
}
