//! Block devices under a file system, down to the disks.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mount::{Mount, look_through, of_path};
use super::sysfs::{bytes_of, name_of};
use super::{Ceiling, limit, transport};
use crate::sys::Host;
use crate::sys::filesystem::MountIdentity;

/// A block device; see Documentation/ABI/stable/sysfs-block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The kernel's name, such as `nvme0n1p3`.
    pub name: String,
    /// Major and minor number, such as `259:3`.
    pub number: String,
    /// What it is.
    pub kind: Kind,
    /// RAID level or device-mapper target, where it is one: `raid5`, `crypt`.
    pub layout: Option<String>,
    /// Names of the devices that it lies on directly.
    pub below: Vec<String>,
    /// The file that a loop device shows.
    pub backing: Option<Backing>,
    /// Size, bytes.
    pub size_bytes: u64,
    /// What its driver says; virtual disks often say `true` whatever they lie on.
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// Read-ahead, KiB.
    pub read_ahead_kib: Option<u64>,
    /// Largest request, KiB.
    pub max_sectors_kib: Option<u64>,
    /// Smallest addressable block, bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest block that it writes without reading, bytes.
    pub physical_block_bytes: Option<u64>,
    /// `write back` when it may hold writes in memory until it is told to flush, else
    /// `write through`.
    pub write_cache: Option<String>,
    /// Whether it has queues that can be polled for completions.
    pub poll_queues: Option<bool>,
    /// How it is attached, as far as its place in /sys tells: `nvme`, `sata`, `sas`, `virtio`, ...
    pub transport: String,
    /// What its maker calls it.
    pub model: Option<String>,
    /// Its serial number, where it can be read.
    pub serial: Option<String>,
    /// What its link runs at, in words.
    pub link: Option<String>,
    /// What it cannot exceed.
    pub ceiling: Option<Ceiling>,
}

/// What a block device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Lies on no other block device: a drive, a RAID card's volume, a virtual disk.
    Disk,
    /// Part of a disk or of another device.
    Partition,
    /// Made of others, by md or the device mapper.
    Stacked,
    /// A file shown as a device.
    Loop,
}

/// The file that a loop device shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backing {
    /// The file.
    pub file: String,
    /// Type of the file system that holds it; empty when it cannot be seen from here.
    pub filesystem: String,
    /// Devices that this lies on directly.
    pub devices: Vec<String>,
    /// Whether the file is read and written around the page cache; `None` when that is not told.
    #[serde(default)]
    pub direct_io: Option<bool>,
}

impl Device {
    /// One of which nothing more is known.
    #[cfg(any(test, feature = "testing"))]
    pub fn bare(name: &str, kind: Kind) -> Device {
        Device {
            name: name.to_owned(),
            number: String::new(),
            kind,
            layout: None,
            below: Vec::new(),
            backing: None,
            size_bytes: 0,
            rotational: None,
            scheduler: None,
            read_ahead_kib: None,
            max_sectors_kib: None,
            logical_block_bytes: None,
            physical_block_bytes: None,
            write_cache: None,
            poll_queues: None,
            transport: String::new(),
            model: None,
            serial: None,
            link: None,
            ceiling: None,
        }
    }

    /// Whether what it shows lies on another machine.
    pub fn over_a_wire(&self) -> bool {
        is_wire(&self.transport)
    }
}

/// Whether a transport comes from another machine.
pub fn is_wire(transport: &str) -> bool {
    const WIRES: [&str; 6] =
        ["network", "iscsi", "fibre-channel", "nvme-tcp", "nvme-rdma", "nvme-fc"];
    WIRES.contains(&transport)
}

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
fn named(host: &Host, source: &str) -> Option<String> {
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
        .filter(|device| device.size_bytes > 0)
        .filter(|device| !is_ram_disk(&device.name) || used(device))
        .collect()
}

/// `ram0` and its like.
fn is_ram_disk(name: &str) -> bool {
    let number = name.strip_prefix("ram").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The bottom of `on`: what lies on nothing else. A loop device is a bottom.
pub fn disks(devices: &[Device], on: &[String]) -> Vec<String> {
    let mut disks: Vec<String> = Vec::new();
    let mut next: VecDeque<&String> = on.iter().collect();
    // Devices cannot lie on themselves, but a recording may say so.
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    while let Some(name) = next.pop_front() {
        if !seen.insert(name) {
            continue;
        }
        let Some(device) = devices.iter().find(|device| device.name == *name) else { continue };
        if device.below.is_empty() {
            disks.push(name.clone());
        }
        next.extend(&device.below);
    }
    disks
}

fn read(host: &Host, mounts: &[Mount], name: &str) -> Option<Device> {
    let path = host.resolve(format!("/sys/class/block/{name}"))?;
    let word = |file: &str| host.word(path.join(file));
    let partition = host.exists(path.join("partition"));
    let parent = if partition { name_of(path.parent().map(Path::to_owned)) } else { None };
    let slaves = host.list(path.join("slaves"));
    let is_loop = host.exists(path.join("loop"));
    let kind = match () {
        () if partition => Kind::Partition,
        () if is_loop => Kind::Loop,
        () if !slaves.is_empty() => Kind::Stacked,
        () => Kind::Disk,
    };
    // A partition has no queue of its own.
    let whole = if partition { path.parent()?.to_owned() } else { path.clone() };
    let queue = |file: &str| host.word(whole.join("queue").join(file));
    let number = |file: &str| queue(file)?.parse::<u64>().ok();
    let switch = |file: &str| number(file).map(|value| value != 0);
    let transport = transport::of(host, &whole);
    let limit = match kind {
        Kind::Disk => limit::of_disk(host, &whole, &transport, switch("rotational")),
        _ => limit::Limit::default(),
    };
    let attached = kind == Kind::Disk;
    Some(Device {
        name: name.to_owned(),
        number: word("dev").unwrap_or_default(),
        kind,
        layout: layout(host, &path),
        below: parent.into_iter().chain(slaves).collect(),
        backing: if is_loop { backing(host, mounts, &path) } else { None },
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

/// The word in brackets of `none [mq-deadline] kyber`, or all of it.
fn in_force(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text, |(chosen, _)| chosen).to_owned()
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
        let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
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
    })
}
