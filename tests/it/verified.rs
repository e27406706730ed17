//! Reading with checks, as typed: corrupt data is named, kept, and told by the exit status.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn run(folder: &Path, arguments: &[&str], meanwhile: impl Fn() + Sync) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "sequential-read", "--dir", ".", "--replicates=1", "--json"])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                meanwhile();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let output = child.wait_with_output().expect("it ends");
        over.store(true, Ordering::Relaxed);
        output
    })
}

/// The file that the trial reads, as soon as it is there.
fn data(folder: &Path) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let mut works = entries.filter(|path| path.is_dir());
    works.find_map(|work| Some(work.join("brick-00000.dat")).filter(|path| path.exists()))
}

/// Somebody writes to the file all the time: before it is laid out, which does no harm, and after.
#[test]
fn bytes_that_somebody_else_writes_into_a_file_are_found_and_the_status_is_1() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let spoil = || {
        let file =
            data(folder.path()).and_then(|path| OpenOptions::new().write(true).open(path).ok());
        let Some(file) = file else { return };
        if file.metadata().is_ok_and(|about| about.len() == 1 << 20) {
            let _ = file.write_all_at(&[0xA5; 3], 5 * 4096 + 700);
        }
    };
    let knobs =
        ["verify=crc32c", "file-size=1MiB", "stop=1500ms", "direct=false", "block-size=64KiB"];
    let output = run(folder.path(), &knobs, spoil);
    let said = String::from_utf8_lossy(&output.stderr);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(output.status.code(), Some(1), "{said}\n{document:#}");
    let last = document["trials"].as_array().expect("trials").last().expect("one").clone();
    assert_eq!((&last["outcome"], &last["group"]), (&"done".into(), &"sequential-read".into()));
    assert!(last["figures"]["throughput_bytes_per_s"]["value"].as_f64().expect("a figure") > 0.0);
    let notes = last["notes"].as_array().expect("notes");
    let note = notes.iter().find(|note| note["kind"] == "corrupt-data").expect("it is noted");
    let text = note["text"].as_str().expect("text");
    for part in ["1 block did not come back as written", "brick-00000.dat at byte 20480: "] {
        assert!(text.contains(part), "{text}");
    }
    assert!(said.contains("warning: trial 2: of "), "{said}");
}

#[test]
fn clean_files_are_told_clean_and_what_cannot_be_checked_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let knobs = ["verify=crc32c,xxh3-64,off", "streams=1,2", "file-size=1MiB", "stop=pass"];
    let output = run(folder.path(), &knobs, || ());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("warning: trial"), "{said}");
    let output = run(folder.path(), &["verify=crc32c", "block-size=2KiB"], || ());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("block-size=4KiB, or verify-block=2KiB, would work"), "{said}");
}

/// A tool that cries wolf once in a week of reading is not believed when the wolf comes: 10^11 bits
/// that are right, 10^13 with `./test --long`.
#[test]
fn no_false_alarm_comes_of_a_hundred_gigabits_that_are_right() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|value| value == "1");
    let (stop, bits) = if long { ("stop=630GB", 1e13) } else { ("stop=6300MB", 1e11) };
    // In memory, where there is such a place: what is read is ours alone, and comes fast.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder");
    let knobs = ["verify=crc32c", "direct=false", "cold=false", "io-engine=sync", "queue-depth=1"];
    let size = ["file-size=256MiB", "streams=2", "--quiet", stop];
    let output = run(folder.path(), &[&knobs[..], &size[..]].concat(), || ());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&said);
    let trials = document["trials"].as_array().expect("trials");
    let reading = trials.iter().find(|trial| trial["group"] == "sequential-read").expect("one");
    let checked = &reading["integrity"];
    let checked_bits = 8.0 * checked["checked_bytes"].as_f64().expect("bytes");
    assert!(checked_bits >= bits, "{checked_bits:.3e}");
    assert_eq!(checked["wrong"], serde_json::json!({}), "{checked}");
    assert_eq!((&checked["unreadable"], &checked["again"]), (&0.into(), &0.into()), "{checked}");
}
