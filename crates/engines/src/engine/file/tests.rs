//! Whole trials through the worker's `serve`, in this process, on real files.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::protocol::{Failure, LoadResult};
use super::worker::conduct;
use crate::engine::load::testing::{Said, converse};
use base::pattern::Header;
use experiment::measurement::Operation;

mod classics;
mod dontcache;
mod faults;
mod latency;
mod orders;
mod steady;
mod update;
mod verified;
mod wrap;

const MIB: u64 = 1 << 20;

/// A directory on a disk, where there is one.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// As many streams of as many files each.
fn names(directory: &Path, streams: usize, files: usize) -> Vec<Vec<PathBuf>> {
    let name = |stream, file| directory.join(format!("s{stream}-f{file}"));
    (0..streams).map(|s| (0..files).map(|f| name(s, f)).collect()).collect()
}

fn trial(settings: Value, streams: Vec<Vec<PathBuf>>) -> Said {
    converse_about(settings, streams, false)
}

fn converse_about(settings: Value, streams: Vec<Vec<PathBuf>>, stop: bool) -> Said {
    converse(conduct, settings, streams, stop)
}

fn done(settings: Value, streams: Vec<Vec<PathBuf>>) -> LoadResult {
    match trial(settings.clone(), streams).end {
        Some(Ok(result)) => result,
        other => panic!("{settings}: {other:?}"),
    }
}

fn refused(settings: Value, streams: Vec<Vec<PathBuf>>) -> (Failure, String) {
    match trial(settings.clone(), streams).end {
        Some(Err(failure)) => failure,
        other => panic!("{settings}: {other:?}"),
    }
}

/// Settings with others over them.
fn with(base: &Value, more: Value) -> Value {
    let mut all = base.clone();
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

/// Direct I/O where the test's directory can do it.
fn direct(directory: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let path = directory.join("probe");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).custom_flags(libc::O_DIRECT).open(path).is_ok()
}

