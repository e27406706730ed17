//! `brickyard run command`: programs of other people, good and bad.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{document, without_root};

fn run(folder: &Path, knobs: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "command", "--dir", ".", "--replicates", "1", "--json", "--quiet"])
        .args(knobs)
        .current_dir(folder)
        .output()
        .expect("brickyard can be started")
}

/// The trials of a run, its exit status, and what it said.
fn trials(folder: &Path, knobs: &[&str]) -> (Vec<Value>, Option<i32>, String) {
    let output = run(folder, knobs);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let trials = document["trials"].as_array().cloned().unwrap_or_default();
    (trials, output.status.code(), said)
}

fn one(knobs: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let (trials, status, said) = trials(folder.path(), knobs);
    assert_eq!((trials.len(), status), (1, Some(0)), "{said} {trials:#?}");
    let left = folder.path().read_dir().expect("readable").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"));
    assert_eq!(left.count(), 0, "a work directory was left");
    trials[0].clone()
}

/// The reason for which the only trial failed.
fn failure(knobs: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (trials, status, said) = trials(folder.path(), knobs);
    assert_eq!((trials.len(), status), (1, Some(1)), "{said} {trials:#?}");
    assert_eq!(trials[0]["outcome"], "failed");
    trials[0]["reason"].as_str().expect("a reason").to_owned()
}

fn figure(trial: &Value, name: &str) -> f64 {
    trial["figures"][name]["value"].as_f64().unwrap_or_else(|| panic!("{name}: {trial:#}"))
}

fn kinds(trial: &Value) -> Vec<&str> {
    let notes = trial["notes"].as_array().expect("notes").iter();
    notes.filter_map(|note| note["kind"].as_str()).collect()
}

/// disk_bench.pl of the first source: so many dd at once, over files of their own.
#[test]
fn copies_of_dd_are_timed_at_once_and_their_output_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = [
        "command=dd if={directory}/f{copy} of=/dev/null bs=1M",
        "prepare=dd if=/dev/zero of={directory}/f{copy} bs=1M count=4 oflag=dsync",
        "extract=copied_bytes=^([0-9]+) bytes",
        "extract=missing=/no/such/key",
        "streams=1,3",
    ];
    let (trials, status, said) = trials(folder.path(), &knobs);
    assert_eq!((trials.len(), status), (2, Some(0)), "{said}");
    for trial in &trials {
        let copies = trial["settings"]["streams"].as_f64().expect("a number");
        assert_eq!(figure(trial, "timed_runs"), copies);
        assert_eq!(figure(trial, "copied_bytes"), f64::from(4 << 20));
        assert!(figure(trial, "elapsed_s_max") >= figure(trial, "elapsed_s"));
        assert!(trial["settings"].get("block-size").is_none(), "nobody obeyed it");
        assert!(kinds(trial).contains(&"not-extracted"));
    }
    let report = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["report", "--format", "text"])
        .current_dir(folder.path())
        .output()
        .expect("brickyard can be started");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("elapsed") && text.contains("copied_bytes"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100 || line.contains("Repeat")), "{text}");
}

#[test]
fn the_time_of_a_sleep_is_its_time_and_no_processors() {
    let trial = one(&["command=sleep 0.3", "streams=2"]);
    let elapsed = figure(&trial, "elapsed_s");
    assert!((0.3..3.0).contains(&elapsed), "{elapsed}");
    assert!(figure(&trial, "user_s") + figure(&trial, "system_s") < 0.2);
    assert_eq!(trial["figures"].get("throughput_bytes_per_s"), None, "nothing was read");
}

#[test]
fn a_short_program_is_run_until_at_least_is_over() {
    let trial = one(&["command=true", "at-least=300ms"]);
    assert!(figure(&trial, "timed_runs") > 2.0, "{trial:#}");
}

#[test]
fn children_of_a_shell_are_in_its_account_and_values_are_filled_in() {
    let command = "command=test -d {directory} && test $N = 2 && for i in 1 2; do \
                   i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done & done; wait";
    let trial = one(&[command, "shell=true", "environment=N={streams}", "streams=2"]);
    assert!(figure(&trial, "user_s") > 0.0, "{trial:#}");
}

#[test]
fn a_program_that_fails_is_a_failed_trial_with_its_last_words() {
    assert!(failure(&["command=false"]).contains("ended with status 1"));
    let words = failure(&["command=echo last words >&2; exit 3", "shell=true"]);
    assert!(words.contains("status 3") && words.contains("last words"), "{words}");
    assert!(failure(&["command=kill -9 $$", "shell=true"]).contains("SIGKILL"));
    assert!(failure(&["command=true", "prepare=false"]).contains("prepare ended with status 1"));
    assert!(failure(&["command=true", "cleanup=false"]).contains("cleanup ended with status 1"));
    let gone = failure(&["command=true", "working-directory=/no/such/place"]);
    assert!(gone.contains("No such file or directory"), "{gone}");
}

/// The plan `build` failed where there was no compiler, and a tool that is missing is skipped.
#[test]
fn a_prepare_that_lacks_something_skips_its_trial_with_what_it_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let lacks = ["command=true", "shell=true", "prepare=echo no compiler here >&2; exit 77"];
    let (_, status, said) = trials(folder.path(), &lacks);
    let why = "1 skipped: prepare ended with status 77; it said: no compiler";
    assert!(said.contains(why), "{said}");
    assert_eq!(status, Some(2));
}

