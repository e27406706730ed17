//! `lspci` with any of `-v`, `-vv`, `-vvv`, `-nn`, `-n`, `-k`, `-D`: PCI functions (pciutils'
//! lspci.c, ls-caps.c).
//!
//! Only root is told of capabilities, and so of links. What a function's class is called is turned
//! back into its number where `-nn` did not print it.

use std::collections::BTreeMap;

use super::draft::{Draft, Function, put};
use super::piece::Piece;
use super::{PastedKind, Topic, lines, no_json};
use crate::inventory::pcie::config;
use crate::inventory::server::address::{is_address, is_hex};

mod class;

/// `lspci`.
pub const LSPCI: PastedKind = PastedKind {
    name: "lspci",
    programs: &["lspci"],
    opens: |line, _| heading(line).is_some(),
    json: no_json,
    goes_on: true,
    tells: &[Topic::Pci],
    read,
};

/// The first line of a function: address, and what follows it.
fn heading(line: &str) -> Option<(String, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let address = match address.len() {
        7 => format!("0000:{address}"),
        _ => address.to_owned(),
    };
    // `Ethernet controller: ...`, `Ethernet controller [0200]: ...`, `0200: 8086:10fb`.
    let (class, name) = rest.split_once(": ")?;
    let known = class::number(class).is_some() && !name.trim().is_empty();
    (is_address(&address) && address.len() >= 12 && known).then_some((address, rest))
}

/// What the texts did not tell of some functions.
#[derive(Default)]
struct Lacks {
    denied: bool,
    capabilities: bool,
    bridges: bool,
    numbers: bool,
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut functions: Vec<(String, &str, Vec<&str>)> = Vec::new();
    for line in piece.text.split_inclusive('\n') {
        match heading(line.trim_end()) {
            Some((address, _)) => functions.push((address, line.trim_end(), Vec::new())),
            None if line.starts_with([' ', '\t']) => {
                if let Some((_, _, below)) = functions.last_mut() {
                    below.push(line);
                }
            }
            // Something else follows, or a blank line.
            None => {}
        }
    }
    let mut lacks = Lacks::default();
    for (address, title, below) in functions {
        let function = draft.functions.entry(address.clone()).or_default();
        one(function, title, &below, &mut lacks).map_err(|why| format!("of {address} {why}"))?;
        if let Some(slot) = slot(&below) {
            let device = address.rsplit_once('.').map_or("", |(device, _)| device);
            draft.files.tell(&format!("/sys/bus/pci/slots/{slot}/address"), device)?;
        }
    }
    let hint = "sudo lspci -vvv -nn";
    let mut miss = |there: bool, what: &str, why: &str| {
        if there {
            draft.miss(what, "lspci", why, hint);
        }
    };
    let links = "the links of PCI functions, and what their packets carry";
    miss(lacks.denied, links, "lspci was not run as root");
    miss(!lacks.capabilities, links, "lspci was run without -vv");
    miss(lacks.bridges, "which bridge PCI functions lie below", "lspci was run without -v");
    miss(lacks.numbers, "the numbers of makers and devices", "lspci was run without -nn");
    Ok(())
}

fn one(
    function: &mut Function,
    title: &str,
    below: &[&str],
    lacks: &mut Lacks,
) -> Result<(), String> {
    let (_, rest) = heading(title).ok_or("its first line is cut")?;
    let (class, name) = rest.split_once(": ").ok_or("its first line is cut")?;
    let base = class::number(class).ok_or_else(|| format!("{class:?} is no class"))?;
    let interface = name.split_once("(prog-if ").and_then(|(_, rest)| rest.get(..2));
    let interface = interface.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match interface {
        Some(number) => {
            function.files.tell("class", format!("{:#08x}", base << 8 | number))?;
        }
        None => function.files.suppose("class", format!("{:#08x}", base << 8)),
    }
    let (ids, name) = numbers(name);
    match ids {
        Some((vendor, device)) => {
            function.files.tell("vendor", format!("{vendor:#06x}"))?;
            function.files.tell("device", format!("{device:#06x}"))?;
        }
        None => lacks.numbers = true,
    }
    if let Some(name) = name {
        put(&mut function.name, name, "the name")?;
    }
    let mut express = ExpressControl::default();
    let mut bridge = base != 0x0604;
    let mut once: BTreeMap<&str, &str> = BTreeMap::new();
    for line in below {
        let whole = line.ends_with('\n');
        if line.contains("MaxReadReq") {
            express.sizes(line);
        }
        let Some((key, value)) = lines::pair(line, ":") else { continue };
        lacks.denied |= key == "Capabilities" && value.contains("<access denied>");
        lacks.capabilities |= key == "Capabilities";
        // What is told of a function once and differs here is of another, whose first line is lost.
        let own = !line.starts_with("\t\t") && !line.starts_with("         ");
        let single = ["Control", "Flags", "Subsystem", "Kernel driver in use", "Region 0", "Bus"];
        if own && single.contains(&key) && once.insert(key, value).is_some_and(|it| it != value) {
            return Err(format!("it tells {key:?} twice: was the first line of another lost?"));
        }
        match key {
            "Subsystem" => subsystem(function, value)?,
            "NUMA node" if whole => function.files.tell("numa_node", node(value)?)?,
            "Kernel driver in use" => {
                // A driver's name may have blanks: `HDA Intel`.
                let plain = !value.is_empty() && value.len() < 100 && !value.contains(['/', '\0']);
                if plain && value != "." && value != ".." {
                    put(&mut function.driver, value.to_owned(), "the driver")?;
                }
            }
            "Bus" => {
                if let Some(bus) = secondary(value) {
                    put(&mut function.secondary, bus, "the bus below")?;
                    bridge = true;
                }
            }
            "LnkCap" => pace(function, "max", value, whole)?,
            "LnkSta" => pace(function, "current", value, whole)?,
            "LnkCtl" => express.states(value),
            _ => {}
        }
    }
    lacks.bridges |= !bridge;
    match express.config() {
        Some(bytes) => function.files.tell("config", bytes),
        None => Ok(()),
    }
}

