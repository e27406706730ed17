//! The answer in three sentences: how fast, where it stops growing, whether to believe it.

use super::curve::{CellReplicates, cells, stray};
use super::fastest::Fastest;
use super::{Finding, Severity, operations, programs, words};
use base::value::{self, counted, percent};
use experiment::knob;
use experiment::knob::access::IoDirection;
use experiment::measurement::figure_names;
use experiment::measurement::figures::{rate, takes_no_memory};
use experiment::measurement::judge::all as notes_of;
use experiment::measurement::origin::{self, Verdict};
use experiment::measurement::steady::{Steady, steady};
use experiment::measurement::{Record, Window};

#[cfg(test)]
mod tests;

/// What a device does, and what a simulated one does: nobody must take one for the other.
const DEVICE: [&str; 2] = ["The device", "The simulated device"];
/// Loads of smaller blocks are about operations: their bytes per second are not the device's speed.
const SMALL: f64 = 65_536.0;

/// Three sentences for the top of a report; `findings` are those of the same records.
pub fn answer(records: &[Record], findings: &[Finding]) -> [String; 3] {
    let cells = cells(records);
    let how_fast = match programs::are_asked(&cells) {
        true => programs::fetched(&cells).unwrap_or_else(|| without_a_rate(&cells)),
        false => operations::most(&cells).unwrap_or_else(|| how_fast(&cells)),
    };
    let where_it_stops = where_it_stops(&cells, findings);
    [how_fast, where_it_stops, whether_to_believe(records, &cells, findings)]
}

/// Whether a cell's figures are the device's, as far as is known: every one of its trials wrote
/// around the page cache, or read from where it should, which was not memory.
pub fn is_devices(cell: &CellReplicates<'_>) -> bool {
    let settings = cell.settings;
    let reads = settings.only_reads();
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
    (settings.get(knob::DIRECT) || (reads && settings.get(knob::COLD)))
        && cell.strays() == 0
        && !cell.records.iter().any(by_memory)
}

fn has(cell: &CellReplicates<'_>, name: &str) -> bool {
    !cell.values(name).is_empty()
}

fn simulated(cell: &CellReplicates<'_>) -> bool {
    cell.settings.is_simulated()
}

/// Which way a cell's bytes went: by its access, or by what was counted of a load that has none.
fn way(cell: &CellReplicates<'_>) -> IoDirection {
    let by_count = || match moved(cell) {
        (_, 0.0) => IoDirection::Reads,
        (0.0, _) => IoDirection::Writes,
        _ => IoDirection::Both,
    };
    cell.settings.way().unwrap_or_else(by_count)
}

/// Bytes that the trials with a rate read, and that they wrote, in their windows.
fn moved(cell: &CellReplicates<'_>) -> (f64, f64) {
    let stands =
        cell.records.iter().filter(|record| rate(record, figure_names::THROUGHPUT).is_some());
    let windows = stands.filter_map(|record| record.outcome.measurement()?.window);
    let add = |(read, written): (f64, f64), window: Window| {
        (read + window.done.read_bytes as f64, written + window.done.write_bytes as f64)
    };
    windows.fold((0.0, 0.0), add)
}

