//! The answer in three sentences: how fast, where it stops growing, whether to believe it.

use super::curve::stray;
use super::{Finding, Severity, notes_of, words};
use crate::measurement::Record;
use crate::measurement::figures::{Cell, cells};
use crate::measurement::steady::{Steady, steady};

const THROUGHPUT: &str = "throughput_bytes_per_s";

/// Three sentences for the top of a report; `findings` are those of the same records.
pub fn answer(records: &[Record], findings: &[Finding]) -> [String; 3] {
    let cells = cells(records);
    [how_fast(records, &cells), where_it_stops(findings), whether_to_believe(records, findings)]
}

/// Whether a cell's figures are the device's, as far as is known: every one of its trials wrote, or
/// read from where it should, which was not memory.
fn is_devices(cell: &Cell, records: &[Record]) -> bool {
    let settings = &cell.settings;
    let meant = settings.flag("direct")
        || (settings.word("access").contains("read") && settings.flag("cold"));
    let mut trials = records.iter().filter(|record| cell.trials.contains(&record.trial.number));
    meant && trials.all(|record| stray(record).is_none())
}

fn how_fast(records: &[Record], cells: &[Cell]) -> String {
    let fastest = |among: &dyn Fn(&Cell) -> bool| {
        cells
            .iter()
            .filter(|cell| cell.figures.contains_key(THROUGHPUT) && among(cell))
            .max_by(|a, b| a.figures[THROUGHPUT].value.total_cmp(&b.figures[THROUGHPUT].value))
    };
    let reads = |cell: &Cell| cell.settings.word("access").contains("read");
    let devices = |cell: &Cell| is_devices(cell, records);
    let (lead, cell) = if let Some(cell) = fastest(&|cell| reads(cell) && devices(cell)) {
        ("The device delivers", cell)
    } else if let Some(cell) = fastest(&|cell| !reads(cell) && devices(cell)) {
        ("The device accepts", cell)
    } else if let Some(cell) = fastest(&|_| true) {
        ("No figure is surely the device's; with that warning, the most was", cell)
    } else {
        return "Nothing was measured.".to_owned();
    };
    let rate = words::rate(&cell.figures[THROUGHPUT], cell.trials.len());
    let streams = words::streams(cell.settings.number("streams"));
    let load = words::load(&cell.settings, &["block-size", "queue-depth", "directories"]);
    let mut load = load.chars();
    let load: String = load.next().into_iter().flat_map(char::to_lowercase).chain(load).collect();
    format!("{lead} {rate} with {streams}, {load}.")
}

fn where_it_stops(findings: &[Finding]) -> String {
    let claims: Vec<&Finding> =
        findings.iter().filter(|finding| finding.question == "scaling").collect();
    match claims.first() {
        None => "Where throughput stops growing with more streams was not measured: that takes \
                 three numbers of streams or more."
            .to_owned(),
        // A collapse, when there is one, follows its curve's knee.
        Some(first) => match claims.get(1).filter(|next| next.evidence == first.evidence) {
            Some(collapse) => format!("{} {}", first.claim, collapse.claim),
            None => first.claim.clone(),
        },
    }
}

fn whether_to_believe(records: &[Record], findings: &[Finding]) -> String {
    let done: Vec<&Record> =
        records.iter().filter(|record| record.outcome.measurement().is_some()).collect();
    if done.is_empty() {
        return "There is nothing to believe yet.".to_owned();
    }
    let cells = cells(records);
    let fewest = cells.iter().map(|cell| cell.trials.len()).filter(|n| *n > 0).min().unwrap_or(0);
    let tested = done.iter().filter_map(|record| {
        match steady(record.outcome.measurement()?, &record.trial.settings) {
            Steady::Tested(settled) => Some(settled),
            Steady::NotTested(_) => None,
        }
    });
    let tested: Vec<bool> = tested.collect();
    let settled = tested.iter().filter(|settled| **settled).count();
    let repeats = match fewest {
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
    for (count, what) in [
        (noted, "carry notes"),
        (astray, "did not surely read from where they should"),
        (failed, "have no result"),
    ] {
        if count > 0 {
            doubts.push(format!("{count} {what}"));
        }
    }
    let worst = findings.iter().map(|finding| finding.severity).max();
    let doubts = match (doubts.is_empty(), worst) {
        (true, Some(Severity::Warning | Severity::Error)) => "see the warnings below".to_owned(),
        (true, _) => "nothing speaks against it".to_owned(),
        (false, _) => doubts.join(", "),
    };
    format!("This rests on {} trials, {repeats}; {steadiness}; {doubts}.", done.len())
}
