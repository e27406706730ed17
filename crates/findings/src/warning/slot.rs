//! Cards whose link carries less than what hangs on them needs: because the card is of an older
//! generation than its slot, or because the slot is narrower or older than the card.
//!
//! A link that runs below what both ends can is `link`'s business; here is what remains when it
//! runs at its best.

use super::link::{Link, below, device, links, words};
use super::{WarningFinding, names, network_rate, rate};
use facts::inventory::Device;
use facts::inventory::server::{Drive, Server};

/// What no rotational disk of today reads faster than, bytes per second (outermost tracks; data
/// sheets of 2026 end at 291 MB/s for drives with one actuator).
const TURNING_BYTES_PER_S: f64 = 291e6;

/// What hangs on a card wants of its link.
#[derive(Debug, PartialEq)]
struct BandwidthNeed {
    bytes_per_s: f64,
    /// `2 ports of 10 Gb/s`.
    why: String,
}

/// Cards of an older generation than the port above them, whose link is too little for what hangs
/// on them; those of the first generation (2.5 GT/s) also when it is more than half used up.
pub fn slow_card(server: &Server) -> Vec<WarningFinding> {
    let links = links(server).into_iter();
    links.filter_map(|link| slow(&link, &need(server, &link)?)).collect()
}

fn slow(link: &Link<'_>, need: &BandwidthNeed) -> Option<WarningFinding> {
    const FIRST: f64 = 2.5;
    /// A server moves data into the card and out of it, and its interrupts and descriptors too.
    const TIGHT: f64 = 0.5;
    let old = below(link.card_max.gt_per_s, link.port_max.gt_per_s);
    if !old || link.slower() {
        return None;
    }
    let carries = link.carries(link.current)?;
    let short = carries < need.bytes_per_s;
    let tight = !below(FIRST, link.card_max.gt_per_s) && carries * TIGHT < need.bytes_per_s;
    if !short && !tight {
        return None;
    }
    let text = format!(
        "The card is too slow for its port: it can {} at most, whatever is printed on it, and the \
         port above it ({}) can {}. The link is not downtrained.",
        words(link.card_max),
        link.port.address,
        words(link.port_max),
    );
    let cost = match short {
        true => lack(carries, need),
        false => format!(
            "{} of {} each way are left beside {}: enough for these, and for little more",
            rate(carries - need.bytes_per_s),
            rate(carries),
            need.why
        ),
    };
    let wider = link.current.lanes < link.card_max.lanes;
    let command = match wider {
        true => format!("put the card into a slot of {} lanes, or replace it", link.card_max.lanes),
        false => format!(
            "replace it by a card of {} GT/s, or move other ports to another slot",
            link.port_max.gt_per_s
        ),
    };
    Some(WarningFinding { part: link.part(), text, evidence: link.evidence(), cost, command })
}

/// Cards that could do more than the port above them, where that is too little for what hangs on
/// them, or where it is not known what does; and links that are too little although both ends are
/// alike.
pub fn narrow_slot(server: &Server) -> Vec<WarningFinding> {
    let links = links(server).into_iter();
    links.filter_map(|link| narrow(server, &link)).collect()
}

