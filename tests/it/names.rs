//! `brickyard run create` and the like: operations on names, as typed.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program;

fn brickyard(folder: &Path, arguments: &[&str]) -> Output {
    let output = program::brickyard(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    output
}

/// Throughput of what moves no bytes was told as `0 MB/s`.
#[test]
fn operations_on_names_are_told_per_second_and_never_as_no_megabytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let knobs = ["streams=1,2", "files=300", "tree-depth=1", "tree-width=2", "--replicates", "2"];
    let output = brickyard(at, &[&["run", "create", "--dir", "."], &knobs[..]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    for told in [&text, &said] {
        assert!(!told.contains("MB/s") && !told.contains("IOPS"), "{told}");
    }
    assert!(text.contains("ops/s") && said.contains("operations per s"), "{text}{said}");
    let figure = text.lines().find(|line| line.starts_with("  create ")).expect("a figure");
    assert!(figure.contains("ops/s"), "{text}");
    let left = at.read_dir().expect("readable").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"));
    assert_eq!(left.count(), 0, "a work directory was left");

    let output = brickyard(at, &["report", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for trial in document["trials"].as_array().expect("trials") {
        let figures = trial["figures"].as_object().expect("figures");
        // On a busy machine one stream was through before the other was let run, and this test
        // missed a rate that there was none of.
        let mut notes = trial["notes"].as_array().expect("notes").iter();
        if notes.any(|note| note["kind"] == "no-common-time") {
            assert_eq!(trial["settings"]["streams"], 2, "{trial:#}");
            assert!(!figures.contains_key("ops_per_s"), "{trial:#}");
            continue;
        }
        assert!(figures["ops_per_s"]["value"].as_f64() > Some(0.0), "{trial:#}");
        assert!(figures["latency_ns_p99"]["value"].as_f64() > Some(0.0));
        assert!(!figures.contains_key("throughput_bytes_per_s") && !figures.contains_key("iops"));
        assert_eq!(trial["settings"]["tree-width"], 2);
    }
    for (format, shows) in [("markdown", "| ops/s |"), ("html", "Operations against streams")] {
        let file = format!("report.{format}");
        brickyard(at, &["report", "--format", format, "--output", &file]);
        let page = std::fs::read_to_string(at.join(&file)).expect("written");
        assert!(page.contains(shows), "{format} does not show `{shows}`");
    }
}

/// Other programs rely on these knobs of the plan.
#[test]
fn the_plan_metadata_takes_files_their_size_and_the_tree_on_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = ["files=100,200", "file-size=0B,1KiB", "tree-depth=1,2", "tree-width=2,3"];
    let arguments = [&["plan", "metadata", "--dir", "."], &knobs[..]].concat();
    let text = String::from_utf8(brickyard(folder.path(), &arguments).stdout).expect("UTF-8");
    let lines = |told: &str| text.lines().filter(|line| line.trim() == told).count();
    for operation in ["create", "stat", "unlink", "readdir", "fsync", "rename", "touch"] {
        assert_eq!(lines(operation), 1, "{operation}: {text}");
    }
    for knob in
        ["files = 100, 200", "file-size = 0B, 1KiB", "tree-depth = 1, 2", "tree-width = 2, 3"]
    {
        assert!(lines(knob) >= 11, "{knob}: {text}");
    }
    assert!(text.contains("command 4"), "touch twice, rm and tar: {text}");
}
