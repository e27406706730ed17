//! (pure) Latencies on their way into a histogram.
//!
//! The operations of one batch end at the same reading of the clock, and often began at the same
//! one: equal values in a row are counted first and recorded together.

use hdrhistogram::Histogram;

/// Counts runs of equal latencies.
#[derive(Debug, Default)]
pub struct Tally {
    histogram: Option<Histogram<u64>>,
    value: u64,
    count: u64,
}

impl Tally {
    /// Into this histogram; into nothing without one.
    pub fn over(histogram: Option<Histogram<u64>>) -> Tally {
        Tally { histogram, value: 0, count: 0 }
    }

    /// Records one latency in ns; never allocates, never fails.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        if latency_ns != self.value {
            self.settle();
            self.value = latency_ns;
        }
        self.count += 1;
    }

    #[inline]
    fn settle(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(self.value.max(1), self.count);
        }
        self.count = 0;
    }

    /// All that was recorded.
    pub fn into_histogram(mut self) -> Option<Histogram<u64>> {
        self.settle();
        self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::latency_histogram;

    #[test]
    fn every_latency_is_recorded_once() {
        let mut tally = Tally::over(Some(latency_histogram()));
        for value in [5, 5, 5, 0, 7, 7, 5] {
            tally.record(value);
        }
        let histogram = tally.into_histogram().unwrap();
        let counts = [1, 5, 7].map(|value| histogram.count_at(value));
        assert_eq!((histogram.len(), counts), (7, [1, 4, 2]));
    }

    #[test]
    fn nothing_recorded_is_an_empty_histogram() {
        let tally = Tally::over(Some(latency_histogram()));
        assert!(tally.into_histogram().unwrap().is_empty());
        let mut none = Tally::default();
        none.record(3);
        assert!(none.into_histogram().is_none());
    }
}
