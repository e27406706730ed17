//! What Ctrl-C does to a load that does not answer.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::child_of;

fn start(folder: &Path) -> Child {
    let knobs = ["--dir", ".", "file-size=1MiB", "stop=60s", "--replicates=1", "--quiet"];
    Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "random-read"])
        .args(knobs)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started")
}

/// The load of the reading trial: it has its file open, and runs for a minute.
fn reading(child: &Child, folder: &Path) -> Pid {
    let started = Instant::now();
    let made = || folder.join("brickyard.db").exists();
    let mut seen = None;
    loop {
        assert!(started.elapsed() < Duration::from_secs(60), "no load was started");
        std::thread::sleep(Duration::from_millis(100));
        let Some(pid) = made().then(|| child_of(child.id())).flatten() else { continue };
        // The load that lays out the file lives shortly; this one lives on.
        match seen {
            Some((same, at)) if same == pid => {
                let at: Instant = at;
                if at.elapsed() > Duration::from_secs(3) {
                    return pid;
                }
            }
            _ => seen = Some((pid, Instant::now())),
        }
    }
}

/// Signals so often, half a second apart; gives how long it took to end.
fn interrupted(times: u32) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = start(folder.path());
    let load = reading(&child, folder.path());
    kill_process(load, Signal::STOP).expect("stopped");
    let asked = Instant::now();
    for time in 0..times {
        std::thread::sleep(Duration::from_millis(500) * time.min(1));
        kill_process(Pid::from_child(&child), Signal::INT).expect("signalled");
    }
    let status = child.wait().expect("it ends");
    let took = asked.elapsed();
    assert_eq!(status.code(), Some(130));
    assert!(rustix::process::test_kill_process(load).is_err(), "the load lives on");
    let left = folder.path().read_dir().expect("readable").flatten();
    let ours = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"));
    assert_eq!(ours.count(), 0, "the work directory is gone");
    took
}

/// A load that was stopped by SIGSTOP, or that hung, held a Ctrl-C up for forty seconds, and a
/// second Ctrl-C did nothing.
#[test]
fn a_load_that_does_not_answer_is_killed_soon_and_at_once_when_asked_again() {
    // A busy machine holds up one that is asked, or another, and hardly five in a row.
    let soon = |times: u32, most: Duration| (0..5).any(|_| interrupted(times) < most);
    assert!(soon(1, Duration::from_secs(20)), "one Ctrl-C took longer five times");
    assert!(soon(2, Duration::from_secs(5)), "two took longer five times");
}

/// A load that was told to stop while it still made its files went away without a result, as it
/// should, and its trial was kept as one that had failed.
#[test]
fn a_trial_that_is_stopped_while_its_files_are_made_is_interrupted_and_has_not_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "mailbox", "--dir", ".", "--json", "--quiet", "--replicates=1"])
        .args(["pool-files=1000000", "size-low=1", "size-high=1"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    let started = Instant::now();
    while child_of(child.id()).is_none() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("signalled");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outcomes: Vec<_> = told["trials"].as_array().expect("trials").iter().collect();
    let outcomes: Vec<_> = outcomes.iter().map(|trial| &trial["outcome"]).collect();
    assert_eq!(outcomes, ["interrupted"], "{told}");
}
