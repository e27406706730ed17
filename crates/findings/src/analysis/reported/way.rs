//! The way that a reported figure took, found by the topology of the machine alone.
//!
//! Of disks: the controller that holds so many. Of a network: the slot that the figure names,
//! as the machine's firmware numbers it. Where that leaves several, there is no way,
//! and nothing is judged.

use super::ReportedRow;
use super::judge::{PathPartKind, ReportedPathPart};
use crate::analysis::path::{self, DataPath, Paths};
use experiment::knob;
use experiment::measurement::reported::ReportedPath;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::{Function, Server};

/// A machine that figures were measured on.
pub struct Machine {
    /// Its name among the machines of its set.
    pub name: String,
    /// What it is made of.
    pub server: Server,
    /// The ways of its data.
    pub paths: Paths,
    /// What was measured of its memory.
    pub bandwidth: Option<Bandwidth>,
}

impl Machine {
    /// Finds its ways.
    pub fn new(name: &str, server: Server) -> Machine {
        Machine::with(name, server, None)
    }

    /// The same of a machine whose memory was measured, or not.
    pub fn with(name: &str, server: Server, bandwidth: Option<Bandwidth>) -> Machine {
        let paths = path::paths(&server, bandwidth.as_ref());
        Machine { name: name.to_owned(), server, paths, bandwidth }
    }

    /// Lanes over which the card of a way runs now; `None` where it shows no link.
    pub fn lanes(&self, path: &DataPath) -> Option<u32> {
        Some(self.card(path)?.link?.current?.lanes)
    }

    /// The way that the bytes of `row` took; `None` when several could be meant, or none.
    pub fn way(&self, row: &ReportedRow<'_>) -> Option<&DataPath> {
        match row.reported.way {
            ReportedPath::Disks => self.of_disks(row.disks()?),
            ReportedPath::Network => self.of_slot(row.settings.get(knob::SLOT).unwrap_or_default()),
            ReportedPath::Untold => None,
        }
    }

    fn of_disks(&self, disks: usize) -> Option<&DataPath> {
        let holds = |path: &&DataPath| path.kind == "storage" && path.ends.len() >= disks;
        only(self.paths.paths.iter().filter(holds)).or_else(|| {
            // A file system over just so many disks, all behind one controller.
            let stacks = self.paths.stacks.iter();
            let over =
                stacks.filter(|stack| stack.kind == "filesystem" && stack.disks.len() == disks);
            match &only(over)?.paths[..] {
                [one] => self.paths.paths.get(*one),
                _ => None,
            }
        })
    }

    /// The way of the network card in the slot of that name.
    pub fn of_slot(&self, slot: &str) -> Option<&DataPath> {
        let in_it = |path: &&DataPath| {
            let mut cards = path.controllers.iter().filter_map(|address| self.function(address));
            path.kind == "network" && cards.any(|card| self.slot(card) == Some(slot))
        };
        only(self.paths.paths.iter().filter(in_it))
    }

    /// The PCI function of that address.
    pub fn function(&self, address: &str) -> Option<&Function> {
        self.server.pci.iter().find(|function| function.address == address)
    }

    fn slot<'a>(&'a self, card: &'a Function) -> Option<&'a str> {
        let above = || self.function(card.parent.as_deref()?)?.slot.as_deref();
        card.slot.as_deref().or_else(above)
    }

    /// What memory can move at most by the sum of its channels' nominal rates, bytes per second.
    /// `None` where the firmware does not tell what the modules are set to.
    pub fn memory_peak(&self) -> Option<f64> {
        /// Of a DDR channel, without ECC (JEDEC JESD79).
        const WIDTH_BYTES: f64 = 8.0;
        let memory = &self.server.memory;
        let set = memory.modules.iter().filter(|module| module.size_bytes.is_some());
        let rate =
            set.filter_map(|module| module.configured_mt_per_s.or(module.speed_mt_per_s)).min()?;
        Some(rate as f64 * 1e6 * WIDTH_BYTES * f64::from(memory.channels?.max(1)))
    }

    /// The parts of `path` for `row`; `one` is what a single disk was reported to deliver, least
    /// and most, and `carried` the most that went that way by other figures.
    pub fn parts(
        &self,
        path: &DataPath,
        row: &ReportedRow<'_>,
        one: Option<(f64, f64)>,
        carried: Option<f64>,
    ) -> Vec<ReportedPathPart> {
        let mut parts = Vec::new();
        let used = row.disks().filter(|_| row.reported.way == ReportedPath::Disks);
        if let Some(disks) = used {
            parts.push(of_disks(disks, one));
        }
        let controller = path.parts.iter().position(|part| part.kind == "pcie");
        for (place, part) in path.parts.iter().enumerate() {
            if Some(place) == controller {
                parts.push(self.controller(path));
            }
            let mut held = match (part.kind, used) {
                ("disks", Some(disks)) => each(part, disks, path.ends.len()),
                _ => self.held(part, carried),
            };
            if Some(place) == controller {
                held.name = self.own_link(path).unwrap_or(held.name);
            }
            parts.push(held);
        }
        parts
    }

