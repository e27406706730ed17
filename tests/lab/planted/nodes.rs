//! A device node is not the device: loop devices, partitions and memory shown as a disk.

use std::path::Path;

use serde_json::Value;

use super::{Found, MOST, Memory, Slow, amount, choose, headline, judged};
use crate::disk::{Disk, Mount, sh};
use crate::run::{brickyard, json, parse, reading, reason};

const MIB: u64 = 1 << 20;

/// 64 MiB, for two seconds.
fn read(mount: &Mount, knobs: &[&str]) -> Value {
    reading(&mount.name(), &["stop=2s", "file-size=64MiB"], knobs)
}

/// A loop device over a file of 300 MiB on the disk.
fn over(slow: &Slow, direct: &str) -> Disk {
    Disk::over(&slow.mount.path, 300, &[direct])
}

/// "delivers 3304 MB/s" of a disk of 36: the file behind the loop device was in memory.
pub fn through_memory(number: u64) -> Found {
    let slow = Slow::new(number, 500);
    let disk = over(&slow, "--direct-io=off");
    let mount = Mount::format(&disk, choose(number, "file system above", &["ext4", "btrfs"]));
    let depth = choose(number, "depth", &["queue-depth=1", "queue-depth=8"]);
    judged(&read(&mount, &[depth]), slow.bytes_per_s, Memory::All)
}

/// Around that memory it is the disk's.
pub fn around_memory(number: u64) -> Found {
    let slow = Slow::new(number, 500);
    let disk = over(&slow, "--direct-io=on");
    let mount = Mount::format(&disk, "ext4");
    judged(&read(&mount, &[]), slow.bytes_per_s, Memory::None)
}

/// Around both caches but the one below.
pub fn nested(number: u64) -> Found {
    let slow = Slow::new(number, 500);
    let cached = over(&slow, "--direct-io=off");
    let below = Mount::format(&cached, "ext4");
    let upper = Disk::over(&below.path, 150, &["--direct-io=on"]);
    let mount = Mount::format(&upper, "ext4");
    judged(&read(&mount, &["file-size=32MiB"]), slow.bytes_per_s, Memory::All)
}

/// The two halves of a disk, as partitions; gone when dropped.
pub struct Halves<'a>(&'a Disk);