fn contents(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Every 4 KiB bears the header of its own place.
fn assert_headers(path: &Path, stream: u64, file: u64) {
    let bytes = contents(path);
    let mut seen = std::collections::HashSet::new();
    for (index, chunk) in bytes.chunks(4096).enumerate() {
        let header = Header::read(chunk).unwrap_or_else(|| panic!("{path:?} chunk {index}"));
        assert_eq!((header.campaign, header.file), (22, stream << 32 | file));
        assert_eq!(header.offset, index as u64 * 4096);
        assert!(seen.insert(chunk), "chunk {index} of {path:?} is not unique");
    }
}

fn note(result: &LoadResult, kind: &str) -> bool {
    result.notes.iter().any(|note| note.kind == kind)
}

#[test]
fn every_engine_writes_what_every_access_reads() {
    let folder = directory();
    let direct = direct(folder.path());
    for (engine, depth, direct) in [
        ("uring", 4, direct),
        ("uring", 4, false),
        ("aio", 4, direct),
        ("aio", 1, false),
        ("sync", 1, direct),
        ("sync", 1, false),
        ("mmap", 1, false),
    ] {
        let base = json!({
            "io-engine": engine, "queue-depth": depth, "direct": direct, "block-size": 65536,
            "file-size": MIB, "stop": "pass", "sustained": false,
        });
        for access in ["write", "random-write"] {
            let files = names(folder.path(), 2, 2);
            let result = done(with(&base, json!({"access": access})), files.clone());
            assert!(result.streams.iter().all(|s| s.pass.write_bytes == 2 * MIB), "{access}");
            assert_eq!(result.streams[1].total.write_ops, 32);
            let durable = result.durable.unwrap();
            assert_eq!(durable.bytes, 4 * MIB);
            assert!(durable.durable_ns >= durable.accepted_ns && durable.accepted_ns > 0);
            for (stream, paths) in files.iter().enumerate() {
                for (file, path) in paths.iter().enumerate() {
                    assert_headers(path, stream as u64, file as u64);
                }
            }
        }
        for access in ["read", "random-read", "read-backward", "read-strided", "random-mix"] {
            let result = done(with(&base, json!({"access": access})), names(folder.path(), 2, 2));
            for stream in &result.streams {
                assert_eq!(stream.pass.bytes(), 2 * MIB, "{engine} {access}");
                assert_eq!(stream.pass, stream.total, "{engine} {access}");
                assert!(stream.pass_end_ns.unwrap() <= stream.stopped_ns);
                assert!(stream.started_ns < stream.stopped_ns && stream.cpu_ns > 0);
            }
            let kinds: Vec<Operation> = result.latency.iter().map(|(kind, _)| *kind).collect();
            let both = access == "random-mix";
            let expected = [Operation::Read, Operation::Write];
            assert_eq!(kinds, expected[..if both { 2 } else { 1 }]);
        }
        for paths in names(folder.path(), 2, 2) {
            // The mix wrote over a part: every header still tells its place.
            let stream = u64::from(paths[0].ends_with("s1-f0"));
            assert_headers(&paths[0], stream, 0);
        }
    }
}

#[test]
fn sustained_streams_go_on_and_others_do_not() {
    let folder = directory();
    let base = json!({"block-size": 4096, "file-size": 4 * MIB, "direct": false, "stop": "pass"});
    let mut files = names(folder.path(), 2, 1);
    done(with(&base, json!({"access": "write"})), files.clone());
    // Unequal streams: the second has 16 times the files, so its pass is the last.
    files[1] = vec![files[1][0].clone(); 16];
    for sustained in [true, false] {
        let settings = with(&base, json!({"access": "read", "sustained": sustained}));
        let result = done(settings, files.clone());
        let [short, long] = result.streams[..] else { panic!("{result:?}") };
        assert_eq!((short.pass.read_bytes, long.pass.read_bytes), (4 * MIB, 64 * MIB));
        assert!(short.pass_end_ns < long.pass_end_ns);
        let end_ns = result.window.map(|window| window.end_ns);
        if sustained {
            assert!(short.total.read_bytes > short.pass.read_bytes);
            assert!(end_ns.unwrap() >= long.pass_end_ns.unwrap());
            continue;
        }
        assert_eq!(short.total, short.pass);
        // On a busy machine the short one may be over before the other begins: then there was no
        // time in which both ran.
        if let Some(end_ns) = end_ns {
            assert!(end_ns < long.pass_end_ns.unwrap() && end_ns >= short.pass_end_ns.unwrap());
        }
    }
}

#[test]
fn bytes_end_a_pass_and_at_least_lengthens_it() {
    let folder = directory();
    let base = json!({"block-size": 65536, "file-size": MIB, "direct": false, "stop": "256KiB"});
    let write = with(&base, json!({"access": "write", "stop": "pass"}));
    done(write, names(folder.path(), 1, 1));
    let read = |more| done(with(&base, more), names(folder.path(), 1, 1));
    let result = read(json!({"access": "read"}));
    assert_eq!(result.streams[0].pass.read_bytes, 256 << 10);
    let result = read(json!({"access": "read", "at-least": 300_000_000_u64}));
    let stream = result.streams[0];
    assert!(stream.pass_end_ns.unwrap() >= 300_000_000);
    assert!(stream.pass.read_bytes > MIB, "{stream:?}");
    assert!(result.load.at_ns.len() >= 4);
    let last = result.load.column("read_bytes").unwrap().values.last();
    assert_eq!(last, Some(&stream.total.read_bytes));
}

#[test]
fn time_ends_a_pass_and_the_window_is_as_long_as_asked() {
    let folder = directory();
    let base = json!({"block-size": 65536, "file-size": MIB, "direct": false, "stop": "pass"});
    done(with(&base, json!({"access": "write"})), names(folder.path(), 3, 1));
    // At a rate: how much is read while one of them waits for a processor is bounded, too.
    let read = with(&base, json!({"access": "read", "stop": "600ms", "rate": 1000}));
    let said = trial(read, names(folder.path(), 3, 1));
    assert!(said.words.contains(&"running"));
    let result = said.end.unwrap().unwrap();
    let window = result.window.unwrap();
    // How much longer it lasts is the scheduler's business.
    assert!(window.seconds() >= 0.59, "{window:?}");
    let pass: u64 = result.streams.iter().map(|s| s.pass.read_bytes).sum();
    assert!(window.done.read_bytes <= pass && pass <= window.done.read_bytes + 20 * MIB);
    // Told to stop a moment after the last completion, which ends the window.
    let stopped_ns = result.streams[0].pass_end_ns.unwrap();
    assert!(result.streams.iter().all(|s| s.pass_end_ns == Some(stopped_ns)));
    assert!((window.end_ns..window.end_ns + 100_000_000).contains(&stopped_ns), "{window:?}");
    let histogram = &result.into_measurement().unwrap().latency[0].1;
    // Each stream may end one while the window is being closed, whose count came too late: on a
    // busy machine the histogram had one more than the window.
    let latest = window.done.read_ops + 3;
    assert!(histogram.len() <= latest && !histogram.is_empty(), "{} {latest}", histogram.len());
}

/// The last row of a writing trial was taken after fsync had returned: its last bucket began inside
/// the window, ended seconds after it, and showed a load that had all but stopped.
#[test]
fn the_last_bucket_of_the_window_ends_where_the_window_does() {
    let folder = directory();
    let files = names(folder.path(), 2, 1);
    let base = json!({ "file-size": 8 * MIB, "block-size": 65536, "direct": false });
    for (access, stop) in [("write", "250ms"), ("write", "pass"), ("read", "330ms")] {
        let result = done(with(&base, json!({ "access": access, "stop": stop })), files.clone());
        let (window, load) = (result.window.unwrap(), &result.load);
        let end = load.at_ns.iter().position(|&at_ns| at_ns == window.end_ns as i64).unwrap();
        let bytes = |row: usize| -> u64 {
            let columns = load.columns.iter().filter(|column| column.name.ends_with("bytes"));
            columns.map(|column| column.values[row]).sum()
        };
        assert!(bytes(end) >= window.done.bytes(), "{access}: all of the window is before its end");
        assert!(bytes(end) <= bytes(load.at_ns.len() - 1), "{access}");
        assert!(load.at_ns.is_sorted_by(|a, b| a < b), "{access}: {:?}", load.at_ns);
        if end > 1 {
            let length_ns = load.at_ns[end] - load.at_ns[end - 1];
            assert!(length_ns >= 50_000_000, "{access}: a bucket of {length_ns} ns");
        }
    }
}

#[test]
fn an_fsync_after_every_write_belongs_to_the_write() {
    let folder = directory();
    for engine in ["uring", "aio", "sync", "mmap"] {
        let settings = json!({
            "access": "random-write", "fsync": "every", "io-engine": engine, "direct": false,
            "block-size": 4096, "file-size": 65536, "stop": "pass", "sustained": false,
        });
        let result = done(settings, names(folder.path(), 1, 1));
        assert_eq!(result.streams[0].total.write_ops, 16, "{engine}");
        let durable = result.durable.unwrap();
        assert_eq!(durable.durable_ns, durable.accepted_ns);
    }
    let settings = json!({"access": "write", "fsync": "never", "file-size": MIB, "direct": false});
    let never = done(with(&settings, json!({"stop": "pass"})), names(folder.path(), 1, 1));
    assert_eq!(never.durable, None);
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let folder = directory();
    let base = json!({"block-size": 4096, "file-size": MIB, "direct": false, "queue-depth": 1});
    let write = with(&base, json!({"access": "write", "stop": "pass"}));
    done(write, names(folder.path(), 2, 1));
    for engine in ["uring", "aio", "sync"] {
        let more = json!({
            "access": "random-read", "rate": 500, "stop": "1s", "cold": false,
            "io-engine": engine,
        });
        // A machine that is busy with other things may miss it: not three times, though.
        let kept = (0..3).any(|_| {
            let result = done(with(&base, more.clone()), names(folder.path(), 2, 1));
            let window = result.window.unwrap();
            let rate = window.done.read_ops as f64 / window.seconds();
            (900.0..1100.0).contains(&rate) && !note(&result, "rate-missed")
        });
        assert!(kept, "{engine}");
    }
    let fast = json!({"access": "random-read", "rate": 100_000_000, "stop": "200ms"});
    let result = done(with(&base, fast), names(folder.path(), 1, 1));
    assert!(note(&result, "rate-missed"), "{:?}", result.notes);
}

#[test]
fn a_second_pass_reads_the_same_blocks_and_counts_apart() {
    let folder = directory();
    // What is read in the first two seconds: little, for a disk that others keep busy.
    let base = json!({"block-size": 65536, "file-size": MIB, "direct": false, "stop": "pass"});
    done(with(&base, json!({"access": "write"})), names(folder.path(), 2, 1));
    for engine in ["uring", "mmap"] {
        // Sustained, the faster stream would read on, as long as the slower one takes.
        let more = json!({
            "access": "random-read", "second-pass": true, "io-engine": engine, "sustained": false,
        });
        let said = trial(with(&base, more), names(folder.path(), 2, 1));
        assert_eq!(said.prepared.unwrap().file_bytes, 2 * MIB);
        assert_eq!(said.words.last(), Some(&"second_pass"));
        let result = said.end.unwrap().unwrap();
        let second = result.second_pass.unwrap();
        assert_eq!(second.bytes, 2 * MIB);
        assert!(second.first_ns > 0 && second.second_ns > 0);
        let total: u64 = result.streams.iter().map(|s| s.total.read_bytes).sum();
        assert_eq!(total, 2 * MIB, "the second pass is in the total");
    }
}

#[test]
fn cold_files_are_not_in_memory_and_warm_ones_are() {
    let folder = directory();
    let base = json!({"block-size": 65536, "file-size": MIB, "direct": false, "stop": "pass"});
    done(with(&base, json!({"access": "write"})), names(folder.path(), 1, 1));
    let resident = |cold| {
        let settings = with(&base, json!({"access": "read", "cold": cold}));
        let said = trial(settings, names(folder.path(), 1, 1));
        said.prepared.unwrap().resident_before_bytes
    };
    assert_eq!(resident(false), Some(MIB));
    if direct(folder.path()) {
        assert_eq!(resident(true), Some(0));
    }
}

/// `iozone-reread file-size=64KiB,16MiB` read the small cell all over the 16 MiB that the large one
/// had laid out: what was meant for memory came from the device.
#[test]
fn a_file_that_a_larger_cell_laid_out_is_read_no_further_than_asked() {
    let folder = directory();
    let base = json!({"block-size": 4096, "direct": false, "stop": "pass"});
    let files = || names(folder.path(), 1, 1);
    done(with(&base, json!({"access": "write", "file-size": MIB})), files());
    for engine in ["uring", "sync", "mmap"] {
        for access in ["read", "random-read"] {
            let small = json!({"access": access, "file-size": 65536, "io-engine": engine});
            let said = trial(with(&base, small), files());
            assert_eq!(said.prepared.unwrap().file_bytes, 65536, "{engine} {access}");
            let result = said.end.unwrap().unwrap();
            assert_eq!(result.streams[0].pass.read_bytes, 65536, "{engine} {access}");
        }
    }
    // What is warmed is what the cell uses, and so is what is counted.
    let path = &files()[0][0];
    host::sys::pages::drop_cached(&std::fs::File::open(path).unwrap()).unwrap();
    let warm = json!({"access": "read", "file-size": 65536, "cold": false});
    let said = trial(with(&base, warm), files());
    assert_eq!(said.prepared.unwrap().resident_before_bytes, Some(65536));
}

/// What is done before the window is in no rate and in no latency, and all of it in the totals.
#[test]
fn what_warms_up_is_timed_by_nobody() {
    let folder = directory();
    let files = || names(folder.path(), 2, 1);
    let settings = json!({"file-size": MIB, "block-size": 4096, "direct": false, "streams": 2});
    done(with(&settings, json!({"access": "write", "stop": "pass"})), files());
    let read =
        with(&settings, json!({"access": "random-read", "stop": "200ms", "warm-up": 40_000_000}));
    let result = done(read.clone(), files());
    let window = result.window.expect("a window");
    let least = 40_000_000;
    assert!(window.start_ns >= least, "{window:?}");
    assert!(window.end_ns - window.start_ns >= 200_000_000, "{window:?}");
    let total: u64 = result.streams.iter().map(|stream| stream.total.read_ops).sum();
    assert!(window.done.read_ops < total, "{window:?} of {total}");
    let refused = |more: Value| refused(with(&read, more), files());
    for more in [json!({"stop": "pass"}), json!({"at-most": 30_000_000})] {
        let (kind, what) = refused(more);
        assert_eq!(kind, Failure::Unsupported);
        assert!(what.contains("warm"), "{what}");
    }
}

#[test]
fn what_the_files_cannot_do_is_refused_with_what_would_work() {
    let folder = directory();
    let base = json!({"file-size": MIB, "block-size": 65536, "direct": false, "stop": "pass"});
    let (kind, what) = refused(with(&base, json!({"access": "read"})), names(folder.path(), 1, 1));
    assert_eq!(kind, Failure::Failed);
    assert!(what.contains("s0-f0: No such file or directory"), "{what}");
    done(with(&base, json!({"access": "write"})), names(folder.path(), 1, 1));
    let large = with(&base, json!({"access": "read", "block-size": 2 * MIB}));
    let (kind, what) = refused(large, names(folder.path(), 1, 1));
    assert!(kind == Failure::Unsupported && what.contains("less than one block"), "{what}");
    let pinned = with(&base, json!({"access": "read", "cpu-pinning": "1000"}));
    let (kind, what) = refused(pinned, names(folder.path(), 1, 1));
    assert!(kind == Failure::Unsupported && what.contains("names CPU 1000"), "{what}");
    let polled = with(&base, json!({"access": "read", "poll": true, "direct": true}));
    if direct(folder.path()) {
        assert_eq!(refused(polled, names(folder.path(), 1, 1)).0, Failure::Unsupported);
    }
}

#[test]
fn a_file_cut_short_meanwhile_fails_the_trial_with_its_place() {
    let folder = directory();
    for engine in ["uring", "aio", "sync", "mmap"] {
        let base = json!({
            "file-size": MIB, "block-size": 65536, "direct": false, "io-engine": engine,
        });
        let files = names(folder.path(), 1, 1);
        done(with(&base, json!({"access": "write", "stop": "pass"})), files.clone());
        let path = files[0][0].clone();
        let cutter = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(8192).unwrap();
        });
        let (kind, what) = refused(with(&base, json!({"access": "read", "stop": "5s"})), files);
        cutter.join().unwrap();
        assert_eq!(kind, Failure::Failed);
        assert!(what.contains("s0-f0 at byte"), "{engine}: {what}");
    }
}

#[test]
fn a_stop_in_the_middle_still_yields_what_was_measured() {
    let folder = directory();
    let base = json!({"file-size": MIB, "block-size": 65536, "direct": false});
    let files = names(folder.path(), 1, 1);
    done(with(&base, json!({"access": "write", "stop": "pass"})), files.clone());
    let settings = with(&base, json!({"access": "read", "stop": "30s"}));
    let result = converse_about(settings, files, true).end.unwrap().unwrap();
    assert!(result.window.unwrap().done.read_ops > 0);
    assert!(result.elapsed_ns < 20_000_000_000);
    assert_eq!(result.streams[0].pass_end_ns, None);
    assert!(result.streams[0].pass.read_bytes > 0);
}
