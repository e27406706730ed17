//! Speed and width of the PCI Express links between the target's disks and the processor.
//!
//! A link that power management slows down while it is idle must be seen under load, and one that
//! retrains in mid-trial explains a step in the throughput. Each reading is a request to the card,
//! and one that is gone is given up by the hardware only after its own time.

use std::path::{Path, PathBuf};

use super::patient::{Patient, Put};
use super::{CounterSource, Sample, Subject};
use crate::inventory::nvme_controllers;
use crate::inventory::server::address::function_of;
use crate::sys::Host;
use facts::counters::table::Field;
use facts::inventory::pcie::Pace;

/// The figures are those of current_link_speed and current_link_width
/// (Documentation/ABI/testing/sysfs-bus-pci).
pub const LINKS: CounterSource = CounterSource {
    name: "pcie-link",
    about: "Speed and width of the PCI Express links from the disks below the target to the root",
    fields: &[Field::gauge("megatransfers_per_s"), Field::gauge("lanes")],
    every_ns: 1_000_000_000,
    born_at_zero: false,
    open,
};

/// A server has a few links on the way to a disk; a longer list is none.
const LINKS_MAX: usize = 256;

/// A function of the bus that has a link.
pub(super) struct LinkedFunction {
    /// Of the function: `0000:41:00.0`.
    pub(super) address: String,
    /// In /sys.
    pub(super) directory: PathBuf,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let ports = ports(host, &subject.devices);
    if ports.is_empty() {
        return None;
    }
    let host = host.clone();
    Some(Box::new(Patient::start(move |put| ports.iter().for_each(|port| port.read(&host, put)))?))
}

/// Both ends of each link: the functions that the disks hang on and all bridges above, each once.
pub(super) fn ports(host: &Host, devices: &[String]) -> Vec<LinkedFunction> {
    let mut ports: Vec<LinkedFunction> = Vec::new();
    for path in devices.iter().flat_map(|name| places(host, name)) {
        for directory in path.ancestors() {
            let name = directory.file_name().and_then(|name| name.to_str());
            let Some(address) = function_of(directory).filter(|at| name == Some(at)) else {
                continue;
            };
            let is_known = ports.iter().any(|port| port.address == address);
            let has_link = host.exists(directory.join("current_link_speed"));
            if has_link && !is_known && ports.len() < LINKS_MAX {
                ports.push(LinkedFunction { address, directory: directory.to_owned() });
            }
        }
    }
    ports
}

/// Where a block device really is; with native multipath a namespace of NVMe is with all of its
/// controllers.
fn places(host: &Host, name: &str) -> Vec<PathBuf> {
    let link = Path::new("/sys/class/block").join(name);
    let Some(real) = host.resolve(&link) else { return Vec::new() };
    match function_of(&real) {
        Some(_) => vec![real],
        None if name.starts_with("nvme") => nvme_controllers(host, &link),
        None => Vec::new(),
    }
}

impl LinkedFunction {
    fn read(&self, host: &Host, put: Put<'_>) {
        let word = |what: &str| host.word(self.directory.join(format!("current_link_{what}")));
        let pace = word("speed").zip(word("width"));
        let pace = pace.and_then(|(speed, width)| Pace::of_words(&speed, &width));
        // A card that is gone, or sleeps, has no link now.
        let Some(pace) = pace else { return };
        put(&self.address, 0, (pace.gt_per_s * 1e3).round() as u64);
        put(&self.address, 1, pace.lanes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::two_rows;
    use crate::inventory::recording::Recording;
    use facts::counters::series::Series;

    fn columns(series: &Series) -> Vec<(&str, &[u64])> {
        let columns = series.columns.iter();
        columns.map(|column| (column.name.as_str(), column.values.as_slice())).collect()
    }

    #[test]
    fn both_ends_of_the_link_of_a_drive_are_read_once_for_all_its_devices() {
        let machine = Recording::open("nvme");
        let series =
            two_rows(&LINKS, &machine.host(), &["dm-0", "nvme0n1p3", "nvme0n1"], || {}).unwrap();
        let expected = [
            ("0000:41:00.0.megatransfers_per_s", &[8000, 8000][..]),
            ("0000:41:00.0.lanes", &[4, 4][..]),
            ("0000:40:01.1.megatransfers_per_s", &[16_000, 16_000][..]),
            ("0000:40:01.1.lanes", &[16, 16][..]),
        ];
        assert_eq!(columns(&series), expected);
        assert_eq!(series.columns[0].kind, facts::counters::series::ColumnKind::Gauge);
    }

    #[test]
    fn a_link_that_retrains_is_seen_and_one_that_is_gone_keeps_its_last_speed() {
        let machine = Recording::open("nvme");
        let host = machine.host();
        let port = "/sys/devices/pci0000:40/0000:40:01.1";
        let down = || {
            host.write(format!("{port}/0000:41:00.0/current_link_speed"), "2.5 GT/s PCIe").unwrap();
            host.write(format!("{port}/current_link_speed"), "Unknown").unwrap();
        };
        let series = two_rows(&LINKS, &host, &["nvme0n1"], down).unwrap();
        let values = |column: &str| series.column(column).unwrap().values.clone();
        assert_eq!(values("0000:41:00.0.megatransfers_per_s"), [8000, 2500]);
        assert_eq!(values("0000:40:01.1.megatransfers_per_s"), [16_000, 16_000]);
    }

    #[test]
    fn disks_without_such_links_yield_no_series() {
        let hostile = ["", ".", "..", "../../etc", "nvme", "a/b", "\0"];
        for (recording, devices) in
            [("virtio-guest", &["vda"][..]), ("nvme", &["dm-0"]), ("nvme", &hostile), ("nvme", &[])]
        {
            let machine = Recording::open(recording);
            assert!(two_rows(&LINKS, &machine.host(), devices, || {}).is_none(), "{devices:?}");
        }
    }

    #[test]
    fn what_a_broken_link_says_is_no_speed() {
        let huge = "9".repeat(1 << 20);
        for text in ["", "\n", "-8 GT/s", "NaN GT/s", "8", "1e400 GT/s", "\u{fffd}", &huge] {
            let machine = Recording::open("nvme");
            let host = machine.host();
            for port in ["", "/0000:41:00.0"] {
                let path = format!("/sys/devices/pci0000:40/0000:40:01.1{port}/current_link_speed");
                host.write(path, text).unwrap();
            }
            assert!(
                two_rows(&LINKS, &host, &["nvme0n1"], || {}).unwrap().columns.is_empty(),
                "{text:.20}"
            );
        }
    }
}
