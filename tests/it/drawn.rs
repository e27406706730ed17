//! Plans that a person could type, drawn at random and run on files in memory: nothing that is
//! printed may contradict the raw counts, or another figure, without being told.
//!
//! 40 plans, 1000 with `BRICKYARD_LONG=1`; `BRICKYARD_SEED=N` repeats a run. What is held is worked
//! out here from the store's counts, without the program's own judge. The lab runs others on a slow
//! disk.

use std::path::Path;

use crate::program::{brickyard, document};

mod held;
mod plan;
mod said;
mod told;
mod times;

use told::Told;

/// Every claim, every cell and every trial of plans that nobody chose.
#[test]
fn nothing_that_is_printed_contradicts_what_was_counted() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1");
    let memory = Path::new("/dev/shm");
    let other = tempfile::tempdir().expect("a folder");
    let at = if memory.is_dir() { memory } else { other.path() };
    told::hold_all(brickyard, if long { 1000 } else { 40 }, at);
}

/// `random-read stop=pass file-size=128KiB`: 32 reads at depth 32 were "2713 MB/s, 1.20M IOPS"
/// beside a median latency of 1.53 ms, and `stop=256KiB queue-depth=128` 1742 MB/s of 174.
#[test]
fn of_no_more_reads_than_the_queue_is_deep_no_rate_is_above_what_latencies_allow() {
    let folder = tempfile::tempdir().expect("a folder");
    for (depth, knobs) in [
        (32.0, &["stop=pass", "file-size=128KiB"][..]),
        (128.0, &["stop=256KiB", "queue-depth=128", "file-size=1MiB"]),
        (64.0, &["stop=pass", "queue-depth=64", "file-size=256KiB", "block-size=8KiB"]),
    ] {
        let run = ["run", "random-read", "--dir", ".", "--replicates", "3", "--json", "--quiet"];
        let document = document(&brickyard(folder.path(), &[&run, knobs].concat()));
        let trials = document["trials"].as_array().expect("trials");
        let trials: Vec<_> = trials.iter().filter(|trial| trial["group"] != "layout").collect();
        assert_eq!(trials.len(), 3, "{document:#}");
        for trial in trials {
            let figure = |name: &str| trial["figures"][name]["value"].as_f64();
            let notes = trial["notes"].as_array().expect("notes");
            let noted = |kinds: &[&str]| {
                notes.iter().any(|note| kinds.iter().any(|kind| note["kind"] == *kind))
            };
            assert!(noted(&["few-operations", "too-short", "inconsistent"]), "{trial:#}");
            let (Some(iops), Some(latency_ns)) = (figure("iops"), figure("latency_ns_mean")) else {
                continue;
            };
            let told = noted(&["inconsistent"]);
            assert!(told || iops * latency_ns / 1e9 <= depth * 1.05, "{trial:#}");
        }
    }
}