fn narrow(server: &Server, link: &Link<'_>) -> Option<WarningFinding> {
    const STORAGE: u32 = 0x01;
    let narrower = link.port_max.lanes < link.card_max.lanes;
    let older = below(link.port_max.gt_per_s, link.card_max.gt_per_s);
    // What it would carry at its best: less than that is downtraining.
    let carries = link.carries(link.possible())?;
    let could = link.carries(link.card_max)?;
    let need = need(server, link);
    let cost = match &need {
        Some(need) if carries < need.bytes_per_s => lack(carries, need),
        Some(_) => return None,
        // A RAID card shows no disks; that its maker gave it the lanes says what it can do.
        None if link.card.class >> 16 == STORAGE && (narrower || older) => format!(
            "at most {} each way; the card could move {}, if its disks can",
            rate(carries),
            rate(could)
        ),
        None => return None,
    };
    let card_is_old = below(link.card_max.gt_per_s, link.port_max.gt_per_s);
    let text = match (narrower, older) {
        (true, _) => format!(
            "The card could use {} lanes, and the slot has {}.",
            link.card_max.lanes, link.port_max.lanes
        ),
        (false, true) => format!(
            "The card could run at {} GT/s, and the slot at {}.",
            link.card_max.gt_per_s, link.port_max.gt_per_s
        ),
        // That is `slow-card`'s to tell.
        (false, false) if card_is_old => return None,
        (false, false) => {
            format!("Both ends are at their best ({}), and it is too little.", words(link.current))
        }
    };
    let command = match (narrower, older) {
        (true, _) => format!(
            "put the card into a slot that has {} lanes (some that are as long have fewer: the \
             board's manual tells), or move a part of its load to another",
            link.card_max.lanes
        ),
        (false, true) => "put the card into a slot of a newer generation".to_owned(),
        _ => "move a part of its load to a card in another slot".to_owned(),
    };
    Some(WarningFinding { part: link.part(), text, evidence: link.evidence(), cost, command })
}

fn lack(carries: f64, need: &BandwidthNeed) -> String {
    format!(
        "the link carries {} each way, {:.0} % of the {} of {}",
        rate(carries),
        100.0 * carries / need.bytes_per_s,
        rate(need.bytes_per_s),
        need.why
    )
}

/// What hangs on the card of a link; `None` when that is not known of all of it.
fn need(server: &Server, link: &Link<'_>) -> Option<BandwidthNeed> {
    ports(server, link).or_else(|| disks(server, link))
}

/// The network ports of all functions of the card, at their fastest.
fn ports(server: &Server, link: &Link<'_>) -> Option<BandwidthNeed> {
    let of_card = |address: &Option<String>| address.as_deref().map(device) == Some(link.device());
    let ports = server.interfaces.iter().filter(|port| of_card(&port.controller));
    let rates: Option<Vec<f64>> =
        ports.map(|port| port.max_bits_per_s.or(port.bits_per_s)).collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let (count, sum) = (rates.len(), rates.iter().sum::<f64>());
    let why = match rates.iter().all(|rate| *rate == rates[0]) {
        true if count == 1 => format!("one port of {}", network_rate(sum)),
        true => format!("{count} ports of {}", network_rate(rates[0])),
        false => format!("{count} ports, {} together", network_rate(sum)),
    };
    Some(BandwidthNeed { bytes_per_s: sum / 8.0, why })
}

/// The disks of the card: NVMe drives at what their own link could carry, others at the rate of
/// their links, rotational ones at what no such disk exceeds.
fn disks(server: &Server, link: &Link<'_>) -> Option<BandwidthNeed> {
    let of_card = |drive: &&Drive| drive.controller.as_deref().map(device) == Some(link.device());
    let drives: Vec<&Drive> = server.drives.iter().filter(of_card).collect();
    let first = drives.first()?;
    let device = |drive: &Drive| server.devices.iter().find(|device| device.name == drive.name);
    if drives.iter().all(|drive| device(drive).is_some_and(|device| device.transport == "nvme")) {
        let bytes_per_s = link.carries(link.card_max)?;
        return Some(BandwidthNeed {
            bytes_per_s,
            why: format!("{}'s own link at its best", first.name),
        });
    }
    let each: Option<Vec<f64>> = drives.iter().map(|drive| of_disk(drive, device(drive))).collect();
    let each = each?;
    let names = names(&drives.iter().map(|drive| drive.name.as_str()).collect::<Vec<&str>>());
    let why = format!("the {} disks behind it ({names})", drives.len());
    let why = if drives.len() == 1 { format!("the disk behind it ({names})") } else { why };
    Some(BandwidthNeed { bytes_per_s: shared(&drives, &each), why })
}

