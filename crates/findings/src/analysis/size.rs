//! What would a throughput take: how many disks, controllers and network cards, and what binds
//! first?
//!
//! Of each part the rate that one of them was measured, or reported, to have; the count is the
//! target over that rate, rounded up to whole parts. The ends of a count are those of its rates:
//! 95 % intervals where trials were repeated here, the spread over the figures where others
//! reported them. No name of any card and no number of ports is known here: both come from the
//! inventory. What has no figure is not known, with the reason and what would measure it.

use serde::Serialize;
use serde_json::Value as Json;

use super::reported::way::Machine;
use super::reported::{ReportedRow, machines};
use experiment::measurement::Record;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::Server;

mod binds;
mod cost;
mod joined;
mod measured;
mod network;
mod rate;
mod reported;
mod slots;
#[cfg(test)]
mod tests;

pub use binds::Binds;
pub use cost::{Cost, Prices};
pub use joined::{SizingCampaign, Unjoined, size_of_several};
pub use rate::{PartRate, PartsNeeded};
pub use reported::Expected;
pub use slots::Slots;

/// What a sizing is asked for: a throughput in bytes per second, and what bounds the answer.
#[derive(Clone, Debug, Default)]
pub struct SizingRequest {
    /// From disks to the network, bytes per second; above 0.
    pub throughput_bytes_per_s: f64,
    /// Disks that a controller takes; `None` counts those behind it in the inventory.
    pub ports: Option<u64>,
    /// What all disks together must hold, bytes.
    pub capacity_bytes: Option<u64>,
    /// What one disk holds, bytes; `None` takes that of the disks that were measured.
    pub disk_bytes: Option<u64>,
    /// What one of each part costs.
    pub prices: Prices,
}

/// Where the rates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Trials that ran here: ends are those of 95 % intervals.
    Measured,
    /// Figures of others: ends are the spread over what they reported.
    Reported,
}

/// What it takes.
#[derive(Clone, Debug, Serialize)]
pub struct Sizing {
    /// What was asked, bytes per second.
    pub throughput_bytes_per_s: f64,
    /// Where the rates come from.
    pub basis: Basis,
    /// Controllers.
    pub controllers: PartsNeeded,
    /// Disks, at the rate that each had behind a controller that it shared; where none did, at that
    /// of a disk alone.
    pub disks: PartsNeeded,
    /// Disks, if each gave what it gave alone.
    pub disks_alone: PartsNeeded,
    /// Disks, if every port of the controllers were filled.
    pub disks_filled: Option<Filled>,
    /// Disks that hold the capacity that was asked for.
    pub disks_capacity: Option<Capacity>,
    /// Network cards.
    pub nics: PartsNeeded,
    /// Slots for the cards.
    pub slots: Slots,
    /// What binds first.
    pub binds: Binds,
    /// What it costs, where prices were given.
    pub cost: Option<Cost>,
    /// What the authors of reported figures expected of that throughput.
    pub expected: Option<Expected>,
    /// What has to be known of these counts.
    pub notes: Vec<String>,
}

/// Controllers with all their ports filled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Filled {
    /// Disks, of the best controllers.
    pub value: u64,
    /// Of as few controllers as may do.
    pub low: u64,
    /// Of as many as may be needed; `None` where nothing bounds these.
    pub high: Option<u64>,
    /// Ports of one controller.
    pub ports: u64,
    /// Who says so.
    pub from: String,
}

/// Disks by what they must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// What was asked for, bytes.
    pub capacity_bytes: u64,
    /// What one disk holds, bytes; `None` where that is not known.
    pub disk_bytes: Option<u64>,
    /// Disks, without any for redundancy; `None` where that is not known.
    pub value: Option<u64>,
    /// Who says what a disk holds, or why it is not known.
    pub from: String,
}

/// What the records and the inventory say.
#[derive(Debug, Default)]
struct Facts {
    controllers: Vec<PartRate>,
    shared_disks: Vec<PartRate>,
    lone_disks: Vec<PartRate>,
    nics: Vec<PartRate>,
    /// Why there are none, where there are none.
    no_controllers: String,
    no_disks: String,
    no_nics: String,
    /// What one of the disks holds, bytes, where all that were measured hold the same.
    disk_bytes: Option<u64>,
    notes: Vec<String>,
}

