//! What a disk cannot exceed, whatever the software does: its link, and its turning.
//!
//! Every limit is on the generous side: one that is too low would call honest figures a cache's.
//! The link of a controller that several disks share is not read here.

use std::path::Path;

use super::identify::{ata_port, rotation};
use super::sas::{self, gigabits};
use super::sysfs::{bytes_of, nvme_controllers};
use super::{pcie, usb};
use crate::sys::Host;
use facts::inventory::ceiling::Capacity;
use facts::inventory::pcie::Pace;
use facts::inventory::{Ceiling, ceiling, turns_allow};

/// What is known of a disk's limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskLimit {
    /// What its link runs at, in words.
    pub link: Option<String>,
    /// What it cannot exceed.
    pub ceiling: Option<Ceiling>,
}

/// No disk has ever turned faster (Seagate Cheetah X15, 2000, and its successors).
const FASTEST_RPM: f64 = 15_000.0;

/// Limits of the disk at `path` in /sys.
pub fn of_disk(host: &Host, path: &Path, transport: &str, rotational: Option<bool>) -> DiskLimit {
    let link = match transport {
        "sata" => sata(host, path),
        "nvme" => nvme(host, path),
        "sas" => serial_attached(host, path),
        "usb" => universal(host, path),
        _ => None,
    };
    let turning = turning(host, path, transport, rotational);
    let (bytes_per_s, data_bytes_per_s) =
        (link.as_ref().map(|link| link.bytes_per_s), link.as_ref().and_then(|link| link.data));
    let link = link.map(|link| link.words);
    let (turns, ops_per_s) = turning.map_or((None, None), |(why, rate)| (Some(why), Some(rate)));
    let why = link.iter().map(|link| format!("its link is {link}")).chain(turns);
    let why = why.collect::<Vec<String>>().join(", and ");
    let ceiling =
        (!why.is_empty()).then_some(Ceiling { bytes_per_s, data_bytes_per_s, ops_per_s, why });
    DiskLimit { link, ceiling }
}

/// A link and what it carries, bytes per second.
#[derive(Clone, Debug, PartialEq)]
struct LinkCapacity {
    words: String,
    /// After the line code.
    bytes_per_s: f64,
    /// After headers, where nothing about them was assumed.
    data: Option<f64>,
}

impl LinkCapacity {
    fn new(words: String, capacity: &Capacity) -> LinkCapacity {
        let data = (!capacity.assumed).then_some(capacity.bytes_per_s);
        LinkCapacity { words, bytes_per_s: capacity.encoded_bytes_per_s, data }
    }
}

/// `6.0 Gbps` of the port in /sys/class/ata_link.
fn sata(host: &Host, path: &Path) -> Option<LinkCapacity> {
    let port = ata_port(path)?;
    let speed = host.word(format!("/sys/class/ata_link/link{port}/sata_spd"))?;
    let rate = gigabits(&speed, " Gbps")? / 1e9;
    Some(LinkCapacity::new(format!("SATA at {rate} Gb/s"), &ceiling::sata(rate)?))
}

/// The narrowest port on the way to a disk behind a SAS adapter, all its lanes together; nothing
/// when one of them is not known.
fn serial_attached(host: &Host, path: &Path) -> Option<LinkCapacity> {
    let ports = sas::ports(host, &host.resolve(path)?);
    let lane = |rate: &f64| ceiling::sas(rate / 1e9, 1);
    let whole = |port: sas::SasPort| {
        let lanes: Vec<Capacity> = port.rates.iter().map(lane).collect::<Option<_>>()?;
        let all = |of: &dyn Fn(&Capacity) -> f64| lanes.iter().map(of).sum::<f64>();
        let encoded = all(&|lane| lane.encoded_bytes_per_s);
        (!lanes.is_empty()).then(|| (encoded, all(&|lane| lane.bytes_per_s), port))
    };
    let wholes: Vec<(f64, f64, sas::SasPort)> =
        ports.into_iter().map(whole).collect::<Option<_>>()?;
    let narrowest = wholes.into_iter().min_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let (bytes_per_s, data, port) = narrowest?;
    let (lanes, rate) = (port.rates.len(), port.rates.first()? / 1e9);
    let words = match lanes {
        1 => format!("SAS at {rate} Gb/s"),
        _ => format!("SAS at {rate} Gb/s x{lanes} ({})", port.joins),
    };
    Some(LinkCapacity { words, bytes_per_s, data: Some(data) })
}

