//! Storms: kills, and every signal, at random moments of whole runs over all that a run changes on
//! a machine. After each of them the run goes on; it comes to the trials of one that was left
//! alone, and nothing of it is left.
//!
//! `BRICKYARD_LAB_SEED` replays the moments; `BRICKYARD_STORM=200,10` sets how many kills, and how
//! many moments of each signal.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{Disk, Mount, beside_a_storm, usable};
use crate::knobs::groups;
use crate::run::{brickyard, draw, parse, trials};

/// Signals that end a run, of all kinds: of people, of timers, of faults, of limits, real-time.
const ENDS: [i32; 23] =
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 16, 24, 26, 27, 29, 30, 31, 34, 49, 64];
/// Signals that a run does not mind: SIGPIPE, SIGXFSZ, and one of the C library's own.
const MINDED_NOT: [i32; 3] = [13, 25, 32];
/// The longest that a run which was told to end may take on a busy machine.
const ENDING_MAX: Duration = Duration::from_secs(60);
/// How often a run is asked whether it is over.
const POLL: Duration = Duration::from_millis(2);

/// Kills, and moments of each signal, of a storm over one ground; `None` deals the signals over all
/// grounds.
fn size() -> (u64, Option<u64>) {
    if let Ok(text) = std::env::var("BRICKYARD_STORM") {
        let (kills, moments) = text.split_once(',').expect("BRICKYARD_STORM=KILLS,MOMENTS");
        let number = |text: &str| text.parse().expect("a number");
        return (number(kills), Some(number(moments)));
    }
    match std::env::var_os("BRICKYARD_LONG") {
        Some(_) => (170, Some(10)),
        None => (3, None),
    }
}

/// What a storm goes over.
struct Ground {
    name: &'static str,
    /// Its place among all grounds.
    place: usize,
    folder: tempfile::TempDir,
    // Above the disks: what is mounted goes first.
    mount: Option<Mount>,
    disks: Vec<Disk>,
    arguments: Vec<String>,
    /// In the environment of every process of its runs.
    mark: String,
    /// What a run that was left alone did, how long it took, and how the machine was before.
    whole: Vec<Value>,
    takes: Duration,
    before: BTreeMap<String, String>,
    stores: u32,
}

