//! Disks that stop answering, and disks that die, under a load.
//!
//! A daemon that is stopped (SIGSTOP) leaves every I/O in flight, for as long as one likes; one
//! that is killed fails them all.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::disk::{Disk, Mount, alone, usable};
use crate::run::{brickyard, parse, trials};

/// A file system on a disk that is served by a process of its own.
struct Frail {
    daemon: Daemon,
    mount: Option<Mount>,
}

impl Frail {
    fn new(mib: u64) -> Frail {
        let daemon = Daemon::new(mib, None, &[]);
        let mount = Some(Mount::format(daemon.disk(), "ext4"));
        Frail { daemon, mount }
    }

    fn mount(&self) -> &Mount {
        self.mount.as_ref().expect("mounted")
    }

    /// `loop3`
    fn name(&self) -> String {
        self.daemon.disk().device.trim_start_matches("/dev/").to_owned()
    }

    /// I/Os that were written so far.
    fn written(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name()));
        let stat = stat.expect("a block device");
        stat.split_whitespace().nth(4).and_then(|count| count.parse().ok()).expect("a count")
    }

    /// Waits until a load has written a good deal more.
    fn under_load(&self) {
        let (before, start) = (self.written(), Instant::now());
        while self.written() < before + 300 {
            assert!(start.elapsed() < Duration::from_secs(120), "no load ran on it");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Frail {
    fn drop(&mut self) {
        self.daemon.answer_again();
        // What hung ends now, and with it what it had open.
        std::thread::sleep(Duration::from_millis(500));
        drop(self.mount.take());
    }
}

/// Three replicates of a write on each of two directories, in some order.
fn plan(folder: &Path, one: &str, other: &str, io: &str) -> PathBuf {
    let text = format!(
        "[plan]\nname = \"two-disks\"\nreplicates = 3\n\
         stop = {{ after = \"2s\", at-most = \"3s\" }}\n\
         [target]\ndirectories = [\"{one}\", \"{other}\"]\n\
         [[workload]]\nuse = \"sequential-write\"\ndirectories = [\"{one}\"]\n\
         file-size = \"64MiB\"\nblock-size = \"64KiB\"\nqueue-depth = 1\nio-engine = \"{io}\"\n\
         [[workload]]\nuse = \"random-read\"\ndirectories = [\"{other}\"]\n\
         file-size = \"32MiB\"\n"
    );
    let path = folder.join("two-disks.toml");
    std::fs::write(&path, text).expect("written");
    path
}

fn of<'a>(document: &'a Value, directory: &str, outcome: &str) -> Vec<&'a Value> {
    let is = |trial: &&Value| {
        trial["settings"]["directories"][0] == directory
            && trial["outcome"] == outcome
            && trial["group"] != "layout"
    };
    trials(document).into_iter().filter(is).collect()
}

fn started(folder: &Path, plan: &Path) -> Child {
    let arguments = ["run", &plan.display().to_string(), "--json", "--seed", "7"];
    brickyard(folder, &arguments)
        .env("BRICKYARD_HUNG_S", "15")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started")
}

/// A disk stopped answering in the first of 200 trials on Friday evening. Every later trial that
/// looked at it hung, and nothing was measured on the other disks either.
#[test]
fn a_load_that_hangs_is_left_behind_and_the_campaign_goes_on_with_the_other_disk() {
    let tools = ["qemu-storage-daemon", "losetup", "mkfs.ext4"];
    if !usable("a disk that stops answering", &tools) {
        return;
    }
    let _alone = alone();
    let frail = Frail::new(256);
    let sound = Disk::new(256);
    let mount = Mount::format(&sound, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (frail.mount().name(), mount.name());
    let child = started(folder.path(), &plan(folder.path(), &one, &other, "sync"));
    frail.under_load();
    frail.daemon.signal(Signal::STOP);
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends though the disk does not answer");
    println!("ended {:?} after the disk had stopped", start.elapsed());
    assert!(frail.daemon.in_flight() > 0, "the disk answered: nothing was tested");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let document = parse(&output);

    let failed = of(&document, &one, "failed");
    assert_eq!(failed.len(), 1, "{said}");
    let why = failed[0]["reason"].as_str().expect("a reason");
    println!("{why}");
    assert!(why.contains("hangs in the kernel") && why.contains("in state D"), "{why}");
    let skipped = of(&document, &one, "skipped");
    let done = of(&document, &one, "done");
    assert_eq!(skipped.len() + done.len(), 2, "{said}");
    for trial in &skipped {
        let why = trial["reason"].as_str().expect("a reason");
        assert!(why.contains(&format!("hangs on {} (7:", frail.name())), "{why}");
    }
    assert_eq!(of(&document, &other, "done").len(), 3, "{said}");
    assert!(said.contains(&format!("{one}/brickyard-")) && said.contains("is left"), "{said}");

    // When the disk answers again, the load ends and the next run removes what was left.
    frail.daemon.signal(Signal::CONT);
    let left = || {
        std::fs::read_dir(&one)
            .expect("readable")
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("brickyard-"))
    };
    assert!(left());
    let start = Instant::now();
    while left() {
        assert!(start.elapsed() < Duration::from_secs(60), "it is never removed");
        std::thread::sleep(Duration::from_millis(500));
        let arguments = ["run", "random-read", "--dir", &one, "file-size=1MiB", "stop=100ms"];
        let again = brickyard(folder.path(), &arguments).output().expect("it runs");
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    }
}

/// "Input/output error" alone does not say that the file system was shut down, and why.
#[test]
fn a_trial_whose_disk_dies_is_recorded_with_what_the_kernel_said() {
    let tools = ["qemu-storage-daemon", "losetup", "mkfs.ext4"];
    if !usable("a disk that dies", &tools) {
        return;
    }
    let _alone = alone();
    let frail = Frail::new(256);
    let sound = Disk::new(256);
    let mount = Mount::format(&sound, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (frail.mount().name(), mount.name());
    let child = started(folder.path(), &plan(folder.path(), &one, &other, "uring"));
    frail.under_load();
    frail.daemon.signal(Signal::KILL);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let document = parse(&output);
    let failed = of(&document, &one, "failed");
    assert!(!failed.is_empty(), "{said}");
    println!("{}", failed[0]["reason"]);
    let notes = failed[0]["notes"].as_array().expect("notes");
    let note = notes.iter().find(|note| note["kind"] == "kernel-messages").expect("messages");
    let text = note["text"].as_str().expect("text");
    println!("{text}");
    assert!(text.contains(&frail.name()) && text.to_lowercase().contains("error"), "{text}");
    assert_eq!(of(&document, &other, "done").len(), 3, "{said}");
}
