//! Rates that were measured here: of disks and of controllers, from cells whose bytes came from the
//! devices; the disks under a cell are those that its evidence names.

use super::{Facts, PartRate, network};
use crate::analysis::answer::is_devices;
use crate::analysis::curve::{CellReplicates, cells};
use crate::analysis::path::DataPath;
use crate::analysis::reported::way::Machine;
use base::stats::{Estimate, mean_interval};
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// Together they give less than this share of the sum of each alone: they share a limit.
const SHARED: f64 = 0.95;

/// The best that some disks gave.
#[derive(Debug)]
struct Best {
    /// Kernel names, in order, each once.
    disks: Vec<String>,
    rate: Estimate,
    trials: Vec<u32>,
}

/// What the records say of `machine`.
pub fn facts(records: &[Record], machine: Option<&Machine>) -> Facts {
    let cells = cells(records);
    let (bests, cached) = bests(&cells);
    let behind = |best: &Best| machine.and_then(|it| ways(it, &best.disks));
    let lone: Vec<&Best> = bests.iter().filter(|best| best.disks.len() == 1).collect();
    let several: Vec<&Best> = bests.iter().filter(|best| best.disks.len() > 1).collect();
    let mut groups: Vec<(Vec<usize>, &Best)> = Vec::new();
    for best in &several {
        let Some(ways) = behind(best) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == ways) {
            Some((_, known)) if known.rate.value >= best.rate.value => {}
            Some((_, known)) => *known = best,
            None => groups.push((ways, best)),
        }
    }
    let mut facts = why_not(&several, cached, machine.is_none());
    for (ways, best) in &groups {
        let Some(machine) = machine else { continue };
        let rate = shared(machine, ways, best, &lone);
        let together = PartRate { high_bytes_per_s: end(&best.rate), ..rate.clone() };
        let whole =
            PartRate { bytes_per_s: best.rate.value, low_bytes_per_s: low(&best.rate), ..together };
        facts.shared_disks.push(whole.over(best.disks.len()));
        facts.controllers.push(rate);
    }
    facts.lone_disks.extend(lone.iter().map(|best| plain(best, "one disk alone".to_owned())));
    let nics = machine.map(|machine| network::cards(&cells, machine));
    facts.nics = nics.unwrap_or_default();
    facts.disk_bytes = machine.and_then(|it| size_of_each(it, &bests));
    facts
}

/// Why there is nothing, for where there is nothing, with what would measure it.
fn why_not(several: &[&Best], cached: usize, no_inventory: bool) -> Facts {
    const RUN: &str =
        "measure it: `brickyard run sequential-read --dir DIR direct=true streams=1,4,8`";
    let cached = match cached {
        0 => String::new(),
        1 => " (1 cell was left out: its bytes may have come from a cache)".to_owned(),
        many => {
            format!(" ({many} cells were left out: their bytes may have come from a cache)")
        }
    };
    let no_controllers = match (several.is_empty(), no_inventory) {
        (_, true) => "the campaign has no inventory of its machine; run it again".to_owned(),
        (true, _) => format!(
            "nothing was read from several disks at once{cached}; {RUN}, with DIR \
                              on several disks behind one controller"
        ),
        (false, _) => "the disks that were read have no controller that they share: each NVMe \
                       drive is its own, or the way of others is not known"
            .to_owned(),
    };
    Facts {
        no_controllers,
        no_disks: format!("no reading came surely from disks{cached}; {RUN}"),
        no_nics: "no trial went through a network card to another machine; measure it: `brickyard \
                  receive` there, `brickyard send HOST tcp-stream` here"
            .to_owned(),
        ..Facts::default()
    }
}