/// Answers it from the records of one campaign and the campaign's inventory. Trials over a network
/// need their counters, to tell which card they went through.
pub fn size(records: &[Record], inventory: &Json, asked: &SizingRequest) -> Sizing {
    let rows: Vec<ReportedRow<'_>> = records.iter().filter_map(ReportedRow::from_record).collect();
    let of_others = !rows.is_empty() && rows.len() == records.len();
    let (basis, machines) = match of_others {
        true => (Basis::Reported, machines(inventory)),
        false => (Basis::Measured, own(inventory)),
    };
    let facts = match of_others {
        true => reported::facts(&rows, &machines),
        false => measured::facts(records, machines.first()),
    };
    let target = asked.throughput_bytes_per_s;
    let expected = reported::expected(&rows, target);
    sizing(facts, &machines, basis, expected, asked)
}

fn sizing(
    facts: Facts,
    machines: &[Machine],
    basis: Basis,
    expected: Option<Expected>,
    asked: &SizingRequest,
) -> Sizing {
    let target = asked.throughput_bytes_per_s;
    let Facts { shared_disks, lone_disks, disk_bytes, mut notes, .. } = facts;
    let controllers = PartsNeeded::for_target(target, facts.controllers, &facts.no_controllers);
    let nics = PartsNeeded::for_target(target, facts.nics, &facts.no_nics);
    let shared = if shared_disks.is_empty() { lone_disks.clone() } else { shared_disks };
    let disks = PartsNeeded::for_target(target, shared, &facts.no_disks);
    let disks_alone = PartsNeeded::for_target(target, lone_disks, "no disk was read alone");
    let best = controllers.best().or(nics.best());
    let machine = best.map_or(machines.first(), |rate| machines.get(rate.machine));
    let slots = slots::slots(machine, &controllers, &nics);
    let binds = binds::binds(machine, &slots, &controllers, &nics, target);
    let disks_filled = filled(&controllers, asked.ports);
    let disks_capacity = asked.capacity_bytes.map(|bytes| capacity(bytes, disk_bytes, asked));
    let most = disks.value.max(disks_capacity.as_ref().and_then(|it| it.value));
    let cost = cost::cost(&asked.prices, [(&disks, most), (&controllers, None), (&nics, None)]);
    notes.extend(assumed(&controllers, "controllers"));
    notes.extend(assumed(&nics, "network cards"));
    Sizing {
        throughput_bytes_per_s: target,
        basis,
        controllers,
        disks,
        disks_alone,
        disks_filled,
        disks_capacity,
        nics,
        slots,
        binds,
        cost,
        expected,
        notes,
    }
}

/// The machine that trials ran on, as `inspect` sees it.
fn own(inventory: &Json) -> Vec<Machine> {
    let parsed = |name: &str| Some(inventory.get(name)?.clone());
    let server = parsed("server").and_then(|of| serde_json::from_value::<Server>(of).ok());
    let bandwidth = parsed("bandwidth").and_then(|of| serde_json::from_value::<Bandwidth>(of).ok());
    server.map(|server| Machine::with("", server, bandwidth)).into_iter().collect()
}

/// All ports of the controllers filled; `None` where neither is known.
fn filled(controllers: &PartsNeeded, typed: Option<u64>) -> Option<Filled> {
    let seen = controllers.best()?.ends.filter(|ends| *ends > 0);
    let (ports, from) = match (typed, seen) {
        (Some(ports), _) => (ports, "as given by --ports".to_owned()),
        (None, Some(seen)) => (seen, format!("{seen} disks are on one here; it may have more")),
        (None, None) => return None,
    };
    let times = |count: u64| count.saturating_mul(ports);
    Some(Filled {
        value: times(controllers.value?),
        low: times(controllers.low?),
        high: controllers.high.map(times),
        ports,
        from,
    })
}

fn capacity(capacity_bytes: u64, measured: Option<u64>, asked: &SizingRequest) -> Capacity {
    let disk_bytes = asked.disk_bytes.or(measured).filter(|bytes| *bytes > 0);
    let from = match (asked.disk_bytes, disk_bytes) {
        (Some(_), _) => "as given by --disk-capacity",
        (None, Some(_)) => "as the disks that were measured",
        (None, None) => "what a disk holds is not known: give it by --disk-capacity 2TB",
    };
    Capacity {
        capacity_bytes,
        disk_bytes,
        value: disk_bytes.map(|bytes| capacity_bytes.div_ceil(bytes).max(1)),
        from: from.to_owned(),
    }
}

/// That several give several times as much is a claim of its own, where none were used at once.
fn assumed(need: &PartsNeeded, what: &str) -> Option<String> {
    let several = need.value.is_some_and(|count| count > 1);
    let shown = need.rates.iter().any(|rate| rate.cards > 1);
    (several && !shown).then(|| {
        format!("Assumed, not measured: several {what} deliver so many times as much as one.")
    })
}
