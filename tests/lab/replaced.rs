//! Somebody who owns the directory in which root measures, and exchanges the work directory for one
//! of his own, with links to files of root's in it, as fast as he can.
//!
//! `BRICKYARD_LONG` runs 200 such races; else 40.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::RenameFlags;
use serde_json::Value;

use crate::disk::beside_a_guest;
use crate::run::{brickyard, draw};

/// nobody
const THEIR: u32 = 65534;

/// What is measured; each begins with the name of a workload.
const LOADS: &[&[&str]] = &[
    &["sequential-write", "io-engine=uring", "direct=false"],
    &["iozone-write", "file-size=256KiB", "close-in-time=true", "stop=interval:50%", "at-most=1s"],
    &["random-write", "io-engine=mmap", "direct=false", "queue-depth=1"],
    &["sequential-read", "io-engine=aio", "direct=true"],
    &["iozone-fwrite", "file-size=256KiB", "stop=pass"],
    &["random-read", "io-engine=sync", "queue-depth=1", "direct=false"],
    &["create", "files=300"],
    &["rename", "files=100"],
    &["generations", "file-size=1MiB"],
    &["mailbox", "warm-up=0s", "pool-files=50"],
    &["replay", "warm-up=0s"],
    &["sqlite", "warm-up=0s"],
    &["acknowledged", "flush-log=LOG", "flush-log-anywhere=true", "file-size=256KiB"],
    &["file-stream", "warm-up=0s", "wire=loopback"],
    &["command", "command=dd if=/dev/zero of=brick bs=4096 count=9"],
];

/// How the directory is exchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Once, as soon as it is seen.
    Once,
    /// Once, at some time of the run: on a quick machine it is over after a fifth of a second.
    Late(Duration),
    /// There and back again, all the time.
    Always,
}

/// Files of root's, which nobody else may write, and where links to them are planted.
struct Scene {
    folder: tempfile::TempDir,
    treasure: PathBuf,
    data: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let (treasure, data) = (folder.path().join("treasure"), folder.path().join("data"));
        // Of the names that loads give, so that one who comes in here finds something.
        for below in ["trial-00001", "client0", "client1", "s0000"] {
            std::fs::create_dir_all(treasure.join(below)).expect("made");
            std::fs::write(treasure.join(below).join("bank.db"), "precious").expect("written");
        }
        for name in names() {
            std::fs::write(treasure.join(name), "precious".repeat(100)).expect("written");
        }
        std::fs::create_dir(&data).expect("made");
        chown(&data, Some(THEIR), Some(THEIR)).expect("given away");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), mode).expect("open to look at");
        Scene { folder, treasure, data }
    }

    /// All that root has: each path with its number, mode and bytes.
    fn precious(&self) -> BTreeMap<PathBuf, (u64, u32, u64, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.treasure.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("read") {
                let path = entry.expect("an entry").path();
                let about = path.symlink_metadata().expect("looked at");
                let bytes =
                    if about.is_file() { std::fs::read(&path).expect("read") } else { vec![] };
                if about.is_dir() {
                    folders.push(path.clone());
                }
                all.insert(path, (about.ino(), about.mode(), about.len(), bytes));
            }
        }
        all
    }

    /// What takes the name: links to the treasure at the names of files and folders, or folders
    /// with such links in them.
    fn plant(&self, deep: bool) -> PathBuf {
        let planted = self.data.join("planted");
        std::fs::create_dir(&planted).expect("made");
        for name in names() {
            symlink(self.treasure.join(&name), planted.join(&name)).expect("linked");
        }
        for trial in ["trial-00000", "trial-00001", "trial-00002"] {
            let at = planted.join(trial);
            if !deep {
                symlink(&self.treasure, at).expect("linked");
                continue;
            }
            std::fs::create_dir(&at).expect("made");
            for name in names().into_iter().chain(["client0", "client1", "s0000"].map(String::from))
            {
                symlink(self.treasure.join(&name), at.join(&name)).expect("linked");
            }
            open_to_all(&at);
        }
        open_to_all(&planted);
        planted
    }
}

