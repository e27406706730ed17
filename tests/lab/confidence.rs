//! The word of confidence, on disks whose limit is known.

use crate::disk::{Disk, Mount, beside_another_disk, usable};
use crate::planted::neighbour::Neighbour;
use crate::run::{draw, json, noted};
use base::stats::testing::Counts;

/// Confidence is high alone on a throttled disk, and is not beside a neighbour that was drawn.
#[test]
fn beside_a_neighbour_confidence_is_not_high() {
    if !usable("an evaluation beside a neighbour", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let rounds = if std::env::var_os("BRICKYARD_LONG").is_some() { 12 } else { 1 };
    for at in 0..rounds {
        let limit = draw(&format!("disk {at}: limit, MB/s"), 40, 110) * 1_000_000;
        let mut disk = Disk::new(800);
        let mount = Mount::format(&disk, "ext4");
        if !disk.limit(limit, limit) {
            println!("SKIP an evaluation beside a neighbour: no cgroup v1 block throttle");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let name = mount.name();
        let words = |replicates: &'static str| {
            let load = ["run", "sequential-read", "--dir", &name, "--quiet", "direct=true"];
            let rest = ["file-size=64MiB", "queue-depth=8", "stop=1s", "warm-up=150ms"];
            json(folder.path(), &[&load[..], &rest[..], &["--replicates", replicates]].concat())
        };
        // The machine itself may have others on it for a moment.
        let mut tries = (0..3).map(|_| words("6")["summary"]["confidence"].clone());
        let by_itself = tries.by_ref().find(|confidence| confidence["level"] == "high");
        assert!(by_itself.is_some(), "never of high confidence by itself");
        let pause_ms = draw(&format!("disk {at}: pauses, ms"), 0, 400);
        let reads = draw(&format!("disk {at}: reads"), 0, 2) == 1;
        let neighbour = match reads {
            true => Neighbour::reading_with(&disk.device, pause_ms),
            false => Neighbour::writing(mount.path.join("theirs"), pause_ms),
        };
        let beside = words("8");
        drop(neighbour);
        let confidence = &beside["summary"]["confidence"];
        println!("disk {at}: {}", confidence["reason"]);
        assert_ne!(confidence["level"], "high", "{}", beside["summary"]);
        // Of what throttles apart, as writing beside a reader, runs may differ before others do.
        let told = confidence["reason"].as_str().unwrap_or_default();
        assert!(
            told.contains("ther programs used the disk") || told.contains("Runs differ"),
            "{told}"
        );
    }
}

/// An evaluation knew nothing of the neighbour but what `run` knew of one load; here is the whole
/// of it, beside one who reads or writes with pauses that are drawn. The budget is the least that
/// buys some of the core set, which keeps it short.
#[test]
fn beside_a_neighbour_no_evaluation_is_of_high_confidence() {
    if !usable("whole evaluations beside a neighbour", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let rounds = if std::env::var_os("BRICKYARD_LONG").is_some() { 12 } else { 1 };
    let mut told_of = Counts::default();
    for at in 0..rounds {
        let what = format!("evaluation {at}");
        let limit = draw(&format!("{what}: limit, MB/s"), 40, 110) * 1_000_000;
        let mut disk = Disk::new(2500);
        let mount = Mount::format(&disk, "ext4");
        if !disk.limit(limit, limit) {
            println!("SKIP whole evaluations beside a neighbour: no cgroup v1 block throttle");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let name = mount.name();
        let pause_ms = draw(&format!("{what}: pauses, ms"), 0, 400);
        // One after the other, the first as drawn.
        let reads = (at + draw("the first neighbour reads", 0, 2)) % 2 == 1;
        let neighbour = match reads {
            true => Neighbour::reading_with(&disk.device, pause_ms),
            false => Neighbour::writing(mount.path.join("theirs"), pause_ms),
        };
        let document = json(folder.path(), &["evaluate", &name, "--budget", "40s", "--quiet"]);
        drop(neighbour);
        let confidence = &document["summary"]["confidence"];
        println!("{what}: {} {}", confidence["level"], confidence["reason"]);
        assert_ne!(confidence["level"], "high", "{}", document["summary"]);
        assert!(confidence["advice"].is_string(), "{confidence}");
        // A budget this short leaves figures out, which is no worse than some disturbed trials.
        let trials = document["trials"].as_array().expect("trials");
        let timed = || trials.iter().filter(|trial| trial["group"] != "probe");
        let disturbed = timed().filter(|trial| noted(trial, "others-io")).count();
        println!("{what}: others used the disk in {disturbed} of {} trials", timed().count());
        told_of.add(disturbed > 0);
    }
    println!("evaluations that tell of the neighbour: {told_of}");
    assert_eq!(told_of.right, told_of.all, "{told_of}");
}
