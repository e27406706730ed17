//! The answer in three sentences: how fast, where it stops growing, whether to believe it.

use super::curve::{Cell, cells, stray};
use super::{Finding, Severity, operations, words};
use crate::measurement::Record;
use crate::measurement::figures::{mean_of, takes_no_memory, widened};
use crate::measurement::judge::all as notes_of;
use crate::measurement::origin::{self, Verdict};
use crate::measurement::steady::{Steady, steady};
use crate::stats::Estimate;
use crate::stats::largest::largest;
use crate::value::{self, counted};

#[cfg(test)]
mod tests;

const THROUGHPUT: &str = "throughput_bytes_per_s";
const TRANSACTIONS: &str = "transactions_per_s";

/// What a device does, and what a simulated one does: nobody must take one for the other.
const DELIVERS: [&str; 2] = ["The device delivers", "The simulated device delivers"];
const ACCEPTS: [&str; 2] = ["The device accepts", "The simulated device accepts"];

/// Three sentences for the top of a report; `findings` are those of the same records.
pub fn answer(records: &[Record], findings: &[Finding]) -> [String; 3] {
    let cells = cells(records);
    let how_fast = operations::most(&cells).unwrap_or_else(|| how_fast(&cells));
    let where_it_stops = where_it_stops(&cells, findings);
    [how_fast, where_it_stops, whether_to_believe(records, &cells, findings)]
}

/// Whether a cell's figures are the device's, as far as is known: every one of its trials wrote
/// around the page cache, or read from where it should, which was not memory.
pub fn is_devices(cell: &Cell<'_>) -> bool {
    let settings = cell.settings;
    let reads = settings.word("access").contains("read");
    // What two counts say of reads weighs more than how they were asked for, or than a note.
    let judged = |record: &&Record| {
        record.outcome.measurement().is_some_and(|measurement| {
            measurement.evidence.delivered.write_bytes == 0
                && origin::from(measurement, &record.trial.settings) == Verdict::Device
        })
    };
    if reads && !cell.records.is_empty() && cell.records.iter().all(judged) {
        return true;
    }
    // Reads have their origin; a write that asked for O_DIRECT may have been taken by memory.
    let by_memory = |record: &&Record| {
        record.outcome.measurement().is_some_and(|measurement| {
            !takes_no_memory(measurement, &record.trial.settings)
                || measurement.notes.iter().any(|note| note.kind == "direct-ignored")
        })
    };
    (settings.flag("direct") || (reads && settings.flag("cold")))
        && cell.strays() == 0
        && !cell.records.iter().any(by_memory)
}

fn has(cell: &Cell<'_>, name: &str) -> bool {
    !cell.values(name).is_empty()
}

fn simulated(cell: &Cell<'_>) -> bool {
    cell.settings.engine() == "sim"
}

fn how_fast(cells: &[Cell<'_>]) -> String {
    let transactions = !cells.is_empty() && cells.iter().all(|cell| has(cell, TRANSACTIONS));
    let name = if transactions { TRANSACTIONS } else { THROUGHPUT };
    let fastest = |among: &dyn Fn(&Cell<'_>) -> bool| {
        let among: Vec<&Cell<'_>> = cells.iter().filter(|cell| among(cell)).collect();
        Fastest::of(&among, name)
    };
    let reads = |cell: &Cell<'_>| cell.settings.word("access").contains("read");
    let network = |cell: &Cell<'_>| cell.settings.is_network();
    let from_files = |cell: &Cell<'_>| cell.settings.has("files");
    let (lead, found) = if let (true, Some(found)) = (cells.iter().all(network), fastest(&network))
    {
        match from_files(found.cell) {
            true => ("From files over the network the most was", found),
            false => ("From memory to memory the most was", found),
        }
    } else if let Some(found) = fastest(&|cell| reads(cell) && is_devices(cell)) {
        (if simulated(found.cell) { DELIVERS[1] } else { DELIVERS[0] }, found)
    } else if let Some(found) = fastest(&|cell| !reads(cell) && is_devices(cell)) {
        (if simulated(found.cell) { ACCEPTS[1] } else { ACCEPTS[0] }, found)
    } else if let Some(found) = fastest(&|_| true) {
        ("No figure is surely the device's; with that warning, the most was", found)
    } else {
        return without_a_rate(cells);
    };
    let Fastest { cell, estimate, rivals } = found;
    let rate = match name {
        THROUGHPUT => words::load_rate(cell.settings, &estimate, cell.records.len()),
        _ => words::rate_of(name, &estimate, cell.records.len()),
    };
    let streams = words::streams(cell.settings.number("streams"));
    let load = cell.load(&["block-size", "queue-depth", "directories"]);
    let mut load = load.chars();
    let lower = !network(cell);
    let first = load.next().into_iter().map(|c| if lower { c.to_ascii_lowercase() } else { c });
    let load: String = first.chain(load).collect();
    // Of loads that were run once nobody knows which may be as fast.
    let luck = match rivals {
        2.. if estimate.interval.is_some() => format!(
            "; {} may be as fast, and figure and interval allow for the luck of the choice",
            counted(rivals as u64 - 1, "other load")
        ),
        _ => String::new(),
    };
    format!("{lead} {rate} with {streams}, {load}{luck}.")
}

/// The fastest of some cells, without the luck of being picked.
struct Fastest<'a> {
    cell: &'a Cell<'a>,
    /// As [`largest`] has it, no finer than whole blocks allow.
    estimate: Estimate,
    /// How many cells may be as fast, this one among them.
    rivals: usize,
}