fn how_fast(cells: &[CellReplicates<'_>]) -> String {
    let transactions =
        !cells.is_empty() && cells.iter().all(|cell| has(cell, figure_names::TRANSACTIONS_PER_S));
    let name =
        if transactions { figure_names::TRANSACTIONS_PER_S } else { figure_names::THROUGHPUT };
    let fastest = |among: &dyn Fn(&CellReplicates<'_>) -> bool| {
        let among: Vec<&CellReplicates<'_>> = cells.iter().filter(|cell| among(cell)).collect();
        Fastest::by_rate(&among, name)
    };
    let devices = |wanted: IoDirection| fastest(&|cell| way(cell) == wanted && is_devices(cell));
    let network = |cell: &CellReplicates<'_>| cell.settings.is_network();
    let (lead, found) = if let (true, Some(found)) = (cells.iter().all(network), fastest(&network))
    {
        match found.cell.settings.has(knob::FILES) {
            true => ("From files over the network the most was".to_owned(), found),
            false => ("From memory to memory the most was".to_owned(), found),
        }
    } else if let Some(found) = devices(IoDirection::Reads) {
        if name == figure_names::THROUGHPUT && found.cell.settings.number(knob::BLOCK_SIZE) < SMALL
        {
            return of_small_blocks(&found, cells);
        }
        (format!("{} delivers", device(found.cell)), found)
    } else if let Some(found) = devices(IoDirection::Writes) {
        (format!("{} accepts", device(found.cell)), found)
    } else if let Some(found) = devices(IoDirection::Both) {
        (format!("{} moves", device(found.cell)), found)
    } else if let Some(found) = fastest(&|_| true) {
        // Nobody takes transactions for the device's own.
        let lead = match transactions {
            true => "The most was",
            false => "No figure is surely the device's. With that warning, the most was",
        };
        (lead.to_owned(), found)
    } else {
        return without_a_rate(cells);
    };
    let rate = told(name, &found);
    let (streams, load) = load(found.cell);
    format!("{lead} {rate} with {streams}, {load}.{}", luck(&found))
}

fn device(cell: &CellReplicates<'_>) -> &'static str {
    DEVICE[usize::from(simulated(cell))]
}

/// The rate of the fastest, and what of it was read where it read and wrote.
fn told(name: &str, found: &Fastest<'_>) -> String {
    let settings = found.cell.settings;
    if name != figure_names::THROUGHPUT {
        return words::rate_of(name, &found.estimate, found.trials);
    }
    let rate = words::load_rate(settings, &found.estimate, found.trials);
    match moved(found.cell) {
        (read, written) if way(found.cell) == IoDirection::Both && read + written > 0.0 => {
            format!("{rate}, of which {} is read,", percent(read / (read + written)))
        }
        _ => rate,
    }
}

/// With how many streams, and what they do.
fn load(cell: &CellReplicates<'_>) -> (String, String) {
    let streams = words::streams(cell.settings.number(knob::STREAMS));
    let load = cell.load_in_brackets(&["block-size", "queue-depth", "directories"]);
    match cell.settings.is_network() {
        true => (streams, load),
        false => (streams, words::lower(&load)),
    }
}

/// That other loads may be as fast, as a sentence of its own. Of loads that were run once nobody
/// knows which may.
fn luck(found: &Fastest<'_>) -> String {
    match found.rivals {
        2.. if found.estimate.interval.is_some() => format!(
            " {} may be as fast; figure and interval allow for the luck of the choice.",
            counted(found.rivals as u64 - 1, "other load")
        ),
        _ => String::new(),
    }
}

/// What it is of comes first: nobody must take the bytes of small blocks for the device's speed.
fn of_small_blocks(found: &Fastest<'_>, cells: &[CellReplicates<'_>]) -> String {
    let (streams, load) = load(found.cell);
    let (device, rate) = (words::lower(device(found.cell)), told(figure_names::THROUGHPUT, found));
    let own = format!("With {streams}, {load}, {device} delivers {rate}.{}", luck(found));
    let large = |cell: &&CellReplicates<'_>| {
        let settings = cell.settings;
        let path = settings.get(knob::DIRECT) || settings.get(knob::COLD);
        settings.only_reads() && path && settings.number(knob::BLOCK_SIZE) >= SMALL
    };
    // A plan of this load alone asked for nothing else.
    let alone = cells.iter().all(|cell| cell.settings.way() == Some(IoDirection::Reads));
    match cells.iter().filter(large).find(|cell| has(cell, figure_names::THROUGHPUT)) {
        Some(other) => format!(
            "{own} {} was measured, but is not surely the device's.",
            other.load(&["block-size", "queue-depth"])
        ),
        None if alone => own,
        None => format!("{own} Reading in larger blocks was not measured."),
    }
}

/// What is told where there is no rate: times of programs, or why there is none.
fn without_a_rate(cells: &[CellReplicates<'_>]) -> String {
    let none = || match cells.iter().map(|cell| cell.records.len() as u64).sum() {
        0 => "Nothing was measured.".to_owned(),
        1 => "1 trial was done, and has no rate.".to_owned(),
        done => format!("{} were done, and none has a rate.", counted(done, "trial")),
    };
    let mut notes = cells.iter().flat_map(|cell| &cell.records).flat_map(|record| {
        let all = notes_of(record);
        let why =
            all.iter().find(|note| matches!(note.kind.as_str(), "too-short" | "inconsistent"));
        why.map(|note| note.text.clone())
    });
    programs::times(cells).or_else(|| notes.next()).unwrap_or_else(none)
}

fn where_it_stops(cells: &[CellReplicates<'_>], findings: &[Finding]) -> String {
    let claims: Vec<&Finding> =
        findings.iter().filter(|finding| finding.question == "scaling").collect();
    let of_bytes = cells.iter().any(|cell| has(cell, figure_names::THROUGHPUT));
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

fn whether_to_believe(
    records: &[Record],
    cells: &[CellReplicates<'_>],
    findings: &[Finding],
) -> String {
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
        0 => "All were too short to check for steady state".to_owned(),
        n => format!("Of the {n} that were long enough to tell {settled} had settled"),
    };
    let noted = done.iter().filter(|record| !notes_of(record).is_empty()).count();
    let astray = done.iter().filter(|record| stray(record).is_some()).count();
    let failed = records.len() - done.len();
    let mut doubts = Vec::new();
    for (count, one, several) in [
        (noted, "has notes", "have notes"),
        (astray, "may have come from a cache", "may have come from a cache"),
        (failed, "has no result", "have no result"),
    ] {
        if count > 0 {
            doubts.push(format!("{count} {}", if count == 1 { one } else { several }));
        }
    }
    let worst = findings.iter().map(|finding| finding.severity).max();
    let doubts = match (doubts.is_empty(), worst) {
        (true, Some(Severity::Warning | Severity::Error)) => "See the warnings below".to_owned(),
        (true, _) => "Nothing speaks against it".to_owned(),
        (false, _) => doubts.join(", "),
    };
    let trials = value::counted(done.len() as u64, "trial");
    format!("This rests on {trials}, {repeats}. {steadiness}. {doubts}.")
}
