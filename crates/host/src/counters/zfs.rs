//! /proc/spl/kstat/zfs: what the cache of ZFS (the ARC) had and had not, what programs read and
//! wrote of each dataset, and how often the intent log was made durable.
//!
//! Columns of datasets are those of the pools that lie on the watched devices; of a machine with
//! many, the first 64. A kstat is a table `name type value` below two lines of heading.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::PoolCounts;
use facts::counters::table::{Field, Table};

pub const ZFS: CounterSource = CounterSource {
    name: "zfs",
    about: "Hits, misses and size of the ARC of ZFS, bytes of datasets, commits of the intent log",
    fields: &[
        Field::counter("demand_data_hits"),
        Field::counter("demand_data_waits"),
        Field::counter("demand_data_misses"),
        Field::counter("demand_metadata_hits"),
        Field::counter("demand_metadata_misses"),
        Field::counter("prefetch_data_hits"),
        Field::counter("prefetch_data_misses"),
        Field::counter("prefetch_metadata_hits"),
        Field::counter("prefetch_metadata_misses"),
        Field::counter("prefetched_hits"),
        Field::gauge("size_bytes"),
        Field::gauge("target_bytes"),
        Field::gauge("most_bytes"),
        Field::counter("second_level_hits"),
        Field::counter("second_level_misses"),
        Field::counter("second_level_read_bytes"),
        Field::counter("throttled"),
        Field::counter("log_commits"),
        Field::counter("read_ops"),
        Field::counter("read_bytes"),
        Field::counter("write_ops"),
        Field::counter("write_bytes"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Names in arcstats, in the order of the fields.
const ARC: [&str; 17] = [
    "demand_data_hits",
    "demand_data_iohits",
    "demand_data_misses",
    "demand_metadata_hits",
    "demand_metadata_misses",
    "prefetch_data_hits",
    "prefetch_data_misses",
    "prefetch_metadata_hits",
    "prefetch_metadata_misses",
    "demand_hit_predictive_prefetch",
    "size",
    "c",
    "c_max",
    "l2_hits",
    "l2_misses",
    "l2_read_bytes",
    "memory_throttle_count",
];

/// The field of commits, and those of a dataset with their names in its kstat.
const COMMITS: usize = 17;
const DATASET: [(&str, usize); 4] =
    [("reads", 18), ("nread", 19), ("writes", 20), ("nwritten", 21)];

/// Datasets that are watched.
const DATASETS_MAX: usize = 64;

const KSTATS: &str = "/proc/spl/kstat/zfs";

struct Zfs {
    arc: Reread,
    log: Option<Reread>,
    datasets: Vec<Reread>,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let arc = Reread::open(host, format!("{KSTATS}/arcstats")).ok()?;
    let log = Reread::open(host, format!("{KSTATS}/zil")).ok();
    let files = host.list(KSTATS).into_iter().flat_map(|pool| objsets(host, &pool));
    let datasets = files.take(DATASETS_MAX).filter_map(|file| Reread::open(host, file).ok());
    Some(Box::new(Zfs { arc, log, datasets: datasets.collect() }))
}

/// The kstats of the mounted datasets of a pool.
fn objsets(host: &Host, pool: &str) -> Vec<String> {
    let names = host.list(format!("{KSTATS}/{pool}")).into_iter();
    let names = names.filter(|name| name.starts_with("objset-"));
    names.map(|name| format!("{KSTATS}/{pool}/{name}")).collect()
}

impl Sample for Zfs {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.arc.read() {
            arc(text, &mut |scope, field, value| table.put(scope, field, value));
        }
        if let Some(text) = self.log.as_mut().and_then(Reread::read) {
            log(text, &mut |scope, field, value| table.put(scope, field, value));
        }
        for file in &mut self.datasets {
            if let Some(text) = file.read() {
                dataset(text, &mut |scope, field, value| table.put(scope, field, value));
            }
        }
    }
}

/// The value of a line `name type value`.
fn value(text: &[u8], name: &str) -> Option<u64> {
    lines(text).find_map(|line| {
        let mut words = words(line);
        (words.next()? == name.as_bytes()).then(|| words.nth(1).and_then(number))?
    })
}

/// The dataset that a kstat is of: names have blanks at will.
fn dataset_name(text: &[u8]) -> Option<&[u8]> {
    lines(text).find_map(|line| {
        let rest = line.strip_prefix(b"dataset_name")?.trim_ascii_start();
        Some(rest.strip_prefix(b"7")?.trim_ascii()).filter(|name| !name.is_empty())
    })
}

/// Calls `put` with each field and value of arcstats.
fn arc(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for (field, name) in ARC.iter().enumerate() {
        if let Some(value) = value(text, name) {
            put(b"", field, value);
        }
    }
}

/// The same of the intent log.
fn log(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    if let Some(commits) = value(text, "zil_commit_count") {
        put(b"", COMMITS, commits);
    }
}

/// The same of a dataset, whose name is the columns'.
fn dataset(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    let Some(name) = dataset_name(text) else { return };
    for (known, field) in DATASET {
        if let Some(value) = value(text, known) {
            put(name, field, value);
        }
    }
}

/// The files that evidence on a load's datasets is read from, kept open.
#[derive(Debug)]
pub struct Pools {
    arc: Reread,
    datasets: Vec<Reread>,
    pools: Vec<Reread>,
}

impl Pools {
    /// Those of these datasets; `None` where the kernel has no ZFS.
    pub fn open(host: &Host, datasets: &[String]) -> Option<Pools> {
        let arc = Reread::open(host, format!("{KSTATS}/arcstats")).ok()?;
        let mut names: Vec<&str> =
            datasets.iter().filter_map(|dataset| dataset.split('/').next()).collect();
        names.sort_unstable();
        names.dedup();
        let files = names.iter().flat_map(|pool| objsets(host, pool));
        let mut own = Vec::new();
        for file in files {
            let Ok(mut file) = Reread::open(host, file) else { continue };
            let name = file.read().and_then(|text| dataset_name(text));
            if name.is_some_and(|name| datasets.iter().any(|own| own.as_bytes() == name)) {
                own.push(file);
            }
        }
        // Where one is not told of, the sum says nothing.
        let own = if own.len() == datasets.len() { own } else { Vec::new() };
        let pools = names
            .iter()
            .filter_map(|pool| Reread::open(host, format!("{KSTATS}/{pool}/iostats")).ok());
        Some(Pools { arc, datasets: own, pools: pools.collect() })
    }

    /// What they say now.
    pub fn take(&mut self) -> Option<PoolCounts> {
        let dataset_read_bytes = sum(&mut self.datasets, "nread");
        let direct_read_bytes = sum(&mut self.pools, "direct_read_bytes");
        let text = self.arc.read()?;
        Some(PoolCounts { dataset_read_bytes, direct_read_bytes, ..arc_counts(text)? })
    }
}

/// The sum of a value over files; `None` where there is none, or one does not tell it.
fn sum(files: &mut [Reread], name: &str) -> Option<u64> {
    let each = files.iter_mut().map(|file| value(file.read()?, name));
    let each: Option<Vec<u64>> = each.collect();
    each.filter(|each| !each.is_empty()).map(|each| each.into_iter().fold(0, u64::saturating_add))
}

/// What arcstats tells; `None` where it lacks one of the counts that judge.
fn arc_counts(text: &[u8]) -> Option<PoolCounts> {
    let of = |name: &str| value(text, name);
    Some(PoolCounts {
        demand_hits: of("demand_data_hits")?,
        demand_waits: of("demand_data_iohits"),
        demand_misses: of("demand_data_misses")?,
        prefetch_misses: of("prefetch_data_misses")?,
        prefetched_hits: of("demand_hit_predictive_prefetch")?,
        prefetched_waits: of("demand_iohit_predictive_prefetch"),
        second_level_hits: of("l2_hits")?,
        second_level_read_bytes: of("l2_read_bytes")?,
        ..PoolCounts::default()
    })
}

#[cfg(test)]
mod tests;
