//! `brickyard size`, as typed: what the second source's figures say that 40 Gb/s takes.

use crate::program::{brickyard, document};

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn forty_gigabits_take_what_the_second_source_expected_and_slots_bind_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let output = brickyard(at, &["import", "--published", "sara-2010", "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    let asked = ["size", "--throughput", "40Gb/s"];
    let output = brickyard(at, &asked);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for said in [
        "It takes 5 to 6 controllers, at least 30 disks (29.2 to 29.3, rounded up), 5 to 6 NICs.",
        "Slots bind first: these are 10 to 12 cards, the machine has 6 slots",
        "40 to 48 with all 8 ports of 5 to 6 controllers filled",
        "expected 5 to 6 controllers, 40 to 50 disks, 2 NICs (section 6), not measured",
        "Their 40 to 50 disks are the controllers with all 8 ports filled: 40 to 48.",
        "figures of others, not measured here",
    ] {
        assert!(words(&text).contains(said), "{said:?} is not in {text}");
    }
    assert!(!text.contains("cost") && !text.contains("redundancy"), "{text}");

    // With other ports it is not what they meant, and is not said to be.
    let output = brickyard(at, &[&asked[..], &["--ports", "16"]].concat());
    let other = words(&String::from_utf8(output.stdout).expect("text"));
    assert!(other.contains("80 to 96 with all 16 ports") && !other.contains("Their 40"), "{other}");

    let found = document(&brickyard(at, &[&asked[..], &["--json"]].concat()));
    let of = |part: &str| ["value", "low", "high"].map(|end| found[part][end].as_u64());
    assert_eq!(of("controllers"), [Some(5), Some(5), Some(6)]);
    assert_eq!(of("disks"), [Some(30), Some(30), Some(30)]);
    assert_eq!(of("nics"), [Some(5), Some(5), Some(6)]);
    assert_eq!(found["binds"]["first"], "slots");
    assert_eq!(found["binds"]["below_target"], true);
    let schema = format!("{}/docs/reference/size.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema = std::fs::read_to_string(schema).expect("the schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("a schema");
    let keys = schema["required"].as_array().expect("keys");
    assert!(keys.iter().all(|key| found.get(key.as_str().expect("a key")).is_some()), "{found:#}");

    let more = ["--capacity", "10TB", "--disk-capacity", "160GB", "--ports", "16", "--cost"];
    let prices = ["--disk-price", "300USD", "--controller-price", "500USD", "--json"];
    let found = document(&brickyard(at, &[&asked[..], &more, &prices].concat()));
    assert_eq!(found["disks_capacity"]["value"], 63);
    assert_eq!(found["disks_filled"]["high"], 96);
    assert_eq!(found["cost"]["value"], 63.0 * 300.0 + 5.0 * 500.0);
    assert_eq!(found["cost"]["without"], serde_json::json!(["nics"]));
}

#[test]
fn what_cannot_be_sized_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let refused = |arguments: &[&str], word: &str| {
        let output = brickyard(at, &[&["size"], arguments].concat());
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    };
    refused(&["--throughput", "40Gb/s"], "brickyard.db");
    let output = brickyard(at, &["import", "--published", "brick-2007", "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    refused(&[], "--throughput");
    refused(&["--throughput", "fast"], "--throughput 40Gb/s");
    refused(&["--throughput", "40GB"], "per second");
    refused(&["--throughput", "0Gb/s"], "--throughput 40Gb/s");
    refused(&["7", "--throughput", "1Gb/s"], "the newest is 1");
    refused(&["--throughput", "1Gb/s", "--capacity", "much"], "--capacity 200TB");
    refused(&["--throughput", "1Gb/s", "--cost"], "--disk-price 300USD");
    let mixed = ["--throughput", "1Gb/s", "--cost", "--disk-price", "3USD", "--nic-price", "4EUR"];
    refused(&mixed, "one currency");
    for price in ["cheap", "-3USD", "3U4", ""] {
        let typed = format!("--disk-price={price}");
        refused(&["--throughput", "1Gb/s", "--cost", &typed], "--disk-price 300USD");
    }
    let output = brickyard(at, &["size", "--throughput", "1Gb/s"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(words(&text).contains("What it takes is not known"), "{text}");
    assert!(words(&text).contains("measure it: `brickyard run"), "{text}");
}
