//! Published figures as people import them: what they come to, and what is refused.

use std::path::Path;

use serde_json::Value;

use crate::program::brickyard;

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = brickyard(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The limit of the finding whose claim has these words.
fn limit(document: &Value, words: &str) -> String {
    let findings = document["findings"].as_array().expect("findings").iter();
    let mut of = findings.filter(|it| it["claim"].as_str().expect("a claim").contains(words));
    let first = of.next().unwrap_or_else(|| panic!("{words:?} is in no claim of {document:#}"));
    assert!(of.next().is_none(), "{words:?} is in two claims");
    assert_eq!(first["question"], "bottleneck");
    first["limit"].as_str().expect("a limit").to_owned()
}

#[test]
fn the_second_source_is_imported_and_its_limits_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let first = printed(at, &["import", "--published", "sara-2010", "--store", "x.db"]);
    let of = |format: &str| {
        let out = ["--format", format, "--output", "out", "--force", "--quiet"];
        printed(at, &[&["report", "--store", "x.db"], &out[..]].concat());
        std::fs::read_to_string(at.join("out")).expect("a report")
    };
    let text = of("text");
    assert_eq!(text, first, "what import prints is what report prints");
    for said in ["x4 PCIe 1.0 link of", "85 %", "reported by van der Pol and Dijkstra, 2010"] {
        assert!(words(&text).contains(said), "{said:?} is not in {text}");
    }
    let html = of("html").replace('\u{a0}', " ");
    assert!(html.contains("x4 PCIe 1.0 link of") && html.contains("813 MiByte/s"));

    let document: Value = serde_json::from_str(&of("json")).expect("one document");
    assert_eq!(limit(&document, "852 MB/s from 5 disks"), "link");
    assert_eq!(limit(&document, "1028 MB/s from 6 disks"), "unknown");
    let all = document["findings"].to_string();
    assert!(all.contains("First suspect: the controller"), "{all}");
    let slow = all.matches("too slow for its port").count();
    assert!(slow >= 3 && all.contains("not downtrained"), "{slow}: {all}");
    for trial in document["trials"].as_array().expect("trials") {
        assert_eq!(trial["reported"]["by"], "van der Pol and Dijkstra, 2010");
        assert!(trial["steady"].is_null() && trial.get("origin").is_none());
        for (name, figure) in trial["figures"].as_object().expect("figures") {
            assert!(name.starts_with("reported_") && figure.get("low").is_none(), "{name}");
        }
    }
    let server = &document["inventory"]["configurations"]["x8"]["server"];
    assert!(server["pci"].as_array().is_some_and(|pci| pci.len() > 10));
    assert_eq!(document["inventory"]["published"]["set"], "sara-2010");
}

#[test]
fn sets_are_listed_and_what_is_no_set_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let listed = printed(at, &["import", "--published", "--list"]);
    assert!(listed.contains("sara-2010") && listed.contains("van der Pol"), "{listed}");
    let json = printed(at, &["import", "--published", "--list", "--json"]);
    let rows: Value = serde_json::from_str(&json).expect("rows");
    assert!(rows[0]["figures"].as_u64().is_some_and(|figures| figures > 100), "{rows}");
    let refused = |arguments: &[&str]| {
        let output = brickyard(at, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(said.starts_with("error: ") && said.contains("hint: "), "{said}");
        said
    };
    assert!(refused(&["import", "--published", "sara-2001"]).contains("--published sara-2010"));
    assert!(refused(&["import", "fio.json"]).contains("cannot import fio.json"));
    assert!(refused(&["import"]).contains("--published --list"));
    assert!(refused(&["import", "--published"]).contains("--published --list"));
    let import = ["import", "--published", "sara-2010", "--root"];
    let with = |root| [&import[..], &[root]].concat();
    assert!(refused(&with("mine.txt")).contains("--root x4=mine.txt"));
    assert!(refused(&with("x4=missing.txt")).contains("missing.txt"));
    let none = refused(&["import", "--published", "ccd-1996", "--root", "mine.txt"]);
    assert!(none.contains("no recording"), "{none}");
    assert!(!at.join("brickyard.db").exists(), "a refusal makes no store");
}

/// What each set comes to, with one of its figures in the base unit of its name.
#[test]
fn every_set_is_imported_with_all_of_its_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let sets = [
        ("cdf-2002", 334, "reported_throughput_bytes_per_s", 108e6),
        ("sara-2010", 157, "reported_level_off_throughput_bytes_per_s", 852_492_288.0),
        ("ccd-1996", 205, "reported_elapsed_s", 62.0),
        ("jackrabbit-2007", 90, "reported_throughput_bytes_per_s", 907e6),
        ("brick-2007", 126, "reported_mkfs_elapsed_s", 1507.12798),
    ];
    let listed = printed(at, &["import", "--published", "--list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("rows");
    assert_eq!(listed.as_array().map(Vec::len), Some(sets.len()), "a set is not among these");
    for (name, many, figure, value) in sets {
        let text = printed(at, &["import", "--published", name, "--json", "--store", "x.db"]);
        let document: Value = serde_json::from_str(&text).expect("one document");
        let trials = document["trials"].as_array().expect("trials").iter();
        let figures: Vec<(&String, &Value)> =
            trials.flat_map(|it| it["figures"].as_object().expect("figures")).collect();
        assert_eq!(figures.len(), many, "{name}");
        let is = |found: &f64| (found / value - 1.0).abs() < 1e-12;
        let mut of = figures.iter().filter(|(name, _)| *name == figure);
        assert!(of.any(|(_, it)| it["value"].as_f64().as_ref().is_some_and(is)), "{figure}");
        assert_eq!(document["inventory"]["published"]["set"], name);
        let slips = document["inventory"]["published"]["slips"].as_array();
        assert!(slips.is_some_and(|slips| !slips.is_empty()), "{name}");
    }
}

/// The same figures on a machine whose link is twice as fast are not held by it.
#[test]
fn a_recording_of_ones_own_takes_the_place_of_one_that_ships() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let fixture = format!("{}/tests/fixtures/sys/t610-x4.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(fixture).expect("a recording");
    std::fs::write(at.join("mine.txt"), text.replace("2.5 GT/s", "5.0 GT/s")).expect("written");
    let import = ["import", "--published", "sara-2010", "--root", "x4=mine.txt", "--json"];
    let document: Value = serde_json::from_str(&printed(at, &import)).expect("one document");
    assert_eq!(limit(&document, "852 MB/s from 5 disks"), "unknown");
    assert_eq!(document["inventory"]["configurations"]["x4"]["about"], "mine.txt");
}
