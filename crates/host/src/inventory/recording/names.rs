//! The lines of pci.ids that name what a machine has.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

use super::walk::{RecordedNode, Walk};
use crate::sys::Host;
use crate::sys::input::KERNEL;

/// Where distributions keep it; the first that is there is read.
const PLACES: [&str; 3] =
    ["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids"];
/// Lines that are looked at: the list has 40 000.
const LINES_MAX: usize = 400_000;

/// Keeps the lines of makers, devices and subsystems that the walk has found.
pub fn keep(host: &Host, walk: &mut Walk<'_>) {
    let found = identities(walk);
    let Some((place, file)) =
        PLACES.iter().find_map(|place| Some((*place, host.open(place).ok()?)))
    else {
        return;
    };
    let lines = BufReader::new(file.take(KERNEL.bytes_max)).split(b'\n').take(LINES_MAX);
    let lines = lines.map_while(Result::ok).filter_map(|line| String::from_utf8(line).ok());
    let said = chosen(lines, &found);
    walk.kept.insert(place.to_owned(), RecordedNode::File(said.into_bytes()));
}

#[derive(Default)]
struct Identities {
    vendors: BTreeSet<String>,
    devices: BTreeSet<(String, String)>,
    subsystems: BTreeSet<(String, String)>,
}

fn identities(walk: &Walk<'_>) -> Identities {
    let mut found = Identities::default();
    let word = |folder: &str, name: &str| match walk.kept.get(&format!("{folder}/{name}")) {
        Some(RecordedNode::File(bytes)) => {
            let text = std::str::from_utf8(bytes).ok()?.trim().strip_prefix("0x")?;
            Some(text.to_lowercase())
        }
        _ => None,
    };
    for folder in walk.kept.keys().filter_map(|path| path.strip_suffix("/vendor")) {
        let (Some(vendor), Some(device)) = (word(folder, "vendor"), word(folder, "device")) else {
            continue;
        };
        found.vendors.insert(vendor.clone());
        found.devices.insert((vendor, device));
        let subsystem = (word(folder, "subsystem_vendor"), word(folder, "subsystem_device"));
        if let (Some(vendor), Some(device)) = subsystem {
            found.vendors.insert(vendor.clone());
            found.subsystems.insert((vendor, device));
        }
    }
    found
}

/// Lines begin at the margin for a maker, after one tab for its device, after two for a subsystem
/// of that. Classes, after `C `, are all kept out: what is read of them is in no file of a machine.
fn chosen(lines: impl Iterator<Item = String>, found: &Identities) -> String {
    let mut said = String::new();
    let (mut vendor, mut device) = (None, false);
    for line in lines {
        let word = |text: &str| text.split_ascii_whitespace().next().map(str::to_lowercase);
        let keep = if let Some(rest) = line.strip_prefix("\t\t") {
            let mut words = rest.split_ascii_whitespace().map(str::to_lowercase);
            let pair = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            device && found.subsystems.contains(&pair)
        } else if let Some(rest) = line.strip_prefix('\t') {
            let pair = vendor.clone().zip(word(rest));
            device = pair.is_some_and(|pair| found.devices.contains(&pair));
            device
        } else {
            device = false;
            vendor = word(&line).filter(|word| word.len() == 4 && found.vendors.contains(word));
            vendor.is_some()
        };
        if keep {
            said.push_str(line.trim_end());
            said.push('\n');
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn only_what_the_machine_has_is_kept() {
        let ids = "# head\n1000  LSI\n\t005f  Other\n\t0060  MegaRAID SAS 1078\n\
                   \t\t1028 1f0c  PERC 6/i\n\t\t1028 1f0d  CERC\n1028  Dell\n\
                   \t0001  Expandable RAID\n8086  Intel\nC 01  Mass storage\n\t04  RAID\n";
        let ids: String = ids.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!(
            "/sys/devices/p/vendor = 0x1000\n/sys/devices/p/device = 0x0060\n\
             /sys/devices/p/subsystem_vendor = 0x1028\n/sys/devices/p/subsystem_device = 0x1f0c\n\
             /usr/share/hwdata/pci.ids:\n{ids}"
        );
        let machine = Recording::unpack(&text);
        let host = machine.host();
        let mut walk = Walk::new(&host);
        walk.tree("/sys/devices");
        keep(&host, &mut walk);
        let RecordedNode::File(kept) = &walk.kept["/usr/share/hwdata/pci.ids"] else { panic!() };
        assert_eq!(
            String::from_utf8_lossy(kept),
            "1000  LSI\n\t0060  MegaRAID SAS 1078\n\t\t1028 1f0c  PERC 6/i\n1028  Dell\n"
        );
    }
}
