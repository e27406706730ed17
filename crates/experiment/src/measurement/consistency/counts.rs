//! Parts of a trial against all of it.

use super::OwnTrial;
use crate::measurement::Amount;
use base::value::{bytes, count, duration};

/// The controller and the streams read the clock apart, and a stream may have seen its last
/// operation a moment before the end was marked.
const LATE_SHARE: f64 = 0.01;
const LATE_NS: f64 = 10e6;

/// A field of an amount that is larger in a part than in the whole, with both.
fn more(part: &Amount, whole: &Amount) -> Option<(&'static str, u64, u64)> {
    let fields = [
        ("read", part.read_bytes, whole.read_bytes),
        ("written", part.write_bytes, whole.write_bytes),
        ("reads", part.read_ops, whole.read_ops),
        ("writes", part.write_ops, whole.write_ops),
        ("operations", part.metadata_ops, whole.metadata_ops),
    ];
    fields.into_iter().find(|(_, part, whole)| part > whole)
}

/// `12 reads`, `4 KiB written`.
fn told(what: &str, amount: u64) -> String {
    match what {
        "read" | "written" => format!("{} {what}", bytes(amount as f64)),
        _ => format!("{} {what}", count(amount)),
    }
}

/// Whether a moment lies after the end of the trial.
fn is_after(at_ns: u64, end_ns: u64) -> bool {
    end_ns > 0 && at_ns as f64 > end_ns as f64 * (1.0 + LATE_SHARE) + LATE_NS
}

/// Whether every stream was counted: those that are made by hand, and those of other programs, may
/// not be; of a network the two ends count bytes alone.
fn are_counted(facts: &OwnTrial<'_>) -> bool {
    facts.total().ops() > 0 && !facts.settings.is_network()
}

/// The window against the trial.
pub fn window(facts: &OwnTrial<'_>) -> Option<String> {
    let window = facts.measurement.window.filter(|_| are_counted(facts))?;
    let elapsed_ns = facts.measurement.elapsed_ns;
    if is_after(window.end_ns, elapsed_ns) {
        return Some(format!(
            "The time in which all streams ran ends after {}, and the trial took {}.",
            duration(window.end_ns as f64),
            duration(elapsed_ns as f64)
        ));
    }
    let (what, part, whole) = more(&window.done, &facts.total())?;
    Some(format!(
        "While all streams ran {} were counted, and {} in all.",
        told(what, part),
        told(what, whole)
    ))
}

/// Each pass against its stream.
pub fn passes(facts: &OwnTrial<'_>) -> Option<String> {
    if !are_counted(facts) {
        return None;
    }
    let mut streams = facts.measurement.streams.iter().zip(1..);
    let found = streams.find_map(|(one, number)| Some((number, more(&one.pass, &one.total)?)));
    let (number, (what, part, whole)) = found?;
    Some(format!(
        "Stream {number} has {} in its timed pass, and {} in all.",
        told(what, part),
        told(what, whole)
    ))
}

/// All passes together against the trial.
pub fn naive(facts: &OwnTrial<'_>) -> Option<String> {
    if !are_counted(facts) {
        return None;
    }
    let elapsed_ns = facts.measurement.elapsed_ns;
    let streams = &facts.measurement.streams;
    let last_ns = streams.iter().filter_map(|stream| stream.pass_end_ns).max().unwrap_or(0);
    if is_after(last_ns, elapsed_ns) {
        return Some(format!(
            "The last timed pass ends after {}, and the trial took {}.",
            duration(last_ns as f64),
            duration(elapsed_ns as f64)
        ));
    }
    let timed: u64 = streams.iter().map(|stream| stream.pass.bytes()).sum();
    let all = facts.measurement.evidence.delivered.bytes();
    (all > 0 && timed > all).then(|| {
        format!(
            "The timed passes have {}, and the load was given {}.",
            bytes(timed as f64),
            bytes(all as f64)
        )
    })
}
