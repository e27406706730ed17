//! `run --resume --again`: trials that failed are run again, and what failed is not forgotten.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::child_of;
use crate::program::{brickyard, document};

const PLAN: &str = r#"
[plan]
name = "mended"
replicates = 1
seed = 3

[factors]
streams = [1, 2, 3]

[[workload]]
use = "command"
command = "test -e PLACE/mended"
shell = true
"#;

fn run(folder: &Path, more: &[&str]) -> Output {
    brickyard(folder, &[&["run", "plan.toml", "--dir", ".", "--json"], more].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn outcomes(told: &Value) -> Vec<(u64, String, Option<u64>)> {
    let of = |trial: &Value| {
        let outcome = trial["outcome"].as_str().expect("an outcome").to_owned();
        (trial["number"].as_u64().expect("a number"), outcome, trial["run_again_as"].as_u64())
    };
    told["trials"].as_array().expect("trials").iter().map(of).collect()
}

/// A campaign in which a program was missing, or a worker was killed once, was never complete: each
/// `--resume` said that all trials were over, with exit status 1.
#[test]
fn what_failed_is_run_again_by_word_and_by_number_and_the_later_trial_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let plan = PLAN.replace("PLACE", &at.display().to_string());
    std::fs::write(at.join("plan.toml"), plan).expect("a plan");
    assert_eq!(run(at, &[]).status.code(), Some(1));
    let still = run(at, &["--resume"]);
    assert_eq!((still.status.code(), outcomes(&document(&still)).len()), (Some(1), 3));

    let alone = run(at, &["--again", "failed"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(said(&alone).contains("hint: brickyard run PLAN --resume --again failed"));
    let none = run(at, &["--resume", "--again", "9"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(said(&none).contains("its last is 3"), "{}", said(&none));

    std::fs::write(at.join("mended"), "").expect("written");
    let second = run(at, &["--resume", "--again", "2"]);
    assert_eq!(second.status.code(), Some(1), "two are left: {}", said(&second));
    assert!(said(&second).contains("runs trial 2 again"), "{}", said(&second));
    let all = run(at, &["--resume", "--again", "failed"]);
    assert_eq!(all.status.code(), Some(0), "{}", said(&all));
    let (failed, done) = ("failed".to_owned(), "done".to_owned());
    let expected = vec![
        (1, failed.clone(), Some(5)),
        (2, failed.clone(), Some(4)),
        (3, failed, Some(6)),
        (4, done.clone(), None),
        (5, done.clone(), None),
        (6, done, None),
    ];
    assert_eq!(outcomes(&document(&all)), expected);
    let told = document(&all);
    for cell in told["cells"].as_array().expect("cells") {
        assert_eq!(cell["replicates"], 1, "{cell:#}");
    }
    let text = brickyard(at, &["report", "--format", "text"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("failed (run again as trial 5)"), "{text}");

    for (number, why) in [("2", "run again as trial 4"), ("4", "it is done")] {
        let refused = run(at, &["--resume", "--again", number]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains(why), "{}", said(&refused));
    }
    let nothing = run(at, &["--resume", "--again", "failed,skipped"]);
    assert_eq!(nothing.status.code(), Some(0), "{}", said(&nothing));
    assert!(said(&nothing).contains("no trial is to be run again"), "{}", said(&nothing));
    assert_eq!(outcomes(&document(&nothing)).len(), 6);
}

/// The worker of a trial was killed: the files that it was making are made again with the trial,
/// whichever part of them was there. One that was killed over a file of 0 bytes had its trial
/// skipped, and that is none that failed.
#[test]
fn a_campaign_whose_worker_was_killed_is_completed() {
    for ms in [0, 6, 12, 18, 24, 30] {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ["run", "random-read", "--dir", ".", "--json", "--quiet", "--replicates=1"];
        let knobs = ["file-size=1MiB", "stop=1s"];
        let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(arguments)
            .args(knobs)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("brickyard can be started");
        worker_of(child.id());
        std::thread::sleep(Duration::from_millis(ms));
        // The first may have done its part by now; then it is the next.
        while kill_process(worker_of(child.id()), Signal::KILL).is_err() {}
        let output = child.wait_with_output().expect("it ends");
        if ms > 0 && output.status.success() {
            // It had given its result, and was about to end.
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "killed after {ms} ms");
        let again = [&arguments[..], &knobs, &["--resume", "--again", "failed"]].concat();
        let again = brickyard(folder.path(), &again);
        let told = String::from_utf8_lossy(&again.stdout);
        assert_eq!(again.status.code(), Some(0), "killed after {ms} ms: {told}");
    }
}

/// The worker that this program has started, when there is one.
fn worker_of(parent: u32) -> Pid {
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < Duration::from_secs(60), "no load was started");
        let named = |pid: &Pid| {
            let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
            line.is_ok_and(|line| line.starts_with(b"brickyard\0worker"))
        };
        if let Some(worker) = child_of(parent).filter(named) {
            return worker;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
