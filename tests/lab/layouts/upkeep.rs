//! File systems that are checked, and that discard, before each trial: on a disk whose rate is
//! known a check cannot be faster than what it must read.

use super::*;
use crate::disk::sh;

/// Bytes of an inode on ext4, which a check reads for each file.
const INODE: u64 = 256;

const CHECKED: &str = r#"
[plan]
name = "checked"
replicates = 1
seed = 3
stop = "1s"

[target]
devices = DEVICES

[[workload]]
use = "random-read"
file-size = "4KiB"
block-size = "4KiB"
files = 1
disks = 1
filesystem = "ext4"
fsck = true
fstrim = true
"#;

/// Whether a check of a device is at work, by its command line.
fn is_checked(device: &str) -> bool {
    let line = format!("e2fsck\0-f\0-n\0{device}\0");
    let of = |folder: &String| std::fs::read(format!("/proc/{folder}/cmdline")).ok();
    names(Path::new("/proc")).iter().filter_map(of).any(|words| words.ends_with(line.as_bytes()))
}

/// e2fsck reads the inode of each file. That of 8000 files takes longer than that of one by what
/// their inodes take the disk at least; from memory, where they were, it would take nothing.
#[test]
fn a_check_takes_as_long_as_the_disk_takes_to_read_the_inodes() {
    if !usable("checks on loop devices", &["mkfs.ext4", "e2fsck", "fstrim", "blkid"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut bench = Bench::new(CHECKED);
    let kb = draw("kB/s of the disk", 900, 1200);
    if !bench.disks[0].limit(kb * 1000, 0) {
        println!("SKIP checks on loop devices: no throttle for the whole machine");
        return;
    }
    let dry = bench.run(&["--dry-run"]).output().expect("it runs");
    let printed = String::from_utf8_lossy(&dry.stdout).into_owned();
    let check = format!("e2fsck -f -n {}", bench.disks[0].device);
    for line in ["# before each trial that is measured:", "umount /run/", &check, "fstrim -v /run/"]
    {
        assert!(printed.contains(line), "no {line} in {printed}");
    }
    let files = 8000;
    let many = format!("files={files}");
    let run = |store: &str, more: &[&str]| {
        let all = [&["--store", store, "--json"], more].concat();
        let output = bench.run(&all).output().expect("it runs");
        let document = parse(&output);
        let of = trials(&document);
        assert_eq!(of.len(), 1, "{}", said(&output));
        assert_eq!(of[0]["outcome"], "done", "{:#}", of[0]);
        assert_eq!(of[0]["settings"]["fsck"], true);
        assert!(figure(of[0], "fstrim_ns") > 0.0);
        assert!(figure(of[0], "fstrim_bytes") > (256 << 20) as f64, "of 512 MiB");
        figure(of[0], "fsck_ns") / 1e9
    };
    let (one, all) = (run("one.db", &[]), run("many.db", &[&many]));
    let least = (files * INODE) as f64 / (kb * 1000) as f64;
    println!("one file {one:.2} s, {files} files {all:.2} s; their inodes take {least:.2} s");
    assert!(one > 0.0 && all - one > 0.85 * least, "{one} s, then {all} s");
    let mut text = brickyard(bench.path(), &["report", "--format", "text", "--store", "many.db"]);
    let text = String::from_utf8_lossy(&text.output().expect("it runs").stdout).into_owned();
    assert!(text.contains("checked") && text.contains("trimmed"), "{text}");
    bench.is_clean();

    // Killed while it is checked, and so not mounted.
    let mut child = bench
        .run(&["--store", "killed.db", "--quiet", &many])
        .stdout(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let begun = Instant::now();
    while !is_checked(&bench.disks[0].device) {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is never checked");
        assert_eq!(child.try_wait().expect("waited for"), None, "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!bench.is_mounted());
    child.kill().expect("killed");
    child.wait().expect("waited for");
    let undone = brickyard(bench.path(), &["undo", "--store", "killed.db"]).output();
    let undone = undone.expect("it runs");
    assert!(undone.status.success(), "{}", said(&undone));
    bench.is_clean();
}

/// A folder whose files have no holes, so that a loop device over one cannot discard.
struct WithoutHoles(tempfile::TempDir);

impl WithoutHoles {
    fn new() -> WithoutHoles {
        let folder = tempfile::tempdir().expect("a folder");
        sh("mount", &["-t", "ramfs", "none", &folder.path().display().to_string()]);
        WithoutHoles(folder)
    }
}

impl Drop for WithoutHoles {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// A device without discard, a kind without a check and a damaged file system, each in its words.
#[test]
fn what_cannot_be_done_between_trials_is_said_by_whom_it_could_not() {
    if !usable("refusals on loop devices", &["mkfs.ext4", "e2fsck", "fstrim", "blkid"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = WithoutHoles::new();
    let bench = Bench::on(vec![Disk::over(folder.0.path(), 128, &[])], CHECKED);
    let output = bench.run(&["--json"]).output().expect("it runs");
    let document = parse(&output);
    let trial = &trials(&document)[0];
    assert_eq!(trial["outcome"], "skipped", "{trial:#}");
    let reason = trial["reason"].as_str().expect("a reason");
    assert!(reason.contains("the discard operation is not supported"), "{reason}");
    bench.is_clean();
    for (kind, says) in [("zfs", "zpool scrub"), ("nilfs2", "no program that checks it")] {
        let typed = format!("filesystem={kind}");
        let refused = bench.run(&["--dry-run", &typed]).output().expect("it runs");
        assert_eq!(refused.status.code(), Some(2), "{kind}");
        assert!(said(&refused).contains(says), "{kind}: {}", said(&refused));
    }
}
