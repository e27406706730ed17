//! Plans that nobody chose, run one after the other, and what they came to.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::plan::{self, Draws, Plan};
use super::{held, said, times};

/// How the program is run: in a folder, with arguments.
pub type Program = fn(&Path, &[&str]) -> Output;

/// What plans came to.
#[derive(Debug, Default)]
pub struct Told {
    pub done: usize,
    pub refused: usize,
    pub without: BTreeMap<String, usize>,
    pub accused: Vec<String>,
    pub numbers: usize,
    pub problems: Vec<String>,
}

fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Runs a plan in a folder of its own, and holds all that it says against what was counted.
fn run(program: Program, plan: &Plan, at: &Path) -> Told {
    let folder = tempfile::tempdir_in(at).expect("a folder");
    let folder = folder.path();
    let typed: Vec<&str> = plan.words.iter().map(String::as_str).collect();
    let output = program(folder, &typed);
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
    let of_plan = document(&output);
    let sql = "SELECT number, elapsed_ns, window_start_ns, window_end_ns, window_read_bytes, \
               window_read_ops, window_write_bytes, window_write_ops, window_metadata_ops, \
               streams, durable FROM trial ORDER BY number";
    let counts = document(&program(folder, &["query", sql, "--json"]));
    let sql = "SELECT trial.number, operation, latency FROM histogram \
               JOIN trial ON trial.id = histogram.trial";
    let latencies = times::of(&document(&program(folder, &["query", sql, "--json"])));
    held::hold(&of_plan, &counts, &latencies, &mut told);
    said::hold(&of_plan, &mut told);
    told
}

/// Draws and runs so many plans in a directory; those that make no sense, and are refused before
/// they begin, are not counted.
///
/// # Panics
/// When anything that is printed contradicts what was counted, or nothing was run.
#[expect(clippy::print_stdout, reason = "the seed and the counts are told with --nocapture")]
pub fn hold_all(program: Program, plans: u64, at: &Path) {
    let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let first: u64 = seed.unwrap_or_else(|| now() % 1_000_000);
    let (mut all, mut problems, mut ran) = (Told::default(), Vec::new(), 0);
    for seed in first..first + 5 * plans {
        if ran == plans {
            break;
        }
        let plan = plan::drawn(&mut Draws::new(seed));
        let told = run(program, &plan, at);
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
    // Whoever contradicts himself says so; that is seldom, or the judge accuses the healthy.
    assert!(all.accused.len() * 200 <= all.done + 200, "{:#?}", all.accused);
    let enough = ran == plans && all.done as u64 > plans && all.numbers > 0;
    assert!(enough, "{all:?} of BRICKYARD_SEED={first}");
}
