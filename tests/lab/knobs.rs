//! Settings of the machine: changed for a trial, and back however it ends. All on a loop device and
//! a control group that these tests make; nobody else's setting is touched.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::disk::{Disk, Mount, alone, beside_a_guest, usable};
use crate::run::{brickyard, draw, json, trials};

fn read_ahead(disk: &Disk) -> PathBuf {
    let name = disk.device.trim_start_matches("/dev/");
    PathBuf::from(format!("/sys/block/{name}/queue/read_ahead_kb"))
}

fn held(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a setting").trim().to_owned()
}

/// Control groups of campaigns that worked below `mount`.
pub fn groups(uids: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = next.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if uids.iter().any(|uid| name.starts_with(uid)) {
                found.push(entry.path());
            }
            next.push(entry.path());
        }
    }
    found
}

/// Names of the work directories in `mount`: `brickyard-UID`.
fn uids(mount: &Mount) -> Vec<String> {
    let entries = mount.path.read_dir().expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("brickyard-")).collect()
}

#[test]
fn read_ahead_is_changed_for_the_trial_alone() {
    if !usable("read-ahead of a loop device", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let disk = Disk::new(256);
    let mount = Mount::format(&disk, "ext4");
    let (path, folder) = (read_ahead(&disk), tempfile::tempdir().expect("a folder"));
    std::fs::write(&path, "260").expect("a value of its own");
    let name = mount.name();
    let knobs = ["direct=false", "file-size=32MiB", "stop=1s", "--replicates", "1", "--json"];
    let mut arguments = vec!["run", "sequential-read", "--dir", &name, "read-ahead=64KiB,1MiB"];
    arguments.extend(knobs);
    let child = brickyard(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let (stop, watched) = (std::sync::atomic::AtomicBool::new(false), &path);
    let (seen, output) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                seen.insert(held(watched));
                std::thread::sleep(Duration::from_millis(10));
            }
            seen
        });
        let output = child.wait_with_output();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (watch.join().expect("it watches"), output.expect("it ends"))
    });
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), ["1024", "260", "64"]);
    assert_eq!(held(&path), "260");
    let document = crate::run::parse(&output);
    let level = |trial: &&serde_json::Value| trial["settings"]["read-ahead"].as_u64();
    let mut levels: Vec<u64> = trials(&document).iter().filter_map(level).collect();
    levels.sort_unstable();
    assert_eq!(levels, [64 << 10, 1 << 20]);
    assert!(!folder.path().join("brickyard.db-undo").exists());
}

