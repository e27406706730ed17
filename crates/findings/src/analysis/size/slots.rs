//! Slots: how many the cards take, how many there are, and how much goes through these at most.

use serde::Serialize;

use super::PartsNeeded;
use crate::analysis::reported::way::Machine;

/// Slots for controllers and network cards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slots {
    /// As many as cards by their best rates; of the kinds of cards whose number is known. `None`
    /// where that is none.
    pub value: Option<u64>,
    /// As few may do.
    pub low: Option<u64>,
    /// As many may be needed; `None` where nothing bounds it.
    pub high: Option<u64>,
    /// Lanes of the widest link among the best cards'.
    pub lanes: Option<u32>,
    /// Slots of PCI Express that the machine has; `None` where that is not known.
    pub there: Option<u64>,
    /// These by width, the widest first.
    pub widths: Vec<Width>,
    /// What these slots can carry at most with such cards, bytes per second from disk to network;
    /// `None` where it is not known.
    pub reach_bytes_per_s: Option<f64>,
    /// Controllers and network cards with which they do.
    pub filled: [u64; 2],
    /// Why something is not known.
    pub why: Option<String>,
}

/// Slots of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Width {
    /// Electrical width, lanes.
    pub lanes: u32,
    /// How many there are.
    pub slots: u64,
}

/// No machine has more; firmware that says so is not believed beyond, and searching takes a moment.
const SLOTS_MAX: usize = 32;

/// Widths that PCI Express has (PCI Express Base Specification, link width). Each other one would
/// multiply the search.
const WIDTHS: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];

/// What the cards take of the machine's slots.
pub fn slots(machine: Option<&Machine>, controllers: &PartsNeeded, nics: &PartsNeeded) -> Slots {
    let sum = |ends: [Option<u64>; 2]| match ends {
        [Some(one), Some(other)] => Some(one.saturating_add(other)),
        [one, other] => one.or(other),
    };
    let unbounded = |need: &PartsNeeded| need.value.is_some() && need.high.is_none();
    let high = sum([controllers.high, nics.high]);
    let lanes = [controllers, nics].map(|need| need.best().and_then(|rate| rate.lanes));
    let mut slots = Slots {
        value: sum([controllers.value, nics.value]),
        low: sum([controllers.low, nics.low]),
        high: high.filter(|_| !unbounded(controllers) && !unbounded(nics)),
        lanes: lanes.into_iter().flatten().max(),
        ..Slots::default()
    };
    let Some(machine) = machine else {
        slots.why = Some("no machine of these figures is described".to_owned());
        return slots;
    };
    slots.widths = widths(machine);
    if slots.widths.is_empty() {
        let why = "no table of the firmware tells which slots the machine has (reading it takes \
                   root)";
        slots.why = Some(why.to_owned());
        return slots;
    }
    slots.there = Some(slots.widths.iter().map(|width| width.slots).sum());
    let best = fill(&slots.widths, controllers, nics);
    slots.filled = [best.controllers, best.nics];
    slots.reach_bytes_per_s = slots.value.map(|_| best.carries(controllers, nics));
    slots
}

/// Slots of PCI Express whose width the firmware tells.
fn widths(machine: &Machine) -> Vec<Width> {
    // Others that are of PCI Express too take a disk, or no card of full size.
    let card = |kind: &str| {
        kind.starts_with("PCI Express") && !kind.contains("U.2") && !kind.contains("Mini")
    };
    let all = machine.server.firmware.slots.iter();
    let cards = all.filter(|slot| slot.kind.as_deref().is_some_and(card));
    let wide = cards.filter_map(|slot| slot.lanes).filter(|lanes| WIDTHS.contains(lanes));
    let mut lanes: Vec<u32> = wide.take(SLOTS_MAX).collect();
    lanes.sort_unstable_by(|a, b| b.cmp(a));
    let same = lanes.chunk_by(|a, b| a == b);
    same.map(|of| Width { lanes: of[0], slots: of.len() as u64 }).collect()
}

/// What stands in the slots so far.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    controllers: u64,
    nics: u64,
    from_disks: f64,
    to_network: f64,
}

impl Stand {
    /// From disk to network; where one side is not known, of the other alone.
    fn carries(&self, controllers: &PartsNeeded, nics: &PartsNeeded) -> f64 {
        match (controllers.value, nics.value) {
            (Some(_), Some(_)) => self.from_disks.min(self.to_network),
            (Some(_), None) => self.from_disks,
            _ => self.to_network,
        }
    }
}

/// The dealing of slots to controllers and network cards that carries most.
fn fill(widths: &[Width], controllers: &PartsNeeded, nics: &PartsNeeded) -> Stand {
    let mut stands = vec![Stand::default()];
    for width in widths {
        let rates = [controllers.in_slot(width.lanes), nics.in_slot(width.lanes)];
        let deal = |stand: &Stand| {
            let stand = *stand;
            (0..=width.slots).map(move |first| Stand {
                controllers: stand.controllers + if rates[0] > 0.0 { first } else { 0 },
                nics: stand.nics + if rates[1] > 0.0 { width.slots - first } else { 0 },
                from_disks: stand.from_disks + rates[0] * first as f64,
                to_network: stand.to_network + rates[1] * (width.slots - first) as f64,
            })
        };
        stands = stands.iter().flat_map(deal).collect();
    }
    let carries = |stand: &Stand| stand.carries(controllers, nics);
    let best = stands.into_iter().max_by(|a, b| carries(a).total_cmp(&carries(b)));
    best.unwrap_or_default()
}
