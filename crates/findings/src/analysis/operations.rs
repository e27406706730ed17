//! How many operations on names, or transactions, there were per second at most, of each kind.

use super::curve::CellReplicates;
use super::fastest::Fastest;
use super::words;
use base::value::counted;
use experiment::knob;
use experiment::measurement::figure_names;

/// One sentence; `None` where no cell did such operations.
pub fn most(cells: &[CellReplicates<'_>]) -> Option<String> {
    let mut kinds: Vec<(&str, Vec<&CellReplicates<'_>>)> = Vec::new();
    for cell in cells {
        let Some(operation) =
            kind(cell).filter(|_| !cell.values(figure_names::OPS_PER_S).is_empty())
        else {
            continue;
        };
        match kinds.iter_mut().find(|(known, _)| *known == operation) {
            Some((_, of)) => of.push(cell),
            None => kinds.push((operation, vec![cell])),
        }
    }
    // In the order in which the knob has its words, not in that of the trials.
    if let base::value::Domain::OneOf(words) = experiment::knob::OPERATION.domain {
        kinds.sort_by_key(|(operation, _)| words.iter().position(|word| word == operation));
    }
    let best: Vec<(&str, Fastest<'_>)> = kinds
        .iter()
        .filter_map(|(operation, of)| {
            Some((*operation, Fastest::by_rate(of, figure_names::OPS_PER_S)?))
        })
        .collect();
    let in_memory = |cell: &CellReplicates<'_>| {
        let mut all = cell.records.iter().filter_map(|record| record.outcome.measurement());
        all.all(|measurement| measurement.evidence.memory)
    };
    let memory = best.iter().all(|(_, found)| in_memory(found.cell));
    let told: Vec<String> =
        best.iter().map(|(operation, found)| format!("{operation} {}", rate(found))).collect();
    let lead = match memory {
        true => "In memory, and of no disk, operations per second at most",
        false => "Operations per second at most",
    };
    (!told.is_empty()).then(|| format!("{lead}: {}.", told.join("; ")))
}

/// `12.3k (12.0k to 12.6k) with 8 streams`.
fn rate(found: &Fastest<'_>) -> String {
    let rate = words::per_s(&found.estimate, found.trials, "");
    let streams = words::streams(found.cell.settings.number(knob::STREAMS));
    // Of loads that were run once nobody knows which may be as fast.
    let luck = match found.rivals {
        2.. if found.estimate.interval.is_some() => {
            format!(", where {} may be as fast", counted(found.rivals as u64 - 1, "other load"))
        }
        _ => String::new(),
    };
    format!("{rate} with {streams}{luck}")
}

/// What a cell counts before bytes; `None` where it counts bytes.
fn kind<'a>(cell: &CellReplicates<'a>) -> Option<&'a str> {
    let settings = cell.settings;
    if settings.has(knob::OPERATION) {
        return Some(settings.get(knob::OPERATION));
    }
    // A rate of commits is worth what they outlive.
    let durable = !cell.values("durable_ops_per_s").is_empty();
    settings.has(knob::JOURNAL_MODE).then_some(match durable {
        true => "durable transactions",
        false => "transactions that a power cut may undo",
    })
}
