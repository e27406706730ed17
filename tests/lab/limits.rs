//! Limits drawn anew in every run, each with a second one 1.3 to 2 times higher: which one binds is
//! to be said from the outside, and what would bind next.
//!
//! The program is told the path and the load, nothing else. A wrong name counts as five unknown
//! ones. `BRICKYARD_LONG` draws 100; else one of each kind.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::disk::{alone, usable};
use crate::run::{draw, figure, parse, said, trials};

mod groups;
mod of_disks;
mod of_processors;
mod of_the_load;

use groups::Group;

/// What is asked of the program: a load in a directory.
#[derive(Clone, Debug)]
struct Load {
    directory: String,
    workload: &'static str,
    knobs: Vec<String>,
    /// The cell that is judged, by its queue depth.
    depth: u64,
    /// Groups that it runs in.
    groups: Vec<PathBuf>,
    /// The CPU that it is held on.
    cpu: Option<u64>,
}

impl Load {
    fn new(directory: String, workload: &'static str, knobs: &[&str], depth: u64) -> Load {
        let knobs = knobs.iter().map(|knob| (*knob).to_owned()).collect();
        Load { directory, workload, knobs, depth, groups: Vec::new(), cpu: None }
    }

    fn within(mut self, group: &Group) -> Load {
        self.groups.push(group.folder.clone());
        self
    }

    fn with(mut self, knob: String) -> Load {
        self.knobs.push(knob);
        self
    }

    /// The same load at the judged depth alone.
    fn judged_alone(&self) -> Load {
        let mut load = self.clone();
        load.knobs.retain(|knob| !knob.starts_with("queue-depth="));
        load.with(format!("queue-depth={}", self.depth))
    }

