//! The ways that data takes through a server, and the narrowest part of each: the speed of light of
//! this server, before any disk is read.
//!
//! From disks and from network ports to memory: their links, the controller's link, every bridge
//! above it. Each capacity is a bound that no software can exceed; what is not known bounds nothing
//! and is said to be unknown. What a disk itself can do is left to measuring.

use std::collections::BTreeSet;

use serde::Serialize;

use base::value;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::{Server, unread};

mod grow;
mod link;
mod pci;
mod stack;
#[cfg(test)]
mod tests;
mod tree;

pub use stack::Stack;

use grow::{ControllerGroup, Grown};
use tree::{Flow, Node, Tree};

/// All ways of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Paths {
    /// Those of disks, then those of network ports; in order of the controllers' addresses.
    pub paths: Vec<DataPath>,
    /// Arrays and file systems, with the paths that they lie on.
    pub stacks: Vec<Stack>,
    /// All disks together.
    pub disks: Total,
    /// All network ports together.
    pub network: Total,
    /// What it comes to, in sentences.
    pub summary: Vec<String>,
}

/// The way between memory and the disks or ports that share a controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataPath {
    /// `storage` or `network`.
    pub kind: &'static str,
    /// `6 disks on PERC 6/i (0000:03:00.0)`.
    pub name: String,
    /// Kernel names of the disks or ports.
    pub ends: Vec<String>,
    /// Addresses of the PCI functions that they hang on.
    pub controllers: Vec<String>,
    /// From the disks or ports to memory.
    pub parts: Vec<PathPart>,
    /// Place of the narrowest in `parts`; `None` when the capacity of none is known.
    pub narrowest: Option<usize>,
    /// Whether every part's capacity is known, so that `narrowest` is the narrowest of all.
    pub complete: bool,
}

/// One part of a way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathPart {
    /// What it is: `links of 6 disks`, `PCIe link of 0000:03:00.0`, `memory`.
    pub name: String,
    /// `disks`, `ports`, `links`, `pcie`, `memory`.
    pub kind: &'static str,
    /// What is left for data, bytes per second in each direction; `None` when it is not known.
    pub bytes_per_s: Option<f64>,
    /// What encoding alone leaves, bytes per second in each direction: what makers print.
    pub encoded_bytes_per_s: Option<f64>,
    /// How the capacity was come by, or why it is not known.
    pub derivation: String,
    /// Whether something in it was assumed rather than read.
    pub assumed: bool,
    /// Names of the other ways that pass it too.
    pub shared_with: Vec<String>,
}

/// What all disks, or all ports, can move together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// How many.
    pub ends: usize,
    /// At most this, bytes per second in one direction; `None` when it is not known.
    pub bytes_per_s: Option<f64>,
    /// The parts that hold it there.
    pub bound_by: Vec<String>,
}

/// Finds them; `bandwidth` is what was measured of memory, if it was.
pub fn paths(server: &Server, bandwidth: Option<&Bandwidth>) -> Paths {
    let grown = grow::grow(server, bandwidth);
    let mut paths: Vec<DataPath> =
        grown.groups.iter().map(|group| path(&grown.tree, group)).collect();
    share(&grown, &mut paths);
    let leaves = |network: bool| -> Vec<usize> {
        let of = grown.groups.iter().filter(|group| group.network == network);
        of.flat_map(|group| group.leaves.iter().map(|(_, place)| *place)).collect()
    };
    let disks = total(&grown.tree, &leaves(false));
    let up = connected(server, &grown);
    let network = total(&grown.tree, if up.is_empty() { leaves(true) } else { up }.as_slice());
    let stacks = stack::stacks(server, &grown);
    let untold = |what: &str| server.unread.iter().any(|unread| unread.what == what);
    let untold = [untold(unread::DISKS), untold(unread::INTERFACES)];
    let summary = summary(&disks, &network, leaves(true).len(), untold);
    Paths { paths, stacks, disks, network, summary }
}

/// Ports with a link; none when no port has one.
fn connected(server: &Server, grown: &Grown) -> Vec<usize> {
    let is_up = |name: &str| {
        let port = server.interfaces.iter().find(|port| port.name == name);
        port.is_some_and(|port| port.state.as_deref() == Some("up"))
    };
    let ports = grown.groups.iter().filter(|group| group.network);
    let leaves = ports.flat_map(|group| &group.leaves);
    leaves.filter(|(name, _)| is_up(name)).map(|(_, place)| *place).collect()
}

