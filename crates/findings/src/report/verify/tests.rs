//! Documents and texts of verifications, whole, wrong and empty.

use std::collections::BTreeMap;

use super::*;
use crate::report::schema::check;
use experiment::measurement::integrity::{Lasting, Reread};
use experiment::measurement::origin::{Origin, Verdict};
use experiment::measurement::verified::outcome::{FileProblem, Reading};

const SCHEMA: &str = include_str!("../../../../../docs/reference/verify.schema.json");

/// 10^12 bits read in each of two passes in 1000 s, from the device.
fn outcome() -> Verification {
    let bytes = 125_000_000_000;
    let reading = Reading {
        first_pass: 1,
        passes: 2,
        started_unix_ns: 1,
        elapsed_ns: 1_000_000_000_000,
        checked_bytes: 2 * bytes,
        compared_bytes: bytes,
        origin: Origin {
            verdict: Verdict::Device,
            device_share: Some(1.0),
            reason: "both counts agree".to_owned(),
        },
    };
    let mut outcome = Verification {
        elapsed_ns: 1_000_000_000_000,
        files: 3,
        files_read: 3,
        passes: 2,
        readings: vec![reading],
        ..Verification::default()
    };
    outcome.integrity.checksum = "xxh3-128".to_owned();
    outcome.integrity.block_bytes = 1 << 20;
    outcome.integrity.checked_bytes = 2 * bytes;
    outcome
}

fn faulty() -> Verification {
    let mut outcome = outcome();
    outcome.integrity.wrong = BTreeMap::from([("bit-flip".to_owned(), 2)]);
    outcome.integrity.unreadable = 1;
    outcome.integrity.unreadable_bytes = 4096;
    outcome.integrity.faults = vec![Fault {
        file: "a/b".to_owned(),
        offset: 1 << 20,
        kind: "bit-flip".to_owned(),
        what: "1 bits in 1 bytes differ".to_owned(),
        rereads: vec![Reread { how: "same".to_owned(), gave: "right".to_owned() }],
        lasting: Lasting::Transient,
        kernel: vec!["[1.0] I/O error".to_owned()],
        ..Fault::default()
    }];
    let kind = ProblemKind::Missing;
    outcome.problems =
        vec![FileProblem { file: "gone".to_owned(), kind, what: "No such file".to_owned() }];
    outcome.problem_counts = BTreeMap::from([(kind, 1), (ProblemKind::Skipped, 3)]);
    outcome
}

fn obeys(document: &Value) -> Result<(), String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    check("", document, &schema, &schema)
}

#[test]
fn documents_obey_their_schema_and_it_notices_what_breaks_it() {
    for (outcome, status) in [(outcome(), 0), (faulty(), 1), (Verification::default(), 130)] {
        let mut document = json(&outcome, status);
        obeys(&document).unwrap();
        document["verify"]["bits"]["from_device"] = "many".into();
        assert!(obeys(&document).is_err());
    }
}

#[test]
fn rates_are_bounded_over_the_bits_of_the_device_alone() {
    let document = json(&outcome(), 0);
    let verify = &document["verify"];
    // The rule of three: 2.9957 over 10^12 bits compared, over 2 * 10^12 bits read.
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-4, "{value} is not {expected}");
    };
    near(&verify["silent"]["per_bit_at_most"], 2.9957e-12);
    near(&verify["unreadable"]["per_bit_at_most"], 1.4979e-12);
    // 2.9957e14 bits less the 2e12 that were read, at 7.2e12 bits an hour.
    near(&verify["promises"][0]["hours_more"], (2.9957e14 - 2e12) / 7.2e12);
    let mut cached = outcome();
    cached.readings[0].origin.verdict = Verdict::Cache;
    let document = json(&cached, 0);
    assert_eq!(document["verify"]["bits"]["from_device"], 0);
    assert!(document["verify"]["silent"]["per_bit_at_most"].is_null());
    assert!(document["verify"]["promises"][2]["hours_more"].is_null());
    cached.readings[0].origin = Origin {
        verdict: Verdict::Mixed,
        device_share: Some(0.25),
        reason: "the rest was in memory".to_owned(),
    };
    assert_eq!(bits(&cached).from_device, 5e11);
}

#[test]
fn the_text_says_what_was_found_where_and_what_it_is_worth() {
    let told = text(&outcome());
    assert!(told.contains("clean: every byte"), "{told}");
    assert!(told.contains("at most 3.0e-12 per bit (95 %)"), "{told}");
    let told = text(&faulty());
    for part in [
        "bit-flip: a/b at byte 1048576: 1 bits in 1 bytes differ; transient",
        "read again: same: right",
        "kernel: [1.0] I/O error",
        "missing: gone: No such file",
        "... and 2 faults more",
        "... and 3 problems more",
        "WRONG: ",
        "UNREADABLE: ",
        "INCOMPLETE: ",
        "2 (2 bit-flip)",
    ] {
        assert!(told.contains(part), "`{part}` is not in\n{told}");
    }
    assert!(text(&Verification::default()).contains("nothing was read"));
}
