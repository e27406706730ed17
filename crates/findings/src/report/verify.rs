//! (pure) What a verification came to, for people and for programs: what `brickyard verify` prints.
//!
//! The rates are bounded over the bits that came from the device: bits out of memory, and bits of
//! which nobody knows, are no evidence on it, and are told apart. What is counted are events, each
//! once: a block (or, against a list, a file) that came back wrong, a place that could not be read.

use std::fmt::Write;

use serde_json::{Value, json};

use base::stats::poisson::{exposure_needed_with, rate_upper};
use base::value;
use experiment::measurement::integrity::Fault;
use experiment::measurement::verified::ProblemKind;
use experiment::measurement::verified::outcome::Verification;

#[cfg(test)]
mod tests;

/// What makers of drives promise: unreadable sectors per bit read.
pub const PROMISES: [f64; 3] = [1e-14, 1e-15, 1e-17];

/// Faults and problems beyond so many are counted in the text; the document has them.
const LINES_MAX: usize = 40;

/// Bits that were read, and how many of them are evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bits {
    /// Read and checked.
    pub checked: f64,
    /// Of those, out of the device.
    pub from_device: f64,
    /// Held against a sum that was known before.
    pub compared: f64,
    /// Of those, out of the device.
    pub compared_from_device: f64,
}

/// The bits of an outcome.
pub fn bits(outcome: &Verification) -> Bits {
    let mut bits = Bits::default();
    for reading in &outcome.readings {
        let share = reading.device_share();
        let (checked, compared) =
            (reading.checked_bytes as f64 * 8.0, reading.compared_bytes as f64 * 8.0);
        bits.checked += checked;
        bits.compared += compared;
        bits.from_device += checked * share;
        bits.compared_from_device += compared * share;
    }
    bits
}

/// Hours of further reading, at the speed so far, after which a promise of `rate` unreadable places
/// per bit would be shown at 95 % if no further one came; `None` where nothing is known to come
/// from the device.
pub fn hours_needed(outcome: &Verification, rate: f64) -> Option<f64> {
    let bits = bits(outcome).from_device;
    if bits <= 0.0 || outcome.elapsed_ns == 0 {
        return None;
    }
    let per_hour = bits / (outcome.elapsed_ns as f64 / 3.6e12);
    let needed = exposure_needed_with(outcome.integrity.unreadable, rate);
    Some((needed - bits).max(0.0) / per_hour)
}

/// The document, as `docs/reference/verify.schema.json` says.
pub fn json(outcome: &Verification, exit_status: u8) -> Value {
    let bits = bits(outcome);
    let whole = |bits: f64| bits.round() as u64;
    let rate = |events: u64, exposure: f64| {
        let upper = rate_upper(events, exposure);
        json!({
            "events": events,
            "bits": whole(exposure),
            "per_bit": (exposure > 0.0).then(|| events as f64 / exposure),
            "per_bit_at_most": upper.is_finite().then_some(upper),
        })
    };
    let integrity = &outcome.integrity;
    let hours = PROMISES
        .map(|promise| json!({ "per_bit": promise, "hours_more": hours_needed(outcome, promise) }));
    let counts: serde_json::Map<String, Value> = outcome
        .problem_counts
        .iter()
        .map(|(kind, count)| (kind.name().to_owned(), (*count).into()))
        .collect();
    json!({
        "brickyard": env!("CARGO_PKG_VERSION"),
        "verify": {
            "against": if outcome.list.is_some() { "list" } else { "first-reading" },
            "list": outcome.list,
            "names_from": outcome.names_from,
            "started_unix_ns": outcome.started_unix_ns,
            "elapsed_ns": outcome.elapsed_ns,
            "interrupted": outcome.interrupted,
            "clean": outcome.is_clean(),
            "exit_status": exit_status,
            "passes": outcome.passes,
            "files": {
                "asked": outcome.files,
                "read": outcome.files_read,
                "wrong": outcome.files_wrong,
            },
            "bits": {
                "checked": whole(bits.checked),
                "from_device": whole(bits.from_device),
                "compared": whole(bits.compared),
                "compared_from_device": whole(bits.compared_from_device),
            },
            "silent": rate(integrity.wrong_blocks(), bits.compared_from_device),
            "unreadable": rate(integrity.unreadable, bits.from_device),
            "promises": hours,
            "readings": outcome.readings,
            "integrity": integrity,
            "problems": outcome.problems,
            "problem_counts": counts,
        }
    })
}

