//! Arrays and file systems: the disks below them, and the paths that they lie on.

use serde::Serialize;

use super::grow::Grown;
use facts::inventory::server::Server;

/// An array or a file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stack {
    /// `array` or `filesystem`.
    pub kind: &'static str,
    /// The kernel's name or UUID; the mount point.
    pub name: String,
    /// Kernel names of the disks at the bottom, as far as they have paths.
    pub disks: Vec<String>,
    /// Places of their paths in [`super::Paths::paths`].
    pub paths: Vec<usize>,
    /// What these disks can deliver together at most, bytes per second; no array reads faster.
    pub bytes_per_s: Option<f64>,
    /// The parts that hold it there.
    pub bound_by: Vec<String>,
}

/// Those of a server.
pub fn stacks(server: &Server, grown: &Grown) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = Vec::new();
    for array in &server.arrays {
        stacks.extend(stack(grown, "array", &array.name, &array.disks));
    }
    for filesystem in &server.filesystems {
        let disks = bottoms(server, &filesystem.on);
        stacks.extend(stack(grown, "filesystem", &filesystem.mount_point, &disks));
    }
    stacks
}

/// Kernel names of what lies at the bottom of `on`, each once.
pub fn bottoms(server: &Server, on: &[String]) -> Vec<String> {
    let (mut next, mut seen, mut found) = (on.to_vec(), Vec::new(), Vec::new());
    while let Some(name) = next.pop() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name.clone());
        let device = server.devices.iter().find(|device| device.name == name);
        let backing = device.and_then(|device| device.backing.as_ref());
        let below = device.map_or(&[][..], |device| &device.below);
        let below: Vec<&String> =
            below.iter().chain(backing.iter().flat_map(|backing| &backing.devices)).collect();
        if below.is_empty() {
            found.push(name);
        }
        next.extend(below.into_iter().cloned());
    }
    found.sort();
    found
}

fn stack(grown: &Grown, kind: &'static str, name: &str, disks: &[String]) -> Option<Stack> {
    let (mut leaves, mut paths, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (place, group) in grown.groups.iter().enumerate().filter(|(_, group)| !group.network) {
        for (disk, leaf) in group.leaves.iter().filter(|(disk, _)| disks.contains(disk)) {
            leaves.push(*leaf);
            found.push(disk.clone());
            if paths.last() != Some(&place) {
                paths.push(place);
            }
        }
    }
    if leaves.is_empty() {
        return None;
    }
    // With a disk whose way is not known, nothing bounds the sum.
    let flow = grown.tree.flow(&leaves);
    let whole = found.len() == disks.len();
    let names = flow.bound_by.iter().map(|place| grown.tree.node(*place).name.clone());
    Some(Stack {
        kind,
        name: name.to_owned(),
        disks: found,
        paths,
        bytes_per_s: flow.bytes_per_s.filter(|_| whole),
        bound_by: if whole { names.collect() } else { Vec::new() },
    })
}
