//! Network interfaces: speed, driver, queues, offloads, coalescing, interrupts.
//!
//! From /sys/class/net and from what interfaces answer when asked as ethtool(8) asks. What a name
//! of theirs, a mode or a feature means is in `interface/words.rs`.

use super::address::function_of;
use super::interrupt::Names;
use super::pci::driver_of;
use super::{Reading, interrupt};
use crate::sys::ethtool::{self, EthtoolReport};
use crate::sys::{Error, Host, qdisc};
use facts::inventory::ceiling::Capacity;
use facts::inventory::server::{Interface, Rings, unread};

mod infiniband;
mod words;

/// ARPHRD_INFINIBAND.
const INFINIBAND: &str = "32";

/// What a denied file of an interface would have told.
const WHAT: &str = unread::INTERFACES;

/// Reads them, in order of name.
pub fn read(reading: &mut Reading<'_>) -> Vec<Interface> {
    let mut names = Names::default();
    let all = reading.host().list("/sys/class/net").into_iter();
    all.filter_map(|name| interface(reading, name, &mut names)).collect()
}

/// What an interface answers when it is asked as ethtool(8) asks, as JSON ([`EthtoolReport`]); on a
/// recording what was recorded in `/.brickyard/ethtool/<interface>.json`.
///
/// # Errors
/// When there is no such interface, or no such recording.
pub fn ask_live(host: &Host, interface: &str) -> Result<String, Error> {
    if !host.is_live() {
        return host.read(recorded_at(interface));
    }
    let answer = ask(host, interface)?;
    let failed = |error| Error::new(format!("cannot write down what {interface} says"), error);
    serde_json::to_string(&answer).map_err(failed)
}

fn ask(host: &Host, interface: &str) -> Result<EthtoolReport, Error> {
    let mut answer = ethtool::ask(interface)?;
    // A kernel without traffic control has none; its interfaces do their work all the same.
    let number = host.word(format!("/sys/class/net/{interface}/ifindex"));
    let number = number.and_then(|number| number.parse().ok());
    let root = number.and_then(|number: u32| qdisc::roots().ok()?.remove(&number));
    answer.shaped = root.as_ref().and_then(|root| root.shaped);
    answer.qdisc = root.map(|root| root.name);
    Ok(answer)
}

/// Where a recording keeps that.
pub fn recorded_at(interface: &str) -> String {
    format!("/.brickyard/ethtool/{interface}.json")
}

/// What TCP can carry through the interface of that name, as [`Interface::capacity`] has it; `None`
/// when there is none of that name, or nobody knows.
pub fn capacity(host: &Host, name: &str) -> Option<Capacity> {
    let mut reading = Reading::new(host);
    interface(&mut reading, name.to_owned(), &mut Names::default())?.capacity()
}

/// What it answers; nothing, when it does not.
fn answer(reading: &mut Reading<'_>, name: &str) -> EthtoolReport {
    const ANSWER: &str = "driver, rings, offloads and coalescing of a network interface";
    let (place, answer) = match reading.host().is_live() {
        // It went away between two looks, or we may open no socket.
        true => {
            let answer = ask(reading.host(), name).map_err(|error| error.why);
            (format!("ethtool {name}"), answer)
        }
        false => {
            let place = recorded_at(name);
            let Some(text) = reading.word(&place, ANSWER) else { return EthtoolReport::default() };
            let answer = serde_json::from_str(&text).map_err(|error| error.to_string());
            (place, answer)
        }
    };
    answer.unwrap_or_else(|why| {
        reading.miss(ANSWER, &place, &why, "");
        EthtoolReport::default()
    })
}

