//! Cells that are alike: whose spread may be pooled where it is found to be one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Name, Record};
use crate::knob::{self, Access};
use crate::measurement::figure_names;
use crate::measurement::origin::{self, Verdict};
use crate::measurement::reported::PREFIX;
use base::stats::Estimate;
use base::stats::alike::mean_intervals;

/// The values of each figure over the replicates of one cell.
pub type Values = BTreeMap<Name, Vec<f64>>;

/// Means of figures whose spread is pooled, each with over how many cells, this one among them.
pub type Shared = BTreeMap<Name, (Estimate, u32)>;

/// What cells must have in common, beside the figure, for their spread to be pooled: of
/// another workload, or of bytes from elsewhere, noise is another.
#[derive(PartialEq)]
struct PoolingKey<'a> {
    group: &'a str,
    engine: &'a str,
    access: Option<Access>,
    operation: Option<&'a str>,
    origin: Verdict,
    /// Whether the files are memory, or memory may have taken what was written: that has no origin.
    memory: bool,
}

impl<'a> PoolingKey<'a> {
    /// Of a cell's replicates; `None` where nobody knows that all are of one kind.
    fn of(records: &[&'a Record]) -> Option<PoolingKey<'a>> {
        let first = records.first()?;
        let settings = &first.trial.settings;
        let direct = settings.has(knob::DIRECT) && settings.get(knob::DIRECT);
        let mut kinds = records.iter().filter_map(|record| {
            let measurement = record.outcome.measurement()?;
            let from = origin::from(measurement, settings);
            let ignored = || measurement.notes.iter().any(|note| note.kind == "direct-ignored");
            let wrote = from == Verdict::None || measurement.evidence.delivered.write_bytes > 0;
            let taken = wrote && (!direct || ignored());
            Some((from, measurement.evidence.memory || taken))
        });
        let (origin, memory) = kinds.next()?;
        // What may come from the device or from memory has no likes.
        let known = !matches!(origin, Verdict::Unknown | Verdict::Mixed);
        let one = known && !first.trial.prepares() && kinds.all(|it| it == (origin, memory));
        one.then(|| PoolingKey {
            group: &first.trial.group,
            engine: settings.engine(),
            access: settings.get(knob::ACCESS),
            operation: settings.find(knob::OPERATION),
            origin,
            memory,
        })
    }
}

/// Whether a figure is a rate, or a time of which a rate is made: its noise is in proportion to it,
/// and each repeat has its own.
fn is_rate(name: &str) -> bool {
    const ENDS: [&str; 6] = [
        "bytes_per_s",
        figure_names::IOPS,
        figure_names::OPS_PER_S,
        figure_names::TRANSACTIONS_PER_S,
        figure_names::LATENCY_MEAN,
        "elapsed_s",
    ];
    !name.starts_with(PREFIX) && ENDS.iter().any(|end| name.ends_with(end))
}

/// Of each cell the means of those figures whose spread it shares with its likes.
pub fn shared(cells: &[Vec<&Record>], values: &[Values]) -> Vec<Shared> {
    let mut kinds: Vec<(PoolingKey<'_>, Vec<usize>)> = Vec::new();
    for (place, records) in cells.iter().enumerate() {
        // One replicate has no spread, and its origin costs time to tell.
        let Some(kind) = Some(records).filter(|it| it.len() > 1).and_then(|it| PoolingKey::of(it))
        else {
            continue;
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, places)) => places.push(place),
            None => kinds.push((kind, vec![place])),
        }
    }
    let mut told: Vec<Shared> = cells.iter().map(|_| Shared::new()).collect();
    for (_, places) in kinds.iter().filter(|(_, places)| places.len() > 1) {
        let names = places.iter().flat_map(|place| values[*place].keys());
        let names: BTreeSet<&Name> = names.filter(|name| is_rate(name)).collect();
        for name in names {
            let have = |place: &&usize| values[**place].contains_key(name);
            let having: Vec<usize> = places.iter().filter(have).copied().collect();
            let samples: Vec<Vec<f64>> =
                having.iter().map(|place| values[*place][name].clone()).collect();
            for (place, found) in having.into_iter().zip(mean_intervals(&samples)) {
                if let Some((estimate, Some(pool))) = found {
                    told[place].insert(name.clone(), (estimate, pool.samples));
                }
            }
        }
    }
    told
}
