//! A device node is not the device: loop devices, partitions and memory shown as a disk, over disks
//! of drawn speed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, sh, usable};
use crate::run::{brickyard, draw, figure, json, noted, parse, trials};

const MIB: u64 = 1 << 20;

/// The only trial of a reading of 64 MiB in two seconds, with further knobs.
fn read(directory: &Path, knobs: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = directory.display().to_string();
    let mut arguments = vec!["run", "sequential-read", "--dir", &directory, "--replicates", "1"];
    for default in ["stop=2s", "file-size=64MiB"] {
        let (knob, _) = default.split_at(default.find('=').expect("knob=level") + 1);
        if !knobs.iter().any(|given| given.starts_with(knob)) {
            arguments.push(default);
        }
    }
    arguments.extend(knobs);
    let document = json(folder.path(), &arguments);
    let trials = trials(&document);
    assert_eq!(trials.len(), 1, "{document:#}");
    trials[0].clone()
}

fn verdict(trial: &Value) -> &str {
    trial["origin"]["verdict"].as_str().unwrap_or("no verdict")
}

fn reason(trial: &Value) -> &str {
    trial["origin"]["reason"].as_str().unwrap_or_default()
}

/// A disk of a drawn rate, MB/s, with ext4; `None` where this kernel has no throttle.
fn slow(test: &str, mib: u64) -> Option<(Disk, Mount, u64)> {
    let rate = draw(&format!("{test}: disk, MB/s"), 20, 60) * 1_000_000;
    let mut disk = Disk::new(mib);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(rate, 400_000_000) {
        println!("SKIP {test}: this kernel has no cgroup v1 block throttle");
        return None;
    }
    Some((disk, mount, rate))
}

/// "delivers 3304 MB/s" of a disk of 36: the file behind the loop device was in memory. Around that
/// memory it is the disk's, through several loop devices too.
#[test]
fn a_loop_device_delivers_what_the_disk_below_it_does_or_a_cache_below_is_named() {
    let test = "a loop device over a disk";
    if !usable(test, &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _alone = alone();
    let Some((_slow, below, rate)) = slow(test, 500) else { return };
    let cached = Disk::over(&below.path, 300, &["--direct-io=off"]);
    let mount = Mount::format(&cached, "ext4");
    let trial = read(&mount.path, &[]);
    assert!(["cache", "mixed"].contains(&verdict(&trial)), "{trial:#}");
    assert!(reason(&trial).contains("a cache below the file system"), "{trial:#}");

    // A loop device on its file system, around both caches but the one below.
    let upper = Disk::over(&mount.path, 150, &["--direct-io=on"]);
    let nested = Mount::format(&upper, "ext4");
    let trial = read(&nested.path, &["file-size=32MiB"]);
    assert!(["cache", "mixed"].contains(&verdict(&trial)), "{trial:#}");
    drop((nested, upper, mount, cached));

    let around = Disk::over(&below.path, 300, &["--direct-io=on"]);
    let mount = Mount::format(&around, "ext4");
    let trial = read(&mount.path, &[]);
    assert_eq!(verdict(&trial), "device", "{trial:#}");
    let share = figure(&trial, "throughput_bytes_per_s") / rate as f64;
    println!("around the cache: {share:.3} of the disk's rate");
    // Where from is asked here; how fast, on a machine that is busy, is asked elsewhere.
    assert!((0.5..1.25).contains(&share), "{share}: {trial:#}");
}

/// Through bindfs: its program reads through the page cache below, whatever the loop device asks.
#[test]
fn what_a_program_shows_through_a_loop_device_is_not_guessed_at() {
    let test = "a loop device over bindfs";
    if !usable(test, &["mkfs.ext4", "losetup", "bindfs"]) {
        return;
    }
    let _alone = alone();
    let Some((_slow, below, _)) = slow(test, 400) else { return };
    let fuse = Mount::fuse(&below.path);
    let disk = Disk::over(&fuse.path, 200, &["--direct-io=on"]);
    let mount = Mount::format(&disk, "ext4");
    let trial = read(&mount.path, &[]);
    assert_eq!(verdict(&trial), "unknown", "{trial:#}");
    assert!(reason(&trial).contains("shown by a program"), "{trial:#}");
}

/// The files of bindfs lie in a directory of ours too: what of them is in memory can be counted.
#[test]
fn files_in_memory_below_a_program_that_mirrors_them_are_told() {
    let test = "bindfs over a disk";
    if !usable(test, &["mkfs.ext4", "bindfs"]) {
        return;
    }
    let _alone = alone();
    let Some((_slow, below, _)) = slow(test, 300) else { return };
    let fuse = Mount::fuse(&below.path);
    // They were just written, and the program reads through the page cache.
    let trial = read(&fuse.path, &["direct=false", "stop=64MiB"]);
    assert_eq!(verdict(&trial), "cache", "{trial:#}");
    assert!(reason(&trial).contains("the program that shows them"), "{trial:#}");
}

/// ext4, with nothing left for the kernel to write later.
fn format(device: &str) {
    let now = "lazy_itable_init=0,lazy_journal_init=0";
    sh("mkfs.ext4", &["-q", "-F", "-m", "0", "-E", now, device]);
}

/// A disk of compressed memory.
struct Zram(String);

impl Zram {
    fn new(mib: u64) -> Option<Zram> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add").ok()?;
        let number = number.trim().to_owned();
        let size = format!("/sys/block/zram{number}/disksize");
        let made = Zram(number);
        std::fs::write(size, (mib * MIB).to_string()).ok()?;
        Some(made)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.0), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}

