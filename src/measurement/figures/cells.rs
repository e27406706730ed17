//! Figures over replicates.

use std::collections::{BTreeMap, HashMap};

use super::{Figures, Name, Record, figures};
use crate::knob::Settings;
use crate::stats::mean_interval;

/// All replicates of one combination of settings.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The groups of the plan that asked for it, in the order in which they first did; one or more.
    pub groups: Vec<String>,
    /// Its settings.
    pub settings: Settings,
    /// Numbers of its trials that were done; empty when every one failed.
    pub trials: Vec<u32>,
    /// Figures over those trials.
    pub figures: Figures,
}

/// Records grouped by settings, in the order in which the first of each appears; what only makes
/// ready for others is a group of its own, as nothing is claimed from it.
pub fn replicates(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    let mut places: HashMap<(u64, bool), Vec<usize>> = HashMap::new();
    let mut copies: HashMap<(usize, bool), usize> = HashMap::new();
    for record in records {
        let trial = &record.trial;
        let copy = (trial.settings.copy_of(), trial.prepares());
        if let Some(place) = copies.get(&copy) {
            groups[*place].push(record);
            continue;
        }
        let alike = places.entry((trial.settings.fingerprint(&[]), trial.prepares())).or_default();
        match alike.iter().find(|place| groups[**place][0].trial.settings == trial.settings) {
            Some(place) => {
                copies.insert(copy, *place);
                groups[*place].push(record);
            }
            None => {
                copies.insert(copy, groups.len());
                alike.push(groups.len());
                groups.push(vec![record]);
            }
        }
    }
    groups
}

/// Cells in the order in which their first trial appears. Replicates have the same settings,
/// whichever group of the plan asked for them. A figure of a cell is the mean of its trials'
/// figures with a 95 % interval; with one trial that has it there is no interval.
pub fn cells(records: &[Record]) -> Vec<Cell> {
    replicates(records).iter().map(|records| cell(records)).collect()
}

fn cell(records: &[&Record]) -> Cell {
    let mut groups: Vec<String> = Vec::new();
    for record in records {
        if !groups.contains(&record.trial.group) {
            groups.push(record.trial.group.clone());
        }
    }
    let done = records.iter().filter(|record| record.outcome.measurement().is_some());
    let mut values: BTreeMap<Name, Vec<f64>> = BTreeMap::new();
    for record in done.clone() {
        for (name, estimate) in figures(record).iter() {
            match values.get_mut(name) {
                Some(known) => known.push(estimate.value),
                None => _ = values.insert(name.clone(), vec![estimate.value]),
            }
        }
    }
    let figures = values.into_iter().filter_map(|(name, values)| {
        // No figure can be negative; the interval of two or three replicates does not know that.
        Some((name, mean_interval(&values)?.not_negative()))
    });
    Cell {
        groups,
        settings: records[0].trial.settings.clone(),
        trials: done.map(|record| record.trial.number).collect(),
        figures: figures.collect(),
    }
}
