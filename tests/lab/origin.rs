//! Where bytes come from, on file systems where a naive tool gets it wrong.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, sh, usable};
use crate::run::{brickyard, draw, figure, noted, parse, reading, trials, verdict};

/// One reading trial of 64 MiB in `directory`, with further knobs.
fn read(directory: &str, knobs: &[&str]) -> Value {
    reading(directory, &["stop=1s", "file-size=64MiB"], knobs)
}

/// Half a file, read once.
const COLD: &[&str] = &["direct=false", "file-size=256MiB", "stop=128MiB"];

#[test]
fn reads_of_local_file_systems_come_from_the_device_and_reads_from_memory_do_not() {
    if !usable("origin on ext4, xfs and btrfs", &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) {
        return;
    }
    let _alone = alone();
    for kind in ["ext4", "xfs", "btrfs"] {
        let disk = Disk::new(512);
        let mount = Mount::format(&disk, kind);
        let direct = read(&mount.name(), &[]);
        assert_eq!(verdict(&direct), "device", "{kind}, direct: {direct:#}");
        let cold = read(&mount.name(), COLD);
        assert_eq!(verdict(&cold), "device", "{kind}, cold: {cold:#}");
        assert!(!noted(&cold, "not-cold"), "{cold:#}");
        // The naive figure of this trial is memory's speed under a disk's name.
        let warm = read(&mount.name(), &["direct=false", "cold=false"]);
        assert_eq!(verdict(&warm), "cache", "{kind}, warm: {warm:#}");
    }
}

/// A cold reader that came to the end of its files went on in the pages of its own first round: the
/// verdict was `mixed` or `unknown`. It drops them now, and proves it.
#[test]
fn a_cold_reader_that_goes_round_its_files_reads_the_device_each_time() {
    if !usable("origin of a reader that goes round", &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) {
        return;
    }
    let _alone = alone();
    for kind in ["ext4", "xfs", "btrfs"] {
        let disk = Disk::new(512);
        let mount = Mount::format(&disk, kind);
        for (access, engine) in [
            ("access=read", "io-engine=uring"),
            ("access=read-backward", "io-engine=sync"),
            ("access=random-read", "io-engine=mmap"),
        ] {
            let small = ["direct=false", "queue-depth=1", "file-size=32MiB", "stop=176MiB"];
            let small = [&small[..], &[access, engine]].concat();
            let trial = read(&mount.name(), &small);
            assert_eq!(verdict(&trial), "device", "{kind}, {access}, {engine}: {trial:#}");
            assert!(figure(&trial, "throughput_bytes_per_s") > 0.0, "{trial:#}");
        }
    }
}

#[test]
fn a_file_system_in_memory_is_never_a_device_and_refuses_direct_io_aloud() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let name = folder.path().display().to_string();
    let buffered = read(&name, &["direct=false"]);
    assert_eq!(verdict(&buffered), "cache", "{buffered:#}");
    let direct = read(&name, &[]);
    // Since Linux 6.6 tmpfs takes O_DIRECT and ignores it; before, it refuses it.
    match direct["outcome"].as_str() {
        Some("skipped") => {}
        _ => assert_eq!(verdict(&direct), "cache", "{direct:#}"),
    }
}

#[test]
fn an_overlay_is_looked_through_and_fuse_is_not_guessed_at() {
    if !usable("origin on overlay and FUSE", &["mkfs.ext4", "bindfs"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(512);
    let mount = Mount::format(&disk, "ext4");
    let below = |name: &str| {
        let path = mount.path.join(name);
        std::fs::create_dir(&path).expect("a folder");
        path.display().to_string()
    };
    let (lower, upper, work) = (below("lower"), below("upper"), below("work"));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let overlay = Mount::new("overlay", "overlay", &options);
    let trial = read(&overlay.name(), COLD);
    assert_eq!(verdict(&trial), "device", "{trial:#}");

    // The daemon reads for us: our own read_bytes stay 0 although the disk works. What it reads was
    // just written, and is in memory below it, which is said where the mount names its source.
    let fuse = Mount::fuse(&mount.path);
    let trial = read(&fuse.name(), COLD);
    assert!(["unknown", "cache"].contains(&verdict(&trial)), "{trial:#}");
    let warm = read(&fuse.name(), &["direct=false", "cold=false"]);
    assert_ne!(verdict(&warm), "device", "{warm:#}");
}

/// A naive tool that looks at the disk's counters alone takes the other reader's sectors for its
/// own and calls its cached figure a disk's.
#[test]
fn another_reader_of_the_same_disk_is_named_and_does_not_lend_its_sectors() {
    if !usable("origin with another reader", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(512);
    let mount = Mount::format(&disk, "ext4");
    let stop = Arc::new(AtomicBool::new(false));
    let (device, flag) = (disk.device.clone(), Arc::clone(&stop));
    let other = std::thread::spawn(move || {
        while !flag.load(Ordering::Relaxed) {
            let input = format!("if={device}");
            sh("dd", &[&input, "of=/dev/null", "bs=1M", "count=64", "iflag=direct"]);
        }
    });
    let direct = std::panic::catch_unwind(|| read(&mount.name(), &[]));
    let warm = std::panic::catch_unwind(|| read(&mount.name(), &["direct=false", "cold=false"]));
    stop.store(true, Ordering::Relaxed);
    other.join().expect("the other reader");
    let (direct, warm) = (direct.expect("direct"), warm.expect("warm"));
    assert_eq!(verdict(&direct), "device", "{direct:#}");
    assert!(noted(&direct, "others-io"), "{direct:#}");
    assert_ne!(verdict(&warm), "device", "{warm:#}");
}

/// A device whose backing caches: the kernel sees every byte leave it, and yet a second reading of
/// the same blocks is memory's.
#[test]
fn a_cache_behind_the_kernel_is_found_by_reading_twice() {
    if !usable("a device that caches", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let rate = draw("backing disk, MB/s", 40, 90) * 1_000_000;
    let mut backing = Disk::new(700);
    let below = Mount::format(&backing, "ext4");
    if !backing.limit(rate, 400_000_000) {
        println!("SKIP a device that caches: this kernel has no cgroup v1 block throttle");
        return;
    }
    let disk = Disk::over(&below.path, 500, &["--direct-io=off"]);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let arguments = [
        "run",
        "sequential-read",
        "--dir",
        &name,
        "--replicates",
        "1",
        "stop=1s",
        "file-size=256MiB",
        "block-size=256KiB",
        "second-pass=true",
        "--json",
    ];
    let mut child = brickyard(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    // Writing the files left them in the backing's cache; it forgets them before they are read.
    let talk = BufReader::new(child.stderr.take().expect("piped"));
    let images = below.path.clone();
    for line in talk.lines().map_while(Result::ok) {
        if line.contains("layout") {
            for _ in 0..4 {
                forget(&images);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
    let document = parse(&child.wait_with_output().expect("it ends"));
    let trial = trials(&document)[0].clone();
    assert_eq!(verdict(&trial), "device-cache", "{trial:#}");
    assert!(figure(&trial, "second_pass_ratio") > 1.2, "{trial:#}");
}

fn forget(folder: &std::path::Path) {
    for entry in folder.read_dir().expect("readable").flatten() {
        let open = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(entry.path());
        if let Ok(file) = open {
            let _ = file.sync_all();
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
}
