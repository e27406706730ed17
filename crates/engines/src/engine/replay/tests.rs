//! Whole trials on real files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::ReplayLoad;
use super::*;
use crate::engine::clients::testing::trial;
use crate::engine::load::protocol::{Failure, LoadResult};
use experiment::knob;
use experiment::measurement::Operation;

const ENGINE: ClientEngine<ReplayLoad> =
    ClientEngine { name: "replay", make, needs, run: client::run };

fn settings(more: Value) -> Value {
    let mut all = json!({ "stop": "pass", "warm-up": 0 });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

fn run(more: Value, clients: usize) -> Result<LoadResult, (Failure, String)> {
    let folder = tempfile::tempdir().unwrap();
    trial(&ENGINE, settings(more), folder.path(), clients)
}

#[expect(clippy::disallowed_methods, reason = "a fixture")]
fn loadfile(folder: &Path, lines: &[&str]) -> PathBuf {
    let path = folder.join("loadfile");
    let first = [
        r#"Deltree "\clients\client1" NT_STATUS_OK"#,
        r#"Mkdir "\clients" NT_STATUS_OK"#,
        r#"NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK"#,
        "Close 1 NT_STATUS_OK",
    ];
    std::fs::write(
        &path,
        first.iter().chain(lines).map(|line| format!("{line}\n")).collect::<String>(),
    )
    .unwrap();
    path
}

#[test]
fn clients_go_through_the_loadfile_that_ships_and_everything_comes_out_as_it_says() {
    let result = run(json!({ "sustained": false }), 2).unwrap();
    assert_eq!(result.streams.len(), 2);
    for stream in &result.streams {
        assert!(stream.pass_end_ns.is_some());
        assert_eq!(stream.pass, result.streams[0].pass);
        assert_eq!(stream.pass, stream.total, "it stopped after its pass");
        assert_eq!(
            stream.pass.ops(),
            program(&Settings::defaults("replay")).unwrap().steps.len() as u64
        );
    }
    use Operation as O;
    let kinds: Vec<O> = result.latency.iter().map(|(kind, _)| *kind).collect();
    let some = [O::Read, O::Write, O::Create, O::Open, O::Close, O::Stat, O::Setattr];
    assert!(some.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    assert!(result.notes.is_empty(), "{:?}", result.notes);
}

#[test]
fn a_loadfile_is_replayed_in_every_manner_and_a_second_round_finds_what_the_first_found() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        r#"QUERY_PATH_INFORMATION "\clients\client1\f" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND"#,
        r#"NTCreateX "\clients\client1\f" 0x40 0x2 3 NT_STATUS_OK"#,
        "WriteX 3 0 10 10 NT_STATUS_OK",
        r#"Rename "\clients\client1\f" "\clients\client1\g" NT_STATUS_OK"#,
        r#"Mkdir "\clients\client1\d" NT_STATUS_OK"#,
        r#"Rmdir "\clients\client1\d" NT_STATUS_OK"#,
        "ReadX 3 5 10 5 NT_STATUS_OK",
    ];
    let path = loadfile(folder.path(), &lines);
    for manner in ["resolve-names", "sync-open", "sync-writes", "sync-directories"] {
        // 300 bytes take 20 rounds; the handle that is left open is opened anew in each.
        let more = json!({ "loadfile": path, "stop": "300B", "resolve-names": false });
        let mut more = more;
        more[manner] = json!(true);
        let result = run(more, 1).unwrap();
        assert!(result.streams[0].pass.bytes() >= 300, "{manner}");
        assert!(result.streams[0].pass.metadata_ops >= 19 * 9, "{manner}");
    }
}

#[test]
fn a_timed_trial_has_its_window_after_the_warm_up_and_ends_in_the_middle_of_a_round() {
    let result = run(json!({ "stop": "200ms", "warm-up": 100_000_000, "data": "zero" }), 2);
    let result = result.unwrap();
    let window = result.window.unwrap();
    assert!(window.start_ns >= 100_000_000 && window.end_ns - window.start_ns >= 200_000_000);
    assert!(window.done.metadata_ops > 0 && window.done.bytes() > 0);
    assert!(result.streams.iter().all(|stream| stream.pass_end_ns.is_none()));
    let total = result.streams[0].total.plus(&result.streams[1].total);
    assert!(window.done.bytes() < total.bytes());
    assert_eq!(result.load.columns.len(), 5);
}

