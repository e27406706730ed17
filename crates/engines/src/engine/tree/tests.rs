//! Whole trials through the worker, in this process, on real directories.

use std::collections::HashSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::worker::conduct;
use crate::engine::load::protocol::{Failure, LoadResult};
use crate::engine::load::testing::{Said, assert_all_have_a_class, converse};
use experiment::measurement::Operation;

const STREAMS: usize = 2;
const FILES: u64 = 60;

/// Settings of a small trial, with others over them.
fn with(more: Value) -> Value {
    let mut all = json!({
        "files": FILES, "file-size": 0, "cold": false, "stop": "pass", "tree-depth": 1,
        "tree-width": 3, "streams": STREAMS,
    });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

fn run(folder: &Path, settings: Value) -> Said {
    let streams: Vec<Vec<PathBuf>> = vec![vec![folder.to_owned()]; STREAMS];
    converse(conduct, settings, streams, false)
}

fn done(folder: &Path, settings: Value) -> LoadResult {
    match run(folder, settings.clone()).end {
        Some(Ok(result)) => result,
        other => panic!("{settings}: {other:?}"),
    }
}

fn refused(folder: &Path, settings: Value) -> (Failure, String) {
    match run(folder, settings.clone()).end {
        Some(Err(failure)) => failure,
        other => panic!("{settings}: {other:?}"),
    }
}

/// Every path below `folder`, as `find` shows them.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
        }
        all.push(path);
    }
    all
}

/// How many names below `folder` begin so.
fn named(folder: &Path, letter: char) -> u64 {
    let begins = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(letter))
    };
    below(folder).iter().filter(begins).count() as u64
}

#[test]
fn every_operation_does_to_each_file_once_what_its_name_says_and_leaves_what_ls_shows() {
    let all = STREAMS as u64 * FILES;
    for (operation, kind, each, files, others, made) in [
        ("create", Operation::Create, FILES, all, 0, 0),
        ("open", Operation::Open, FILES, all, 0, 0),
        ("stat", Operation::Stat, FILES, all, 0, 0),
        ("readdir", Operation::Readdir, 4, all, 0, 0),
        ("rename", Operation::Rename, FILES, 0, all, 0),
        ("link", Operation::Link, FILES, all, all, 0),
        ("unlink", Operation::Unlink, FILES, 0, 0, 0),
        ("mkdir", Operation::Mkdir, FILES, 0, 0, all),
        ("rmdir", Operation::Rmdir, FILES, 0, 0, 0),
        ("fsync", Operation::Fsync, FILES, all, 0, 0),
        ("touch", Operation::Setattr, FILES, all, 0, 0),
    ] {
        for shared in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let order = if shared { "random" } else { "sequential" };
            let settings = with(json!({
                "operation": operation, "shared-directories": shared, "order": order,
                "sustained": false,
            }));
            let result = done(folder.path(), settings);
            let counts = ['f', 'g', 'm'].map(|letter| named(folder.path(), letter));
            assert_eq!(counts, [files, others, made], "{operation}, shared: {shared}");
            for stream in &result.streams {
                assert_eq!(stream.pass.metadata_ops, each, "{operation}");
                assert_eq!((stream.total.bytes(), stream.total.ops()), (0, each), "{operation}");
                assert!(stream.pass_end_ns.is_some() && stream.cpu_ns > 0);
            }
            assert_eq!(result.latency[0].0, kind);
            let trees = if shared { 1 } else { STREAMS as u64 };
            assert_eq!(named(folder.path(), 'd'), 3 * trees, "directories of the tree");
        }
    }
}

#[test]
fn files_are_as_large_as_was_asked_and_no_two_are_alike() {
    for size in [1_u64, 100, 5000, (2 << 20) + 7] {
        let folder = tempfile::tempdir().unwrap();
        let settings = with(json!({"operation": "create", "files": 3, "file-size": size}));
        let result = done(folder.path(), settings);
        let written: u64 = result.streams.iter().map(|stream| stream.total.write_bytes).sum();
        assert_eq!(written, 6 * size);
        assert_eq!(result.durable.map(|durable| durable.bytes), Some(written));
        let files = below(folder.path()).into_iter().filter(|path| path.is_file());
        let contents: Vec<Vec<u8>> = files
            .map(|path| {
                let mut bytes = Vec::new();
                std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            })
            .collect();
        assert!(contents.iter().all(|bytes| bytes.len() as u64 == size));
        let distinct: HashSet<&Vec<u8>> = contents.iter().collect();
        // A header has no room to tell files apart in less than 24 bytes.
        assert!(size < 24 || distinct.len() == 6, "{size}: {}", distinct.len());
    }
}