#[test]
fn a_program_that_takes_too_long_is_ended_even_when_it_ignores_sigterm() {
    let late = failure(&["command=sleep 100", "timeout=300ms"]);
    assert!(late.contains("timeout=300ms") && late.contains("SIGTERM ended it"), "{late}");
    let deaf = "command=trap '' TERM; sleep 100 & while :; do sleep 1; done";
    let late = failure(&[deaf, "shell=true", "timeout=300ms"]);
    assert!(late.contains("SIGKILL did"), "{late}");
}

#[test]
fn hostile_outputs_do_no_harm() {
    let flood = "command=head -c 1000000000 /dev/zero; printf '\\nsum: 7\\n'";
    let trial = one(&[flood, "shell=true", "extract=sum=^sum: (\\d+)"]);
    assert_eq!(figure(&trial, "sum"), 7.0);
    let bad = "command=printf '\\377\\376 x 5\\n\\000'";
    assert_eq!(figure(&one(&[bad, "shell=true", "extract=x=x (\\d)"]), "x"), 5.0);
    let shut = one(&["command=exec >&- 2>&-; sleep 0.1", "shell=true"]);
    assert!(figure(&shut, "elapsed_s") >= 0.1);
}

fn alive(mark: &str) -> usize {
    let all = Path::new("/proc").read_dir().expect("readable").flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn until_none(mark: &str) {
    let begun = Instant::now();
    while alive(mark) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(300), "{mark} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A daemon leaves its group and its session; it is still below the process that counts.
#[test]
fn a_daemon_does_not_outlive_its_trial() {
    let mark = format!("1234.{}", std::process::id());
    let command = format!("command=setsid sleep {mark} & exit 0");
    one(&[&command, "shell=true"]);
    assert_eq!(alive(&format!("sleep\0{mark}")), 0);
}

/// brickyard was killed, and what it had started ran on for hours.
#[test]
fn kill_9_of_brickyard_leaves_no_copy_running() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("4321.{}", std::process::id());
    let command = format!("command=sleep {mark} & setsid sleep {mark} & wait");
    let mut brickyard = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "command", &command, "shell=true", "streams=2", "--dir", "."])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let begun = Instant::now();
    while alive(&format!("sleep\0{mark}")) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(300), "they never started");
        std::thread::sleep(Duration::from_millis(20));
    }
    brickyard.kill().expect("killed");
    let _ = brickyard.wait();
    until_none(&format!("sleep\0{mark}"));
    // What it left is removed by the next one.
    let (trials, status, said) = trials(folder.path(), &["command=true"]);
    assert_eq!((trials.len(), status), (1, Some(0)), "{said}");
    let left = folder.path().read_dir().expect("readable").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_made() {
    let refused = |knobs: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let output = run(folder.path(), knobs);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{knobs:?}: {said}");
        assert!(said.contains("hint: "), "{said}");
        assert_eq!(folder.path().read_dir().expect("readable").count(), 0, "{knobs:?}");
        said
    };
    assert!(refused(&[]).contains("no command was given"));
    assert!(refused(&["command=echo {stream}"]).contains("{streams}"));
    assert!(refused(&["command=no-such-program-anywhere"]).contains("in PATH"));
    assert!(refused(&["command=true", "block-size=4KiB"]).contains("no knob `block-size`"));
    assert!(refused(&["command=true", "extract=x=("]).contains("regular expression"));
    assert!(refused(&["command=true", "--engine", "file"]).contains("--engine command"));
}

/// The plan `build` on a small tree: it is made before the timed part, compiles without a word, and
/// what comes of it runs.
#[test]
fn a_generated_tree_of_sources_is_compiled_and_runs() {
    let prepare = "prepare={brickyard} generate sources --out {directory}/tree --files 12";
    let build = "command=make --silent --directory={directory}/tree --jobs={cpus} \
                 'CFLAGS=-O0 -Wall -Werror' && {directory}/tree/all";
    let cleanup = "cleanup=rm -r {directory}/tree";
    let trial = one(&[prepare, build, "shell=true", cleanup]);
    assert_eq!(trial["outcome"], "done");
    assert!(figure(&trial, "elapsed_s") > 0.0 && figure(&trial, "user_s") > 0.0);

    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["generate", "sources", "--out", "."])
        .current_dir(folder.path())
        .output()
        .expect("brickyard can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("File exists"), "{said}");
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0);
}

/// The account of a process that has ended is root's alone since Linux 6.18: for everybody else a
/// program that had read 8 MiB from the disk had read nothing, and its file was said to be cached.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run says so")]
fn what_a_program_read_is_counted_for_whoever_is_not_root_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = "prepare=head -c 8388608 /dev/urandom >{directory}/f; sync {directory}/f";
    let read = "command=dd if={directory}/f iflag=nocache count=0; cat {directory}/f >/dev/null";
    let mut program = without_root(folder.path());
    // Where everybody may rename everything, no program is given a name.
    let sticky = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), sticky).expect("opened");
    let output = program
        .args(["run", "command", "--dir", ".", "--replicates", "1", "--json", "--quiet"])
        .args(["shell=true", "copy-bytes=8MiB", made, read])
        .output()
        .expect("brickyard can be started");
    let trial = document(&output)["trials"][0].clone();
    assert_eq!(trial["outcome"], "done", "{trial:#}");
    // Of wait4(2), which tells everybody.
    if figure(&trial, "blocks_in") == 0.0 {
        println!("SKIP programs without root: the folder of this test is in memory");
        return;
    }
    assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
}
