//! Runs the program as a user would, and reads what it says.

use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test, in a folder of its own, so that its store and report go there.
pub fn brickyard(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.current_dir(folder).args(arguments).env("NO_COLOR", "1");
    command
}

/// Runs it to its end and reads its JSON document.
pub fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    let output = brickyard(folder, &all).output().expect("brickyard can be started");
    parse(&output)
}

/// What a run said on standard error, each line with how long it had run, and how long it took.
pub struct Said {
    pub lines: Vec<(Duration, String)>,
    pub took: Duration,
}

/// The same, with what it says meanwhile.
pub fn json_and_said(folder: &Path, arguments: &[&str]) -> (Value, Said) {
    let mut command = brickyard(folder, arguments);
    command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().expect("brickyard can be started");
    let errors = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let reader = std::thread::spawn(move || {
        let lines = errors.lines().map_while(Result::ok);
        lines.map(|line| (began.elapsed(), line)).collect::<Vec<_>>()
    });
    let output = child.wait_with_output().expect("it ends");
    let took = began.elapsed();
    (parse(&output), Said { lines: reader.join().expect("read"), took })
}

/// The JSON document on standard output.
pub fn parse(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("no JSON ({error}); exit {}; it said:\n{said}", output.status)
    })
}

/// All that a finding says: its claim, and below it what it rests on.
pub fn said(finding: &Value) -> String {
    let details = finding["details"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let claim = finding["claim"].as_str().expect("a claim");
    std::iter::once(claim).chain(details).collect::<Vec<_>>().join(" ")
}

/// The first finding of that question.
pub fn finding(document: &Value, question: &str) -> Value {
    let mut all = document["findings"].as_array().into_iter().flatten();
    let found = all.find(|finding| finding["question"] == question);
    found.unwrap_or_else(|| panic!("no finding on {question}: {:#}", document["findings"])).clone()
}

/// The trials that measured something other than making the files.
pub fn trials(document: &Value) -> Vec<&Value> {
    let all = document["trials"].as_array().expect("trials are an array");
    all.iter().filter(|trial| trial["group"] != "layout").collect()
}

/// The only trial of a sequential reading in `directory`: `defaults` and further knobs, which win.
pub fn reading(directory: &str, defaults: &[&str], knobs: &[&str]) -> Value {
    let document = readings(directory, defaults, knobs);
    let trials = trials(&document);
    assert_eq!(trials.len(), 1, "{document:#}");
    trials[0].clone()
}

/// The whole document of such a reading, of each cell once unless `knobs` has `--replicates`.
pub fn readings(directory: &str, defaults: &[&str], knobs: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["run", "sequential-read", "--dir", directory];
    for default in defaults {
        let (knob, _) = default.split_at(default.find('=').expect("knob=level") + 1);
        if !knobs.iter().any(|given| given.starts_with(knob)) {
            arguments.push(default);
        }
    }
    if !knobs.contains(&"--replicates") {
        arguments.extend(["--replicates", "1"]);
    }
    arguments.extend(knobs);
    json(folder.path(), &arguments)
}

/// Where its bytes came from, in the word of the JSON contract.
pub fn verdict(trial: &Value) -> &str {
    trial["origin"]["verdict"].as_str().unwrap_or("no verdict")
}

/// What that rests on.
pub fn reason(trial: &Value) -> &str {
    trial["origin"]["reason"].as_str().unwrap_or_default()
}

/// A figure's value.
pub fn figure(trial: &Value, name: &str) -> f64 {
    trial["figures"][name]["value"]
        .as_f64()
        .unwrap_or_else(|| panic!("no figure {name} in {trial:#}"))
}

/// Whether a trial carries a note of that kind.
pub fn noted(trial: &Value, kind: &str) -> bool {
    let notes = trial["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    notes.iter().any(|note| note["kind"] == kind)
}

/// A number of the lab's truth, drawn from `low..high`, printed so that a failure can be replayed:
/// all that one run draws follows from one seed.
pub fn draw(what: &str, low: u64, high: u64) -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let seed = *SEED.get_or_init(|| match std::env::var("BRICKYARD_LAB_SEED") {
        Ok(text) => text.parse().expect("BRICKYARD_LAB_SEED is a number"),
        Err(_) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("the clock is past 1970").as_nanos() as u64
        }
    });
    let name = what.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(29)
    });
    let drawn = low + (name ^ (name >> 31)) % (high - low);
    println!("{what} = {drawn} (BRICKYARD_LAB_SEED={seed})");
    drawn
}
