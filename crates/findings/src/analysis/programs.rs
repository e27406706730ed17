//! How long programs took that were timed as a whole.

use super::curve::CellReplicates;
use super::fastest::Fastest;
use super::words;
use base::value::counted;
use experiment::knob;
use experiment::measurement::figure_names;

/// So many programs are told by their times; more are nobody's first sentence.
const TOLD: usize = 3;

/// Whether all that was asked is how long programs take, those that join files among them.
pub fn are_asked(cells: &[CellReplicates<'_>]) -> bool {
    let is_asked = |cell: &CellReplicates<'_>| {
        cell.settings.has(knob::COMMAND) || cell.settings.has(knob::CONCAT_WITH)
    };
    cells.iter().all(is_asked)
}

/// Whether a cell is of programs of which the time is asked: not of clients of a server, whose
/// bytes per second are.
pub fn is_timed(cell: &CellReplicates<'_>) -> bool {
    are_asked(std::slice::from_ref(cell)) && !is_served(cell)
}

fn is_served(cell: &CellReplicates<'_>) -> bool {
    cell.settings.find(knob::SERVER).is_some_and(|server| !server.is_empty())
}

/// What clients of servers got, one sentence; `None` where there are other programs as well.
pub fn fetched(cells: &[CellReplicates<'_>]) -> Option<String> {
    if !cells.iter().all(is_served) {
        return None;
    }
    let most = |(name, of): &(String, Vec<&CellReplicates<'_>>)| {
        let found = Fastest::by_rate(of, figure_names::THROUGHPUT)?;
        let rate = words::rate(&found.estimate, found.trials);
        let streams = words::streams(found.cell.settings.number(knob::STREAMS));
        Some(format!("{name} {rate} with {streams}"))
    };
    let told: Vec<String> = kinds(cells).iter().filter_map(most).collect();
    (!told.is_empty()).then(|| format!("Clients get at most: {}.", told.join("; ")))
}

/// Cells of one program each, by its name.
fn kinds<'a>(cells: &'a [CellReplicates<'a>]) -> Vec<(String, Vec<&'a CellReplicates<'a>>)> {
    let mut kinds: Vec<(String, Vec<&CellReplicates<'_>>)> = Vec::new();
    for cell in cells {
        let command = cell.load(&[]);
        match kinds.iter_mut().find(|(known, _)| *known == command) {
            Some((_, of)) => of.push(cell),
            None => kinds.push((command, vec![cell])),
        }
    }
    kinds
}

/// One sentence; `None` where no program was timed.
pub fn times(cells: &[CellReplicates<'_>]) -> Option<String> {
    let kinds = kinds(cells);
    let told: Vec<String> = kinds.iter().filter_map(|(name, of)| time(name, of)).collect();
    let more = told.len().saturating_sub(TOLD) as u64;
    let rest = match more {
        0 => String::new(),
        _ => format!("; {} more", counted(more, "program")),
    };
    let first = told.get(..TOLD).unwrap_or(&told).join("; ");
    (!told.is_empty()).then(|| format!("{first}{rest}."))
}

/// `make takes 12.3 s (12.1 s to 12.5 s) with 1 stream`.
fn time(name: &str, cells: &[&CellReplicates<'_>]) -> Option<String> {
    let found = Fastest::program(cells)?;
    let told = words::time_of(&found.estimate.times(1e9), found.trials);
    let streams = words::streams(found.cell.settings.number(knob::STREAMS));
    let (least, others) = match (cells.len() as u64, found.rivals as u64) {
        (1, _) => ("", String::new()),
        (_, 1) => (" at least", String::new()),
        (_, rivals) if found.estimate.interval.is_some() => {
            (" at least", format!(", where {} may be as fast", counted(rivals - 1, "other load")))
        }
        _ => (" at least", String::new()),
    };
    Some(format!("{name} takes{least} {told} with {streams}{others}"))
}
