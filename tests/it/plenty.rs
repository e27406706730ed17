//! Plans of very many trials.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs a plan on the simulated server; gives its document and the most memory that it took, bytes.
fn run(folder: &Path, replicates: u32, arguments: &[&str]) -> (Value, u64) {
    let out = std::fs::File::create(folder.join("out.json")).expect("created");
    let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .current_dir(folder)
        .args(["run", "random-read", "--engine", "sim", "--quiet", "--json", "--seed", "7"])
        .args(["streams=1,2,4,8,16", "queue-depth=1,2,4,8,16", "stop=100ms"])
        .args(["--replicates", &replicates.to_string()])
        .args(arguments)
        .stdout(Stdio::from(out))
        .spawn()
        .expect("brickyard can be started");
    let peak = peak_bytes(child);
    let text = std::fs::read_to_string(folder.join("out.json")).expect("written");
    (serde_json::from_str(&text).expect("JSON"), peak)
}

/// Waits for a child that must succeed; the largest resident set that it had, bytes.
fn peak_bytes(child: std::process::Child) -> u64 {
    let mut status = 0;
    // SAFETY: all zeros is a rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into the two and nowhere else.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert_eq!(waited, child.id() as i32);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
    usage.ru_maxrss as u64 * 1024
}

/// 6421 simulated trials took 1.7 GB at the end of their run: each record was held with its samples
/// and a histogram of a quarter of a MiB.
#[test]
fn memory_does_not_grow_with_the_samples_of_trials_that_are_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (few, few_bytes) = run(folder.path(), 10, &["--store", "few.db"]);
    let (many, many_bytes) = run(folder.path(), 60, &["--store", "many.db"]);
    let count = |document: &Value| document["trials"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!((count(&few), count(&many)), (250, 1500));
    let each = many_bytes.saturating_sub(few_bytes) / 1250;
    // What is printed of a trial, its figures and its settings, is a few KiB.
    assert!(each < 48 << 10, "{each} bytes for one more trial");

    // Nothing is lost: the page draws samples of the first and of the last.
    let report = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .current_dir(folder.path())
        .args(["report", "--store", "many.db", "--format", "html", "--output", "page.html"])
        .output()
        .expect("it runs");
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("\"timelines\":[{\"trial\":"), "no course is drawn");
}
