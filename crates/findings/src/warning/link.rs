//! PCI Express links: their two ends, and those that run below what both can.

use std::collections::BTreeSet;

use super::{WarningFinding, is_virtual, rate};
use facts::inventory::ceiling::pcie;
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Function, Server};

/// A link with its two ends.
pub struct Link<'a> {
    /// The lower end: a card, a drive, or the upper port of a switch.
    pub card: &'a Function,
    /// The upper end: a root port, or a lower port of a switch.
    pub port: &'a Function,
    /// What it runs at.
    pub current: Pace,
    /// What the lower end could do.
    pub card_max: Pace,
    /// What the upper end could do.
    pub port_max: Pace,
}

impl Link<'_> {
    /// What both ends could do.
    pub fn possible(&self) -> Pace {
        Pace {
            gt_per_s: self.card_max.gt_per_s.min(self.port_max.gt_per_s),
            lanes: self.card_max.lanes.min(self.port_max.lanes),
        }
    }

    /// Whether it runs slower than both ends could.
    pub fn slower(&self) -> bool {
        below(self.current.gt_per_s, self.possible().gt_per_s)
    }

    /// Whether it runs narrower than both ends could.
    pub fn narrower(&self) -> bool {
        self.current.lanes < self.possible().lanes
    }

    /// What it carries at a pace, bytes per second in each direction.
    pub fn carries(&self, pace: Pace) -> Option<f64> {
        Some(pcie(pace, self.card.payload_bytes)?.bytes_per_s)
    }

    /// `0000:03:00.0 (Maker Card)`.
    pub fn part(&self) -> String {
        part(self.card)
    }

    /// Address without the function: all functions of a card share its link.
    pub fn device(&self) -> &str {
        device(&self.card.address)
    }

    /// The files that say so.
    pub fn evidence(&self) -> Vec<String> {
        let of = |function: &Function, which: &str, pace: Pace| {
            let folder = format!("/sys/bus/pci/devices/{}", function.address);
            format!(
                "{folder}/{which}_link_speed = {:?} GT/s, {which}_link_width = {}",
                pace.gt_per_s, pace.lanes
            )
        };
        vec![
            of(self.card, "current", self.current),
            of(self.card, "max", self.card_max),
            of(self.port, "max", self.port_max),
        ]
    }
}

/// Whether a speed is below another; speeds are names rather than measurements, and 2.5 GT/s is
/// read from text.
pub fn below(one: f64, other: f64) -> bool {
    one < other - 0.01
}

/// `2.5 GT/s x4`.
pub fn words(pace: Pace) -> String {
    format!("{} GT/s x{}", pace.gt_per_s, pace.lanes)
}

/// A function's name where it has one, else its kind.
pub fn part(function: &Function) -> String {
    let name = function.name.as_deref().unwrap_or(&function.kind);
    match name {
        "" => function.address.clone(),
        name => format!("{} ({name})", function.address),
    }
}

/// Address without the function.
pub fn device(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(device, _)| device)
}

/// Every link both of whose ends are known, each once. None in a virtual machine.
pub fn links(server: &Server) -> Vec<Link<'_>> {
    if is_virtual(server) {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let functions = server.pci.iter();
    let links = functions.filter_map(|card| link(server, card));
    links.filter(|link| seen.insert(link.device().to_owned())).collect()
}

fn link<'a>(server: &'a Server, card: &'a Function) -> Option<Link<'a>> {
    let port = above(server, card)?;
    // A root port stands at the top; below it comes a card, or the upper port of a switch, whose
    // lower ports come next. Only from the first to the second and from the third to the fourth
    // is there a link: within a switch there is none.
    if depth(server, port)? % 2 != 0 {
        return None;
    }
    let known = |pace: Option<Pace>| pace.filter(|pace| pace.gt_per_s > 0.0 && pace.lanes > 0);
    let (own, upper) = (card.link?, port.link?);
    Some(Link {
        card,
        port,
        current: known(own.current).or(known(upper.current))?,
        card_max: known(own.max)?,
        port_max: known(upper.max)?,
    })
}

