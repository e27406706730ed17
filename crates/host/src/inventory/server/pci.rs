//! The PCI tree: functions, their links now and at most, their names (/sys/bus/pci, pci.ids).

use std::collections::BTreeMap;
use std::path::Path;

use super::address::{function_of, is_address, is_hex};
use super::interrupt::Names;
use super::{Reading, interrupt};
use crate::inventory::nvme_controllers;
use crate::inventory::pcie::config;
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Function, Link};

mod kind;
mod names;

/// What a denied file of a function would have told.
const WHAT: &str = "the PCI functions";

/// The file of a recording that holds the name of a function, where its numbers are not known.
pub fn named_at(address: &str) -> String {
    format!("/.brickyard/pci/{address}")
}

/// Reads the tree, in order of address.
pub fn read(reading: &mut Reading<'_>) -> Vec<Function> {
    let host = reading.host();
    let mut functions: Vec<Function> = Vec::new();
    let mut children = children(reading);
    let slots = slots(reading);
    let mut interrupts = Names::default();
    for address in host.list("/sys/bus/pci/devices").into_iter().filter(|name| is_address(name)) {
        let place = format!("/sys/bus/pci/devices/{address}");
        let mut function = identity(reading, &place);
        let real = host.resolve(&place).unwrap_or_default();
        function.parent = real.parent().and_then(function_of);
        function.root = root_of(&real).unwrap_or_default();
        function.slot =
            slots.get(address.rsplit_once('.').map_or("", |(device, _)| device)).cloned();
        function.children = children.remove(&address).unwrap_or_default();
        if matches!(function.class >> 16, 0x01 | 0x02) {
            function.interrupts = interrupt::of_device(reading, &place, &mut interrupts);
        }
        function.address = address;
        state(reading, &place, &mut function);
        functions.push(function);
    }
    names::add(reading, &mut functions);
    functions
}

/// What a function is, and who drives it.
fn identity(reading: &mut Reading<'_>, place: &str) -> Function {
    let mut word = |file: &str| reading.word(format!("{place}/{file}"), WHAT);
    let mut id = |file: &str| u16::try_from(hex(&word(file)?)?).ok();
    let (vendor, device) = (id("vendor").unwrap_or(0), id("device").unwrap_or(0));
    // A function without one says 0 or has all bits set.
    let subsystem = id("subsystem_vendor").zip(id("subsystem_device"));
    let subsystem = subsystem.filter(|(vendor, _)| !matches!(vendor, 0 | 0xffff));
    let class = word("class").and_then(|text| hex(&text)).filter(|class| *class <= 0xff_ffff);
    let class = class.unwrap_or(0xff_0000);
    let numa_node = word("numa_node").and_then(|text| text.parse().ok());
    let driver = driver_of(reading, place);
    let version = |path: String| reading.quiet(path);
    let driver_version = version(format!("{place}/driver/module/version"))
        .or_else(|| version(format!("/sys/module/{}/version", driver.as_deref()?)));
    Function {
        vendor,
        device,
        subsystem,
        class,
        kind: kind::class_words(class).to_owned(),
        numa_node,
        driver,
        driver_version,
        ..Function::default()
    }
}

/// The last part of the link `driver` in a device's directory.
pub fn driver_of(reading: &Reading<'_>, place: &str) -> Option<String> {
    let target = reading.host().link(format!("{place}/driver"))?;
    target.file_name()?.to_str().map(str::to_owned)
}

/// Link, packets and power.
fn state(reading: &mut Reading<'_>, place: &str, function: &mut Function) {
    function.runtime_status = reading.quiet(format!("{place}/power/runtime_status"));
    let asleep = function.runtime_status.as_deref() == Some("suspended");
    let mut pace = |which: &str| {
        let mut word = |what: &str| reading.word(format!("{place}/{which}_link_{what}"), WHAT);
        Pace::of_words(&word("speed")?, &word("width")?)
    };
    // What sleeps has no speed now, and asking some kernels for it would wake it up.
    let link = Link { current: if asleep { None } else { pace("current") }, max: pace("max") };
    function.link = (link != Link::default()).then_some(link);
    function.aspm = aspm(reading, place);
    if asleep {
        return;
    }
    let Ok(bytes) = reading.front(format!("{place}/config"), config::LENGTH_BYTES) else { return };
    if bytes.len() <= config::FRONT_BYTES && function.link.is_some() {
        // As many bytes as everybody may read. One line for all functions.
        let what = "payload and read request sizes of PCI Express functions";
        let why = "only root may read beyond the first 64 bytes";
        reading.miss(what, "/sys/bus/pci/devices/*/config", why, "run as root");
    }
    if let Some(express) = config::express(&bytes) {
        function.payload_bytes = express.payload_bytes;
        function.read_request_bytes = express.read_request_bytes;
        function.aspm = express.aspm.map(str::to_owned).or(function.aspm.take());
    }
}

/// Active-state power management as /sys says it of endpoints, since Linux 5.5; takes no root.
fn aspm(reading: &Reading<'_>, place: &str) -> Option<String> {
    let state = |file: &str| reading.quiet(format!("{place}/link/{file}"));
    let (l0s, l1) = (state("l0s_aspm"), state("l1_aspm"));
    let on = |state: &Option<String>| state.as_deref() == Some("1");
    let told = l0s.is_some() || l1.is_some();
    told.then(|| config::aspm_in_words(on(&l0s), on(&l1)).to_owned())
}

/// Names of slots by domain, bus and device: `0000:03:00`.
fn slots(reading: &mut Reading<'_>) -> BTreeMap<String, String> {
    let names = reading.host().list("/sys/bus/pci/slots");
    let slots = names.into_iter().filter_map(|name| {
        let address = reading.word(format!("/sys/bus/pci/slots/{name}/address"), WHAT)?;
        Some((address, name))
    });
    slots.collect()
}

/// What the kernel made of functions, by their addresses.
fn children(reading: &Reading<'_>) -> BTreeMap<String, Vec<String>> {
    let host = reading.host();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for class in ["nvme", "block", "net", "infiniband", "scsi_host"] {
        for name in host.list(format!("/sys/class/{class}")) {
            let place = format!("/sys/class/{class}/{name}");
            if class == "block" && host.exists(format!("{place}/partition")) {
                continue;
            }
            let mut owners: Vec<String> =
                host.resolve(&place).and_then(|real| function_of(&real)).into_iter().collect();
            if owners.is_empty() && name.starts_with("nvme") {
                // With native multipath a namespace hangs on its subsystem, not on a controller.
                let controllers = nvme_controllers(host, Path::new(&place));
                owners.extend(controllers.iter().filter_map(|real| function_of(real)));
            }
            for owner in owners {
                let known = all.entry(owner).or_default();
                if !known.contains(&name) {
                    known.push(name.clone());
                }
            }
        }
    }
    all
}

/// The nearest root complex above: `pci0000:00`.
fn root_of(path: &Path) -> Option<String> {
    let mut parts = path.components().rev().filter_map(|part| part.as_os_str().to_str());
    let is_root = |part: &&str| {
        let numbers = part.strip_prefix("pci").and_then(|rest| rest.split_once(':'));
        numbers.is_some_and(|(domain, bus)| is_hex(domain, 4..=8) && is_hex(bus, 2..=2))
    };
    parts.find(is_root).map(str::to_owned)
}

/// `0x8086`.
fn hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    is_hex(digits, 1..=8).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
