//! The hardware at the bottom of a stack of block devices: the one walk that origin, confession,
//! bottleneck and `verify` ask.
//!
//! A pure function of devices that were read once (`inventory/device.rs` reads them): partitions,
//! arrays, volumes and the files of loop devices are followed down to what lies on nothing else.
//! What their counts say of a trial is the business of `measurement`.

use std::collections::VecDeque;

use super::device::{Backing, Device, DeviceKind};
use super::mount::nature;

/// What lies on nothing else that can be seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The device's name, as the kernel has it.
    pub name: String,
    /// What it is.
    pub matter: Matter,
    /// The devices on the way down whose reads go through this machine's memory: loop devices
    /// through its page cache, volumes of ZFS through the ARC.
    pub caches: Vec<String>,
    /// Whether nothing lies on it but what a layer above keeps of other devices.
    pub keeps: bool,
}

/// What a leaf is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matter {
    /// A drive, a RAID card's volume, a virtual disk.
    Disk,
    /// This machine's memory: zram, a RAM disk.
    Memory,
    /// A file in memory that a loop device shows: its pages are the file, so that no cache lies
    /// between, and it is as fast as what was set for the loop device.
    FileInMemory,
    /// It comes over a wire.
    Remote,
    /// What is below cannot be seen; why, as a clause.
    Unseen(String),
}

/// The leaves below `on`, each once, in the order in which they are met. `devices` are those and
/// all below them.
pub fn leaves(devices: &[Device], on: &[String]) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut seen: Vec<Way> = Vec::new();
    let mut next: VecDeque<Way> = on.iter().map(|name| Way::to(name.clone())).collect();
    while let Some(way) = next.pop_front() {
        // Nothing lies on itself, but a recording may say so: each is met once by each way.
        if seen.contains(&way) {
            continue;
        }
        seen.push(way.clone());
        match step(devices, &way.name) {
            Step::Down { below, cached } => {
                let mut through = way.clone();
                if cached && !through.caches.contains(&way.name) {
                    through.caches.push(way.name.clone());
                }
                next.extend(below.into_iter().map(|(name, keeps)| {
                    let keeps = through.keeps || keeps;
                    Way { name, keeps, ..through.clone() }
                }));
            }
            Step::Leaf(matter) => met(&mut leaves, way, matter),
        }
    }
    leaves
}

/// A device and the way on which it was come to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    name: String,
    caches: Vec<String>,
    keeps: bool,
}

impl Way {
    fn to(name: String) -> Way {
        Way { name, caches: Vec::new(), keeps: false }
    }
}

fn met(leaves: &mut Vec<Leaf>, way: Way, matter: Matter) {
    let Way { name, caches, keeps } = way;
    match leaves.iter_mut().find(|leaf| leaf.name == name) {
        Some(known) => {
            let new = caches.into_iter().filter(|one| !known.caches.contains(one));
            let new: Vec<String> = new.collect();
            known.caches.extend(new);
            known.keeps &= keeps;
        }
        None => leaves.push(Leaf { name, matter, caches, keeps }),
    }
}

/// One step down from a device.
enum Step {
    /// It lies on these, and of each whether it keeps what others hold; `cached` when the page
    /// cache of the file system below is between, or the ARC.
    Down { below: Vec<(String, bool)>, cached: bool },
    /// It lies on nothing else.
    Leaf(Matter),
}

fn step(devices: &[Device], name: &str) -> Step {
    let unseen = |why: String| Step::Leaf(Matter::Unseen(why));
    let Some(device) = devices.iter().find(|device| device.name == *name) else {
        return unseen(format!("what {name} is cannot be seen from here"));
    };
    if device.kind == DeviceKind::Loop {
        return match &device.backing {
            Some(backing) => behind(device, backing),
            None => unseen(format!("which file {name} shows is not known")),
        };
    }
    if let Some(why) = &device.opaque {
        return unseen(why.clone());
    }
    if let Some(backing) = device.backing.as_ref().filter(|_| device.is_volume_of_zfs()) {
        return behind_volume(device, backing);
    }
    if !device.below.is_empty() {
        let keeps = |name: &String| {
            let caching = device.caching.as_ref();
            caching.is_some_and(|of| of.cache.contains(name) || of.records.contains(name))
        };
        let below = device.below.iter().map(|name| (name.clone(), keeps(name))).collect();
        return Step::Down { below, cached: false };
    }
    Step::Leaf(bottom(device))
}

