//! What binds first on the way to the target, of what is known to bound it.

use serde::Serialize;

use super::{PartsNeeded, Slots};
use crate::analysis::reported::way::Machine;
use base::value::bits;

/// What bounds the throughput of the machine, however many parts are bought.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Binds {
    /// What is reached first, `slots` or `memory`; `None` where neither is known.
    pub first: Option<&'static str>,
    /// Whether that is below the target; `None` where something may be, and nothing surely is.
    pub below_target: Option<bool>,
    /// All that is known, the tightest first.
    pub limits: Vec<SizingBound>,
    /// What is not known to bind or not.
    pub unknown: Vec<String>,
}

/// What the slots or the memory of a machine let through at most, bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizingBound {
    /// `slots` or `memory`.
    pub what: &'static str,
    /// It carries so much in any case, bytes per second.
    pub low_bytes_per_s: f64,
    /// It carries no more in any case, bytes per second.
    pub high_bytes_per_s: f64,
    /// Where that comes from.
    pub said: String,
}

/// What bounds it.
pub fn binds(
    machine: Option<&Machine>,
    slots: &Slots,
    controllers: &PartsNeeded,
    nics: &PartsNeeded,
    target: f64,
) -> Binds {
    let mut binds = Binds::default();
    match slots.reach_bytes_per_s {
        Some(reach) => binds.limits.push(SizingBound {
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
        let all_clear = binds.limits.iter().all(|limit| limit.low_bytes_per_s >= target);
        binds.below_target = match first.high_bytes_per_s < target {
            true => Some(true),
            false => all_clear.then_some(false),
        };
    }
    binds
}

fn in_slots(slots: &Slots, controllers: &PartsNeeded, nics: &PartsNeeded) -> String {
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

/// Without any copy each byte passes memory twice: into it from the controller, and out of it to
/// the network card. Read into a buffer of a program and sent from there, it is read and written
/// twice more.
fn memory(machine: &Machine) -> Option<SizingBound> {
    const PASSES: [f64; 2] = [2.0, 6.0];
    /// Copying gets so much of the nominal rate at least.
    const SURE: f64 = 0.5;
    let measured = machine.bandwidth.as_ref().and_then(|it| it.read_bytes_per_s());
    let (low, high, from) = match measured {
        Some(read) => (read, read, format!("reading it was measured at {}", bits(read))),
        None => {
            let peak = machine.memory_peak()?;
            (peak * SURE, peak, format!("half to all of its nominal {}", bits(peak)))
        }
    };
    let [few, many] = PASSES;
    Some(SizingBound {
        what: "memory",
        low_bytes_per_s: low / many,
        high_bytes_per_s: high / few,
        said: format!("{from}, over {many} to {few} passes"),
    })
}
