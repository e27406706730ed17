//! Board, chassis and firmware, as SMBIOS names them (/sys/class/dmi/id, /sys/firmware/dmi/tables).

use super::Reading;
use super::smbios::{self, Structure, said};
use facts::inventory::server::{Firmware, Slot};

/// Reads it.
pub fn read(reading: &mut Reading<'_>) -> Firmware {
    let mut id =
        |file: &str, what: &str| said(&reading.word(format!("/sys/class/dmi/id/{file}"), what)?);
    let serial = id("product_serial", "the system's serial number");
    let mut id = |file: &str| id(file, "the names of the board and the firmware");
    let both = |first: Option<String>, second: Option<String>| {
        let words: Vec<String> = first.into_iter().chain(second).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let (vendor, product) = (id("sys_vendor"), id("product_name"));
    let board = both(id("board_vendor"), id("board_name"));
    let date = id("bios_date").map(|date| format!("({date})"));
    let version = both(id("bios_version"), date);
    let bios = both(id("bios_vendor"), version);
    let chassis = id("chassis_type").and_then(|number| chassis(&number));
    // A device tree's strings end with a zero byte.
    let model = reading.word("/proc/device-tree/model", "the machine's model");
    let model = model.and_then(|model| said(model.trim_end_matches('\0')));
    let table = smbios::read(reading, "the slots of the board").unwrap_or_default();
    Firmware {
        product: product.or(model),
        vendor,
        serial,
        board,
        chassis,
        bios,
        slots: slots(&table),
    }
}

/// The slots that a table of SMBIOS describes, in its order.
fn slots(table: &[u8]) -> Vec<Slot> {
    const SLOT: u8 = 9;
    smbios::structures(table).iter().filter(|one| one.kind == SLOT).map(slot).collect()
}

/// DSP0134, 7.10.
fn slot(structure: &Structure<'_>) -> Slot {
    let kind = structure.byte(0x05).and_then(slot_kind);
    Slot {
        name: structure.string(0x04).unwrap_or_default(),
        lanes: structure.byte(0x06).and_then(slot_lanes),
        kind,
        occupied: match structure.byte(0x07) {
            Some(3) => Some(false),
            Some(4) => Some(true),
            _ => None,
        },
        address: address(structure),
    }
}

/// A slot as somebody else has decoded it.
#[derive(Clone, Debug, Default)]
pub struct DecodedSlot {
    /// What is printed on the board.
    pub name: String,
    /// In dmidecode's words: `PCI Express 3 x16`.
    pub kind: String,
    /// How wide it is wired.
    pub lanes: Option<u32>,
    /// Whether something is in it.
    pub occupied: Option<bool>,
    /// PCI address.
    pub address: Option<String>,
}

/// Adds the structure that decodes to it.
pub fn made(table: &mut Vec<u8>, handle: u16, slot: &DecodedSlot) {
    // dmidecode leaves out the first generation, and the word before the others' numbers.
    let kind = slot.kind.replacen("PCI Express ", "PCI Express Gen ", 1);
    let kind = kind.replacen("PCI Express Gen x", "PCI Express x", 1);
    let kind = (1..=u8::MAX).find(|code| slot_kind(*code).as_deref() == Some(kind.as_str()));
    let lanes = (1..=u8::MAX).find(|code| slot.lanes.is_some() && slot_lanes(*code) == slot.lanes);
    let usage = match slot.occupied {
        Some(true) => 4,
        Some(false) => 3,
        None => 2,
    };
    let number = |from: usize, to: usize| {
        let digits = slot.address.as_ref().and_then(|address| address.get(from..to))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let address = slot.address.as_ref().filter(|address| address.len() == 12);
    let at = address.and_then(|_| {
        let (bus, device) = (u8::try_from(number(5, 7)?).ok()?, u8::try_from(number(8, 10)?).ok()?);
        Some((number(0, 4)?, bus, device << 3 | u8::try_from(number(11, 12)?).ok()?))
    });
    let (segment, bus, place) = at.unwrap_or((0xFFFF, 0xFF, 0xFF));
    let [low, high] = segment.to_le_bytes();
    let fields = [1, kind.unwrap_or(2), lanes.unwrap_or(2), usage, 0, 0, 0, 0, 0, low, high];
    let fields: Vec<u8> = fields.into_iter().chain([bus, place]).collect();
    let name = if slot.name.is_empty() { "Unknown" } else { slot.name.as_str() };
    smbios::put(table, 9, handle, &fields, &[name]);
}

/// Segment group, bus, device and function; all ones when the slot has none.
fn address(structure: &Structure<'_>) -> Option<String> {
    let (segment, bus) = (structure.word(0x0D)?, structure.byte(0x0F)?);
    let place = structure.byte(0x10)?;
    if segment == 0xFFFF || (bus == 0xFF && place == 0xFF) {
        return None;
    }
    Some(format!("{segment:04x}:{bus:02x}:{:02x}.{}", place >> 3, place & 7))
}

/// Table 46 of DSP0134.
fn slot_kind(number: u8) -> Option<String> {
    let plain = match number {
        0x03 => "ISA",
        0x05 => "EISA",
        0x06 => "PCI",
        0x0A => "processor card",
        0x0B => "memory card",
        0x0C => "I/O riser",
        0x0E => "PCI 66 MHz",
        0x0F..=0x11 | 0x13 => "AGP",
        0x12 => "PCI-X",
        0x14..=0x17 => "M.2",
        0x18..=0x1E => "MXM",
        0x1F => "PCI Express Gen 2 U.2",
        0x20 => "PCI Express Gen 3 U.2",
        0x21..=0x23 => "PCI Express Mini",
        0x24 => "PCI Express Gen 4 U.2",
        0x25 => "PCI Express Gen 5 U.2",
        0x26..=0x28 => "OCP NIC",
        0x30 => "CXL 1.0",
        0xA5..=0xAA => return Some(express("PCI Express", number - 0xA5)),
        0xAB..=0xB0 => return Some(express("PCI Express Gen 2", number - 0xAB)),
        0xB1..=0xB6 => return Some(express("PCI Express Gen 3", number - 0xB1)),
        0xB8..=0xBD => return Some(express("PCI Express Gen 4", number - 0xB8)),
        0xBE..=0xC3 => return Some(express("PCI Express Gen 5", number - 0xBE)),
        0xC4 => "PCI Express Gen 6",
        0xC5 => "EDSFF E1",
        0xC6 => "EDSFF E3",
        _ => return None,
    };
    Some(plain.to_owned())
}

/// The width follows the generation: none, x1, x2, x4, x8, x16.
fn express(generation: &str, step: u8) -> String {
    match step {
        0 => generation.to_owned(),
        step => format!("{generation} x{}", 1u32 << (step - 1)),
    }
}

/// Table 47 of DSP0134; widths in bits are those of older buses.
fn slot_lanes(number: u8) -> Option<u32> {
    Some(match number {
        0x08 => 1,
        0x09 => 2,
        0x0A => 4,
        0x0B => 8,
        0x0C => 12,
        0x0D => 16,
        0x0E => 32,
        _ => return None,
    })
}

/// Table 17 of DSP0134; the highest bit says that the chassis has a lock.
fn chassis(number: &str) -> Option<String> {
    let number = number.parse::<u8>().ok()? & 0x7F;
    let name = match number {
        0x03 => "desktop",
        0x04 => "low-profile desktop",
        0x05 => "pizza box",
        0x06 => "mini tower",
        0x07 => "tower",
        0x08 => "portable",
        0x09 => "laptop",
        0x0A => "notebook",
        0x0B => "hand held",
        0x0C => "docking station",
        0x0D => "all in one",
        0x0E => "sub notebook",
        0x0F => "space-saving",
        0x10 => "lunch box",
        0x11 => "main server chassis",
        0x12 => "expansion chassis",
        0x13 => "sub chassis",
        0x14 => "bus expansion chassis",
        0x15 => "peripheral chassis",
        0x16 => "RAID chassis",
        0x17 => "rack mount chassis",
        0x18 => "sealed-case PC",
        0x19 => "multi-system chassis",
        0x1A => "compact PCI",
        0x1B => "Advanced TCA",
        0x1C => "blade",
        0x1D => "blade enclosure",
        0x1E => "tablet",
        0x1F => "convertible",
        0x20 => "detachable",
        0x21 => "IoT gateway",
        0x22 => "embedded PC",
        0x23 => "mini PC",
        0x24 => "stick PC",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::smbios::testing::Table;
    use super::*;
    use crate::inventory::recording::Recording;

    fn table() -> Table {
        let in_use = [1, 0xB4, 0x0A, 4, 4, 1, 0, 0x0C, 1, 0, 0, 0x03, 0x08];
        let free = [1, 0xAF, 0x0B, 3, 4, 2, 0, 0x0C, 1, 0xFF, 0xFF, 0xFF, 0xFF];
        Table::default()
            .add(9, 0x900, &in_use, &["PCIe Slot 3"])
            .add(9, 0x901, &free, &["Slot 4"])
            .add(9, 0x902, &[9, 0xFF], &["x"])
    }

    fn recorded(text: &str) -> (Firmware, Vec<facts::inventory::server::Unread>) {
        let recording = Recording::unpack(text);
        let host = recording.host();
        let mut reading = Reading::new(&host);
        (read(&mut reading), reading.into_unread())
    }

    #[test]
    fn a_server_is_named_with_its_board_its_firmware_and_its_slots() {
        let text = "/sys/class/dmi/id/sys_vendor = LabCo\n\
            /sys/class/dmi/id/product_name = ServerX\n/sys/class/dmi/id/product_serial = S123\n\
            /sys/class/dmi/id/board_vendor = LabCo\n/sys/class/dmi/id/board_name = BX1\n\
            /sys/class/dmi/id/bios_vendor = Firm\n/sys/class/dmi/id/bios_version = 2.1\n\
            /sys/class/dmi/id/bios_date = 01/02/2020\n/sys/class/dmi/id/chassis_type = 151\n";
        let (firmware, unread) = recorded(&(text.to_owned() + &table().line()));
        assert_eq!(firmware.vendor.as_deref(), Some("LabCo"));
        assert_eq!(firmware.serial.as_deref(), Some("S123"));
        assert_eq!(firmware.board.as_deref(), Some("LabCo BX1"));
        assert_eq!(firmware.bios.as_deref(), Some("Firm 2.1 (01/02/2020)"));
        assert_eq!(firmware.chassis.as_deref(), Some("rack mount chassis"));
        let [first, second, third] = &firmware.slots[..] else { panic!("three slots") };
        assert_eq!(first.name, "PCIe Slot 3");
        assert_eq!(first.kind.as_deref(), Some("PCI Express Gen 3 x4"));
        assert_eq!((first.lanes, first.occupied), (Some(4), Some(true)));
        assert_eq!(first.address.as_deref(), Some("0000:03:01.0"));
        assert_eq!(second.kind.as_deref(), Some("PCI Express Gen 2 x8"));
        assert_eq!((second.occupied, &second.address), (Some(false), &None));
        // A string that is not there, an unknown kind, and fields that are cut off.
        assert_eq!(*third, Slot::default());
        assert_eq!(unread, []);
    }

    #[test]
    fn a_device_tree_names_an_arm_board_and_missing_tables_are_told() {
        let hex = "5261737062657272792050692034204d6f64656c204200";
        let (firmware, unread) = recorded(&format!("/proc/device-tree/model = hex {hex}\n"));
        assert_eq!(firmware.product.as_deref(), Some("Raspberry Pi 4 Model B"));
        assert_eq!(firmware.slots, []);
        assert_eq!(unread[0].what, "the slots of the board");
        assert!(unread[0].why.contains("no SMBIOS"), "{:?}", unread[0]);
    }

    #[test]
    fn words_that_fill_holes_and_numbers_that_are_none_yield_nothing() {
        let text = "/sys/class/dmi/id/sys_vendor = To Be Filled By O.E.M.\n\
            /sys/class/dmi/id/chassis_type = many\n/sys/class/dmi/id/bios_vendor = hex ff00fe\n";
        assert_eq!(recorded(text).0, Firmware::default());
    }

    #[test]
    fn a_table_cut_at_every_byte_never_panics() {
        let whole = table().0;
        for end in 0..whole.len() {
            assert!(slots(&whole[..end]).len() <= 3);
        }
        for number in 0..=255 {
            slot_kind(number);
            slot_lanes(number);
            chassis(&number.to_string());
        }
        assert_eq!(slot_kind(0xAA).as_deref(), Some("PCI Express x16"));
        assert_eq!(slot_kind(0xC3).as_deref(), Some("PCI Express Gen 5 x16"));
    }
}