/// What a device is made of that lies on nothing else.
fn bottom(device: &Device) -> Matter {
    let name = &device.name;
    let unseen = |why: &str| Matter::Unseen(format!("{name} {why}"));
    match device.transport.as_str() {
        "memory" => Matter::Memory,
        // A driver outside the kernel may have anything behind it.
        "ublk" => unseen("is shown by a program"),
        "zvol" => unseen("is a volume of ZFS, whose cache (ARC) is memory of this machine"),
        "target" => unseen("is shown by a target in this machine's own kernel"),
        "dm" | "md" | "bcache" => unseen("lies on nothing that can be seen from here"),
        // A replicated device without a disk of its own reads those of its peers.
        "drbd" => Matter::Remote,
        _ if device.over_a_wire() => Matter::Remote,
        _ => Matter::Disk,
    }
}

/// What is behind a volume of ZFS.
fn behind_volume(device: &Device, backing: &Backing) -> Step {
    if backing.devices.is_empty() {
        let (name, volume) = (&device.name, &backing.file);
        let why = format!("{name} is the volume {volume}, and what its pool lies on is not known");
        return Step::Leaf(Matter::Unseen(why));
    }
    let below = backing.devices.iter().map(|name| (name.clone(), false)).collect();
    Step::Down { below, cached: true }
}