fn total(tree: &Tree, leaves: &[usize]) -> Total {
    let Flow { bytes_per_s, bound_by } = tree.flow(leaves);
    let bound_by = bound_by.iter().map(|place| tree.node(*place).name.clone()).collect();
    Total { ends: leaves.len(), bytes_per_s, bound_by }
}

fn path(tree: &Tree, group: &ControllerGroup) -> DataPath {
    let mut parts = Vec::new();
    let kind = if group.network { "network" } else { "storage" };
    let deepest = group.hops.iter().map(Vec::len).max().unwrap_or(0);
    let places: Vec<usize> = group.leaves.iter().map(|(_, place)| *place).collect();
    let many = count(places.len(), if group.network { "port" } else { "disk" });
    if group.network {
        parts.push(together(tree, "ports", &many, &places));
    } else if deepest == 0 {
        // An NVMe drive is its own controller: what it has of links is the PCI function's.
        let unknown = places.iter().find(|place| !tree.node(**place).unknown.is_empty());
        parts.extend(unknown.map(|place| single("disks", &many, tree.node(*place))));
    } else {
        let last = |hops: &Vec<usize>, leaf: usize| hops.last().copied().unwrap_or(leaf);
        let ends = group.hops.iter().zip(&places).map(|(hops, leaf)| last(hops, *leaf));
        parts.push(together(tree, "disks", &format!("links of {many}"), &once(ends)));
        for level in (0..deepest - 1).rev() {
            let at = |hops: &Vec<usize>| hops.get(level).or(hops.last()).copied();
            let links = once(group.hops.iter().filter_map(at));
            let name = match &links[..] {
                [only] => tree.node(*only).name.clone(),
                all => format!("{} links towards the controller", all.len()),
            };
            parts.push(together(tree, "links", &name, &links));
        }
    }
    for place in &group.trunk {
        let node = tree.node(*place);
        let kind = if node.kind == tree::NodeKind::Memory { "memory" } else { "pcie" };
        parts.push(single(kind, &node.name, node));
    }
    let known = parts.iter().enumerate().filter_map(|(n, part)| Some((n, part.bytes_per_s?)));
    let narrowest = known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place);
    let complete = parts.iter().all(|part| part.bytes_per_s.is_some());
    let ends: Vec<String> = group.leaves.iter().map(|(name, _)| name.clone()).collect();
    let name = named(group, &ends, &many);
    DataPath {
        kind,
        name,
        ends,
        controllers: group.controllers.clone(),
        parts,
        narrowest,
        complete,
    }
}

/// `sda on ASM1062 (0000:02:00.0)`, `6 disks on PERC 6/i (0000:03:00.0)`.
fn named(group: &ControllerGroup, ends: &[String], many: &str) -> String {
    let who = match ends {
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        _ => many.to_owned(),
    };
    match (group.controllers.first(), group.controller.as_str()) {
        (None, _) => format!("{who}, on a controller that is not known"),
        (Some(address), "") => format!("{who} on {address}"),
        (Some(address), name) => format!("{who} on {name} ({address})"),
    }
}

fn single(kind: &'static str, name: &str, node: &Node) -> PathPart {
    let held = node.capacity.as_ref();
    PathPart {
        name: name.to_owned(),
        kind,
        bytes_per_s: held.map(|capacity| capacity.bytes_per_s),
        encoded_bytes_per_s: held.map(|capacity| capacity.encoded_bytes_per_s),
        derivation: held.map_or(node.unknown.clone(), |capacity| capacity.derivation.clone()),
        assumed: held.is_some_and(|capacity| capacity.assumed),
        shared_with: Vec::new(),
    }
}

