//! What speaks against bytes having come from the media, and what the devices moved meanwhile.

use crate::measurement::Measurement;

/// What speaks against the media, as far as something does.
#[derive(Debug)]
pub enum Exceeded {
    /// The bytes cannot have come from the media; why.
    Certainly(String),
    /// They may not have; why.
    Perhaps(String),
}

/// What the devices moved between two times. On the disks below, other partitions count too; below
/// a page cache what is read ahead would.
pub fn moved(measurement: &Measurement, start_ns: u64, end_ns: u64) -> Option<f64> {
    let evidence = &measurement.evidence;
    let names = match (evidence.below.caches.is_empty(), evidence.below.leaves.is_empty()) {
        (false, _) => &evidence.devices,
        (true, false) => &evidence.below.leaves,
        (true, true) => &evidence.devices,
    };
    let [start_ns, end_ns] = [start_ns, end_ns].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let diskstats = measurement.counters.iter().find(|one| one.source == "diskstats")?;
    let columns = names
        .iter()
        .flat_map(|name| ["read_bytes", "write_bytes"].map(|what| format!("{name}.{what}")));
    columns.map(|column| diskstats.growth(&column, start_ns, end_ns)).sum()
}
