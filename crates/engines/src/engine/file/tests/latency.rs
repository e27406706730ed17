//! Latency classes over time, from the streams to the measurement.

use serde_json::json;

use super::{MIB, directory, done, names, with};
use crate::engine::load::testing::assert_all_have_a_class;
use experiment::measurement::latency;

#[test]
fn every_operation_in_a_histogram_is_in_a_class_too_and_a_transaction_is_not_one_more() {
    let folder = directory();
    let base = json!({
        "block-size": 16384, "file-size": MIB, "direct": false, "stop": "pass", "fsync": "end",
    });
    for (engine, depth) in [("uring", 4), ("aio", 4), ("sync", 1), ("mmap", 1)] {
        for access in ["write", "read", "random-mix", "update"] {
            let load = json!({"io-engine": engine, "queue-depth": depth, "access": access});
            let result = done(with(&base, load), names(folder.path(), 2, 1));
            assert_all_have_a_class(&result.into_measurement().unwrap());
        }
    }
}

#[test]
fn classes_are_sampled_every_100_ms_until_the_end() {
    let folder = directory();
    let base = json!({"block-size": 4096, "file-size": MIB, "direct": false});
    done(with(&base, json!({"access": "write", "stop": "pass"})), names(folder.path(), 1, 1));
    let read = json!({"access": "random-read", "cold": false, "rate": 500, "stop": "650ms"});
    let measurement =
        done(with(&base, read), names(folder.path(), 1, 1)).into_measurement().unwrap();
    assert_all_have_a_class(&measurement);
    let series = latency::class_series(&measurement).unwrap();
    // A busy machine may be late for some, and never early for one.
    assert!((3..=9).contains(&series.at_ns.len()), "{:?}", series.at_ns);
    assert!(series.at_ns.is_sorted_by(|a, b| a < b) && series.at_ns[0] == 0);
    let window = measurement.window.unwrap();
    let last_ns = *series.at_ns.last().unwrap() as u64;
    assert!((window.end_ns..=measurement.elapsed_ns).contains(&last_ns), "{last_ns}, {window:?}");
}
