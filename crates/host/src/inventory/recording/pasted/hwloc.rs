//! hwloc's XML, as `lstopo FILE.xml` and `hwloc-gather-topology` write it (versions 1, 2 and 3):
//! processors, caches, nodes, PCI functions, and the disks and network interfaces on them.
//!
//! What it says of a PCI link is a rate that it computed, from which speed and width cannot be
//! told.

use std::collections::{BTreeMap, BTreeSet};

use super::disk::About;
use super::draft::{Draft, put};
use super::piece::Piece;
use super::xml::{self, Tag};
use super::{PastedKind, Topic, lines, no_json};
use crate::inventory::server::address::{is_address, is_hex};

/// hwloc's XML.
pub const HWLOC: PastedKind = PastedKind {
    name: "hwloc's XML",
    programs: &["lstopo", "lstopo-no-graphics", "hwloc-ls"],
    opens: |line, next| {
        line.starts_with("<topology")
            || line.starts_with("<!DOCTYPE topology")
            || (line.starts_with("<?xml") && next.contains("topology"))
    },
    json: no_json,
    goes_on: true,
    tells: &[Topic::Processors, Topic::Pci],
    read,
};

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";
/// Objects in one another.
const DEEPEST: usize = 256;

/// An object, and what stands in it that is no object.
#[derive(Clone, Debug, Default)]
struct Object {
    attributes: BTreeMap<String, String>,
    infos: BTreeMap<String, String>,
    /// The nearest PCI function above.
    function: Option<String>,
}

impl Object {
    fn get(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).map(String::as_str)
    }

    fn info(&self, key: &str) -> Option<&str> {
        self.infos.get(key).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let end = piece.text.find("</topology>").ok_or("it has no `</topology>`: was it cut short?")?;
    let objects = objects(&piece.text[..end])?;
    let of = |kind: &'static str| objects.iter().filter(move |it| it.get("type") == Some(kind));
    let online: BTreeSet<u32> =
        of("PU").filter_map(|it| u32::try_from(it.number("os_index")?).ok()).collect();
    let online: BTreeSet<u32> = online.into_iter().filter(|number| *number < 8192).collect();
    if online.is_empty() {
        return Err("it has no processing unit (PU)".to_owned());
    }
    let machine_set =
        of("Machine").next().and_then(|it| it.get("online_cpuset").or(it.get("cpuset")));
    if machine_set.is_some_and(|text| !cpuset(text).is_subset(&online)) {
        return Err(
            "the machine has CPUs of which there is no PU: was a part of it lost?".to_owned()
        );
    }
    let machine = of("Machine").chain(of("System")).next().cloned().unwrap_or_default();
    let names = [
        ("DMIProductName", "/sys/class/dmi/id/product_name"),
        ("DMISysVendor", "/sys/class/dmi/id/sys_vendor"),
        ("DMIBoardVendor", "/sys/class/dmi/id/board_vendor"),
        ("DMIBoardName", "/sys/class/dmi/id/board_name"),
        ("DMIBIOSVendor", "/sys/class/dmi/id/bios_vendor"),
        ("DMIBIOSVersion", "/sys/class/dmi/id/bios_version"),
        ("DMIBIOSDate", "/sys/class/dmi/id/bios_date"),
        ("DMIChassisType", "/sys/class/dmi/id/chassis_type"),
        ("OSRelease", "/proc/sys/kernel/osrelease"),
        ("HostName", "/proc/sys/kernel/hostname"),
    ];
    for (info, path) in names {
        if let Some(text) = machine.info(info) {
            draft.files.tell(path, text)?;
        }
    }
    draft.files.tell(&format!("{CPU}/online"), list(&online))?;
    processors(&objects, &online, &machine, draft)?;
    nodes(&objects, &online, draft)?;
    // Kinds of devices were numbers in version 2, and are bits since version 3.
    devices(&objects, piece.text.contains("<topology version=\"3"), draft)
}

/// All objects, each after the one that holds it.
fn objects(text: &str) -> Result<Vec<Object>, String> {
    let mut done: Vec<Object> = Vec::new();
    // Which object a tag that is open is of; `None` for tags that are none.
    let mut open: Vec<Option<usize>> = Vec::new();
    for tag in xml::tags(text)? {
        let within = open.iter().rev().find_map(|it| *it);
        match tag {
            Tag::Close => {
                open.pop();
            }
            Tag::Open(name, attributes) if name == "object" => {
                let mut object = Object { attributes, ..Object::default() };
                let above = within.and_then(|at| {
                    let above = &done[at];
                    above.get("pci_busid").map(str::to_owned).or(above.function.clone())
                });
                object.function = above.filter(|address| is_address(address));
                open.push(Some(done.len()));
                done.push(object);
            }
            Tag::Open(name, attributes) => {
                let pair = attributes.get("name").cloned().zip(attributes.get("value").cloned());
                if let (Some(at), true, Some((key, value))) = (within, name == "info", pair) {
                    done[at].infos.insert(key, value);
                }
                open.push(None);
            }
        }
        if open.len() > DEEPEST {
            return Err("its objects lie too deep in one another".to_owned());
        }
    }
    Ok(done)
}

