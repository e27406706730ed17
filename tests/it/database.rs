//! `brickyard run sqlite` and `run database`: transactions, as typed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{brickyard, document};

/// The whole plan, shortened: SQLite in both ways, and PostgreSQL where it is.
#[test]
fn the_plan_database_counts_transactions_and_leaves_nothing_behind() {
    // On a disk that others keep busy, a second was over before the first transaction was.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let at = folder.path();
    let knobs = ["streams=1,2", "stop=1s", "warm-up=0s", "scale=1", "--replicates", "1", "--json"];
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

/// In memory, so that making a cluster is quick; anybody may pass through it, as the server's user
/// must when we are root.
pub fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("opened");
    folder
}

/// Processes whose command line has all of these words.
pub fn alive(words: &[&str]) -> usize {
    let entries = Path::new("/proc").read_dir().expect("/proc").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    lines.filter(|line| words.iter().all(|word| line.contains(word))).count()
}

pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn work_directories(folder: &Path) -> usize {
    let entries = folder.read_dir().expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("brickyard-")).count()
}

#[test]
fn pgbench_is_run_on_a_server_that_is_gone_with_its_trial() {
    let folder = open_folder();
    let at = folder.path();
    let knobs = ["stop=1s", "streams=2", "scale=2", "--replicates", "1", "--json"];
    let output = brickyard(at, &[&["run", "pgbench", "--dir", "."], &knobs[..]].concat());
    let document = document(&output);
    let trial = &document["trials"][0];
    if trial["outcome"] == "skipped" {
        let why = trial["reason"].to_string();
        assert!(why.contains("apt-get install") || why.contains("no user postgres"), "{why}");
        return;
    }
    assert_eq!(trial["outcome"], "done", "{trial:#}");
    let figure = |name: &str| trial["figures"][name]["value"].as_f64();
    assert!(figure("reported_transactions_per_s") > Some(0.0), "{trial:#}");
    assert_eq!(figure("reported_failed_transactions"), Some(0.0));
    assert!(figure("durable_ops_per_s").is_none() && figure("transactions_per_s").is_none());
    assert!(trial["reported"].to_string().contains("pgbench 1"), "{trial:#}");
    let notes = trial["notes"].to_string();
    assert!(notes.contains("not-durable"), "in memory: {notes}");
    assert_eq!(alive(&[&at.display().to_string()]), 0, "something runs on");
    assert_eq!(work_directories(at), 0);
}

/// Neither what a person ends nor what the kernel kills leaves a server behind.
#[test]
fn no_server_outlives_a_run_that_was_stopped_or_killed() {
    let folder = open_folder();
    let at = folder.path();
    let place = at.display().to_string();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["run", "pgbench", "--dir", &place, "stop=60s", "streams=2"])
            .current_dir(at)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("brickyard can be started");
        // The timed part, or the end of a run that was skipped.
        until("it never began", || {
            alive(&["pgbench", "-T 60", "/proc/self/cwd"]) > 0 && alive(&["postgres", &place]) > 0
                || run.try_wait().expect("a process").is_some()
        });
        if run.try_wait().expect("a process").is_some() {
            return;
        }
        rustix::process::kill_process(rustix::process::Pid::from_child(&run), signal)
            .expect("signalled");
        let _ = run.wait();
        until("a server runs on", || alive(&["postgres", &place]) == 0);
    }
    // What a killed one left is removed by the next one.
    let output = brickyard(at, &["run", "command", "--dir", ".", "command=true", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(work_directories(at), 0);
}
