//! (pure) IO500's outputs as they were recorded, and changed.

use base::stats::testing::Random;

use super::*;
use crate::testing::{figure, rounded, same_or_refused};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/tools/io500-", $name, ".txt"))
    };
}

const SUMMARY: &str = recorded!("isc26-summary");
const RESULT: &str = recorded!("isc26-result");
const BASH: &str = recorded!("2019-bash");
const TWO: &str = recorded!("sc20_v3");
const INVALID: &str = recorded!("isc22_v1-invalid");

fn notes(said: &ToolResult) -> Vec<(&str, &str)> {
    said.notes.iter().map(|note| (note.kind.as_str(), note.text.as_str())).collect()
}

/// 23.687935 * 1073741824 = 25434726534 bytes per second, 38.139993 kIOPS = 38139.993.
#[test]
fn each_phase_has_its_rate_and_the_run_its_scores() {
    let said = &IO500.read(SUMMARY).unwrap()[0];
    let whole = |name: &str| figure(said, name).map(f64::round);
    assert_eq!(whole("ior_easy_write_throughput_bytes_per_s"), Some(25_434_726_534.0));
    assert_eq!(whole("ior_hard_read_throughput_bytes_per_s"), Some(1_417_573_283.0));
    assert_eq!(whole("ior_rnd4k_easy_read_throughput_bytes_per_s"), Some(22_159_884.0));
    assert_eq!(rounded(said, "mdtest_easy_write_per_s"), Some(38_139.993));
    assert_eq!(figure(said, "mdtest_hard_delete_per_s"), Some(6610.496));
    assert_eq!(whole("find_per_s"), Some(719_931.0));
    assert_eq!(whole("ior_score_throughput_bytes_per_s"), Some(4_772_199_366.0));
    assert_eq!(figure(said, "mdtest_score_per_s"), Some(37_951.332));
    assert_eq!(figure(said, "io500_score"), Some(12.987_419));
    assert_eq!((said.figures.len(), said.version.as_str()), (16, "isc26-1-g8863e648cd88"));
    assert!(said.notes.is_empty(), "{:?}", said.notes);
}

/// Both files of one run say the same; one of them knows the number of processes.
#[test]
fn result_txt_has_what_the_summary_has() {
    for (summary, result, tasks) in
        [(SUMMARY, RESULT, 80), (recorded!("isc24_v3-summary"), recorded!("isc24_v3-result"), 640)]
    {
        let (summary, result) = (IO500.read(summary).unwrap(), IO500.read(result).unwrap());
        assert_eq!(summary[0].figures, result[0].figures);
        assert_eq!(result[0].settings["streams"], tasks);
        assert!(summary[0].settings.is_empty());
    }
    let both = IO500.read(&format!("{SUMMARY}{RESULT}")).unwrap();
    assert_eq!((both.len(), &both[0].figures), (2, &both[1].figures));
    let others = RESULT.replace("nproc           = 80", "nproc           = 40");
    assert!(IO500.read(&others).unwrap()[0].settings.is_empty());
}

/// The scripts divide IOR's MiB/s by 1024 and call it GB/s: 8.581 * 1073741824 = 9213778592.
#[test]
fn the_gb_of_the_scripts_are_gib() {
    let said = &IO500.read(BASH).unwrap()[0];
    let rate = figure(said, "ior_easy_write_throughput_bytes_per_s").map(f64::round);
    assert_eq!(rate, Some(9_213_778_592.0));
    assert_eq!(figure(said, "mdtest_hard_delete_per_s"), Some(2625.0));
    assert_eq!(figure(said, "io500_score"), Some(4.90749));
    assert_eq!(notes(said), [("invalid", "IO500 calls this run invalid")]);
    let said = &IO500.read(recorded!("isc20_v4")).unwrap()[0];
    assert_eq!((said.version.as_str(), figure(said, "io500_score")), ("isc20_v4", Some(3.11652)));
}