impl Ground {
    fn new(name: &'static str, place: usize, plan: &str, disks: Vec<Disk>, mount: bool) -> Ground {
        let folder = tempfile::tempdir().expect("a folder");
        let named: Vec<String> = disks.iter().map(|disk| format!("{:?}", disk.named())).collect();
        let text = plan.replace("DEVICES", &format!("[{}]", named.join(", ")));
        std::fs::write(folder.path().join("plan.toml"), text).expect("a plan");
        let mount = mount.then(|| Mount::format(&disks[0], "ext4"));
        let mut arguments = vec!["run".to_owned(), "plan.toml".to_owned(), "--quiet".to_owned()];
        match &mount {
            Some(mount) => arguments.extend(["--dir".to_owned(), mount.name()]),
            None => {
                disks.iter().for_each(|d| arguments.extend(["--wipe".to_owned(), d.named()]));
            }
        }
        let mark = format!("BRICKYARD_STORM_OF={name}-{}", std::process::id());
        let mut ground = Ground {
            name,
            place,
            folder,
            mount,
            disks,
            arguments,
            mark,
            whole: Vec::new(),
            takes: Duration::ZERO,
            before: BTreeMap::new(),
            stores: 0,
        };
        ground.before = ground.machine();
        let began = Instant::now();
        let output = ground.command("whole.db", false).output().expect("it runs");
        assert!(output.status.success(), "{name}: {}", said(&output));
        ground.takes = began.elapsed();
        ground.whole = decided(&ground.report("whole.db").expect("a campaign"));
        assert!(!ground.whole.is_empty());
        assert!(ground.whole.iter().all(|trial| trial[3] == "done"), "{:#?}", ground.whole);
        ground.is_clean("after a run that was left alone");
        ground
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn store(&self) -> String {
        format!("storm{}.db", self.stores)
    }

    fn command(&self, store: &str, resume: bool) -> Command {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut command = brickyard(self.path(), &arguments);
        let (name, value) = self.mark.split_once('=').expect("NAME=VALUE");
        command.args(["--store", store]).args(resume.then_some("--resume")).env(name, value);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// What a store holds; `None` when no campaign has begun in it.
    fn report(&self, store: &str) -> Option<Value> {
        let arguments = ["report", "--format", "json", "--store", store];
        let report = brickyard(self.path(), &arguments).output().expect("brickyard can be started");
        report.status.success().then(|| parse(&report))
    }

    /// Begins or goes on, ends that after so long by `end`, and gives what came of it.
    ///
    /// The first run of all, on a machine that others kept busy, took longer than those after it by
    /// so much that 21 signals of 22 were drawn for when the run was over. So a whole run that is
    /// over before its moment says how long one takes.
    fn cut(&mut self, after: Duration, end: impl FnOnce(&mut Child)) -> Output {
        let before = self.report(&self.store());
        let command = &mut self.command(&self.store(), before.is_some());
        let began = Instant::now();
        let mut child = command.spawn().expect("brickyard can be started");
        while began.elapsed() < after {
            if child.try_wait().expect("waited for").is_some() {
                if before.is_none() {
                    self.takes = self.takes.min(began.elapsed());
                }
                break;
            }
            std::thread::sleep(after.saturating_sub(began.elapsed()).min(POLL));
        }
        end(&mut child);
        let asked = Instant::now();
        while child.try_wait().expect("waited for").is_none() {
            assert!(asked.elapsed() < ENDING_MAX, "{}: it does not end", self.name);
            std::thread::sleep(POLL);
        }
        let output = child.wait_with_output().expect("waited for");
        let now = self.report(&self.store());
        let over = |report: &Option<Value>| report.as_ref().map_or(0, |it| decided(it).len());
        assert!(over(&now) >= over(&before), "{}: trials were lost", self.name);
        output
    }

    /// A run has come to its end: holds what it did against the one that was left alone, and begins
    /// anew with the next.
    fn ended(&mut self, status: ExitStatus) -> bool {
        if !status.success() {
            return false;
        }
        let did = decided(&self.report(&self.store()).expect("a campaign"));
        assert_eq!(did, self.whole, "{}, {}", self.name, self.store());
        self.stores += 1;
        true
    }

    /// Goes on to the end, and looks whether anything is left.
    fn finish(&mut self) {
        let resume = self.report(&self.store()).is_some();
        let output = self.command(&self.store(), resume).output().expect("it runs");
        assert!(output.status.success(), "{}: {}", self.name, said(&output));
        assert!(self.ended(output.status));
        self.is_clean("at the end");
    }

    /// What is on the machine of these runs, and what their settings hold.
    fn machine(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for disk in &self.disks {
            let name = disk.device.trim_start_matches("/dev/");
            let path = format!("/sys/block/{name}/queue/read_ahead_kb");
            let held = std::fs::read_to_string(&path).expect("a setting");
            all.insert(path, held.trim().to_owned());
            if self.mount.is_none() {
                let words = ["-p", "-o", "export", &disk.device];
                let found = Command::new("blkid").args(words).output().expect("blkid");
                let found = String::from_utf8_lossy(&found.stdout).into_owned();
                let bears = format!("{} bears", disk.device);
                all.extend((!found.is_empty()).then_some((bears, found)));
            }
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
        let ours = |line: &&str| self.disks.iter().any(|d| line.contains(d.device.as_str()));
        all.extend(mounts.lines().filter(ours).map(|line| (line.to_owned(), "mounted".to_owned())));
        let places = [Some(self.path()), self.mount.as_ref().map(|mount| mount.path.as_path())];
        let names = places.into_iter().flatten().flat_map(|place| place.read_dir().expect("there"));
        let names = names.flatten().map(|entry| entry.path());
        let left = names.filter(|path| is_left(path));
        all.extend(left.map(|path| (path.display().to_string(), "left".to_owned())));
        let store = self.report(&self.store());
        if let Some(uid) = store.as_ref().and_then(|it| it["campaign"]["uid"].as_str()) {
            let own = groups(&[format!("brickyard-{uid}"), uid.to_owned()]);
            all.extend(own.iter().map(|it| (it.display().to_string(), "a group".to_owned())));
            let run = PathBuf::from(format!("/run/brickyard-{uid}"));
            all.extend(run.exists().then(|| (run.display().to_string(), "left".to_owned())));
        }
        let running = processes(&self.mark).into_iter();
        all.extend(running.map(|(pid, line)| (format!("process {pid}"), line)));
        all
    }

    /// Whether the machine is as it was; a worker whose parent was killed needs a moment to see it.
    fn is_clean(&self, when: &str) {
        self.is_clean_of(when, |_| true);
    }

    fn is_clean_of(&self, when: &str, counts: impl Fn(&str) -> bool) {
        let asked = Instant::now();
        loop {
            let mut now = self.machine();
            now.retain(|what, _| counts(what));
            if now == self.before {
                return;
            }
            let (name, before) = (self.name, &self.before);
            assert!(
                asked.elapsed() < Duration::from_secs(20),
                "{name}, {when}:\n{now:#?}\ninstead of\n{before:#?}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn after(&self, what: &str) -> Duration {
        let most_ms = (self.takes.as_millis() as u64 * 6 / 5).max(50);
        Duration::from_millis(draw(&format!("{} of {}, ms", what, self.name), 1, most_ms))
    }

    /// Kills so often without mercy; every third is undone by hand before the run goes on. Gives
    /// how often it came too late, when the run had ended.
    fn kills(&mut self, kills: u64) -> u64 {
        let (mut killed, mut late) = (0, 0);
        while killed < kills {
            let after = self.after(&format!("kill {killed}, after {late} that came too late"));
            let output = self.cut(after, |child| child.kill().expect("killed"));
            if self.ended(output.status) {
                late += 1;
                continue;
            }
            assert_eq!(output.status.signal(), Some(9), "{}: {}", self.name, said(&output));
            killed += 1;
            if killed % 3 == 0 {
                let store = self.store();
                let undone = brickyard(self.path(), &["undo", "--store", &store]).output();
                let undone = undone.expect("it runs");
                assert!(undone.status.success(), "{}: {}", self.name, said(&undone));
                // Work directories go when the run goes on.
                let counts = |what: &str| !what.contains("/brickyard-");
                self.is_clean_of("after a kill and `undo`", counts);
            }
        }
        self.finish();
        late
    }

    /// Sends a signal, to the run alone or to all its processes, as service managers do.
    fn signal(&mut self, signal: i32, moment: u64, tried: u64) -> &'static str {
        let what = format!("signal {signal}, moment {moment}, after {tried} that came too late");
        let minded = ENDS.contains(&signal);
        let all = minded && (moment + signal as u64) % 2 == 1 && self.name != "layouts";
        let after = self.after(&what);
        let mark = self.mark.clone();
        let output = self.cut(after, |child| {
            let others = if all { processes(&mark) } else { Vec::new() };
            let own = child.id() as i32;
            for pid in [own].into_iter().chain(others.into_iter().map(|(pid, _)| pid)) {
                if pid != own || child.try_wait().expect("waited for").is_none() {
                    send(pid, signal);
                }
            }
        });
        let status = output.status;
        let came = match (status.code(), status.signal()) {
            (Some(130), _) if minded => "ended in order",
            (Some(0), _) => TOO_LATE,
            // Before anything was made, and before it took signals.
            (None, Some(by)) if by == signal && minded => "had not begun",
            _ => panic!("{}, {what}: {status}; {}", self.name, said(&output)),
        };
        self.is_clean(&what);
        self.ended(status);
        came
    }

    fn signals(&mut self, moments: Option<u64>) -> BTreeMap<&'static str, u64> {
        let mut came = BTreeMap::new();
        for (place, signal) in ENDS.into_iter().chain(MINDED_NOT).enumerate() {
            let dealt = u64::from(place % GROUNDS == self.place);
            for moment in 0..moments.unwrap_or(dealt) {
                // One that comes too late tells nothing, and is drawn again.
                for tried in 0..6 {
                    let how = self.signal(signal, moment, tried);
                    *came.entry(how).or_default() += 1;
                    if how != TOO_LATE || !ENDS.contains(&signal) {
                        break;
                    }
                }
            }
        }
        self.finish();
        came
    }

    fn storm(mut self) {
        let (kills, moments) = size();
        let late = self.kills(kills);
        println!("{}: {kills} kills, {late} too late; {} campaigns", self.name, self.stores);
        let came = self.signals(moments);
        println!("{}: signals: {came:?}; {} campaigns", self.name, self.stores);
        assert!(came.contains_key("ended in order"), "{}: {came:?}", self.name);
    }
}

/// A signal that found a run over; or that a run does not mind.
const TOO_LATE: &str = "came to its end";

/// How many grounds there are, for dealing signals over them.
const GROUNDS: usize = 6;

/// Processes that have this in their environment, and their command lines.
fn processes(mark: &str) -> Vec<(i32, String)> {
    let names = Path::new("/proc").read_dir().expect("proc").flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of = |pid: i32| {
        let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}"));
        let environment = read("environ").ok()?;
        let marked = environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes());
        let line = String::from_utf8_lossy(&read("cmdline").ok()?).replace('\0', " ");
        marked.then_some((pid, line))
    };
    pids.filter_map(of).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_left(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("brickyard-") || name.ends_with("-undo") || name.starts_with('.')
}

/// What a plan decides of a trial, and how it ended; in the plan's order.
fn decided(document: &Value) -> Vec<Value> {
    let of = |trial: &&Value| {
        let of = |key: &str| trial[key].clone();
        serde_json::json!([
            of("replicate"),
            of("group"),
            of("settings"),
            of("outcome"),
            of("reason")
        ])
    };
    let all = trials(document);
    all.iter().filter(|trial| trial["outcome"] != "interrupted").map(of).collect()
}

fn send(pid: i32, signal: i32) {
    // SAFETY: a system call on two numbers; a process that has ended by now is none.
    unsafe { libc::kill(pid, signal) };
}

const SIMULATED: &str = r#"
[plan]
name = "simulated"
replicates = 6
seed = 11
stop = "2s"
engine = "sim"

[factors]
streams = [1, 2, 3, 4, 5, 6]
queue-depth = [1, 2, 4]

[[workload]]
use = "random-read"
"#;

#[test]
fn a_storm_over_the_simulated_server() {
    let _beside = beside_a_storm();
    Ground::new("sim", 0, SIMULATED, Vec::new(), false).storm();
}

const DIRECTORY: &str = r#"
[plan]
name = "directory"
replicates = 1
seed = 12
stop = "20ms"

[factors]
streams = [1, 2]

[[workload]]
use = "sequential-write"
file-size = "1MiB"

[[workload]]
use = "random-read"
file-size = "1MiB"
io-engine = ["sync", "mmap"]
queue-depth = 1
direct = false
"#;

#[test]
fn a_storm_over_files_in_a_directory() {
    let _beside = beside_a_storm();
    Ground::new("directory", 1, DIRECTORY, Vec::new(), false).storm();
}

const SETTINGS: &str = r#"
[plan]
name = "settings"
replicates = 1
seed = 13
stop = "20ms"

[factors]
read-ahead = ["64KiB", "1MiB"]
memory-limit = ["64MiB", "as-is"]

[[workload]]
use = "sequential-read"
file-size = "4MiB"
direct = false
"#;

#[test]
fn a_storm_over_settings_of_the_machine() {
    if !usable("a storm over settings", &["mkfs.ext4", "blkid"]) {
        return;
    }
    let _beside = beside_a_storm();
    Ground::new("knobs", 2, SETTINGS, vec![Disk::new(256)], true).storm();
}

const LAYOUTS: &str = r#"
[plan]
name = "layouts"
replicates = 1
seed = 14
stop = "20ms"

[target]
devices = DEVICES

[factors]
read-ahead = ["64KiB", "256KiB"]

[[workload]]
use = "sequential-read"
file-size = "4MiB"
direct = false
disks = 1
filesystem = ["ext4", "xfs"]
"#;

#[test]
fn a_storm_over_file_systems_that_are_made_and_unmade() {
    if !usable("a storm over layouts", &["mkfs.ext4", "mkfs.xfs", "blkid"]) {
        return;
    }
    let _beside = beside_a_storm();
    Ground::new("layouts", 3, LAYOUTS, vec![Disk::new(512), Disk::new(512)], false).storm();
}

const PROGRAMS: &str = r#"
[plan]
name = "programs"
replicates = 2
seed = 15

[factors]
streams = [1, 2]

[[workload]]
use = "command"
command = "dd if=/dev/zero of={directory}/f{copy} bs=64k count=64; sleep 0.1"
shell = true
prepare = "touch {directory}/made"
"#;

#[test]
fn a_storm_over_programs() {
    let _beside = beside_a_storm();
    Ground::new("programs", 4, PROGRAMS, Vec::new(), false).storm();
}

const NETWORK: &str = r#"
[plan]
name = "network"
replicates = 1
seed = 16
stop = "50ms"

[factors]
wire = ["loopback", "namespaces"]
streams = [1, 2]

[[workload]]
use = "tcp-stream"
warm-up = "0s"
"#;

#[test]
fn a_storm_over_a_network() {
    if !usable("a storm over a network", &[]) {
        return;
    }
    let _beside = beside_a_storm();
    Ground::new("network", 5, NETWORK, Vec::new(), false).storm();
}