/// `0x000000ff`, `0xffffffff,0x0000000f`: words of 32 bits, the highest first.
fn cpuset(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for (at, word) in text.split(',').rev().enumerate().take(256) {
        let digits = word.trim().trim_start_matches("0x");
        let bits = if is_hex(digits, 1..=8) { u32::from_str_radix(digits, 16).ok() } else { None };
        let bits = bits.unwrap_or(0);
        let all = (0..32).filter(|bit| bits >> bit & 1 == 1);
        found.extend(all.map(|bit| at as u32 * 32 + bit));
    }
    found
}

fn list(numbers: &BTreeSet<u32>) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<String>>().join(",")
}

fn processors(
    objects: &[Object],
    online: &BTreeSet<u32>,
    machine: &Object,
    draft: &mut Draft,
) -> Result<(), String> {
    let within = |object: &Object| -> BTreeSet<u32> {
        let set = object.get("cpuset").map(cpuset).unwrap_or_default();
        set.intersection(online).copied().collect()
    };
    let mut model = machine.info("CPUModel").map(str::to_owned);
    for (at, object) in objects.iter().enumerate() {
        let kind = object.get("type").unwrap_or("");
        let cpus = within(object);
        match kind {
            "Package" | "Socket" => {
                model = model.or(object.info("CPUModel").map(str::to_owned));
                let number = object.number("os_index").unwrap_or(at as u64);
                for cpu in &cpus {
                    let path = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
                    draft.files.tell(&path, number.to_string())?;
                }
            }
            "Core" => {
                for cpu in &cpus {
                    let path = format!("{CPU}/cpu{cpu}/topology/thread_siblings_list");
                    draft.files.tell(&path, list(&cpus))?;
                }
            }
            _ if object.get("cache_size").is_some() => cache(object, &cpus, draft)?,
            _ => {}
        }
    }
    if let Some(model) = model {
        let text = format!("processor\t: 0\nmodel name\t: {model}\n");
        draft.files.suppose("/proc/cpuinfo", text);
    }
    Ok(())
}

fn cache(object: &Object, cpus: &BTreeSet<u32>, draft: &mut Draft) -> Result<(), String> {
    let (Some(bytes), Some(level)) = (object.number("cache_size"), object.number("depth")) else {
        return Ok(());
    };
    let kind = match object.get("cache_type") {
        Some("1") => "Data",
        Some("2") => "Instruction",
        _ => "Unified",
    };
    // It says 0 of a cache whose size it does not know.
    if bytes == 0 || level > 5 {
        return Ok(());
    }
    let index = match (level, kind) {
        (1, "Instruction") => 1,
        (1, _) => 0,
        (level, "Instruction") => level + 10,
        (level, _) => level,
    };
    let size = match bytes % 1024 {
        0 => format!("{}K", bytes / 1024),
        _ => bytes.to_string(),
    };
    for cpu in cpus {
        let at = format!("{CPU}/cpu{cpu}/cache/index{index}");
        draft.files.tell(&format!("{at}/level"), level.to_string())?;
        draft.files.tell(&format!("{at}/type"), kind)?;
        draft.files.tell(&format!("{at}/size"), &size)?;
        draft.files.tell(&format!("{at}/shared_cpu_list"), list(cpus))?;
    }
    Ok(())
}

/// Nodes with their memory; of version 1 a node's memory is told where the machine's is, when it
/// has no other.
fn nodes(objects: &[Object], online: &BTreeSet<u32>, draft: &mut Draft) -> Result<(), String> {
    let mut numbers = BTreeSet::new();
    let mut total = Some(0_u64);
    for object in objects.iter().filter(|it| it.get("type") == Some("NUMANode")) {
        let Some(number) = object.number("os_index").and_then(|it| u32::try_from(it).ok()) else {
            continue;
        };
        let set = object.get("cpuset").map(cpuset).unwrap_or_default();
        let cpus: BTreeSet<u32> = set.intersection(online).copied().collect();
        draft.files.tell(&format!("{NODE}/node{number}/cpulist"), list(&cpus))?;
        let bytes = object.number("local_memory").filter(|bytes| *bytes > 0);
        if let Some(bytes) = bytes {
            let text = format!("Node {number} MemTotal: {} kB\n", bytes / 1024);
            draft.files.tell(&format!("{NODE}/node{number}/meminfo"), text)?;
        }
        total = total.zip(bytes).and_then(|(total, bytes)| total.checked_add(bytes));
        numbers.insert(number);
    }
    if !numbers.is_empty() {
        draft.files.tell(&format!("{NODE}/online"), list(&numbers))?;
    }
    let machine = objects.iter().find(|it| it.get("type") == Some("Machine"));
    let whole = machine.and_then(|it| it.number("local_memory")).filter(|bytes| *bytes > 0);
    let total = total.filter(|bytes| *bytes > 0).or(whole);
    if let Some(bytes) = total {
        draft.files.suppose("/proc/meminfo", format!("MemTotal: {} kB\n", bytes / 1024));
    }
    Ok(())
}

