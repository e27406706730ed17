//! Block devices under a file system, down to the disks.

use std::collections::VecDeque;
use std::path::Path;

use super::mount::{look_through, of_path};
use super::sysfs::{bytes_of, in_force, name_of};
use super::{caching, limit, transport};
use crate::sys::Host;
use crate::sys::filesystem::MountIdentity;
use facts::inventory::device::Backing;
use facts::inventory::mount::Mount;
use facts::inventory::{Device, DeviceKind};

/// The devices that a file system lies on directly.
pub fn of_mount(host: &Host, mount: &Mount) -> Vec<String> {
    if mount.filesystem == "btrfs" {
        return btrfs_devices(host, &mount.source);
    }
    let (major, minor) = mount.device;
    if major != 0 {
        return name_of(host.resolve(format!("/sys/dev/block/{major}:{minor}")))
            .into_iter()
            .collect();
    }
    // bcachefs names all its devices, with colons between.
    mount.source.split(':').filter_map(|source| named(host, source)).collect()
}

/// All devices of the btrfs that `source` is one device of: its st_dev is anonymous, and mountinfo
/// names only one of several.
fn btrfs_devices(host: &Host, source: &str) -> Vec<String> {
    let Some(one) = named(host, source) else { return Vec::new() };
    for uuid in host.list("/sys/fs/btrfs") {
        let devices = host.list(format!("/sys/fs/btrfs/{uuid}/devices"));
        if devices.contains(&one) {
            return devices;
        }
    }
    // A kernel whose btrfs shows nothing in /sys: one device is known to be right.
    vec![one]
}

/// The kernel's name of a device file; `None` when there is no such block device.
pub fn named(host: &Host, source: &str) -> Option<String> {
    let source = Path::new(source);
    source.strip_prefix("/dev").ok()?;
    let real = host.resolve(source).unwrap_or_else(|| source.to_owned());
    let name = name_of(Some(real))?;
    if host.exists(format!("/sys/class/block/{name}")) {
        return Some(name);
    }
    // /dev/mapper may hold device files rather than links.
    let mapped = host.list("/sys/class/block").into_iter().find(|device| {
        host.word(format!("/sys/class/block/{device}/dm/name")).is_some_and(|held| held == name)
    });
    mapped.filter(|_| source.starts_with("/dev/mapper"))
}

/// `on` and what lies below, upper before lower, each once; through the files of loop devices too.
pub fn walk(host: &Host, mounts: &[Mount], on: &[String]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    let mut next: VecDeque<String> = on.iter().cloned().collect();
    while let Some(name) = next.pop_front() {
        if devices.iter().any(|device| device.name == name) {
            continue;
        }
        let Some(device) = read(host, mounts, &name) else { continue };
        next.extend(device.below.iter().cloned());
        let backing = device.backing.iter().flat_map(|backing| &backing.devices);
        next.extend(backing.cloned());
        devices.push(device);
    }
    devices
}

/// Every block device of the machine that has a size, by name. The paths that native NVMe
/// multipath hides are left out, and so are RAM disks that nobody uses: a kernel may make 16 of
/// them at every start.
pub fn all(host: &Host, mounts: &[Mount]) -> Vec<Device> {
    let place = |name: &str, file: &str| format!("/sys/class/block/{name}/{file}");
    let hidden = |name: &String| host.word(place(name, "hidden")).is_some_and(|word| word == "1");
    let names = host.list("/sys/class/block").into_iter().filter(|name| !hidden(name));
    let devices = names.filter_map(|name| read(host, mounts, &name));
    let used = |device: &Device| {
        let number = mounts.iter().any(|mount| {
            let (major, minor) = mount.device;
            format!("{major}:{minor}") == device.number
        });
        number || !host.list(place(&device.name, "holders")).is_empty()
    };
    devices
        // One without that file is of a pasted text, which did not tell the size.
        .filter(|device| device.size_bytes > 0 || !host.exists(place(&device.name, "size")))
        .filter(|device| !is_ram_disk(&device.name) || used(device))
        .collect()
}