#[test]
fn memory_shown_as_a_disk_is_memory() {
    if !usable("zram", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let size = draw("zram, MiB", 200, 400);
    let Some(zram) = Zram::new(size) else {
        println!("SKIP zram: this kernel has none");
        return;
    };
    let device = format!("/dev/zram{}", zram.0);
    format(&device);
    let mount = Mount::new("ext4", &device, "");
    let trial = read(&mount.path, &[]);
    assert_eq!(verdict(&trial), "cache", "{trial:#}");
    assert!(reason(&trial).contains("memory, shown as a disk"), "{trial:#}");
}

/// Reads a device around the page cache until it is told to stop.
struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Neighbour {
    fn on(device: &str) -> Neighbour {
        let stop = Arc::new(AtomicBool::new(false));
        let (input, flag) = (format!("if={device}"), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                sh("dd", &[&input, "of=/dev/null", "bs=4M", "count=2", "iflag=direct"]);
            }
        });
        Neighbour { stop, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// "13.6 MB/s, 12.0 to 15.1" on a disk of 49.6, and not a word of who had the rest.
#[test]
fn who_reads_the_disk_below_a_loop_device_is_confessed() {
    let test = "a neighbour below a loop device";
    if !usable(test, &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _alone = alone();
    let Some((slow, below, rate)) = slow(test, 400) else { return };
    let disk = Disk::over(&below.path, 200, &["--direct-io=on"]);
    let mount = Mount::format(&disk, "ext4");
    let quiet = read(&mount.path, &[]);
    assert!(!noted(&quiet, "others-io"), "{quiet:#}");
    // Each of ours waits behind 4 MiB of the neighbour's: of few there would be no rate at all.
    let many = ["block-size=64KiB", "queue-depth=8", "stop=4s"];
    let neighbour = Neighbour::on(&slow.device);
    let trial = std::panic::catch_unwind(|| read(&mount.path, &many));
    drop(neighbour);
    let trial = trial.expect("a trial");
    let share = figure(&trial, "throughput_bytes_per_s") / rate as f64;
    println!("beside the neighbour: {share:.3} of the disk's rate");
    assert!(share < 0.9, "the neighbour takes a part: {trial:#}");
    assert!(noted(&trial, "others-io"), "{trial:#}");
    assert_eq!(verdict(&trial), "device", "{trial:#}");
}

/// The two halves of a disk, as partitions; gone when dropped.
struct Halves<'a>(&'a Disk);

impl Halves<'_> {
    fn of(disk: &Disk, mib: u64) -> Halves<'_> {
        let (half, sector) = (mib / 2 * MIB / 512, 2048);
        for (number, start) in [("1", sector), ("2", sector + half)] {
            let (start, length) = (start.to_string(), (half - sector).to_string());
            sh("addpart", &[&disk.device, number, &start, &length]);
        }
        Halves(disk)
    }

    fn node(&self, number: u32) -> String {
        format!("{}p{number}", self.0.device)
    }
}

impl Drop for Halves<'_> {
    fn drop(&mut self) {
        for number in ["1", "2"] {
            sh("delpart", &[&self.0.device, number]);
        }
    }
}

