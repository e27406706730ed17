//! Volumes of ZFS: /sys shows one as a disk on nothing, and its pool knows what it lies on.

use super::device;
use super::server::zfs;
use super::sysfs::name_of;
use crate::sys::Host;
use facts::inventory::device::Backing;
use facts::inventory::mount::Mount;
use facts::inventory::{Device, DeviceKind};

/// As [`device::walk`], through the pools of volumes too. Asking a pool takes commands.
pub fn walk(host: &Host, mounts: &[Mount], on: &[String]) -> Vec<Device> {
    let mut devices = device::walk(host, mounts, on);
    let mut asked: Vec<String> = Vec::new();
    let due = |device: &Device, asked: &[String]| {
        let is_volume = device.is_volume_of_zfs() && device.kind == DeviceKind::Disk;
        is_volume && !asked.contains(&device.name)
    };
    // A pool may lie on what is a volume of another.
    while let Some(volume) = devices.iter_mut().find(|device| due(device, &asked)) {
        asked.push(volume.name.clone());
        volume.backing = backing(host, &volume.name);
        let below = volume.backing.as_ref().map_or_else(Vec::new, |of| of.devices.clone());
        for device in device::walk(host, mounts, &below) {
            if devices.iter().all(|known| known.name != device.name) {
                devices.push(device);
            }
        }
    }
    devices
}

/// Where udev links the volumes of pools, by their names.
const VOLUMES: &str = "/dev/zvol";
/// Names of volumes have no more parts than this; zfs(8) allows 50.
const PARTS_MAX: usize = 50;

/// What holds the volume of ZFS that a device is; `None` where no name leads to it.
fn backing(host: &Host, device: &str) -> Option<Backing> {
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for name in host.list(format!("{VOLUMES}/{folder}")) {
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let real = host.resolve(format!("{VOLUMES}/{name}"));
            if name_of(real).is_some_and(|of| of == device) {
                return Some(of_volume(host, name));
            }
            folders.extend((depth < PARTS_MAX).then_some((name, depth + 1)));
        }
    }
    None
}

fn of_volume(host: &Host, name: String) -> Backing {
    let pool = zfs::below(host, &name).ok();
    let held = pool.as_ref().and_then(|pool| pool.dataset(&name)?.get("compression"));
    let packed = held != Some("off");
    let devices = pool.and_then(|pool| pool.devices().ok()).unwrap_or_default();
    Backing { file: name, filesystem: "zfs".to_owned(), devices, direct_io: None, packed }
}
