//! Cells that do not scatter alike: the error of a contrast from the cells that are in it.
//!
//! Sources: Welch, "The significance of the difference between two means when the population
//! variances are unequal", Biometrika 29 (1938); Satterthwaite, Biometrics Bulletin 2 (1946).

use super::{Precision, Strata};

/// Fewer repeats of a cell say next to nothing of its own scatter.
const REPEATS_MIN: f64 = 3.0;

impl Strata {
    /// The error of the sum of cell means times `weights` by the scatter of each cell with a weight
    /// for itself, what replicates were worth taken out. `None` with plots larger than a trial,
    /// with two cells alone (whose differences are one scatter), or with fewer than three repeats
    /// of one with a weight.
    pub fn apart(&self, weights: &[f64]) -> Option<Precision> {
        let cells = self.cells();
        let often = |cell: usize| weights[cell] == 0.0 || self.totals()[cell] >= REPEATS_MIN;
        if !self.plots.is_empty() || cells < 3 || !(0..cells).all(often) {
            return None;
        }
        let (blocks, means) = (self.blocks(), self.cell_means());
        let mut squares = vec![0.0; cells];
        for it in &self.observations {
            squares[it.cell] += (it.value - blocks[it.replicate] - means[it.cell]).powi(2);
        }
        // What the replicates took out of each cell.
        let shrunk = 1.0 - 1.0 / cells as f64;
        let (mut variance, mut spread) = (0.0, 0.0);
        for (cell, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let (total, freedom) = (self.totals()[cell], self.totals()[cell] - 1.0);
            let part = weight * weight * squares[cell] / freedom / shrunk / total;
            variance += part;
            spread += part * part / freedom;
        }
        let freedom = if spread > 0.0 { variance * variance / spread } else { f64::MAX };
        Some(Precision { variance, freedom, parts: Vec::new() })
    }
}
