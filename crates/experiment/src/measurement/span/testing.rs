//! Trials of few operations, for tests of this crate and of those that read such trials.

use super::*;
use crate::knob::testing::settings;
use crate::measurement::{Operation, Outcome, Record, Stream, latency_histogram};
use crate::plan::Trial;

/// A microsecond, ns.
pub const US: u64 = 1000;

/// Operations of 4 KiB.
pub fn blocks(ops: u64) -> Amount {
    Amount { read_bytes: ops * 4096, read_ops: ops, ..Amount::default() }
}

/// Latencies in us, each with how often.
pub fn latencies(of: &[(u64, u64)]) -> Vec<(Operation, hdrhistogram::Histogram<u64>)> {
    let mut histogram = latency_histogram();
    of.iter().for_each(|(us, times)| histogram.saturating_record_n(us * US, *times));
    vec![(Operation::Read, histogram)]
}

/// One stream that did `all` from its start to `stopped_us`, and `within` from `window` us on.
pub fn trial(depth: &str, window: (u64, u64), within: u64, all: u64, stopped_us: u64) -> Record {
    let stream = Stream {
        pass_end_ns: Some(stopped_us * US),
        pass: blocks(all),
        stopped_ns: stopped_us * US,
        total: blocks(all),
        ..Stream::default()
    };
    let measurement = Measurement {
        elapsed_ns: stopped_us * US,
        window: Some(Window {
            start_ns: window.0 * US,
            end_ns: window.1 * US,
            done: blocks(within),
        }),
        streams: vec![stream],
        ..Measurement::default()
    };
    let settings = settings("file", &[("queue-depth", depth), ("block-size", "4KiB")]);
    let trial = Trial {
        number: 1,
        replicate: 1,
        group: "g".into(),
        settings,
        seed: 1,
        first_file: 0,
        planned: None,
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

/// The same with its measurement changed.
pub fn with(mut record: Record, change: impl FnOnce(&mut Measurement)) -> Record {
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it was done") };
    change(measurement);
    record
}
