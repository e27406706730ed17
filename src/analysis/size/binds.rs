//! What binds first on the way to the target, of what is known to bound it.

use serde::Serialize;

use super::{Need, Slots};
use crate::analysis::reported::way::Machine;
use crate::value::{bits, percent};

/// What bounds the throughput of the machine, however many parts are bought.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Binds {
    /// What is reached first, `slots` or `memory`; `None` where neither is known.
    pub first: Option<&'static str>,
    /// Whether that is below the target; `None` where the parts leave it open.
    pub below_target: Option<bool>,
    /// All that is known, the tightest first.
    pub limits: Vec<Limit>,
    /// What is not known to bind or not.
    pub unknown: Vec<String>,
}

/// A bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// `slots` or `memory`.
    pub what: &'static str,
    /// It surely carries so much, bytes per second.
    pub low_bytes_per_s: f64,
    /// It surely carries no more, bytes per second.
    pub high_bytes_per_s: f64,
    /// Where that comes from.
    pub said: String,
}

/// What bounds it.
pub fn binds(
    machine: Option<&Machine>,
    slots: &Slots,
    controllers: &Need,
    nics: &Need,
    target: f64,
) -> Binds {
    let mut binds = Binds::default();
    match slots.reach_bytes_per_s {
        Some(reach) => binds.limits.push(Limit {
            what: "slots",
            low_bytes_per_s: reach,
            high_bytes_per_s: reach,
            said: in_slots(slots, controllers, nics),
        }),
        None => binds.unknown.push("slots".to_owned()),
    }
    match machine.and_then(memory) {
        Some(limit) => binds.limits.push(limit),
        None => binds.unknown.push("memory".to_owned()),
    }
    binds.unknown.push("processors".to_owned());
    binds.limits.sort_by(|a, b| a.high_bytes_per_s.total_cmp(&b.high_bytes_per_s));
    if let Some(first) = binds.limits.first() {
        binds.first = Some(first.what);
        let open = first.low_bytes_per_s < target && target <= first.high_bytes_per_s;
        binds.below_target = (!open).then_some(first.high_bytes_per_s < target);
    }
    binds
}

fn in_slots(slots: &Slots, controllers: &Need, nics: &Need) -> String {
    let [some, others] = slots.filled;
    let one = |number: u64, what: &str| match number {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let there = one(slots.there.unwrap_or(0), "slot");
    match (controllers.value, nics.value) {
        (Some(_), Some(_)) => {
            format!("{} and {} in the {there}", one(some, "controller"), one(others, "NIC"))
        }
        (Some(_), None) => {
            format!("{} in the {there}, none left for NICs", one(some, "controller"))
        }
        _ => format!("{} in the {there}, none left for controllers", one(others, "NIC")),
    }
}

/// Each byte passes memory twice at least: from the controller into it, and out of it to the
/// network card.
fn memory(machine: &Machine) -> Option<Limit> {
    const PASSES: f64 = 2.0;
    let limit = |low: f64, high: f64, said: String| Limit {
        what: "memory",
        low_bytes_per_s: low / PASSES,
        high_bytes_per_s: high / PASSES,
        said,
    };
    if let Some(read) = machine.bandwidth.as_ref().and_then(|it| it.read_bytes_per_s()) {
        let said = format!("half of the {} that reading it was measured to give", bits(read));
        return Some(limit(read, read, said));
    }
    /// Copying gets so much of the nominal rate at least.
    const SURE: f64 = 0.5;
    let peak = machine.memory_peak()?;
    let said = format!(
        "{} of the channels' nominal {} or more, each byte passing twice",
        percent(SURE),
        bits(peak)
    );
    Some(limit(peak * SURE, peak, said))
}