/// In 2017 the total was the product of both scores. The scripts print each phase twice.
#[test]
fn a_total_that_is_a_product_is_no_score() {
    let all = IO500.read(recorded!("2017-bash")).unwrap();
    assert_eq!((all.len(), figure(&all[0], "io500_score")), (1, None));
    assert_eq!(figure(&all[0], "mdtest_easy_stat_per_s"), Some(166_332.0));
    assert_eq!(all[0].figures.len(), 13);
    assert!(notes(&all[0])[0].1.contains("a product"));
    let other = recorded!("2017-bash").replacen("1.444", "1.445", 1);
    assert!(parse(&other).unwrap_err().contains("ior_hard_write stands there twice"));
}

#[test]
fn what_is_invalid_is_told_so() {
    let said = &IO500.read(INVALID).unwrap()[0];
    assert_eq!(
        notes(said),
        [
            ("no-result", "IO500 has no result of find"),
            ("invalid", "IO500 calls this run invalid: find"),
        ]
    );
    assert_eq!(figure(said, "find_per_s"), None);
    assert_eq!(figure(said, "io500_score"), Some(0.001_875));
    let result = RESULT.replace("= 12.987419", "= 12.987419 [INVALID]");
    let said = &IO500.read(&result).unwrap()[0];
    assert_eq!(notes(said), [("invalid", "IO500 calls this run invalid")]);
    let label = BASH.replace("[RESULT] BW   phase 2", "[RESULT-invalid] BW   phase 2");
    let label = label.replace("One or more", "#").replace("[SCORE-valid]", "[SCORE-invalid]");
    let said = &IO500.read(&label).unwrap()[0];
    assert_eq!(notes(said), [("invalid", "IO500 calls this run invalid: ior_hard_write")]);
    // Of a run of some phases the scripts make no score.
    let rows: String = BASH.lines().take(6).map(|line| format!("{line}\n")).collect();
    let zero = format!("{rows}[SCORE-invalid] Bandwidth 0 GB/s : IOPS 0 kiops : TOTAL 0\n");
    let said = &IO500.read(&zero).unwrap()[0];
    assert_eq!(notes(said)[0].1, "IO500 gives it no score: phases of it are missing");
    assert_eq!((said.figures.len(), figure(said, "io500_score")), (3, None));
    let more = format!("{SUMMARY}[SCOREX] Bandwidth 1.0 GiB/s : IOPS 1.0 kiops : TOTAL 1.0\n");
    assert_eq!(notes(&IO500.read(&more).unwrap()[0])[0].0, "extended");
}

/// An extended run has phases that do not count for its score, and a second score of all.
#[test]
fn an_extended_run_has_its_other_phases_as_well() {
    let printed = &IO500.read(recorded!("isc26_v2-extended")).unwrap()[0];
    let result = &IO500.read(recorded!("isc26_v2-extended-result")).unwrap()[0];
    assert_eq!(printed.figures, result.figures);
    assert_eq!(printed.figures.len(), 21);
    assert_eq!(rounded(printed, "find_easy_per_s"), Some(1999.792));
    assert_eq!(rounded(printed, "mdworkbench_delete_per_s"), Some(7033.658));
    assert_eq!(figure(printed, "io500_score"), Some(3.983_057));
    let kinds: Vec<&str> = notes(printed).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["extended", "invalid"]);
    assert!(notes(printed)[1].1.ends_with("ior-hard-write, mdtest-hard-write, find, find-hard"));
    let kinds: Vec<&str> = notes(result).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["extended", "invalid"]);
}

#[test]
fn several_runs_are_as_many_results() {
    let all = IO500.read(TWO).unwrap();
    let scores: Vec<_> = all.iter().map(|said| figure(said, "io500_score")).collect();
    assert_eq!(scores, [Some(2.724_124), Some(6.548_076)]);
}

