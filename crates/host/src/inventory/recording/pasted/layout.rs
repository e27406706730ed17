//! Where in the tree the files of each device lie, so that its readers find it as they find those
//! of a machine.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::text::Node;
use super::disk::UNNAMED;
use super::draft::{Block, Draft, Function, Interface};
use super::source::{self, PastedSource};
use super::{file, lines};
use crate::inventory::identify::UNNUMBERED;
use crate::inventory::server::drive::smartctl;
use crate::inventory::server::{interface, pasted, pci};

/// Paths and what lies there, links before what lies behind them.
type Nodes = Vec<(String, Node)>;

/// Devices whose place no text tells.
const APART: &str = "/sys/devices/untold";
const SOFTWARE: &str = "/sys/devices/virtual";
/// Bridges above one another: more than there are buses is a circle.
const DEEPEST: usize = 32;

/// Everything that is told, as files.
///
/// # Errors
/// When what is told of one device contradicts what is told of another name of it.
pub fn nodes(mut draft: Draft, sources: &[PastedSource]) -> Result<Nodes, String> {
    one_drive_each(&mut draft)?;
    let places = places(&draft.functions);
    let mut misses = std::mem::take(&mut draft.misses);
    for pool in draft.pools.values().filter(|pool| pool.vdevs.is_empty()) {
        misses.push(facts::inventory::server::Unread {
            what: format!("the disks of the ZFS pool {}", pool.name),
            place: "zpool status".to_owned(),
            why: "none of the texts tells of them".to_owned(),
            hint: format!("add what this prints: zpool status -P {}", pool.name),
        });
    }
    if draft.blocks.values().any(|block| block.size.is_some_and(|(_, exact)| !exact)) {
        let [what, place, why, hint] = [
            "the exact sizes of disks",
            "lsblk, nvme list",
            "their tables round them",
            "lsblk -b, nvme list -o json",
        ]
        .map(str::to_owned);
        misses.push(facts::inventory::server::Unread { what, place, why, hint });
    }
    let mut nodes = Nodes::new();
    for (address, function) in draft.functions {
        put_function(&mut nodes, &address, function, &places);
    }
    let dirs = block_dirs(&draft.blocks, &places);
    for (at, (name, block)) in draft.blocks.into_iter().enumerate() {
        put_block(&mut nodes, &name, block, &dirs, at);
    }
    for (name, interface) in draft.interfaces {
        put_interface(&mut nodes, &name, interface, &places);
    }
    for (from, to) in draft.links {
        link(&mut nodes, from, &to);
    }
    for (path, text) in draft.files.into_files() {
        nodes.push((path, file(text)));
    }
    for (name, mut pool) in draft.pools {
        // What was pasted names disks as that machine did; they are looked for when it is read.
        if pool.place.is_empty() {
            pool.place = format!("what was pasted of {name}");
        }
        let json = serde_json::to_string(&pool).map_err(|error| error.to_string())?;
        nodes.push((crate::inventory::server::zfs::recorded_at(&name), file(json)));
    }
    let told = source::pasted(sources, misses, &draft.copied);
    let json = serde_json::to_string(&told).map_err(|error| error.to_string())?;
    nodes.push((pasted::PLACE.to_owned(), file(json)));
    nodes.sort_by_key(|(_, node)| !matches!(node, Node::Link(_)));
    Ok(nodes)
}

/// The name of an NVMe controller, `nvme0`, of the namespace `nvme0n1` on it.
fn controller_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("nvme")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let namespace = rest[digits..].strip_prefix('n')?;
    let whole = !namespace.is_empty() && namespace.bytes().all(|byte| byte.is_ascii_digit());
    (digits > 0 && whole).then(|| &name[.."nvme".len() + digits])
}

/// What smartctl says of `/dev/nvme0` is said of the namespaces on it, and of a disk without a name
/// of the one with the same serial number.
fn one_drive_each(draft: &mut Draft) -> Result<(), String> {
    let unnamed: Vec<String> =
        draft.blocks.keys().filter(|name| name.starts_with(UNNAMED)).cloned().collect();
    for name in unnamed {
        let serial = |block: &Block| block.files.get("device/serial").map(<[u8]>::to_vec);
        let Some(wanted) = draft.blocks.get(&name).and_then(serial) else { continue };
        let same = |(other, block): &(&String, &Block)| {
            !other.starts_with(UNNAMED) && serial(block).as_ref() == Some(&wanted)
        };
        let mut found = draft.blocks.iter().filter(same).map(|(other, _)| other.clone());
        let (Some(other), None) = (found.next(), found.next()) else { continue };
        let Some(block) = draft.blocks.remove(&name) else { continue };
        join(draft, &other, block)?;
        draft.misses.retain(|miss| !miss.what.starts_with("the name of a disk"));
    }
    let names: Vec<(String, String)> = draft
        .blocks
        .keys()
        .filter_map(|name| Some((name.clone(), controller_of(name)?.to_owned())))
        .filter(|(_, controller)| draft.blocks.contains_key(controller))
        .collect();
    for (name, controller) in &names {
        let Some(other) = draft.blocks.get(controller).cloned() else { continue };
        // A controller's capacity is not a namespace's.
        let size = other.size.filter(|_| names.len() == 1);
        join(draft, name, Block { size, ..other })?;
    }
    for (_, controller) in names {
        draft.blocks.remove(&controller);
    }
    Ok(())
}

