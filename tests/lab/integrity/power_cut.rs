//! What a run says that a power cut loses, of file systems made for it: in memory, without
//! barriers, on a disk of which nobody sees what it does with a flush.

use std::path::Path;

use serde_json::Value;

use crate::disk::{Disk, Mount, beside_a_guest, sh, usable};
use crate::liar::Liar;
use crate::run::{finding, json, said};

/// The finding of a short run in that directory.
fn verdict(directory: &str, run: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["run"];
    arguments.extend(run);
    arguments.extend(["--dir", directory, "--replicates", "1", "stop=300ms"]);
    finding(&json(folder.path(), &arguments), "power-cut")
}

const WRITES: &[&str] = &["sequential-write", "file-size=4MiB"];

#[test]
fn what_a_power_cut_loses_is_said_of_memory_of_mounts_without_barriers_and_of_hidden_disks() {
    if !usable("verdicts on a power cut", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let memory = Mount::new("tmpfs", "brickyard-lab", "size=64m");
    let found = verdict(&memory.name(), WRITES);
    assert!(said(&found).starts_with("A power cut loses all that was written here"), "{found}");
    assert_eq!(found["severity"], "warning");
    drop(memory);
    // A disk whose file is in memory is memory.
    let disk = Disk::new(64);
    let mount = Mount::format(&disk, "ext4");
    let found = verdict(&mount.name(), WRITES);
    assert!(said(&found).starts_with("A power cut loses all that was written here"), "{found}");
    drop((mount, disk));

    let disk = Disk::over(Path::new("/var/tmp"), 256, &["--direct-io=on"]);
    sh("mkfs.ext4", &["-q", "-F", "-m", "0", &disk.device]);
    for (option, off) in [("barrier=0", true), ("barrier=1", false)] {
        let mount = Mount::new("ext4", &disk.device, option);
        let found = verdict(&mount.name(), WRITES);
        let told = said(&found);
        // The kernel tells the option by its other name.
        assert_eq!(told.contains("mounted with nobarrier"), off, "{option}: {told}");
        assert_eq!(found["severity"] == "warning", off, "{option}: {found}");
        assert!(told.contains("The kernel looks every "), "{told}");
        let commits = verdict(&mount.name(), &["sqlite"]);
        assert!(said(&commits).contains(" commit"), "{commits}");
        assert_eq!(said(&commits).contains("mounted with nobarrier"), off, "{commits}");
    }
    drop(disk);

    let liar = Liar::new(64);
    liar.cache(false);
    let found = verdict(&liar.name(), WRITES);
    let told = said(&found);
    assert!(told.contains("whether fsync saves them is not known. The file that loop"), "{told}");
    let command = found["command"].as_str().unwrap_or_default();
    assert!(command.starts_with(&format!("brickyard run flush-test --dir {}", liar.name())));
}