#[test]
fn who_reads_another_partition_of_the_disk_is_confessed() {
    let test = "a neighbour on another partition";
    if !usable(test, &["mkfs.ext4", "losetup", "addpart", "delpart"]) {
        return;
    }
    let _alone = alone();
    let rate = draw("partitioned disk, MB/s", 20, 60) * 1_000_000;
    let mut disk = Disk::over(Path::new("/dev/shm"), 500, &["--partscan"]);
    if !disk.limit(rate, 400_000_000) {
        println!("SKIP {test}: this kernel has no cgroup v1 block throttle");
        return;
    }
    let halves = Halves::of(&disk, 500);
    format(&halves.node(1));
    let mount = Mount::new("ext4", &halves.node(1), "");
    let quiet = read(&mount.path, &[]);
    assert!(!noted(&quiet, "others-io"), "{quiet:#}");
    assert_eq!(verdict(&quiet), "device", "{quiet:#}");
    let neighbour = Neighbour::on(&halves.node(2));
    let trial = std::panic::catch_unwind(|| read(&mount.path, &["queue-depth=1"]));
    drop(neighbour);
    let trial = trial.expect("a trial");
    assert!(noted(&trial, "others-io"), "{trial:#}");
}

fn verify(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        [&["verify"], arguments, &["--passes", "1", "--json", "--quiet", "--no-store"]].concat();
    let output = brickyard(folder.path(), &arguments).output().expect("it starts");
    parse(&output)["verify"].clone()
}

/// 500 MiB of memory were taken for the device's, and an error bound of 7e-10 derived from them.
#[test]
fn bits_out_of_a_cache_below_a_loop_device_are_no_evidence_on_the_disk() {
    let test = "verify on a loop device";
    if !usable(test, &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _alone = alone();
    let Some((_slow, below, _)) = slow(test, 300) else { return };
    let disk = Disk::over(&below.path, 150, &["--direct-io=off"]);
    let mount = Mount::format(&disk, "ext4");
    let mib = draw("verified, MiB", 30, 60);
    let file = mount.path.join("file").display().to_string();
    sh("dd", &["if=/dev/urandom", &format!("of={file}"), "bs=1M", &format!("count={mib}")]);
    sh("sync", &[]);
    let warm = verify(&[&file]);
    assert_eq!(warm["bits"]["checked"], 8 * mib * MIB, "{warm:#}");
    assert_eq!(warm["bits"]["from_device"], 0, "{:#}", warm["readings"]);
    std::fs::write("/proc/sys/vm/drop_caches", "3").expect("root may");
    let cold = verify(&[&file]);
    assert_eq!(cold["bits"]["from_device"], 8 * mib * MIB, "{:#}", cold["readings"]);
}

/// A file that btrfs had compressed was read once and cold: "mixed, the rest was in memory".
#[test]
fn a_compressed_file_is_not_called_memory() {
    let test = "a compressed file";
    if !usable(test, &["mkfs.btrfs"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(400);
    drop(Mount::format(&disk, "btrfs"));
    let mount = Mount::new("btrfs", &disk.device, "compress-force=lzo");
    let mib = draw("compressed, MiB", 20, 60);
    // Half of each block repeats.
    let mut state = draw("its bytes", 1, u64::MAX);
    let mut block = vec![0; 4096];
    let mut data = Vec::new();
    for _ in 0..mib * MIB / 4096 {
        for byte in &mut block[..2048] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 33) as u8;
        }
        data.extend_from_slice(&block);
    }
    std::fs::write(mount.path.join("file"), data).expect("written");
    drop(mount);
    let mount = Mount::new("btrfs", &disk.device, "");
    let told = verify(&[&mount.path.join("file").display().to_string()]);
    let origin = &told["readings"][0]["origin"];
    assert_eq!(origin["verdict"], "unknown", "{told:#}");
    assert!(origin["reason"].as_str().unwrap_or_default().contains("packs"), "{told:#}");
}

/// After a buffered trial of many streams its read-ahead was still queued, and the next direct one
/// was told that the file system did not go around the page cache.
#[test]
fn a_direct_trial_after_a_buffered_one_of_many_streams_begins_on_a_quiet_device() {
    let test = "a direct trial after a buffered one";
    if !usable(test, &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let Some((_slow, mount, _)) = slow(test, 500) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let directory = mount.name();
    let seed = draw("order", 0, 1000);
    let document = json(
        folder.path(),
        &[
            "run",
            "sequential-read",
            "--dir",
            &directory,
            "--replicates",
            "2",
            "--seed",
            &seed.to_string(),
            "direct=false,true",
            "streams=60",
            "file-size=4MiB",
            "stop=1s",
        ],
    );
    let trials = trials(&document);
    assert_eq!(trials.len(), 4, "{document:#}");
    for trial in trials {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        for kind in ["direct-ignored", "not-cold", "not-quiet"] {
            assert!(!noted(trial, kind), "{kind}: {trial:#}");
        }
    }
}