impl<'a> Fastest<'a> {
    /// By the rate `name`; `None` where none has it.
    fn of(cells: &[&'a Cell<'a>], name: &str) -> Option<Fastest<'a>> {
        let rates: Vec<Vec<f64>> = cells.iter().map(|cell| cell.values(name)).collect();
        // A load that moved nothing is the fastest where none moved anything.
        let Some(found) = largest(&rates) else {
            let cell = *cells.iter().find(|cell| has(cell, name))?;
            let estimate = mean_of(&cell.records, name)?;
            return Some(Fastest { cell, estimate, rivals: 1 });
        };
        let cell = cells[found.place];
        let estimate = widened(name, cell.records.iter().copied(), found.estimate);
        Some(Fastest { cell, estimate: estimate.not_negative(), rivals: found.rivals })
    }
}

/// Why no rate is told.
fn without_a_rate(cells: &[Cell<'_>]) -> String {
    let mut notes = cells.iter().flat_map(|cell| &cell.records).flat_map(|record| {
        let all = notes_of(record);
        let why =
            all.iter().find(|note| matches!(note.kind.as_str(), "too-short" | "inconsistent"));
        why.map(|note| note.text.clone())
    });
    notes.next().unwrap_or_else(|| "Nothing was measured.".to_owned())
}

fn where_it_stops(cells: &[Cell<'_>], findings: &[Finding]) -> String {
    let claims: Vec<&Finding> =
        findings.iter().filter(|finding| finding.question == "scaling").collect();
    let of_bytes = cells.iter().any(|cell| has(cell, THROUGHPUT));
    let what = if of_bytes { "throughput stops" } else { "the rates stop" };
    match claims.first() {
        None => format!(
            "Where {what} growing with more streams was not measured: that takes three numbers of \
             streams or more."
        ),
        // A collapse, when there is one, follows its curve's knee.
        Some(first) => match claims.get(1).filter(|next| is_collapse(first, next)) {
            Some(collapse) => format!("{} {}", first.claim, collapse.claim),
            None => first.claim.clone(),
        },
    }
}

/// Whether a finding tells of a collapse beyond the knee that another tells of.
fn is_collapse(knee: &Finding, other: &Finding) -> bool {
    other.evidence == knee.evidence && other.severity == Severity::Warning
}

fn whether_to_believe(records: &[Record], cells: &[Cell<'_>], findings: &[Finding]) -> String {
    let records: Vec<&Record> = records.iter().filter(|record| !record.trial.prepares()).collect();
    let done: Vec<&Record> =
        records.iter().copied().filter(|record| record.outcome.measurement().is_some()).collect();
    if done.is_empty() {
        return "There is nothing to believe yet.".to_owned();
    }
    let fewest = cells.iter().map(|cell| cell.records.len()).min().unwrap_or(0);
    let tested = done.iter().filter_map(|record| {
        match steady(record.outcome.measurement()?, &record.trial.settings) {
            Steady::Tested(settled) => Some(settled),
            Steady::NotTested(_) => None,
        }
    });
    let tested: Vec<bool> = tested.collect();
    let settled = tested.iter().filter(|settled| **settled).count();
    let repeats = match fewest {
        1 if done.len() == 1 => "run once only, without an interval".to_owned(),
        1 => "some or all of them run once only, without an interval".to_owned(),
        n => format!("each cell run at least {n} times"),
    };
    let steadiness = match tested.len() {
        0 => "none was long enough to test whether it had settled".to_owned(),
        n => format!("{settled} of the {n} that were long enough to tell had settled"),
    };
    let noted = done.iter().filter(|record| !notes_of(record).is_empty()).count();
    let astray = done.iter().filter(|record| stray(record).is_some()).count();
    let failed = records.len() - done.len();
    let mut doubts = Vec::new();
    for (count, one, several) in [
        (noted, "carries notes", "carry notes"),
        (
            astray,
            "did not surely read from where it should",
            "did not surely read from where they should",
        ),
        (failed, "has no result", "have no result"),
    ] {
        if count > 0 {
            doubts.push(format!("{count} {}", if count == 1 { one } else { several }));
        }
    }
    let worst = findings.iter().map(|finding| finding.severity).max();
    let doubts = match (doubts.is_empty(), worst) {
        (true, Some(Severity::Warning | Severity::Error)) => "see the warnings below".to_owned(),
        (true, _) => "nothing speaks against it".to_owned(),
        (false, _) => doubts.join(", "),
    };
    let trials = value::counted(done.len() as u64, "trial");
    format!("This rests on {trials}, {repeats}; {steadiness}; {doubts}.")
}
