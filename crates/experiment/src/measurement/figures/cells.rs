//! Figures over replicates.

use std::collections::{BTreeMap, HashMap};

use super::alike::{Shared, Values, shared};
use super::pooled::{PooledLatency, quantile_of};
use super::{Figures, Name, Record, grain, rate, standing};
use crate::knob::Settings;
use crate::measurement::consistency;
use crate::measurement::span::is_drawn;
use crate::measurement::start::later;
use base::stats::{Estimate, Interval, mean, mean_interval};

#[cfg(test)]
mod bought;
#[cfg(test)]
mod tests;

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
    /// Those of them whose interval is of a spread that is pooled over cells that are alike, with
    /// the number of these, this one among them.
    pub pooled: BTreeMap<Name, u32>,
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

/// What the rate is without the first tenth of a second, over what it is, is known to be 1 within
/// an interval so wide: anything wider does not decide.
const SAME_START: f64 = 0.02;

/// Cells in the order in which their first trial appears. Replicates have the same settings,
/// whichever group of the plan asked for them. A figure of a cell is the mean of its trials'
/// figures with a 95 % interval, no narrower than whole blocks and a common start allow
/// ([`widened`]); with one trial that has it there is no interval. Its spread is that of its
/// trials, or pooled over cells of one kind that scatter alike ([`Cell::pooled`]). Percentiles of
/// latency are those of all operations of its trials together; the highest of them has no interval.
/// What a trial's own record contradicts is in no mean, and a mean that lies outside its trials is
/// no figure.
pub fn cells(records: &[Record]) -> Vec<Cell> {
    let replicates = replicates(records);
    let values: Vec<Values> = replicates.iter().map(|records| values(records)).collect();
    let shared = shared(&replicates, &values);
    let parts = replicates.iter().zip(values).zip(shared);
    parts.map(|((records, values), shared)| cell(records, values, &shared)).collect()
}

/// What those of its trials that were done have of each figure.
fn values(records: &[&Record]) -> Values {
    let mut values = Values::new();
    for record in records.iter().filter(|record| record.outcome.measurement().is_some()) {
        for (name, estimate) in standing(record).iter() {
            match values.get_mut(name) {
                Some(known) => known.push(estimate.value),
                None => _ = values.insert(name.clone(), vec![estimate.value]),
            }
        }
    }
    values
}

fn cell(records: &[&Record], values: Values, shared: &Shared) -> Cell {
    let mut groups: Vec<String> = Vec::new();
    for record in records {
        if !groups.contains(&record.trial.group) {
            groups.push(record.trial.group.clone());
        }
    }
    let done = records.iter().filter(|record| record.outcome.measurement().is_some());
    let percentiles = PooledLatency::from_records(done.clone().copied());
    let mut pooled = BTreeMap::new();
    let figures = values.into_iter().filter_map(|(name, values)| {
        let estimate = match (quantile_of(&name), shared.get(&name)) {
            (Some((kind, quantile)), _) => {
                percentile(&values, percentiles.quantile(kind, quantile), quantile)?
            }
            (None, Some((estimate, cells))) => {
                pooled.insert(name.clone(), *cells);
                widened(&name, done.clone().copied(), *estimate)
            }
            (None, None) => widened(&name, done.clone().copied(), mean_interval(&values)?),
        };
        // No figure can be negative; the interval of two or three replicates does not know that.
        let over = estimate.not_negative();
        let of_all = quantile_of(&name).is_some();
        (of_all || consistency::is_among(&values, &over)).then_some((name, over))
    });
    let figures: Figures = figures.collect();
    pooled.retain(|name, _| figures.contains_key(name));
    Cell {
        groups,
        settings: records[0].trial.settings.clone(),
        trials: done.map(|record| record.trial.number).collect(),
        figures,
        pooled,
    }
}

/// The mean of the rate `name` over replicates, with the interval that a cell has of its own
/// spread; `None` where none has it.
pub fn mean_of(records: &[&Record], name: &str) -> Option<Estimate> {
    let values: Vec<f64> = records.iter().filter_map(|record| rate(record, name)).collect();
    let estimate = widened(name, records.iter().copied(), mean_interval(&values)?);
    Some(estimate.not_negative())
}

/// A percentile of latency of these trials, by the name of its figure, as a cell of them has it: of
/// all their operations together, ns. `None` where none has it.
pub fn percentile_of(records: &[&Record], name: &str) -> Option<f64> {
    let (kind, quantile) = quantile_of(name)?;
    let of = |record: &&Record| Some(standing(record).get(name)?.value);
    let values: Vec<f64> = records.iter().filter_map(of).collect();
    let pooled = PooledLatency::from_records(records.iter().copied()).quantile(kind, quantile);
    Some(percentile(&values, pooled, quantile)?.value)
}

/// The estimate of a rate over replicates with what their spread does not know: one block of each
/// stream, as they are all counted in whole blocks, and a start that all have alike. What is no
/// rate of such stays as it is.
pub fn widened<'a>(
    name: &str,
    records: impl Iterator<Item = &'a Record> + Clone,
    estimate: Estimate,
) -> Estimate {
    let grains: Vec<f64> = records.clone().filter_map(|record| grain(record, name)).collect();
    if grains.is_empty() {
        return estimate;
    }
    let estimate = estimate.no_finer(mean(&grains));
    // Where the start is untimed there is none that all have alike.
    let timed = records.filter(|record| !is_drawn(&record.trial.settings));
    let later: Vec<f64> = timed.filter_map(|record| later(record.outcome.measurement()?)).collect();
    let Some(Estimate { value: ratio, interval: Some(of) }) = mean_interval(&later) else {
        return estimate;
    };
    // Without the first tenth of a second all are slower, or all faster: either may be what lasts.
    // Two repeats seldom decide whether they have a start in common, and may well have.
    let the_same = of.covers(1.0) && of.high - of.low <= SAME_START;
    let moved = if the_same { 1.0 } else { ratio };
    let widen = |ends: Interval| Interval {
        low: ends.low * moved.min(1.0),
        high: ends.high * moved.max(1.0),
    };
    Estimate { interval: estimate.interval.map(widen), ..estimate }
}

/// A percentile of all operations, `pooled`, with an interval from those of the single trials. It
/// lies among these, which are known to more digits. Where times are alike within each trial and
/// differ between trials it is the middle one of few, which scatters further than their mean does;
/// of rare operations their mean is off, and it is not. So the interval is around both.
fn percentile(values: &[f64], pooled: Option<f64>, quantile: f64) -> Option<Estimate> {
    let own = mean_interval(values)?;
    let (least, most) =
        values.iter().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(*value), b.max(*value)));
    if quantile >= 1.0 {
        return Some(Estimate::bare(most));
    }
    let value = pooled.map_or(own.value, |pooled| pooled.clamp(least, most));
    // Of as many times less and more.
    let interval = own.interval.filter(|_| own.value > 0.0).map(|ends| Interval {
        low: ends.low * (value / own.value).min(1.0),
        high: ends.high * (value / own.value).max(1.0),
    });
    Some(Estimate { value, interval: interval.or(own.interval) })
}
