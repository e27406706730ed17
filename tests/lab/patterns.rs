//! Which places of a disk are read, as the kernel's own trace of block I/O tells it.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, Mount, beside_a_guest, sh, usable};
use crate::run::{json, trials};

const RECORDS: u64 = 128;
const SECTORS: u64 = 128; // 64 KiB

/// A trace of the block I/O of one device, apart from everybody else's; gone when dropped.
struct Trace {
    folder: tempfile::TempDir,
    instance: PathBuf,
}

impl Trace {
    /// `None` where this kernel has no such trace.
    fn of(disk: &Disk) -> Option<Trace> {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().display().to_string();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tracefs", "none", &name])
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            return None;
        }
        let instance = folder.path().join(format!("instances/brickyard-{}", std::process::id()));
        let trace = Trace { folder, instance };
        std::fs::create_dir(&trace.instance).ok()?;
        let number = sh("lsblk", &["-dno", "MAJ:MIN", &disk.device]);
        let (major, minor) = number.split_once(':')?;
        let device = major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?;
        let event = trace.instance.join("events/block/block_bio_queue");
        std::fs::write(event.join("filter"), format!("dev == {device}")).ok()?;
        std::fs::write(event.join("enable"), "1").ok()?;
        Some(trace)
    }

    /// First sectors of the reads of one record, in the order in which they were asked for.
    fn reads(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.instance.join("trace")).expect("the trace");
        text.lines().filter_map(record).collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.instance);
        sh("umount", &[&self.folder.path().display().to_string()]);
    }
}

/// `... block_bio_queue: 7,0 R 34816 + 128 [stream0]`: the sector of a read of one record.
fn record(line: &str) -> Option<u64> {
    let (_, event) = line.split_once("block_bio_queue: ")?;
    let words: Vec<&str> = event.split_ascii_whitespace().collect();
    let size = words.get(4)?.parse::<u64>().ok()?;
    (words.get(1)?.starts_with('R') && size == SECTORS).then(|| words.get(2)?.parse().ok())?
}

/// The records that a trial read, by number.
fn read(mount: &Path, disk: &Disk, access: &str) -> Option<Vec<u64>> {
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.display().to_string();
    let access = format!("access={access}");
    let arguments = [
        "run",
        "sequential-read",
        "--dir",
        &name,
        "--replicates",
        "1",
        "io-engine=sync",
        "queue-depth=1",
        "block-size=64KiB",
        "file-size=8MiB",
        "stop=pass",
        "sustained=false",
        &access,
    ];
    let trace = Trace::of(disk)?;
    let document = json(folder.path(), &arguments);
    let trial = trials(&document)[0].clone();
    assert_eq!(trial["outcome"], "done", "{document:#}");
    assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
    let sectors = trace.reads();
    // A file may lie in several pieces, one after the other: a record's number is its rank.
    let places: std::collections::BTreeSet<u64> = sectors.iter().copied().collect();
    Some(sectors.iter().map(|sector| places.range(..sector).count() as u64).collect())
}

/// iozone -i 3 and -i 5 -j 17: what the device was asked for, in its order, on a disk so slow that
/// nothing could have been guessed.
#[test]
fn a_disk_is_read_backwards_and_in_strides_at_exactly_those_places() {
    if !usable("places of backward and strided reads", &["mkfs.ext4", "lsblk"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut disk = Disk::new(64);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(40 << 20, 400 << 20) {
        println!("SKIP places of backward and strided reads: no throttle");
        return;
    }
    let backward: Vec<u64> = (0..RECORDS).rev().collect();
    let strided: Vec<u64> = (0..17).flat_map(|start| (start..RECORDS).step_by(17)).collect();
    for (access, wanted) in [("read-backward", backward), ("read-strided", strided)] {
        let Some(seen) = read(Path::new(&mount.name()), &disk, access) else {
            println!("SKIP places of backward and strided reads: no tracefs");
            return;
        };
        assert_eq!(seen, wanted, "{access}");
    }
}