/// The memory of a server decides what a second reading is worth; nobody should have to take
/// memory out of it to see that.
#[test]
fn under_a_memory_limit_a_second_pass_comes_from_the_device_and_without_from_the_cache() {
    if !usable("a memory limit", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let disk = Disk::new(1400);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let document = json(
        folder.path(),
        &[
            "run",
            "sequential-read",
            "--dir",
            &name,
            "--replicates",
            "1",
            "memory-limit=256MiB,as-is",
            "direct=false",
            "cold=false",
            "queue-depth=1",
            "block-size=256KiB",
            "file-size=1GiB",
            "stop=pass",
        ],
    );
    let verdict = |limited: bool| {
        let all = trials(&document);
        let of =
            |trial: &&&serde_json::Value| trial["settings"]["memory-limit"].is_u64() == limited;
        let trial = all.iter().find(of).unwrap_or_else(|| panic!("{document:#}"));
        trial["origin"]["verdict"].as_str().unwrap_or("no verdict").to_owned()
    };
    if trials(&document).iter().any(|trial| trial["outcome"] == "skipped") {
        println!("SKIP a memory limit: this kernel hands no memory groups out");
        return;
    }
    assert_eq!((verdict(true).as_str(), verdict(false).as_str()), ("device", "cache"));
    assert!(!folder.path().join("brickyard.db-undo").exists());
}

#[test]
fn a_run_killed_at_any_instant_is_undone_from_its_journal_alone() {
    if !usable("undo after kill -9", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(256);
    let mount = Mount::format(&disk, "ext4");
    let (path, folder) = (read_ahead(&disk), tempfile::tempdir().expect("a folder"));
    std::fs::write(&path, "260").expect("a value of its own");
    let name = mount.name();
    let mut changed = 0;
    for kill in 0..8 {
        let after_ms = draw(&format!("kill {kill} after, ms"), 300, 4000);
        let mut child = brickyard(
            folder.path(),
            &[
                "run",
                "sequential-read",
                "--dir",
                &name,
                "read-ahead=64KiB,1MiB,2MiB",
                "memory-limit=32MiB,64MiB",
                "direct=false",
                "file-size=8MiB",
                "stop=50ms",
                "--quiet",
            ],
        )
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(after_ms) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let uids = uids(&mount);
        child.kill().expect("killed");
        child.wait().expect("it ends");
        changed += u32::from(held(&path) != "260");
        let output = brickyard(folder.path(), &["undo"]).output().expect("undo can be started");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(held(&path), "260", "{said}");
        assert_eq!(groups(&uids), [""; 0].map(PathBuf::from), "{said}");
        assert!(!folder.path().join("brickyard.db-undo").exists(), "{said}");
    }
    assert!(changed > 0, "no kill came while a setting was changed");
}

/// Ctrl-C, and what a service manager sends.
#[test]
fn a_run_that_is_told_to_end_puts_everything_back_itself() {
    if !usable("restoring on SIGTERM", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(256);
    let mount = Mount::format(&disk, "ext4");
    let (path, folder) = (read_ahead(&disk), tempfile::tempdir().expect("a folder"));
    std::fs::write(&path, "260").expect("a value of its own");
    let name = mount.name();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let knobs = ["read-ahead=1MiB", "memory-limit=64MiB", "file-size=8MiB", "stop=60s"];
        let mut arguments = vec!["run", "random-read", "--dir", &name, "--quiet"];
        arguments.extend(knobs);
        let mut child = brickyard(folder.path(), &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("brickyard can be started");
        let started = Instant::now();
        while held(&path) != "1024" {
            assert!(started.elapsed() < Duration::from_secs(60), "nothing was changed");
            std::thread::sleep(Duration::from_millis(20));
        }
        let uids = uids(&mount);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).expect("signalled");
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        assert_eq!(held(&path), "260");
        assert_eq!(groups(&uids), [""; 0].map(PathBuf::from));
        assert!(!folder.path().join("brickyard.db-undo").exists());
    }
}

/// The fifth source took memory out of its server to see what programs make of the rest.
#[test]
fn a_program_runs_within_its_memory_and_on_its_processors() {
    if !usable("a program's memory limit", &["python3", "nproc"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "command", "--dir", ".", "--replicates", "1"];
        arguments.extend(more);
        json(folder.path(), &arguments)
    };
    // Without a limit, with room enough, and with too little.
    let greedy = "command=python3 -c 'print(len(bytearray(96 << 20)))'";
    let document = run(&[greedy, "memory-limit=as-is,512MiB,32MiB", "extract=got=^([0-9]+)"]);
    let limited = |bytes: Option<u64>| {
        let mut all = trials(&document).into_iter();
        let found = all.find(|trial| trial["settings"]["memory-limit"].as_u64() == bytes);
        found.unwrap_or_else(|| panic!("{document:#}")).clone()
    };
    if limited(Some(32 << 20))["outcome"] == "skipped" {
        println!("SKIP a program's memory limit: this kernel hands no memory groups out");
        return;
    }
    for enough in [None, Some(512 << 20)] {
        assert_eq!(crate::run::figure(&limited(enough), "got"), f64::from(96 << 20));
    }
    let killed = limited(Some(32 << 20));
    assert_eq!(killed["outcome"], "failed", "{killed:#}");
    let why = killed["reason"].as_str().expect("a reason");
    assert!(why.contains("SIGKILL") && why.contains("Out of memory"), "{why}");
    assert!(why.contains("memory-limit=32 MiB") && why.contains("oom_kill 1"), "{why}");
    // What only a child of the program suffers is a note.
    let survived = "command=python3 -c 'bytearray(96 << 20)' || true";
    let document = run(&[survived, "shell=true", "memory-limit=32MiB"]);
    let trial = trials(&document)[0].clone();
    assert_eq!(trial["outcome"], "done", "{trial:#}");
    assert!(crate::run::noted(&trial, "out-of-memory"), "{trial:#}");

    let document = run(&["command=nproc", "extract=seen=^([0-9]+)$", "cpuset=0"]);
    assert_eq!(crate::run::figure(trials(&document)[0], "seen"), 1.0);
    let prepared = ["command=cat {directory}/n", "shell=true", "prepare=nproc > {directory}/n"];
    let document = run(&[&prepared[..], &["extract=seen=^([0-9]+)$", "cpuset=0"]].concat());
    assert_eq!(crate::run::figure(trials(&document)[0], "seen"), 1.0, "prepare is inside");
    assert!(!folder.path().join("brickyard.db-undo").exists());
}
