//! Installed tools under our roof: their figures beside ours, what they cannot honour, and what
//! they printed elsewhere.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{brickyard, document};

fn run(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let all = [&["run"], arguments, &["--dir", ".", "--json", "--quiet"]].concat();
    let document = document(&brickyard(folder, &all));
    document["trials"].as_array().expect("trials").clone()
}

fn installed(tool: &str) -> bool {
    let there = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output();
    there.is_ok_and(|output| output.status.success())
}

fn figure(trial: &Value, name: &str) -> f64 {
    let value = trial["figures"][name]["value"].as_f64();
    value.unwrap_or_else(|| panic!("no figure {name} in {trial:#}"))
}

/// What each tool is asked for, and a figure that it must have reported then; bonnie++ takes 12 s
/// at least, and is run in the lab.
const TOOLS: [(&str, &[&str], &str); 3] = [
    (
        "fio",
        &["random-read", "--engine", "fio", "stop=500ms", "file-size=4MiB", "streams=2"],
        "reported_latency_ns_p99",
    ),
    ("dbench", &["dbench", "streams=2", "stop=2s"], "reported_throughput_bytes_per_s"),
    ("sysbench", &["sysbench", "file-size=4MiB", "stop=1s"], "reported_read_iops"),
];

#[test]
fn figures_of_installed_tools_stand_beside_ours_with_their_author() {
    for (tool, asked, name) in TOOLS {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let trials = run(folder, &[asked, &["--replicates", "1"]].concat());
        assert_eq!(trials.len(), 1, "{tool}: nothing is laid out for it: {trials:#?}");
        let trial = &trials[0];
        assert_eq!(trial["engine"], tool);
        if !installed(tool) {
            assert_eq!(trial["outcome"], "skipped", "{trial:#}");
            assert!(trial["reason"].to_string().contains("apt-get install"), "{trial:#}");
            continue;
        }
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        assert!(figure(trial, name) > 0.0 && figure(trial, "elapsed_s") > 0.0);
        // A rate over the tool's own start and end would be nobody's.
        assert!(trial["figures"].get("throughput_bytes_per_s").is_none(), "{trial:#}");
        let by = trial["reported"]["by"].as_str().expect("an author");
        assert!(by.starts_with(tool) && by.len() > tool.len(), "{by} has a version");
        let says = trial["reported"]["says"].as_str().expect("a command line");
        assert!(says.starts_with(tool), "{says}");
        assert!(trial["settings"].get("second-pass").is_none(), "no knob that it cannot obey");
        // Nothing that it made is left.
        let left = std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("it").path());
        let left: Vec<_> = left.filter(|path| path.is_dir()).collect();
        assert!(left.is_empty(), "{left:?}");
        for format in ["text", "markdown", "html"] {
            let out = ["report", "--format", format, "--output", "out", "--force"];
            let told = brickyard(folder, &out);
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
            let told = std::fs::read_to_string(folder.join("out")).expect("a report");
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains(&format!("reported by {by}")), "{format}: {told:.3000}");
            assert!(!told.contains("Nothing of this was measured here"), "{format}");
            assert!(!told.contains("The device delivers"), "{format}: {told:.3000}");
        }
    }
}