impl Halves<'_> {
    pub fn of(disk: &Disk, mib: u64) -> Halves<'_> {
        let (half, sector) = (mib / 2 * MIB / 512, 2048);
        for (number, start) in [("1", sector), ("2", sector + half)] {
            let (start, length) = (start.to_string(), (half - sector).to_string());
            sh("addpart", &[&disk.device, number, &start, &length]);
        }
        Halves(disk)
    }

    pub fn node(&self, number: u32) -> String {
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

/// ext4, with nothing left for the kernel to write later.
pub fn format(device: &str) -> Mount {
    let now = "lazy_itable_init=0,lazy_journal_init=0";
    sh("mkfs.ext4", &["-q", "-F", "-m", "0", "-E", now, device]);
    Mount::new("ext4", device, "")
}

/// A disk in two partitions of a drawn rate.
pub fn divided(number: u64) -> (Disk, u64) {
    let mut disk = Disk::over(Path::new("/dev/shm"), 500, &["--partscan"]);
    let rate = amount(number, "divided disk, MB/s", 20, 60) * 1_000_000;
    assert!(disk.limit(rate, 400_000_000), "a throttle");
    (disk, rate)
}

/// "13.6 MB/s, 12.0 to 15.1" on a disk of 49.6, and not a word of who had the rest: with a
/// neighbour on the other partition or without, which is to be told.
pub fn partition(number: u64) -> Found {
    let (disk, rate) = divided(number);
    let halves = Halves::of(&disk, 500);
    let mount = format(&halves.node(1));
    let beside = choose(number, "neighbour", &[true, false]);
    let neighbour = beside.then(|| super::neighbour::Neighbour::reading(&halves.node(2)));
    let many = ["block-size=64KiB", "queue-depth=8", "stop=4s"];
    let trial = std::panic::catch_unwind(|| read(&mount, if beside { &many } else { &[] }));
    drop(neighbour);
    told_beside(&trial.expect("a trial"), rate, beside)
}

/// The same, held against whether the program says that others used the disk.
pub fn told_beside(trial: &Value, rate: u64, beside: bool) -> Found {
    match (judged(trial, rate, Memory::None), crate::run::noted(trial, "others-io")) {
        (Found::Right(line), told) if told != beside => {
            Found::Wrong(format!("neighbour: {beside}, told: {told}; {line}"))
        }
        (found, _) => found,
    }
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

pub fn compressed_memory(number: u64) -> Found {
    let Some(zram) = Zram::new(amount(number, "zram, MiB", 200, 400)) else {
        // Where the kernel has none, a file system in memory stands for it.
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let knobs = ["direct=false", "stop=1s", "file-size=64MiB"];
        let trial = reading(&folder.path().display().to_string(), &[], &knobs);
        return judged(&trial, 1, Memory::All);
    };
    let mount = format(&format!("/dev/zram{}", zram.0));
    judged(&read(&mount, &[]), 1, Memory::All)
}

/// Through bindfs: its program reads through the page cache below, whatever the loop device asks.
/// What of that was memory's can be said to be unknown alone.
pub fn program(number: u64) -> Found {
    let slow = Slow::new(number, 400);
    let fuse = Mount::fuse(&slow.mount.path);
    let disk = Disk::over(&fuse.path, 200, &["--direct-io=on"]);
    let mount = Mount::format(&disk, "ext4");
    let trial = read(&mount, &[]);
    match judged(&trial, slow.bytes_per_s, Memory::All) {
        // Nobody at this end of the program can know; that it names the program is the truth.
        Found::Unknown(line) if reason(&trial).contains("shown by a program") => Found::Right(line),
        found => found,
    }
}

/// 500 MiB of memory were taken for the device's, and an error bound of 7e-10 derived from them.
pub fn verified(number: u64) -> Found {
    let slow = Slow::new(number, 300);
    let disk = Disk::over(&slow.mount.path, 150, &["--direct-io=off"]);
    let mount = Mount::format(&disk, "ext4");
    let mib = amount(number, "verified, MiB", 30, 60);
    let file = mount.path.join("file").display().to_string();
    sh("dd", &["if=/dev/urandom", &format!("of={file}"), "bs=1M", &format!("count={mib}")]);
    sh("sync", &[]);
    let cold = choose(number, "cold", &[true, false]);
    if cold {
        std::fs::write("/proc/sys/vm/drop_caches", "3").expect("root may");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["verify", &file, "--passes", "1", "--json", "--quiet", "--no-store"];
    let output = brickyard(folder.path(), &arguments).output().expect("it starts");
    let told = parse(&output)["verify"].clone();
    let bits = told["bits"]["from_device"].as_u64();
    let line = format!("cold: {cold}, {bits:?} bits from the device of {mib} MiB");
    match bits == Some(if cold { 8 * mib * MIB } else { 0 }) {
        true => Found::Right(line),
        // What is not claimed for the device is at worst not known.
        false if bits == Some(0) => Found::Unknown(line),
        false => Found::Wrong(line),
    }
}

/// `evaluate` said 5419 over disks of 55.
pub fn evaluated(number: u64) -> Found {
    let slow = Slow::new(number, 700);
    let disk = Disk::over(&slow.mount.path, 500, &["--direct-io=off"]);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["evaluate", &mount.name(), "--budget", "20s", "--space", "128MiB", "--quiet"];
    held_by_the_media(&json(folder.path(), &arguments), slow.bytes_per_s)
}

/// No headline of a device, and no trial of one, above what the media can do.
pub fn held_by_the_media(document: &Value, media_bytes_per_s: u64) -> Found {
    let media = media_bytes_per_s as f64;
    let trials = crate::run::trials(document);
    let reads = trials.iter().filter(|trial| trial["outcome"] == "done");
    let above = reads.clone().find(|trial| {
        let rate = trial["figures"]["throughput_bytes_per_s"]["value"].as_f64();
        crate::run::verdict(trial) == "device" && rate.is_some_and(|rate| rate > media * MOST)
    });
    if let Some(trial) = above {
        return Found::Wrong(format!("device above {media}: {trial:#}"));
    }
    match headline(document) {
        Some((said, line)) if said > media * MOST => Found::Wrong(format!("{media}: {line}")),
        said => {
            let known = reads.clone().filter(|trial| crate::run::verdict(trial) != "unknown");
            let (known, all) = (known.count(), reads.count());
            let line = format!("{known} of {all} trials known; {said:?}");
            if known > 0 { Found::Right(line) } else { Found::Unknown(line) }
        }
    }
}
