//! The patterns of iozone and bonnie: rewriting, one record over and over, the C library's FILE,
//! and trials that end when their own interval is narrow enough.

use std::path::Path;

use serde_json::{Value, json};

use super::{Failure, MIB, assert_headers, contents, directory, done, names, note, refused, with};
use base::pattern::Header;
use base::stats::sequential;
use experiment::measurement::{Window, course};

const BLOCK: u64 = 16 << 10;

fn base() -> Value {
    json!({
        "block-size": BLOCK, "file-size": MIB, "direct": false, "stop": "pass", "io-engine": "sync",
    })
}

/// The generation in the first header of each block.
fn generations(path: &Path) -> Vec<u32> {
    let bytes = contents(path);
    let first = bytes.chunks(BLOCK as usize);
    first.map(|block| Header::read(&block[..4096]).unwrap().generation).collect()
}

#[test]
fn rewriting_keeps_the_file_and_writing_makes_it_anew() {
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    let long = with(&base(), json!({"access": "write", "file-size": 2 * MIB}));
    done(long, files.clone());
    for engine in ["sync", "uring", "stdio", "mmap"] {
        let rewrite = with(&base(), json!({"access": "rewrite", "io-engine": engine}));
        let result = done(rewrite, files.clone());
        assert_eq!(result.streams[0].pass.write_bytes, MIB, "{engine}");
        assert_eq!(contents(&files[0][0]).len() as u64, 2 * MIB, "{engine}: not truncated");
    }
    done(with(&base(), json!({"access": "write"})), files.clone());
    assert_eq!(contents(&files[0][0]).len() as u64, MIB, "made anew");
    let longer = with(&base(), json!({"access": "rewrite", "file-size": 4 * MIB}));
    let (kind, what) = refused(longer, files);
    assert!(kind == Failure::Failed && what.contains("to be written over"), "{what}");
    let none = names(folder.path(), 2, 1).split_off(1);
    let (_, what) = refused(with(&base(), json!({"access": "rewrite"})), none);
    assert!(what.contains("No such file"), "{what}");
}

#[test]
fn one_record_is_rewritten_as_often_as_the_file_has_records_and_no_other_is_touched() {
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    let write = json!({"access": "write", "sustained": false});
    done(with(&base(), write), files.clone());
    let before = contents(&files[0][0]);
    for engine in ["sync", "uring", "aio", "mmap"] {
        let again = json!({"access": "record-rewrite", "io-engine": engine, "sustained": false});
        let result = done(with(&base(), again), files.clone());
        assert_eq!(result.streams[0].pass.write_ops, MIB / BLOCK, "{engine}");
        let after = contents(&files[0][0]);
        assert_eq!(after[BLOCK as usize..], before[BLOCK as usize..], "{engine}");
        assert_ne!(after[..BLOCK as usize], before[..BLOCK as usize], "{engine}");
    }
}

#[test]
fn the_c_library_writes_and_reads_what_the_kernel_does_round_after_round() {
    for engine in ["stdio", "putc"] {
        let folder = directory();
        let files = names(folder.path(), 1, 2);
        let through = with(&base(), json!({"io-engine": engine, "file-size": MIB / 4}));
        // Three rounds over both files; each begins with new FILEs.
        let write = with(&through, json!({"access": "write", "stop": "1536KiB"}));
        let result = done(write, files.clone());
        assert!(result.streams[0].pass.write_bytes == 3 * MIB / 2, "{engine}");
        for (number, path) in files[0].iter().enumerate() {
            assert_headers(path, 0, number as u64);
            let rounds = generations(path);
            assert!(rounds.windows(2).all(|two| two[0] >= two[1]), "{engine}: {rounds:?}");
        }
        for cold in [true, false] {
            let read = json!({"access": "read", "cold": cold, "stop": "1536KiB"});
            let result = done(with(&through, read), files.clone());
            assert_eq!(result.streams[0].pass.read_bytes, 3 * MIB / 2, "{engine}");
        }
        let (kind, what) = refused(with(&through, json!({"direct": true})), files.clone());
        assert!(kind == Failure::Unsupported && what.contains("direct=false"), "{what}");
    }
}

