//! A generalized inverse of a small symmetric matrix, by sweeping it in place.

/// A pivot below this share of its own diagonal is a column that others make up: the matrices here
/// are counts of designs, whose true pivots are far above it and whose rounding far below.
const DEPENDENT: f64 = 1e-9;

/// G with A G A = A for a symmetric, positive semi-definite A, and the rank of A. Rows and columns
/// that those before them make up are zero in G; where the rank is full, G is the inverse.
///
/// Source: Goodnight, "A tutorial on the SWEEP operator", The American Statistician 33 (1979).
pub fn generalized_inverse(mut a: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, usize) {
    let size = a.len();
    let diagonal: Vec<f64> = (0..size).map(|k| a[k][k]).collect();
    let mut rank = 0;
    for k in 0..size {
        let pivot = a[k][k];
        if pivot.is_nan() || pivot <= DEPENDENT * diagonal[k] {
            a[k].fill(0.0);
            a.iter_mut().for_each(|row| row[k] = 0.0);
            continue;
        }
        rank += 1;
        a[k].iter_mut().for_each(|entry| *entry /= pivot);
        let swept = a[k].clone();
        for (i, row) in a.iter_mut().enumerate() {
            let factor = row[k];
            if i == k || factor == 0.0 {
                continue;
            }
            for (entry, of) in row.iter_mut().zip(&swept) {
                *entry -= factor * of;
            }
            row[k] = -factor / pivot;
        }
        a[k][k] = 1.0 / pivot;
    }
    (a, rank)
}

/// The product of a matrix and a vector.
pub fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

/// The sum of the products of entries.
pub fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_full_rank_has_its_inverse() {
        let (inverse, rank) = generalized_inverse(vec![vec![4.0, 2.0], vec![2.0, 3.0]]);
        assert_eq!(rank, 2);
        let expected = [[0.375, -0.25], [-0.25, 0.5]];
        for (row, known) in inverse.iter().zip(expected) {
            assert!(row.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-12), "{inverse:?}");
        }
    }

    #[test]
    fn a_column_that_others_make_up_is_zero_and_a_g_a_is_a() {
        // The centering matrix of three, times six: rank 2.
        let a: Vec<Vec<f64>> =
            (0..3).map(|i| (0..3).map(|j| if i == j { 4.0 } else { -2.0 }).collect()).collect();
        let (g, rank) = generalized_inverse(a.clone());
        assert_eq!(rank, 2);
        assert_eq!(g[2], [0.0; 3]);
        for j in 0..3 {
            let column: Vec<f64> = a.iter().map(|row| row[j]).collect();
            let back = times(&a, &times(&g, &column));
            assert!(back.iter().zip(&column).all(|(x, y)| (x - y).abs() < 1e-9), "{back:?}");
        }
        assert_eq!(generalized_inverse(vec![vec![f64::NAN]]).1, 0);
        assert_eq!(generalized_inverse(Vec::new()).1, 0);
    }
}