/// What is behind the file that a loop device shows.
fn behind(device: &Device, backing: &Backing) -> Step {
    let (name, kind) = (&device.name, backing.filesystem.as_str());
    let unseen = |why: String| Step::Leaf(Matter::Unseen(why));
    let nature = nature(kind);
    match kind {
        "" => unseen(format!("where the file lies that {name} shows cannot be seen from here")),
        _ if nature.memory => Step::Leaf(Matter::FileInMemory),
        _ if kind.starts_with("fuse") => {
            unseen(format!("the file that {name} shows is shown by a program itself ({kind})"))
        }
        _ if nature.remote => {
            unseen(format!("the file that {name} shows lies on another machine ({kind})"))
        }
        "zfs" => unseen(format!(
            "{name} shows a file on ZFS, and what that has in memory (its ARC) is not counted"
        )),
        _ if backing.devices.is_empty() => {
            unseen(format!("{name} shows a file on {kind}, and what that lies on is not known"))
        }
        _ => Step::Down {
            below: backing.devices.iter().map(|name| (name.clone(), false)).collect(),
            // A kernel that does not say reads through its cache, as it does unless asked.
            cached: backing.direct_io != Some(true),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Caching;

    fn device(name: &str, kind: DeviceKind, below: &[&str], transport: &str) -> Device {
        let mut device = Device::bare(name, kind);
        device.below = below.iter().map(|name| (*name).to_owned()).collect();
        device.transport = transport.to_owned();
        device
    }

    fn looped(name: &str, filesystem: &str, on: &[&str], direct_io: Option<bool>) -> Device {
        let backing = Backing {
            file: "/image".to_owned(),
            filesystem: filesystem.to_owned(),
            devices: on.iter().map(|name| (*name).to_owned()).collect(),
            direct_io,
            packed: false,
        };
        Device { backing: Some(backing), ..device(name, DeviceKind::Loop, &[], "loop") }
    }

    fn disk(name: &str) -> Device {
        device(name, DeviceKind::Disk, &[], "sata")
    }

    /// `sda: Disk; loop0` for each: name, matter, caches on the way.
    fn told(devices: &[Device], on: &[&str]) -> Vec<String> {
        let on: Vec<String> = on.iter().map(|name| (*name).to_owned()).collect();
        let leaf = |leaf: Leaf| match leaf.matter {
            Matter::Unseen(_) => format!("{} Unseen {}", leaf.name, leaf.caches.join(",")),
            matter => format!("{} {matter:?} {}", leaf.name, leaf.caches.join(",")),
        };
        leaves(devices, &on).into_iter().map(leaf).collect()
    }

    /// A loop device without direct I/O over a disk of 36 MB/s "delivered 3304 MB/s": it was taken
    /// for a disk itself. What it shows lies in a file, whose file system has a page cache.
    #[test]
    fn a_loop_device_is_followed_to_the_disk_and_the_cache_between_is_named() {
        let under = [disk("sda"), device("sda1", DeviceKind::Partition, &["sda"], "sata")];
        let through = |direct_io| {
            let mut all = vec![looped("loop0", "ext4", &["sda1"], direct_io)];
            all.extend(under.clone());
            told(&all, &["loop0"])
        };
        assert_eq!(through(Some(false)), ["sda Disk loop0"]);
        assert_eq!(through(None), ["sda Disk loop0"]);
        assert_eq!(through(Some(true)), ["sda Disk "]);
        // A partition of a loop device on a file of another one's file system.
        let mut all = vec![
            device("loop1p2", DeviceKind::Partition, &["loop1"], "loop"),
            looped("loop1", "xfs", &["loop0"], Some(true)),
            looped("loop0", "ext4", &["sda1"], Some(false)),
        ];
        all.extend(under);
        assert_eq!(told(&all, &["loop1p2"]), ["sda Disk loop0"]);
    }

    /// "1 022 MB/s" came "from the device" of media of 15, through a loop device with direct I/O
    /// over a file of bindfs, whose program has caches of its own below.
    #[test]
    fn what_a_program_or_another_machine_shows_is_not_seen_and_memory_is_memory() {
        let through = |kind: &str, on: &[&str]| {
            told(&[looped("loop0", kind, on, Some(true)), disk("sda")], &["loop0"])
        };
        for kind in ["fuse", "fuse.bindfs", "fuseblk", "nfs4", "9p", "virtiofs", "zfs", ""] {
            assert_eq!(through(kind, &[]), ["loop0 Unseen "], "{kind}");
        }
        assert_eq!(through("fuseblk", &["sda"]), ["loop0 Unseen "]);
        assert_eq!(through("zfs", &["sda"]), ["loop0 Unseen "]);
        assert_eq!(through("tmpfs", &[]), ["loop0 FileInMemory "]);
        let all = [
            device("zram0", DeviceKind::Disk, &[], "memory"),
            device("nbd0", DeviceKind::Disk, &[], "network"),
            device("ublkb0", DeviceKind::Disk, &[], "ublk"),
        ];
        assert_eq!(told(&all, &["zram0"]), ["zram0 Memory "]);
        assert_eq!(told(&all, &["nbd0"]), ["nbd0 Remote "]);
        assert_eq!(told(&all, &["ublkb0"]), ["ublkb0 Unseen "]);
        assert_eq!(told(&all, &["gone"]), ["gone Unseen "]);
        // ext4 on a volume of ZFS was "device" whatever the ARC had of it.
        let volume = device("zd16", DeviceKind::Disk, &[], "zvol");
        assert_eq!(told(&[volume], &["zd16"]), ["zd16 Unseen "]);
        let on = |disks: &[&str]| {
            let backing = looped("", "zfs", disks, None).backing;
            let volume = Device { backing, ..device("zd16", DeviceKind::Disk, &[], "zvol") };
            let part = device("zd16p1", DeviceKind::Partition, &["zd16"], "zvol");
            told(&[part, volume, disk("sda"), disk("sdb")], &["zd16p1"])
        };
        assert_eq!(on(&[]), ["zd16 Unseen "]);
        assert_eq!(on(&["sda", "sdb"]), ["sda Disk zd16", "sdb Disk zd16"]);
        assert_eq!(told(&[disk("zda")], &["zda"]), ["zda Disk "]);
    }

    #[test]
    fn arrays_and_several_devices_end_at_all_their_disks_each_once() {
        let all = [
            device("md0", DeviceKind::Stacked, &["sda1", "loop0"], "md"),
            device("sda1", DeviceKind::Partition, &["sda"], "sata"),
            looped("loop0", "ext4", &["sda"], Some(false)),
            disk("sda"),
            disk("sdb"),
        ];
        assert_eq!(told(&all, &["md0", "sdb"]), ["sdb Disk ", "sda Disk loop0"]);
        let circle = [
            device("dm-0", DeviceKind::Stacked, &["dm-1"], "dm"),
            device("dm-1", DeviceKind::Stacked, &["dm-0"], "dm"),
        ];
        assert_eq!(told(&circle, &["dm-0"]), [""; 0]);
    }

    /// A volume of ZFS was "device" at the speed of memory: /sys shows it as a disk.
    #[test]
    fn volumes_of_zfs_targets_of_this_kernel_and_stacks_on_nothing_are_not_seen() {
        let matter = |name: &str, transport: &str| {
            let all = [device(name, DeviceKind::Disk, &[], transport)];
            leaves(&all, &[name.to_owned()]).remove(0).matter
        };
        for (name, transport, why) in [
            ("zd0", "zvol", "zd0 is a volume of ZFS, whose cache (ARC)"),
            ("sdb", "target", "sdb is shown by a target"),
            ("dm-0", "dm", "dm-0 lies on nothing"),
            ("bcache0", "bcache", "bcache0 lies on nothing"),
        ] {
            let Matter::Unseen(told) = matter(name, transport) else { panic!("{name}") };
            assert!(told.starts_with(why), "{told}");
        }
        for transport in ["drbd", "iscsi", "nvme-tcp", "nvme-rdma", "nvme-fc", "srp", "network"] {
            assert_eq!(matter("x", transport), Matter::Remote, "{transport}");
        }
        assert_eq!(matter("vda", "virtio"), Matter::Disk);
    }

    #[test]
    fn a_disk_that_only_keeps_what_others_hold_is_told_from_those_naive_a_disk_as_any() {
        let mut layer = device("bcache0", DeviceKind::Stacked, &["sda", "nvme0n1p1"], "bcache");
        layer.caching = Some(Caching { cache: vec!["nvme0n1p1".into()], ..Caching::default() });
        let mut all = vec![
            layer,
            device("nvme0n1p1", DeviceKind::Partition, &["nvme0n1"], "nvme"),
            device("nvme0n1p2", DeviceKind::Partition, &["nvme0n1"], "nvme"),
            device("nvme0n1", DeviceKind::Disk, &[], "nvme"),
            disk("sda"),
        ];
        let keeps = |all: &[Device], on: &[&str]| {
            let on: Vec<String> = on.iter().map(|name| (*name).to_owned()).collect();
            let leaves = leaves(all, &on).into_iter();
            leaves.map(|leaf| (leaf.name, leaf.keeps)).collect::<Vec<_>>()
        };
        let (hdd, ssd) = ("sda".to_owned(), "nvme0n1".to_owned());
        assert_eq!(keeps(&all, &["bcache0"]), [(hdd.clone(), false), (ssd.clone(), true)]);
        // The other half of the drive holds files of its own.
        let both = keeps(&all, &["bcache0", "nvme0n1p2"]);
        assert_eq!(both, [(hdd, false), (ssd, false)]);
        all[0].opaque = Some("what bcache0 does is not known".to_owned());
        assert_eq!(told(&all, &["bcache0"]), ["bcache0 Unseen "]);
    }
}
