//! Latencies of a trial in few bytes, so that those of all replicates can be put together.
//!
//! The percentile of several trials is not the mean of theirs: it is that of all their operations.
//! A histogram of a quarter of a MiB for each of 100 000 trials is too much for that; here is one
//! of some hundred bytes, in classes no wider than 0.8 %.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Record;
use crate::measurement::{Measurement, Operation, bins};

/// Classes of each octave; below twice so many ns each value has its own.
const CLASSES: u64 = 128;

/// Latencies of one kind of operation: how many in each class that has any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts {
    /// What the operations did.
    pub kind: Operation,
    /// For each class: how many classes after the one before, and how many operations, both in
    /// LEB128.
    packed: Vec<u8>,
}

/// How many operations of a kind fell into each latency class, by the class's number.
type OperationsByClass = BTreeMap<u64, u64>;

/// The latencies of a measurement, one for each kind of operation that it has.
pub fn latency_counts(measurement: &Measurement) -> Vec<LatencyCounts> {
    if let Some(digest) = &measurement.digest {
        return digest.latencies.clone();
    }
    let of = |kind: &Operation| {
        let all = measurement.latency.iter().filter(|(it, _)| it == kind);
        let mut counts = OperationsByClass::new();
        all.for_each(|(_, histogram)| add(histogram, &mut counts));
        (!counts.is_empty()).then(|| LatencyCounts { kind: *kind, packed: packed(&counts) })
    };
    Operation::ALL.iter().filter_map(of).collect()
}

/// The quantile that a figure of latency is, and of which kind of operation; `None` as kind where
/// it is of all together.
pub fn quantile_of(name: &str) -> Option<(Option<Operation>, f64)> {
    let (before, what) = name.split_once("latency_ns_")?;
    let quantile = match what {
        "p50" => 0.5,
        "p90" => 0.9,
        "p99" => 0.99,
        "p999" => 0.999,
        "max" => 1.0,
        _ => return None,
    };
    match before.strip_suffix('_') {
        None if before.is_empty() => Some((None, quantile)),
        None => None,
        Some(kind) => Some((Some(Operation::find(kind)?), quantile)),
    }
}

/// Latencies of several trials in one.
#[derive(Debug)]
pub struct PooledLatency(Vec<(Operation, OperationsByClass)>);

impl PooledLatency {
    /// Of all trials that were done.
    pub fn from_records<'a>(records: impl Iterator<Item = &'a Record>) -> PooledLatency {
        let mut all: Vec<(Operation, OperationsByClass)> = Vec::new();
        for measurement in records.filter_map(|record| record.outcome.measurement()) {
            for one in latency_counts(measurement) {
                let place = all.iter().position(|(kind, _)| *kind == one.kind);
                let place = place.unwrap_or_else(|| {
                    all.push((one.kind, OperationsByClass::new()));
                    all.len() - 1
                });
                unpack(&one.packed, &mut all[place].1);
            }
        }
        PooledLatency(all)
    }

    /// A quantile of one kind, or of all; a transaction is made of operations that are counted
    /// themselves. `None` of nothing.
    pub fn quantile(&self, of: Option<Operation>, quantile: f64) -> Option<f64> {
        self.quantiles(of, &[quantile]).pop()
    }

    /// Several quantiles of one kind, or of all, in the order in which they are asked for; none of
    /// nothing.
    pub fn quantiles(&self, of: Option<Operation>, quantiles: &[f64]) -> Vec<f64> {
        let all = self.counts(of);
        let total: u64 = all.values().sum();
        let found = |quantile: &f64| {
            let rank = ((quantile * total as f64).ceil() as u64).clamp(1, total.max(1));
            let mut seen = 0;
            let found = all.iter().find(|(_, count)| {
                seen += **count;
                seen >= rank
            });
            found.map(|(class, _)| middle(*class))
        };
        quantiles.iter().filter_map(found).collect()
    }

    /// How many operations there are of one kind, or of all.
    pub fn operations(&self, of: Option<Operation>) -> u64 {
        self.counts(of).values().sum()
    }

    fn counts(&self, of: Option<Operation>) -> OperationsByClass {
        let alone = self.0.len() == 1;
        let counts = |kind: Operation| match of {
            Some(of) => kind == of,
            None => alone || kind != Operation::Transaction,
        };
        let mut all = OperationsByClass::new();
        for (_, part) in self.0.iter().filter(|(kind, _)| counts(*kind)) {
            part.iter().for_each(|(class, count)| *all.entry(*class).or_default() += count);
        }
        all
    }
}

