//! Percentiles of latency, as they are printed.

use super::OwnTrial;
use base::value::duration;

/// Two bins of the histogram: it has three digits.
const BINS: f64 = 1.002;

/// In the order in which none is less than the one before.
const ORDER: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// Whether they are in order, and the mean is no more than the longest, of all operations and of
/// each kind.
pub fn in_order(facts: &OwnTrial<'_>) -> Option<String> {
    let figures = facts.figures();
    let kinds = figures.keys().filter_map(|name| name.strip_suffix("latency_ns_max"));
    for kind in kinds {
        let get = |what: &str| {
            let found = figures.get(&format!("{kind}latency_ns_{what}"));
            found.map(|estimate| (what.to_owned(), estimate.value))
        };
        let all: Vec<(String, f64)> = ORDER.iter().filter_map(|what| get(what)).collect();
        let longest = all.last().cloned().zip(get("mean")).map(|(max, mean)| [mean, max]);
        let pairs = all.windows(2).map(|two| [two[0].clone(), two[1].clone()]).chain(longest);
        for [(lower, least), (upper, most)] in pairs {
            if least > most * BINS {
                return Some(format!(
                    "The {lower} of latency is {} and the {upper} only {}, which cannot be.",
                    duration(least),
                    duration(most)
                ));
            }
        }
    }
    None
}
