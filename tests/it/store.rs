//! Stores that nobody should believe: names that SQLite takes for something else, files that
//! another program has made up, and files with damage.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::program::{brickyard, document};

/// One campaign of a simulated server.
fn measured(folder: &Path, store: &str) {
    let run = ["run", "random-read", "--engine", "sim", "streams=1,2", "stop=300ms", "--quiet"];
    let output = brickyard(folder, &[&run[..], &["--seed", "7", "--store", store]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{store}: {said}");
}

/// A connection to a store that another program has, with no journal left beside it.
fn other(folder: &Path, store: &str) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(folder.join(store)).expect("a store");
    connection.execute_batch("PRAGMA journal_mode = DELETE").expect("one file");
    connection
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `--store :memory:` measured for an hour, said "kept", and kept nothing; `file:x?mode=memory` as
/// well, and `file:/etc/x` was another file than the one of that name.
#[test]
fn the_name_of_a_store_is_a_path_whatever_it_looks_like() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for name in [
        ":memory:",
        "file:x?mode=memory",
        "file:a.db",
        "a?mode=ro#b",
        "a%20b",
        "a b'\";",
        "-wal",
        "é\n",
    ] {
        let name = &format!("./{name}")[if name.starts_with('-') { 0 } else { 2 }..];
        measured(at, name);
        assert!(at.join(name).is_file(), "{name}: no file of that name");
        let listed = brickyard(at, &["list", "campaigns", "--store", name, "--json"]);
        assert_eq!(document(&listed).as_array().map(Vec::len), Some(1), "{name}");
    }
    let strange = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        ["x", "%20"].iter().any(|part| *part == name)
    };
    let names = at.read_dir().expect("listed").map(|entry| entry.expect("one").file_name());
    assert!(!names.into_iter().any(|name| strange(&name)));
}

/// SQLite said "unable to open database file" of a name with 250 letters, and of a long folder.
#[test]
fn a_name_that_can_be_none_has_its_own_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (name, deep) = ("n".repeat(248), "d".repeat(250));
    let deep = format!("{deep}/{deep}/x.db");
    std::fs::create_dir_all(at.join(&deep).parent().expect("a folder")).expect("made");
    for (store, why) in [
        (name.as_str(), "its name has 248 bytes; 247 leave room"),
        (deep.as_str(), "SQLite takes 504 at most"),
    ] {
        for command in [&["list", "campaigns"][..], &["run", "random-read", "--engine", "sim"]] {
            let output = brickyard(at, &[command, &["--store", store]].concat());
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(why) && said.contains("hint: "), "{said}");
            assert!(said.len() < 700, "{said}");
        }
    }
    measured(at, &"n".repeat(247));
}

/// Every command that opens a store, but `serve`, which does not end by itself where it succeeds.
const COMMANDS: [&[&str]; 9] = [
    &["list", "campaigns"],
    &["report", "--format", "csv"],
    &["compare", "1", "1"],
    &["query", "SELECT * FROM trials"],
    &["size", "--throughput", "1GB/s"],
    &["check"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["run", "random-read", "--engine", "sim", "streams=1,2", "stop=300ms", "--resume"],
    &["run", "random-read", "--engine", "sim", "streams=1,2", "stop=300ms"],
];

/// `list campaigns` on a store with a view that never ends, in the place of its table, took 10.5 GB
/// of memory before it was killed, and `serve` did not end at TERM.
#[test]
fn a_store_that_another_program_has_made_up_is_refused_by_every_command_and_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "whole.db");
    drop(other(at, "whole.db"));
    let endless = "CREATE VIEW campaign AS WITH RECURSIVE n(i) AS \
                   (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'u' AS uid, \
                   'p' AS plan, 'e' AS engine, 'h' AS host, 1 AS started_unix_ns, \
                   1 AS ended_unix_ns, 1 AS seed, '1' AS version, '[]' AS argv, '{}' AS inventory, \
                   '[]' AS not_bought, NULL AS plan_json, NULL AS prices FROM n";
    for (planted, named) in [
        (endless, "`campaign` is a view where a table is due"),
        ("CREATE TRIGGER spy AFTER INSERT ON trial BEGIN DELETE FROM note; END", "trigger `spy`"),
        ("ALTER TABLE trial DROP COLUMN evidence", "no column `evidence`"),
        ("CREATE VIRTUAL TABLE notes USING fts5(text)", "virtual table `notes`"),
    ] {
        std::fs::copy(at.join("whole.db"), at.join("brickyard.db")).expect("copied");
        let connection = other(at, "brickyard.db");
        if planted == endless {
            let gone = "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON;
                        ALTER TABLE campaign RENAME TO mine; DROP TRIGGER seal_campaign_gone";
            connection.execute_batch(gone).expect("renamed");
        }
        connection.execute_batch(planted).expect("planted");
        drop(connection);
        let before = std::fs::read(at.join("brickyard.db")).expect("read");
        for command in COMMANDS {
            let began = Instant::now();
            let output = brickyard(at, command);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(said.contains(named) && said.contains("hint: "), "{command:?}: {said}");
            // Not a measurement: what never ends would be at its bound of time.
            assert!(began.elapsed() < Duration::from_secs(60), "{command:?}");
        }
        let after = std::fs::read(at.join("brickyard.db")).expect("read");
        assert!(before == after, "{planted}: the file was changed");
    }
}

/// A bit that turned in a count gave another figure with exit status 0.
#[test]
fn a_damaged_trial_is_left_out_by_every_command_and_named_by_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "brickyard.db");
    let whole = brickyard(at, &["check", "--json"]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    assert_eq!(document(&whole)["whole"], true);
    let connection = other(at, "brickyard.db");
    // As a disk does it: no trigger of ours takes the cached row along.
    let number: i64 = connection
        .query_row("SELECT max(number) FROM trial", [], |row| row.get(0))
        .expect("a trial");
    let turned = "CREATE TEMP TABLE t AS SELECT sql FROM sqlite_schema
                  WHERE name = 'derived_trial_changed'; DROP TRIGGER derived_trial_changed;
                  UPDATE trial SET window_read_bytes = window_read_bytes + 65536
                  WHERE number = (SELECT max(number) FROM trial);
                  DELETE FROM derived";
    connection.execute_batch(turned).expect("turned");
    let again: String =
        connection.query_row("SELECT sql FROM t", [], |row| row.get(0)).expect("the trigger");
    connection.execute_batch(&again).expect("made again");
    drop(connection);
    let named = format!("trial {number} of campaign 1 is damaged");
    for command in [
        &["report", "--format", "json"][..],
        &["report", "--format", "csv"],
        &["compare", "1", "1"],
        &["query", "SELECT * FROM trials"],
        &["query", "SELECT sum(window_read_bytes) FROM trial"],
        &["size", "--throughput", "1GB/s"],
        &["check"],
    ] {
        let output = brickyard(at, command);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(&named) || printed.contains(&named), "{command:?}: {said}");
        assert!(said.contains("hint: "), "{command:?}: {said}");
    }
    let json = brickyard(at, &["report", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let trials = json["trials"].as_array().expect("trials");
    assert!(trials.iter().all(|trial| trial["number"] != number) && !trials.is_empty());
    assert_eq!(json["findings"][0]["question"], "store");
    assert_eq!(json["findings"][0]["evidence"], serde_json::json!([number]));
    let checked = brickyard(at, &["check", "--json"]);
    let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!(checked["damaged"][0]["trial"], number);
    // What goes on with the plan does not take it for over.
    let run = ["run", "random-read", "--engine", "sim", "streams=1,2", "stop=300ms", "--resume"];
    let output = brickyard(at, &run);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}