fn add(histogram: &Histogram<u64>, counts: &mut OperationsByClass) {
    for (highest, count) in bins::recorded(histogram) {
        *counts.entry(class_of(highest)).or_default() += count;
    }
}

/// The class of a latency: the octave, and the place in it.
fn class_of(ns: u64) -> u64 {
    let octave = u64::from(ns.max(1).ilog2()).saturating_sub(u64::from(CLASSES.ilog2()));
    octave * CLASSES + (ns >> octave)
}

/// The latency in the middle of a class, ns.
fn middle(class: u64) -> f64 {
    let octave = (class / CLASSES).saturating_sub(1);
    let first = (class - octave * CLASSES) << octave;
    first as f64 + ((1_u64 << octave) - 1) as f64 / 2.0
}

fn packed(counts: &OperationsByClass) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = 0;
    for (class, count) in counts {
        for mut number in [class - before, *count] {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
        before = *class;
    }
    bytes
}

/// Adds what is packed; what is damaged ends it.
fn unpack(bytes: &[u8], counts: &mut OperationsByClass) {
    let mut bytes = bytes.iter();
    let mut number = || {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    };
    let mut class = 0_u64;
    while let (Some(step), Some(count)) = (number(), number()) {
        class = class.saturating_add(step).min(CLASSES * 57);
        let held = counts.entry(class).or_default();
        *held = held.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::latency_histogram;

    #[test]
    fn a_class_holds_what_is_within_0_4_percent_of_its_middle() {
        let mut before = 0;
        for power in 0..420 {
            let ns = (1.07_f64.powi(power) as u64).max(1);
            let class = class_of(ns);
            assert!(class >= before, "{ns}");
            before = class;
            let off = (middle(class) - ns as f64).abs();
            assert!(off <= 0.004 * ns as f64, "{ns}: {}", middle(class));
        }
        assert_eq!((class_of(0), middle(class_of(1)), middle(class_of(255))), (0, 1.0, 255.0));
        assert!(class_of(u64::MAX) <= CLASSES * 58);
    }

    #[test]
    fn what_is_packed_comes_back() {
        let mut histogram = latency_histogram();
        for place in 0..50_000_u64 {
            histogram.saturating_record(1000 + place * place);
        }
        let mut counts = OperationsByClass::new();
        add(&histogram, &mut counts);
        let bytes = packed(&counts);
        let mut back = OperationsByClass::new();
        unpack(&bytes, &mut back);
        assert_eq!(back, counts);
        assert_eq!(back.values().sum::<u64>(), 50_000);
        assert!(bytes.len() < 5 * counts.len(), "{}", bytes.len());
        // What is damaged is no panic.
        unpack(&[0xff; 40], &mut back);
        unpack(&bytes[..bytes.len() / 2], &mut back);
    }

    #[test]
    fn names_say_which_quantile_of_which_operations() {
        assert_eq!(quantile_of("latency_ns_p99"), Some((None, 0.99)));
        assert_eq!(quantile_of("unlink_latency_ns_max"), Some((Some(Operation::Unlink), 1.0)));
        for other in ["latency_ns_mean", "reported_latency_ns_p50", "iops", "xlatency_ns_p50"] {
            assert_eq!(quantile_of(other), None, "{other}");
        }
    }
}
