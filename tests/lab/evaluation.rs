//! The standard evaluation as a whole, on a disk whose limit is known, and on places where it must
//! refuse to begin.

use crate::disk::{Disk, Mount, beside_another_disk, sh, usable};
use crate::run::{brickyard, draw, figure, json, trials};

/// Every reading figure of the evaluation is the planted limit's or below it; only those that say
/// `cache` are above.
#[test]
fn an_evaluation_finds_the_limit_and_marks_what_memory_delivers() {
    if !usable("an evaluation of a limited disk", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let limit = draw("limit, MB/s", 60, 200) * 1_000_000;
    // Large enough that no buffered trial comes to a block twice.
    let mut disk = Disk::new(3000);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, 0) {
        println!("SKIP an evaluation of a limited disk: no cgroup v1 block throttle");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let document = json(folder.path(), &["evaluate", &name, "--budget", "90s", "--quiet"]);
    let mut cached = 0;
    let mut highest: f64 = 0.0;
    for trial in trials(&document) {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        if ["write", "rewrite", "probe", "layout"].iter().any(|group| trial["group"] == *group) {
            continue;
        }
        // The throttle counts each direction by itself.
        let reads = match trial["group"] == "mixed" {
            true => "read_throughput_bytes_per_s",
            false => "throughput_bytes_per_s",
        };
        let share = figure(trial, reads) / limit as f64;
        match trial["origin"]["verdict"].as_str() {
            Some("cache") => {
                cached += 1;
                assert!(share > 2.0, "memory is faster than this disk: {trial:#}");
            }
            // 0.2 s of burst on 2 s: the throttle's, see `referee`.
            Some("device") => assert!(share < 1.12, "above the limit: {trial:#}"),
            other => panic!("{other:?} in {trial:#}"),
        }
        if trial["origin"]["verdict"] == "device" {
            highest = highest.max(share);
        }
    }
    assert_eq!(cached, 3, "the cached cell has three replicates, and no other trial is cached");
    assert!(highest > 0.9, "some load reaches the limit: {highest}");
    let first = document["answer"][0].as_str().unwrap_or_default();
    assert!(first.contains("he device delivers"), "{first}");
    assert!(
        mount
            .path
            .read_dir()
            .expect("readable")
            .flatten()
            .all(|entry| { !entry.file_name().to_string_lossy().starts_with("brickyard-") })
    );
}

#[test]
fn read_only_and_full_file_systems_and_stores_are_refused_before_anything_is_made() {
    if !usable("read-only and full file systems", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |arguments: &[&str], word: &str| {
        let output = brickyard(folder.path(), arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word) && said.contains("hint: "), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    };

    let disk = Disk::new(64);
    let mount = Mount::format(&disk, "ext4");
    let name = mount.name();
    sh("fallocate", &["-l", "50M", &format!("{name}/somebody-else.dat")]);
    let before = mount.path.read_dir().expect("readable").count();
    refused(&["evaluate", &name], "5 % of the file system stay free");
    refused(&["run", "random-read", "--dir", &name, "file-size=32MiB"], "5 % of the file system");
    assert_eq!(mount.path.read_dir().expect("readable").count(), before);

    let inside = format!("{name}/store.db");
    let made = ["run", "random-read", "--engine", "sim", "--quiet", "--store", &inside];
    assert!(brickyard(folder.path(), &made).output().expect("it starts").status.success());
    sh("mount", &["-o", "remount,ro", &name]);
    refused(&["evaluate", &name], "read-only");
    refused(&["run", "random-read", "--engine", "sim", "--store", &inside], "read-only");
    // Reading what is there needs no writing.
    let report = ["report", "--format", "text", "--store", &inside];
    let output = brickyard(folder.path(), &report).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
