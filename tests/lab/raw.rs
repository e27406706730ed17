//! Devices that are read as they are: at their limit, from where they say, and never written.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, beside_another_disk, beside_this_machine, sh, usable};
use crate::guest::{Disks, Guest, bootable};
use crate::run::{brickyard, draw, figure, json, noted, reason, trials, verdict};

/// What a run of this workload on these devices says.
fn read(workload: &str, devices: &[&Disk], knobs: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    json(
        folder.path(),
        &arguments(workload, devices, knobs).iter().map(|it| &**it).collect::<Vec<_>>(),
    )
}

fn arguments(workload: &str, devices: &[&Disk], knobs: &[&str]) -> Vec<String> {
    let mut all = vec!["run".to_owned(), workload.to_owned()];
    for device in devices {
        all.extend(["--read-only-device".to_owned(), device.named()]);
    }
    if !knobs.contains(&"--replicates") {
        all.extend(["--replicates".to_owned(), "1".to_owned()]);
    }
    all.extend(knobs.iter().map(|it| (*it).to_owned()));
    all
}

/// Fills a disk with bytes that are no zeros, from its start on.
fn fill(disk: &Disk, mib: u64) {
    let (to, count) = (format!("of={}", disk.device), format!("count={mib}"));
    sh("dd", &["if=/dev/urandom", &to, "bs=1M", &count, "oflag=direct", "status=none"]);
}

fn sum_of(disk: &Disk) -> String {
    sh("sha256sum", &[&disk.device])
}

/// Writes, discards and flushes that the kernel has handed to a disk (its documentation,
/// block/stat.rst).
fn changes(disk: &Disk) -> [u64; 3] {
    let name = disk.device.trim_start_matches("/dev/");
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("its counters");
    let all: Vec<u64> = stat.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    [4, 11, 15].map(|at| all.get(at).copied().unwrap_or(0))
}

#[test]
fn a_limited_disk_read_raw_gives_its_limit_and_tells_the_device_from_memory() {
    if !usable("a limited disk read raw", &["losetup"]) {
        return;
    }
    let _alone = alone();
    // A map is read page by page, two at once: on a busy machine that came to 70 MB/s, whatever the
    // disk allowed.
    let limit = draw("raw disk, MB/s", 30, 55) * 1_000_000;
    let mut disk = Disk::new(512);
    fill(&disk, 512);
    if !disk.limit(limit, 0) {
        println!("SKIP a limited disk read raw: this kernel has no cgroup v1 block throttle");
        return;
    }
    let shape = ["block-size=128KiB", "queue-depth=8", "stop=5s"];
    for knobs in [
        &["direct=true", "streams=1,4"][..],
        // What was read ahead of each stream at the end is in no rate.
        &["direct=false", "streams=1", "stop=8s"],
        &["direct=false", "streams=2", "io-engine=mmap", "queue-depth=1", "access=random-read"],
    ] {
        let name = |knob: &str| knob.split('=').next().map(str::to_owned);
        let given = |usual: &&&str| !knobs.iter().any(|own| name(own) == name(usual));
        let shape = shape.iter().filter(given);
        let knobs: Vec<&str> = shape.chain(knobs).copied().collect();
        for trial in trials(&read("sequential-read", &[&disk], &knobs)) {
            assert_eq!(verdict(trial), "device", "{knobs:?}: {trial:#}");
            assert!(!noted(trial, "not-cold"), "{knobs:?}: {trial:#}");
            let share = figure(trial, "throughput_bytes_per_s") / limit as f64;
            println!("{knobs:?}, {}: {share:.3} of the limit", trial["settings"]["streams"]);
            assert!((0.97..1.03).contains(&share), "{knobs:?}: {share}: {trial:#}");
            assert_eq!(trial["settings"]["file-size"], 512 << 20, "all of it");
        }
    }
    // What is in memory before is memory's, and is said to be.
    let warm = ["direct=false", "cold=false", "stop=1s", "file-size=64MiB", "streams=2"];
    let document = read("sequential-read", &[&disk], &warm);
    let trial = trials(&document)[0];
    assert_eq!(verdict(trial), "cache", "{trial:#}");
    assert!(noted(trial, "part-of-device"), "{trial:#}");
    assert_eq!(document["summary"]["subject"].as_str().map(|it| it.contains(", raw")), Some(true));
}