/// Never run with something else: the trial is skipped, the others of its plan are run.
#[test]
fn a_trial_that_a_tool_cannot_honour_is_skipped_by_the_name_of_the_knob() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let fio = ["random-read", "--engine", "fio", "file-size=1MiB", "--replicates", "1"];
    let trials = run(folder, &[&fio[..], &["stop=100ms,steady"]].concat());
    let outcome = |stop: &str| {
        let of = trials.iter().find(|trial| trial["settings"]["stop"] == stop);
        of.unwrap_or_else(|| panic!("no {stop} in {trials:#?}")).clone()
    };
    let steady = outcome("steady");
    assert_eq!(steady["outcome"], "skipped", "{steady:#}");
    assert!(steady["reason"].to_string().contains("stop=steady needs engine=file"), "{steady:#}");
    assert!(steady["figures"].as_object().is_none_or(serde_json::Map::is_empty));
    let other = if installed("fio") { "done" } else { "skipped" };
    assert_eq!(outcome("100ms")["outcome"], other);
    let trials = run(folder, &["pgbench", "stop=steady", "--replicates", "1"]);
    assert_eq!(trials[0]["outcome"], "skipped");
    assert!(trials[0]["reason"].to_string().contains("stop=steady"), "{:#}", trials[0]);
    let knob = brickyard(folder, &["run", "dbench", "--dir", ".", "block-size=4KiB"]);
    let said = String::from_utf8_lossy(&knob.stderr).into_owned();
    assert_eq!(knob.status.code(), Some(2), "{said}");
    assert!(said.contains("the engine `dbench` has no knob `block-size`"), "{said}");
}