fn above<'a>(server: &'a Server, function: &Function) -> Option<&'a Function> {
    let parent = function.parent.as_deref()?;
    server.pci.iter().find(|other| other.address == parent)
}

/// How many bridges are above; `None` when they go in a circle.
fn depth(server: &Server, function: &Function) -> Option<usize> {
    let mut function = function;
    for depth in 0..=server.pci.len() {
        match above(server, function) {
            Some(parent) => function = parent,
            None => return Some(depth),
        }
    }
    None
}

/// Links that run slower or narrower than both ends can.
pub fn downtrained(server: &Server) -> Vec<WarningFinding> {
    let links = links(server).into_iter();
    links.filter(|link| link.slower() || link.narrower()).map(|link| found(&link)).collect()
}

fn found(link: &Link<'_>) -> WarningFinding {
    let (slower, narrower) = (link.slower(), link.narrower());
    let mut text = format!(
        "The link runs at {}; the card can {}, the port above it ({}) {}.",
        words(link.current),
        words(link.card_max),
        link.port.address,
        words(link.port_max),
    );
    let mut evidence = link.evidence();
    let power = power(link, &mut evidence);
    let explained = slower && power.is_some();
    if let Some(power) = power.filter(|_| slower) {
        text +=
            &format!(" {power}: this may be all that there is to it. Read it again under load.");
    } else if slower {
        text += " Some cards slow an idle link down: read it again under load.";
    }
    if narrower {
        text += " Saving power does not narrow a link: contacts, the riser, the cable, or lanes \
                 that the board shares between slots do.";
    }
    let cost = match (link.carries(link.current), link.carries(link.possible())) {
        (Some(now), Some(could)) => {
            let lost = format!("{} instead of {} each way", rate(now), rate(could));
            if explained && !narrower { format!("{lost}, while it is so") } else { lost }
        }
        _ => "a part of what the card could move".to_owned(),
    };
    let address = &link.card.address;
    let look = format!("cat /sys/bus/pci/devices/{address}/current_link_{{speed,width}}");
    let command = match narrower || !explained {
        true => format!(
            "`{look}` under load; then reseat the card, try another slot, and look for a limit of \
             the slot's speed in the firmware's setup"
        ),
        false => format!(
            "`{look}` under load; `echo on > /sys/bus/pci/devices/{address}/power/control` and the \
             kernel's argument `pcie_aspm=off` keep it awake"
        ),
    };
    WarningFinding { part: link.part(), text, evidence, cost, command }
}

