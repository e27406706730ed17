//! The plan `integrity` as typed: stopped, killed, and gone on with, with the same files.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn brickyard(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    let knobs = ["--dir", ".", "file-size=2MiB", "block-size=256KiB", "streams=2", "direct=false"];
    command.args(["run", "integrity"]).args(knobs).args(["stop=1s", "--replicates=3"]);
    command.args(more).current_dir(folder);
    command
}

/// Runs until the first trial is kept, and signals.
fn stopped_by(signal: Signal, folder: &Path) -> (Child, String) {
    let mut child = brickyard(folder, &[])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut said = String::new();
    for line in lines.by_ref().map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
        if line.starts_with("[1/3]") {
            break;
        }
    }
    kill_process(Pid::from_child(&child), signal).expect("signalled");
    said.extend(lines.map_while(Result::ok).flat_map(|line| [line, "\n".to_owned()]));
    (child, said)
}

/// What of ours is in the folder.
fn ours(folder: &Path) -> Vec<PathBuf> {
    let names = folder.read_dir().expect("readable").flatten();
    let ours = names.filter(|it| it.file_name().to_string_lossy().starts_with("brickyard-"));
    ours.map(|entry| entry.path()).collect()
}

fn resumed(folder: &Path) -> (Output, Vec<Value>) {
    let output = brickyard(folder, &["--resume", "--json"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let trials = document["trials"].as_array().expect("trials").clone();
    (output, trials)
}

fn notes(trials: &[Value], kind: &str) -> usize {
    let all = trials.iter().flat_map(|trial| trial["notes"].as_array().into_iter().flatten());
    all.filter(|note| note["kind"] == kind).count()
}

/// What was written before a reboot was removed by the next start, and nothing could be said of it.
#[test]
fn a_run_that_is_stopped_keeps_its_files_and_goes_on_with_them_over_a_boot() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let folder = folder.path();
    let (mut child, said) = stopped_by(Signal::INT, folder);
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
    let [kept] = &ours(folder)[..] else { panic!("one directory is kept: {said}") };
    assert!(said.contains("for --resume; without it: rm -r "), "{said}");
    let file = kept.join("trial-00000/stream-00001.dat");
    assert_eq!(file.metadata().expect("kept").len(), 2 << 20);
    // Somebody measures something else there, and the machine is booted.
    let other = ["run", "random-read", "--dir", ".", "file-size=1MiB", "stop=pass"];
    let other = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(other)
        .args(["--replicates=1", "direct=false", "--store", "other.db"])
        .current_dir(folder)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.success() && said.contains("brickyard run integrity --resume"), "{said}");
    assert!(file.exists());
    for stream in 0..2 {
        let path = kept.join(format!("trial-00000/stream-{stream:05}.state"));
        let text = std::fs::read_to_string(&path).expect("a state");
        let boot = text.lines().find(|line| line.starts_with("boot ")).expect("a boot");
        std::fs::write(&path, text.replace(boot, "boot earlier")).expect("written");
    }
    let (output, trials) = resumed(folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done = trials.iter().filter(|trial| trial["outcome"] == "done").count();
    assert_eq!(done, 3, "{trials:?}");
    assert_eq!((notes(&trials, "over-a-boot"), notes(&trials, "written-anew")), (1, 0));
    assert!(ours(folder).is_empty(), "a run that is complete leaves nothing");
}

#[test]
fn a_run_that_is_killed_goes_on_with_its_files() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let folder = folder.path();
    let (mut child, said) = stopped_by(Signal::KILL, folder);
    assert_eq!(child.wait().expect("it ends").code(), None, "{said}");
    assert_eq!(ours(folder).len(), 1);
    let (output, trials) = resumed(folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done = trials.iter().filter(|trial| trial["outcome"] == "done").count();
    assert_eq!((done, trials.len()), (3, 3), "the trial in hand was lost, and no other");
    assert_eq!(notes(&trials, "written-anew"), 0);
    assert!(ours(folder).is_empty());
}

/// What the program says of a log, and how it ended.
fn flushed(folder: &Path) -> (Option<i32>, Value) {
    let verify = ["verify", "--flushed", "flush.log", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(verify)
        .current_dir(folder)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).expect(&said))
}

/// Runs `flush-test` until its log says of so many writes that they were acknowledged, and kills
/// it.
fn killed_after(writes: usize, folder: &Path) {
    let knobs = ["--dir", ".", "file-size=128KiB", "block-size=4KiB", "streams=2", "direct=false"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "flush-test"])
        .args(knobs)
        .args(["flush-log=flush.log", "flush-log-anywhere=true", "stop=60s", "--quiet"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let log = folder.join("flush.log");
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    while said().matches("acknowledged").count() < writes {
        std::thread::sleep(std::time::Duration::from_millis(7));
        assert!(child.try_wait().expect("waited for").is_none(), "it ended by itself");
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
}

#[test]
fn nothing_acknowledged_is_lost_when_the_program_is_killed_and_what_is_lost_then_is_found() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let folder = folder.path();
    // The lines before them say what the files are, and what each stream writes first.
    for writes in [4, 23, 61] {
        let _ = std::fs::remove_file(folder.join("flush.log"));
        killed_after(writes, folder);
        let (status, said) = flushed(folder);
        assert_eq!((status, &said["lost"]), (Some(0), &Value::from(0)), "{said}");
        assert!(said["acknowledged_writes"].as_u64() > Some(0), "{said}");
        assert_eq!(said["blocks"], 64);
    }
    assert_eq!(ours(folder).len(), 3, "each kept its files until a person removes them");
    let (_, said) = flushed(folder);
    let file = said["files"][0].as_str().expect("a file");
    let torn = std::fs::OpenOptions::new().write(true).open(file).expect("there");
    // At most one of them was under way.
    for block in 0..3 {
        std::os::unix::fs::FileExt::write_all_at(&torn, &[0; 4096], block * 4096).expect("written");
    }
    let (status, said) = flushed(folder);
    let lost = said["lost"].as_u64().expect("a number");
    assert!(status == Some(1) && (2..=3).contains(&lost), "{said}");
    assert_eq!(said["losses"][0]["kind"], "unwritten");
    std::fs::write(folder.join("flush.log"), "nothing of ours\n").expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["verify", "--flushed", "flush.log"])
        .current_dir(folder)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("no trial begins in it"), "{said}");
}