/// `ram0` and its like.
fn is_ram_disk(name: &str) -> bool {
    let number = name.strip_prefix("ram").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn read(host: &Host, mounts: &[Mount], name: &str) -> Option<Device> {
    let path = host.resolve(format!("/sys/class/block/{name}"))?;
    let word = |file: &str| host.word(path.join(file));
    let partition = host.exists(path.join("partition"));
    let parent = if partition { name_of(path.parent().map(Path::to_owned)) } else { None };
    let slaves = host.list(path.join("slaves"));
    let is_loop = host.exists(path.join("loop"));
    let kind = match () {
        () if partition => DeviceKind::Partition,
        () if is_loop => DeviceKind::Loop,
        () if !slaves.is_empty() => DeviceKind::Stacked,
        () => DeviceKind::Disk,
    };
    // A partition has no queue of its own.
    let whole = if partition { path.parent()?.to_owned() } else { path.clone() };
    let queue = |file: &str| host.word(whole.join("queue").join(file));
    let number = |file: &str| queue(file)?.parse::<u64>().ok();
    let switch = |file: &str| number(file).map(|value| value != 0);
    let transport = transport::transport_at(host, &whole);
    let limit = match kind {
        DeviceKind::Disk => limit::of_disk(host, &whole, &transport, switch("rotational")),
        _ => limit::DiskLimit::default(),
    };
    let attached = kind == DeviceKind::Disk;
    let (caching, opaque) = match caching::read_caching(host, &path, &slaves) {
        Ok(caching) => (caching, None),
        Err(why) => (None, Some(why)),
    };
    Some(Device {
        name: name.to_owned(),
        number: word("dev").unwrap_or_default(),
        kind,
        layout: layout(host, &path),
        below: parent.into_iter().chain(slaves).collect(),
        backing: if is_loop { backing(host, mounts, &path) } else { None },
        caching,
        opaque,
        // In sectors of 512 bytes, whatever the device's are.
        size_bytes: word("size").and_then(|size| sectors(&size)).unwrap_or(0),
        rotational: switch("rotational"),
        scheduler: queue("scheduler").map(|text| in_force(&text)),
        read_ahead_kib: number("read_ahead_kb"),
        max_sectors_kib: number("max_sectors_kb"),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        write_cache: queue("write_cache"),
        poll_queues: switch("io_poll"),
        model: host.word(whole.join("device/model")).filter(|_| attached),
        serial: serial(host, &whole).filter(|_| attached),
        transport,
        link: limit.link,
        ceiling: limit.ceiling,
    })
}

fn sectors(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(512)
}

/// What a stacked device is: its RAID level, or the owner of its device-mapper UUID (`CRYPT-...`,
/// `LVM-...`).
fn layout(host: &Host, path: &Path) -> Option<String> {
    let mapped = || {
        let uuid = host.word(path.join("dm/uuid"))?;
        Some(uuid.split_once('-')?.0.to_lowercase())
    };
    host.word(path.join("md/level")).or_else(mapped)
}

/// The serial number of the whole device whose directory in /sys is `whole`.
pub fn serial(host: &Host, whole: &Path) -> Option<String> {
    // virtio: serial; nvme: device/serial; SCSI and SATA: page 0x80 of the vital product data.
    let page = || {
        let page = bytes_of(host, &whole.join("device/vpd_pg80"))?;
        // Padded with spaces; by the kernel's own iSCSI target with a zero.
        let text = String::from_utf8_lossy(page.get(4..)?);
        let text = text.trim_matches(|it: char| it.is_whitespace() || it == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    };
    ["serial", "device/serial"].iter().find_map(|file| host.word(whole.join(file))).or_else(page)
}

fn backing(host: &Host, mounts: &[Mount], path: &Path) -> Option<Backing> {
    let file = host.word(path.join("loop/backing_file"))?;
    let real = host.resolve(Path::new("/").join(&file));
    let mount = real.and_then(|real| of_path(mounts, &real, MountIdentity::default()));
    let holding = mount.and_then(|mount| look_through(host, mounts, mount));
    Some(Backing {
        file,
        filesystem: holding.map_or(String::new(), |mount| mount.filesystem.clone()),
        devices: holding.map_or(Vec::new(), |mount| of_mount(host, mount)),
        direct_io: match host.word(path.join("loop/dio")).as_deref() {
            Some("1") => Some(true),
            Some("0") => Some(false),
            _ => None,
        },
        packed: false,
    })
}
