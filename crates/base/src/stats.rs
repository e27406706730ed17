//! (pure) Numbers in, numbers out: intervals, quantiles, steadiness, knees, effects.
//!
//! Nothing here knows what was measured. Every function that cannot give an honest answer gives
//! none: an interval that is too narrow is worse than no interval.

use serde::{Deserialize, Serialize};

pub mod alike;
pub mod allocation;
pub mod batch_means;
pub mod crossed;
pub mod edge;
pub mod equivalence;
mod holm;
pub mod draws;
pub mod fit;
pub mod fall;
pub mod head;
pub mod interval;
pub mod knee;
pub mod largest;
pub mod log_linear;
pub mod main_effects;
pub mod permutation;
pub mod plateaus;
pub mod poisson;
pub mod profile;
pub mod quantile;
pub mod ratio;
pub mod replicates;
pub mod seek;
pub mod sequential;
pub mod steady;
pub mod strata;
pub mod sweep;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod usl;

pub use batch_means::batch_means;
pub use holm::{holm, holm_weighted};
pub use interval::{mean, mean_interval, sample_variance, t_quantile};
pub use ratio::{RatioOfMeans, ratio_of_means};
pub use steady::settled;

/// A number and how sure we are of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best single value.
    pub value: f64,
    /// Low and high end of the 95 % interval; `None` where none can be given honestly.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// A value of which nothing more is known.
    pub fn bare(value: f64) -> Estimate {
        Estimate { value, interval: None }
    }

    /// A value with its interval.
    pub fn within(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some(Interval { low, high }) }
    }

    /// A positive value that is known to within `half` on either side, on a logarithmic scale: as
    /// many times less as more, and never nothing or below. What is not positive is on a plain one.
    ///
    /// The error of a logarithm is the relative error (delta method): Oehlert, "A note on the delta
    /// method", The American Statistician 46 (1992).
    pub fn on_a_log_scale(value: f64, half: f64) -> Estimate {
        if value <= 0.0 {
            return Estimate::within(value, value - half, value + half);
        }
        let times = (half / value).exp();
        Estimate::within(value, value / times, value * times)
    }

    /// The estimate of something so many times as large; `factor` is positive.
    #[must_use]
    pub fn times(self, factor: f64) -> Estimate {
        let scaled = |ends: Interval| Interval { low: ends.low * factor, high: ends.high * factor };
        Estimate { value: self.value * factor, interval: self.interval.map(scaled) }
    }

    /// The same, where it cannot be known better than within `step` on either side.
    #[must_use]
    pub fn no_finer(self, step: f64) -> Estimate {
        let Some(least) = Estimate::on_a_log_scale(self.value, step).interval else { return self };
        let widen = |ends: Interval| Interval {
            low: ends.low.min(least.low),
            high: ends.high.max(least.high),
        };
        Estimate { interval: self.interval.map(widen), ..self }
    }

    /// The same estimate of something that cannot be negative.
    #[must_use]
    pub fn not_negative(self) -> Estimate {
        let cut = |ends: Interval| Interval { low: ends.low.max(0.0), high: ends.high.max(0.0) };
        Estimate { value: self.value.max(0.0), interval: self.interval.map(cut) }
    }
}

impl Interval {
    /// Whether `truth` lies inside.
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}
