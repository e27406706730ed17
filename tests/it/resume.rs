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
