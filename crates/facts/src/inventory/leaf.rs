//! The hardware at the bottom of a stack of block devices: the one walk that origin, confession,
//! bottleneck and `verify` ask.
//!
//! A pure function of devices that were read once (`inventory/device.rs` reads them): partitions,
//! arrays, volumes and the files of loop devices are followed down to what lies on nothing else.
//! What their counts say of a trial is the business of `measurement`.

use std::collections::VecDeque;

use super::device::{Backing, Device, Kind};
use super::mount::nature;

/// What lies on nothing else that can be seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The device's name, as the kernel has it.
    pub name: String,
    /// What it is.
    pub matter: Matter,
    /// The loop devices on the way down whose files are read through this machine's page cache.
    pub caches: Vec<String>,
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
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    let mut next: VecDeque<(String, Vec<String>)> =
        on.iter().map(|name| (name.clone(), Vec::new())).collect();
    while let Some(place) = next.pop_front() {
        // Nothing lies on itself, but a recording may say so: each is met once by each way.
        if seen.contains(&place) {
            continue;
        }
        seen.push(place.clone());
        let (name, caches) = place;
        match step(devices, &name) {
            Step::Down { below, cached } => {
                let mut caches = caches;
                if cached && !caches.contains(&name) {
                    caches.push(name);
                }
                next.extend(below.into_iter().map(|below| (below, caches.clone())));
            }
            Step::Leaf(matter) => match leaves.iter_mut().find(|leaf| leaf.name == name) {
                Some(known) => {
                    let new = caches.into_iter().filter(|one| !known.caches.contains(one));
                    let new: Vec<String> = new.collect();
                    known.caches.extend(new);
                }
                None => leaves.push(Leaf { name, matter, caches }),
            },
        }
    }
    leaves
}

/// One step down from a device.
enum Step {
    /// It lies on these; `cached` when the page cache of the file system below is between.
    Down { below: Vec<String>, cached: bool },
    /// It lies on nothing else.
    Leaf(Matter),
}

fn step(devices: &[Device], name: &str) -> Step {
    let unseen = |why: String| Step::Leaf(Matter::Unseen(why));
    let Some(device) = devices.iter().find(|device| device.name == *name) else {
        return unseen(format!("what {name} is cannot be seen from here"));
    };
    if device.kind == Kind::Loop {
        return match &device.backing {
            Some(backing) => behind(device, backing),
            None => unseen(format!("which file {name} shows is not known")),
        };
    }
    if !device.below.is_empty() {
        return Step::Down { below: device.below.clone(), cached: false };
    }
    match device.transport.as_str() {
        "memory" => Step::Leaf(Matter::Memory),
        // A driver outside the kernel may have anything behind it.
        "ublk" => unseen(format!("{name} is shown by a program")),
        _ if device.over_a_wire() => Step::Leaf(Matter::Remote),
        _ => Step::Leaf(Matter::Disk),
    }
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
        _ if backing.devices.is_empty() => {
            unseen(format!("{name} shows a file on {kind}, and what that lies on is not known"))
        }
        _ => Step::Down {
            below: backing.devices.clone(),
            // A kernel that does not say reads through its cache, as it does unless asked.
            cached: backing.direct_io != Some(true),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: Kind, below: &[&str], transport: &str) -> Device {
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
        };
        Device { backing: Some(backing), ..device(name, Kind::Loop, &[], "loop") }
    }

    fn disk(name: &str) -> Device {
        device(name, Kind::Disk, &[], "sata")
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
        let under = [disk("sda"), device("sda1", Kind::Partition, &["sda"], "sata")];
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
            device("loop1p2", Kind::Partition, &["loop1"], "loop"),
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
        assert_eq!(through("tmpfs", &[]), ["loop0 FileInMemory "]);
        let all = [
            device("zram0", Kind::Disk, &[], "memory"),
            device("nbd0", Kind::Disk, &[], "network"),
            device("ublkb0", Kind::Disk, &[], "ublk"),
        ];
        assert_eq!(told(&all, &["zram0"]), ["zram0 Memory "]);
        assert_eq!(told(&all, &["nbd0"]), ["nbd0 Remote "]);
        assert_eq!(told(&all, &["ublkb0"]), ["ublkb0 Unseen "]);
        assert_eq!(told(&all, &["gone"]), ["gone Unseen "]);
    }

    #[test]
    fn arrays_and_several_devices_end_at_all_their_disks_each_once() {
        let all = [
            device("md0", Kind::Stacked, &["sda1", "loop0"], "md"),
            device("sda1", Kind::Partition, &["sda"], "sata"),
            looped("loop0", "ext4", &["sda"], Some(false)),
            disk("sda"),
            disk("sdb"),
        ];
        assert_eq!(told(&all, &["md0", "sdb"]), ["sdb Disk ", "sda Disk loop0"]);
        let circle = [
            device("dm-0", Kind::Stacked, &["dm-1"], "dm"),
            device("dm-1", Kind::Stacked, &["dm-0"], "dm"),
        ];
        assert_eq!(told(&circle, &["dm-0"]), [""; 0]);
    }
}
