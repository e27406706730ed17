//! What was flushed must outlive a file system that is cut off at a random instant, with its
//! journal not written (the shutdown of XFS and ext4, XFS_IOC_GOINGDOWN without a log flush).

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::disk::{Disk, Mount, beside_a_guest, sh, unmount, usable};
use crate::run::{brickyard, draw, json};

/// Runs flush-test on a disk, cuts its file system off after so long, and mounts it again.
fn cut(kind: &str, mib: u64, after_ms: u64) {
    let disk = Disk::new(mib);
    let mount = Mount::format(&disk, kind);
    let at = mount.name();
    let own = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let log = own.path().join("flush.log");
    let name = format!("flush-log={}", log.display());
    let knobs = ["--dir", &at, &name, "file-size=1MiB", "streams=3", "stop=60s", "--quiet"];
    let arguments = [&["run", "flush-test"], &knobs[..]].concat();
    let mut child = brickyard(own.path(), &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let begun = Instant::now();
    let lines = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count());
    while lines() < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{kind}: nothing was acknowledged");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(after_ms));
    sh("xfs_io", &["-x", "-c", "shutdown", &at]);
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{kind}: its trial failed");
    unmount(Path::new(&at));
    sh("mount", &["-t", kind, &disk.device, &at]);
    let said = json(own.path(), &["verify", "--flushed", "flush.log"]);
    assert_eq!(said["lost"], 0, "{kind} after {after_ms} ms: {said:#}");
    assert!(said["acknowledged_writes"].as_u64() > Some(2), "{said}");
    let under_way = said["in_flight_older"].as_u64().unwrap_or(0)
        + said["in_flight_newer"].as_u64().unwrap_or(0)
        + said["in_flight_torn"].as_u64().unwrap_or(0);
    assert!(under_way <= 3, "one write of each of three streams: {said}");
}

#[test]
fn a_file_system_that_is_cut_off_keeps_what_was_acknowledged() {
    let _beside = beside_a_guest();
    if !usable("flushed", &["xfs_io", "mkfs.ext4", "mkfs.xfs"]) {
        return;
    }
    for (kind, mib) in [("ext4", 64), ("xfs", 320)] {
        for time in 0..2 {
            let name = format!("{kind} {time} is cut off after, ms");
            cut(kind, mib, draw(&name, 1, 1500));
        }
    }
}
