//! What `undo` and `--dry-run` say, and that a dry run leaves nothing behind.

use std::path::Path;
use std::process::{Command, Output};

fn brickyard(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("brickyard can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn undo_without_a_journal_says_so_and_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["undo"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "nothing to undo: there is no brickyard.db-undo\n");
    let output = brickyard(folder.path(), &["undo", "--json", "--store", "x.db"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["left"], 0);
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0);
}

#[test]
fn undo_of_a_journal_that_tells_of_a_strangers_file_fails_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "mine").expect("written");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    let line = serde_json::json!({ "write": {
        "path": victim, "device": null, "boot": boot.trim(), "before": "gone", "written": "mine",
        "instead": null,
    } });
    let journal = folder.path().join("brickyard.db-undo");
    std::fs::write(&journal, format!("{line}\n")).expect("written");
    let output = brickyard(folder.path(), &["undo"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("hint: brickyard undo"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&victim).expect("there"), "mine");
    assert!(journal.exists());
}

#[test]
fn a_dry_run_prints_what_it_would_change_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = ["drop-caches=true", "cpuset=0", "--dry-run"];
    let arguments = [&["run", "random-read"][..], &knobs].concat();
    let output = brickyard(folder.path(), &arguments);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("/proc/sys/vm/drop_caches") && said.contains("cpuset=0"), "{said}");
    assert!(said.contains("brickyard.db-undo"), "{said}");
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0);
}

#[test]
fn a_knob_of_the_machine_takes_its_levels_and_the_simulated_server_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = brickyard(folder.path(), &[&["run", "random-read"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert!(run(&["read-ahead=7"]).contains("as-is, or 0B to 1GiB, multiples of 4KiB"));
    assert!(run(&["io-scheduler=deadline"]).contains("none, mq-deadline, kyber, bfq"));
    assert!(run(&["--engine", "sim", "swappiness=1"]).contains("--engine file"));
}
