//! NCO as referee of `concat`: its programs read our files, and ncecat's result and time are ours.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, sh, usable};
use crate::run::{draw, figure, json, trials};

/// Our files, small, in `folder/in`; their paths.
fn made(folder: &Path, files: usize) -> Vec<String> {
    let into = folder.join("in").display().to_string();
    let files_option = format!("--files={files}");
    let words = ["generate", "netcdf", "--out", &into, &files_option, "--file-size=24KiB"];
    let status = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(words)
        .args(["--variables=2", "--seed=3"])
        .status();
    assert!(status.expect("brickyard can be started").success());
    (0..files).map(|number| format!("{into}/{number:05}.nc")).collect()
}

/// What ncdump says of a file, from the dimensions on, without attributes of the whole file.
fn dumped(file: &str) -> String {
    let text = sh("ncdump", &[file]);
    let global = |line: &&str| !line.trim_start().starts_with(':') && !line.starts_with("netcdf");
    let lines: Vec<&str> = text.lines().filter(global).collect();
    let from = lines.iter().position(|line| line.starts_with("dimensions:"));
    lines[from.expect("ncdump lists dimensions")..].join("\n")
}

/// `record = UNLIMITED` and its kin stand in another order in a file of ncecat's.
fn parts(dump: &str) -> (Vec<String>, String) {
    let (before, data) = dump.split_once("data:").expect("ncdump prints data");
    let mut lines: Vec<String> = before.lines().map(|line| line.trim().to_owned()).collect();
    lines.sort();
    (lines, data.to_owned())
}

#[test]
fn ncdump_and_ncks_read_our_files_and_ncecat_makes_of_them_what_we_make() {
    if !usable("NCO as referee of files", &["ncecat", "ncks", "ncdump"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = made(folder.path(), 3);
    assert_eq!(sh("ncdump", &["-k", &inputs[0]]), "64-bit offset");
    let head = sh("ncdump", &["-h", &inputs[0]]);
    assert!(head.contains("time = UNLIMITED ; // (6 currently)"), "{head}");
    assert!(head.contains("float v1(time, y, x)"), "{head}");
    let listed = sh("ncks", &["-m", &inputs[2]]);
    assert!(listed.contains("v0") && listed.contains("v1"), "{listed}");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (theirs, ours) = (path("theirs.nc"), path("ours.nc"));
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    sh("ncecat", &[&["-h", "-O", "-o", &theirs], &names[..]].concat());
    let join = ["concat-worker", "join", "--block-size=4096", "--out", &ours];
    sh(env!("CARGO_BIN_EXE_brickyard"), &[&join, &names[..]].concat());
    let (theirs_parts, ours_parts) = (parts(&dumped(&theirs)), parts(&dumped(&ours)));
    assert_eq!(theirs_parts.0, ours_parts.0);
    assert!(theirs_parts.1.len() > 10_000 && theirs_parts.1 == ours_parts.1, "every value");
    // Where each variable lies, both have the same bytes.
    let check =
        ["concat-worker", "check", "--files=3", "--file-size=24KiB", "--variables=2", "--seed=3"];
    for joined in [&theirs, &ours] {
        sh(env!("CARGO_BIN_EXE_brickyard"), &[&check[..], &["--joined", joined]].concat());
    }
}

/// The disk reads much slower than both programs: the same bytes keep them waiting for the same
/// time. On a faster one ncecat's own work shows. Its writing has no limit: with one, it lay beside
/// the reading of one program and behind that of the other, as the kernel began to write back, and
/// the same bytes took 9.0 s and 9.6 s.
#[test]
fn ncecat_and_ours_take_the_same_time_on_a_disk_of_known_speed() {
    if !usable("ncecat as referee", &["ncecat", "mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let limit = draw("limit, MB/s", 12, 15) * 1_000_000;
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, 0) {
        println!("SKIP ncecat as referee: this kernel has no cgroup v1 block throttle");
        return;
    }
    let name = mount.name();
    let run = |with: &str, name: &str, size: &str| -> Value {
        let folder = tempfile::tempdir().expect("a folder");
        let (with, size) = (format!("concat-with={with}"), format!("file-size={size}"));
        let load = ["files=4", "variables=2", "block-size=4MiB"];
        let common = ["run", "concatenate", "--dir", name, "--replicates", "1"];
        let document = json(folder.path(), &[&common[..], &load, &[&with, &size]].concat());
        trials(&document)[0].clone()
    };
    // Read for the first time its own program comes from another disk, and so does every library
    // that it loads when it works; of `--version` alone 6 MiB of these were left to read.
    let elsewhere = tempfile::tempdir().expect("a folder");
    run("ncecat", &elsewhere.path().to_string_lossy(), "16MiB");
    let (ours, theirs) = (run("native", &name, "16MiB"), run("ncecat", &name, "16MiB"));
    for trial in [&ours, &theirs] {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let read = figure(trial, "read_throughput_bytes_per_s") / limit as f64;
        println!("{:.3} s, reading {read:.3} of the limit", figure(trial, "elapsed_s"));
    }
    for trial in [&ours, &theirs] {
        assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
    }
    // What each computes is its own, and depends on who else wants the processors.
    let waited = |trial: &Value| {
        figure(trial, "elapsed_s") - figure(trial, "user_s") - figure(trial, "system_s")
    };
    let agreement = waited(&ours) / waited(&theirs);
    println!("ours waits {agreement:.4} of the time for which ncecat waits");
    assert!((0.95..1.05).contains(&agreement), "{ours:#} {theirs:#}");
}
