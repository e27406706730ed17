//! `brickyard run sqlite` and `run database`: transactions, as typed.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn brickyard(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("brickyard can be started")
}

fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("no JSON ({why}): {said}"))
}

/// The whole plan, shortened: SQLite in both ways, and PostgreSQL where it is.
#[test]
fn the_plan_database_counts_transactions_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let knobs = ["streams=1,2", "stop=1s", "--replicates", "1", "--json"];
    let output = brickyard(at, &[&["run", "database", "--dir", "."], &knobs[..]].concat());
    let document = document(&output);
    let trials = document["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 6, "{document:#}");
    for trial in trials.iter().filter(|trial| trial["settings"].get("page-size").is_some()) {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let figure = |name: &str| trial["figures"][name]["value"].as_f64();
        let rate = figure("transactions_per_s").expect("a rate");
        assert!(rate > 0.0 && figure("latency_ns_p99") > Some(0.0), "{trial:#}");
        // Every operation is a transaction.
        let ops = figure("ops_per_s").expect("a rate");
        assert!((ops / rate - 1.0).abs() < 0.05, "{ops} {rate}");
        assert!(figure("throughput_bytes_per_s").is_none(), "{trial:#}");
    }
    let left = at.read_dir().expect("readable").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"));
    assert_eq!(left.count(), 0, "a work directory was left");
}

#[test]
fn what_sqlite_cannot_keep_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    for (knob, word) in [
        ("page-size=1536", "a power of two"),
        ("stop=1GiB", "stop=pass with transactions="),
        ("journal-mode=memory", "wal"),
        ("synchronous=none", "full"),
    ] {
        let output = brickyard(folder.path(), &["run", "sqlite", "--dir", ".", knob]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{knob}: {said}");
        assert!(said.contains(word) && said.contains("hint: "), "{knob}: {said}");
    }
    let entries = folder.path().read_dir().expect("readable").flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| name.to_string_lossy().starts_with("brickyard.db")));
}
