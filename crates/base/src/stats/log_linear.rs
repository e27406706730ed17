//! Laws that are linear in their coefficients, fitted by least squares of the logarithms: what
//! servers do scatters in proportion to its size.
//!
//! `y = c1 x1 + c2 x2 + ...`, of which logarithms are compared. Ratios of linear functions of the
//! coefficients have Fieller's intervals, which are open where the data do not bound the ratio.
//!
//! Sources: Bates and Watts, "Nonlinear Regression Analysis and Its Applications" (1988), 2.2;
//! Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16
//! (1954); Huber, "Robust Statistics" (1981), 7.6 and 7.10.

use super::Estimate;
use super::interval::t_quantile;
use super::sweep::{dot, generalized_inverse, times};

/// Steps of Gauss and Newton; some five are needed.
const STEPS: usize = 40;

/// Residuals beyond so many deviations count in proportion to their size, not to its square: 95 %
/// as precise as least squares where the scatter is normal (Huber 1981, 4.2).
const HUBER: f64 = 1.345;

/// The median of the absolute of a normal variable, as a share of its deviation.
const MEDIAN_NORMAL: f64 = 0.6745;

/// The terms of one value, and its logarithm.
pub type Row<const P: usize> = ([f64; P], f64);

/// How much a single value may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// As much as its square (least squares).
    Square,
    /// No more than in proportion to its distance, where that is large (Huber).
    Huber,
}

/// The coefficients of a law that was fitted to the logarithms of some rows.
#[derive(Clone, Debug)]
pub struct LogFit<const P: usize> {
    /// The coefficients.
    pub coefficients: [f64; P],
    /// Their covariance.
    pub covariance: Vec<Vec<f64>>,
    /// Student's quantile for a 95 % interval.
    pub bound: f64,
    /// What is left of the logarithms, squared and summed.
    pub squares: f64,
}

/// What the data say of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ratio {
    /// Both ends are bounded.
    Within(Estimate),
    /// No upper end: the denominator may be nothing.
    NotBelow(f64),
    /// It may be anything.
    Unbounded,
}

impl<const P: usize> LogFit<P> {
    /// By the steps of Gauss and Newton, from the fit of the values themselves, each weighed by its
    /// size. `None` when the rows do not tell the coefficients apart, or there are no more rows
    /// than coefficients.
    pub fn from_rows(rows: &[Row<P>], loss: Loss) -> Option<LogFit<P>> {
        let freedom = rows.len() as f64 - P as f64;
        if freedom < 1.0 {
            return None;
        }
        // Scaled, so that the matrix of squares is a tame one.
        let most = |i: usize| rows.iter().map(|(row, _)| row[i].abs()).fold(0.0, f64::max);
        let scale: [f64; P] = std::array::from_fn(|i| most(i).max(f64::MIN_POSITIVE));
        let scaled = |(row, log): &Row<P>| (std::array::from_fn(|i| row[i] / scale[i]), *log);
        let rows: Vec<Row<P>> = rows.iter().map(scaled).collect();
        let mut all = vec![1.0; rows.len()];
        let mut found = least_squares(&rows, &all)?;
        if loss == Loss::Huber {
            for _ in 0..STEPS {
                let left = residuals(&rows, &found)?;
                all = weights(&left, freedom);
                let next = least_squares(&rows, &all)?;
                let moved = found.iter().zip(&next).map(|(a, b)| (a - b).abs());
                let still = moved.fold(0.0, f64::max) <= 1e-9 * dot(&next, &next).sqrt();
                found = next;
                if still {
                    break;
                }
            }
        }
        let left = residuals(&rows, &found)?;
        let variance = variance(&left, &all, P);
        let ones = vec![1.0; rows.len()];
        let (_, inverse) = step(&rows, &ones, |row, _| (1.0 / dot(row, &found), 0.0))?;
        let unscaled = |i: usize, j: usize| inverse[i][j] * variance / scale[i] / scale[j];
        let of = |i| (0..P).map(|j| unscaled(i, j)).collect();
        Some(LogFit {
            coefficients: std::array::from_fn(|i| found[i] / scale[i]),
            covariance: (0..P).map(of).collect(),
            bound: t_quantile(0.975, in_full(&all) - P as f64),
            squares: left.iter().map(|left| left * left).sum(),
        })
    }

    /// A coefficient with its interval, which may reach below nothing.
    pub fn coefficient(&self, i: usize) -> Estimate {
        let (value, half) = (self.coefficients[i], self.bound * self.covariance[i][i].sqrt());
        Estimate::within(value, value - half, value + half)
    }

