//! Curves with a scale and one shape parameter, fitted to replicated levels by least squares of the
//! logarithms, with the interval that the data allow: it may be open on either side.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::interval::mean;

/// Replicates at one level of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The level: streams, queue depth, block size; positive.
    pub at: f64,
    /// One value a replicate; positive.
    pub values: Vec<f64>,
}

impl Level {
    /// The mean of the replicates.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }
}

/// The shape parameter of a curve as it was fitted to levels, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeFit {
    /// The shape parameter with the least squares.
    pub shape: f64,
    /// Lower end of its 95 % interval; `None` when the data do not bound it within the range that
    /// was searched, or when there are too few data for an interval.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// The scale at that shape.
    pub scale: f64,
    /// Whether the curve describes the levels: their scatter around it is no more than that of the
    /// replicates explains (F test at 1 %), or under 1 % anyway. True where nothing was repeated,
    /// as nothing speaks against it.
    pub adequate: bool,
}

/// Points on the grid that is searched before the refinement.
const GRID: usize = 400;

/// A curve this near to the levels (root mean square of the logarithms) describes them, however
/// small the replicates' scatter.
const MISFIT_NEGLIGIBLE: f64 = 0.01;

/// Fits `y = scale * curve(shape, level)` with the shape between `from` and `to`, both positive.
/// The interval is the profile of the sum of squares, cut by the F distribution. `None` with fewer
/// than three levels, or when a value is not positive.
///
/// Source: Bates and Watts, "Nonlinear Regression Analysis and Its Applications" (1988), 6.1.
pub fn fit(
    levels: &[Level],
    from: f64,
    to: f64,
    curve: impl Fn(f64, f64) -> f64,
) -> Option<ShapeFit> {
    let good = |level: &Level| {
        level.at > 0.0
            && !level.values.is_empty()
            && level.values.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    if levels.len() < 3 || !levels.iter().all(good) {
        return None;
    }
    let data = Logs::from_levels(levels);
    let squares = |shape: f64| data.squares(|at| curve(shape, at).ln());
    let freedom = data.count - 2.0;
    let bounded = data.pure_freedom >= 1.0;
    let found = profile(squares, (from, to), GRID, |least| limit(least, freedom, data.count))?;
    Some(ShapeFit {
        shape: found.shape,
        low: found.low.filter(|_| bounded),
        high: found.high.filter(|_| bounded),
        scale: data.centre(|at| curve(found.shape, at).ln()).exp(),
        adequate: data.adequate(found.minimum, 2),
    })
}

/// What a sum of squares says of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// Where the sum is least.
    pub shape: f64,
    /// Lower end of the interval; `None` when it is not within the range that was searched.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// The least sum.
    pub minimum: f64,
}

/// The sum of squares up to which a parameter is not excluded, with 95 % confidence.
pub(super) fn limit(least: f64, freedom: f64, count: f64) -> Option<f64> {
    let cut = FisherSnedecor::new(1.0, freedom).ok()?.inverse_cdf(0.95);
    // Rounding alone leaves some 1e-16 of the logarithms' square.
    Some(least * (1.0 + cut / freedom) + 1e-18 * count)
}

/// The parameter with the least `squares` between two positive ones, and all those around it at
/// which they are within what `limit` makes of the least. `None` where it makes nothing.
pub(super) fn profile(
    squares: impl Fn(f64) -> f64 + Copy,
    (from, to): (f64, f64),
    steps: usize,
    limit: impl Fn(f64) -> Option<f64>,
) -> Option<Profile> {
    let step = (to / from).powf(1.0 / steps as f64);
    let grid: Vec<f64> = (0..=steps).map(|i| from * step.powi(i as i32)).collect();
    let sums: Vec<f64> = grid.iter().map(|&shape| squares(shape)).collect();
    let best = (0..=steps).min_by(|&a, &b| sums[a].total_cmp(&sums[b]))?;
    let around = (grid[best.saturating_sub(1)], grid[(best + 1).min(steps)]);
    let shape = least(squares, around, 60);
    let minimum = squares(shape);
    let limit = limit(minimum)?;
    let inside: Vec<usize> = (0..=steps).filter(|&i| sums[i] <= limit).collect();
    let first = inside.first().copied().unwrap_or(best).min(best);
    let last = inside.last().copied().unwrap_or(best).max(best);
    let within = |i: usize| if sums[i] <= limit { grid[i] } else { shape };
    Some(Profile {
        shape,
        low: first.checked_sub(1).map(|out| crossing(squares, limit, within(first), grid[out])),
        high: (last < steps).then(|| crossing(squares, limit, within(last), grid[last + 1])),
        minimum,
    })
}

/// The data in logarithms.
pub(super) struct Logs {
    /// Level and logarithm of each value.
    pub points: Vec<(f64, f64)>,
    /// Of each level: where it lies, how many values it has, and the mean of their logarithms.
    means: Vec<(f64, f64, f64)>,
    /// How many values there are.
    pub count: f64,
    levels: f64,
    /// Squares of the replicates around the mean of their level.
    pub pure: f64,
    /// How many more values than levels there are.
    pub pure_freedom: f64,
}