/// Adds to a device what was told of it by another name.
fn join(draft: &mut Draft, name: &str, other: Block) -> Result<(), String> {
    let Some(block) = draft.blocks.get_mut(name) else { return Ok(()) };
    block.files.adopt(other.files);
    block.size = match (block.size, other.size) {
        (Some((bytes, false)), Some((more, true))) if bytes.abs_diff(more) < bytes / 16 => {
            Some((more, true))
        }
        (known, more) => known.or(more),
    };
    block.health.extend(other.health);
    block.said_by.extend(other.said_by);
    block.function = block.function.take().or(other.function);
    block.supposed = block.supposed.take().or(other.supposed);
    Ok(())
}

/// The directory of every function, below that of the bridge that leads to its bus.
fn places(functions: &BTreeMap<String, Function>) -> BTreeMap<String, String> {
    let mut bridges: BTreeMap<(&str, u8), &str> = BTreeMap::new();
    for (address, function) in functions {
        if let (Some(bus), Some((domain, own))) = (function.secondary, bus(address))
            && bus != own
            && bus != 0
        {
            bridges.entry((domain, bus)).or_insert(address);
        }
    }
    let place = |address: &String| {
        let mut chain = vec![address.as_str()];
        while let Some((domain, number)) = chain.last().and_then(|last| bus(last)) {
            let Some(bridge) = bridges.get(&(domain, number)) else { break };
            if chain.len() > DEEPEST || chain.contains(bridge) {
                break;
            }
            chain.push(bridge);
        }
        let (domain, root) = chain.last().and_then(|last| bus(last)).unwrap_or(("0000", 0));
        chain.reverse();
        let path = format!("/sys/devices/pci{domain}:{root:02x}/{}", chain.join("/"));
        (address.clone(), path)
    };
    functions.keys().map(place).collect()
}

/// Domain and bus of `0000:03:00.0`.
fn bus(address: &str) -> Option<(&str, u8)> {
    let (domain, rest) = address.split_once(':')?;
    Some((domain, u8::from_str_radix(rest.get(..2)?, 16).ok()?))
}

fn link(nodes: &mut Nodes, from: String, to: &str) {
    nodes.push((from, Node::Link(to.to_owned())));
}

fn put_function(
    nodes: &mut Nodes,
    address: &str,
    function: Function,
    places: &BTreeMap<String, String>,
) {
    let Some(place) = places.get(address) else { return };
    nodes.push((place.clone(), Node::Directory));
    link(nodes, format!("/sys/bus/pci/devices/{address}"), place);
    if let Some(driver) = function.driver {
        link(nodes, format!("{place}/driver"), &format!("/sys/bus/pci/drivers/{driver}"));
    }
    if let Some(name) = function.name {
        nodes.push((pci::named_at(address), file(name)));
    }
    for (name, text) in function.files.into_files() {
        nodes.push((format!("{place}/{name}"), file(text)));
    }
}