#[test]
fn what_can_be_done_again_goes_on_for_its_time_and_what_is_used_up_says_so() {
    for operation in ["stat", "rename", "touch", "readdir", "open"] {
        let folder = tempfile::tempdir().unwrap();
        let result = done(folder.path(), with(json!({"operation": operation, "stop": "300ms"})));
        let window = result.window.unwrap();
        assert!(window.done.metadata_ops > 4 * FILES, "{operation}: {window:?}");
        assert!(window.seconds() > 0.25 && result.notes.is_empty(), "{:?}", result.notes);
        assert!(result.load.column("metadata_ops").is_some());
        assert_all_have_a_class(&result.into_measurement().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let result = done(folder.path(), with(json!({"operation": "unlink", "stop": "30s"})));
    assert!(result.notes.iter().any(|note| note.kind == "ran-out-of-files"));
    assert_eq!(named(folder.path(), 'f'), 0);
}

#[test]
fn sustained_streams_go_on_until_the_last_is_through_and_a_pass_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(json!({"operation": "stat", "at-least": 100_000_000}));
    let result = done(folder.path(), settings);
    for stream in &result.streams {
        assert!(
            stream.pass.metadata_ops >= FILES && stream.pass.metadata_ops.is_multiple_of(FILES)
        );
        assert!(stream.total.metadata_ops >= stream.pass.metadata_ops);
        assert!(stream.pass_end_ns.unwrap() >= 100_000_000);
    }
}

#[test]
fn a_load_that_is_stopped_ends_and_is_checked_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let streams = vec![vec![folder.path().to_owned()]; STREAMS];
    let said = converse(conduct, with(json!({"operation": "stat", "stop": "60s"})), streams, true);
    assert!(matches!(said.end, Some(Ok(_))) && said.words.contains(&"running"), "{:?}", said.end);
}

#[test]
fn a_stream_that_fails_names_the_file_and_the_kernels_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("s0000")).unwrap();
    let (kind, what) = refused(folder.path(), with(json!({"operation": "create"})));
    assert_eq!(kind, Failure::Failed);
    assert!(what.contains("/s0000") && what.contains("File exists"), "{what}");
    let (kind, what) = refused(folder.path(), with(json!({"operation": "mkdir", "cold": true})));
    assert_eq!(kind, Failure::Unsupported);
    assert!(what.contains("needs cold=false"), "{what}");
    let huge = with(json!({"operation": "create", "file-size": 1_u64 << 49}));
    let (kind, what) = refused(folder.path(), huge);
    assert_eq!(kind, Failure::Unsupported);
    assert!(what.contains("5 % of the file system stay free"), "{what}");
}

#[test]
fn a_touch_sets_the_time_of_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let result = done(folder.path(), with(json!({"operation": "touch", "sustained": false})));
    let started_s = (result.started_unix_ns / 1_000_000_000) as i64;
    let files = below(folder.path()).into_iter().filter(|path| path.is_file());
    assert!(files.map(|path| path.metadata().unwrap().mtime()).all(|at| at >= started_s - 1));
}

/// Names of bonnie++'s size, and what is read afterwards is what was made.
#[test]
fn files_are_named_as_bonnie_names_them() {
    for (operation, order, left) in
        [("create", "sequential", 1), ("stat", "random", 1), ("unlink", "random", 0)]
    {
        for shared in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let settings = with(json!({
                "operation": operation, "order": order, "names": "bonnie",
                "shared-directories": shared, "sustained": false,
            }));
            done(folder.path(), settings);
            let files = below(folder.path()).into_iter().filter(|path| path.is_file());
            let names: HashSet<_> =
                files.map(|path| path.file_name().unwrap().to_owned()).collect();
            assert_eq!(names.len() as u64, left * STREAMS as u64 * FILES, "{operation} {shared}");
            assert!(names.iter().all(|name| (10..=22).contains(&name.len())), "{names:?}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let rename = with(json!({"operation": "rename", "names": "bonnie"}));
    let (kind, what) = refused(folder.path(), rename);
    assert!(kind == Failure::Unsupported && what.contains("names=numbered"), "{what}");
}