/// How power management may explain a slow link; the evidence is added.
fn power(link: &Link<'_>, evidence: &mut Vec<String>) -> Option<String> {
    for end in [link.card, link.port] {
        if end.runtime_status.as_deref() == Some("suspended") {
            let file = format!("/sys/bus/pci/devices/{}/power/runtime_status", end.address);
            evidence.push(format!("{file} = suspended"));
            return Some(format!("{} sleeps to save power", end.address));
        }
    }
    let aspm = link.card.aspm.as_deref().filter(|aspm| !matches!(*aspm, "off" | ""))?;
    evidence.push(format!("ASPM of {}: {aspm}", link.card.address));
    Some(format!("The link saves power when idle (ASPM {aspm})"))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use facts::inventory::server::Link as Paces;

    pub fn pace(gt_per_s: f64, lanes: u32) -> Pace {
        Pace { gt_per_s, lanes }
    }

    pub fn function(address: &str, parent: Option<&str>, current: Pace, max: Pace) -> Function {
        Function {
            address: address.to_owned(),
            parent: parent.map(str::to_owned),
            link: Some(Paces { current: Some(current), max: Some(max) }),
            ..Function::default()
        }
    }

    /// A card of two functions below a root port.
    pub fn card(current: Pace, max: Pace, port: Pace) -> Server {
        Server {
            pci: vec![
                function("0000:00:01.0", None, current, port),
                function("0000:03:00.0", Some("0000:00:01.0"), current, max),
                function("0000:03:00.1", Some("0000:00:01.0"), current, max),
            ],
            ..Server::default()
        }
    }

    #[test]
    fn a_link_below_what_both_ends_can_is_found_once_with_what_it_costs() {
        let found = downtrained(&card(pace(2.5, 8), pace(8.0, 8), pace(8.0, 16)));
        let [found] = &found[..] else { panic!("one link, {found:?}") };
        assert_eq!(found.part, "0000:03:00.0");
        assert!(found.text.contains("2.5 GT/s x8; the card can 8 GT/s x8"), "{}", found.text);
        assert!(found.text.contains("under load"), "{}", found.text);
        let now = pcie(pace(2.5, 8), None).unwrap().bytes_per_s;
        assert!(found.cost.starts_with(&rate(now)), "{}", found.cost);
        let file = "/sys/bus/pci/devices/0000:03:00.0/current_link_speed = 2.5 GT/s";
        assert!(found.evidence[0].starts_with(file), "{:?}", found.evidence);
        assert!(found.command.contains("reseat"), "{}", found.command);
    }

    #[test]
    fn an_end_that_can_do_no_more_is_no_downtraining() {
        // The second source's cards: 2.5 GT/s is all they can.
        assert_eq!(downtrained(&card(pace(2.5, 8), pace(2.5, 8), pace(5.0, 8))), []);
        assert_eq!(downtrained(&card(pace(8.0, 4), pace(8.0, 8), pace(16.0, 4))), []);
        let unknown = card(pace(0.0, 0), pace(8.0, 8), pace(8.0, 8));
        assert_eq!(downtrained(&unknown), []);
    }

    #[test]
    fn power_management_explains_a_slow_link_and_no_narrow_one() {
        let mut server = card(pace(2.5, 8), pace(8.0, 8), pace(8.0, 8));
        server.pci[1].aspm = Some("L1".to_owned());
        let found = &downtrained(&server)[0];
        assert!(found.text.contains("saves power when idle (ASPM L1)"), "{}", found.text);
        assert!(found.command.contains("pcie_aspm=off"), "{}", found.command);
        server.pci[0].runtime_status = Some("suspended".to_owned());
        let found = &downtrained(&server)[0];
        assert!(found.text.contains("0000:00:01.0 sleeps"), "{}", found.text);
        assert!(found.evidence[3].ends_with("runtime_status = suspended"));
        let mut server = card(pace(8.0, 4), pace(8.0, 8), pace(8.0, 8));
        server.pci[1].aspm = Some("L1".to_owned());
        let found = &downtrained(&server)[0];
        assert!(found.text.contains("does not narrow a link"), "{}", found.text);
        assert!(found.command.contains("reseat"), "{}", found.command);
    }

    #[test]
    fn within_a_switch_there_is_no_link_and_a_circle_of_parents_ends() {
        let slow = pace(2.5, 4);
        let fast = pace(16.0, 16);
        let mut server = Server {
            pci: vec![
                function("0000:00:01.0", None, fast, fast),
                function("0000:01:00.0", Some("0000:00:01.0"), fast, fast),
                function("0000:02:00.0", Some("0000:01:00.0"), slow, fast),
                function("0000:03:00.0", Some("0000:02:00.0"), slow, slow),
            ],
            ..Server::default()
        };
        // The lower port's own link is slow because the card below it can do no more.
        assert_eq!(downtrained(&server), []);
        server.pci[0].parent = Some("0000:03:00.0".to_owned());
        assert_eq!(downtrained(&server), []);
    }

    #[test]
    fn the_links_of_a_guest_are_its_hypervisors_invention() {
        let mut server = card(pace(2.5, 1), pace(8.0, 8), pace(16.0, 32));
        assert_eq!(downtrained(&server).len(), 1);
        server.machine.virtual_machine = Some(true);
        assert_eq!(downtrained(&server), []);
    }
}
