//! Trials begin on a quiet device: what was queued before them is not theirs.

use serde_json::Value;

use super::{Found, Memory, Slow, amount, choose, judged};
use crate::disk::sh;
use crate::run::{noted, readings, trials, verdict};

/// What a trial says when what came before it was still going on, or is blamed for it.
const BLAMED: &[&str] = &["direct-ignored", "not-cold", "not-quiet"];

/// All direct trials are the device's and blame nobody.
fn undisturbed(document: &Value, slow: &Slow) -> Found {
    let all = trials(document);
    assert!(!all.is_empty() && all.iter().all(|it| it["outcome"] == "done"), "{document:#}");
    let mut lines = Vec::new();
    for trial in all.iter().filter(|trial| trial["settings"]["direct"] == true) {
        if let Some(kind) = BLAMED.iter().find(|kind| noted(trial, kind)) {
            return Found::Wrong(format!("{kind}: {trial:#}"));
        }
        match judged(trial, slow.bytes_per_s, Memory::None) {
            Found::Right(line) => lines.push(line),
            found => return found,
        }
    }
    Found::Right(lines.join("; "))
}

/// After a buffered trial of many streams its read-ahead was still queued: 120 MiB, at which a disk
/// of 20 MB/s was for a minute.
pub fn many_streams(number: u64) -> Found {
    let slow = Slow::at_least(45, number, 600, &["ext4", "xfs", "btrfs"]);
    let seed = amount(number, "order", 0, 1000).to_string();
    let streams = choose(number, "streams", &["streams=32", "streams=60"]);
    let knobs = ["--replicates", "2", "--seed", &seed, "direct=false,true", "stop=1s", streams];
    undisturbed(&readings(&slow.mount.name(), &["file-size=2MiB"], &knobs), &slow)
}

/// Mapped files are read ahead by faults.
pub fn mapped(number: u64) -> Found {
    let slow = Slow::at_least(40, number, 600, &["ext4", "xfs"]);
    let seed = amount(number, "order", 0, 1000).to_string();
    let streams = choose(number, "streams", &["streams=8", "streams=24"]);
    let folder = tempfile::tempdir().expect("a folder");
    let plan = format!(
        "[plan]\nname = \"mapped\"\nreplicates = 2\nseed = {seed}\nstop = {{ after = \"1s\" }}\n\
         [target]\ndirectories = [\"{}\"]\n\
         [[workload]]\nuse = \"sequential-read\"\nio-engine = \"mmap\"\ndirect = false\n\
         queue-depth = 1\n{streams}\nfile-size = \"4MiB\"\n\
         [[workload]]\nuse = \"sequential-read\"\ndirect = true\n{streams}\nfile-size = \"4MiB\"\n",
        slow.mount.name(),
    );
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let document = crate::run::json(folder.path(), &["run", "plan.toml", "--quiet"]);
    undisturbed(&document, &slow)
}

/// A whole file was asked for ahead by somebody who has left: the device goes on with it.
pub fn queued(number: u64) -> Found {
    let slow = Slow::new(number, 600);
    let mib = amount(number, "asked for ahead, MiB", 60, 200);
    let file = slow.mount.path.join("theirs");
    let of = format!("of={}", file.display());
    sh("dd", &["if=/dev/urandom", &of, "bs=1M", &format!("count={mib}"), "conv=fsync"]);
    let theirs = std::fs::File::open(&file).expect("their file");
    let _ = rustix::fs::fadvise(&theirs, 0, None, rustix::fs::Advice::DontNeed);
    let asked = std::thread::spawn(move || {
        let _ = rustix::fs::fadvise(&theirs, 0, None, rustix::fs::Advice::WillNeed);
    });
    let knobs = ["stop=2s", "file-size=64MiB", "direct=true"];
    let document = readings(&slow.mount.name(), &[], &knobs);
    asked.join().expect("asked");
    confessed(&document, &slow)
}

/// The figure is the device's, or others are named.
fn confessed(document: &Value, slow: &Slow) -> Found {
    let trial = trials(document)[0];
    let told = noted(trial, "others-io") || noted(trial, "not-quiet");
    let rate = trial["figures"]["throughput_bytes_per_s"]["value"].as_f64().unwrap_or(0.0);
    let share = rate / slow.bytes_per_s as f64;
    match judged(trial, slow.bytes_per_s, Memory::None) {
        Found::Right(line) if share < 0.9 && !told => Found::Wrong(line),
        Found::Unknown(line) if told && verdict(trial) == "unknown" => Found::Unknown(line),
        found => found,
    }
}

/// Somebody has written through the page cache, and the device is not done with it.
pub fn written(number: u64) -> Found {
    let mut slow = Slow::new(number, 600);
    let mib = amount(number, "theirs, MiB", 60, 150);
    let writes = amount(number, "writing, MB/s", 20, 40) * 1_000_000;
    assert!(slow.disk.limit(slow.bytes_per_s, writes), "a throttle");
    let of = format!("of={}", slow.mount.path.join("theirs").display());
    sh("dd", &["if=/dev/urandom", &of, "bs=1M", &format!("count={mib}")]);
    let knobs = ["stop=2s", "file-size=16MiB", "direct=true"];
    let found = confessed(&readings(&slow.mount.name(), &[], &knobs), &slow);
    // Nothing is left to be written at that speed when the file system goes.
    assert!(slow.disk.limit(slow.bytes_per_s, 400_000_000), "a throttle");
    found
}
