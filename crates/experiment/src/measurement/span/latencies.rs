//! The mean latency of a trial's operations, and how far chance may have moved it.

use crate::measurement::{Measurement, bins};

/// Neighbours in time are delayed by the same thing: so many of them count as one, at least. The
/// simulated server gives as many operations the same latency.
const ALIKE: f64 = 16.0;

/// A few operations may all have met the same moment: their scatter is no less than this share of
/// their mean, whatever they say.
const SCATTER_MIN: f64 = 0.3;

/// Of the operations that were counted; one pass over the histograms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// How many there are; at least one.
    pub count: f64,
    /// Their mean, ns.
    pub mean_ns: f64,
    /// Their standard deviation, ns.
    pub deviation_ns: f64,
    /// Their median, ns; with several kinds the mean of the kinds' medians by their numbers.
    pub median_ns: f64,
    /// The longest, ns.
    pub longest_ns: f64,
}

impl Latencies {
    /// Of a trial; `None` where none was recorded.
    pub fn from_measurement(measurement: &Measurement) -> Option<Latencies> {
        let (mut count, mut sum, mut squares, mut medians) = (0.0, 0.0, 0.0, 0.0);
        let mut longest_ns = 0.0_f64;
        for part in measurement.operations() {
            let half = part.len().div_ceil(2);
            let (mut seen, mut median) = (0_u64, None);
            for (highest, here) in bins::recorded(part) {
                let value = part.median_equivalent(highest) as f64;
                seen = seen.saturating_add(here);
                if median.is_none() && seen >= half {
                    median = Some(value);
                }
                let here = here as f64;
                sum += here * value;
                squares += here * value * value;
            }
            longest_ns = longest_ns.max(part.max() as f64);
            count += part.len() as f64;
            medians += part.len() as f64 * median.unwrap_or(0.0);
        }
        if count < 1.0 || sum <= 0.0 {
            return None;
        }
        let mean_ns = sum / count;
        let variance = (squares / count - mean_ns * mean_ns).max(0.0);
        let (deviation_ns, median_ns) = (variance.sqrt(), medians / count);
        Some(Latencies { count, mean_ns, deviation_ns, median_ns, longest_ns })
    }

    /// Twice the standard error of the mean less than the mean, as the operations themselves say;
    /// where one slow operation has raised it, no less than the median.
    pub fn at_least_ns(&self) -> f64 {
        let error_ns = self.deviation_ns / self.count.sqrt();
        (self.mean_ns - 2.0 * error_ns).max(self.median_ns.min(self.mean_ns)).max(1.0)
    }

    /// The standard error of the mean as a share of it, when operations that are in flight at the
    /// same time tell no more than one of them.
    pub fn error(&self, in_flight: f64) -> f64 {
        let scatter = (self.deviation_ns / self.mean_ns).max(SCATTER_MIN);
        scatter / (self.count / in_flight.max(ALIKE)).max(1.0).sqrt()
    }
}
