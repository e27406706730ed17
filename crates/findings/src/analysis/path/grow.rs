//! Grows the tree of all that data passes from the inventory of a server.

use super::tree::{Node, NodeKind, Tree};
use super::{link, pci};
use base::value;
use facts::bandwidth::Bandwidth;
use facts::inventory::ceiling::Capacity;
use facts::inventory::server::{Drive, Interface, Server};

/// A triad counts three words for two that are read; what is further above reading than this is a
/// measurement that was disturbed.
const APART: f64 = 2.0;

/// Disks or ports that reach memory through the same controller.
#[derive(Clone, Debug)]
pub struct ControllerGroup {
    /// Whether these are network ports.
    pub network: bool,
    /// Addresses of the PCI functions that they hang on, each once.
    pub controllers: Vec<String>,
    /// What the controller is called.
    pub controller: String,
    /// Kernel names, and their places in the tree.
    pub leaves: Vec<(String, usize)>,
    /// Of each leaf, its links to the controller, from the controller's side.
    pub hops: Vec<Vec<usize>>,
    /// From the controller's own link up to memory.
    pub trunk: Vec<usize>,
}

/// The tree and its leaves by the controllers that they share.
#[derive(Clone, Debug, Default)]
pub struct Grown {
    /// All parts.
    pub tree: Tree,
    /// Disks first, then ports; in order of the controllers' addresses.
    pub groups: Vec<ControllerGroup>,
}

/// Grows it.
pub fn grow(server: &Server, bandwidth: Option<&Bandwidth>) -> Grown {
    let mut grown = Grown::default();
    let mut drives: Vec<&Drive> =
        server.drives.iter().filter(|drive| is_disk(server, drive)).collect();
    drives
        .sort_by(|a, b| (&a.controller, natural(&a.name)).cmp(&(&b.controller, natural(&b.name))));
    for drive in drives {
        let trunk = trunk(&mut grown.tree, server, bandwidth, drive.controller.as_deref());
        let (leaf, hops) = disk(&mut grown.tree, server, drive, trunk.first().copied());
        grown.join(server, false, drive.controller.as_deref(), (&drive.name, leaf), hops, trunk);
    }
    let mut ports: Vec<&Interface> =
        server.interfaces.iter().filter(|port| port.controller.is_some()).collect();
    ports.sort_by(|a, b| (&a.controller, natural(&a.name)).cmp(&(&b.controller, natural(&b.name))));
    for port in ports {
        let trunk = trunk(&mut grown.tree, server, bandwidth, port.controller.as_deref());
        let leaf = grown.tree.add(interface(port, trunk.first().copied()));
        let of = port.controller.as_deref();
        grown.join(server, true, of, (&port.name, leaf), Vec::new(), trunk);
    }
    grown
}

impl Grown {
    fn join(
        &mut self,
        server: &Server,
        network: bool,
        controller: Option<&str>,
        leaf: (&str, usize),
        hops: Vec<usize>,
        trunk: Vec<usize>,
    ) {
        let leaf = (leaf.0.to_owned(), leaf.1);
        let address = controller.map(str::to_owned);
        let same = |group: &&mut ControllerGroup| group.network == network && group.trunk == trunk;
        if let Some(group) = self.groups.iter_mut().find(same) {
            group.leaves.push(leaf);
            group.hops.push(hops);
            group.controllers.extend(address.filter(|one| !group.controllers.contains(one)));
            return;
        }
        let name = controller.map_or("", |address| pci::name(server, address));
        self.groups.push(ControllerGroup {
            network,
            controllers: address.into_iter().collect(),
            controller: name.to_owned(),
            leaves: vec![leaf],
            hops: vec![hops],
            trunk,
        });
    }
}

/// Whether it is a disk of this machine that data is kept on: no reader of optical discs, no
/// memory, nothing that another machine serves.
fn is_disk(server: &Server, drive: &Drive) -> bool {
    const OTHERS: [&str; 7] = ["sr", "fd", "ram", "zram", "loop", "nbd", "mtdblock"];
    let stem = drive.name.trim_end_matches(|c: char| c.is_ascii_digit());
    let device = server.devices.iter().find(|device| device.name == drive.name);
    !OTHERS.contains(&stem) && !device.is_some_and(|device| device.over_a_wire())
}

