//! What the machine itself counts of errors stands beside what was checked: a file system that
//! meets an error during a trial is named, and one that meets none is quiet.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{beside_a_guest, usable};
use crate::liar::Liar;
use crate::run::{brickyard, noted, parse, trials};

const ARGUMENTS: [&str; 7] = [
    "sequential-read",
    "verify=crc32c",
    "file-size=4MiB",
    "block-size=64KiB",
    "stop=4s",
    "sustained=true",
    "second-pass=false",
];

/// Reads back on the disk for 4 s, and has its file system meet an error meanwhile, if that is
/// wanted; gives the trial.
fn read(liar: &Liar, error: bool) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let name = liar.name();
    let mut all = vec!["run", ARGUMENTS[0], "--dir", &name, "--replicates", "1", "--json"];
    all.extend(&ARGUMENTS[1..]);
    let before = liar.read_bytes();
    let child = brickyard(folder.path(), &all)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let start = Instant::now();
    // Longer than what making the files may read of it.
    while liar.read_bytes() - before < 8 << 20 {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not read from the device");
        std::thread::sleep(Duration::from_millis(5));
    }
    if error {
        let device = liar.device();
        let of_ext4 = Path::new("/sys/fs/ext4").join(device.trim_start_matches("/dev/"));
        std::fs::write(of_ext4.join("trigger_fs_error"), "a test").expect("an error is made");
    }
    let output = child.wait_with_output().expect("it ends");
    let document = parse(&output);
    assert_eq!(output.status.code(), Some(0), "{document:#}");
    trials(&document)[0].clone()
}

#[test]
fn an_error_that_the_file_system_counted_in_a_trial_is_beside_what_was_checked() {
    if !usable("counters of errors", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let liar = Liar::new(48);
    let device = liar.device().trim_start_matches("/dev/").to_owned();
    for (error, count) in [(false, 0), (true, 1)] {
        let trial = read(&liar, error);
        let counted = trial["integrity"]["counted"].as_array().expect("counters were read");
        let of_ext4 = |it: &&Value| it["of"] == *device && it["what"] == "file system errors";
        let of_ext4 = counted.iter().find(of_ext4).expect("that of ext4 is among them");
        let (before, after) = (of_ext4["before"].as_u64(), of_ext4["after"].as_u64());
        assert_eq!((before, after), (Some(0), Some(count)), "{of_ext4:#}");
        assert_eq!(noted(&trial, "errors-counted"), error, "{trial:#}");
        assert_eq!(trial["integrity"]["wrong"], serde_json::json!({}), "{trial:#}");
    }
}
