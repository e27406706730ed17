//! What happens at the end of the files, when there is still time.

use std::fs::File;
use std::path::Path;

use serde_json::{Value, json};

use super::{MIB, assert_headers, direct, directory, done, names, note, with};
use crate::engine::file::protocol::LoadResult;
use host::sys::pages;

const ENGINES: [(&str, u64); 4] = [("uring", 4), ("aio", 2), ("sync", 1), ("mmap", 1)];

/// 1 MiB through the page cache, with one of the engines.
fn base(engine: &str, depth: u64) -> Value {
    json!({
        "io-engine": engine, "queue-depth": depth, "direct": false, "block-size": 65536,
        "file-size": MIB, "sustained": false, "stop": "3584KiB",
    })
}

fn text(result: &LoadResult, kind: &str) -> String {
    let notes = &result.notes;
    notes.iter().find(|note| note.kind == kind).map(|note| note.text.clone()).unwrap_or_default()
}

fn resident(path: &Path) -> u64 {
    pages::resident_bytes(&File::open(path).unwrap()).unwrap()
}

/// A buffered writer that came round wrote over blocks that were still dirty: those bytes never
/// reached a device, and its figure was memory's speed.
#[test]
fn a_buffered_writer_that_comes_round_first_makes_durable_and_drops_what_it_wrote() {
    let folder = directory();
    let on_disk = direct(folder.path());
    for (engine, depth) in ENGINES {
        for access in ["write", "random-write"] {
            let settings = with(&base(engine, depth), json!({"access": access}));
            let files = names(folder.path(), 2, 1);
            let result = done(settings, files.clone());
            let told = text(&result, "flushed-at-wrap");
            assert!(told.contains(" 6 times "), "{engine} {access}: {:?}", result.notes);
            for stream in &result.streams {
                assert_eq!((stream.pass.write_ops, stream.total.write_ops), (56, 56), "{engine}");
            }
            assert_eq!(result.durable.unwrap().bytes, 7 * MIB);
            assert_headers(&files[1][0], 1, 0);
        }
        // What is in memory is the last half round: the rounds before it were dropped.
        let files = names(folder.path(), 1, 1);
        done(with(&base(engine, depth), json!({"access": "write"})), files.clone());
        let left = resident(&files[0][0]);
        if on_disk && engine != "mmap" {
            assert_eq!(left, MIB / 2, "{engine}");
        }
    }
}

#[test]
fn only_what_would_be_written_over_in_memory_is_flushed() {
    let folder = directory();
    let run = |more| {
        let access = with(&base("uring", 4), json!({"access": "write"}));
        done(with(&access, more), names(folder.path(), 2, 1))
    };
    for (more, flushed) in [
        (json!({"fsync": "never"}), true),
        (json!({"fsync": "every"}), false),
        // One pass has no second round; with `sustained` the first stream may begin one.
        (json!({"stop": "pass", "fsync": "never"}), false),
        (json!({"stop": "1MiB"}), false),
        (json!({"stop": "300ms", "sustained": true}), true),
        (json!({"stop": "300ms", "rate": 2000, "queue-depth": 2}), true),
    ] {
        let result = run(more.clone());
        assert_eq!(note(&result, "flushed-at-wrap"), flushed, "{more}: {:?}", result.notes);
        assert_eq!(result.durable.is_none(), more["fsync"] == "never", "{more}");
    }
    if direct(folder.path()) {
        assert!(!note(&run(json!({"direct": true})), "flushed-at-wrap"));
    }
}

/// A cold reader of a small file met the pages of its own first round, and nobody knew how many.
#[test]
fn a_cold_reader_that_comes_round_has_dropped_its_pages_and_knows_it() {
    let folder = directory();
    let on_disk = direct(folder.path());
    let write = with(&base("uring", 4), json!({"access": "write", "stop": "pass"}));
    done(write, names(folder.path(), 2, 1));
    for (engine, depth) in ENGINES {
        for access in ["read", "random-read", "read-backward"] {
            let read = with(&base(engine, depth), json!({"access": access}));
            let cold = done(read.clone(), names(folder.path(), 2, 1));
            assert_eq!(cold.streams[1].total.read_bytes, 7 * MIB / 2);
            if on_disk {
                assert_eq!(cold.reread_bytes, Some(0), "{engine} {access}");
            }
            let once = with(&read, json!({"stop": "1MiB", "cold": false}));
            assert_eq!(done(once, names(folder.path(), 2, 1)).reread_bytes, Some(0));
            let warm = done(with(&read, json!({"cold": false})), names(folder.path(), 2, 1));
            assert_eq!(warm.reread_bytes, Some(5 * MIB), "{engine} {access}");
        }
    }
    let zipf = json!({"access": "random-read", "random-distribution": "zipf"});
    let drawn = done(with(&base("uring", 4), zipf), names(folder.path(), 2, 1));
    assert_eq!(drawn.reread_bytes, None, "a block may come twice in one round");
}

#[test]
fn pages_that_cannot_be_dropped_are_counted_as_read_again() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let folder = tempfile::tempdir_in(memory).unwrap();
    let write = with(&base("sync", 1), json!({"access": "write", "stop": "pass"}));
    done(write, names(folder.path(), 1, 1));
    let read = with(&base("sync", 1), json!({"access": "read"}));
    let result = done(read, names(folder.path(), 1, 1));
    assert_eq!(result.reread_bytes, Some(5 * MIB / 2));
}