impl Logs {
    /// Levels and values are positive.
    pub fn from_levels(levels: &[Level]) -> Logs {
        let mut logs = Logs {
            points: Vec::new(),
            means: Vec::with_capacity(levels.len()),
            count: 0.0,
            levels: levels.len() as f64,
            pure: 0.0,
            pure_freedom: 0.0,
        };
        for level in levels {
            let values: Vec<f64> = level.values.iter().map(|value| value.ln()).collect();
            let centre = mean(&values);
            logs.pure += values.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
            logs.means.push((level.at, values.len() as f64, centre));
            logs.points.extend(values.iter().map(|&value| (level.at, value)));
        }
        logs.count = logs.points.len() as f64;
        logs.pure_freedom = logs.count - logs.levels;
        logs
    }

    /// The mean of what `shape` leaves.
    fn centre(&self, shape: impl Fn(f64) -> f64) -> f64 {
        let left = self.means.iter().map(|&(at, count, mean)| count * (mean - shape(at)));
        left.sum::<f64>() / self.count
    }

    fn squares(&self, shape: impl Fn(f64) -> f64) -> f64 {
        let centre = self.centre(&shape);
        // What values differ from the mean of their level is the same whatever the shape is: of a
        // hundred replicates, only their mean need be held against it.
        let means = self.means.iter();
        let lack = means.map(|&(at, count, mean)| count * (mean - shape(at) - centre).powi(2));
        self.pure + lack.sum::<f64>()
    }

    /// Whether what a curve with so many `parameters` leaves (`minimum`) beyond the replicates' own
    /// scatter is nothing to speak of: an F test at 1 %, or under 1 % of the values.
    pub fn adequate(&self, minimum: f64, parameters: usize) -> bool {
        let misfit = (minimum - self.pure).max(0.0);
        let freedom = self.levels - parameters as f64;
        if self.pure_freedom < 1.0 || (misfit / self.count).sqrt() < MISFIT_NEGLIGIBLE {
            return true;
        }
        let ratio = (misfit / freedom) / (self.pure / self.pure_freedom);
        let usual = FisherSnedecor::new(freedom, self.pure_freedom);
        usual.is_ok_and(|usual| ratio <= usual.inverse_cdf(0.99))
    }
}

/// The place of the least value of `f` between two, by so many steps of the golden section.
pub(super) fn least(f: impl Fn(f64) -> f64, between: (f64, f64), steps: usize) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = between;
    for _ in 0..steps {
        let width = (high - low) * golden;
        if f(high - width) <= f(low + width) {
            high = low + width;
        } else {
            low = high - width;
        }
    }
    (low + high) / 2.0
}

/// Where `f` crosses `limit` between a place where it is below and one where it is above.
fn crossing(f: impl Fn(f64) -> f64, limit: f64, mut below: f64, mut above: f64) -> f64 {
    for _ in 0..60 {
        let middle = (below + above) / 2.0;
        if f(middle) <= limit {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, seeds};

    /// Throughput against block size: `B S / (S + half)`.
    fn blocks(half: f64, noise: f64, random: &mut Random) -> Vec<Level> {
        let level = |power: i32| {
            let at = 4096.0 * 4.0_f64.powi(power);
            let mut value = || at / (at + half) * (1.0 + noise * random.normal());
            Level { at, values: (0..3).map(|_| value()).collect() }
        };
        (0..6).map(level).collect()
    }

    fn fitted(levels: &[Level]) -> ShapeFit {
        fit(levels, 512.0, 64e6, |half, at| at / (at + half)).unwrap()
    }

    #[test]
    fn the_interval_covers_the_planted_half_bandwidth_size() {
        for noise in [0.003, 0.03] {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let mut random = Random::new(seed);
                let half = random.between(10e3, 300e3);
                let fit = fitted(&blocks(half, noise, &mut random));
                let ends = fit.low.zip(fit.high);
                let interval = ends.map(|(low, high)| super::super::Interval { low, high });
                coverage.add(interval, half);
            }
            coverage.check(&format!("noise {noise}"));
        }
    }

    #[test]
    fn without_noise_the_shape_is_exact_and_a_wrong_curve_is_called_inadequate() {
        let mut random = Random::new(0);
        let fit = fitted(&blocks(50e3, 0.0, &mut random));
        assert!((fit.shape / 50e3 - 1.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.scale - 1.0).abs() < 1e-6 && fit.adequate);
        let step = |at: f64| Level { at, values: vec![if at < 70e3 { 1.0 } else { 2.0 }; 3] };
        let steps: Vec<Level> = [4e3, 16e3, 64e3, 256e3, 1e6].map(step).to_vec();
        assert!(!fitted(&steps).adequate);
    }

    #[test]
    fn what_the_data_do_not_bound_is_open() {
        let mut random = Random::new(1);
        let flat = fitted(&blocks(1.0, 0.01, &mut random));
        assert_eq!(flat.low, None);
        let steep = fitted(&blocks(1e12, 0.01, &mut random));
        assert_eq!(steep.high, None);
    }
}