/// A cold reader that comes to the end of its part begins again, and may not meet its own pages,
/// nor drop those of the stream beside it, which would have to read them twice.
#[test]
fn streams_of_one_device_go_round_their_own_parts() {
    if !usable("streams that go round a device", &["losetup"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let mut disk = Disk::new(256);
    fill(&disk, 256);
    // A disk in memory is as fast as the processor: beside others the first time round was a third
    // as fast as the later ones, which is what a cache does.
    if !disk.limit(100_000_000, 0) {
        println!("SKIP streams that go round a device: no throttle for the whole machine");
        return;
    }
    for (access, engine) in [
        ("access=read", "io-engine=uring"),
        ("access=read-backward", "io-engine=sync"),
        ("access=random-read", "io-engine=mmap"),
    ] {
        let knobs = ["direct=false", "queue-depth=1", "streams=3", "file-size=16MiB"];
        let knobs = [&knobs[..], &["stop=88MiB", access, engine]].concat();
        let document = read("sequential-read", &[&disk], &knobs);
        let trial = trials(&document)[0];
        assert_eq!(verdict(trial), "device", "{access}, {engine}: {trial:#}");
        // Read-ahead at the end of a part is all that is read besides.
        let more = reason(trial);
        assert!(!more.contains("may have come from memory"), "{more}");
    }
}

#[test]
fn several_devices_are_read_together_and_each_is_named() {
    if !usable("several devices read raw", &["losetup"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let (one, other) = (Disk::new(64), Disk::new(96));
    let document = read("random-read", &[&one, &other], &["stop=500ms", "streams=4"]);
    let trial = trials(&document)[0];
    assert_eq!(verdict(trial), "device", "{trial:#}");
    let places = trial["settings"]["directories"].as_array().expect("two places");
    let named = [&one, &other].map(|disk| format!("read-only:{}", disk.named()));
    assert!(places.iter().zip(&named).all(|(place, named)| place == named), "{places:?}");
    // Nothing was ever written there: the flash of a disk would not be asked.
    assert!(noted(trial, "reads-zeros"), "{trial:#}");
}

/// A mounted disk may be read raw, and neither it nor its file system is touched.
#[test]
fn a_mounted_disk_is_read_raw_and_every_byte_of_it_stays() {
    if !usable("a mounted disk read raw", &["losetup", "mkfs.ext4", "sha256sum"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let disk = Disk::new(128);
    let mount = Mount::format(&disk, "ext4");
    let kept = mount.path.join("kept");
    std::fs::write(&kept, vec![7; 20 << 20]).expect("a file");
    let at = mount.name();
    // What a mount that may write writes is its own business; this one may not any more.
    sh("mount", &["-o", "remount,ro", &at]);
    let (before, counted) = (sum_of(&disk), changes(&disk));
    for knobs in [
        &["direct=true", "second-pass=true"][..],
        &["direct=false", "streams=3"],
        &["direct=false", "cold=false", "io-engine=sync", "queue-depth=1"],
        &["direct=false", "io-engine=mmap", "queue-depth=1"],
        &["io-engine=aio"],
    ] {
        let knobs = [knobs, &["stop=500ms"]].concat();
        let document = read("random-read", &[&disk], &knobs);
        let trial = trials(&document)[0];
        assert_eq!(trial["outcome"], "done", "{knobs:?}: {trial:#}");
        // The file system keeps its own pages: through the page cache that is told.
        let direct = trial["settings"]["direct"] == true;
        assert!(!direct || !noted(trial, "not-cold"), "{knobs:?}: {trial:#}");
    }
    assert_eq!((sum_of(&disk), changes(&disk)), (before, counted));
    assert_eq!(std::fs::read(&kept).expect("the file is there"), vec![7; 20 << 20]);
    let mounted = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(mounted.contains(&format!("{} {at} ext4 ro", disk.device)), "{mounted}");
    drop(mount);
}

/// Calls that neither write to a device nor ask for it.
const HARMLESS: [&str; 20] = [
    "open",
    "openat",
    "openat2",
    "close",
    "read",
    "pread64",
    "preadv",
    "preadv2",
    "mmap",
    "fstat",
    "newfstatat",
    "statx",
    "fstatfs",
    "fadvise64",
    "lseek",
    "fcntl",
    "dup",
    "io_uring_register",
    "readlink",
    "syscall_0x1c3",
];
const GETS: [&str; 3] = ["BLKGETSIZE64", "BLKGETDISKSEQ", "BLKROGET"];

/// Every system call on the device, of every process of ours, as the kernel saw it.
#[test]
fn a_device_is_opened_to_be_read_alone_and_nothing_else_is_asked_of_it() {
    if !usable("system calls on a raw device", &["losetup", "strace"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let disk = Disk::new(64);
    fill(&disk, 64);
    let folder = tempfile::tempdir().expect("a folder");
    let counted = changes(&disk);
    for knobs in [
        &["direct=true", "io-engine=uring,sync,aio"][..],
        &["direct=false", "io-engine=uring,sync,aio,mmap", "streams=2"],
        &["direct=false", "cold=false", "dontcache=false"],
    ] {
        let knobs = [knobs, &["stop=300ms", "queue-depth=1", "--json"]].concat();
        let output = Command::new("strace")
            .args(["-ff", "-y", "-o", "calls", env!("CARGO_BIN_EXE_brickyard")])
            .args(arguments("sequential-read", &[&disk], &knobs))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("strace can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let mut opened = 0;
    for entry in folder.path().read_dir().expect("a folder").flatten() {
        if !entry.file_name().to_string_lossy().starts_with("calls.") {
            continue;
        }
        let text =
            String::from_utf8_lossy(&std::fs::read(entry.path()).expect("calls")).into_owned();
        for line in text.lines().filter(|line| line.contains(&disk.device)) {
            let call = line.split('(').next().unwrap_or_default();
            // Where the name is in what is written to a pipe, a store or a person, it is no device.
            let on_it = line.contains(&format!("<{}", disk.device));
            let by_name = call.starts_with("open");
            if !on_it && !by_name {
                continue;
            }
            if call == "io_submit" {
                let other = ["IOCB_CMD_PWRITE", "SYNC", "IOCB_CMD_NOOP"];
                assert!(line.contains("IOCB_CMD_PREAD"), "{line}");
                assert!(!other.iter().any(|kind| line.contains(kind)), "{line}");
                continue;
            }
            if call == "ioctl" {
                assert!(GETS.iter().any(|get| line.contains(get)), "{line}");
                continue;
            }
            assert!(HARMLESS.contains(&call), "{line}");
            if by_name {
                opened += 1;
                let bad = ["O_RDWR", "O_WRONLY", "O_EXCL", "O_CREAT", "O_TRUNC", "O_APPEND"];
                assert!(line.contains("O_RDONLY"), "{line}");
                assert!(!bad.iter().any(|flag| line.contains(flag)), "{line}");
            }
            assert!(call != "mmap" || !line.contains("PROT_WRITE"), "{line}");
        }
    }
    assert!(opened >= 8, "opened {opened} times, and each trial does");
    assert_eq!(changes(&disk), counted, "writes, discards, flushes");
}

/// What was stopped goes on, and what is kept can be held against another.
#[test]
fn a_campaign_on_a_raw_device_goes_on_and_is_compared() {
    if !usable("a raw campaign goes on", &["losetup"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let mut disk = Disk::new(64);
    if !disk.limit(40_000_000, 0) {
        println!("SKIP a raw campaign goes on: this kernel has no cgroup v1 block throttle");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = |more: &[&str]| {
        let knobs = [&["stop=500ms", "--replicates", "4"], more].concat();
        let all = arguments("random-read", &[&disk], &knobs);
        brickyard(folder.path(), &all.iter().map(|it| &**it).collect::<Vec<_>>())
    };
    let mut stopped = run(&[]);
    stopped.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = stopped.spawn().expect("brickyard can be started");
    wait_for(&mut child, "[2/4]");
    sh("kill", &["-INT", &child.id().to_string()]);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let output = run(&["--resume", "--json"]).output().expect("brickyard can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("goes on with campaign 1"), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let done = trials(&document).iter().filter(|trial| trial["outcome"] == "done").count();
    assert_eq!(done, 4, "{document:#}");
    assert!(run(&[]).output().expect("brickyard can be started").status.success());
    let compared = brickyard(folder.path(), &["compare", "1", "2"]).output().expect("started");
    let told = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(told.contains("Of 1 cell that both have"), "{told}");
}

/// Reads what it says until a line holds `word`; the rest is read and dropped.
fn wait_for(child: &mut std::process::Child, word: &str) {
    use std::io::BufRead;
    let errors = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = errors.lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains(word)), "it never said {word}");
    std::thread::spawn(move || lines.for_each(drop));
}

/// A new array is first read raw, and gives what its disks give together.
#[test]
fn an_array_read_raw_gives_what_its_disks_give_together() {
    if !bootable("an array read raw in a guest", &["mdadm"]) {
        return;
    }
    let _beside = beside_this_machine();
    let script = "
modprobe -a loop raid0
mdadm --create /dev/md1 --run --force --level=0 --raid-devices=2 /dev/ubda /dev/ubdb
raw() {
  local size; size=$(blockdev --getsize64 \"$2\")
  brickyard run \"$3\" --read-only-device \"path:$2,size=$size\" --replicates 1 stop=3s \\
      block-size=128KiB \"${@:4}\" --json > /mnt/out/$1
}
cd /mnt
raw direct /dev/md1 sequential-read direct=true queue-depth=4
raw cold /dev/md1 random-read direct=false io-engine=sync queue-depth=1
raw warm /dev/md1 sequential-read direct=false cold=false file-size=8MiB
mdadm --stop /dev/md1
";
    let disks = Disks { count: 2, mib: 320, bytes_per_s: 20_000_000 };
    let guest = Guest::run(disks, 512, script, Duration::from_secs(300));
    let trial = |name: &str| {
        let document: Value = serde_json::from_str(&guest.wrote(name)).expect("JSON");
        trials(&document)[0].clone()
    };
    for name in ["direct", "cold"] {
        let trial = trial(name);
        println!("{name}: {}: {}", verdict(&trial), reason(&trial));
        assert_eq!(verdict(&trial), "device", "{trial:#}\n{}", guest.said);
    }
    assert_eq!(verdict(&trial("warm")), "cache");
    let share = figure(&trial("direct"), "throughput_bytes_per_s") / 40e6;
    println!("direct: {share:.3} of the limit of both");
    assert!((0.94..1.06).contains(&share), "{share}");
}

/// Nothing but a device of ours is ever named here.
#[test]
fn what_is_refused_leaves_no_trace_on_the_device() {
    if !usable("refusals on a raw device", &["losetup"]) {
        return;
    }
    let _one_of_three = beside_another_disk();
    let disk = Disk::new(64);
    let counted = changes(&disk);
    let folder = tempfile::tempdir().expect("a folder");
    for (workload, knobs, why) in [
        ("sequential-write", &[][..], "`sequential-write` writes (access=write)"),
        ("random-read", &["access=random-read,random-write"], "writes (access=random-write)"),
        ("mixed", &[], "`mixed` writes"),
        ("streams", &[], "`sequential-write` writes"),
        ("metadata", &[], "runs on the engine `tree`"),
        ("random-read", &["filesystem=ext4"], "`filesystem` is a setting of a file system"),
        ("random-read", &["verify=crc32c"], "verify=crc32c cannot be had"),
    ] {
        let all = arguments(workload, &[&disk], knobs);
        let all: Vec<&str> = all.iter().map(|it| &**it).collect();
        refused(folder.path(), &all, why);
    }
    refused(
        folder.path(),
        &["run", "random-read", "--read-only-device", &disk.device],
        "today that is",
    );
    let part = ["run", "random-read", "--read-only-device", "loop:/no/such.img"];
    refused(folder.path(), &part, "no loop device shows that file");
    assert_eq!(changes(&disk), counted);
}

fn refused(folder: &Path, arguments: &[&str], why: &str) {
    let output = brickyard(folder, arguments).output().expect("brickyard can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(why) && said.contains("hint: "), "{arguments:?}: {said}");
    assert!(!folder.join("brickyard.db").exists(), "{arguments:?}");
}
