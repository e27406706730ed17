//! Ports on the way from a SAS adapter to a disk, as the kernel's SAS transport shows them
//! (drivers/scsi/scsi_transport_sas.c): `hostN/port-N:M/expander-.../port-.../end_device-...`.
//!
//! A port's phys are those of its upper end; what the lower end could do is known of expanders,
//! whose phys are shown too, and of SATA disks, which say so themselves. A SAS disk tells it only
//! in a mode page that nobody reads here.

use std::path::{Path, PathBuf};

use super::identify;
use crate::sys::Host;

/// A SAS port: one or several phys that join the same two ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SasPort {
    /// The kernel's name: `port-0:0:3`.
    pub id: String,
    /// What it joins: `HBA to expander`.
    pub joins: String,
    /// What each phy that is up negotiated, bit/s.
    pub rates: Vec<f64>,
    /// What a phy could do by the hardware of both ends, bit/s.
    pub fastest_bits_per_s: Option<f64>,
    /// What its upper end is held to, bit/s, where that is less than its hardware could.
    pub held_to_bits_per_s: Option<f64>,
    /// The file that tells the rate of the first phy that is up.
    pub place: String,
}

/// The ports above the whole disk at `path` (without links), from the adapter's side.
pub fn ports(host: &Host, path: &Path) -> Vec<SasPort> {
    // Children before parents.
    let mut places: Vec<&Path> = path.ancestors().filter(|place| begins(place, "port-")).collect();
    places.reverse();
    places.into_iter().filter_map(|place| port(host, path, place)).collect()
}

fn port(host: &Host, disk: &Path, place: &Path) -> Option<SasPort> {
    let id = name(place)?.to_owned();
    let below = disk.ancestors().find(|down| down.parent() == Some(place))?;
    let upper = match begins(place.parent()?, "expander-") {
        true => "expander",
        false => "HBA",
    };
    let to_expander = begins(below, "expander-");
    let lower = if to_expander { "expander" } else { "disk" };
    let phys = phys(host, place);
    let up: Vec<(&String, f64)> = phys
        .iter()
        .filter_map(|phy| Some((phy, rate(host, phy, "negotiated_linkrate")?)))
        .collect();
    let near = slowest(host, &phys, HARDWARE);
    let far = match to_expander {
        true => slowest(host, &self::phys(host, below), HARDWARE),
        false => identify::read_identify(host, disk).and_then(|disk| disk.fastest_bits_per_s()),
    };
    let both = near.zip(far).map(|(near, far)| near.min(far));
    Some(SasPort {
        id,
        joins: format!("{upper} to {lower}"),
        place: up.first().map_or(String::new(), |(phy, _)| file(phy, "negotiated_linkrate")),
        rates: up.into_iter().map(|(_, rate)| rate).collect(),
        fastest_bits_per_s: both,
        held_to_bits_per_s: slowest(host, &phys, "maximum_linkrate")
            .filter(|held| near.is_some_and(|near| *held < near)),
    })
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn begins(path: &Path, with: &str) -> bool {
    name(path).is_some_and(|name| name.starts_with(with))
}

/// Names of the phys in the directory of a port or an expander.
fn phys(host: &Host, place: &Path) -> Vec<String> {
    host.list(place).into_iter().filter(|name| name.starts_with("phy-")).collect()
}

/// What a phy could do.
const HARDWARE: &str = "maximum_linkrate_hw";

/// What the slowest of them has there: the phys of one end are of one kind, and where they are not,
/// too little raises no false alarm.
fn slowest(host: &Host, phys: &[String], attribute: &str) -> Option<f64> {
    let rates = phys.iter().map(|phy| rate(host, phy, attribute));
    rates.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

fn file(phy: &str, attribute: &str) -> String {
    format!("/sys/class/sas_phy/{phy}/{attribute}")
}

/// `12.0 Gbit` as bit/s; `None` for `Unknown`, `Phy disabled`, `Spin-up hold` and their like.
fn rate(host: &Host, phy: &str, attribute: &str) -> Option<f64> {
    gigabits(&host.word(PathBuf::from(file(phy, attribute)))?, " Gbit")
}

/// `6.0 Gbps` as bit/s, where `unit` is ` Gbps`; `None` when it is no such rate.
pub fn gigabits(text: &str, unit: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    // SAS and SATA rates lie between 1.5 and 45 Gb/s; Fibre Channel goes up to 256.
    (number > 0.0 && number <= 1000.0).then_some(number * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_rate_is_a_rate() {
        assert_eq!(gigabits("12.0 Gbit", " Gbit"), Some(12e9));
        assert_eq!(gigabits("1.5 Gbps", " Gbps"), Some(1.5e9));
        for text in ["", "Unknown", "Phy disabled", "-6.0 Gbit", "NaN Gbit", "inf Gbit", "0 Gbit"] {
            assert_eq!(gigabits(text, " Gbit"), None, "{text}");
        }
        assert_eq!(gigabits("1e300 Gbit", " Gbit"), None);
    }
}
