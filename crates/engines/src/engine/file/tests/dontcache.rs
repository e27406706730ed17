//! `dontcache=true` on the real kernel: what it leaves in the page cache, and where it is refused.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{MIB, contents, directory, done, names, note, refused, with};
use crate::engine::file::protocol::Failure;
use host::sys::{dontcache, pages};

const BYTES: u64 = 8 * MIB;

/// A directory whose file system takes it; `None` where none is at hand, which is told.
#[expect(clippy::print_stdout, reason = "says that it is skipped")]
fn takes_it() -> Option<tempfile::TempDir> {
    let folder = directory();
    let file = tempfile::tempfile_in(folder.path()).unwrap();
    match dontcache::ask(&file) {
        Ok(()) => Some(folder),
        Err(why) => {
            println!("SKIP engine::file::tests::dontcache: {}", dontcache::explained(&why));
            None
        }
    }
}

fn base(engine: &str) -> Value {
    json!({
        "io-engine": engine, "direct": false, "block-size": 65536, "file-size": BYTES,
        "stop": "pass", "sustained": false,
    })
}

/// Bytes of the file that are in memory, once they are no more than `most` or stay so.
fn resident(path: &Path, most: u64) -> u64 {
    let file = File::open(path).unwrap();
    let look = || pages::resident_bytes(&file).unwrap();
    // Who waits for a write is woken a moment before its page goes.
    (0..30)
        .map(|_| look())
        .find(|bytes| {
            let is_few = *bytes <= most;
            if !is_few {
                sleep(Duration::from_millis(10));
            }
            is_few
        })
        .unwrap_or_else(look)
}

/// A plain buffered trial leaves its files in memory, the same one with the flag does not, or says
/// that it did.
#[test]
fn nothing_of_a_load_stays_in_memory_that_asks_for_that_and_all_of_a_plain_one_does() {
    let Some(folder) = takes_it() else { return };
    for (engine, depth) in [("uring", 4), ("aio", 1), ("sync", 1)] {
        let files = || names(folder.path(), 1, 1);
        let path = &files()[0][0];
        let depth = json!({"queue-depth": depth});
        for access in ["write", "read", "random-read", "random-write", "random-mix", "update"] {
            let plain = with(&with(&base(engine), depth.clone()), json!({"access": access}));
            let result = done(plain.clone(), files());
            assert!(!note(&result, "dontcache-kept"), "{:?}", result.notes);
            assert!(resident(path, BYTES) >= BYTES / 2, "{engine} {access}, plain");
            let asked = done(with(&plain, json!({"dontcache": true})), files());
            let (left, told) = (resident(path, 0), note(&asked, "dontcache-kept"));
            // ext4 of Linux 6.18 keeps what is written over blocks that are there: that is told.
            let over = !["write", "read", "random-read"].contains(&access);
            assert!(left <= BYTES / 10 || (over && told), "{engine} {access} left {left}");
            assert!(!told || over, "{engine} {access}: {:?}", asked.notes);
            assert_eq!(asked.resident_before_bytes, Some(0), "{engine} {access}");
            let moved = asked.streams[0].pass;
            assert!(moved.bytes() >= BYTES, "{engine} {access}: {moved:?}");
        }
        assert_eq!(contents(path).len() as u64, BYTES);
    }
}

/// The flag drops what it brought itself: what a warm trial meets is memory's, and stays.
#[test]
fn what_was_in_memory_before_stays_there_and_is_no_fault_of_the_flag() {
    let Some(folder) = takes_it() else { return };
    let files = || names(folder.path(), 1, 1);
    done(with(&base("sync"), json!({"access": "write"})), files());
    for engine in ["uring", "aio", "sync"] {
        let warm = json!({"access": "read", "cold": false, "dontcache": true});
        let result = done(with(&base(engine), warm), files());
        assert_eq!(result.resident_before_bytes, Some(BYTES), "{engine}");
        assert!(!note(&result, "dontcache-kept"), "{engine}: {:?}", result.notes);
        assert_eq!(resident(&files()[0][0], BYTES), BYTES, "{engine}");
    }
}

/// Files that are closed after each round are opened by another medium, which has the flag too.
#[test]
fn files_that_are_closed_after_each_round_are_dropped_as_well() {
    let Some(folder) = takes_it() else { return };
    let files = || names(folder.path(), 1, 1);
    let rounds = json!({
        "access": "write", "close-in-time": true, "fresh-file": true, "stop": "interval:50%",
        "at-most": 3_000_000_000_u64, "dontcache": true,
    });
    let result = done(with(&base("sync"), rounds), files());
    assert!(resident(&files()[0][0], 0) <= BYTES / 10 && !note(&result, "dontcache-kept"));
}

/// A checked read and one at a rate go through the general loop.
#[test]
fn blocks_that_are_checked_are_right_and_do_not_stay() {
    let Some(folder) = takes_it() else { return };
    let files = || names(folder.path(), 1, 1);
    for engine in ["uring", "aio", "sync"] {
        let checked = with(&base(engine), json!({"verify": "crc32c", "dontcache": true}));
        done(with(&checked, json!({"access": "write"})), files());
        let result = done(with(&checked, json!({"access": "read"})), files());
        let integrity = result.integrity.expect("what was checked");
        assert_eq!((integrity.checked_bytes, integrity.faults.len()), (BYTES, 0), "{engine}");
        assert!(resident(&files()[0][0], 0) <= BYTES / 10, "{engine}");
    }
}

/// A file system that has none of it gives no trial, and above all no plain one in its place.
#[test]
fn a_file_system_without_it_refuses_before_the_first_byte_and_says_what_to_type() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    for (engine, access) in [("uring", "write"), ("aio", "write"), ("sync", "random-write")] {
        let asked = json!({"access": access, "dontcache": true});
        let files = names(memory.path(), 1, 1);
        let (kind, what) = refused(with(&base(engine), asked), files.clone());
        assert_eq!(kind, Failure::Unsupported, "{what}");
        for word in [
            "s0-f0",
            "preadv2 with RWF_DONTCACHE: Operation not supported (os error 95)",
            "Linux ",
            "dontcache=false leaves it there",
        ] {
            assert!(what.contains(word), "{engine}: {what}");
        }
        assert_eq!(contents(&files[0][0]), [0_u8; 0], "{engine}: nothing was written");
    }
}
