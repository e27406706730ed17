//! Plans over file systems and arrays on whole disks: made, measured, unmade; also when the run is
//! killed. All on loop devices that these tests make.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{Disk, beside_a_guest, usable};
use crate::run::{brickyard, draw, figure, parse, trials};

mod trees;
mod upkeep;

const TOOLS: &[&str] = &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "blkid"];

/// Four disks, and a plan over what can be made of them.
struct Bench {
    disks: Vec<Disk>,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(plan: &str) -> Bench {
        Bench::on((0..4).map(|_| Disk::new(512)).collect(), plan)
    }

    fn on(disks: Vec<Disk>, plan: &str) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let named: Vec<String> = disks.iter().map(|disk| format!("{:?}", disk.named())).collect();
        let text = plan.replace("DEVICES", &format!("[{}]", named.join(", ")));
        std::fs::write(folder.path().join("plan.toml"), text).expect("a plan");
        Bench { disks, folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `run` with every disk confirmed.
    fn run(&self, more: &[&str]) -> Command {
        let mut arguments: Vec<String> = vec!["run".into(), "plan.toml".into()];
        for disk in &self.disks {
            arguments.extend(["--wipe".to_owned(), disk.named()]);
        }
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        brickyard(self.path(), &arguments)
    }

    /// Whether the machine is as it was: nothing mounted, nothing on the disks, no journal.
    fn is_clean(&self) {
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
        for disk in &self.disks {
            let mounted = |line: &&str| line.starts_with(&format!("{} ", disk.device));
            assert_eq!(mounts.lines().find(mounted), None);
            let found = Command::new("blkid").args(["-p", &disk.device]).output().expect("blkid");
            let said = String::from_utf8_lossy(&found.stdout).into_owned();
            assert_eq!((found.status.code(), said.as_str()), (Some(2), ""), "{}", disk.device);
        }
        let ours = |name: &String| name.starts_with("brickyard-") || name.ends_with("-undo");
        let left: Vec<String> =
            [Path::new("/run"), self.path()].into_iter().flat_map(names).filter(ours).collect();
        assert_eq!(left, Vec::<String>::new());
    }

    /// Whether one of the disks is mounted.
    fn is_mounted(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
        self.disks.iter().any(|disk| mounts.contains(&format!("{} ", disk.device)))
    }

    /// What the newest campaign of a store did.
    fn stored(&self, store: &str) -> Value {
        let arguments = ["report", "--format", "json", "--store", store];
        parse(&brickyard(self.path(), &arguments).output().expect("brickyard can be started"))
    }

    /// Kills a run without mercy once a layout is mounted and `trials` trials are kept.
    fn kill_after(&self, store: &str, trials: usize, more: &[&str]) {
        let mut arguments = vec!["--store", store, "--quiet"];
        arguments.extend(more);
        let mut child =
            self.run(&arguments).stdout(Stdio::null()).spawn().expect("brickyard can be started");
        let begun = Instant::now();
        let kept = || {
            // A store that was made just now holds no campaign yet.
            let arguments = ["report", "--format", "json", "--store", store];
            let told = brickyard(self.path(), &arguments).output().expect("it runs");
            let told: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
            told["trials"].as_array().is_some_and(|all| all.len() >= trials)
        };
        while begun.elapsed() < Duration::from_secs(120) && !(kept() && self.is_mounted()) {
            assert_eq!(child.try_wait().expect("waited for"), None, "it ended by itself");
            std::thread::sleep(Duration::from_millis(200));
        }
        child.kill().expect("killed");
        child.wait().expect("waited for");
        // Between the look and the kill it may have come to the next layout, but not to the end.
        assert!(self.path().join(format!("{store}-undo")).exists(), "nothing is to be undone");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("readable").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SWEEP: &str = r#"
[plan]
name = "sweep"
replicates = 1
seed = 3
stop = "1s"

[target]
devices = DEVICES

[factors]
streams = [1, 2]

[[workload]]
use = "sequential-read"
file-size = "16MiB"
disks = 1
filesystem = ["ext4", "xfs", "btrfs", "jfs"]
read-ahead = "192KiB"
direct = false

[[workload]]
use = "random-read"
file-size = "16MiB"
filesystem = "btrfs"
raid = ["raid0", "raid1", "raid10", "raid5", "raid50"]
"#;

#[test]
fn file_systems_and_arrays_are_made_measured_and_unmade() {
    if !usable("layouts on loop devices", TOOLS) {
        return;
    }
    let _beside = beside_a_guest();
    let bench = Bench::new(SWEEP);
    let unconfirmed = brickyard(bench.path(), &["run", "plan.toml"]).output().expect("it runs");
    assert_eq!(unconfirmed.status.code(), Some(2));
    assert!(said(&unconfirmed).contains("--wipe"), "{}", said(&unconfirmed));
    let dry = bench.run(&["--dry-run"]).output().expect("it runs");
    let printed = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(printed.contains("mkfs.ext4") && printed.contains("raid10"), "{printed}");
    assert!(printed.contains(&bench.disks[3].named()), "{printed}");
    // A run tells it before it begins; a dry run of the same plan did not.
    assert!(said(&dry).contains("2 cells are left out: "), "{}", said(&dry));
    bench.is_clean();

    let output = bench.run(&["--json"]).output().expect("it runs");
    let document = parse(&output);
    let all = trials(&document);
    assert_eq!(all.len(), 16, "{}", said(&output));
    for trial in &all {
        let settings = &trial["settings"];
        if settings["filesystem"] == "jfs" {
            assert_eq!(trial["outcome"], "skipped");
            // The kernel's driver, or the package of its tools.
            assert!(trial["reason"].as_str().is_some_and(|why| why.contains("jfs")), "{trial:#}");
            continue;
        }
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        assert!(figure(trial, "mkfs_ns") > 0.0 && figure(trial, "mount_ns") > 0.0);
        assert!(figure(trial, "throughput_bytes_per_s") > 0.0);
        let disks = if settings["raid"] == "single" { 1 } else { 4 };
        assert_eq!(settings["disks"], disks);
        assert_eq!(settings["directories"], serde_json::json!(["target"]));
    }
    assert_eq!(document["inventory"]["disks"].as_array().map(Vec::len), Some(4));
    bench.is_clean();
}

/// What a plan decides of a trial, and how it ended.
fn decided(document: &Value) -> Vec<Value> {
    let of = |trial: &&Value| {
        let of = |key: &str| trial[key].clone();
        serde_json::json!([of("replicate"), of("group"), of("settings"), of("outcome")])
    };
    let all = trials(document);
    all.iter().filter(|trial| trial["outcome"] != "interrupted").map(of).collect()
}

const SHORT: &str = r#"
[plan]
name = "short"
replicates = 2
seed = 5
stop = "1s"

[target]
devices = DEVICES

[[workload]]
use = "sequential-write"
file-size = "16MiB"
filesystem = ["ext4", "btrfs"]
disks = 1

[[workload]]
use = "random-read"
file-size = "16MiB"
filesystem = "btrfs"
raid = ["raid1", "raid5"]
"#;

#[test]
fn a_killed_run_is_undone_and_goes_on_where_it_was() {
    if !usable("killed layouts on loop devices", TOOLS) {
        return;
    }
    let _beside = beside_a_guest();
    let bench = Bench::new(SHORT);
    bench.kill_after("undone.db", 1, &[]);
    let undone = brickyard(bench.path(), &["undo", "--store", "undone.db"]).output();
    let undone = undone.expect("it runs");
    assert!(undone.status.success(), "{}", said(&undone));
    bench.is_clean();

    let whole = bench.run(&["--store", "whole.db", "--json"]).output().expect("it runs");
    let whole = decided(&parse(&whole));
    assert_eq!(whole.len(), 8);
    bench.kill_after("killed.db", 1, &[]);
    bench.kill_after("killed.db", 4, &["--resume"]);
    let resumed = bench.run(&["--store", "killed.db", "--resume", "--json"]).output();
    let resumed = resumed.expect("it runs");
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert_eq!(decided(&bench.stored("killed.db")), whole);
    bench.is_clean();
}

const KILLED: &str = r#"
[plan]
name = "killed"
replicates = 2
seed = 11
stop = "300ms"

[target]
devices = DEVICES

[factors]
read-ahead = ["64KiB", "256KiB"]
memory-limit = ["64MiB", "as-is"]

[[workload]]
use = "sequential-read"
file-size = "8MiB"
direct = false
disks = 1
filesystem = ["ext4", "xfs"]
"#;

impl Bench {
    /// How many trials a store holds; `None` when it holds no campaign yet.
    fn kept(&self, store: &str) -> Option<usize> {
        let arguments = ["report", "--format", "json", "--store", store];
        let report = brickyard(self.path(), &arguments).output().expect("brickyard can be started");
        report.status.success().then(|| trials(&parse(&report)).len())
    }

    /// Goes on with what a store holds, and kills that after so long; whether it had ended before.
    fn killed(&self, store: &str, after: Duration) -> bool {
        let before = self.kept(store);
        let mut arguments = vec!["--store", store, "--quiet"];
        arguments.extend(before.map(|_| "--resume"));
        let mut child = self
            .run(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("brickyard can be started");
        std::thread::sleep(after);
        if let Some(status) = child.try_wait().expect("waited for") {
            assert!(status.success(), "{status}");
            return true;
        }
        child.kill().expect("killed");
        child.wait().expect("waited for");
        let now = self.kept(store);
        assert!(now >= before, "{before:?} trials were kept, and {now:?} are");
        false
    }

    /// What is not on the disks: what holds of the machine's settings.
    fn settings(&self) -> Vec<String> {
        let name = |disk: &Disk| disk.device.trim_start_matches("/dev/").to_owned();
        let names = self.disks.iter().map(name);
        let held = names.map(|name| {
            let path = format!("/sys/block/{name}/queue/read_ahead_kb");
            std::fs::read_to_string(path).expect("a setting")
        });
        let groups = crate::knobs::groups(&["brickyard-".to_owned()]);
        held.chain(groups.iter().map(|group| group.display().to_string())).collect()
    }
}

/// Killed wherever it is, fifty times: in mkfs, between a journal's line and its act, in the middle
/// of a trial or of the undoing of an earlier kill.
#[test]
fn fifty_kills_lose_nothing_and_leave_nothing() {
    if !usable("fifty kills", TOOLS) {
        return;
    }
    let _beside = beside_a_guest();
    let bench = Bench::new(KILLED);
    let settings = bench.settings();
    let whole = bench.run(&["--store", "whole.db", "--json"]).output().expect("it runs");
    assert!(whole.status.success(), "{}", said(&whole));
    let whole = decided(&parse(&whole));
    assert_eq!(whole.len(), 16);
    let (mut rounds, mut kills) = (0, 0);
    while kills < 50 {
        let after = draw(&format!("kill {kills} of round {rounds}, ms"), 20, 2500);
        let store = format!("round{rounds}.db");
        if bench.killed(&store, Duration::from_millis(after)) {
            assert_eq!(decided(&bench.stored(&store)), whole, "round {rounds}");
            rounds += 1;
        } else {
            kills += 1;
        }
    }
    let store = format!("round{rounds}.db");
    let mut last = vec!["--store", &store, "--json"];
    last.extend(bench.kept(&store).map(|_| "--resume"));
    let output = bench.run(&last).output().expect("it runs");
    if !output.status.success() {
        // The last kill came after its last trial: then there is nothing to go on with.
        let undone = brickyard(bench.path(), &["undo", "--store", &store]).output();
        assert!(undone.expect("it runs").status.success(), "{}", said(&output));
    }
    assert_eq!(decided(&bench.stored(&store)), whole);
    println!("{kills} kills in {} campaigns of {} trials", rounds + 1, whole.len());
    bench.is_clean();
    assert_eq!(bench.settings(), settings);
}
