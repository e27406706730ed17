//! Kills, Ctrl-C and full disks: what was measured stays, our files go, nothing else is touched.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::disk::{Disk, Mount, alone, usable};
use crate::run::{brickyard, draw, json, parse, trials};

/// The work directories below `directory`.
fn ours(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().expect("readable").flatten().map(|entry| entry.path());
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    entries.filter(|path| name(path).is_some_and(|name| name.starts_with("brickyard-"))).collect()
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    brickyard(folder, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started")
}

/// Waits a minute at the most.
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The trials that the store holds; 0 while there is no store.
fn stored(folder: &Path) -> usize {
    let output = brickyard(folder, &["report", "--format", "json"]).output().expect("report runs");
    if !output.status.success() {
        return 0;
    }
    parse(&output)["trials"].as_array().map_or(0, Vec::len)
}

/// The workers of a brickyard started in `folder`, its parent alive or not. Those of somebody else
/// on the same machine failed these tests once.
fn workers(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().expect("it is there");
    let processes = Path::new("/proc").read_dir().expect("proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let at = std::fs::read_link(format!("/proc/{pid}/cwd"));
        line.starts_with(b"brickyard\0worker\0") && at.is_ok_and(|at| at == folder)
    })
    .collect()
}

#[test]
fn a_kill_leaves_a_readable_store_and_the_next_start_removes_our_files_alone() {
    let _alone = alone();
    let target = tempfile::tempdir().expect("a target");
    let precious = target.path().join("thesis.doc");
    std::fs::write(&precious, "years of work").expect("written");
    let lookalike = target.path().join("brickyard-notes");
    std::fs::create_dir(&lookalike).expect("made");
    std::fs::write(lookalike.join("brick-00000.dat"), "not yours").expect("written");
    let folder = tempfile::tempdir().expect("a folder");
    let name = target.path().display().to_string();

    let mut child =
        start(folder.path(), &["evaluate", &name, "--budget", "60s", "--space", "64MiB"]);
    wait_until("a stored trial", || stored(folder.path()) >= 2);
    std::thread::sleep(Duration::from_millis(draw("killed after, ms", 1, 3000)));
    child.kill().expect("killed");
    child.wait().expect("gone");
    wait_until("the worker to die with its parent", || workers(folder.path()).is_empty());
    assert!(stored(folder.path()) >= 2, "what was measured stays");
    assert_eq!(ours(target.path()).len(), 2, "the killed run could not clean up");

    let again = ["run", "random-read", "--dir", &name, "stop=200ms", "file-size=8MiB"];
    json(folder.path(), &again);
    assert_eq!(
        ours(target.path()),
        std::slice::from_ref(&lookalike),
        "ours are gone, the rest is not"
    );
    assert!(lookalike.join("brick-00000.dat").exists());
    assert_eq!(std::fs::read_to_string(&precious).expect("still there"), "years of work");
}

#[test]
fn ctrl_c_ends_in_order_with_what_was_measured() {
    let _alone = alone();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let target = tempfile::tempdir().expect("a target");
        let folder = tempfile::tempdir().expect("a folder");
        let name = target.path().display().to_string();
        let arguments =
            ["evaluate", &name, "--budget", "60s", "--space", "64MiB", "--json", "--seed", "7"];
        let child = start(folder.path(), &arguments);
        wait_until("a stored trial", || stored(folder.path()) >= 2);
        std::thread::sleep(Duration::from_millis(draw("interrupted after, ms", 1, 2500)));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).expect("signalled");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        let document = parse(&output);
        assert!(!trials(&document).is_empty(), "what was measured is printed");
        assert!(ours(target.path()).is_empty(), "our files are gone");
        assert!(folder.path().join("brickyard-report.html").exists(), "the report is drawn");
        assert!(workers(folder.path()).is_empty());
    }
}

#[test]
fn a_disk_that_fills_meanwhile_fails_that_trial_alone() {
    if !usable("a disk that fills", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(256);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let arguments = [
        "run",
        "sequential-write",
        "--dir",
        &name,
        "--replicates",
        "2",
        "stop=pass",
        "file-size=120MiB",
        "block-size=256KiB",
        "queue-depth=1",
        // Slow and buffered, so that room is taken bit by bit while the other one takes it all.
        "direct=false",
        "rate=100",
        "--json",
    ];
    let child = start(folder.path(), &arguments);
    wait_until("our file", || !ours(&mount.path).is_empty());
    std::thread::sleep(Duration::from_millis(700));
    let filler = mount.path.join("somebody-else.dat");
    let file = std::fs::File::create(&filler).expect("created");
    // As much as there is, from the largest piece down.
    let mut size = 0;
    for mib in [128u64, 64, 32, 16, 8, 4, 2, 1] {
        let flags = rustix::fs::FallocateFlags::empty();
        while rustix::fs::fallocate(&file, flags, size, mib << 20).is_ok() {
            size += mib << 20;
        }
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let document = parse(&output);
    let failed: Vec<_> =
        trials(&document).into_iter().filter(|trial| trial["outcome"] == "failed").collect();
    assert!(!failed.is_empty(), "{document:#}");
    let why = failed[0]["reason"].as_str().unwrap_or_default();
    assert!(why.contains("No space left on device"), "{why}");
    assert!(ours(&mount.path).is_empty() && filler.exists());
}