/// A disk with its links; gives its place, and those of the links from the controller's side.
fn disk(
    tree: &mut Tree,
    server: &Server,
    drive: &Drive,
    controller: Option<usize>,
) -> (usize, Vec<usize>) {
    let transport = server.devices.iter().find(|device| device.name == drive.name);
    let transport = transport.map_or("", |device| device.transport.as_str());
    let (mut above, mut places) = (controller, Vec::new());
    for hop in &drive.links {
        let (capacity, unknown) = match link::hop(hop, transport) {
            Some(capacity) => (Some(capacity), String::new()),
            None => (None, format!("no rate was read for {}", hop.name)),
        };
        // Only what is really shared may count once: without an identity nothing is.
        let id = match hop.id.is_empty() {
            true => format!("hop:{}:{}", drive.name, places.len()),
            false => format!("hop:{}", hop.id),
        };
        let name = hop.name.clone();
        let place = tree.add(Node { id, name, kind: NodeKind::Hop, above, capacity, unknown });
        above = Some(place);
        places.push(place);
    }
    let unknown = match (places.is_empty(), transport) {
        (false, _) | (_, "nvme") => String::new(),
        (_, "virtio" | "xen") => "a virtual disk: what serves it is the hypervisor's".to_owned(),
        (_, "") => "how it is attached is not known".to_owned(),
        (_, other) => format!("the rate of its link ({other}) was not read"),
    };
    let (id, name) = (format!("disk:{}", drive.name), drive.name.clone());
    let leaf = tree.add(Node { id, name, kind: NodeKind::Disk, above, capacity: None, unknown });
    (leaf, places)
}

fn interface(port: &Interface, above: Option<usize>) -> Node {
    let capacity = link::port(port);
    let unknown = match &capacity {
        Some(_) => String::new(),
        None => format!("{} tells no speed", port.name),
    };
    let (id, name) = (format!("port:{}", port.name), port.name.clone());
    Node { id, name, kind: NodeKind::Port, above, capacity, unknown }
}

/// From the controller's own link up to the memory of its node, as places in the tree.
fn trunk(
    tree: &mut Tree,
    server: &Server,
    bandwidth: Option<&Bandwidth>,
    controller: Option<&str>,
) -> Vec<usize> {
    let links = controller.map_or_else(Vec::new, |address| pci::climb(server, address));
    let node = controller.and_then(|address| pci::find(server, address)?.numa_node);
    let mut above = Some(tree.add(memory(server, bandwidth, node)));
    let mut places: Vec<usize> = above.into_iter().collect();
    for link in links.into_iter().rev() {
        let place = tree.add(Node { above, ..link });
        above = Some(place);
        places.push(place);
    }
    places.reverse();
    places
}

fn memory(server: &Server, bandwidth: Option<&Bandwidth>, node: Option<u32>) -> Node {
    let many = server.processors.nodes.len() > 1;
    // With one node there is no doubt.
    let node = node.or_else(|| match &server.processors.nodes[..] {
        [] => Some(0),
        [only] => Some(only.number),
        _ => None,
    });
    let (id, name) = match node {
        Some(number) if many => (format!("memory:{number}"), format!("memory of node {number}")),
        Some(number) => (format!("memory:{number}"), "memory".to_owned()),
        None => ("memory:?".to_owned(), "memory".to_owned()),
    };
    let mut apart = None;
    let measured = bandwidth.zip(node).and_then(|(bandwidth, number)| {
        let node = bandwidth.nodes.iter().find(|node| node.node == number)?;
        // Each was reached, so memory can do at least the most of them: others may have disturbed
        // one and not the other.
        let rates = [
            ("read", node.read_bytes_per_s),
            ("triad", node.triad_bytes_per_s),
            ("a copy", bandwidth.copy_bytes_per_s),
        ];
        let known = rates.iter().filter_map(|(name, rate)| Some((*name, (*rate)?)));
        let (how, most) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        // Whatever else is done with memory is read from it first: what was measured of it speaks
        // against what would be its limit.
        if let Some(read) = node.read_bytes_per_s.filter(|read| most > APART * read) {
            let (most, read) = (value::throughput_short(most), value::throughput_short(read));
            apart = Some(format!("measured: {how} has {most} and reading {read}, which disagree"));
            return None;
        }
        let threads = match node.threads {
            1 => "1 thread".to_owned(),
            _ if how == "a copy" => "1 thread".to_owned(),
            many => format!("{many} threads"),
        };
        let derivation = format!("measured: {how} by {threads}, {}", value::throughput_short(most));
        let (encoded_bytes_per_s, bytes_per_s) = (most, most);
        Some(Capacity { encoded_bytes_per_s, bytes_per_s, derivation, assumed: false })
    });
    let unknown = match (&measured, node) {
        (Some(_), _) => String::new(),
        (_, None) => "the firmware does not say which node the controller is at".to_owned(),
        _ => apart.unwrap_or_else(|| "not measured".to_owned()),
    };
    Node { id, name, kind: NodeKind::Memory, above: None, capacity: measured, unknown }
}

/// A name in parts, so that `sda10` stands behind `sda9`, and `sdaa` behind `sdz`.
fn natural(name: &str) -> (usize, String, u64) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len(), stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}