    fn held(&self, part: &path::PathPart, carried: Option<f64>) -> ReportedPathPart {
        let kind = match part.kind {
            "ports" => PathPartKind::Port,
            "memory" => PathPartKind::Memory,
            _ => PathPartKind::Link,
        };
        let mut held = ReportedPathPart {
            name: part.name.clone(),
            kind,
            carries: part.encoded_bytes_per_s.map(|rate| (rate, rate)),
            left: part.bytes_per_s,
            each: false,
            derivation: part.derivation.clone(),
            carried,
        };
        if let (PathPartKind::Memory, None, Some(peak)) = (kind, held.carries, self.memory_peak()) {
            held.carries = Some((peak / 2.0, peak));
            held.derivation =
                "its channels' nominal rate, of which copying gets half or more".into();
        }
        held
    }

    /// What commands the disks or the port.
    fn card(&self, path: &DataPath) -> Option<&Function> {
        self.function(path.controllers.first()?)
    }

    /// `MegaRAID SAS 1078 (0000:03:00.0)`.
    fn called(&self, path: &DataPath) -> Option<String> {
        let address = path.controllers.first()?;
        let name = self.card(path).and_then(|card| card.name.as_deref());
        Some(name.map_or_else(|| address.clone(), |name| format!("{name} ({address})")))
    }

    /// `x4 PCIe 1.0 link of MegaRAID SAS 1078 (0000:03:00.0)`; `None` where the card shows no link.
    fn own_link(&self, path: &DataPath) -> Option<String> {
        let card = self.card(path)?;
        let pace = card.link?.current?;
        let slot = self.slot(card).map_or(String::new(), |slot| format!(" in slot {slot}"));
        let generation = generation(pace.gt_per_s)?;
        let called = self.called(path)?;
        Some(format!("x{} PCIe {generation} link of {called}{slot}", pace.lanes))
    }

    fn controller(&self, path: &DataPath) -> ReportedPathPart {
        let called = self.called(path).map_or(String::new(), |called| format!(" {called}"));
        let name = format!("the controller{called}");
        ReportedPathPart {
            name,
            kind: PathPartKind::Controller,
            carries: None,
            left: None,
            each: false,
            derivation: "no file tells what a controller can move".into(),
            carried: None,
        }
    }
}

/// The generation of PCI Express that runs at so many transfers per second and lane, 10^9/s.
fn generation(gt_per_s: f64) -> Option<&'static str> {
    let all =
        [(2.5, "1.0"), (5.0, "2.0"), (8.0, "3.0"), (16.0, "4.0"), (32.0, "5.0"), (64.0, "6.0")];
    all.into_iter().find(|(speed, _)| *speed == gt_per_s).map(|(_, name)| name)
}

/// `disks` of them, by what one alone was reported to deliver.
fn of_disks(disks: usize, one: Option<(f64, f64)>) -> ReportedPathPart {
    let all = disks as f64;
    ReportedPathPart {
        name: if disks == 1 { "the disk".to_owned() } else { format!("the {disks} disks") },
        kind: PathPartKind::Disks,
        carries: one.map(|(least, most)| (least * all, most * all)),
        left: None,
        each: true,
        derivation: match one {
            Some(_) => "by what was reported of one alone".into(),
            None => "nothing was reported of one alone".into(),
        },
        carried: None,
    }
}

/// Links of which each disk has its own, as many as disks were read.
fn each(part: &path::PathPart, disks: usize, all: usize) -> ReportedPathPart {
    let share = disks as f64 / all.max(1) as f64;
    ReportedPathPart {
        name: if disks == 1 {
            "its link".to_owned()
        } else {
            format!("the {disks} links of the disks")
        },
        kind: PathPartKind::Link,
        carries: part.encoded_bytes_per_s.map(|rate| (rate * share, rate * share)),
        left: part.bytes_per_s.map(|rate| rate * share),
        each: true,
        derivation: part.derivation.clone(),
        carried: None,
    }
}

/// The item, when there is exactly one.
fn only<'a, T>(mut items: impl Iterator<Item = &'a T>) -> Option<&'a T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
