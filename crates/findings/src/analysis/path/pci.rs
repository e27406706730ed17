//! From a PCI function up to the root: every link that its data passes.

use super::tree::{Node, NodeKind};
use facts::inventory::ceiling;
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Function, Server};

/// No tree is as deep (256 buses, two bridges for each); a malformed one may run in a circle.
const DEEPEST: usize = 64;

/// The function at an address.
pub fn find<'a>(server: &'a Server, address: &str) -> Option<&'a Function> {
    server.pci.iter().find(|function| function.address == address)
}

/// What people call the function at an address: its name, else its kind.
pub fn name<'a>(server: &'a Server, address: &str) -> &'a str {
    let Some(function) = find(server, address) else { return "" };
    function.name.as_deref().unwrap_or(&function.kind)
}

/// The links from the function up to the root, its own first. Both ends of a link show it: a
/// device and the port above it have one between them, and a switch has one of its own towards the
/// port above it.
pub fn climb(server: &Server, address: &str) -> Vec<Node> {
    let mut links = Vec::new();
    let mut next = find(server, address);
    for _ in 0..DEEPEST {
        let Some(function) = next else { break };
        let far = function.parent.as_deref().and_then(|parent| find(server, parent));
        let pace = |function: &Function| function.link.and_then(|link| link.current);
        // A virtual function shows no link; it shares that of the port above.
        let shown = pace(function).or_else(|| pace(far?));
        match shown {
            Some(pace) => {
                links.push(link(function, far, pace, links.is_empty()));
                next = far.and_then(|far| find(server, far.parent.as_deref()?));
            }
            None => {
                if links.is_empty() {
                    links.push(without(function));
                }
                next = far;
            }
        }
    }
    links
}

fn link(function: &Function, far: Option<&Function>, pace: Pace, own: bool) -> Node {
    let capacity = ceiling::pcie(pace, function.payload_bytes);
    let unknown = match &capacity {
        Some(_) => String::new(),
        None => format!("no generation runs at {} GT/s x{}", pace.gt_per_s, pace.lanes),
    };
    // All functions below one port share its link.
    let port = far.filter(|far| far.link.is_some()).unwrap_or(function);
    let slot = function.slot.as_ref().or_else(|| far?.slot.as_ref());
    let slot = slot.map_or(String::new(), |slot| format!(", slot {slot}"));
    let at = &function.address;
    let name = match own {
        true => format!("PCIe link of {at}{slot}"),
        false => format!("PCIe link of the bridge {at}{slot}"),
    };
    let id = format!("pci:{}", port.address);
    Node { id, name, kind: NodeKind::Pci, above: None, capacity, unknown }
}

/// What has no link of its own: inside the chipset, on a bus of old, or virtual.
fn without(function: &Function) -> Node {
    let at = &function.address;
    let unknown = match function.vendor {
        // Red Hat's, for virtio (Virtual I/O Device 1.2, 4.1.2); VMware's; Xen's; Microsoft's.
        0x1af4 | 0x15ad | 0x5853 | 0x1414 => "a virtual device: it has no link",
        _ => "no PCI Express link of it is told; chipset parts and virtual devices have none",
    };
    let (id, name) = (format!("pci:{at}"), format!("PCI function {at}"));
    let unknown = unknown.to_owned();
    Node { id, name, kind: NodeKind::Pci, above: None, capacity: None, unknown }
}
