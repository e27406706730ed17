//! File servers that a plan starts, in front of a disk of known speed: what their clients get cold
//! is what the disk gives, and the disk is what limits; without a limit nobody names one.

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, beside_another_disk, usable};
use crate::run::{brickyard, draw, figure, parse, trials};

const PROGRAMS: &[&str] =
    &["mkfs.ext4", "nginx", "curl", "smbd", "smbclient", "xrootd", "xrdcp", "setpriv", "ip"];

/// The plan as it is shipped.
const PLAN: &str = include_str!("../../plans/file-servers.toml");
/// What each fetch of it begins with.
const DROP: &str = "dd if={directory}/files/{copy} iflag=nocache count=0 status=none;";

fn run(at: &Mount, plan: &str, bytes: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.toml");
    std::fs::write(&file, plan).expect("a plan");
    let (dir, file) = (at.name(), file.display().to_string());
    let each = format!("copy-bytes={bytes}");
    let ask = ["run", &file, "--dir", &dir, "--replicates", "1", "streams=2", &each];
    let asked = [&ask[..], &["--json", "--quiet"]].concat();
    parse(&brickyard(folder.path(), &asked).output().expect("brickyard can be started"))
}

/// What the finding of each server says that limits it.
fn limits(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().expect("findings are an array");
    let found = findings.iter().filter(|finding| finding["question"] == "bottleneck");
    found.map(|finding| finding["limit"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Where the bytes of the three servers' trials came from, all of which are done.
fn verdicts(document: &Value) -> Vec<String> {
    let verdict = |trial: &&Value| {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        println!("{}: {}", trial["group"], trial["origin"]["reason"]);
        trial["origin"]["verdict"].as_str().unwrap_or_default().to_owned()
    };
    trials(document).iter().map(verdict).collect()
}

/// What was fetched from memory is told, be it all or the timed fetches alone: the cold ones of
/// clients that were started again stood for these.
#[test]
fn a_file_server_that_had_its_files_in_memory_is_told_so() {
    if !usable("file servers with files in memory", PROGRAMS) {
        return;
    }
    let _beside = beside_another_disk();
    let disk = Disk::new(900);
    let mount = Mount::format(&disk, "ext4");
    assert_eq!(PLAN.matches(DROP).count(), 3);
    let kept = PLAN.replace(DROP, "cat {directory}/files/{copy} >/dev/null;");
    // Other tests empty the memory: what the servers themselves are made of was then read from this
    // machine's own disk, by 2 MiB of which no more could be said than that nobody knows.
    run(&mount, &kept, "1MiB");
    let warm = run(&mount, &kept, "16MiB");
    assert_eq!(verdicts(&warm), ["cache"; 3], "{warm:#}");
    // The first fetch of each is timed; while that of copy 1 takes its time, copy 2 goes on.
    let begins = format!(
        "if [ -e {{directory}}/again{{copy}} ]; then {DROP} \
         else touch {{directory}}/again{{copy}}; [ {{copy}} = 2 ] || sleep 2; fi;"
    );
    let timed_warm = run(&mount, &PLAN.replace(DROP, &begins), "16MiB");
    assert_eq!(verdicts(&timed_warm), ["mixed"; 3], "{timed_warm:#}");
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
    let free = run(&mount, PLAN, "16MiB");
    assert_eq!(verdicts(&free), ["device"; 3], "{free:#}");
    for word in limits(&free) {
        assert!(!word.starts_with("cgroup"), "no limit was set: {free:#}");
    }
    let rate = draw("rate of the disk behind file servers, MB/s", 25, 45) * 1_000_000;
    if !disk.limit(rate, 4 << 30) {
        println!("SKIP file servers on a throttled disk: this kernel has no throttle");
        return;
    }
    let document = run(&mount, PLAN, "64MiB");
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
        // What ran between two ticks alone, the kernel counts as of either kind (proc_pid_stat(5)).
        let server = figure(trial, "server_user_s") + figure(trial, "server_system_s");
        assert!(server > 0.0, "{who}: {trial:#}");
    }
    let limits = limits(&document);
    assert!(!limits.is_empty() && limits.iter().all(|it| it == "cgroup-io"), "{document:#}");
}
