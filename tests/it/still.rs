//! Loads that something holds still in the middle of what is timed: SIGSTOP, Ctrl-Z, a freezer.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::program::{child_of, document};

/// Two trials alike; the first is disturbed.
struct Run {
    folder: tempfile::TempDir,
    child: Child,
}

/// Long enough that what is planted lies inside on a busy machine.
const STILL: Duration = Duration::from_millis(2500);

impl Run {
    fn start(arguments: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .arg("run")
            .args(arguments)
            .args(["--replicates", "2", "--json", "--quiet"])
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        Run { folder, child }
    }

    fn files(more: &[&str]) -> Run {
        let read = ["random-read", "--dir", ".", "file-size=4MiB", "stop=5s"];
        let cached = ["direct=false", "cold=false"];
        Run::start(&[&read[..], &cached, more].concat())
    }

    /// The process of a load that has been at work for a while: its streams, or the programs below
    /// it, have used a processor.
    fn load(&self) -> Pid {
        self.load_after(Duration::from_millis(200))
    }

    /// The same, once they have used so much.
    fn load_after(&self, used: Duration) -> Pid {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < Duration::from_secs(120), "no load ran");
            std::thread::sleep(Duration::from_millis(20));
            let Some(pid) = child_of(self.child.id()) else { continue };
            if u128::from(streams_ns(pid)) > used.as_nanos() {
                return pid;
            }
        }
    }

    /// The trials that were timed, once it has ended by itself.
    fn trials(self) -> Vec<Value> {
        let output = self.child.wait_with_output().expect("it ends");
        let told = document(&output);
        let left = self.folder.path().read_dir().expect("readable").flatten();
        let work = left.filter(|it| it.file_name().to_string_lossy().starts_with("brickyard-"));
        assert_eq!(work.count(), 0, "a work directory was left");
        let trials = told["trials"].as_array().expect("trials").iter();
        trials.filter(|trial| trial["group"] != "layout").cloned().collect()
    }
}

/// Processor time of the threads that carry a load.
fn streams_ns(pid: Pid) -> u64 {
    let folder = PathBuf::from(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let threads = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let carries = |path: &PathBuf| {
        let name = read(&path.join("comm"));
        ["stream", "send", "receive", "client"].iter().any(|begin| name.starts_with(begin))
    };
    let ran = |path: PathBuf| -> Option<u64> {
        read(&path.join("schedstat")).split_whitespace().next()?.parse().ok()
    };
    threads.filter(carries).filter_map(ran).sum()
}

fn hold(pid: Pid) {
    kill_process(pid, Signal::STOP).expect("stopped");
    std::thread::sleep(STILL);
    kill_process(pid, Signal::CONT).expect("continued");
}

fn note<'a>(trial: &'a Value, kind: &str) -> Option<&'a str> {
    let mut notes = trial["notes"].as_array().expect("notes").iter();
    notes.find(|note| note["kind"] == kind)?["text"].as_str()
}

/// One trial was held still, and says so, and has no figure of that time; the other is as ever.
#[track_caller]
fn one_of_two(trials: &[Value], figure: &str, says: &str) {
    assert!(trials.iter().all(|trial| trial["outcome"] == "done"), "{trials:#?}");
    let still: Vec<&Value> = trials.iter().filter(|it| note(it, "stopped").is_some()).collect();
    assert_eq!(still.len(), 1, "{trials:#?}");
    let text = note(still[0], "stopped").expect("found");
    assert!(text.contains(says), "{text}");
    assert!(still[0]["figures"][figure].is_null(), "{:#}", still[0]);
    assert!(still[0]["figures"]["latency_ns_max"].is_null(), "{:#}", still[0]);
    let others = trials.iter().filter(|it| note(it, "stopped").is_none());
    for other in others {
        let value = other["figures"][figure]["value"].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{other:#}");
    }
}

/// SIGSTOP of the load for 4 s gave 179 MB/s where its neighbours had 6 570 to 9 102, `done`, and
/// not a word.
#[test]
fn a_load_that_was_stopped_says_so_and_has_no_figure() {
    let run = Run::files(&[]);
    hold(run.load());
    one_of_two(&run.trials(), "throughput_bytes_per_s", "its process was stopped by a signal");
}

#[test]
fn the_means_and_the_report_leave_out_what_was_stopped() {
    let run = Run::files(&["--store", "kept.db"]);
    hold(run.load());
    let store = run.folder.path().join("kept.db");
    let kept = tempfile::tempdir().expect("a folder");
    let copy = kept.path().join("kept.db");
    let Run { folder, child } = run;
    let output = child.wait_with_output().expect("it ends");
    let told = document(&output);
    let cells = told["cells"].as_array().expect("cells").iter();
    let timed: Vec<&Value> =
        cells.filter(|cell| !cell["figures"]["throughput_bytes_per_s"].is_null()).collect();
    assert!(!timed.is_empty(), "{told:#}");
    for cell in timed {
        // Of one trial alone there is no interval: the other is not in the mean.
        assert!(cell["figures"]["throughput_bytes_per_s"]["low"].is_null(), "{cell:#}");
    }
    std::fs::copy(&store, &copy).expect("copied");
    drop(folder);
    let text = crate::program::brickyard(
        kept.path(),
        &["report", "--store", "kept.db", "--format", "text"],
    );
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("stood still"), "{text}");
}