#[test]
fn an_outcome_that_the_loadfile_does_not_expect_fails_the_trial_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let open = r#"NTCreateX "\clients\client1\f" 0x40 0x2 3 NT_STATUS_OK"#;
    for (lines, line, words) in [
        (
            vec![r#"Unlink "\clients\client1\none" 0x6 NT_STATUS_OK"#],
            5,
            vec!["unlink of clients/client0/none", "it is done", "No such file or directory"],
        ),
        (
            vec![open, r#"NTCreateX "\clients\client1\f" 0x40 0x1 4 NT_STATUS_NO_SUCH_FILE"#],
            6,
            vec!["open of clients/client0/f", "there is no such file", "it was done"],
        ),
        (
            vec![open, "WriteX 3 0 10 10 NT_STATUS_OK", "ReadX 3 0 20 20 NT_STATUS_OK"],
            7,
            vec!["read of clients/client0/f", "10 bytes came"],
        ),
        (
            vec![open, r#"FIND_FIRST "\clients\client1\f*" 260 100 0 NT_STATUS_NO_SUCH_FILE"#],
            6,
            vec!["readdir of clients/client0/f*", "it was done"],
        ),
    ] {
        let path = loadfile(folder.path(), &lines);
        let (kind, what) = run(json!({ "loadfile": path }), 1).map(|_| ()).unwrap_err();
        assert_eq!(kind, Failure::Failed);
        assert!(what.contains(&format!("line {line}:")), "{what}");
        assert!(words.iter().all(|word| what.contains(word)), "{what}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_with_what_would_work() {
    let refused = |name: &str, value: &str| {
        let mut settings = Settings::defaults("replay");
        let knob = experiment::knob::find(name).unwrap();
        settings.set_named(name, knob.domain.parse(value).unwrap());
        settings.set(knob::WARM_UP, 1);
        ReplayEngine.check(&settings).unwrap_err().to_string()
    };
    assert!(refused("stop", "steady").contains("choose a time"));
    assert!(refused("stop", "pass").contains("warm-up=0s"));
    assert!(refused("loadfile", "/nowhere/client.txt").contains("No such file or directory"));
    let folder = tempfile::tempdir().unwrap();
    let bad = loadfile(folder.path(), &["Close 7 NT_STATUS_OK"]);
    let why = refused("loadfile", bad.to_str().unwrap());
    assert!(why.contains("line 5: handle 7 is not open here"), "{why}");
    assert!(ReplayEngine.check(&Settings::defaults("replay")).is_ok());
}

/// A loadfile that was a device was read until there was no memory left, and a pipe for ever.
#[test]
fn what_is_no_file_of_some_length_is_not_read() {
    let refused = |path: &str| {
        let mut settings = Settings::defaults("replay");
        settings.set(knob::LOADFILE, path);
        ReplayEngine.check(&settings).unwrap_err().to_string()
    };
    assert!(refused("/dev/zero").contains("it is a device"));
    assert!(refused("/").contains("it is a directory"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binary");
    #[expect(clippy::disallowed_methods, reason = "a fixture")]
    std::fs::write(&path, b"Flush \xff\xfe\n").unwrap();
    assert!(refused(path.to_str().unwrap()).contains("line 1 is not text in UTF-8"));
}

/// A loadfile that moves no bytes went on until `at-most` when bytes were to end it.
#[test]
fn bytes_cannot_end_what_moves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = loadfile(folder.path(), &["Qfsinfo 259 NT_STATUS_OK"]);
    let (_, what) = run(json!({ "loadfile": path, "stop": "1MiB" }), 1).map(drop).unwrap_err();
    assert!(what.contains("reads and writes no bytes"), "{what}");
    let result = run(json!({ "loadfile": path }), 1).unwrap();
    assert_eq!(result.streams[0].pass.metadata_ops, 5);
}

/// A thousand handles and one more failed on their way with "Too many open files", under the soft
/// limit of most machines; and a hundred thousand do so still, but before anything is made.
#[test]
fn as_many_files_are_open_as_the_hard_limit_allows_and_more_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |many: usize| -> Vec<String> {
        let line = |n| format!(r#"NTCreateX "\clients\client1\f" 0x40 0x2 {n} NT_STATUS_OK"#);
        (2..many + 2).map(line).collect()
    };
    let run = |many: usize| {
        let lines = open(many);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        run(json!({ "loadfile": loadfile(folder.path(), &lines) }), 1).map(drop)
    };
    let limit = crate::engine::load::cpus::descriptors();
    if limit >= 2000 {
        assert_eq!(run(1500), Ok(()));
    }
    if limit < 2_000_000 {
        let (kind, what) = run(limit as usize).unwrap_err();
        assert!(kind == Failure::Unsupported && what.contains("ulimit -n"), "{what}");
    }
}
