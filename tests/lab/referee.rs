//! Other tools as referees: the same target, in the same minute.

use std::path::Path;

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, sh, usable};
use crate::run::{draw, figure, json, trials};

/// fio's figures for the same reading: bytes per second and operations per second.
fn fio(directory: &Path, access: &str, block: &str, depth: u32) -> (f64, f64) {
    let said = sh(
        "fio",
        &[
            "--name=referee",
            &format!("--directory={}", directory.display()),
            &format!("--rw={access}"),
            &format!("--bs={block}"),
            &format!("--iodepth={depth}"),
            "--size=128m",
            "--direct=1",
            "--ioengine=io_uring",
            "--time_based",
            "--runtime=8",
            "--output-format=json",
        ],
    );
    let start = said.find('{').expect("fio prints JSON");
    let document: Value = serde_json::from_str(&said[start..]).expect("fio prints JSON");
    let read = &document["jobs"][0]["read"];
    let number = |name: &str| read[name].as_f64().expect("a number");
    (number("bw_bytes"), number("iops"))
}

/// The kernel's throttle lets up to 0.2 s worth of bytes pass at once when its slice began before
/// the load did, as XFS makes happen by reading metadata: 1.2 % of 16 s, and not ours.
#[test]
fn fio_agrees_on_disks_with_a_limit_and_the_limit_is_the_truth() {
    if !usable("fio as referee", &["fio", "mkfs.ext4", "mkfs.xfs"]) {
        return;
    }
    let _alone = alone();
    for kind in ["ext4", "xfs"] {
        let limit = draw("limit, MB/s", 30, 120) * 1_000_000;
        let mut disk = Disk::new(600);
        let mount = Mount::format(&disk, kind);
        if !disk.limit(limit, 0) {
            println!("SKIP fio as referee: this kernel has no cgroup v1 block throttle");
            return;
        }
        for (workload, access, block, depth) in
            [("sequential-read", "read", "256k", 8), ("random-read", "randread", "4k", 32)]
        {
            let folder = tempfile::tempdir().expect("a folder");
            let (block_size, queue_depth) =
                (format!("block-size={block}"), format!("queue-depth={depth}"));
            let name = mount.name();
            let document = json(
                folder.path(),
                &[
                    "run",
                    workload,
                    "--dir",
                    &name,
                    "--replicates",
                    "1",
                    "stop=16s",
                    "file-size=128MiB",
                    &block_size,
                    &queue_depth,
                ],
            );
            let trial = trials(&document)[0].clone();
            let ours = figure(&trial, "throughput_bytes_per_s");
            let (theirs, _) = fio(&mount.path, access, block, depth);
            let (truth, agreement) = (ours / limit as f64, ours / theirs);
            println!("{kind} {workload}: {truth:.4} of the limit, {agreement:.4} of fio");
            assert!((0.98..1.02).contains(&truth), "{trial:#}");
            assert!((0.97..1.03).contains(&agreement), "fio says {theirs}: {trial:#}");
        }
    }
}

/// A scenario without a limit: nothing may be claimed that was not planted, and the figure is far
/// above every limit that the lab sets elsewhere.
#[test]
fn a_disk_without_a_limit_is_not_given_one() {
    if !usable("a disk without a limit", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let document = json(
        folder.path(),
        &["run", "sequential-read", "--dir", &name, "stop=1s", "file-size=128MiB"],
    );
    for trial in trials(&document) {
        assert!(figure(trial, "throughput_bytes_per_s") > 200e6, "{trial:#}");
    }
}

/// Blocks through the page cache, bonnie++'s and ours, with less memory than the file has: then
/// both measure the disk. Its rewriting reads and writes each block, with writing back behind it:
/// on a disk that has a limit for each direction it lies between half of it and all.
#[test]
fn bonnie_agrees_on_blocks_where_the_file_does_not_fit_into_memory() {
    if !usable("bonnie++ as referee", &["bonnie++", "mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let limit = draw("limit, MB/s", 32, 40) * 1_000_000;
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, limit) {
        println!("SKIP bonnie++ as referee: this kernel has no cgroup v1 block throttle");
        return;
    }
    let name = mount.name();
    let run = |words: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let common = ["--dir", &name, "--replicates", "1", "memory-limit=64MiB"];
        let size = ["file-size=192MiB", "block-size=8KiB"];
        let document = json(folder.path(), &[&["run"], words, &common, &size].concat());
        trials(&document)[0].clone()
    };
    let theirs = run(&["bonnie++", "files=1"]);
    let ours = |workload: &str, name: &str| {
        let blocks = ["io-engine=sync", "queue-depth=1", "stop=pass", "direct=false"];
        figure(&run(&[&[workload], &blocks[..]].concat()), name)
    };
    let write = ours("sequential-write", "durable_throughput_bytes_per_s");
    let read = ours("sequential-read", "throughput_bytes_per_s");
    let said = |phase: &str| {
        let rate = figure(&theirs, &format!("reported_{phase}_throughput_bytes_per_s"));
        println!("{phase}: {:.4} of the limit", rate / limit as f64);
        rate
    };
    let rewrite = said("rewrite") / limit as f64;
    assert!((0.45..1.05).contains(&rewrite), "{theirs:#}");
    for (phase, ours) in [("block_write", write), ("block_read", read)] {
        let agreement = ours / said(phase);
        println!("{phase}: ours is {agreement:.4} of bonnie++");
        assert!((0.95..1.05).contains(&agreement), "ours is {ours}: {theirs:#}");
    }
}

/// The same readings by fio as an engine: what it says stands beside what the kernel counted of it.
#[test]
fn fio_as_an_engine_agrees_with_the_kernels_count_of_it() {
    if !usable("fio as an engine", &["fio", "mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let limit = draw("limit, MB/s", 30, 120) * 1_000_000;
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, 0) {
        println!("SKIP fio as an engine: this kernel has no cgroup v1 block throttle");
        return;
    }
    let (folder, name) = (tempfile::tempdir().expect("a folder"), mount.name());
    let typed = ["run", "sequential-read", "--engine", "fio", "--dir", &name, "--replicates", "1"];
    let knobs = ["stop=8s", "file-size=64MiB", "block-size=256KiB"];
    let document = json(folder.path(), &[&typed[..], &knobs].concat());
    let trial = trials(&document)[0];
    let said = figure(trial, "reported_throughput_bytes_per_s");
    // Its own start and end are in the time that we took; its bytes are not in doubt (ru_inblock).
    let counted = figure(trial, "blocks_in") * 512.0;
    let (truth, agreement) = (said / limit as f64, counted / (said * 8.0));
    println!("fio: {truth:.4} of the limit, the kernel counted {agreement:.4} of its bytes");
    assert!((0.97..1.03).contains(&truth), "{trial:#}");
    assert!((0.97..1.03).contains(&agreement), "{trial:#}");
    assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
}