#[test]
fn a_run_without_its_score_is_no_result() {
    for text in [recorded!("isc26-stopped-refused"), &SUMMARY[..SUMMARY.find("[SCORE").unwrap()]] {
        let why = parse(text).unwrap_err();
        assert_eq!(why, "it was cut short, or the run was stopped: its score is not told");
        assert!(knows(text));
    }
    let end = TWO.find("[SCORE").unwrap();
    let second = TWO[end..].find("IO500").unwrap();
    let first_cut = format!("{}{}", &TWO[..end], &TWO[end + second..]);
    assert!(parse(&first_cut).unwrap_err().contains("its score is not told"));
}

/// What IO500 is told to do "was cut short".
#[test]
fn a_configuration_is_no_run() {
    let text =
        "[global]\ndatadir = ./datafiles\n\n[ior-easy-write]\nrun = TRUE\n\n[find]\nnproc = \n";
    assert!(!knows(text));
    assert_eq!(parse(text).unwrap_err(), "there is no run of IO500 in it");
    assert!(knows("[run]\nversion         = io500-isc26\n"));
    assert!(knows("[ior-easy-write]\nt_start         = 2026-05-18 08:20:20\n"));
}

#[test]
fn a_score_that_its_phases_contradict_is_refused() {
    for (from, to, why) in [
        ("0.568578 GiB/s", "0.668578 GiB/s", "bandwidth, 4.444457, is not the geometric mean"),
        ("7.396336 kIOPS", "8.396336 kIOPS", "operations, 37.951332, is not the geometric mean"),
        ("TOTAL 12.987419", "TOTAL 13.987419", "its total, 13.987419, is not the mean"),
        ("0.568578 GiB/s", "0.568578 kIOPS", "its phase ior-hard-write has the unit kIOPS"),
        ("0.568578 GiB/s", "-0.56857 GiB/s", "`-0.56857` is no result"),
    ] {
        let text = SUMMARY.replace(from, to);
        let told = parse(&text).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
    let score = SUMMARY.lines().find(|line| line.starts_with("[SCORE")).unwrap();
    let why = parse(&format!("{score}\n")).unwrap_err();
    assert_eq!(why, "its score stands there without its phases");
    // A lost row is one part less of the mean.
    let row = SUMMARY.lines().find(|line| line.contains("ior-hard-write")).unwrap();
    let lost = SUMMARY.replace(&format!("{row}\n"), "");
    assert!(parse(&lost).unwrap_err().contains("not the geometric mean"));
    let twice = RESULT.replace("BW              = 4.444457", "MD              = 4.444457");
    assert!(parse(&twice).unwrap_err().contains("its MD stands there twice"));
}

/// Rows in another order, other blanks, lines of IO500 between them, and cuts.
#[test]
fn a_changed_output_gives_the_same_or_an_error() {
    let mut random = Random::new(28);
    let (mut kept, mut tried) = (0, 0);
    for whole in [SUMMARY, RESULT, BASH, TWO, INVALID] {
        let lines: Vec<&str> = whole.lines().collect();
        for _ in 0..80 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let to = (random.uniform() * lines.len() as f64) as usize;
            let mut changed: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
            match (random.uniform() * 6.0) as usize {
                0 => changed.insert(at, "[node1:4711] MCA btl: eager_limit 4096".to_owned()),
                1 => changed[at] = changed[at].replace("  ", " "),
                2 => changed.truncate(at),
                3 if lines[at].contains("RESULT]") && lines[to].contains("RESULT]") => {
                    // Phases come in another order; those of two runs stay apart.
                    if (at < lines.len() / 2) == (to < lines.len() / 2) {
                        changed.swap(at, to);
                    }
                }
                3 => changed[at].push(' '),
                4 => changed.insert(at, "; [I] calling a phase".to_owned()),
                _ => changed[at] = format!("\t{}", changed[at]),
            }
            tried += 1;
            let text = format!("{}\n", changed.join("\n"));
            // Before the end of the second run is a whole first one.
            if !(whole == TWO && changed.len() < lines.len()) {
                kept += usize::from(same_or_refused(&IO500, whole, &text, 0.0));
            }
        }
    }
    assert!(kept * 2 > tried, "{kept} of {tried}");
}
