//! (pure) What each CPU did while a trial ran, by kind: over a network both ends' work shows here
//! alone, as interrupts do it in nobody's thread.

use super::{Input, cells, operations};
use experiment::measurement::{PEER, Record};
use facts::counters::series::Series;

/// Kinds of time, in the order of the columns.
pub const KINDS: [&str; 7] = ["user", "system", "irq", "softirq", "iowait", "steal", "idle"];

/// The counter that has them.
const SOURCE: &str = "stat";

/// Cells of a group whose CPUs are told; more would bury the figures.
const CELLS_MAX: usize = 4;
/// CPUs of a cell that are told, the busiest ones.
const CPUS_MAX: usize = 16;

impl TrialCpuShares {
    /// `CPUs in trial 3 (streams 1), % of their time`
    pub fn title(&self) -> String {
        let label =
            if self.label.is_empty() { String::new() } else { format!(" ({})", self.label) };
        let busiest = match self.left_out {
            0 => String::new(),
            more => format!(", the busiest; {more} more did less"),
        };
        let whose = if self.peer { " of the other machine" } else { "" };
        format!("CPUs{whose} in trial {}{label}, % of their time{busiest}", self.trial)
    }
}

/// A share for these tables, where the head has the unit: `60.8`.
pub fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// What the CPUs did in one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialCpuShares {
    /// The trial, the first of its cell.
    pub trial: u32,
    /// They are those of the other machine of a trial on two.
    pub peer: bool,
    /// What tells the cell from the others of its group; empty when there are none.
    pub label: String,
    /// Each CPU's number, and the shares of its time, as [`KINDS`] has them.
    pub cpus: Vec<(u32, [f64; KINDS.len()])>,
    /// CPUs that are not told, less busy than those that are.
    pub left_out: usize,
}

/// Of the first trial of each cell of a group over a network; nothing of other groups.
pub fn cpu_shares(input: &Input<'_>, group: &cells::CellGroup<'_>) -> Vec<TrialCpuShares> {
    if !operations::network(group) {
        return Vec::new();
    }
    let told = group.rows.iter().filter_map(|row| {
        let trial = *row.cell.trials.first()?;
        let record = input.records.iter().find(|record| record.trial.number == trial)?;
        let has = |record: &Record| !shares(record, SOURCE).is_empty();
        let read = match (has(record), input.samples) {
            (true, _) => None,
            (false, Some(samples)) => Some(samples.of(trial)?),
            (false, None) => return None,
        };
        let record = read.as_ref().unwrap_or(record);
        let label = if group.varying.is_empty() { String::new() } else { group.label(row) };
        let here = busiest(trial, label.clone(), shares(record, SOURCE));
        let there = shares(record, &format!("{PEER}{SOURCE}"));
        let there = (!there.is_empty())
            .then(|| TrialCpuShares { peer: true, ..busiest(trial, label, there) });
        Some([Some(here), there])
    });
    told.take(CELLS_MAX).flatten().flatten().collect()
}

fn busiest(trial: u32, label: String, mut cpus: Vec<(u32, [f64; KINDS.len()])>) -> TrialCpuShares {
    let idle = KINDS.len() - 1;
    cpus.sort_by(|a, b| a.1[idle].total_cmp(&b.1[idle]));
    let left_out = cpus.len().saturating_sub(CPUS_MAX);
    cpus.truncate(CPUS_MAX);
    cpus.sort_by_key(|(number, _)| *number);
    TrialCpuShares { trial, peer: false, label, cpus, left_out }
}

/// Shares of each CPU's time in the window.
fn shares(record: &Record, source: &str) -> Vec<(u32, [f64; KINDS.len()])> {
    let Some(measurement) = record.outcome.measurement() else { return Vec::new() };
    let series = measurement.counters.iter().find(|series| series.source == source);
    let Some((series, window)) = series.zip(measurement.window) else { return Vec::new() };
    let (Ok(start), Ok(end)) = (i64::try_from(window.start_ns), i64::try_from(window.end_ns))
    else {
        return Vec::new();
    };
    let names = series.columns.iter().filter_map(|column| column.name.strip_suffix(".idle_ns"));
    let one = |name: &str| {
        let number: u32 = name.strip_prefix("cpu")?.parse().ok()?;
        Some((number, spent(series, name, start, end)?))
    };
    names.filter_map(one).collect()
}

fn spent(series: &Series, cpu: &str, start: i64, end: i64) -> Option<[f64; KINDS.len()]> {
    let mut spent = [0.0; KINDS.len()];
    for (share, kind) in spent.iter_mut().zip(KINDS) {
        *share = series.growth(&format!("{cpu}.{kind}_ns"), start, end)?;
    }
    let all: f64 = spent.iter().sum();
    (all > 0.0).then(|| spent.map(|ns| ns / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_are_told_in_the_order_of_their_numbers() {
        let cpu = |number: u32| {
            let mut shares = [0.0; KINDS.len()];
            shares[KINDS.len() - 1] = f64::from(number % 7) / 7.0;
            (number, shares)
        };
        let told = busiest(3, String::new(), (0..40).map(cpu).collect());
        assert_eq!((told.cpus.len(), told.left_out), (CPUS_MAX, 24));
        assert!(told.cpus.is_sorted_by_key(|(number, _)| *number), "{:?}", told.cpus);
        let most_idle = told.cpus.iter().map(|(_, shares)| shares[KINDS.len() - 1]);
        assert!(most_idle.fold(0.0, f64::max) <= 3.0 / 7.0);
    }
}
