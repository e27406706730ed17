//! `dmidecode`: board, firmware, slots and memory modules (dmidecode.c).
//!
//! It is turned back into the tables of SMBIOS that it decoded, as far as the inventory reads them
//! (DSP0134, 7.10, 7.17 and 7.18).

use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines, no_json};
use crate::inventory::server::address::is_address;
use crate::inventory::server::{firmware, memory, smbios};

/// `dmidecode`.
pub const DMIDECODE: PastedKind = PastedKind {
    name: "dmidecode",
    programs: &["dmidecode"],
    opens: |line, next| {
        let version = line.strip_prefix("# dmidecode ");
        version.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            || (handle(line).is_some() && next.starts_with(|c: char| c.is_ascii_uppercase()))
    },
    json: no_json,
    goes_on: true,
    tells: &[Topic::Firmware, Topic::Memory],
    read,
};

/// `Handle 0x1100, DMI type 17, 84 bytes`.
fn handle(line: &str) -> Option<(u16, u8)> {
    let rest = line.strip_prefix("Handle 0x")?;
    let (handle, rest) = rest.split_once(", DMI type ")?;
    let kind = rest.split(',').next()?.trim();
    Some((u16::from_str_radix(handle, 16).ok()?, kind.parse().ok()?))
}

/// One structure and the pairs that it was decoded into.
struct DecodedStructure<'a> {
    handle: u16,
    kind: u8,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> DecodedStructure<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        let found = self.pairs.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value).filter(|value| !value.is_empty())
    }
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut structures: Vec<DecodedStructure<'_>> = Vec::new();
    for line in piece.text.split_inclusive('\n') {
        let open = !line.ends_with('\n');
        let line = line.trim_end();
        if let Some((handle, kind)) = handle(line) {
            structures.push(DecodedStructure { handle, kind, pairs: Vec::new() });
        } else if line.starts_with('\t') && !line.starts_with("\t\t") && !open {
            let pair = lines::pair(line, ":");
            if let (Some(structure), Some(pair)) = (structures.last_mut(), pair) {
                structure.pairs.push(pair);
            }
        }
    }
    let denied = ["Permission denied", "No SMBIOS nor DMI entry point found"];
    if let Some(line) = piece.text.lines().find(|line| denied.iter().any(|it| line.contains(it))) {
        let why = line.trim_start_matches(['#', ' ']);
        draft.miss("the board, the firmware and the memory modules", "dmidecode", why, "as root");
    }
    identity(&structures, draft)?;
    let mut table = Vec::new();
    let arrays = structures.iter().filter(|one| one.kind == 16);
    for array in arrays {
        let system = array.value("Use") == Some("System Memory");
        let system = if system { 3 } else { 1 };
        smbios::put(&mut table, 16, array.handle, &[3, system, 3], &[]);
    }
    for one in &structures {
        match one.kind {
            17 => memory::made(&mut table, one.handle, &module(one)),
            9 => firmware::made(&mut table, one.handle, &slot(one)),
            _ => {}
        }
    }
    match table.is_empty() {
        true => Ok(()),
        false => draft.files.tell(smbios::PLACE, table),
    }
}

/// The names that the kernel shows in /sys/class/dmi/id.
fn identity(structures: &[DecodedStructure<'_>], draft: &mut Draft) -> Result<(), String> {
    const NAMES: &[(u8, &str, &str)] = &[
        (0, "Vendor", "bios_vendor"),
        (0, "Version", "bios_version"),
        (0, "Release Date", "bios_date"),
        (1, "Manufacturer", "sys_vendor"),
        (1, "Product Name", "product_name"),
        (1, "Serial Number", "product_serial"),
        (2, "Manufacturer", "board_vendor"),
        (2, "Product Name", "board_name"),
    ];
    for (kind, key, file) in NAMES {
        // A machine may have several boards; the first is the main one.
        let first = structures.iter().find(|one| one.kind == *kind);
        if let Some(value) = first.and_then(|one| one.value(key)) {
            draft.files.tell(&format!("/sys/class/dmi/id/{file}"), value)?;
        }
    }
    let chassis = structures.iter().find(|one| one.kind == 3).and_then(|one| one.value("Type"));
    if let Some(number) = chassis.and_then(chassis_number) {
        draft.files.tell("/sys/class/dmi/id/chassis_type", number.to_string())?;
    }
    Ok(())
}

/// Table 17 of DSP0134, in dmidecode's words.
fn chassis_number(name: &str) -> Option<u8> {
    let known = [
        ("Desktop", 3),
        ("Low Profile Desktop", 4),
        ("Pizza Box", 5),
        ("Mini Tower", 6),
        ("Tower", 7),
        ("Portable", 8),
        ("Laptop", 9),
        ("Notebook", 10),
        ("All In One", 13),
        ("Space-saving", 15),
        ("Main Server Chassis", 17),
        ("Expansion Chassis", 18),
        ("RAID Chassis", 22),
        ("Rack Mount Chassis", 23),
        ("Sealed-case PC", 24),
        ("Multi-system", 25),
        ("Blade", 28),
        ("Blade Enclosing", 29),
        ("Tablet", 30),
        ("Convertible", 31),
        ("Mini PC", 35),
        ("Stick PC", 36),
    ];
    known.iter().find(|(word, _)| *word == name).map(|(_, number)| *number)
}

fn module(one: &DecodedStructure<'_>) -> memory::DecodedModule {
    let words = |key: &str| {
        let value = one.value(key)?;
        let (number, unit) = value.split_once(' ')?;
        Some((number.parse::<u64>().ok()?, unit.trim()))
    };
    let bytes = words("Size").and_then(|(number, unit)| {
        let shift = match unit {
            "bytes" => 0,
            "kB" | "KB" => 10,
            "MB" => 20,
            "GB" => 30,
            "TB" => 40,
            _ => return None,
        };
        number.checked_mul(1 << shift)
    });
    let speed = |key: &str| {
        let (number, unit) = words(key)?;
        ["MT/s", "MHz"].contains(&unit).then_some(number)
    };
    let bits = words("Data Width").filter(|(_, unit)| *unit == "bits").map(|(bits, _)| bits);
    let array = one
        .value("Array Handle")
        .and_then(|handle| u16::from_str_radix(handle.strip_prefix("0x")?, 16).ok());
    let text = |key: &str| one.value(key).unwrap_or_default().to_owned();
    memory::DecodedModule {
        array: array.unwrap_or(0xfffe),
        bytes,
        bits,
        kind: text("Type"),
        speed: speed("Speed"),
        configured: speed("Configured Memory Speed").or(speed("Configured Clock Speed")),
        place: text("Locator"),
        bank: text("Bank Locator"),
        maker: text("Manufacturer"),
        part: text("Part Number"),
    }
}

/// `Type: x8 PCI Express 3 x16`: how wide it is wired, then what fits in.
fn slot(one: &DecodedStructure<'_>) -> firmware::DecodedSlot {
    let kind = one.value("Type").unwrap_or("");
    let (width, rest) = kind.split_once(' ').unwrap_or(("", kind));
    let lanes = width.strip_prefix('x').and_then(|width| width.parse::<u32>().ok());
    let name = if lanes.is_some() { rest } else { kind };
    firmware::DecodedSlot {
        name: one.value("Designation").unwrap_or_default().to_owned(),
        kind: name.to_owned(),
        lanes,
        occupied: match one.value("Current Usage") {
            Some("In Use") => Some(true),
            Some("Available") => Some(false),
            _ => None,
        },
        address: one.value("Bus Address").filter(|it| is_address(it)).map(str::to_owned),
    }
}