/// Several side by side: their sum, when every one is known.
fn together(tree: &Tree, kind: &'static str, name: &str, places: &[usize]) -> PathPart {
    if let [only] = places {
        return single(kind, name, tree.node(*only));
    }
    let nodes = || places.iter().map(|place| tree.node(*place));
    let unknown: Vec<&Node> = nodes().filter(|node| node.capacity.is_none()).collect();
    let name = name.to_owned();
    if let Some(first) = unknown.first() {
        let derivation =
            format!("of {} of {} it is not known: {}", unknown.len(), places.len(), first.unknown);
        return PathPart { name, kind, derivation, ..PathPart::default() };
    }
    let known = || nodes().filter_map(|node| node.capacity.as_ref());
    let ways: BTreeSet<&str> = known().map(|capacity| capacity.derivation.as_str()).collect();
    let each = known().next().map_or("", |capacity| capacity.derivation.as_str());
    let derivation = match ways.len() {
        1 => format!("{} x ({each})", places.len()),
        _ => format!("the sum of {}, such as {each}", places.len()),
    };
    PathPart {
        name,
        kind,
        bytes_per_s: Some(known().map(|capacity| capacity.bytes_per_s).sum()),
        encoded_bytes_per_s: Some(known().map(|capacity| capacity.encoded_bytes_per_s).sum()),
        derivation,
        assumed: known().any(|capacity| capacity.assumed),
        shared_with: Vec::new(),
    }
}

/// Says of each PCI Express link which other ways pass it too.
fn share(grown: &Grown, paths: &mut [DataPath]) {
    let names: Vec<String> = paths.iter().map(|path| path.name.clone()).collect();
    for (place, group) in grown.groups.iter().enumerate() {
        let others = |node: usize| -> Vec<String> {
            let all = grown.groups.iter().enumerate();
            let passing = all.filter(|(other, _)| *other != place);
            let passing = passing.filter(|(_, other)| other.trunk.contains(&node));
            passing.map(|(other, _)| names[other].clone()).collect()
        };
        let parts = paths[place].parts.iter_mut().filter(|part| part.kind == "pcie");
        for (part, node) in parts.zip(&group.trunk) {
            part.shared_with = others(*node);
        }
    }
}

/// The ways in a few sentences; `untold` says of disks and of ports whether nothing tells of them.
fn summary(disks: &Total, network: &Total, ports: usize, untold: [bool; 2]) -> Vec<String> {
    let mut lines = Vec::new();
    let held = |total: &Total| match &total.bound_by[..] {
        [] => String::new(),
        [one] => format!(", held by the {one}"),
        [first, rest @ ..] => format!(", held by {first} and {} more", rest.len()),
    };
    let of = |total: &Total, who: &str, what: &str, untold: bool| match total.bytes_per_s {
        _ if total.ends == 0 && untold => format!("Which {who}s it has is not known."),
        _ if total.ends == 0 => format!("No {who} was found."),
        Some(rate) => format!(
            "{} {what} at most {}{}.",
            all(total.ends, who),
            value::throughput_short(rate),
            held(total)
        ),
        None => format!("What {} can move is not known.", all(total.ends, who).to_lowercase()),
    };
    lines.push(of(disks, "disk", "can deliver", untold[0]));
    let down = match ports.saturating_sub(network.ends) {
        0 => String::new(),
        some => format!(" (without {} that {} down)", count(some, "port"), are(some)),
    };
    let taken = of(network, "network port", "can take", untold[1]);
    lines.push(format!("{}{down}.", taken.trim_end_matches('.')));
    let same = !disks.bound_by.is_empty() && disks.bound_by == network.bound_by;
    let binds = match (disks.bytes_per_s, network.bytes_per_s) {
        // What holds both is neither the disks' side nor the network's.
        (Some(one), Some(other)) if same => format!(
            "From disk to network no more than {} can pass{}; what else binds is not known.",
            value::throughput_short(one.min(other)),
            held(disks)
        ),
        (Some(disks), Some(network)) if disks < network => {
            format!(
                "From disk to network the disks' side binds: {}.",
                value::throughput_short(disks)
            )
        }
        (Some(_), Some(network)) => {
            format!("From disk to network the network binds: {}.", value::throughput_short(network))
        }
        _ if disks.ends == 0 || network.ends == 0 => return lines,
        (Some(disks), None) => format!(
            "From disk to network no more than {} can pass; what the network takes is not known.",
            value::throughput_short(disks)
        ),
        (None, Some(network)) => format!(
            "From disk to network no more than {} can pass; what the disks deliver is not known.",
            value::throughput_short(network)
        ),
        (None, None) => "Which of both binds from disk to network is not known.".to_owned(),
    };
    lines.push(binds);
    lines
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// `The disk`, `All 6 disks together`.
fn all(number: usize, who: &str) -> String {
    match number {
        1 => format!("The {who}"),
        many => format!("All {many} {who}s together"),
    }
}

/// Each once, in order.
fn once(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for place in places {
        if !kept.contains(&place) {
            kept.push(place);
        }
    }
    kept
}