    /// The reciprocal of a coefficient that is surely positive.
    pub fn reciprocal(&self, i: usize) -> Option<Estimate> {
        let of = self.coefficient(i);
        let ends = of.interval.filter(|ends| ends.low > 0.0)?;
        Some(Estimate::within(1.0 / of.value, 1.0 / ends.high, 1.0 / ends.low))
    }

    /// Fieller's set for the ratio of two linear functions of the coefficients: all ratios at which
    /// `top - ratio * bottom` is nothing but chance.
    pub fn ratio(&self, top: [f64; P], bottom: [f64; P]) -> Ratio {
        let value = |of: &[f64]| dot(of, &self.coefficients);
        let both = |one: &[f64], other: &[f64]| dot(one, &times(&self.covariance, other));
        let spread = self.bound * self.bound;
        let a = value(&bottom).powi(2) - spread * both(&bottom, &bottom);
        let b = value(&top) * value(&bottom) - spread * both(&top, &bottom);
        let c = value(&top).powi(2) - spread * both(&top, &top);
        let root = (b * b - a * c).max(0.0).sqrt();
        if a > 0.0 {
            let ratio = value(&top) / value(&bottom);
            return Ratio::Within(Estimate::within(ratio, (b - root) / a, (b + root) / a));
        }
        // Where the denominator may be nothing, all that lies between two ratios is left out.
        let above = (b - root) / a;
        match b * b > a * c && above > 0.0 {
            true => Ratio::NotBelow(above),
            false => Ratio::Unbounded,
        }
    }
}

/// The coefficients that leave the least weighted squares of the logarithms.
fn least_squares<const P: usize>(rows: &[Row<P>], weights: &[f64]) -> Option<Vec<f64>> {
    let sum = |left: Vec<f64>| left.iter().zip(weights).map(|(left, w)| w * left * left).sum();
    let squares = |of: &[f64]| residuals(rows, of).map(sum);
    let mut found = step(rows, weights, |_, log| (1.0 / log.exp(), 1.0))?.0;
    let mut least: f64 = squares(&found)?;
    for _ in 0..STEPS {
        let mut fitted = Fitted::by(&found);
        let residual = |row: &[f64; P], log: f64| {
            let (value, its_log) = fitted.of(row);
            (1.0 / value, log - its_log)
        };
        let (by, _) = step(rows, weights, residual)?;
        let halved = (0..20).map(|half| 0.5_f64.powi(half));
        let next = halved.map(|share| moved(&found, &by, share));
        let mut better = next.filter_map(|it| Some((squares(&it)?, it)));
        match better.find(|(sum, _)| *sum < least) {
            Some((sum, it)) => (least, found) = (sum, it),
            None => break,
        }
    }
    Some(found)
}

/// The least squares of weighted rows, and the inverse of the matrix of their squares: `of` gives
/// each row's scale and what it should come to.
fn step<const P: usize>(
    rows: &[Row<P>],
    weights: &[f64],
    mut of: impl FnMut(&[f64; P], f64) -> (f64, f64),
) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    let mut squares = vec![vec![0.0; P]; P];
    let mut sums = vec![0.0; P];
    for ((row, log), weight) in rows.iter().zip(weights) {
        let (scale, wanted) = of(row, *log);
        for i in 0..P {
            sums[i] += weight * row[i] * scale * wanted;
            (0..P).for_each(|j| squares[i][j] += weight * row[i] * row[j] * scale * scale);
        }
    }
    let (inverse, rank) = generalized_inverse(squares);
    (rank == P).then(|| (times(&inverse, &sums), inverse))
}

/// What coefficients leave of the logarithms; `None` where they make a value negative.
fn residuals<const P: usize>(rows: &[Row<P>], coefficients: &[f64]) -> Option<Vec<f64>> {
    let mut fitted = Fitted::by(coefficients);
    let each = rows.iter().map(|(row, log)| {
        let (value, its_log) = fitted.of(row);
        (value > 0.0).then(|| log - its_log)
    });
    each.collect()
}

/// What coefficients make of rows, with its logarithm. Repeats follow each other and have the same
/// terms, so that the logarithm, which takes most of the time of a fit, is taken once for all.
struct Fitted<'a, const P: usize> {
    coefficients: &'a [f64],
    last: Option<([f64; P], (f64, f64))>,
}