#[test]
fn names_that_a_stopped_load_asked_for_have_no_rate() {
    let run = Run::start(&["stat", "--dir", ".", "files=1000", "stop=5s"]);
    // The same threads make the files before, which takes a fifth of a second and is not timed.
    hold(run.load_after(Duration::from_millis(1200)));
    one_of_two(&run.trials(), "ops_per_s", "its process was stopped by a signal");
}

#[test]
fn bytes_that_a_stopped_sender_sent_have_no_rate() {
    let run = Run::start(&["tcp-stream", "stop=5s", "warm-up=0s"]);
    hold(run.load());
    one_of_two(&run.trials(), "throughput_bytes_per_s", "its process was stopped by a signal");
}

/// A shell of a program that ends by itself, so that the load is stopped in the middle of it.
#[test]
fn programs_that_were_stopped_have_no_time() {
    let command = "sh -c 'i=0; while [ $i -lt 60 ]; do sleep 0.05; i=$((i+1)); done'";
    let asked = format!("command={command}");
    let run = Run::start(&["command", "--dir", ".", &asked]);
    let started = Instant::now();
    let program = loop {
        assert!(started.elapsed() < Duration::from_secs(120), "no program ran");
        std::thread::sleep(Duration::from_millis(20));
        let below = child_of(run.child.id()).and_then(|pid| child_of(pid.as_raw_pid() as u32));
        // It has come past the gate, where it is not that program yet.
        let is_it = |pid: &Pid| {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
            name.is_ok_and(|name| name.trim() == "sh")
        };
        if let Some(pid) = below.filter(is_it) {
            break pid;
        }
    };
    std::thread::sleep(Duration::from_millis(300));
    hold(program);
    let trials = run.trials();
    one_of_two(&trials, "elapsed_s", "Programs of the load stood still");
}

/// Ctrl-Z stopped the program alone, and its load went on behind the prompt; now all stand still
/// together, and go on together.
#[test]
fn a_run_that_is_put_aside_stands_still_as_a_whole_and_says_so() {
    let run = Run::files(&[]);
    let load = run.load();
    let program = Pid::from_child(&run.child);
    kill_process_group(program, Signal::TSTP).expect("put aside");
    let started = Instant::now();
    let state = |pid: Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let stat = stat.unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    while [program, load].map(state) != [Some('T'); 2] {
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", [program, load].map(state));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(STILL);
    // As `fg` does.
    kill_process_group(program, Signal::CONT).expect("continued");
    one_of_two(&run.trials(), "throughput_bytes_per_s", "stood still for");
}

/// A program that counts nothing for a while has not disturbed the load.
#[test]
fn a_load_whose_parent_was_stopped_keeps_its_figures_and_says_what_was_not_counted() {
    let run = Run::files(&[]);
    run.load();
    hold(Pid::from_child(&run.child));
    let trials = run.trials();
    assert!(trials.iter().all(|trial| note(trial, "stopped").is_none()), "{trials:#?}");
    let uncounted = trials.iter().filter(|trial| note(trial, "uncounted").is_some()).count();
    assert_eq!(uncounted, 1, "{trials:#?}");
    for trial in &trials {
        assert!(trial["figures"]["throughput_bytes_per_s"]["value"].is_number(), "{trial:#}");
    }
}
