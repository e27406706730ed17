//! Plans that a person could type, drawn at random and run on files in memory: nothing that is
//! printed may contradict the raw counts, or another figure, without being told.
//!
//! 40 plans, 1000 with `BRICKYARD_LONG=1`; `BRICKYARD_SEED=N` repeats a run. What is held is worked
//! out here from the store's counts, without the program's own judge.

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::{brickyard, document};

mod held;
mod plan;
mod said;

use plan::{Draws, Plan};

/// What one plan came to.
#[derive(Debug, Default)]
struct Told {
    done: usize,
    refused: usize,
    without: BTreeMap<String, usize>,
    accused: Vec<String>,
    numbers: usize,
    problems: Vec<String>,
}

/// Runs a plan in a folder of its own, and holds all that it says against what was counted.
fn run(plan: &Plan, at: &Path) -> Told {
    let folder = tempfile::tempdir_in(at).expect("a folder");
    let folder = folder.path();
    let typed: Vec<&str> = plan.words.iter().map(String::as_str).collect();
    let output = brickyard(folder, &typed);
    let said = String::from_utf8_lossy(&output.stderr);
    let mut told = Told::default();
    match output.status.code() {
        Some(0 | 1) => {}
        // What makes no sense is refused with what to type next.
        Some(2) if said.contains("hint: ") => {
            told.refused += 1;
            return told;
        }
        code => {
            told.problems.push(format!("status {code:?}: {said}"));
            return told;
        }
    }
    let document = document(&output);
    let sql = "SELECT number, elapsed_ns, window_start_ns, window_end_ns, window_read_bytes, \
               window_read_ops, window_write_bytes, window_write_ops, window_metadata_ops, \
               streams, durable FROM trial ORDER BY number";
    let counts = crate::program::document(&brickyard(folder, &["query", sql, "--json"]));
    held::hold(&document, &counts, &mut told);
    said::hold(&document, &mut told);
    told
}

/// Every claim, every cell and every trial of plans that nobody chose.
#[test]
#[expect(clippy::print_stdout, reason = "the seed and the counts are told with --nocapture")]
fn nothing_that_is_printed_contradicts_what_was_counted() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1");
    let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let chosen: Option<u64> = seed;
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let first = chosen.unwrap_or_else(|| now() % 1_000_000);
    let memory = Path::new("/dev/shm");
    let other = tempfile::tempdir().expect("a folder");
    let at = if memory.is_dir() { memory } else { other.path() };
    let (mut all, mut problems) = (Told::default(), Vec::new());
    let plans = if long { 1000 } else { 40 };
    let mut ran = 0;
    // Some make no sense, and are refused before they begin.
    for seed in first..first + 5 * plans {
        if ran == plans {
            break;
        }
        let plan = plan::drawn(&mut Draws::new(seed));
        let told = run(&plan, at);
        all.done += told.done;
        all.refused += told.refused;
        ran += 1 - told.refused.min(1) as u64;
        for (kind, count) in told.without {
            *all.without.entry(kind).or_default() += count;
        }
        all.numbers += told.numbers;
        let line = plan.words.join(" ");
        all.accused.extend(told.accused.iter().map(|it| format!("seed {seed}: {line}\n  {it}")));
        problems.extend(told.problems.iter().map(|it| format!("seed {seed}: {line}\n  {it}")));
    }
    println!(
        "{ran} plans from BRICKYARD_SEED={first}, {} refused besides: {} trials, notes of those \
         without a rate {:?}, {} inconsistent; {} numbers of sentences\n{}",
        all.refused,
        all.done,
        all.without,
        all.accused.len(),
        all.numbers,
        all.accused.join("\n")
    );
    assert!(problems.is_empty(), "BRICKYARD_SEED={first}\n{}", problems.join("\n"));
    let enough = ran == plans && all.done as u64 > plans && all.numbers > 0;
    assert!(enough, "{all:?} of BRICKYARD_SEED={first}");
}
