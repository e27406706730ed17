//! (pure) IO500: its `result_summary.txt`, which it prints as well, and its `result.txt`.
//!
//! Bandwidth is in GiB/s (2^30 bytes), in the shell scripts of up to 2020 as well, which call it
//! GB/s: they divide the MiB/s of IOR by 1024. kIOPS are thousands of operations per second. The
//! score is the root of bandwidth and operations, each the geometric mean of its phases (of IO500's
//! own `calc_score`); until 2018 it was their product.

use super::{Form, Importer, ToolResult};
use experiment::measurement::Note;

mod result;
#[cfg(test)]
mod tests;

use result::Io500Run;

/// See [`Importer`].
pub const IO500: Importer = Importer {
    name: "io500",
    about: "What IO500 prints, which is its `result_summary.txt`, and its `result.txt`",
    forms: &[
        Form {
            bring: "`result_summary.txt`, or all that it prints",
            recorded: &[
                "2017", "2019", "isc20_v4", "sc20_v3", "isc22_v1", "isc24_v3", "isc26", "isc26_v2",
            ],
            read: "the rate of each phase, and the scores",
            not_read: "the time of a phase; the score of an extended run; a run that was stopped",
        },
        Form {
            bring: "`result.txt`",
            recorded: &["isc24_v3", "isc26", "isc26_v2"],
            read: "the same, and how many processes there were",
            not_read: "rates at the stonewall",
        },
    ],
    words: &[
        "IO500",
        "[RESULT",
        "ior-easy-write",
        "ior_easy_write",
        "mdtest-hard-delete",
        "mdtest_hard_delete",
        "kIOPS",
        "kiops",
        "[SCORE",
        "throughput-stonewall",
    ],
    mark: "line `[SCORE ] Bandwidth 0.775064 GiB/s : IOPS ...`, nor a section `[ior-easy-write]`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    let mut at = "";
    text.lines().map(str::trim).any(|line| {
        at = section(line).unwrap_or(at);
        let told = line.split_once('=').is_some_and(|(key, _)| tells(at, key.trim()));
        told || is_version(line).is_some() || row(line).is_some() || is_score(line)
    })
}

/// One result a run. It is whole when its score is told.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all: Vec<ToolResult> = Vec::new();
    let mut run: Option<Io500Run> = None;
    // The section of `result.txt`.
    let mut at = String::new();
    let mut tasks = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        if let Some(version) = is_version(line) {
            if let Some(before) = run.filter(|run| run.has_phases()) {
                return Err(before.unfinished());
            }
            run = Some(Io500Run::begin(version, tasks.take()));
            if let (Some(run), true) = (&mut run, line.ends_with("(extended)")) {
                run.extended = true;
            }
        } else if let Some((name, rest)) = row(line) {
            run.get_or_insert_default().row(name, rest)?;
        } else if is_score(line) {
            let mut run = run.take().unwrap_or_default();
            run.score(line)?;
            all.push(run.finished()?);
        } else if line.starts_with("[SCOREX]") {
            extended(&mut all);
        } else if let Some(name) = section(line) {
            name.clone_into(&mut at);
        } else if line.contains("ERROR INVALID") || line.contains("Not valid for IO-500") {
            if let Some(run) = &mut run {
                run.invalid = true;
            }
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            if at == "run" && key == "procs" {
                tasks = value.parse().ok();
            }
            if tells(&at, key) {
                run.get_or_insert_default().section = true;
            }
            if let ("run", "mode", Some(run)) = (at.as_str(), key, &mut run) {
                run.extended = value == "extended";
            }
            let is_last = run.as_mut().map(|run| run.key(&at, key, value)).transpose()?;
            if is_last == Some(true) {
                all.extend(run.take().map(Io500Run::finished).transpose()?);
            }
        }
    }
    match (run, all.is_empty()) {
        (Some(run), none) if none || run.has_phases() => Err(run.unfinished()),
        (_, true) => Err("there is no run of IO500 in it".to_owned()),
        (_, false) => Ok(all),
    }
}

/// An extended run has a second score, of more phases.
fn extended(all: &mut [ToolResult]) {
    let Some(said) = all.last_mut() else { return };
    if !said.notes.iter().any(|note| note.kind == "extended") {
        said.notes.push(extended_note());
    }
}

fn extended_note() -> Note {
    Note::new("extended", "the score of its extended run, [SCOREX], is left out")
}

/// `IO500 version io500-isc26 (standard)`, and of `result.txt` `version = io500-isc26`.
fn is_version(line: &str) -> Option<&str> {
    if let Some(version) = line.strip_prefix("IO500 version ") {
        return version.split(' ').next();
    }
    let (key, version) = line.split_once('=')?;
    let version = version.trim();
    (key.trim() == "version" && version.starts_with("io500-")).then_some(version)
}

/// `[RESULT]       ior-easy-write       23.687935 GiB/s : time 739.905 seconds`: the name of the
/// phase, and what follows. What does not count for the score has `[      ]` before it.
fn row(line: &str) -> Option<(&str, Row<'_>)> {
    let (label, rest) = line.strip_prefix('[')?.split_once(']')?;
    if !label.trim().is_empty() && !label.starts_with("RESULT") {
        return None;
    }
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    // Of the shell scripts: `[RESULT] BW   phase 1   ior_easy_write   8.581 GB/s : ...`.
    if let ["BW" | "IOPS", "phase", _, rest @ ..] = words.as_slice() {
        words = rest.to_vec();
    }
    let [name, value, unit, ":", "time", _, "seconds", valid @ ..] = words.as_slice() else {
        return None;
    };
    let invalid = label.contains("invalid") || valid.contains(&"[INVALID]");
    Some((name, Row { value, unit, invalid }))
}

/// What a row says of its phase.
struct Row<'a> {
    value: &'a str,
    unit: &'a str,
    invalid: bool,
}

/// `[SCORE ] Bandwidth 4.444457 GiB/s : IOPS 37.951332 kiops : TOTAL 12.987419`.
fn is_score(line: &str) -> bool {
    line.starts_with("[SCORE") && !line.starts_with("[SCOREX") && line.contains("Bandwidth ")
}

/// The name of a section: `[ior-easy-write]`.
fn section(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!name.is_empty() && name.chars().all(is_part)).then_some(name)
}

/// Whether a key is of a phase that was run. What IO500 is told to do has sections of these names,
/// too.
fn tells(section: &str, key: &str) -> bool {
    begins(section) && ["t_start", "exe", "score", "t_delta", "t_end"].contains(&key)
}

/// Whether it is the name of a phase that no other file has.
fn begins(name: &str) -> bool {
    let words = ["ior-easy-", "ior-hard-", "ior-rnd", "mdtest-easy-", "mdtest-hard-"];
    words.iter().any(|word| name.starts_with(word))
}

fn is_phase(name: &str) -> bool {
    let others = ["find", "find-easy", "find-hard", "timestamp"];
    begins(name) || name.starts_with("mdworkbench-") || others.contains(&name)
}
