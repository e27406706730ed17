//! (pure) The layers below a file system that keep on one device what another holds, and what was
//! read of them.
//!
//! What came from their caches in a trial is judged by `measurement`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::device::Device;

/// What was read of a layer that keeps on one device what another holds, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerReads {
    /// Of the layer itself.
    pub given_bytes: Option<u64>,
    /// Of the devices that keep.
    pub cache_bytes: Option<u64>,
    /// Of the devices that hold everything.
    pub origin_bytes: Option<u64>,
}

/// A layer on the way down to the hardware that keeps on one device what another holds, and what
/// was read there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CachingLayer {
    /// The kernel's name, such as `bcache0`.
    pub name: String,
    /// What it is: `bcache`, `dm-cache`, ...
    pub by: String,
    /// The devices that keep.
    pub cache: Vec<String>,
    /// The devices that hold everything.
    pub origin: Vec<String>,
    /// The next such layer above, where this one lies below the origin of another.
    pub above: Option<String>,
    /// What was read of it.
    pub reads: LayerReads,
}

/// The layers below `on` that keep on one device what another holds, each once, upper before lower.
/// What lies below the cache of one is not looked at: it serves what that gave.
pub fn caching_layers(devices: &[Device], on: &[String]) -> Vec<CachingLayer> {
    let mut layers = Vec::new();
    let mut seen: Vec<&String> = Vec::new();
    let mut next: VecDeque<(&String, Option<&String>)> = on.iter().map(|on| (on, None)).collect();
    while let Some((name, above)) = next.pop_front() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let Some(device) = devices.iter().find(|device| device.name == *name) else { continue };
        let backing = device.backing.iter().flat_map(|backing| &backing.devices);
        next.extend(backing.map(|name| (name, above)));
        let Some(caching) = &device.caching else {
            next.extend(device.below.iter().map(|name| (name, above)));
            continue;
        };
        let origin = caching.origin(&device.below);
        let held = device.below.iter().filter(|name| origin.contains(name));
        next.extend(held.map(|below| (below, Some(name))));
        layers.push(CachingLayer {
            name: name.clone(),
            by: caching.by.clone(),
            cache: caching.cache.clone(),
            origin,
            above: above.cloned(),
            reads: LayerReads::default(),
        });
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Caching, DeviceKind};

    fn stacked(name: &str, below: &[&str], cache: &[&str], records: &[&str]) -> Device {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut device = Device::bare(name, DeviceKind::Stacked);
        device.below = words(below);
        device.caching = (!cache.is_empty()).then(|| Caching {
            by: "dm-cache".into(),
            mode: Some("writeback".into()),
            cache: words(cache),
            records: words(records),
        });
        device
    }

    #[test]
    fn each_layer_tells_its_cache_from_what_holds_everything() {
        let all = [
            stacked("md0", &["dm-3", "bcache0"], &[], &[]),
            stacked("dm-3", &["dm-0", "dm-1", "dm-2"], &["dm-0"], &["dm-1"]),
            stacked("dm-2", &["loop0"], &[], &[]),
            stacked("loop0", &["dm-7"], &[], &[]),
            stacked("dm-7", &["sdd", "sde"], &["sde"], &[]),
            stacked("bcache0", &["sda", "nvme0n1"], &["nvme0n1"], &[]),
            // Below the cache of another: what it serves that one gave.
            stacked("dm-0", &["sdb", "sdc"], &["sdc"], &[]),
            Device::bare("sda", DeviceKind::Disk),
        ];
        let layers = caching_layers(&all, &["md0".to_owned()]);
        let told: Vec<String> = layers
            .iter()
            .map(|of| {
                let above = of.above.as_deref().unwrap_or("files");
                format!("{above}, {}: {} of {}", of.name, of.cache[0], of.origin[0])
            })
            .collect();
        let right = ["files, dm-3: dm-0 of dm-2", "files, bcache0: nvme0n1 of sda"];
        assert_eq!(told[..2], right);
        assert_eq!(told[2..], ["dm-3, dm-7: sde of sdd"]);
        let circle = [stacked("a", &["b"], &[], &[]), stacked("b", &["a"], &[], &[])];
        assert_eq!(caching_layers(&circle, &["a".to_owned()]), []);
    }
}