/// The text: faults, problems, then the table.
pub fn text(outcome: &Verification) -> String {
    let mut out = String::new();
    faults(&mut out, outcome);
    problems(&mut out, outcome);
    table(&mut out, outcome);
    out
}

fn faults(out: &mut String, outcome: &Verification) {
    let integrity = &outcome.integrity;
    for fault in integrity.faults.iter().take(LINES_MAX) {
        let Fault { file, offset, kind, what, .. } = fault;
        let whole_file = integrity.block_bytes == 0 && kind != "unreadable";
        let place = if whole_file { String::new() } else { format!(" at byte {offset}") };
        let _ = writeln!(out, "{kind}: {file}{place}: {what}; {}", fault.lasting.name());
        let rereads: Vec<String> =
            fault.rereads.iter().map(|one| format!("{}: {}", one.how, one.gave)).collect();
        if !rereads.is_empty() {
            let _ = writeln!(out, "  read again: {}", rereads.join(", "));
        }
        for line in &fault.kernel {
            let _ = writeln!(out, "  kernel: {line}");
        }
    }
    let all = integrity.wrong_blocks() + integrity.unreadable;
    more(out, all, integrity.faults.len().min(LINES_MAX), "faults");
}

fn problems(out: &mut String, outcome: &Verification) {
    // What keeps a file from being verified first.
    let mut problems: Vec<_> = outcome.problems.iter().collect();
    problems.sort_by_key(|problem| !problem.kind.is_failure());
    for problem in problems.iter().take(LINES_MAX) {
        let _ = writeln!(out, "{}: {}: {}", problem.kind.name(), problem.file, problem.what);
    }
    let all = outcome.problem_counts.values().sum();
    more(out, all, problems.len().min(LINES_MAX), "problems");
}

fn more(out: &mut String, all: u64, shown: usize, what: &str) {
    let more = all.saturating_sub(shown as u64);
    if more > 0 {
        let _ = writeln!(out, "... and {more} {what} more");
    }
}

/// A row of the table.
fn row(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "{name:<22}{text}");
}

fn table(out: &mut String, outcome: &Verification) {
    row(out, "verdict", &verdict(outcome));
    let against = match (&outcome.list, &outcome.names_from) {
        (Some(list), Some(from)) => {
            let from = if from.is_empty() { "the current directory" } else { from.as_str() };
            format!("{list}, names taken from {from}")
        }
        _ => "its own first reading".to_owned(),
    };
    row(out, "against", &against);
    let integrity = &outcome.integrity;
    let checksum = match integrity.block_bytes {
        0 => format!("{} of whole files", integrity.checksum),
        block => format!("{} of blocks of {}", integrity.checksum, value::bytes(block as f64)),
    };
    row(out, "checksum", &checksum);
    let files = match outcome.files_wrong {
        0 => format!("{} of {}", outcome.files_read, outcome.files),
        wrong => {
            format!("{} of {}; in {wrong} something was wrong", outcome.files_read, outcome.files)
        }
    };
    row(out, "files read whole", &files);
    let stopped = if outcome.interrupted { ", stopped by the user," } else { "" };
    let took = value::duration(outcome.elapsed_ns as f64);
    row(out, "passes", &format!("{}{stopped} in {took}", outcome.passes));
    amounts(out, outcome);
    rates(out, outcome);
    for promise in PROMISES {
        let text = match hours_needed(outcome, promise) {
            None => "not by this: no bit is known to come from the device".to_owned(),
            Some(0.0) => "shown: the bound lies below it".to_owned(),
            Some(hours) => format!("{} hours more at this speed", value::significant(hours)),
        };
        row(out, &format!("to test {promise:e}"), &text);
    }
}

