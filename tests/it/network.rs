//! `brickyard run tcp-stream` and `run network`, as typed.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{brickyard, document, without_root};

const SHORT: [&str; 6] = ["stop=200ms", "warm-up=0s", "--replicates", "1", "--json", "--quiet"];

fn run(folder: &Path, what: &[&str]) -> Output {
    brickyard(folder, &[&["run"], what, &SHORT[..]].concat())
}

fn noted(trial: &Value, kind: &str) -> bool {
    let notes = trial["notes"].as_array().expect("notes");
    notes.iter().any(|note| note["kind"] == kind)
}

/// A rate of memory that stood among figures of disks would be taken for one.
#[test]
fn a_stream_over_loopback_is_memorys_and_told_in_bits_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let output = run(at, &["tcp-stream", "wire=loopback", "streams=2", "message-size=1000B"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document = document(&output);
    let trial = &document["trials"][0];
    assert_eq!((&trial["outcome"], &trial["engine"]), (&"done".into(), &"net".into()));
    assert_eq!(trial["origin"]["verdict"], "memory", "{trial:#}");
    assert!(trial["settings"].get("directories").is_none(), "{trial:#}");
    assert!(noted(trial, "over-loopback"), "{trial:#}");
    let figure = |name: &str| {
        let value = trial["figures"][name]["value"].as_f64();
        value.unwrap_or_else(|| panic!("no {name}: {trial:#}"))
    };
    let rate = figure("throughput_bytes_per_s");
    assert!(rate > 0.0 && figure("sent_throughput_bytes_per_s") > 0.0);
    // A message is counted with its last byte.
    assert!((figure("iops") * 1000.0 / rate - 1.0).abs() < 0.01, "{trial:#}");
    let ends = ["sender_cpu_seconds_per_gb", "receiver_cpu_seconds_per_gb"].map(figure);
    let both = figure("cpu_seconds_per_gib");
    let sum = ends.iter().sum::<f64>() * f64::from(1 << 30) / 1e9;
    assert!(ends.iter().all(|end| *end > 0.0) && (both / sum - 1.0).abs() < 1e-6, "{both} {sum}");
    let told = brickyard(at, &["report", "--format", "text"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("Gb/s") && told.contains("s/GB out"), "{told}");
    assert!(!told.contains("MB/s") && !told.contains("The device"), "{told}");
    for format in ["html", "markdown", "csv"] {
        let told = brickyard(at, &["report", "--format", format]);
        assert!(told.status.success(), "{format}: {}", String::from_utf8_lossy(&told.stderr));
    }
    let folders = at.read_dir().expect("readable").flatten();
    let folders = folders.filter(|entry| entry.path().is_dir());
    assert_eq!(folders.count(), 0, "a work directory was left");
}

#[test]
fn the_plan_network_has_the_first_sources_message_sizes_in_both_packet_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["plan", "network", "--json"]);
    let document = document(&output);
    let order = document["first_trials"].as_array().expect("trials");
    let mut cells: Vec<(String, u64)> = order
        .iter()
        .map(|trial| {
            let settings = &trial["settings"];
            let bytes = settings["message-size"].as_u64().expect("a size");
            (settings["mtu"].to_string(), bytes)
        })
        .collect();
    cells.sort();
    cells.dedup();
    let sizes = [10, 100, 1000, 10_000, 100_000];
    for mtu in ["\"as-is\"", "9000"] {
        let of = cells.iter().filter(|(own, _)| own == mtu).map(|(_, bytes)| *bytes);
        assert_eq!(of.collect::<Vec<u64>>(), sizes, "{mtu}");
    }
}

/// Frames against windows as in the first source; what a virtual wire has not is skipped by name.
#[test]
fn the_plan_network_tuning_skips_interrupts_where_there_is_no_card_to_moderate() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["plan", "network-tuning", "--json"]);
    let planned = document(&output);
    let order = planned["first_trials"].as_array().expect("trials");
    let mut cells: Vec<String> = order
        .iter()
        .map(|trial| {
            let settings = &trial["settings"];
            let of = |knob: &str| settings[knob].to_string();
            of("mtu") + " " + &of("socket-buffer") + " " + &of("interrupt-coalescing")
        })
        .collect();
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), 2 * 4 + 4, "{cells:?}");
    let output =
        brickyard(folder.path(), &["run", "tcp-stream", "interrupt-coalescing=66us", "--json"]);
    let document = document(&output);
    let trial = &document["trials"][0];
    assert_eq!(trial["outcome"], "skipped", "{trial:#}");
    assert!(trial.to_string().contains("veth pair of its own"), "{trial:#}");
}

#[test]
fn what_a_network_cannot_do_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    for (typed, word) in [
        (&["mtu=9000", "wire=loopback"][..], "wire=namespaces"),
        (&["wire=loopback", "peer-namespace=b"], "leave one of them out"),
        (&["warm-up=2h"], "at-most"),
        (&["--dir", "."], "leave out --dir"),
    ] {
        let all = [&["run", "tcp-stream"], typed].concat();
        let output = brickyard(folder.path(), &all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{typed:?}: {said}");
        assert!(said.contains(word) && said.contains("hint: "), "{typed:?}: {said}");
    }
}

/// Whoever is not root gets loopback and is told, or is refused when namespaces were asked for.
#[test]
fn without_root_it_says_that_it_went_over_loopback_instead() {
    let run = |wire: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = without_root(folder.path());
        command.args(["run", "tcp-stream", wire]).args(SHORT);
        document(&command.output().expect("brickyard can be started"))
    };
    let fell_back = run("wire=auto");
    assert!(noted(&fell_back["trials"][0], "loopback-instead"), "{fell_back:#}");
    let refused = run("wire=namespaces");
    let trial = &refused["trials"][0];
    assert_eq!(trial["outcome"], "skipped", "{trial:#}");
    assert!(trial.to_string().contains("wire=loopback"), "{trial:#}");
}
