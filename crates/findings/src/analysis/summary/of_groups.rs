//! The figures of campaigns that measure something else than the core set: of each part of the plan
//! what it is about, at its best.

use super::{SummaryFigure, Unit, candidates, caveat, remark};
use crate::analysis::curve::CellReplicates;
use crate::analysis::fastest::Fastest;
use crate::analysis::programs;
use base::value::counted;
use experiment::knob;
use experiment::measurement::figure_names;
use experiment::measurement::figures::standing;

/// So many parts have a line of their own.
const LINES_MAX: usize = 6;
/// A label is no longer.
const LABEL_MAX: usize = 14;

/// Rates, the most telling first.
const RATES: [(&str, Unit); 3] = [
    (figure_names::TRANSACTIONS_PER_S, Unit::TransactionsPerSecond),
    (figure_names::OPS_PER_S, Unit::OperationsPerSecond),
    (figure_names::THROUGHPUT, Unit::BytesPerSecond),
];

/// A line for each part that has any figure, in the order of the plan.
pub fn figures(cells: &[CellReplicates<'_>]) -> Vec<SummaryFigure> {
    let mut parts: Vec<(String, Vec<&CellReplicates<'_>>)> = Vec::new();
    for cell in cells {
        let part = part(cell);
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, of)) => of.push(cell),
            None => parts.push((part, vec![cell])),
        }
    }
    let lines = parts.iter().filter_map(|(part, cells)| line(part, cells));
    lines.take(LINES_MAX).collect()
}

/// What a cell is a part of: its operation, or the group of its plan.
fn part(cell: &CellReplicates<'_>) -> String {
    match cell.settings.get(knob::OPERATION) {
        "" => cell.records.first().map_or("", |record| record.trial.group.as_str()).to_owned(),
        operation => operation.to_owned(),
    }
}

fn line(part: &str, cells: &[&CellReplicates<'_>]) -> Option<SummaryFigure> {
    // Of a program that is timed its bytes are none of the question.
    let is_timed =
        cells.iter().all(|cell| programs::is_timed(cell)) && Fastest::program(cells).is_some();
    let has = |name: &str| cells.iter().any(|cell| !cell.values(name).is_empty());
    let rate = RATES.iter().find(|(name, _)| !is_timed && has(name));
    let mut among = cells.len();
    let (found, unit, values) = match rate {
        Some((name, unit)) => {
            let cells = candidates(cells, name);
            among = cells.len();
            let found = Fastest::by_rate(&cells, name)?;
            let unit = match found.cell.settings.is_network() {
                true => Unit::BitsPerSecond,
                false => *unit,
            };
            let values = found.cell.values(name);
            (found, unit, values)
        }
        None => {
            let found = Fastest::program(cells)?;
            let seconds = |record: &&_| Some(standing(record).get("elapsed_s")?.value * 1e9);
            let values = found.cell.records.iter().filter_map(seconds).collect();
            let in_ns = Fastest { estimate: found.estimate.times(1e9), ..found };
            (in_ns, Unit::Nanoseconds, values)
        }
    };
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(*it), b.max(*it)));
    let mut load = counted(found.cell.settings.how_many(knob::STREAMS) as u64, "stream");
    if among > 1 {
        load += &format!(", best of {among}");
    }
    Some(SummaryFigure {
        name: part.to_owned(),
        label: part.chars().take(LABEL_MAX).collect(),
        unit,
        estimate: found.estimate,
        p99: None,
        load,
        remark: remark(found.cell),
        caveat: caveat(found.cell),
        range: (low, high),
        trials: found.cell.evidence(),
    })
}
