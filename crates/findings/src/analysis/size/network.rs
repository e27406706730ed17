//! Rates of network cards: of trials from memory to another machine, and the card whose interface
//! counted these bytes.

use super::PartRate;
use crate::analysis::curve::CellReplicates;
use crate::analysis::path::DataPath;
use crate::analysis::reported::way::Machine;
use base::stats::mean_interval;
use experiment::knob;
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// The series of the kernel's counts of interfaces.
const SOURCE: &str = "interfaces";
/// The interface that counted this share of the bytes carried them.
const CARRIED: f64 = 0.8;

/// Of each card the best.
pub fn cards(cells: &[CellReplicates<'_>], machine: &Machine) -> Vec<PartRate> {
    let mut found: Vec<(usize, PartRate)> = Vec::new();
    for cell in cells.iter().filter(|cell| to_another_machine(cell)) {
        let Some(rate) = mean_interval(&cell.values(figure_names::THROUGHPUT)) else { continue };
        let mut ports = cell.records.iter().map(|record| port(record));
        let Some(Some(port)) = ports.next() else { continue };
        if ports.any(|other| other.as_ref() != Some(&port)) {
            continue;
        }
        let of = |path: &DataPath| path.kind == "network" && path.ends.contains(&port);
        let Some(place) = machine.paths.paths.iter().position(of) else { continue };
        let ends = rate.interval;
        let rate = PartRate {
            bytes_per_s: rate.value,
            low_bytes_per_s: ends.map_or(rate.value, |ends| ends.low.max(0.0)),
            high_bytes_per_s: Some(ends.map_or(rate.value, |ends| ends.high)),
            cards: 1,
            lanes: machine.lanes(&machine.paths.paths[place]),
            said: format!("through {port}, {} runs", cell.records.len()),
            trials: cell.evidence(),
            ..PartRate::default()
        };
        match found.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) if known.bytes_per_s >= rate.bytes_per_s => {}
            Some((_, known)) => *known = rate,
            None => found.push((place, rate)),
        }
    }
    found.into_iter().map(|(_, rate)| rate).collect()
}

/// From memory: what comes from files may be held by their disks.
fn to_another_machine(cell: &CellReplicates<'_>) -> bool {
    let settings = cell.settings;
    let elsewhere = settings.get(knob::PEER).is_some();
    settings.is_network() && elsewhere && !settings.has(knob::FILES)
}

/// The interface that carried the bytes of a trial.
fn port(record: &Record) -> Option<String> {
    let measurement = record.outcome.measurement()?;
    let window = measurement.window?;
    let series = measurement.counters.iter().find(|series| series.source == SOURCE)?;
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let bytes = window.done.bytes() as f64;
    let carried = |column: &str| {
        let (name, count) = column.rsplit_once('.')?;
        let counted = ["received_bytes", "sent_bytes"].contains(&count) && name != "lo";
        let growth = series.growth(column, start_ns, end_ns).filter(|_| counted)?;
        (growth >= CARRIED * bytes).then(|| name.to_owned())
    };
    let mut names = series.columns.iter().filter_map(|column| carried(&column.name));
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}