/// The slowest USB link on the way to a disk.
fn universal(host: &Host, path: &Path) -> Option<LinkCapacity> {
    let links = usb::links(host, &host.resolve(path)?);
    let rates: Vec<f64> = links.into_iter().map(|link| link.megabits).collect::<Option<_>>()?;
    let slowest = rates.into_iter().reduce(f64::min)?;
    Some(LinkCapacity::new(format!("USB at {} Gb/s", slowest / 1e3), &ceiling::usb(slowest)?))
}

/// The PCIe links of its controllers, added up.
fn nvme(host: &Host, path: &Path) -> Option<LinkCapacity> {
    let links = nvme_controllers(host, path).into_iter().map(|controller| {
        let port = controller.ancestors().find(|up| host.exists(up.join("current_link_speed")))?;
        let speed = host.word(port.join("current_link_speed"))?;
        let width = host.word(port.join("current_link_width"))?;
        pcie(&speed, &width, pcie::payload_bytes(host, port))
    });
    let links: Vec<LinkCapacity> = links.collect::<Option<_>>()?;
    let words: Vec<&str> = links.iter().map(|link| link.words.as_str()).collect();
    (!links.is_empty()).then(|| LinkCapacity {
        words: words.join(" + "),
        bytes_per_s: links.iter().map(|link| link.bytes_per_s).sum(),
        data: links.iter().map(|link| link.data).sum(),
    })
}

/// `8.0 GT/s PCIe` and `4`.
fn pcie(speed: &str, width: &str, payload_bytes: Option<u32>) -> Option<LinkCapacity> {
    let pace = Pace::of_words(speed, width)?;
    let words = format!("PCIe at {} GT/s x{}", pace.gt_per_s, pace.lanes);
    Some(LinkCapacity::new(words, &ceiling::pcie(pace, payload_bytes)?))
}

/// What [`turns_allow`] a disk, with the reason.
fn turning(
    host: &Host,
    path: &Path,
    transport: &str,
    rotational: Option<bool>,
) -> Option<(String, f64)> {
    // Virtual disks and RAID cards' volumes call themselves rotational whatever they lie on. Only
    // a drive that tells its rate, or one that answers to SATA itself, is believed.
    if rotational != Some(true) {
        return None;
    }
    match (medium_rotation(host, path).filter(|rate| *rate > 1), transport) {
        (Some(rpm), _) => {
            let per_s = turns_allow(f64::from(rpm));
            let why = format!("{rpm} turns a minute allow {per_s:.0} random reads/s one at a time");
            Some((why, per_s))
        }
        (None, "sata") => {
            let per_s = turns_allow(FASTEST_RPM);
            let why = format!(
                "even {FASTEST_RPM} turns a minute (its own rate is not known) allow only \
                 {per_s:.0} random reads/s one at a time"
            );
            Some((why, per_s))
        }
        _ => None,
    }
}

/// Medium rotation rate, bytes 4 and 5 of page 0xb1 of the vital product data (SBC-4, 6.6.2):
/// turns a minute, or 1 for a medium that does not turn.
pub fn medium_rotation(host: &Host, path: &Path) -> Option<u16> {
    let page = bytes_of(host, &path.join("device/vpd_pgb1"))?;
    let rate = u16::from_be_bytes([*page.get(4)?, *page.get(5)?]);
    rotation(rate).filter(|_| page.get(1) == Some(&0xb1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_bounded_after_their_line_code() {
        let rate = |speed, width| pcie(speed, width, None).unwrap().bytes_per_s;
        assert_eq!(rate("8.0 GT/s PCIe", "4").round(), 3_938_461_538.0);
        assert_eq!(rate("2.5 GT/s PCIe", "1"), 250e6);
        let sixth = pcie("64.0 GT/s PCIe", "4", None).unwrap();
        assert_eq!((sixth.words.as_str(), sixth.bytes_per_s), ("PCIe at 64 GT/s x4", 29.5e9));
        for (speed, width) in [("Unknown", "4"), ("8.0 GT/s PCIe", "0"), ("8.0 GT/s", "")] {
            assert_eq!(pcie(speed, width, None), None);
        }
    }

    #[test]
    fn what_headers_leave_is_told_only_where_the_payload_was_read() {
        let data = |payload| pcie("8.0 GT/s PCIe", "4", payload).unwrap().data;
        assert_eq!(data(None), None);
        assert_eq!(data(Some(256)).map(f64::round), Some(3_653_065_775.0));
    }
}
