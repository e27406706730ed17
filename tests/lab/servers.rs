//! File servers that a plan starts, in front of a disk of known speed: what their clients get cold
//! is what the disk gives, and the disk is what limits; without a limit nobody names one.

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, usable};
use crate::run::{brickyard, draw, figure, parse, trials};

const PROGRAMS: &[&str] =
    &["mkfs.ext4", "nginx", "curl", "smbd", "smbclient", "xrootd", "xrdcp", "setpriv"];

fn run(at: &Mount, bytes: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = at.name();
    let each = format!("copy-bytes={bytes}");
    let ask = ["run", "file-servers", "--dir", &dir, "--replicates", "1", "streams=2", &each];
    let asked = [&ask[..], &["--json", "--quiet"]].concat();
    parse(&brickyard(folder.path(), &asked).output().expect("brickyard can be started"))
}

/// What the finding of each server says that limits it.
fn limits(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().expect("findings are an array");
    let found = findings.iter().filter(|finding| finding["question"] == "bottleneck");
    found.map(|finding| finding["limit"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A server answers from memory what it has once sent: a client that is started again to keep up
/// the load would take the disk's figure with it, as would files that were written just before.
#[test]
fn clients_of_a_file_server_get_what_its_disk_gives_and_no_more() {
    if !usable("file servers on a throttled disk", PROGRAMS) {
        return;
    }
    let _alone = alone();
    let mut disk = Disk::new(900);
    let mount = Mount::format(&disk, "ext4");
    let free = run(&mount, "16MiB");
    assert_eq!(trials(&free).len(), 3);
    for word in limits(&free) {
        assert!(!word.starts_with("cgroup"), "no limit was set: {free:#}");
    }
    let rate = draw("rate of the disk behind file servers, MB/s", 30, 60) * 1_000_000;
    if !disk.limit(rate, 4 << 30) {
        println!("SKIP file servers on a throttled disk: this kernel has no throttle");
        return;
    }
    let document = run(&mount, "64MiB");
    for trial in trials(&document) {
        let who = trial["group"].as_str().unwrap_or_default();
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let share = figure(trial, "throughput_bytes_per_s") / rate as f64;
        // Each has a half, and its own start on top.
        let client = 2.0 * figure(trial, "received_per_client_bytes_per_s") / rate as f64;
        println!("{who}: {share:.4} of the disk's rate was read, clients got {client:.4} of it");
        // The kernel counts what a process has asked a disk for, some megabytes before they come.
        assert!((0.9..1.1).contains(&share), "{who}: {share} of the disk's rate: {trial:#}");
        assert!((0.9..1.08).contains(&client), "{who}: {client} of the disk's rate: {trial:#}");
        assert_eq!(trial["origin"]["verdict"], "device", "{who}: {trial:#}");
        assert!(figure(trial, "server_system_s") > 0.0, "{who}: {trial:#}");
    }
    let limits = limits(&document);
    assert!(!limits.is_empty() && limits.iter().all(|it| it == "cgroup-io"), "{document:#}");
}