#[test]
fn what_tools_printed_elsewhere_is_imported_with_its_author_and_no_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tools/");
    let files = ["fio-3.33-read.txt", "bonnie++-2.00a-slow.txt", "sysbench-1.0.20-write.txt"];
    for name in files {
        std::fs::copy(format!("{fixtures}{name}"), folder.join(name)).expect("a fixture");
    }
    let mut arguments = [&["import"], &files[..]].concat();
    let text = brickyard(folder, &arguments);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let authors = "figures that fio 3.33 and bonnie++ 2.00a and sysbench 1.0.20 reported";
    assert!(words.contains("Nothing of this was measured here") && words.contains(authors));
    assert!(!words.contains("--seed"), "nothing was drawn: {text}");
    arguments.push("--json");
    let document = document(&brickyard(folder, &arguments));
    assert_eq!(document["campaign"]["engine"], "fio, bonnie++, sysbench");
    let trials = document["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 3);
    for trial in trials {
        let figures = trial["figures"].as_object().expect("figures");
        assert!(!figures.is_empty() && figures.keys().all(|name| name.starts_with("reported_")));
    }
    let unknown = folder.join("notes");
    std::fs::write(&unknown, "elephant\n").expect("a file");
    let refused = brickyard(folder, &["import", "notes"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("--from TOOL"), "{said}");
}

#[test]
fn the_doctor_tells_what_is_there_and_how_to_get_what_is_not_and_ends_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["doctor"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let document = document(&brickyard(folder.path(), &["doctor", "--json"]));
    let groups = document["groups"].as_array().expect("groups");
    let rows = groups.iter().flat_map(|group| group["rows"].as_array().expect("rows"));
    let mut seen = 0;
    for row in rows {
        let (name, there) = (row["name"].as_str().expect("a name"), row["there"] == true);
        assert!(text.contains(name), "{name}");
        assert_eq!(there, row["get"] == "", "{row:#}");
        if ["fio", "bonnie++", "dbench", "sysbench"].contains(&name) {
            assert_eq!(there, installed(name), "{row:#}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

/// That locked memory was too little stood in a note of 62 trials, and `doctor` said that nothing
/// was missing.
#[test]
fn the_doctor_tells_what_the_last_run_did_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let lacked = || {
        let told = document(&brickyard(folder.path(), &["doctor", "--json"]));
        let groups = told["groups"].as_array().expect("groups").clone();
        groups.into_iter().find(|group| group["name"] == "last run")
    };
    assert_eq!(lacked(), None, "nothing has run");
    let run = ["run", "random-read", "file-size=4MiB", "stop=100ms", "--json", "--quiet"];
    let ran = document(&brickyard(folder.path(), &run));
    let trials = ran["trials"].as_array().expect("trials").iter();
    let notes = trials.flat_map(|trial| trial["notes"].as_array().cloned().unwrap_or_default());
    let kinds: Vec<String> =
        notes.filter_map(|note| note["kind"].as_str().map(str::to_owned)).collect();
    for (kind, name) in [("no-huge-pages", "huge pages"), ("memlock", "locked memory")] {
        let rows = lacked().map(|group| group["rows"].clone());
        let told = rows.is_some_and(|rows| {
            rows.as_array().is_some_and(|rows| rows.iter().any(|row| row["name"] == name))
        });
        assert_eq!(told, kinds.iter().any(|it| it == kind), "{kind} of {kinds:?}");
    }
}

/// iperf3 stood among the engines and refused every trial. What it printed is imported as before,
/// under its name, and who would run it is told what to do.
#[test]
fn a_tool_that_is_only_read_keeps_its_name_and_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let plan =
        "[plan]\nname = \"x\"\nengine = \"iperf3\"\n\n[[workload]]\nname = \"random-read\"\n";
    std::fs::write(folder.join("plan.toml"), plan).expect("a plan");
    for arguments in [
        &["run", "iperf3"][..],
        &["run", "random-read", "--engine", "iperf3"],
        &["evaluate", ".", "--engine", "iperf3"],
        &["run", "plan.toml"],
    ] {
        let refused = brickyard(folder, arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("brickyard import FILE"), "{arguments:?}: {said}");
    }
    let listed = brickyard(folder, &["list", "engines"]);
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("iperf3"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tools/iperf3-3.12-tcp.txt");
    let imported = document(&brickyard(folder, &["import", file, "--json"]));
    let kept = document(&brickyard(folder, &["report", "1", "--format", "json"]));
    for document in [&imported, &kept] {
        assert_eq!(document["campaign"]["engine"], "iperf3");
        assert_eq!(document["campaign"]["kind"], "imported");
        let trial = &document["trials"][0];
        assert_eq!((&trial["engine"], &trial["group"]), (&"iperf3".into(), &"iperf3".into()));
        assert_eq!(trial["settings"]["streams"], 2);
        assert!(trial["reported"]["by"].as_str().is_some_and(|by| by == "iperf3 3.12"));
    }
}

/// All twelve phases, small, and the line that bonnie++ would print of them, read by its own tools.
#[test]
fn the_line_of_the_plan_bonnie_is_read_by_bonnies_own_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let small = ["file-size=1MiB", "files=1024", "stop=pass", "streams=2", "--replicates", "1"];
    let trials = run(folder, &[&["bonnie"], &small[..]].concat());
    let timed = trials.iter().filter(|trial| trial["group"] != "layout");
    let groups: Vec<&str> = timed.clone().filter_map(|trial| trial["group"].as_str()).collect();
    assert_eq!(groups.len(), 12, "{groups:?}");
    for trial in timed {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let small = if trial["engine"] == "tree" { 0 } else { 1 << 20 };
        assert_eq!(trial["settings"]["file-size"], small, "{trial:#}");
    }
    let told = brickyard(folder, &["report", "--format", "bonnie"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let line = told.lines().find(|line| line.starts_with("1.98,")).expect("a line of bonnie++'s");
    let fields: Vec<&str> = line.split(',').collect();
    assert_eq!(
        (fields.len(), fields[3], fields[5], fields[8], fields[21]),
        (50, "2", "1M", "5", "1")
    );
    let rates = [9, 11, 13, 15, 17, 19, 26, 28, 30, 32, 34, 36];
    assert!(
        rates.iter().all(|at| fields[*at].parse::<f64>().is_ok_and(|rate| rate > 0.0)),
        "{line}"
    );
    std::fs::write(folder.join("line.csv"), &told).expect("write the lines");
    let imported =
        document(&brickyard(folder, &["import", "line.csv", "--json", "--store", "b.db"]));
    assert!(imported.to_string().contains("block_write"), "{imported:#}");
    for (tool, shows) in [("bon_csv2html", "<"), ("bon_csv2txt", "Random Create")] {
        // They come with bonnie++, which `./test` installs where it may.
        if !installed(tool) {
            continue;
        }
        let mut read = Command::new("sh");
        let read = read.args(["-c", &format!("{tool} < line.csv")]).current_dir(folder);
        let shown = read.output().expect("it can be started");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(shows) && shown.contains(fields[36]), "{tool}: {line}: {shown}");
    }
}