/// The directory of every block device.
fn block_dirs(
    blocks: &BTreeMap<String, Block>,
    places: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let whole = |(at, (name, block)): (usize, (&String, &Block))| {
        let hangs = block.function.as_ref().and_then(|address| places.get(address));
        let above = hangs.map_or(APART, String::as_str);
        let made = !block.below.is_empty() || ["md", "dm-"].iter().any(|it| name.starts_with(it));
        let transport = block.transport.as_deref().or(block.supposed.as_deref());
        let place = match (transport, controller_of(name)) {
            _ if made && ["md", "dm-"].iter().any(|it| name.starts_with(it)) => {
                format!("{SOFTWARE}/block/{name}")
            }
            _ if made => format!("{APART}/block/{name}"),
            (_, Some(controller)) => format!("{above}/nvme/{controller}/{name}"),
            (Some("sata"), _) => format!("{above}/ata{}/block/{name}", port(at)),
            (Some("sas"), _) => format!("{above}/end_device-untold/block/{name}"),
            (Some("usb"), _) => format!("{above}/usb/block/{name}"),
            (Some("fc"), _) => format!("{above}/rport-untold/block/{name}"),
            (Some("iscsi"), _) => format!("{above}/session-untold/block/{name}"),
            (Some("virtio"), _) => format!("{above}/virtio/block/{name}"),
            (Some("nvme"), _) => format!("{above}/nvme-untold/block/{name}"),
            (Some("spi"), _) => format!("/sys/devices/pasted/block/{name}"),
            _ => format!("{above}/untold/block/{name}"),
        };
        (name.clone(), place)
    };
    let mut dirs: BTreeMap<String, String> = blocks.iter().enumerate().map(whole).collect();
    for (name, block) in blocks {
        let parent = block.parent.as_ref().filter(|parent| *parent != name);
        if let Some(above) = parent.and_then(|parent| dirs.get(parent)).cloned() {
            // A partition of a partition is none.
            if parent.is_some_and(|parent| blocks[parent].parent.is_none()) {
                dirs.insert(name.clone(), format!("{above}/{name}"));
            }
        }
    }
    dirs
}

/// A number that no port of a machine has.
fn port(at: usize) -> u32 {
    u32::try_from(at).map_or(u32::MAX, |at| UNNUMBERED.saturating_add(at))
}

fn put_block(
    nodes: &mut Nodes,
    name: &str,
    block: Block,
    dirs: &BTreeMap<String, String>,
    at: usize,
) {
    let Some(dir) = dirs.get(name) else { return };
    nodes.push((dir.clone(), Node::Directory));
    link(nodes, format!("/sys/class/block/{name}"), dir);
    if block.parent.is_none() {
        link(nodes, format!("/sys/block/{name}"), dir);
    }
    let controller = controller_of(name).filter(|_| block.function.is_some());
    if let (Some(_), Some((above, _))) = (controller, dir.rsplit_once('/')) {
        link(nodes, format!("{dir}/device"), above);
    }
    if let Some((bytes, _)) = block.size {
        nodes.push((format!("{dir}/size"), file((bytes / 512).to_string())));
    }
    for below in &block.below {
        nodes.push((format!("{dir}/slaves/{below}"), Node::Directory));
    }
    for (file_name, text) in block.files.into_files() {
        let path = match file_name.as_str() {
            "sata_spd" => format!("/sys/class/ata_link/link{}/sata_spd", port(at)),
            "identify" => format!("/sys/class/ata_device/dev{}.0/id", port(at)),
            other => format!("{dir}/{other}"),
        };
        nodes.push((path, file(text)));
    }
    if !block.health.is_empty() {
        let mut health = block.health;
        let said_by: Vec<String> = block.said_by.into_iter().collect();
        health.insert(smartctl::SAID_BY.to_owned(), Value::from(said_by.join(", ")));
        nodes.push((smartctl::file(name), file(Value::Object(health).to_string())));
    }
}

fn put_interface(
    nodes: &mut Nodes,
    name: &str,
    interface: Interface,
    places: &BTreeMap<String, String>,
) {
    let function = interface.function.as_ref().and_then(|address| places.get(address));
    let dir = match function {
        Some(place) => format!("{place}/net/{name}"),
        None if interface.software => format!("{SOFTWARE}/net/{name}"),
        None => format!("{APART}/net/{name}"),
    };
    nodes.push((dir.clone(), Node::Directory));
    link(nodes, format!("/sys/class/net/{name}"), &dir);
    match (function, &interface.function) {
        (Some(place), _) => link(nodes, format!("{dir}/device"), place),
        // Its function is in no text of lspci: the link still says where it is.
        (None, Some(address)) if lines::name(address).is_ok() => {
            link(nodes, format!("{dir}/device"), &format!("{APART}/{address}"));
            nodes.push((format!("{APART}/{address}"), Node::Directory));
        }
        _ => {}
    }
    let driven = interface.answer.contains_key("driver");
    let card = interface.hardware && interface.files.get("type").is_some();
    let kind = interface.kind.as_deref().or((!card && !driven).then_some("unknown"));
    if let Some(kind) = kind {
        nodes.push((format!("{dir}/uevent"), file(format!("DEVTYPE={kind}\n"))));
    }
    for below in &interface.below {
        nodes.push((format!("{dir}/lower_{below}"), Node::Directory));
    }
    for (file_name, text) in interface.files.into_files() {
        nodes.push((format!("{dir}/{file_name}"), file(text)));
    }
    if !interface.answer.is_empty() {
        let json = Value::Object(interface.answer).to_string();
        nodes.push((interface::recorded_at(name), file(json)));
    }
}
