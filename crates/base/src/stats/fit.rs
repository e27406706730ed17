//! Least squares on columns of zeros and ones, as the levels of factors and the numbers of plots
//! are written.

use super::sweep::{generalized_inverse, times};

/// A linear model of zeros and ones: for each observation, those of its columns that are 1.
#[derive(Debug)]
pub struct IndicatorModel {
    rows: Vec<Vec<usize>>,
    normal: Vec<Vec<f64>>,
    inverse: Vec<Vec<f64>>,
    rank: usize,
}

impl IndicatorModel {
    /// The model with `columns` columns, of which each of `rows` lists those that are 1 in it.
    /// Takes time in proportion to the cube of the columns.
    pub fn from_rows(rows: Vec<Vec<usize>>, columns: usize) -> IndicatorModel {
        let mut normal = vec![vec![0.0; columns]; columns];
        for row in &rows {
            for one in row {
                row.iter().for_each(|other| normal[*one][*other] += 1.0);
            }
        }
        let (inverse, rank) = generalized_inverse(normal.clone());
        IndicatorModel { rows, normal, inverse, rank }
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.normal.len()
    }

    /// Observations less the columns that no others make up.
    pub fn freedom(&self) -> f64 {
        self.rows.len() as f64 - self.rank as f64
    }

    /// The weights of observations that estimate the sum of coefficients times `of`, one a column;
    /// `None` when the observations do not decide it.
    pub fn weights(&self, of: &[f64]) -> Option<Vec<f64>> {
        let solved = times(&self.inverse, of);
        let back = times(&self.normal, &solved);
        if back.iter().zip(of).any(|(back, of)| (back - of).abs() > 1e-7) {
            return None;
        }
        Some(self.fitted(&solved))
    }

    /// The coefficients, one a column, for `values`, one an observation.
    pub fn solve(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns()];
        for (row, value) in self.rows.iter().zip(values) {
            row.iter().for_each(|at| sums[*at] += value);
        }
        times(&self.inverse, &sums)
    }

    /// What is left of each of `values`, one an observation.
    pub fn left(&self, values: &[f64]) -> Vec<f64> {
        let fitted = self.fitted(&self.solve(values));
        values.iter().zip(fitted).map(|(value, fitted)| value - fitted).collect()
    }

    /// The sum of the squares that are left of an observation's values (number and value; all
    /// others are zero).
    pub fn squares_left(&self, values: &[(usize, f64)]) -> f64 {
        let mut sums = vec![0.0; self.columns()];
        let mut own = 0.0;
        for (number, value) in values {
            self.rows[*number].iter().for_each(|at| sums[*at] += value);
            own += value * value;
        }
        // Few columns have anything of a plot.
        let some: Vec<usize> = (0..sums.len()).filter(|at| sums[*at] != 0.0).collect();
        let entry = |one: &usize| {
            let of = |other: &usize| self.inverse[*one][*other] * sums[*other];
            sums[*one] * some.iter().map(of).sum::<f64>()
        };
        (own - some.iter().map(entry).sum::<f64>()).max(0.0)
    }

    fn fitted(&self, coefficients: &[f64]) -> Vec<f64> {
        let of = |row: &Vec<usize>| row.iter().map(|at| coefficients[*at]).sum();
        self.rows.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean, and what the second of two levels adds: three observations and one.
    #[test]
    fn a_line_through_two_levels_has_their_means() {
        let fit = IndicatorModel::from_rows(vec![vec![0], vec![0], vec![0], vec![0, 1]], 2);
        let values = [1.0, 2.0, 3.0, 7.0];
        let solved = fit.solve(&values);
        assert!((solved[0] - 2.0).abs() < 1e-12 && (solved[1] - 5.0).abs() < 1e-12, "{solved:?}");
        let weights = fit.weights(&[0.0, 1.0]).unwrap();
        assert!((weights[3] - 1.0).abs() < 1e-12 && (weights[0] + 1.0 / 3.0).abs() < 1e-12);
        assert!((fit.freedom() - 2.0).abs() < 1e-12);
        let numbered: Vec<(usize, f64)> = values.into_iter().enumerate().collect();
        let squares: f64 = fit.left(&values).iter().map(|left| left * left).sum();
        assert!((squares - 2.0).abs() < 1e-12);
        assert!((fit.squares_left(&numbered) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_no_observation_decides_has_no_weights() {
        // The two columns are the same one.
        let fit = IndicatorModel::from_rows(vec![vec![0], vec![0, 1, 2]], 3);
        assert!(fit.weights(&[0.0, 1.0, 0.0]).is_none());
        assert!(fit.weights(&[0.0, 1.0, 1.0]).is_some() && fit.freedom() == 0.0);
    }
}
