//! (pure) Latencies on their way into a histogram, and into the classes that are sampled.
//!
//! The operations of one batch end at the same reading of the clock, and often began at the same
//! one: equal values in a row are counted first and recorded together. Their class is found once,
//! but each is counted at once: were the last of them counted with the next, those from before a
//! stall would be seen to end after it.

use hdrhistogram::Histogram;

use super::control::Classes;
use experiment::measurement::latency::class;

/// Counts runs of equal latencies.
#[derive(Debug, Default)]
pub struct LatencyTally<'a> {
    histogram: Option<Histogram<u64>>,
    classes: Option<&'a Classes>,
    value: u64,
    class: usize,
    count: u64,
}

impl<'a> LatencyTally<'a> {
    /// Into this histogram; into nothing without one.
    pub fn over(histogram: Option<Histogram<u64>>) -> LatencyTally<'a> {
        LatencyTally { histogram, ..LatencyTally::default() }
    }

    /// The same, and into these classes.
    #[must_use]
    pub fn by_class(self, classes: &'a Classes) -> LatencyTally<'a> {
        LatencyTally { classes: Some(classes), ..self }
    }

    /// Records one latency in ns; never allocates, never fails.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        if latency_ns != self.value {
            self.settle();
            self.value = latency_ns;
            self.class = class(latency_ns);
        }
        self.count += 1;
        if let Some(classes) = self.classes {
            classes.count(self.class);
        }
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
    use crate::engine::load::control::LoadControl;
    use experiment::measurement::latency_histogram;

    #[test]
    fn every_latency_is_recorded_once() {
        let mut tally = LatencyTally::over(Some(latency_histogram()));
        for value in [5, 5, 5, 0, 7, 7, 5] {
            tally.record(value);
        }
        let histogram = tally.into_histogram().unwrap();
        let counts = [1, 5, 7].map(|value| histogram.count_at(value));
        assert_eq!((histogram.len(), counts), (7, [1, 4, 2]));
    }

    #[test]
    fn every_latency_is_in_its_class_as_soon_as_it_is_recorded() {
        let shared = LoadControl::new(2, 1, true, std::sync::mpsc::channel().0);
        let mut reads = LatencyTally::over(Some(latency_histogram())).by_class(&shared.classes[0]);
        let mut writes = LatencyTally::over(Some(latency_histogram())).by_class(&shared.classes[0]);
        let mut others = LatencyTally::over(Some(latency_histogram())).by_class(&shared.classes[1]);
        for value in [0, 5000, 5000, 90_000_000, 5001, 5000] {
            reads.record(value);
            writes.record(5000);
        }
        others.record(u64::MAX);
        let counted: Vec<_> =
            shared.latencies().into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(0, 1), (class(5000), 10), (class(90_000_000), 1), (53, 1)]);
    }

    #[test]
    fn nothing_recorded_is_an_empty_histogram() {
        let tally = LatencyTally::over(Some(latency_histogram()));
        assert!(tally.into_histogram().unwrap().is_empty());
        let mut none = LatencyTally::default();
        none.record(3);
        assert!(none.into_histogram().is_none());
    }
}