impl<'a, const P: usize> Fitted<'a, P> {
    fn by(coefficients: &'a [f64]) -> Fitted<'a, P> {
        Fitted { coefficients, last: None }
    }

    fn of(&mut self, row: &[f64; P]) -> (f64, f64) {
        match self.last {
            Some((terms, known)) if terms == *row => known,
            _ => {
                let value = dot(row, self.coefficients);
                let known = (value, value.ln());
                self.last = Some((*row, known));
                known
            }
        }
    }
}

fn moved(from: &[f64], by: &[f64], share: f64) -> Vec<f64> {
    from.iter().zip(by).map(|(from, by)| from + share * by).collect()
}

/// Huber's weights: 1 within [`HUBER`] deviations, and as much as puts those beyond at that
/// distance. The deviation is told by the median, which a few strays do not move.
fn weights(left: &[f64], freedom: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = left.iter().map(|left| left.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let (count, middle) = (sizes.len() as f64, sizes.len() / 2);
    let median = if sizes.len() % 2 == 1 {
        sizes[middle]
    } else {
        (sizes[middle - 1] + sizes[middle]) / 2.0
    };
    // Rounding alone leaves some 1e-16 of a logarithm.
    let far = (HUBER * median / MEDIAN_NORMAL * (count / freedom).sqrt()).max(1e-12);
    let weight = |left: &f64| if left.abs() <= far { 1.0 } else { far / left.abs() };
    left.iter().map(weight).collect()
}

/// How many values count in full. Only they tell the scatter: with a dozen values, freedom for all
/// of them would make intervals a little too narrow (0.9285 covered in place of 0.95).
fn in_full(weights: &[f64]) -> f64 {
    weights.iter().filter(|weight| **weight == 1.0).count() as f64
}

/// The variance that goes with the plain matrix of squares: of least squares the usual one, of
/// Huber's weights his own with its correction for small samples (Huber 1981, 7.6).
fn variance(left: &[f64], weights: &[f64], parameters: usize) -> f64 {
    let (count, parameters) = (left.len() as f64, parameters as f64);
    let inside = in_full(weights) / count;
    let bent = left.iter().zip(weights).map(|(left, weight)| (left * weight).powi(2));
    let correction = 1.0 + parameters / count * (1.0 - inside) / inside;
    correction.powi(2) * bent.sum::<f64>() / (count - parameters) / inside.powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithm_that_is_known_is_the_one_of_its_own_row() {
        let rows = [[1.0, 2.0], [1.0, 2.0], [1.0, 7.5], [1.0, 2.0], [0.0, 7.5], [0.0, 7.5]];
        let coefficients = [0.3, 1.7];
        let mut fitted = Fitted::by(&coefficients);
        for row in rows {
            let value = dot(&row, &coefficients);
            assert_eq!(fitted.of(&row), (value, value.ln()), "{row:?}");
        }
    }

    fn rows(points: &[(f64, f64)]) -> Vec<Row<2>> {
        points.iter().map(|&(x, y)| ([1.0, x], y.ln())).collect()
    }

    #[test]
    fn without_noise_both_losses_are_exact() {
        let points: Vec<(f64, f64)> = (1..9).map(f64::from).map(|x| (x, 3.0 + 0.5 * x)).collect();
        for loss in [Loss::Square, Loss::Huber] {
            let fit = LogFit::from_rows(&rows(&points), loss).unwrap();
            assert!((fit.coefficients[0] - 3.0).abs() < 1e-9, "{fit:?}");
            assert!((fit.coefficients[1] - 0.5).abs() < 1e-9, "{fit:?}");
            let Ratio::Within(ratio) = fit.ratio([1.0, 0.0], [0.0, 1.0]) else { panic!("{fit:?}") };
            assert!((ratio.value - 6.0).abs() < 1e-6, "{ratio:?}");
        }
    }

    /// One run in which somebody else used the disk moved the whole law.
    #[test]
    fn a_stray_moves_least_squares_and_hardly_hubers() {
        let wobble = |x: f64| 1.0 + 0.01 * (x * 12.9898).sin();
        let mut points: Vec<(f64, f64)> =
            (0..24).map(|i| f64::from(1 + i / 3)).map(|x| (x, 3.0 + 0.5 * x)).collect();
        for (i, (_, y)) in points.iter_mut().enumerate() {
            *y *= wobble(i as f64);
        }
        points[1].1 *= 3.0;
        let off = |loss| {
            (LogFit::from_rows(&rows(&points), loss).unwrap().coefficients[0] / 3.0 - 1.0).abs()
        };
        assert!(off(Loss::Square) > 0.05 && off(Loss::Huber) < 0.01);
    }

    #[test]
    fn what_the_rows_do_not_tell_apart_has_no_fit() {
        assert!(
            LogFit::from_rows(&rows(&[(1.0, 2.0), (1.0, 2.1), (1.0, 1.9)]), Loss::Square).is_none()
        );
        assert!(LogFit::from_rows(&rows(&[(1.0, 2.0), (2.0, 3.0)]), Loss::Square).is_none());
        assert!(
            LogFit::from_rows(&rows(&[(1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0)]), Loss::Huber)
                .is_none()
        );
    }
}