fn open_to_all(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path, mode).expect("open to all");
    chown(path, Some(THEIR), Some(THEIR)).expect("given away");
}

/// Names of files that loads make.
fn names() -> Vec<String> {
    let numbered = (0..4).map(|number| format!("brick-{number:05}.dat"));
    let fixed = ["BRICKYARD", "bank.db", "bank.db-journal", "stream-00000.dat", "stream-00001.dat"];
    let more = ["stream-00000.state", "stream-00001.state", "brick", "brick-99999.dat"];
    numbered.chain(fixed.map(String::from)).chain(more.map(String::from)).collect()
}

/// Whoever owns the directory, at work.
struct Racer {
    thread: JoinHandle<()>,
    over: Arc<AtomicBool>,
    /// When the name first led elsewhere, Unix time in ns; 0: never.
    first_ns: Arc<AtomicU64>,
    turns: Arc<AtomicU64>,
}

impl Racer {
    fn start(data: &Path, planted: PathBuf, manner: Manner) -> Racer {
        let (over, first_ns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let turns = Arc::new(AtomicU64::new(0));
        let ready = Arc::new(Barrier::new(2));
        let own = (over.clone(), first_ns.clone(), turns.clone(), ready.clone(), data.to_owned());
        let thread = std::thread::spawn(move || {
            let (over, first_ns, turns, ready, data) = own;
            // SAFETY: the plain system call, which changes this thread alone; it touches no memory.
            let gone = unsafe { libc::syscall(libc::SYS_setresuid, THEIR, THEIR, THEIR) };
            assert_eq!(gone, 0, "{}", std::io::Error::last_os_error());
            assert!(std::fs::write("/etc/brickyard-race", "x").is_err(), "it is root still");
            ready.wait();
            let found = loop {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(found) = work_directory(&data) {
                    break found;
                }
            };
            if let Manner::Late(after) = manner {
                std::thread::sleep(after);
            }
            while !over.load(Ordering::Relaxed) {
                let flags = RenameFlags::EXCHANGE;
                let turned = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &planted,
                    rustix::fs::CWD,
                    &found,
                    flags,
                );
                if turned.is_ok() {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("past 1970");
                    let _ = first_ns.compare_exchange(
                        0,
                        now.as_nanos() as u64,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                if manner != Manner::Always {
                    return;
                }
            }
        });
        ready.wait();
        Racer { thread, over, first_ns, turns }
    }

    /// Ends; when the name first led elsewhere, and how often it was exchanged.
    fn end(self) -> (Option<u64>, u64) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it raced");
        let first_ns = self.first_ns.load(Ordering::Relaxed);
        ((first_ns > 0).then_some(first_ns), self.turns.load(Ordering::Relaxed))
    }
}

fn work_directory(data: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(data).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut ours = names.filter(|path| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.starts_with("brickyard-")
    });
    ours.next()
}

/// What a race came to.
#[derive(Default)]
struct Sum {
    won: u32,
    raced: u32,
    turns: u64,
    by_exit: BTreeMap<Option<i32>, u32>,
}