/// Of each set of disks the cell that delivered most, and how many cells were left out as their
/// bytes did not surely come from disks.
fn bests(cells: &[CellReplicates<'_>]) -> (Vec<Best>, usize) {
    let mut bests: Vec<Best> = Vec::new();
    let mut cached = 0;
    for cell in cells.iter().filter(|cell| reads(cell)) {
        if !is_devices(cell) {
            cached += 1;
            continue;
        }
        let (Some(rate), Some(disks)) =
            (mean_interval(&cell.values(figure_names::THROUGHPUT)), disks(cell))
        else {
            continue;
        };
        let best = Best { disks, rate, trials: cell.evidence() };
        match bests.iter_mut().find(|known| known.disks == best.disks) {
            Some(known) if known.rate.value >= best.rate.value => {}
            Some(known) => *known = best,
            None => bests.push(best),
        }
    }
    (bests, cached)
}

fn reads(cell: &CellReplicates<'_>) -> bool {
    let simulated = cell.settings.is_simulated();
    cell.settings.only_reads() && !cell.settings.is_network() && !simulated
}

/// The disks under a cell, where all its trials name the same.
fn disks(cell: &CellReplicates<'_>) -> Option<Vec<String>> {
    let of = |record: &&Record| {
        let mut disks = record.outcome.measurement()?.evidence.disks.clone();
        disks.sort_unstable();
        disks.dedup();
        Some(disks)
    };
    let mut all = cell.records.iter().map(of);
    let first = all.next()??;
    (!first.is_empty() && all.all(|other| other.as_ref() == Some(&first))).then_some(first)
}

/// Places of the ways of all these disks; `None` where that of one is not known, or disks are their
/// own controllers.
fn ways(machine: &Machine, disks: &[String]) -> Option<Vec<usize>> {
    /// Class and subclass of an NVMe controller (PCI Code and ID Assignment 1.11, 1.9).
    const NVME: u32 = 0x0108;
    let way = |disk: &String| {
        let of = |path: &DataPath| path.kind == "storage" && path.ends.contains(disk);
        let place = machine.paths.paths.iter().position(of)?;
        let card = machine.function(machine.paths.paths[place].controllers.first()?)?;
        (card.class >> 8 != NVME).then_some(place)
    };
    let mut ways = disks.iter().map(way).collect::<Option<Vec<usize>>>()?;
    ways.sort_unstable();
    ways.dedup();
    Some(ways)
}

/// What one of the controllers gave. Where its disks gave as much as each alone, it may give more:
/// then its way bounds it from above, where that is known.
fn shared(machine: &Machine, ways: &[usize], best: &Best, lone: &[&Best]) -> PartRate {
    let paths: Vec<&DataPath> = ways.iter().map(|way| &machine.paths.paths[*way]).collect();
    let alone =
        |disk: &String| lone.iter().find(|one| one.disks[0] == *disk).map(|one| low(&one.rate));
    let sum: Option<f64> = best.disks.iter().map(alone).sum();
    let level = sum.zip(end(&best.rate)).is_some_and(|(sum, high)| high < SHARED * sum);
    let ceiling = |path: &&DataPath| path.parts[path.narrowest?].bytes_per_s;
    let ceiling: Option<f64> = paths.iter().map(ceiling).sum();
    let disks = best.disks.len();
    let said = match ways.len() {
        1 => format!("{disks} disks on one controller"),
        many => format!("{disks} disks on {many} controllers, one's part"),
    };
    let rate = plain(best, said);
    let high = match level {
        true => rate.high_bytes_per_s,
        false => ceiling.map(|ceiling| ceiling.max(rate.bytes_per_s)),
    };
    let lanes: Option<Vec<u32>> = paths.iter().map(|path| machine.lanes(path)).collect();
    let rate = PartRate {
        high_bytes_per_s: high,
        cards: ways.len(),
        lanes: lanes.and_then(|lanes| lanes.into_iter().max()),
        ends: paths.iter().map(|path| path.ends.len() as u64).max(),
        ..rate
    };
    rate.over(ways.len())
}

fn plain(best: &Best, said: String) -> PartRate {
    let runs = match best.trials.len() {
        1 => "1 run, no interval".to_owned(),
        many => format!("{many} runs"),
    };
    PartRate {
        bytes_per_s: best.rate.value,
        low_bytes_per_s: low(&best.rate),
        high_bytes_per_s: end(&best.rate),
        cards: 1,
        disks: Some(best.disks.len()),
        said: format!("{said} ({}), {runs}", named(&best.disks)),
        trials: best.trials.clone(),
        ..PartRate::default()
    }
}

/// `sda`, `sda to sdf`.
fn named(disks: &[String]) -> String {
    match disks {
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    }
}

/// Lower end; the value itself of a single run.
fn low(rate: &Estimate) -> f64 {
    rate.interval.map_or(rate.value, |ends| ends.low.max(0.0))
}

/// Upper end; the value itself of a single run.
fn end(rate: &Estimate) -> Option<f64> {
    Some(rate.interval.map_or(rate.value, |ends| ends.high))
}

/// What each of the disks holds, where all hold the same.
fn size_of_each(machine: &Machine, bests: &[Best]) -> Option<u64> {
    let size = |disk: &String| {
        let device = machine.server.devices.iter().find(|device| device.name == *disk)?;
        Some(device.size_bytes).filter(|bytes| *bytes > 0)
    };
    let mut sizes = bests.iter().flat_map(|best| &best.disks).map(size);
    let first = sizes.next()??;
    sizes.all(|other| other == Some(first)).then_some(first)
}
