//! Names of makers, devices and their subsystems, from the system's pci.ids
//! (<https://pci-ids.ucw.cz>; the format is told at the head of the file).

use std::collections::BTreeMap;

use super::Reading;
use facts::inventory::server::Function;

/// Where distributions put it: Debian, Fedora and SUSE, Slackware.
const PLACES: [&str; 3] =
    ["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids"];
/// It has 1.5 MB in 2026 and grows by 5 % a year.
const LONGEST_BYTES: u64 = 8 << 20;
const WHAT: &str = "names of PCI functions";
/// The longest name has 120 characters; a longer one is none.
const NAME_MAX: usize = 200;

/// A maker, and a device of his, and a subsystem with that.
type PciIds = (u16, Option<u16>, Option<(u16, u16)>);

/// Gives functions their names.
pub fn add(reading: &mut Reading<'_>, functions: &mut [Function]) {
    if functions.is_empty() {
        return;
    }
    if !reading.host().is_live() {
        for function in functions.iter_mut() {
            function.name = reading.quiet(super::named_at(&function.address));
        }
        if functions.iter().all(|function| function.name.is_some()) {
            return;
        }
    }
    let mut wanted: BTreeMap<PciIds, Option<String>> = BTreeMap::new();
    for function in functions.iter() {
        let (vendor, device) = (function.vendor, function.device);
        wanted.insert((vendor, None, None), None);
        wanted.insert((vendor, Some(device), None), None);
        if let Some(subsystem) = function.subsystem {
            wanted.insert((vendor, Some(device), Some(subsystem)), None);
        }
    }
    let there = PLACES.into_iter().find(|place| reading.host().exists(place));
    let Some(place) = there else {
        let hint = "install the package pci.ids (Debian, Ubuntu) or hwdata (others)";
        return reading.miss(WHAT, PLACES[0], "it is not installed", hint);
    };
    let Some(bytes) = reading.bytes_within(place, LONGEST_BYTES, WHAT) else { return };
    look_up(&bytes, &mut wanted);
    let name = |ids: PciIds| wanted.get(&ids).cloned().flatten();
    for function in functions.iter_mut().filter(|function| function.name.is_none()) {
        let (vendor, device) = (function.vendor, function.device);
        let subsystem =
            function.subsystem.and_then(|subsystem| name((vendor, Some(device), Some(subsystem))));
        function.name = match (name((vendor, None, None)), name((vendor, Some(device), None))) {
            (Some(maker), Some(device)) => Some(format!("{maker} {device}")),
            (Some(maker), None) => Some(format!("{maker}, device {device:#06x}")),
            (None, device) => device,
        };
        if let (Some(name), Some(subsystem)) = (&mut function.name, subsystem) {
            *name = format!("{name} ({subsystem})");
        }
    }
}

/// Goes through the file once: `8086  Intel`, below it by a tab `0953  NVMe Datacenter SSD`, below
/// that by two `8086 3702  DC P3700`. Other lists, such as that of classes (`C 01`), come last.
fn look_up(bytes: &[u8], wanted: &mut BTreeMap<PciIds, Option<String>>) {
    let (mut vendor, mut device) = (None, None);
    for line in bytes.split(|byte| *byte == b'\n') {
        let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
        let line = &line[tabs..];
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let ids = match tabs {
            0 => {
                vendor = id(line);
                device = None;
                vendor.map(|vendor| (vendor, None, None))
            }
            1 => {
                device = vendor.and_then(|_| id(line));
                vendor.zip(device).map(|(vendor, device)| (vendor, Some(device), None))
            }
            2 => vendor.zip(device).and_then(|(vendor, device)| {
                let subsystem = (id(line)?, id(line.get(5..)?)?);
                Some((vendor, Some(device), Some(subsystem)))
            }),
            _ => None,
        };
        let Some(slot) = ids.and_then(|ids| wanted.get_mut(&ids)) else { continue };
        let numbers = if tabs == 2 { 9 } else { 4 };
        let name = String::from_utf8_lossy(&line[numbers..]);
        let name = name.trim();
        if slot.is_none() && !name.is_empty() && name.chars().count() <= NAME_MAX {
            *slot = Some(name.to_owned());
        }
    }
}

