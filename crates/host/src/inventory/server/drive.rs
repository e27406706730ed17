//! Whole disks: how they are attached, their queues, their health.
//!
//! Links are in `drive/link.rs`, and what drives say of their health in `drive/health.rs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Reading;
use crate::inventory::limit::medium_rotation;
use crate::inventory::{identify, nvme_controllers};
use crate::sys::Host;
use facts::inventory::Device;
use facts::inventory::server::{Drive, is_drive};

pub mod health;
mod link;
pub mod log;
pub mod smartctl;

/// Reads the whole disks among `devices`. Takes at most [`health::PATIENCE`] longer than reading
/// /sys does; what a drive did not answer by then is remembered as not read.
pub fn read(reading: &mut Reading<'_>, devices: &[Device]) -> Vec<Drive> {
    read_within(reading, devices, health::PATIENCE)
}

/// The same with another time that all drives together are waited for.
pub fn read_within(
    reading: &mut Reading<'_>,
    devices: &[Device],
    patience: Duration,
) -> Vec<Drive> {
    let whole: Vec<&Device> = devices.iter().filter(|device| is_drive(device)).collect();
    let host = reading.host();
    let mut drives: Vec<Drive> = whole.iter().map(|device| describe(host, device)).collect();
    let health = health::read(reading, &whole, patience);
    drives.iter_mut().zip(health).for_each(|(drive, health)| drive.health = health);
    drives
}

fn describe(host: &Host, device: &Device) -> Drive {
    let class = PathBuf::from(format!("/sys/class/block/{}", device.name));
    let whole = host.resolve(&class).unwrap_or(class);
    let word = |file: &str| host.word(whole.join(file));
    let number = |file: &str| word(file)?.parse::<u64>().ok();
    let identify = identify::read_identify(host, &whole);
    let rotation = medium_rotation(host, &whole)
        .or_else(|| identify.as_ref().and_then(|identify| identify.rotation()));
    let firmware = || {
        let files = ["device/firmware_rev", "device/rev", "device/fwrev"];
        files.iter().find_map(|file| word(file))
    };
    let controllers = nvme_controllers(host, &whole);
    let place = controllers.first().unwrap_or(&whole);
    Drive {
        name: device.name.clone(),
        // What SCSI says of SATA disks is `ATA`; virtio and PCI devices say a number.
        vendor: word("device/vendor").filter(|word| word != "ATA" && !word.starts_with("0x")),
        // SCSI has room for four letters of a SATA disk's eight.
        firmware: identify.as_ref().and_then(|identify| identify.firmware()).or_else(firmware),
        wwid: word("wwid").or_else(|| word("device/wwid")),
        controller: pci_function(place),
        links: link::hops(host, &whole, &device.transport, identify.as_ref()),
        queues: Some(host.list(whole.join("mq")).len() as u64).filter(|queues| *queues > 0),
        queue_depth: number("queue/nr_requests"),
        rpm: rotation.map(u64::from),
        discard_bytes: number("queue/discard_max_bytes"),
        own_write_cache: own_write_cache(host, &whole),
        health: None,
    }
}

/// What a SCSI disk, as every SATA disk is one, says of its cache: `write back`, `write through`.
fn own_write_cache(host: &Host, whole: &Path) -> Option<String> {
    let folder = whole.join("device/scsi_disk");
    let names = host.list(&folder);
    host.word(folder.join(names.first()?).join("cache_type"))
}

/// The nearest PCI function that a place in /sys lies below.
fn pci_function(path: &Path) -> Option<String> {
    let names = path.ancestors().filter_map(|place| place.file_name()?.to_str());
    names.into_iter().find(|name| is_pci_address(name)).map(str::to_owned)
}

/// `0000:03:00.0`; behind Intel's VMD domains have five digits.
fn is_pci_address(name: &str) -> bool {
    let hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = name.split(':').collect();
    let [domain, bus, slot] = parts[..] else { return false };
    let Some((device, function)) = slot.split_once('.') else { return false };
    hex(domain, 4..=8) && hex(bus, 2..=2) && hex(device, 2..=2) && hex(function, 1..=1)
}

#[cfg(test)]
mod tests;
