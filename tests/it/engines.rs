//! A plan whose workloads need two engines: files that are read, and a program that is run.

use serde_json::Value;

use crate::program::{brickyard, document};

const PLAN: &str = r#"
[plan]
name = "mixed"
replicates = 2
seed = 5
stop = "100ms"

[factors]
streams = [1, 2]
queue-depth = [1, 4]

[[workload]]
use = "sequential-read"
file-size = "1MiB"
block-size = "64KiB"
direct = false

[[workload]]
command = "test -f {directory}/made -a {streams} -gt 0"
prepare = "touch {directory}/made"
"#;

/// A plan had one engine: a kernel could not be compiled between two readings of files.
#[test]
fn files_and_programs_are_measured_in_one_order_and_each_trial_says_by_what() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("mixed.toml"), PLAN).expect("a plan");
    let planned = ["plan", "mixed.toml", "--dir", "."];
    let shown = brickyard(folder, &planned);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success() && text.contains("the engines file and command"), "{text}");
    let run = ["run", "mixed.toml", "--dir", ".", "--json", "--quiet"];
    let output = brickyard(folder, &run);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document = document(&output);
    assert_eq!(document["campaign"]["engine"], "file, command");
    let trials = document["trials"].as_array().expect("trials").iter();
    let planned: Vec<&Value> = trials.filter(|trial| trial["group"] != "layout").collect();
    let of = |engine: &str| {
        let of = planned.iter().filter(|trial| trial["engine"] == engine);
        of.inspect(|trial| assert_eq!(trial["outcome"], "done", "{trial:#}")).count()
    };
    assert_eq!((of("file"), of("command")), (8, 4));
    for trial in &planned {
        let program = trial["engine"] == "command";
        assert_eq!(trial["settings"].get("block-size").is_none(), program);
        assert_eq!(trial["figures"].get("elapsed_s").is_some(), program, "{trial:#}");
    }
    let cells = document["cells"].as_array().expect("cells").iter();
    assert_eq!(cells.filter(|cell| cell["engine"] == "command").count(), 2);
    // What is told of both, in every format, and that the store knows whose each trial was.
    for format in ["text", "html", "json"] {
        let told = brickyard(folder, &["report", "--format", format]);
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let told = match format {
            "html" => std::fs::read_to_string(folder.join("brickyard-report.html")).expect("it"),
            _ => String::from_utf8_lossy(&told.stdout).into_owned(),
        };
        assert!(told.contains("sequential-read") && told.contains("elapsed"), "{format}");
    }
    let resumed = brickyard(folder, &[&run[..], &["--resume"]].concat());
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let left = folder.read_dir().expect("readable").flatten();
    let left = left.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    assert_eq!(left.count(), 0, "a work directory was left");
}

#[test]
fn a_simulated_server_runs_no_program() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mixed.toml"), PLAN).expect("a plan");
    let output = brickyard(folder.path(), &["run", "mixed.toml", "--engine", "sim"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("the engine `sim` runs no programs, and `test -f"), "{said}");
}