/// Four hexadecimal digits and a blank.
fn id(text: &[u8]) -> Option<u16> {
    let digits = text.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    (text.get(4) == Some(&b' ')).then_some(())?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    /// Lines of the file of 2024, in its order.
    const LIST: &str = "\
# comment\n\
1000  Broadcom / LSI\n\
\t0079  MegaRAID SAS 2108 [Liberator]\n\
\t\t1028 1f17  PERC H700 Integrated\n\
\t\t1028 1f18  PERC H700 Modular\n\
8086  Intel Corporation\n\
\t10fb  82599ES 10-Gigabit SFI/SFP+ Network Connection\n\
C 01  Mass storage controller\n\
\t04  RAID bus controller\n";

    fn function(vendor: u16, device: u16, subsystem: Option<(u16, u16)>) -> Function {
        Function { vendor, device, subsystem, ..Function::default() }
    }

    fn functions() -> Vec<Function> {
        vec![
            function(0x1000, 0x0079, Some((0x1028, 0x1f17))),
            function(0x1000, 0x0079, Some((0x1028, 0x1f19))),
            function(0x8086, 0x10fb, None),
            function(0x8086, 0x0079, None),
            function(0xabcd, 0x0004, None),
        ]
    }

    fn names(list: &[u8]) -> Vec<Option<String>> {
        let recording = Recording::unpack("");
        let place = recording.host().path("/usr/share/hwdata/pci.ids");
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        crate::sys::output::keep(&place, list).unwrap();
        let host = recording.host();
        let mut functions = functions();
        add(&mut Reading::new(&host), &mut functions);
        functions.into_iter().map(|function| function.name).collect()
    }

    #[test]
    fn functions_are_named_by_maker_device_and_subsystem() {
        let names = names(LIST.as_bytes());
        let expected = [
            Some("Broadcom / LSI MegaRAID SAS 2108 [Liberator] (PERC H700 Integrated)"),
            Some("Broadcom / LSI MegaRAID SAS 2108 [Liberator]"),
            Some("Intel Corporation 82599ES 10-Gigabit SFI/SFP+ Network Connection"),
            Some("Intel Corporation, device 0x0079"),
            None,
        ];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn a_list_that_is_cut_off_broken_or_huge_yields_no_foreign_name() {
        let whole = LIST.as_bytes();
        let all: String = names(whole).into_iter().flatten().collect();
        for end in 0..whole.len() {
            let mut wanted = BTreeMap::from([((0x8086, Some(0x10fb), None), None)]);
            look_up(&whole[..end], &mut wanted);
            assert!(wanted.into_values().flatten().all(|name| all.contains(&name)), "at {end}");
        }
        assert_eq!(names(b"\xff\xfe\n8086\n\t10fb\n8086  \n"), vec![None; 5]);
        let long = [b"8086  ", vec![b'x'; 1 << 20].as_slice()].concat();
        assert_eq!(names(&long), vec![None; 5]);
        assert_eq!(names(&vec![b'\t'; 9 << 20]), vec![None; 5]);
    }

    #[test]
    fn a_machine_without_the_list_says_what_to_install() {
        let recording = Recording::unpack("");
        let host = recording.host();
        let mut reading = Reading::new(&host);
        add(&mut reading, &mut functions());
        let unread = reading.into_unread();
        assert_eq!(unread.len(), 1);
        assert!(unread[0].hint.contains("pci.ids") && unread[0].what == WHAT);
        let mut reading = Reading::new(&host);
        add(&mut reading, &mut []);
        assert_eq!(reading.into_unread(), [], "nothing to name");
    }
}
