//! A plan that is killed at any moment and resumed comes to the trials of one that ran through.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PLAN: &str = r#"
[plan]
name = "killed"
replicates = 5
seed = 11
stop = "2s"
engine = "sim"

[factors]
streams = [1, 2, 3, 4, 5, 6, 7, 8]
queue-depth = [1, 2, 4]

[[workload]]
use = "random-read"

[[exclude]]
streams = 8
queue-depth = 4
"#;

fn brickyard(folder: &Path, store: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.args(["run", "plan.toml", "--quiet", "--store", store]).args(more).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, store: &str, more: &[&str]) -> Output {
    brickyard(folder, store, more).output().expect("brickyard can be started")
}

/// What the campaign of a store did, in order: all that the plan decides of each trial.
fn trials(folder: &Path, store: &str) -> Vec<Value> {
    let told = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["report", "--format", "json", "--store", store])
        .current_dir(folder)
        .output()
        .expect("brickyard can be started");
    let told: Value = serde_json::from_slice(&told.stdout).expect("one document");
    let trials = told["trials"].as_array().expect("trials").iter();
    let decided = |trial: &Value| {
        let of = |key: &str| trial[key].clone();
        serde_json::json!([of("replicate"), of("group"), of("settings"), of("figures")])
    };
    trials.filter(|trial| trial["outcome"] == "done").map(decided).collect()
}

/// Draws numbers from a seed that is printed, so that a failure can be repeated.
struct Draws(u64);

impl Draws {
    fn new() -> Draws {
        let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) * 7919 + 1);
        Draws(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a failure is repeated by its seed")]
fn kills_at_random_instants_lose_no_trial_and_repeat_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("plan.toml"), PLAN).expect("a plan");
    let begun = Instant::now();
    assert!(run(folder, "whole.db", &[]).status.success());
    // An instant up to 430 ms was once after the end of a program that had become quicker.
    let half_ms = (begun.elapsed().as_millis() as u64 / 2).max(20);
    let whole = trials(folder, "whole.db");
    assert_eq!(whole.len(), (8 * 3 - 1) * 5);
    let mut draws = Draws::new();
    eprintln!("BRICKYARD_SEED={}", draws.0);
    let mut kills = 0;
    loop {
        let begun = folder.join("killed.db").exists() && !campaigns(folder).is_empty();
        let resume: &[&str] = if begun { &["--resume"] } else { &[] };
        let mut child = brickyard(folder, "killed.db", resume).spawn().expect("started");
        std::thread::sleep(Duration::from_millis(draws.below(half_ms)));
        let _ = child.kill();
        let status = child.wait().expect("waited for");
        if status.success() {
            break;
        }
        assert_eq!(status.code(), None, "killed, or done");
        kills += 1;
        if kills == 20 {
            let done = run(folder, "killed.db", &["--resume"]);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            break;
        }
    }
    assert!(kills > 0, "nothing was ever killed");
    assert_eq!(trials(folder, "killed.db"), whole, "after {kills} kills");
    assert_eq!(campaigns(folder).len(), 1, "it went on, and did not begin anew");
    // Nothing is left to do, and that is no error.
    assert!(run(folder, "killed.db", &["--resume"]).status.success());
    assert_eq!(trials(folder, "killed.db").len(), whole.len());
    assert_eq!(campaigns(folder).len(), 1);
}

/// What the killed store holds; nothing while it was not even made.
fn campaigns(folder: &Path) -> Vec<Value> {
    let listed = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["list", "campaigns", "--json", "--store", "killed.db"])
        .current_dir(folder)
        .output()
        .expect("brickyard can be started");
    match serde_json::from_slice::<Value>(&listed.stdout) {
        Ok(Value::Array(rows)) => rows,
        _ => Vec::new(),
    }
}

#[test]
fn what_cannot_go_on_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("plan.toml"), PLAN).expect("a plan");
    let said = |more: &[&str]| {
        let output = run(folder, "a.db", more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(said(&["--resume"]).contains("hint: leave --resume out to begin it"));
    assert!(run(folder, "a.db", &["streams=1", "--replicates=1"]).status.success());
    assert!(said(&["--resume"]).contains("no campaign of it"), "other levels are another plan");
    let other = said(&["--resume", "streams=1", "--replicates=1", "--seed=3"]);
    assert!(other.contains("has the seed 11, not 3"), "{other}");
}

/// The program while it runs; killed when a test fails.
struct Runs(std::process::Child);

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two `--resume` of one campaign each ran what was left of it: every trial was there twice.
#[test]
fn who_resumes_what_another_process_runs_is_told_who_and_touches_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let plan = "[plan]\nname = \"long\"\nreplicates = 2\nseed = 3\nstop = \"60s\"\n\
                [[workload]]\nuse = \"random-read\"\nfile-size = \"1MiB\"\n";
    std::fs::write(folder.join("plan.toml"), plan).expect("a plan");
    let lock = folder.join("killed.db-running");
    let until = |what: &str, is: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let works = || {
        let entries = folder.read_dir().expect("readable").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let mut first = Runs(brickyard(folder, "killed.db", &[]).spawn().expect("started"));
    until("it never began", &|| !campaigns(folder).is_empty() && works().len() > 5);
    // Killed, it holds nothing: the next one goes on, whatever file was left.
    first.0.kill().expect("killed");
    first.0.wait().expect("waited for");
    assert!(lock.exists());
    let mut second = Runs(brickyard(folder, "killed.db", &["--resume"]).spawn().expect("started"));
    let pid = second.0.id().to_string();
    let told = || std::fs::read_to_string(&lock).unwrap_or_default();
    until("it never went on", &|| told().contains(&format!("\"pid\":{pid},")));
    // It is on the list before its work directory is there.
    until("it never made its directory", &|| works().len() > 5);
    let before = works();
    let refused = run(folder, "killed.db", &["--resume"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("process {pid} on ")), "{said}");
    assert!(said.contains(" runs campaign 1 since 20") && said.contains(" UTC"), "{said}");
    assert!(said.contains(&format!("`kill {pid}`")), "{said}");
    assert_eq!(works(), before);
    // Another campaign in the same store is nobody's but its own.
    let other = ["streams=2", "stop=100ms", "--replicates=1"];
    let begun = run(folder, "killed.db", &other);
    assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
    assert!(lock.exists() && second.0.try_wait().expect("asked").is_none());
    let pid = rustix::process::Pid::from_child(&second.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signalled");
    assert_eq!(second.0.wait().expect("waited for").code(), Some(130));
    assert!(!lock.exists(), "the last one takes it along");
}
