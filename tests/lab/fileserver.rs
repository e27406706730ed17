//! dbench 4 as referee of `replay`: the same loadfile, in the same minute.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::disk::{Disk, Mount, beside_a_guest, beside_another_disk, sh, usable};
use crate::run::{brickyard, figure, json, trials};

/// The loadfile that Debian's package carries.
const CLIENT: &str = "/usr/share/dbench/client.txt";

/// System calls of one round of a loadfile, by kind.
type Calls = BTreeMap<String, i64>;

/// The name of a call whatever way it was made, with what tells its use.
fn kind(name: &str, arguments: &str) -> String {
    let plain = match name {
        "newfstatat" if arguments.contains("AT_EMPTY_PATH") => "fstat",
        "newfstatat" => "stat",
        "openat" if arguments.contains("O_DIRECTORY") => "open a directory",
        "openat" => "open a file",
        "unlinkat" if arguments.contains("AT_REMOVEDIR") => "rmdir",
        "unlinkat" => "unlink",
        "mkdirat" => "mkdir",
        "renameat" | "renameat2" => "rename",
        other => other,
    };
    plain.to_owned()
}

/// The calls between the first two makings of `clients`: a round, whoever made it.
fn round(trace: &Path) -> Calls {
    let bytes = std::fs::read(trace).expect("strace wrote its trace");
    let text = String::from_utf8_lossy(&bytes);
    let mut threads: BTreeMap<&str, (u32, Calls)> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        let (begun, calls) = threads.entry(thread).or_default();
        let path = arguments.split('"').nth(1).unwrap_or_default();
        if name.starts_with("mkdir") && path.ends_with("clients") {
            *begun += 1;
        }
        if *begun == 1 {
            *calls.entry(kind(name, arguments)).or_default() += 1;
        }
    }
    let whole = threads.into_values().find(|(begun, _)| *begun > 1);
    whole.expect("a thread went through the loadfile twice").1
}

/// The first lines of dbench's loadfile, and a close of what they leave open; how many lines it is.
///
/// Six files stayed open after every round once. dbench knows 200 at most, and ended with "file
/// table full" on a machine that did more than 33 rounds in its time.
fn part(folder: &Path, lines: usize) -> (String, i64) {
    let whole = std::fs::read_to_string(CLIENT).expect("dbench's loadfile");
    let mut kept: Vec<String> = Vec::new();
    let mut open = BTreeSet::new();
    for line in whole.lines().take(lines) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["NTCreateX", .., handle, "NT_STATUS_OK"] => _ = open.insert(handle),
            ["Close", handle, ..] => _ = open.remove(handle),
            _ => {}
        }
        kept.push(line.to_owned());
    }
    assert!(!open.is_empty(), "the part is cut where nothing is open: {lines}");
    kept.extend(open.iter().map(|handle| format!("Close {handle} NT_STATUS_OK")));
    let path = folder.join("part.txt");
    std::fs::write(&path, kept.join("\n") + "\n").expect("written");
    (path.display().to_string(), i64::try_from(kept.len()).expect("few lines"))
}

/// A round of what a command does.
fn traced(folder: &Path, command: &[String]) -> Calls {
    let trace = folder.join("trace");
    let to = trace.display().to_string();
    let mut arguments = vec!["-f", "-o", &to, "-e", "trace=!%memory"];
    arguments.extend(command.iter().map(String::as_str));
    sh("strace", &arguments);
    round(&trace)
}

fn dbench_on(directory: &str, loadfile: &str) -> Vec<String> {
    ["dbench", "-D", directory, "-c", loadfile, "-t", "4", "1"].map(str::to_owned).into()
}

fn ours_on(directory: &str, loadfile: &str, folder: &Path) -> Vec<String> {
    let (program, load) = (env!("CARGO_BIN_EXE_brickyard"), format!("loadfile={loadfile}"));
    let store = folder.join("store.db").display().to_string();
    let mut words = vec![program, "run", "replay", "--dir", directory, "--store", &store];
    words.extend(["--replicates", "1", "stop=4s", "warm-up=0s", "streams=1", &load]);
    words.into_iter().map(str::to_owned).collect()
}

