//! The workloads of a plan, what varies in each, and which figure of theirs is compared.
//!
//! Bytes from memory and bytes from the device are kept apart: they are never one figure.

use std::collections::HashMap;

use base::value::{Value, setting};
use experiment::knob::{self, Knob, Settings, distinct};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::{rate, standing};
use experiment::measurement::origin::{self, Verdict};

/// The planned trials of one workload.
pub struct Workload<'a> {
    /// Its name in the plan.
    pub group: &'a str,
    /// Those of its first trial.
    pub settings: &'a Settings,
    /// All, done or not.
    pub records: Vec<&'a Record>,
    /// Those that were done, by where their bytes came from.
    pub origins: Vec<(Verdict, Vec<&'a Record>)>,
}

/// The workloads of a campaign's plan; none where nothing was planned.
pub fn workloads(records: &[Record]) -> Vec<Workload<'_>> {
    let mut workloads: Vec<Workload<'_>> = Vec::new();
    let mut places: HashMap<(&str, usize), usize> = HashMap::new();
    for record in records.iter().filter(|record| record.trial.planned.is_some()) {
        let (group, settings) = (record.trial.group.as_str(), &record.trial.settings);
        // Trials of another engine have other knobs, and are no replicates of these.
        let same = |it: &Workload<'_>| it.group == group && names(it.settings).eq(names(settings));
        let place = *places.entry((group, settings.copy_of())).or_insert_with(|| {
            workloads.iter().position(same).unwrap_or_else(|| {
                let (records, origins) = (Vec::new(), Vec::new());
                workloads.push(Workload { group, settings, records, origins });
                workloads.len() - 1
            })
        });
        workloads[place].records.push(record);
    }
    for workload in &mut workloads {
        workload.origins = by_origin(&workload.records);
    }
    workloads
}

/// Those trials that were done, by where their bytes came from.
pub fn by_origin<'a>(records: &[&'a Record]) -> Vec<(Verdict, Vec<&'a Record>)> {
    let mut origins: Vec<(Verdict, Vec<&Record>)> = Vec::new();
    for record in records {
        let Some(measurement) = record.outcome.measurement() else { continue };
        let verdict = origin::from(measurement, &record.trial.settings);
        match origins.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, of)) => of.push(record),
            None => origins.push((verdict, vec![record])),
        }
    }
    origins
}

fn names(settings: &Settings) -> impl Iterator<Item = &'static str> + '_ {
    settings.iter().map(|(name, _)| name)
}

/// A knob that has several levels among some trials.
pub struct Varied<'a> {
    /// The knob.
    pub knob: &'static Knob,
    /// Numbers in their order, then words in theirs.
    pub levels: Vec<&'a Value>,
}

/// The knobs that differ among `records`, with their levels in order.
pub fn varied<'a>(records: &[&'a Record]) -> Vec<Varied<'a>> {
    let Some(first) = records.first() else { return Vec::new() };
    let all = distinct(records.iter().map(|record| &record.trial.settings));
    let several = |(name, held): (&'static str, &'a Value)| {
        let knob = knob::find(name)?;
        let mut levels = vec![held];
        for settings in &all {
            let held = settings.named(name)?;
            if !levels.contains(&held) {
                levels.push(held);
            }
        }
        let number = |value: &Value| match value {
            Value::Flag(_) => f64::INFINITY,
            other => Some(other.number()).filter(|it| !it.is_nan()).unwrap_or(f64::INFINITY),
        };
        levels.sort_by(|a, b| {
            let by_text = || a.to_string().cmp(&b.to_string());
            number(a).total_cmp(&number(b)).then_with(by_text)
        });
        (levels.len() > 1).then_some(Varied { knob, levels })
    };
    first.trial.settings.iter().filter_map(several).collect()
}

/// What is compared: a program by its time, transactions and operations on names by how many there
/// were, durable ones where they were made so, a writing by what was durable, all else by the bytes
/// in the window. A program that is ended after a time takes that time whatever it gets done.
pub fn response(records: &[&Record]) -> (&'static str, Vec<Option<f64>>) {
    let programs = |record: &&Record| {
        record.outcome.measurement().is_some_and(|measurement| measurement.programs.is_some())
    };
    let positive = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    if records.iter().any(programs) {
        let name = "elapsed_s";
        let of = |record: &&Record| match record.trial.settings.has(knob::STOP) {
            true => None,
            false => positive(standing(record).get(name)?.value),
        };
        return (name, records.iter().map(of).collect());
    }
    let of = |name: &str| -> Vec<Option<f64>> {
        records.iter().map(|record| positive(rate(record, name)?)).collect()
    };
    let names = records.iter().all(|record| record.trial.settings.has(knob::OPERATION));
    let durable_names = names.then_some("durable_ops_per_s");
    let counted = [
        Some(figure_names::TRANSACTIONS_PER_S),
        durable_names,
        names.then_some(figure_names::OPS_PER_S),
    ];
    let first = counted.into_iter().flatten().map(|name| (name, of(name)));
    if let Some(found) = first.into_iter().find(|(_, of)| of.iter().any(Option::is_some)) {
        return found;
    }
    let writes = |record: &&Record| record.trial.settings.only_writes();
    let (durable, throughput) = (figure_names::DURABLE_THROUGHPUT, figure_names::THROUGHPUT);
    let of_durable = of(durable);
    match records.iter().all(writes) && of_durable.iter().any(Option::is_some) {
        true => (durable, of_durable),
        false => (throughput, of(throughput)),
    }
}

impl Varied<'_> {
    /// The level that is set, as a finding says it.
    pub fn held(&self, settings: &Settings) -> String {
        settings.named(self.knob.name).map(setting).unwrap_or_default()
    }

    /// The place of the level that is set among the knob's levels.
    pub fn level(&self, settings: &Settings) -> usize {
        let held = settings.named(self.knob.name);
        self.levels.iter().position(|level| Some(*level) == held).unwrap_or(0)
    }
}

/// Where bytes came from, as a sentence tells a group of trials by it.
pub fn bytes_from(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Device => "bytes from the device",
        Verdict::Cache => "bytes from memory",
        Verdict::Mixed => "bytes partly from memory",
        Verdict::DeviceCache => "bytes from a cache behind the kernel",
        Verdict::Memory => "bytes from memory to memory",
        Verdict::Remote => "bytes over a wire",
        Verdict::Unknown => "bytes of unknown origin",
        Verdict::None => "writing",
    }
}
