//! Links between a controller and its disk: SATA, SAS, USB, Fibre Channel.
//!
//! What a link could do is told only where both of its ends are known: a fast adapter with an old
//! disk is no fault. An NVMe drive has none: its link is that of its PCI function.

use std::path::Path;

use crate::inventory::identify::{Identify, UNNUMBERED, ata_port};
use crate::inventory::sas::{self, gigabits};
use crate::inventory::usb;
use crate::sys::Host;
use facts::inventory::server::Hop;

/// The links on the way to the disk at `whole` (in /sys, without symbolic links), from the
/// controller's side.
pub fn hops(host: &Host, whole: &Path, transport: &str, disk: Option<&Identify>) -> Vec<Hop> {
    match transport {
        "sata" => sata(host, whole, disk),
        "sas" => sas::ports(host, whole).into_iter().map(serial_attached).collect(),
        "usb" => usb(host, whole),
        "fibre-channel" => fibre_channel(host, whole),
        _ => Vec::new(),
    }
}

fn serial_attached(port: sas::SasPort) -> Hop {
    Hop {
        name: port.joins,
        bits_per_s: port.rates.iter().copied().reduce(f64::min),
        max_bits_per_s: port.fastest_bits_per_s,
        held_to_bits_per_s: port.held_to_bits_per_s,
        lanes: u32::try_from(port.rates.len()).unwrap_or(u32::MAX),
        id: port.id,
        place: port.place,
    }
}

/// The port, and behind a port multiplier its link to the disk.
fn sata(host: &Host, whole: &Path, disk: Option<&Identify>) -> Vec<Hop> {
    let Some(port) = ata_port(whole) else { return Vec::new() };
    let physical = host.word(format!("/sys/class/ata_port/ata{port}/port_no"));
    let physical = physical.and_then(|word| word.parse::<u32>().ok());
    let link = format!("link{port}");
    let behind = multiplied(whole).map(|channel| format!("{link}.{channel}"));
    let behind = behind.filter(|name| host.exists(format!("/sys/class/ata_link/{name}")));
    let disk = disk.and_then(Identify::fastest_bits_per_s);
    let adapter = adapter_fastest(host, whole, &link);
    let hop = |name: String, id: String, ends: [Option<f64>; 2]| {
        let place = format!("/sys/class/ata_link/{id}/sata_spd");
        let bits_per_s = host.word(&place).and_then(|word| gigabits(&word, " Gbps"));
        let max_bits_per_s = ends[0].zip(ends[1]).map(|(near, far)| near.min(far));
        let held = host.word(format!("/sys/class/ata_link/{id}/sata_spd_limit"));
        let held_to_bits_per_s = held.and_then(|word| gigabits(&word, " Gbps"));
        Hop { name, bits_per_s, max_bits_per_s, held_to_bits_per_s, lanes: 1, id, place }
    };
    let number = physical.unwrap_or(port);
    let name = match number {
        UNNUMBERED.. => "SATA port".to_owned(),
        number => format!("SATA port {number}"),
    };
    match behind {
        None => vec![hop(name, link, [adapter, disk])],
        Some(behind) => vec![
            hop(format!("{name} to multiplier"), link, [adapter, None]),
            hop("multiplier to disk".to_owned(), behind, [None, disk]),
        ],
    }
}

/// The channel of `target0:2:0`: behind a port multiplier, the multiplier's port.
fn multiplied(whole: &Path) -> Option<u32> {
    whole.components().find_map(|part| {
        let address = part.as_os_str().to_str()?.strip_prefix("target")?;
        address.split(':').nth(1)?.parse().ok()
    })
}

/// The fastest that the adapter's side can do: what an AHCI adapter says (Interface Speed Support,
/// Serial ATA AHCI 1.3.1, 3.1.1), else what the firmware allowed the port when Linux took over.
fn adapter_fastest(host: &Host, whole: &Path, link: &str) -> Option<f64> {
    let adapter = whole.components().find_map(|part| {
        let name = part.as_os_str().to_str()?;
        name.strip_prefix("host")?.parse::<u32>().ok().map(|_| name.to_owned())
    })?;
    let capabilities = host.word(format!("/sys/class/scsi_host/{adapter}/ahci_host_caps"));
    let capabilities = capabilities.and_then(|word| u32::from_str_radix(&word, 16).ok());
    match capabilities.map(|word| word >> 20 & 0xf) {
        Some(1) => Some(1.5e9),
        Some(2) => Some(3e9),
        Some(3) => Some(6e9),
        _ => {
            let place = format!("/sys/class/ata_link/{link}/hw_sata_spd_limit");
            gigabits(&host.word(place)?, " Gbps")
        }
    }
}

fn usb(host: &Host, whole: &Path) -> Vec<Hop> {
    let links = usb::links(host, whole);
    let last = links.len().saturating_sub(1);
    let hop = |(at, link): (usize, usb::UsbLink)| Hop {
        name: format!("USB port {} to {}", link.id, if at == last { "disk" } else { "hub" }),
        bits_per_s: link.megabits.map(|megabits| megabits * 1e6),
        lanes: 1,
        id: link.id,
        place: link.place,
        ..Hop::default()
    };
    links.into_iter().enumerate().map(hop).collect()
}

/// The adapter's own link to its switch; see Documentation/scsi/scsi_fc_transport.rst.
fn fibre_channel(host: &Host, whole: &Path) -> Vec<Hop> {
    let adapter = whole.components().find_map(|part| {
        let name = part.as_os_str().to_str()?;
        host.exists(format!("/sys/class/fc_host/{name}/speed")).then(|| name.to_owned())
    });
    let Some(id) = adapter else { return Vec::new() };
    let place = format!("/sys/class/fc_host/{id}/speed");
    let bits_per_s = host.word(&place).and_then(|word| gigabits(&word, " Gbit"));
    let name = "Fibre Channel port".to_owned();
    vec![Hop { name, bits_per_s, lanes: 1, id, place, ..Hop::default() }]
}