/// What both do with every operation is the same, call by call; what is not the same is known.
#[test]
fn a_round_of_dbench_and_one_of_ours_make_the_same_system_calls() {
    if !usable("dbench as referee", &["dbench", "strace"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mount = Mount::new("tmpfs", "none", "size=1g");
    let folder = tempfile::tempdir().expect("a folder");
    let (loadfile, lines) = part(folder.path(), 3000);
    let theirs = traced(folder.path(), &dbench_on(&mount.name(), &loadfile));
    let ours = traced(folder.path(), &ours_on(&mount.name(), &loadfile, folder.path()));
    let of = |calls: &Calls, kind: &str| calls.get(kind).copied().unwrap_or(0);
    for kind in [
        "pread64",
        "pwrite64",
        "fsync",
        "open a file",
        "rename",
        "utimensat",
        "statfs",
        "mkdir",
        "open a directory",
        "getdents64",
    ] {
        assert_eq!(of(&ours, kind), of(&theirs, kind), "{kind}: {ours:?} {theirs:?}");
        assert!(of(&ours, kind) > 0, "{kind}");
    }
    // dbench asks with every operation whether its parent lives, and reads its loadfile meanwhile.
    assert_eq!(of(&theirs, "kill"), lines);
    assert_eq!(["kill", "read", "lseek"].map(|kind| of(&ours, kind)), [0; 3]);
    // opendir(3) asks with fstat what it has opened; both ask about what NTCreateX has opened.
    let opened = of(&theirs, "open a directory");
    let saved = of(&theirs, "fstat") - of(&ours, "fstat");
    assert!((opened - 20..=opened).contains(&saved), "{saved} of {opened}");
    // Its Deltree asks about each file and leaves directories where they are.
    for kind in ["stat", "unlink", "rmdir", "close", "fcntl"] {
        let differ = (of(&ours, kind) - of(&theirs, kind)).abs();
        assert!(differ <= 100, "{kind}: {ours:?} {theirs:?}");
    }
}

/// dbench's figure, in bytes per second: its "MB" is 10^6 bytes.
fn dbench(directory: &Path, loadfile: &str, clients: u32, seconds: u32, more: &[&str]) -> f64 {
    let at = directory.join("dbench");
    std::fs::create_dir_all(&at).expect("a folder");
    let (clients, seconds) = (clients.to_string(), seconds.to_string());
    let at_text = at.display().to_string();
    let mut arguments = vec!["-D", &at_text, "-c", loadfile, "-t", &seconds];
    arguments.extend(more);
    arguments.push(&clients);
    let said = sh("dbench", &arguments);
    std::fs::remove_dir_all(&at).expect("removed");
    let line = said.lines().find(|line| line.starts_with("Throughput")).expect("its last line");
    let figure = line.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    figure.expect("a number") * 1e6
}

fn ours(directory: &str, loadfile: &str, more: &[&str]) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let load = format!("loadfile={loadfile}");
    let mut arguments = vec!["run", "replay", "--dir", directory, "--replicates", "1", "data=zero"];
    arguments.push(&load);
    arguments.extend(more);
    let document = json(folder.path(), &arguments);
    figure(trials(&document)[0], "throughput_bytes_per_s")
}

/// A round that takes a twentieth of a second of a slow disk, so that every window holds many whole
/// ones: dbench's own loadfile is not the same at every place, and windows of seconds would lie in
/// different ones.
fn even(folder: &Path) -> String {
    let mut text = "Mkdir \"\\clients\" NT_STATUS_OK\n\
        NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK\n\
        Close 1 NT_STATUS_OK\n\
        NTCreateX \"\\clients\\client1\\f\" 0x40 0x2 2 NT_STATUS_OK\n"
        .to_owned();
    for verb in ["WriteX", "ReadX"] {
        for offset in (0..1 << 20).step_by(65536) {
            let _ = writeln!(text, "{verb} 2 {offset} 65536 65536 NT_STATUS_OK");
        }
    }
    text.push_str("Close 2 NT_STATUS_OK\n");
    // A file, not a Deltree: dbench would leave the directory, and ours make it anew.
    text.push_str("Unlink \"\\clients\\client1\\f\" 0x6 NT_STATUS_OK\n");
    let path = folder.join("even.txt");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// Where the disk decides, not the processor, both must come to the same: one client whose every
/// write goes to a disk of known speed. Both write the same bytes in the same pieces, so that the
/// file system does the same for both.
#[test]
fn dbench_agrees_where_the_disk_decides() {
    if !usable("dbench on a disk of known speed", &["dbench", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(0, 20_000_000) {
        println!("SKIP dbench on a disk of known speed: this kernel has no cgroup v1 throttle");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let loadfile = even(folder.path());
    let more = ["streams=1", "stop=5s", "warm-up=1s", "sync-open=true"];
    let (mut mine, mut other) = (0.0, 0.0);
    for _ in 0..2 {
        other += dbench(&mount.path, &loadfile, 1, 6, &["-s"]);
        mine += ours(&mount.name(), &loadfile, &more);
    }
    println!("ours is {:.4} of dbench's {:.1} MB/s", mine / other, other / 2e6);
    assert!((0.95..1.05).contains(&(mine / other)), "{mine} {other}");
}

/// Whoever stops it leaves nothing behind.
#[test]
fn a_replay_that_is_stopped_ends_at_once_and_leaves_nothing() {
    if !usable("a replay that is stopped", &[]) {
        return;
    }
    let _beside = beside_a_guest();
    let mount = Mount::new("tmpfs", "none", "size=1g");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let arguments = ["run", "replay", "--dir", &name, "stop=60s", "streams=4"];
    let mut run = brickyard(folder.path(), &arguments).spawn().expect("started");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signalled");
    assert_eq!(run.wait().expect("ended").code(), Some(130));
    assert_eq!(std::fs::read_dir(&mount.path).expect("mounted").count(), 0);
}