/// Speed and width: `Port #0, Speed 8GT/s, Width x4, ASPM L1`, `Speed 2.5GT/s (downgraded), Width
/// x4 (ok)`. Of a line that is cut off the width may be too.
fn pace(function: &mut Function, which: &str, value: &str, whole: bool) -> Result<(), String> {
    let part = |word: &str| value.split(',').map(str::trim).find_map(|it| it.strip_prefix(word));
    let speed = part("Speed ").and_then(|it| Some(it.split_once("GT/s")?.0.trim()));
    let width = part("Width x").map(|it| it.split_whitespace().next().unwrap_or(""));
    let ended = whole
        || value
            .rsplit_once("Width x")
            .is_some_and(|(_, rest)| rest.contains(' ') || rest.contains(','));
    let Some((speed, width)) = speed.zip(width).filter(|_| ended) else { return Ok(()) };
    let numbers = speed.parse::<f64>().is_ok() && width.parse::<u32>().is_ok();
    if !numbers {
        return Ok(());
    }
    let speed = if speed.contains('.') { speed.to_owned() } else { format!("{speed}.0") };
    function.files.tell(&format!("{which}_link_speed"), format!("{speed} GT/s PCIe"))?;
    function.files.tell(&format!("{which}_link_width"), width)
}

/// Control registers of the PCI Express capability, from their decoded words.
#[derive(Default)]
struct ExpressControl {
    sizes: Option<(u32, u32)>,
    states: Option<(bool, bool)>,
}

impl ExpressControl {
    /// `ASPM L1 Enabled; RCB 64 bytes`.
    fn states(&mut self, value: &str) {
        let told = value.split(';').next().unwrap_or("");
        let told = told.strip_prefix("ASPM ").map(str::trim);
        self.states = match told {
            Some("Disabled") => Some((false, false)),
            Some("L0s Enabled") => Some((true, false)),
            Some("L1 Enabled") => Some((false, true)),
            Some("L0s L1 Enabled") => Some((true, true)),
            _ => self.states,
        };
    }

    /// `MaxPayload 256 bytes, MaxReadReq 512 bytes`.
    fn sizes(&mut self, line: &str) {
        let bytes = |word: &str| {
            let (_, rest) = line.split_once(word)?;
            rest.trim_start().split_once(" bytes")?.0.parse::<u32>().ok()
        };
        self.sizes = bytes("MaxPayload").zip(bytes("MaxReadReq")).or(self.sizes);
    }

    /// A configuration space that says the same.
    fn config(&self) -> Option<Vec<u8>> {
        let code = |bytes: u32| (0..=5u16).find(|code| 128_u32 << code == bytes);
        let (payload, request) = self.sizes?;
        let control = code(payload)? << 5 | code(request)? << 12;
        let states = self.states.map(|(l0s, l1)| u16::from(l0s) | u16::from(l1) << 1);
        Some(config::made(control, states))
    }
}

/// `Samsung Electronics Co Ltd NVMe SSD [144d:a808] (rev 01)`, or of `-n` `144d:a808 (rev 01)`.
fn numbers(text: &str) -> (Option<(u16, u16)>, Option<String>) {
    let text = text.split(" (rev ").next().unwrap_or(text);
    let text = text.split(" (prog-if ").next().unwrap_or(text).trim();
    let ids = |text: &str| {
        let (vendor, device) = text.split_once(':')?;
        let number =
            |digits: &str| is_hex(digits, 4..=4).then(|| u16::from_str_radix(digits, 16).ok())?;
        number(vendor).zip(number(device))
    };
    if let Some(both) = ids(text) {
        return (Some(both), None);
    }
    let inside = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    match inside.and_then(|(name, numbers)| Some((name.trim(), ids(numbers)?))) {
        Some((name, both)) => (Some(both), Some(name.to_owned()).filter(|it| !it.is_empty())),
        None => (None, Some(text.to_owned()).filter(|it| !it.is_empty())),
    }
}

fn subsystem(function: &mut Function, value: &str) -> Result<(), String> {
    if let (Some((vendor, device)), _) = numbers(value) {
        function.files.tell("subsystem_vendor", format!("{vendor:#06x}"))?;
        function.files.tell("subsystem_device", format!("{device:#06x}"))?;
    }
    Ok(())
}

fn node(value: &str) -> Result<String, String> {
    let node = value.parse::<u32>();
    node.map(|node| node.to_string()).map_err(|_| format!("its NUMA node is {value:?}"))
}

/// `primary=00, secondary=01, subordinate=01, sec-latency=0`.
fn secondary(value: &str) -> Option<u8> {
    let part = value.split(',').find_map(|part| part.trim().strip_prefix("secondary="))?;
    u8::from_str_radix(part.get(..2)?, 16).ok()
}

/// `Physical Slot: 3-1`.
fn slot(below: &[&str]) -> Option<String> {
    let value = below.iter().find_map(|line| {
        let (key, value) = lines::pair(line, ":")?;
        (key == "Physical Slot").then_some(value)
    })?;
    lines::name(value).ok().map(str::to_owned)
}
