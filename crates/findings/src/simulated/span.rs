//! Windows of few operations, in what the answer says of them.

use experiment::measurement::figures::figures;
use experiment::measurement::span::testing::{latencies, trial, with};

use crate::analysis::answer;

/// What the answer and every table of cells say of such trials.
#[test]
fn the_headline_has_the_rate_that_stands_or_the_reason_why_there_is_none() {
    let few = with(trial("32", (619, 680), 31, 32, 680), |it| it.latency = latencies(&[(618, 31)]));
    let said = answer(std::slice::from_ref(&few), &[]);
    assert!(said[0].contains("193 MB/s") && !said[0].contains("2079"), "{}", said[0]);
    let none = trial("1", (100, 101), 0, 1, 101);
    let said = answer(std::slice::from_ref(&none), &[]);
    assert!(said[0].starts_with("There is no rate: nothing came back"), "{}", said[0]);
    let wrong = with(trial("1", (1000, 1_001_000), 2000, 2000, 1_001_000), |it| {
        it.latency = latencies(&[(1000, 2000)]);
    });
    let said = answer(std::slice::from_ref(&wrong), &[]);
    assert!(said[0].contains("2.00k operations per second cannot be"), "{}", said[0]);
    assert!(figures(&wrong).contains_key("iops"), "it is still to be seen");
}
