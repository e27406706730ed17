//! What was measured once: interactions taken as the error.
//!
//! Without repeats nothing says how far a second measurement would have been from the first. If
//! factors do not all act together, what is left once a model without the interactions of the
//! highest order was fitted is error; if they do, that is in it too, and the error is too large
//! rather than too small: fewer claims, and wider intervals.
//!
//! Plots are kept apart as they are with replicates: what is left between layouts judges what makes
//! a layout, and what is left within them all else.
//!
//! Sources: Yates, "The design and analysis of factorial experiments", Imperial Bureau of Soil
//! Science, technical communication 35 (1937); Montgomery, "Design and Analysis of Experiments",
//! section 6.5 (a single replicate).

use super::{ResidualSquares, Strata, Stratum, members};
use crate::stats::fit::IndicatorModel;

/// Of fewer degrees of freedom nothing is concluded: with 2, one error in twenty is 4 deviations.
pub const FREEDOM_MIN: f64 = 3.0;

impl Strata {
    /// Whether each cell was observed once, in one replicate.
    pub fn unreplicated(&self) -> bool {
        self.design.replicates == 1 && self.design.totals.iter().all(|total| *total == 1.0)
    }

    /// The error of each stratum from what a model leaves of cells that were observed once:
    /// `rows` has for each cell the columns that are 1, of `columns`. Returns whether some stratum
    /// has degrees of freedom enough; nothing is changed otherwise, or where the model and the
    /// plots are more than `most` columns.
    pub fn borrow(&mut self, rows: &[Vec<usize>], columns: usize, most: usize) -> bool {
        let dividing = self.plots.iter().map(|plots| plots.iter().max().map_or(0, |last| last + 1));
        if !self.unreplicated() || columns + dividing.max().unwrap_or(0) > most {
            return false;
        }
        let whole = std::iter::once(None).chain(self.plots.iter().map(Some));
        let mut levels: Vec<ResidualSquares> =
            whole.map(|plots| self.beyond(rows, columns, plots.map(Vec::as_slice))).collect();
        levels.push(ResidualSquares::nothing(self.plots.len() + 1));
        let strata: Vec<Stratum> =
            levels.windows(2).map(|two| Stratum::between(&two[0], &two[1])).collect();
        if strata.iter().all(|stratum| stratum.freedom < FREEDOM_MIN - 0.5) {
            return false;
        }
        self.strata = strata;
        self.freedom_min = FREEDOM_MIN;
        true
    }

    /// What is left once the model and the means of plots of one size were taken out.
    fn beyond(
        &self,
        rows: &[Vec<usize>],
        columns: usize,
        plots: Option<&[usize]>,
    ) -> ResidualSquares {
        let row = |(number, it): (usize, &super::Observation)| {
            let plot = plots.map(|plots| columns + plots[number]);
            rows[it.cell].iter().copied().chain(plot).collect()
        };
        let of = self.observations.iter().enumerate().map(row).collect();
        let many = plots.and_then(|plots| plots.iter().max()).map_or(0, |last| last + 1);
        let fit = IndicatorModel::from_rows(of, columns + many);
        let values: Vec<(usize, f64)> =
            self.observations.iter().map(|it| it.value).enumerate().collect();
        let held = |plots: &Vec<usize>| {
            let many = plots.iter().max().map_or(0, |last| last + 1);
            let each = members(plots, many).into_iter().map(|members| {
                let ones: Vec<(usize, f64)> = members.into_iter().map(|it| (it, 1.0)).collect();
                fit.squares_left(&ones)
            });
            each.sum()
        };
        let mut holds: Vec<f64> = self.plots.iter().map(held).collect();
        holds.push(fit.freedom());
        ResidualSquares { squares: fit.squares_left(&values), freedom: fit.freedom(), holds }
    }
}
