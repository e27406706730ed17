//! (pure) The bins of a histogram that hold something, without a walk over those that hold nothing.
//!
//! A histogram of latencies has 30 000 bins. Of a disk's milliseconds the first 12 000 are empty,
//! and the library's iterator goes over each: three passes of it were half of what the figures of a
//! trial take.

use hdrhistogram::Histogram;

/// Of each bin with something in it, in order: the highest value that it stands for, and how many
/// values it holds. The same as of `Histogram::iter_recorded`.
pub fn recorded(histogram: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut at = histogram.lowest_equivalent(histogram.min());
    let mut left = histogram.len();
    std::iter::from_fn(move || {
        while left > 0 {
            let (highest, count) = (histogram.highest_equivalent(at), histogram.count_at(at));
            // The last bin may end where numbers do.
            at = highest.saturating_add(1);
            left = if highest == u64::MAX { 0 } else { left.saturating_sub(count) };
            if count > 0 {
                return Some((highest, count));
            }
        }
        None
    })
}

/// The mean of all values of some, each taken for the middle of its bin, as in `Histogram::mean`;
/// `None` where there is none.
pub fn mean<'a>(parts: impl IntoIterator<Item = &'a Histogram<u64>>) -> Option<f64> {
    let (mut sum, mut values) = (0.0, 0_u64);
    for part in parts {
        let middle = |highest: u64| part.median_equivalent(highest) as f64;
        sum += recorded(part).map(|(at, count)| middle(at) * count as f64).sum::<f64>();
        values = values.saturating_add(part.len());
    }
    (values > 0).then(|| sum / values as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_as_the_library_has_it(histogram: &Histogram<u64>) {
        let theirs: Vec<_> = histogram
            .iter_recorded()
            .map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
            .collect();
        assert_eq!(recorded(histogram).collect::<Vec<_>>(), theirs);
        let (ours, theirs) = (mean([histogram, histogram]), histogram.mean());
        assert_eq!(ours.is_some(), !histogram.is_empty());
        assert!((ours.unwrap_or(0.0) - theirs).abs() <= 1e-9 * theirs, "{ours:?} {theirs}");
    }

    proptest! {
        #[test]
        fn bins_are_those_of_the_library(
            values in prop::collection::vec((0_u64..1 << 40, 0_u32..40, 1_u64..9), 0..60),
            digits in 1_u8..=4,
            low in 1_u64..5000,
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(low, 1 << 40, digits).unwrap();
            for (value, shift, count) in values {
                histogram.record_n(value >> shift, count).unwrap();
            }
            is_as_the_library_has_it(&histogram);
        }
    }

    /// No number follows the last one.
    #[test]
    fn the_last_bin_may_end_where_numbers_do() {
        for values in [&[u64::MAX][..], &[0, u64::MAX], &[1 << 62, u64::MAX - 1], &[0], &[]] {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, u64::MAX, 3).unwrap();
            values.iter().for_each(|value| histogram.record(*value).unwrap());
            is_as_the_library_has_it(&histogram);
        }
    }
}
