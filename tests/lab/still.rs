//! Loads whose control group is frozen in the middle of what is timed, as `docker pause` and
//! `systemctl freeze` do it; and loads that are merely late, as others have the processors.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{alone, beside_a_guest};
use crate::run::{brickyard, noted, parse, trials};

/// A control group of ours that can be frozen; thawed and removed when dropped.
struct Freezer {
    folder: PathBuf,
    unified: bool,
}

impl Freezer {
    /// In the root of whichever version the kernel has; `None`, and a SKIP, where there is none.
    fn new(test: &str) -> Option<Freezer> {
        let name = format!("brickyard-lab-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/freezer");
        let (root, unified) = match first.exists() {
            true => (first, false),
            false => (Path::new("/sys/fs/cgroup"), true),
        };
        let folder = root.join(name);
        let file = if unified { "cgroup.freeze" } else { "freezer.state" };
        let made = std::fs::create_dir(&folder);
        if made.is_err() || !folder.join(file).exists() {
            println!("SKIP {test}: no control group can be frozen here ({made:?})");
            return None;
        }
        Some(Freezer { folder, unified })
    }

    fn take(&self, pid: u32) {
        std::fs::write(self.folder.join("cgroup.procs"), pid.to_string()).expect("moved");
    }

    /// Puts a process back where it can go on.
    fn leave(&self, pid: u32) {
        let root = self.folder.parent().expect("a root");
        std::fs::write(root.join("cgroup.procs"), pid.to_string()).expect("moved back");
    }

    fn set(&self, frozen: bool) {
        let (file, word) = match (self.unified, frozen) {
            (true, true) => ("cgroup.freeze", "1"),
            (true, false) => ("cgroup.freeze", "0"),
            (false, true) => ("freezer.state", "FROZEN"),
            (false, false) => ("freezer.state", "THAWED"),
        };
        std::fs::write(self.folder.join(file), word).expect("frozen, or thawed");
    }

    fn hold(&self) {
        self.set(true);
        std::thread::sleep(Duration::from_millis(2500));
        self.set(false);
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.set(false);
        let started = Instant::now();
        while std::fs::remove_dir(&self.folder).is_err() {
            if started.elapsed() > Duration::from_secs(10) {
                println!("{} is left behind", self.folder.display());
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn start(folder: &Path) -> Child {
    let knobs =
        ["--dir", ".", "file-size=4MiB", "stop=5s", "direct=false", "cold=false", "--replicates=2"];
    brickyard(folder, &[&["run", "random-read", "--json", "--quiet"], &knobs[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started")
}

/// The process of the load, once its stream has used a processor for a while.
fn load(child: &Child) -> u32 {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < Duration::from_secs(120), "no load ran");
        std::thread::sleep(Duration::from_millis(20));
        let own = format!("/proc/{0}/task/{0}/children", child.id());
        let below = read(PathBuf::from(own));
        let Some(pid) = below.split_whitespace().next().and_then(|pid| pid.parse().ok()) else {
            continue;
        };
        let tasks = Path::new("/proc").join(format!("{pid}/task")).read_dir();
        let streams = tasks.into_iter().flatten().flatten().map(|entry| entry.path());
        let streams = streams.filter(|path| read(path.join("comm")).starts_with("stream"));
        let ran = streams.filter_map(|path| {
            let text = read(path.join("schedstat"));
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        if ran.sum::<u64>() > 300_000_000 {
            return pid;
        }
    }
}

/// What one of two trials says that was held still; the other has its figures.
fn told(child: Child) -> String {
    let document = parse(&child.wait_with_output().expect("it ends"));
    let trials = trials(&document);
    let (still, others): (Vec<&Value>, Vec<&Value>) =
        trials.into_iter().partition(|trial| noted(trial, "stopped"));
    assert_eq!((still.len(), others.len()), (1, 1), "{document:#}");
    assert_eq!(still[0]["outcome"], "done");
    assert!(still[0]["figures"]["throughput_bytes_per_s"].is_null(), "{:#}", still[0]);
    assert!(others[0]["figures"]["throughput_bytes_per_s"]["value"].is_number(), "{document:#}");
    let mut notes = still[0]["notes"].as_array().expect("notes").iter();
    let note = notes.find(|note| note["kind"] == "stopped").expect("found");
    note["text"].as_str().expect("words").to_owned()
}

/// A container that was paused for a while in the middle of a trial was the slowest storage of all.
#[test]
fn a_load_whose_control_group_was_frozen_has_no_figure() {
    let _beside = beside_a_guest();
    let Some(freezer) = Freezer::new("a frozen load") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let child = start(folder.path());
    // Its load is born in the group; then it leaves, and counts on while the load is frozen.
    freezer.take(child.id());
    load(&child);
    freezer.leave(child.id());
    freezer.hold();
    let text = told(child);
    assert!(text.contains("its control group was frozen"), "{text}");
}

#[test]
fn a_load_that_was_frozen_with_the_program_has_no_figure() {
    let _beside = beside_a_guest();
    let Some(freezer) = Freezer::new("a frozen run") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let child = start(folder.path());
    freezer.take(child.id());
    load(&child);
    freezer.hold();
    let text = told(child);
    assert!(text.starts_with("The load stood still for"), "{text}");
}

/// Nobody can watch a group that a process joins later: then it is what the process did not do.
#[test]
fn a_load_that_was_frozen_in_a_group_that_nobody_watched_has_no_figure() {
    let _beside = beside_a_guest();
    let Some(freezer) = Freezer::new("a load frozen elsewhere") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let child = start(folder.path());
    let load = load(&child);
    freezer.take(load);
    freezer.hold();
    let text = told(child);
    assert!(text.contains("it used no processor and waited for none"), "{text}");
}

/// More to do than processors holds up a load, and is confessed as that.
#[test]
fn a_machine_that_is_merely_busy_stops_nobody() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let busy = Arc::new(AtomicBool::new(true));
    let hog = |_| {
        let busy = busy.clone();
        std::thread::spawn(move || {
            while busy.load(Relaxed) {
                std::hint::spin_loop();
            }
        })
    };
    let hogs: Vec<_> = (0..4 * processors).map(hog).collect();
    let document = parse(&start(folder.path()).wait_with_output().expect("it ends"));
    busy.store(false, Relaxed);
    hogs.into_iter().for_each(|hog| hog.join().expect("a hog ends"));
    let trials = trials(&document);
    assert_eq!(trials.len(), 2, "{document:#}");
    for trial in trials {
        assert!(!noted(trial, "stopped"), "{trial:#}");
        assert!(trial["figures"]["throughput_bytes_per_s"]["value"].is_number(), "{trial:#}");
    }
}