/// What one disk behind an HBA can deliver, bytes per second.
fn of_disk(drive: &Drive, device: Option<&Device>) -> Option<f64> {
    let hops = drive.links.iter().filter_map(|hop| hop_bytes_per_s(hop.bits_per_s?, hop.lanes));
    let link = hops.reduce(f64::min);
    let link = link.or_else(|| device?.ceiling.as_ref()?.bytes_per_s);
    let turns = device.is_some_and(|device| device.rotational == Some(true))
        || drive.rpm.is_some_and(|rpm| rpm > 1);
    match (link, turns) {
        (Some(link), true) => Some(link.min(TURNING_BYTES_PER_S)),
        (link, false) => link,
        // A RAID card's volume may turn, and be many disks.
        (None, true) => None,
    }
}

/// 8b/10b up to 12 Gb/s (SATA, SAS-1 to SAS-3), 128b/150b above (SAS-4).
fn hop_bytes_per_s(bits_per_s: f64, lanes: u32) -> Option<f64> {
    let code = if bits_per_s > 12.5e9 { 128.0 / 150.0 } else { 0.8 };
    let rate = bits_per_s * code / 8.0 * f64::from(lanes.max(1));
    Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// The sum over the disks, where those behind one wide port have no more than that port.
fn shared(drives: &[&Drive], each: &[f64]) -> f64 {
    let mut ports: Vec<(&str, f64, f64)> = Vec::new();
    let mut sum = 0.0;
    for (drive, rate) in drives.iter().zip(each) {
        let first = drive.links.first().filter(|_| drive.links.len() > 1);
        let port = first
            .and_then(|hop| Some((hop.id.as_str(), hop_bytes_per_s(hop.bits_per_s?, hop.lanes)?)));
        let Some((id, carries)) = port else {
            sum += rate;
            continue;
        };
        match ports.iter_mut().find(|(known, ..)| *known == id) {
            Some((_, _, wanted)) => *wanted += rate,
            None => ports.push((id, carries, *rate)),
        }
    }
    sum + ports.iter().map(|(_, carries, wanted)| carries.min(*wanted)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::link::downtrained;
    use super::super::link::tests::{card, pace};
    use super::*;
    use facts::inventory::server::{Hop, Interface};

    fn port(server: &mut Server, function: &str, bits_per_s: f64) {
        let name = format!("eth{}", server.interfaces.len());
        let controller = Some(function.to_owned());
        let max_bits_per_s = Some(bits_per_s);
        let interface = Interface { name, controller, max_bits_per_s, ..Interface::default() };
        server.interfaces.push(interface);
    }

    fn disk(server: &mut Server, hops: &[(&str, f64, u32)]) {
        let hop = |(id, bits_per_s, lanes): &(&str, f64, u32)| Hop {
            id: (*id).to_owned(),
            bits_per_s: Some(*bits_per_s),
            lanes: *lanes,
            ..Hop::default()
        };
        server.drives.push(Drive {
            name: format!("sd{}", server.drives.len()),
            controller: Some("0000:03:00.0".to_owned()),
            links: hops.iter().map(hop).collect(),
            ..Drive::default()
        });
    }

    #[test]
    fn the_second_sources_cards_are_too_slow_for_their_port_and_not_downtrained() {
        // In the x4 slot: less than one port needs, and fewer lanes than the card has.
        let mut server = card(pace(2.5, 4), pace(2.5, 8), pace(5.0, 4));
        port(&mut server, "0000:03:00.0", 1e10);
        let found = slow_card(&server);
        let [one] = &found[..] else { panic!("one card, {found:?}") };
        assert!(one.text.starts_with("The card is too slow for its port"), "{}", one.text);
        assert!(one.cost.contains("% of the 1250 MB/s of one port of 10 Gb/s"), "{}", one.cost);
        assert_eq!(narrow_slot(&server).len(), 1);
        assert_eq!(downtrained(&server), []);
        // In the x8 slot: enough for one port, and for little more.
        let mut server = card(pace(2.5, 8), pace(2.5, 8), pace(5.0, 8));
        port(&mut server, "0000:03:00.0", 1e10);
        let found = slow_card(&server);
        assert!(found[0].cost.contains("enough for these"), "{:?}", found[0]);
        assert_eq!(narrow_slot(&server), []);
        // And for two ports of one card it is not enough.
        port(&mut server, "0000:03:00.1", 1e10);
        assert!(slow_card(&server)[0].cost.contains("2 ports of 10 Gb/s"));
    }

    #[test]
    fn an_old_card_that_has_enough_is_left_alone() {
        let mut server = card(pace(2.5, 4), pace(2.5, 4), pace(8.0, 16));
        port(&mut server, "0000:03:00.0", 1e9);
        assert_eq!((slow_card(&server), narrow_slot(&server)), (vec![], vec![]));
        let mut server = card(pace(5.0, 8), pace(5.0, 8), pace(8.0, 8));
        port(&mut server, "0000:03:00.0", 1e10);
        port(&mut server, "0000:03:00.1", 1e10);
        assert_eq!((slow_card(&server), narrow_slot(&server)), (vec![], vec![]));
    }

    #[test]
    fn a_raid_card_that_shows_no_disks_is_judged_by_its_own_lanes() {
        let mut server = card(pace(2.5, 4), pace(2.5, 8), pace(2.5, 4));
        assert_eq!(narrow_slot(&server), [], "nothing says that it stores");
        server.pci[1].class = 0x01_0400;
        let found = narrow_slot(&server);
        assert_eq!(found[0].text, "The card could use 8 lanes, and the slot has 4.");
        assert!(found[0].cost.contains("if its disks can"), "{}", found[0].cost);
        let mut server = card(pace(2.5, 8), pace(2.5, 8), pace(5.0, 8));
        server.pci[1].class = 0x01_0400;
        assert_eq!(narrow_slot(&server), []);
    }

    #[test]
    fn disks_are_summed_and_share_their_wide_port() {
        let mut server = card(pace(5.0, 8), pace(5.0, 8), pace(5.0, 8));
        for number in 0..8 {
            disk(&mut server, &[(&format!("port-0:{number}"), 6e9, 1)]);
        }
        // 8 x 600 MB/s against some 3.5 GB/s: both ends at their best, and too little.
        let found = narrow_slot(&server);
        assert!(found[0].text.starts_with("Both ends are at their best"), "{:?}", found[0]);
        assert!(found[0].cost.contains("4800 MB/s of the 8 disks behind it"), "{}", found[0].cost);
        server.drives.clear();
        for _ in 0..8 {
            disk(&mut server, &[("port-0:0", 6e9, 4), ("port-0:0:1", 6e9, 1)]);
        }
        assert_eq!(narrow_slot(&server), [], "four lanes to the expander are 2400 MB/s");
        // Rotational disks deliver less than their links.
        server.drives.clear();
        for number in 0..8 {
            disk(&mut server, &[(&format!("port-0:{number}"), 6e9, 1)]);
            server.drives[number].rpm = Some(7200);
        }
        assert_eq!(narrow_slot(&server), []);
    }

    #[test]
    fn an_nvme_drive_in_a_slot_of_an_older_generation_is_found_and_an_equal_one_is_not() {
        let drive = |server: &mut Server| {
            disk(server, &[]);
            server.devices.push(super::super::cache::tests::device("sd0", "nvme", "write back"));
        };
        let mut server = card(pace(8.0, 4), pace(16.0, 4), pace(8.0, 4));
        drive(&mut server);
        let found = narrow_slot(&server);
        assert_eq!(found[0].text, "The card could run at 16 GT/s, and the slot at 8.");
        let mut server = card(pace(8.0, 4), pace(8.0, 4), pace(16.0, 4));
        drive(&mut server);
        assert_eq!((slow_card(&server), narrow_slot(&server)), (vec![], vec![]));
    }
}
