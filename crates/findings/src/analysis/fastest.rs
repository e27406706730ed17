//! The best of several cells in one figure, without the luck of being picked.

use super::curve::CellReplicates;
use base::stats::largest::largest;
use base::stats::{Estimate, Interval, mean_interval};
use experiment::measurement::figures::{mean_of, standing, widened};

/// The best of some cells.
pub struct Fastest<'a> {
    pub cell: &'a CellReplicates<'a>,
    /// As [`largest`] has it, no finer than whole blocks allow.
    pub estimate: Estimate,
    /// How many of its trials have the figure, and do not contradict it.
    pub trials: usize,
    /// How many cells may be as good, this one among them.
    pub rivals: usize,
}

impl<'a> Fastest<'a> {
    /// By the rate `name`; `None` where none has it.
    pub fn by_rate(cells: &[&'a CellReplicates<'a>], name: &str) -> Option<Fastest<'a>> {
        let rates: Vec<Vec<f64>> = cells.iter().map(|cell| cell.values(name)).collect();
        // A load that moved nothing is the fastest where none moved anything.
        let Some(found) = largest(&rates) else {
            let (cell, rates) = cells.iter().zip(&rates).find(|(_, rates)| !rates.is_empty())?;
            let estimate = mean_of(&cell.records, name)?;
            return Some(Fastest { cell, estimate, trials: rates.len(), rivals: 1 });
        };
        let (cell, trials) = (cells[found.place], rates[found.place].len());
        let estimate = widened(name, cell.records.iter().copied(), found.estimate);
        Some(Fastest { cell, estimate: estimate.not_negative(), trials, rivals: found.rivals })
    }

    /// By the least time that its programs took, s; `None` where no cell has programs.
    pub fn program(cells: &[&'a CellReplicates<'a>]) -> Option<Fastest<'a>> {
        let times: Vec<Vec<f64>> = cells.iter().map(|cell| seconds(cell)).collect();
        let per_s = |times: &Vec<f64>| times.iter().map(|s| 1.0 / s).collect();
        let found = largest(&times.iter().map(per_s).collect::<Vec<_>>())?;
        let (cell, times) = (cells[found.place], &times[found.place]);
        // Where there was no choice it is the mean that tables have as well.
        let estimate = match found.rivals {
            1 => mean_interval(times)?.not_negative(),
            _ => inverted(&found.estimate),
        };
        Some(Fastest { cell, estimate, trials: times.len(), rivals: found.rivals })
    }
}

/// How long the programs of each trial took on average, s.
fn seconds(cell: &CellReplicates<'_>) -> Vec<f64> {
    let of = |record: &&_| Some(standing(record).get("elapsed_s")?.value);
    cell.records.iter().filter_map(of).collect()
}

/// A time of what is done so often; what may never be done may take for ever.
fn inverted(rate: &Estimate) -> Estimate {
    let of = |rate: f64| if rate > 0.0 { 1.0 / rate } else { f64::INFINITY };
    let turned = |ends: Interval| Interval { low: of(ends.high), high: of(ends.low) };
    Estimate { value: of(rate.value), interval: rate.interval.map(turned) }
}