fn interface(reading: &mut Reading<'_>, name: String, names: &mut Names) -> Option<Interface> {
    let host = reading.host();
    let place = format!("/sys/class/net/{name}");
    // `bonding_masters` is a file.
    if !host.path(&place).is_dir() {
        return None;
    }
    let hardware = reading.quiet(format!("{place}/type"));
    // ARPHRD_LOOPBACK.
    if name == "lo" || hardware.as_deref() == Some("772") {
        return None;
    }
    let answer = answer(reading, &name);
    let real = host.resolve(&place);
    // Even a link that leads nowhere in a recording says where it was.
    let device = host.resolve(format!("{place}/device"));
    let controller = device.as_deref().or(real.as_deref()).and_then(function_of);
    let driver = driver_of(reading, &format!("{place}/device")).or_else(|| answer.driver.clone());
    let is_virtual = real.is_some_and(|real| real.starts_with("/sys/devices/virtual"));
    let kind = kind(reading, &place, hardware.as_deref(), driver.as_deref(), is_virtual);
    let of_function = controller.as_ref().map(|address| format!("/sys/bus/pci/devices/{address}"));
    let numa_node = [Some(format!("{place}/device")), of_function.clone()]
        .into_iter()
        .flatten()
        .find_map(|device| reading.quiet(format!("{device}/numa_node"))?.parse().ok());
    let interrupts =
        of_function.map_or_else(Vec::new, |place| interrupt::of_device(reading, &place, names));
    let queues = host.list(format!("{place}/queues"));
    let count = |prefix: &str| {
        let count = queues.iter().filter(|queue| queue.starts_with(prefix)).count() as u64;
        (count > 0).then_some(count)
    };
    let speeds = !words::MADE_UP_SPEEDS.contains(&kind.as_str());
    let speed = speed(reading, &place).map(|megabits| f64::from(megabits) * 1e6);
    let bits_per_s = match hardware.as_deref() {
        Some(INFINIBAND) => speed.or_else(|| infiniband::rate(reading, &place)),
        _ => speed.filter(|_| speeds),
    };
    let max_bits_per_s = words::fastest(&answer.modes).filter(|_| speeds);
    let duplex = reading.quiet(format!("{place}/duplex"));
    let duplex = duplex.filter(|duplex| matches!(duplex.as_str(), "full" | "half"));
    let rings = answer.rings.map(|[rx, rx_max, tx, tx_max]| Rings {
        rx: rx.into(),
        rx_max: rx_max.into(),
        tx: tx.into(),
        tx_max: tx_max.into(),
    });
    Some(Interface {
        kind,
        state: reading.word(format!("{place}/operstate"), WHAT),
        bits_per_s,
        max_bits_per_s,
        duplex: duplex.filter(|_| speeds),
        mtu_bytes: reading.number(format!("{place}/mtu"), WHAT).filter(|mtu| *mtu > 0),
        versions: versions(reading, &answer),
        driver,
        controller,
        numa_node,
        rx_queues: count("rx-"),
        tx_queues: count("tx-"),
        rings,
        offloads: words::offloads(&answer.features),
        coalescing: answer.coalescing.into_iter().map(|(name, n)| (name, n.into())).collect(),
        below: below(reading, &place, &name),
        interrupts,
        qdisc: answer.qdisc.filter(|name| name.len() <= 32),
        shaped: answer.shaped,
        name,
    })
}

/// The kernel's own words where it has some, else by what is there and who drives it.
fn kind(
    reading: &Reading<'_>,
    place: &str,
    hardware: Option<&str>,
    driver: Option<&str>,
    is_virtual: bool,
) -> String {
    let is_word = |word: &&str| {
        !word.is_empty() && word.len() < 16 && word.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let uevent = reading.quiet(format!("{place}/uevent")).unwrap_or_default();
    let told = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).filter(is_word);
    if let Some(told) = told {
        return told.to_owned();
    }
    let marks =
        [("bonding", "bond"), ("bridge", "bridge"), ("tun_flags", "tun"), ("wireless", "wlan")];
    let mark = marks.iter().find(|(file, _)| reading.host().exists(format!("{place}/{file}")));
    if let Some((_, kind)) = mark {
        return (*kind).to_owned();
    }
    let known = driver.and_then(words::kind_of_driver);
    let kind = match (known, hardware, is_virtual) {
        (Some(kind), ..) => kind,
        (None, Some(INFINIBAND), _) => "infiniband",
        (None, _, true) => "virtual",
        // ARPHRD_ETHER.
        (None, Some("1"), false) => "ethernet",
        (None, _, false) => "other",
    };
    kind.to_owned()
}

/// 10^6 bit/s; reading it fails while the port is down, and -1 is unknown. Asked as ethtool asks,
/// some drivers tell a speed of a port that is down, so that answer is not taken.
fn speed(reading: &Reading<'_>, place: &str) -> Option<u32> {
    let speed = reading.quiet(format!("{place}/speed"))?.parse().ok();
    speed.filter(|speed| (1..=i32::MAX as u32).contains(speed))
}

/// `driver 5.10.2, firmware 8.30`. A driver without a version of its own says the kernel's.
fn versions(reading: &Reading<'_>, answer: &EthtoolReport) -> Option<String> {
    let kernel = reading.quiet("/proc/sys/kernel/osrelease");
    let driver = answer.version.as_ref().filter(|version| Some(*version) != kernel.as_ref());
    let firmware = answer.firmware.as_ref().filter(|version| *version != "N/A");
    let both = [("driver", driver), ("firmware", firmware)];
    let told = both.iter().filter_map(|(of, version)| Some(format!("{of} {}", (*version)?)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Interfaces below, sorted: links `lower_eth0` since Linux 3.9, the slaves of a bond, the ports of
/// a bridge.
fn below(reading: &Reading<'_>, place: &str, name: &str) -> Vec<String> {
    let host = reading.host();
    let listed = host.list(place);
    let lower = listed.iter().filter_map(|name| name.strip_prefix("lower_"));
    let slaves = reading.quiet(format!("{place}/bonding/slaves")).unwrap_or_default();
    let ports = host.list(format!("{place}/brif"));
    let all = lower.chain(slaves.split_whitespace()).chain(ports.iter().map(String::as_str));
    let mut below: Vec<String> =
        all.filter(|below| *below != name && !below.is_empty()).map(str::to_owned).collect();
    below.sort();
    below.dedup();
    below
}

#[cfg(test)]
mod tests;