fn amounts(out: &mut String, outcome: &Verification) {
    let bits = bits(outcome);
    let seconds = outcome.elapsed_ns as f64 / 1e9;
    let rate = if seconds > 0.0 { bits.checked / 8.0 / seconds } else { 0.0 };
    let size = |bits: f64| value::bytes(bits / 8.0);
    let checked =
        format!("{}, {:.3e} bits, {}", size(bits.checked), bits.checked, value::throughput(rate));
    row(out, "read and checked", &checked);
    let device = format!("{}, {:.3e} bits", size(bits.from_device), bits.from_device);
    row(out, "from the device", &device);
    row(out, "origin", &origins(outcome));
    let compared = format!(
        "{}, of that {:.3e} bits from the device",
        size(bits.compared),
        bits.compared_from_device
    );
    row(out, "compared", &compared);
}

fn rates(out: &mut String, outcome: &Verification) {
    let bits = bits(outcome);
    let integrity = &outcome.integrity;
    let unit = if integrity.block_bytes == 0 { "files" } else { "blocks" };
    let wrong: Vec<String> =
        integrity.wrong.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let kinds = if wrong.is_empty() { String::new() } else { format!(" ({})", wrong.join(", ")) };
    let events = integrity.wrong_blocks();
    let silent = format!("{events}{kinds}; {}", bound(events, bits.compared_from_device));
    row(out, &format!("silently wrong {unit}"), &silent);
    let (events, bytes) = (integrity.unreadable, integrity.unreadable_bytes);
    let size = if bytes > 0 { format!(" ({})", value::bytes(bytes as f64)) } else { String::new() };
    row(out, "unreadable places", &format!("{events}{size}; {}", bound(events, bits.from_device)));
    if let Some(told) = integrity.counters_told("meanwhile") {
        row(out, "error counters", &told);
    }
    if integrity.again > 0 {
        row(out, "seen again", &format!("{} times", integrity.again));
    }
}

fn verdict(outcome: &Verification) -> String {
    let integrity = &outcome.integrity;
    let left = outcome.problem_counts.iter().filter(|(kind, _)| kind.is_failure());
    let left: u64 = left.map(|(_, count)| count).sum();
    let mut said = Vec::new();
    if integrity.wrong_blocks() > 0 {
        said.push("WRONG: bytes came back that are not what they were");
    }
    if integrity.unreadable > 0 {
        said.push("UNREADABLE: the device could not read what it holds");
    }
    if left > 0 {
        said.push("INCOMPLETE: not all that was asked for could be verified");
    }
    if said.is_empty() && bits(outcome).compared <= 0.0 {
        let changed = outcome.problem_counts.contains_key(&ProblemKind::Changed);
        return match (outcome.list.is_some() || outcome.passes > 1, changed) {
            _ if outcome.integrity.checked_bytes == 0 => "nothing was read".to_owned(),
            (true, true) => "nothing was compared: everything was changed meanwhile".to_owned(),
            _ => "nothing was compared: a second pass holds it against the first".to_owned(),
        };
    }
    if said.is_empty() {
        return "clean: every byte that was compared came back as it was".to_owned();
    }
    said.join("; ")
}

fn bound(events: u64, exposure: f64) -> String {
    let upper = rate_upper(events, exposure);
    if !upper.is_finite() {
        return "no rate: no such bit is known to come from the device".to_owned();
    }
    format!("at most {upper:.1e} per bit (95 %)")
}

/// The verdicts on where bytes came from, each with its reason once.
fn origins(outcome: &Verification) -> String {
    let mut said: Vec<String> = Vec::new();
    for reading in &outcome.readings {
        let name = reading.origin.verdict.name();
        if !said.iter().any(|known| known.starts_with(name)) {
            said.push(format!("{name} ({})", reading.origin.reason));
        }
    }
    if said.is_empty() { "nothing was read".to_owned() } else { said.join("; ") }
}
