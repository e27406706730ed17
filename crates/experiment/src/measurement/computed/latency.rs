//! Percentiles of latency: of each kind of operation, and of all together.

use std::borrow::Cow;

use hdrhistogram::Histogram;

use super::{Figures, Span, transactions_per_s};
use crate::measurement::figure_names;
use crate::measurement::{Measurement, Operation, bins};
use base::stats::Estimate;

/// Fewer operations than this have no 99.9th percentile: it would be the slowest of them.
const P999_OPERATIONS_MIN: u64 = 1000;

/// Latency of operations inside the window, under the names of the JSON contract.
pub fn latency_figures(measurement: &Measurement, span: Option<&Span>, figures: &mut Figures) {
    let of = |operation: Operation| {
        let all = measurement.latency.iter().filter(move |(kind, _)| *kind == operation);
        merged(all.map(|(_, histogram)| histogram)).filter(|histogram| !histogram.is_empty())
    };
    let kinds: Vec<_> =
        Operation::ALL.iter().filter_map(|kind| Some((kind.name(), of(*kind)?))).collect();
    // A transaction is made of operations that are counted themselves.
    let counts = |name: &str| kinds.len() == 1 || name != Operation::Transaction.name();
    let parts = kinds.iter().filter(|(name, _)| counts(name));
    if let Some(all) = merged(parts.map(|(_, histogram)| histogram.as_ref())) {
        percentiles(&all, "", figures);
    }
    if let Some(rate) = span.and_then(|span| transactions_per_s(measurement, span)) {
        figures.insert(figure_names::TRANSACTIONS_PER_S.into(), Estimate::bare(rate));
    }
    if kinds.len() > 1 {
        for (name, histogram) in &kinds {
            percentiles(histogram, &format!("{name}_"), figures);
        }
    }
}

/// All in one; copied only when there are several, as each takes a quarter of a MiB.
fn merged<'a>(
    parts: impl IntoIterator<Item = &'a Histogram<u64>>,
) -> Option<Cow<'a, Histogram<u64>>> {
    let mut parts = parts.into_iter();
    let mut all = Cow::Borrowed(parts.next()?);
    for part in parts {
        // Fails only for values beyond the range of `all`, and all have one range.
        all.to_mut().add(part).ok()?;
    }
    Some(all)
}

/// Mean, percentiles and maximum under names that begin with `before`: `read_latency_ns_p99`.
fn percentiles(histogram: &Histogram<u64>, before: &str, figures: &mut Figures) {
    let mut add = |what: &str, value: f64| {
        figures.insert(format!("{before}latency_ns_{what}").into(), Estimate::bare(value));
    };
    add("mean", bins::mean([histogram]).unwrap_or(0.0));
    for (what, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        add(what, histogram.value_at_quantile(quantile) as f64);
    }
    if histogram.len() >= P999_OPERATIONS_MIN {
        add("p999", histogram.value_at_quantile(0.999) as f64);
    }
    add("max", histogram.max() as f64);
}
