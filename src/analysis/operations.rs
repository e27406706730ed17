//! How many operations on names, or transactions, there were per second at most, of each kind.

use super::curve::Cell;
use super::words;
use crate::stats::mean_interval;
use crate::value;

/// One sentence; `None` where no cell did such operations.
pub fn most(cells: &[Cell<'_>]) -> Option<String> {
    let mut best: Vec<(&str, f64, &Cell<'_>)> = Vec::new();
    for cell in cells {
        let Some(operation) = kind(cell) else { continue };
        let Some(rate) = mean_interval(&cell.values("ops_per_s")) else { continue };
        match best.iter_mut().find(|(known, ..)| *known == operation) {
            Some((_, most, _)) if *most >= rate.value => {}
            Some(known) => (known.1, known.2) = (rate.value, cell),
            None => best.push((operation, rate.value, cell)),
        }
    }
    // In the order in which the knob has its words, not in that of the trials.
    let order = crate::knob::find("operation").map(|knob| knob.domain);
    if let Some(crate::value::Domain::OneOf(words)) = order {
        best.sort_by_key(|(operation, ..)| words.iter().position(|word| word == operation));
    }
    let in_memory = |cell: &Cell<'_>| {
        let mut all = cell.records.iter().filter_map(|record| record.outcome.measurement());
        all.all(|measurement| measurement.evidence.memory)
    };
    let memory = best.iter().all(|(.., cell)| in_memory(cell));
    let told = best.iter().map(|(operation, rate, cell)| {
        let streams = words::streams(cell.settings.number("streams"));
        format!("{operation} {} with {streams}", value::iops(*rate))
    });
    let told: Vec<String> = told.collect();
    let lead = match memory {
        true => "In memory, and of no disk, operations per second at most",
        false => "Operations per second at most",
    };
    (!told.is_empty()).then(|| format!("{lead}: {}.", told.join(", ")))
}

/// What a cell counts before bytes; `None` where it counts bytes.
fn kind<'a>(cell: &Cell<'a>) -> Option<&'a str> {
    let settings = cell.settings;
    if settings.has("operation") {
        return Some(settings.word("operation"));
    }
    // A rate of commits is worth what they outlive.
    let durable = !cell.values("durable_ops_per_s").is_empty();
    settings.has("journal-mode").then_some(match durable {
        true => "durable transactions",
        false => "transactions that a power cut may undo",
    })
}