/// PCI functions, and what the kernel made of them.
fn devices(objects: &[Object], third: bool, draft: &mut Draft) -> Result<(), String> {
    let (block, network) = if third { ("1", "16") } else { ("0", "2") };
    let mut rates = false;
    for object in objects {
        let address = object.get("pci_busid").filter(|address| is_address(address));
        if let Some(address) = address {
            rates |= object.get("pci_link_speed").is_some();
            function(object, address, draft).map_err(|why| format!("of {address} {why}"))?;
        }
        if object.get("type") == Some("OSDev") {
            let Some(name) = object.get("name").and_then(|name| lines::name(name).ok()) else {
                continue;
            };
            let name = name.to_owned();
            match object.get("osdev_type") {
                Some(kind) if kind == block => disk(object, &name, draft)?,
                Some(kind) if kind == network => {
                    let interface = draft.interface(&name)?;
                    if let Some(address) = &object.function {
                        interface.hardware = true;
                        put(&mut interface.function, address.clone(), "the PCI function")?;
                    }
                }
                _ => {}
            }
        }
    }
    if rates {
        draft.miss(
            "the links of PCI functions",
            "hwloc's XML",
            "it tells a rate that it computed, and neither speed nor width",
            "sudo lspci -vvv -nn",
        );
    }
    Ok(())
}

/// `pci_type="0108 [144d:a804] [144d:a801] 00"`, `bridge_pci="0000:[01-01]"`.
fn function(object: &Object, address: &str, draft: &mut Draft) -> Result<(), String> {
    let function = draft.functions.entry(address.to_owned()).or_default();
    let words: Vec<&str> = object.get("pci_type").unwrap_or("").split_whitespace().collect();
    if let Some(class) = words.first().filter(|class| is_hex(class, 4..=4)) {
        // Which interface it has is told of bridges alone; of class 0108 all but old ones are NVMe.
        function.files.suppose("class", format!("0x{class}00"));
    }
    let ids = |word: Option<&&str>| {
        let (vendor, device) = word?.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
        let both = is_hex(vendor, 4..=4) && is_hex(device, 4..=4);
        both.then(|| (format!("0x{vendor}"), format!("0x{device}")))
    };
    if let Some((vendor, device)) = ids(words.get(1)) {
        function.files.tell("vendor", vendor)?;
        function.files.tell("device", device)?;
    }
    if let Some((vendor, device)) = ids(words.get(2)) {
        function.files.tell("subsystem_vendor", vendor)?;
        function.files.tell("subsystem_device", device)?;
    }
    let bus = object.get("bridge_pci").and_then(|text| text.split_once('['));
    let bus = bus.and_then(|(_, rest)| u8::from_str_radix(rest.get(..2)?, 16).ok());
    if let Some(bus) = bus {
        put(&mut function.secondary, bus, "the bus below")?;
    }
    let names = [object.info("PCIVendor"), object.info("PCIDevice")];
    let name: Vec<&str> = names.into_iter().flatten().collect();
    if !name.is_empty() && function.name.is_none() {
        function.name = Some(name.join(" "));
    }
    Ok(())
}

fn disk(object: &Object, name: &str, draft: &mut Draft) -> Result<(), String> {
    if object.info("Type").or(object.get("subtype")).is_some_and(|kind| kind != "Disk") {
        return Ok(());
    }
    let number = |key: &str| object.info(key)?.parse::<u64>().ok();
    // `390711384KiB` since version 3.
    let kib = object.info("Size").map(|size| size.strip_suffix("KiB").unwrap_or(size));
    let kib = kib.and_then(|kib| kib.parse::<u64>().ok());
    let block = draft.block(name)?;
    if let Some(address) = &object.function {
        put(&mut block.function, address.clone(), "the PCI function")?;
    }
    let about = About {
        model: object.info("Model").map(str::to_owned),
        serial: object.info("SerialNumber").map(str::to_owned),
        firmware: object.info("Revision").map(str::to_owned),
        size: kib.and_then(|kib| kib.checked_mul(1024)).map(|bytes| (bytes, true)),
        logical_block_bytes: number("SectorSize"),
        transport: name.starts_with("nvme").then_some("nvme"),
        ..About::default()
    };
    about.tell(block).map_err(|why| format!("of {name} {why}"))
}