fn race(number: u64, load: &[&str], manner: Manner, sum: &mut Sum) {
    let scene = Scene::new();
    let (before, planted) = (scene.precious(), scene.plant(number.is_multiple_of(2)));
    let data = scene.data.display().to_string();
    let log = scene.folder.path().join("log").display().to_string();
    let mut arguments = vec!["run".to_owned(), load[0].to_owned()];
    arguments.extend(["--dir", &data, "--replicates", "1", "--quiet", "--json"].map(String::from));
    let defaults = match load[0] {
        "create" | "rename" | "command" => &["streams=2"][..],
        iozone if iozone.starts_with("iozone") => &[],
        "sequential-write" | "random-write" | "sequential-read" | "random-read" | "file-stream" => {
            &["streams=2", "file-size=256KiB", "block-size=4KiB", "stop=50ms"][..]
        }
        _ => &["streams=2", "stop=50ms"][..],
    };
    arguments.extend(defaults.iter().map(|word| (*word).to_owned()));
    arguments.extend(load[1..].iter().map(|word| word.replace("=LOG", &format!("={log}"))));
    let racer = Racer::start(&scene.data, planted, manner);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = brickyard(scene.folder.path(), &words).output().expect("started");
    let (first_ns, turns) = racer.end();
    let said = String::from_utf8_lossy(&output.stderr);
    let told = format!("race {number}, {manner:?}, {words:?}: {}\n{said}", output.status);
    let after = scene.precious();
    let other: Vec<_> = before.iter().filter(|(path, was)| after.get(*path) != Some(was)).collect();
    let other: Vec<_> = other.into_iter().map(|(path, _)| path).collect();
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(other.is_empty() && new.is_empty(), "changed {other:?}, new {new:?} in {told}");
    if let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) {
        judge(&document, first_ns, output.status.code(), &told);
    } else {
        assert_ne!(output.status.code(), Some(0), "{told}");
    }
    sum.won += 1;
    sum.raced += u32::from(first_ns.is_some());
    sum.turns += turns;
    *sum.by_exit.entry(output.status.code()).or_default() += 1;
}

/// No figure of a trial in which the name led elsewhere, and no success without a word.
fn judge(document: &Value, first_ns: Option<u64>, exit: Option<i32>, told: &str) {
    let trials = document["trials"].as_array().expect("trials");
    for trial in trials {
        let ended = |trial: &Value| {
            Some(trial["started_unix_ns"].as_u64()? + trial["elapsed_ns"].as_u64()?)
        };
        let done = trial["outcome"] == "done";
        if let (true, Some(ended_ns), Some(first_ns)) = (done, ended(trial), first_ns) {
            assert!(ended_ns < first_ns, "measured in what was replaced: {told}\n{trial:#}");
        }
        // A program is refused, wherever the name leads.
        assert!(!done || trial["engine"] != "command", "{told}");
    }
    let failed = trials.iter().any(|trial| trial["outcome"] == "failed");
    assert!(!failed || exit == Some(1), "{told}");
}

/// Root measured in a directory of a user, who renamed the work directory away and put a link to a
/// file of root's at the name of its first one: it was written over in 6 of 7 tries, exit 0.
#[test]
fn whoever_exchanges_the_work_directory_gets_no_file_of_root_written() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP races for the work directory: needs root, and another user");
        return;
    }
    let _here = beside_a_guest();
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    let races = if long { 200 } else { 40 };
    let mut sum = Sum::default();
    for number in 0..races {
        let load = LOADS[number as usize % LOADS.len()];
        let manner = match (number / LOADS.len() as u64 + number) % 3 {
            0 => Manner::Once,
            1 => Manner::Always,
            _ => Manner::Late(Duration::from_millis(draw(&format!("late {number}"), 1, 200))),
        };
        race(number, load, manner, &mut sum);
    }
    let Sum { won, raced, turns, by_exit } = sum;
    println!(
        "{won} of {races} races won, {raced} with an exchange, {turns} turns, exits {by_exit:?}"
    );
    assert!(u64::from(raced) * 10 > races * 7, "only {raced} of {races} had an exchange");
}

/// Programs take names: what root lets them do in a directory of a user is refused, and says why.
#[test]
fn a_program_is_not_run_below_a_directory_of_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP programs below a directory of somebody else: needs root");
        return;
    }
    let scene = Scene::new();
    let data = scene.data.display().to_string();
    let run =
        ["run", "command", "command=touch {directory}/x", "--dir", &data, "--replicates", "1"];
    let output = brickyard(scene.folder.path(), &run).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("find their files by name"), "{said}");
    assert!(said.contains("user 65534") && said.contains(&data), "{said}");
    assert_eq!(std::fs::read_dir(&scene.data).expect("read").count(), 0, "nothing is left");
}
