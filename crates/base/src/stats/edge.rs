//! Where a step of a curve lies, with the interval that its shape allows.
//!
//! A cache whose size the working set exceeds falls in one of two shapes. One that keeps what was
//! used last answers nothing any more of what is read in circles: a **cliff**, between two of the
//! levels that were measured. One that is read at random goes on answering its share `h = C / W`:
//! a **slope**, of which `1 / (h / M + (1 - h) / D)` is left, with `M` before and `D` far beyond.
//! Whichever describes the levels gives an interval, and both together where both do. Where neither
//! does, no more is known than between which levels it lies.
//!
//! Sources: Hinkley, "Inference about the change-point in a sequence of random variables",
//! Biometrika 57 (1970), for the cliff; Bates and Watts, "Nonlinear Regression Analysis and Its
//! Applications" (1988), 6.1, for the slope.

use super::Interval;
use super::profile::{self, Level, Logs};

/// Parameters of either shape: what is before, what is beyond, and where.
const PARAMETERS: usize = 3;

/// Places on the grid over which a slope's beginning is searched.
const GRID: usize = 120;

/// The largest ratio of before to beyond that is searched, as a logarithm: ten thousand.
const RATIO_MOST: f64 = 9.21;

/// Between which levels a step was found: the last that is surely before it, and the first that is
/// beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// Place of the last level before it.
    pub before: usize,
    /// Place of the first level beyond it.
    pub next: usize,
}

/// Where a step lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Within its 95 % interval, by a shape that describes the levels.
    Within {
        /// The interval.
        ends: Interval,
        /// Whether it is a cliff, as far as that is clear.
        shape: Shape,
    },
    /// Somewhere between two levels that were measured; no shape describes what is around.
    Somewhere(Interval),
}

/// The shape of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All at once.
    Cliff,
    /// Little by little, as a cache answers its share.
    Slope,
    /// The levels do not tell.
    Either,
}

impl Place {
    /// Its ends.
    pub fn ends(&self) -> Interval {
        match self {
            Place::Within { ends, .. } | Place::Somewhere(ends) => *ends,
        }
    }
}

/// Where the step among `levels` lies: of a plateau, what follows, and the next plateau if there is
/// one.
pub fn place(levels: &[Level], between: &Between) -> Place {
    let somewhere = Place::Somewhere(Interval {
        low: levels[between.before].at,
        high: levels[between.next].at,
    });
    let data = Logs::from_levels(levels);
    let freedom = data.count - PARAMETERS as f64;
    if freedom < 1.0 || data.pure_freedom < 1.0 {
        return somewhere;
    }
    let means = LogMeans::of(levels, &data);
    match (means.cliff(&data, freedom), means.slope(&data, freedom)) {
        (Some(ends), None) => Place::Within { ends, shape: Shape::Cliff },
        (None, Some(ends)) => Place::Within { ends, shape: Shape::Slope },
        (Some(one), Some(other)) => {
            let ends = Interval { low: one.low.min(other.low), high: one.high.max(other.high) };
            Place::Within { ends, shape: Shape::Either }
        }
        (None, None) => somewhere,
    }
}

/// Mean logarithms of the values of each level, and the squares that repeats leave.
struct LogMeans {
    /// Level, mean logarithm of the values, and their number.
    of: Vec<(f64, f64, f64)>,
    pure: f64,
}

impl LogMeans {
    fn of(levels: &[Level], data: &Logs) -> LogMeans {
        let mean = |level: &Level| {
            let count = level.values.len() as f64;
            (level.at, level.values.iter().map(|value| value.ln()).sum::<f64>() / count, count)
        };
        LogMeans { of: levels.iter().map(mean).collect(), pure: data.pure }
    }

    /// All squares that are left around a curve of free height.
    fn squares(&self, part: &[(f64, f64, f64)], curve: impl Fn(f64) -> f64) -> f64 {
        let left: Vec<(f64, f64)> = part.iter().map(|&(x, y, n)| (y - curve(x), n)).collect();
        let count: f64 = left.iter().map(|(_, n)| n).sum();
        let centre = left.iter().map(|(y, n)| y * n).sum::<f64>() / count;
        left.iter().map(|(y, n)| n * (y - centre).powi(2)).sum()
    }

    /// The places of a cliff that the data do not exclude; `None` where it is none.
    ///
    /// How much better the best place seems than the true one is, on each side, the highest point
    /// of a random walk that drifts down: exponential, and with the scatter estimated a power.
    /// Of both sides together it is above the cut 5 times in 100.
    fn cliff(&self, data: &Logs, freedom: f64) -> Option<Interval> {
        let flat = |_| 0.0;
        let left = |k: usize| {
            self.pure + self.squares(&self.of[..k], flat) + self.squares(&self.of[k..], flat)
        };
        let places: Vec<f64> = (1..self.of.len()).map(left).collect();
        let least = places.iter().copied().fold(f64::INFINITY, f64::min);
        if !data.adequate(least, PARAMETERS) {
            return None;
        }
        let each_side = 1.0 - 0.95_f64.sqrt();
        let limit = least * each_side.powf(-2.0 / freedom) + 1e-18 * data.count;
        let mut inside = (0..places.len()).filter(|&i| places[i] <= limit);
        let first = inside.next()?;
        let last = inside.next_back().unwrap_or(first);
        Some(Interval { low: self.of[first].0, high: self.of[last + 1].0 })
    }

    /// Where a slope begins, as far as the data bound it; `None` where it is none or not bounded.
    fn slope(&self, data: &Logs, freedom: f64) -> Option<Interval> {
        let (from, to) = (self.of.first()?.0, self.of.last()?.0);
        let squares = |edge: f64| {
            let of = |ratio: f64| {
                let beyond = ratio.exp();
                let curve = |size: f64| {
                    let hit = (edge / size).min(1.0);
                    -(hit + (1.0 - hit) * beyond).ln()
                };
                self.pure + self.squares(&self.of, curve)
            };
            of(profile::least(of, (0.0, RATIO_MOST), 30))
        };
        let found = profile::profile(squares, (from, to), GRID, |least| {
            profile::limit(least, freedom, data.count)
        })?;
        let ends = found.low.zip(found.high).map(|(low, high)| Interval { low, high });
        ends.filter(|_| data.adequate(found.minimum, PARAMETERS))
    }
}