    /// Runs the program and reads what it says of the judged cell.
    fn run(&self) -> Answer {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        let mut script = String::new();
        for group in &self.groups {
            script += &format!("echo $$ > {}/cgroup.procs && ", group.display());
        }
        if let Some(cpu) = self.cpu {
            script += &format!("taskset -pc {cpu} $$ > /dev/null && ");
        }
        script += "exec \"$@\"";
        command.current_dir(folder.path()).env("NO_COLOR", "1").args(["-c", &script, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_brickyard")).args(["run", self.workload, "--dir"]);
        command.arg(&self.directory).args(["--replicates", "1", "--json"]).args(&self.knobs);
        let defaults = [("stop=", "stop=2s"), ("file-size=", "file-size=64MiB")];
        for (knob, default) in defaults {
            if !self.knobs.iter().any(|given| given.starts_with(knob)) {
                command.arg(default);
            }
        }
        let document = parse(&command.output().expect("the program can be started"));
        Answer::of(&document, self.depth)
    }
}

/// What the program says of the judged cell.
#[derive(Clone, Debug)]
struct Answer {
    limit: String,
    next: Option<(String, f64)>,
    bytes_per_s: f64,
    claim: String,
}

impl Answer {
    fn of(document: &Value, depth: u64) -> Answer {
        let of_depth = |trial: &&&Value| trial["settings"]["queue-depth"].as_u64() == Some(depth);
        let all = trials(document);
        let trial = all.iter().find(of_depth).unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let findings = document["findings"].as_array().expect("findings");
        let about = |finding: &&Value| {
            let evidence = finding["evidence"].as_array();
            finding["question"] == "bottleneck"
                && evidence.is_some_and(|numbers| numbers.contains(&trial["number"]))
        };
        let finding = findings.iter().find(about).unwrap_or_else(|| panic!("{document:#}"));
        let next = &finding["runner_up"];
        let next = next["limit"].as_str().zip(next["throughput_bytes_per_s"].as_f64());
        Answer {
            limit: finding["limit"].as_str().expect("a limit").to_owned(),
            next: next.map(|(limit, rate)| (limit.to_owned(), rate)),
            bytes_per_s: figure(trial, "throughput_bytes_per_s"),
            claim: said(finding),
        }
    }
}

/// What was planted, and what came.
struct Case {
    /// Names that are right.
    right: &'static [&'static str],
    answer: Answer,
    /// What came when the first limit was lifted, bytes per second.
    lifted: Option<f64>,
}

/// A way to limit a load. Makes it all, from the draw of that number; with `lift`, measures once
/// more without the first limit.
struct Kind {
    name: &'static str,
    make: fn(draw: u64, lift: bool) -> Case,
}

const KINDS: &[Kind] = &[
    Kind { name: "a slow disk", make: of_disks::slow },
    Kind { name: "a disk that seeks", make: of_disks::seeking },
    Kind { name: "a throttled storage daemon", make: of_disks::daemon },
    Kind { name: "an array of slow disks", make: of_disks::array },
    Kind { name: "an array behind a faster cache", make: of_disks::cached },
    Kind { name: "a group's bytes", make: of_disks::group_bytes },
    Kind { name: "a group's operations", make: of_disks::group_operations },
    Kind { name: "a group's bytes, charged twice", make: of_disks::charged_twice },
    Kind { name: "one request at a time", make: of_disks::latency },
    Kind { name: "no limit", make: of_disks::none },
    Kind { name: "a CPU with a hog on it", make: of_processors::hog },
    Kind { name: "a CPU quota", make: of_processors::quota },
    Kind { name: "copying", make: of_processors::copying },
    Kind { name: "a rate asked for", make: of_the_load::rate },
];

/// How a second limit relates to the first: 1.3 to 2.
fn factor(number: u64) -> f64 {
    draw(&format!("draw {number}: second limit, %"), 130, 200) as f64 / 100.0
}

/// One of `choices`.
fn choose<T: Copy>(number: u64, what: &str, choices: &[T]) -> T {
    choices[draw(&format!("draw {number}: {what}, which"), 0, choices.len() as u64) as usize]
}

fn amount(number: u64, what: &str, low: u64, high: u64) -> u64 {
    draw(&format!("draw {number}: {what}"), low, high)
}

/// What all draws came to.
#[derive(Default)]
struct Score {
    right: u32,
    unknown: u32,
    wrong: Vec<String>,
    next_right: u32,
    next_wrong: Vec<String>,
}

impl Score {
    fn count(&mut self, number: u64, kind: &Kind, case: &Case) {
        let Answer { limit, next, bytes_per_s, claim } = &case.answer;
        let mut line = format!("draw {number}, {}: {limit}", kind.name);
        if case.right.contains(&limit.as_str()) {
            self.right += 1;
        } else if limit == "unknown" {
            self.unknown += 1;
            line += " (not found)";
        } else {
            line += " (WRONG)";
            self.wrong.push(format!("{line}: {claim}"));
        }
        line += &format!(" at {:.1} MB/s", bytes_per_s / 1e6);
        if let Some(lifted) = case.lifted {
            let told = next.as_ref().map_or(0.0, |(_, rate)| *rate);
            line += &format!(", next {next:.3?}, without it {:.1} MB/s", lifted / 1e6);
            if (told / lifted - 1.0).abs() <= 0.10 {
                self.next_right += 1;
            } else {
                self.next_wrong.push(line.clone());
            }
        }
        println!("{line}\n    {claim}");
    }
}

#[test]
fn planted_limits_are_named_and_no_others() {
    if !usable("planted limits", &["mkfs.ext4", "mkfs.btrfs", "taskset", "qemu-storage-daemon"]) {
        return;
    }
    if !groups::usable() {
        println!("SKIP planted limits: no control groups of version 1 for blkio and cpu here");
        return;
    }
    let _alone = alone();
    let _foremost = groups::Foremost::new();
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    let only = std::env::var("BRICKYARD_LAB_KIND").ok();
    let kinds: Vec<&Kind> =
        KINDS.iter().filter(|kind| only.as_deref().is_none_or(|it| it == kind.name)).collect();
    let draws = if long { 100 } else { kinds.len() as u64 };
    let mut score = Score::default();
    for number in 0..draws {
        let kind = kinds[number as usize % kinds.len()];
        let case = (kind.make)(number, long);
        score.count(number, kind, &case);
    }
    let Score { right, unknown, wrong, next_right, next_wrong } = &score;
    println!("{right} of {draws} right, {unknown} unknown, {} wrong", wrong.len());
    println!("{next_right} of {} next right", *next_right as usize + next_wrong.len());
    for line in wrong.iter().chain(next_wrong) {
        println!("  {line}");
    }
    let penalty = unknown + 5 * wrong.len() as u32;
    assert!(u64::from(penalty) <= (draws / 20).max(1), "{unknown} unknown, wrong: {wrong:#?}");
    let lifted = *next_right as usize + next_wrong.len();
    assert!(next_wrong.len() * 10 <= lifted, "the next limit: {next_wrong:#?}");
}