/// Blocks come through FILE from the kernel in every round, and not from the library's buffer.
#[test]
fn a_file_of_one_record_is_read_from_the_kernel_again_in_every_round() {
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    let small = with(&base(), json!({"file-size": BLOCK, "io-engine": "stdio", "cold": false}));
    done(with(&small, json!({"access": "write"})), files.clone());
    let io = || {
        let text = host::sys::Host::live().read("/proc/thread-self/io").unwrap_or_default();
        let field = text.lines().find_map(|line| line.strip_prefix("rchar: ")).map(str::to_owned);
        field.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
    };
    // The library reads on this thread, so the kernel counts it here.
    let mut stdio =
        crate::engine::file::backend::stdio::Stdio::<false>::new(&files[0], false, BLOCK as usize)
            .unwrap();
    use crate::engine::file::backend::{IoKind, single::Medium};
    let mut buffer = vec![0; BLOCK as usize];
    let before = io();
    for _ in 0..8 {
        stdio.act(IoKind::Read, &mut buffer, 0, 0).unwrap();
        stdio.close().unwrap();
        stdio.reopen().unwrap();
    }
    let read = io() - before;
    assert!(read >= 8 * BLOCK, "{read}");
}

/// The rates that the interval was made of, and the throughput.
fn rates(result: &crate::engine::file::protocol::LoadResult) -> Vec<f64> {
    let window: Window = result.window.unwrap();
    course::rates(&result.load, &["read_bytes", "write_bytes"], &window)
}

/// Where others keep the processors busy the streams hear of the end some rows later, and the
/// interval over these as well was wider than a quarter: the rows that decided it are asked. Where
/// the watcher came late twice, the row of the end took the place of two of these, which left too
/// few to ask. And where a machine slows down for good within a trial, that one does not narrow.
#[test]
fn a_trial_ends_when_its_interval_is_as_narrow_as_was_asked() {
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    done(with(&base(), json!({"access": "write"})), files.clone());
    let at_most_ns = 30_000_000_000_u64;
    let read = json!({
        "access": "read", "cold": false, "stop": "interval:20%", "at-most": at_most_ns,
    });
    let mut trials = (0..5).map(|_| done(with(&base(), read.clone()), files.clone()));
    let result = trials.find(|result| !note(result, "not-narrowed")).expect("one of five narrows");
    assert!(result.elapsed_ns < at_most_ns);
    let rates = rates(&result);
    let decided = |rows: &usize| sequential::narrow(&rates[..*rows], 0.2);
    assert!((1..=rates.len()).rev().any(|rows| decided(&rows)), "{rates:?}");
    assert!(result.load.column(course::TIMED).is_none(), "nothing is done between these rounds");
    let cut = json!({
        "access": "read", "cold": false, "stop": "interval:0.01%", "at-most": 300_000_000_u64,
    });
    let result = done(with(&base(), cut), files);
    assert!(note(&result, "not-narrowed"), "{:?}", result.notes);
}

#[test]
fn a_round_ends_with_its_flush_where_that_counts_and_the_clock_stands_for_the_rest() {
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    for (fsync, close) in [(true, false), (false, false), (false, true)] {
        let write = json!({
            "access": "write", "fresh-file": true, "fsync-in-time": fsync, "close-in-time": close,
            "stop": "interval:50%", "at-most": 8_000_000_000_u64, "cold": false,
        });
        let result = done(with(&base(), write), files.clone());
        let what = format!("fsync {fsync}, close {close}: {:?}", result.notes);
        let timed = result.load.column(course::TIMED).unwrap();
        let (elapsed, timed) = (*result.load.at_ns.last().unwrap(), *timed.values.last().unwrap());
        assert!(timed > 0 && (timed as i64) < elapsed, "{what}: {timed} of {elapsed}");
        assert_eq!(result.durable, None, "{what}: its time is not that of the clock");
        if (fsync || close) && !note(&result, "not-narrowed") {
            let done = result.streams[0].total.write_bytes;
            assert!(done.is_multiple_of(MIB), "{what}: {done}");
        }
        let held = contents(&files[0][0]).len() as u64;
        assert!(held <= MIB && held.is_multiple_of(BLOCK), "{what}: {held}");
    }
}

#[test]
fn a_fresh_file_grows_while_it_is_timed() {
    let folder = directory();
    if !super::direct(folder.path()) {
        return;
    }
    let length = |fresh: bool, number: usize| {
        let files = names(folder.path(), number + 1, 1).split_off(number);
        let half = json!({
            "access": "write", "direct": true, "fresh-file": fresh, "stop": "512KiB",
            "sustained": false,
        });
        done(with(&base(), half), files.clone());
        contents(&files[0][0]).len() as u64
    };
    assert_eq!((length(true, 0), length(false, 1)), (MIB / 2, MIB), "allocated before, or not");
}
