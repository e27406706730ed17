//! Dangers of mistaking one disk for another, and of disks that cannot hold anything.

use super::{DangerReason, Seen};
use crate::inventory::disk::{find, name_for_plan};
use crate::journal::identity;
use crate::sys::block;

/// The smallest disk that is taken: less than any of the file systems needs, bytes.
const SIZE_MIN_BYTES: u64 = 16 << 20;

pub fn partition(seen: &Seen<'_>) -> Option<DangerReason> {
    let name = &seen.disk.name;
    if !seen.scene.host.exists(format!("/sys/class/block/{name}/partition")) {
        return None;
    }
    DangerReason::new(format!("{name} is a partition, and only whole disks are taken"))
}

pub fn stacked(seen: &Seen<'_>) -> Option<DangerReason> {
    let (host, name) = (seen.scene.host, &seen.disk.name);
    let folder = format!("/sys/block/{name}");
    let below = host.list(format!("{folder}/slaves"));
    let made = ["md", "dm"].iter().any(|kind| host.exists(format!("{folder}/{kind}")));
    if !made && below.is_empty() {
        return None;
    }
    let names: Vec<String> = below.iter().map(|below| name_for_plan(host, below)).collect();
    DangerReason::hint(
        format!("{name} is made of other devices, and only whole disks are taken"),
        format!("stop it, and name its disks: {}", names.join(", ")),
    )
}

/// A node that is a plain file is what is left where a tool wrote to a disk that was not there.
pub fn not_a_device(seen: &Seen<'_>) -> Option<DangerReason> {
    let (host, disk) = (seen.scene.host, seen.disk);
    let node = disk.node.display();
    let number = disk.identity.number.as_deref().unwrap_or_default();
    if !host.exists(&disk.node) {
        return DangerReason::new(format!("there is no {node}"));
    }
    if host.link(&disk.node).is_some() {
        return DangerReason::new(format!("{node} is a link, not the device {number}"));
    }
    match block::number_of(&host.path(&disk.node)) {
        Some(there) if there == number => None,
        Some(there) => DangerReason::new(format!("{node} is the device {there}, not {number}")),
        // A recording has files for devices.
        None if !host.is_live() => None,
        None => DangerReason::new(format!("{node} is no block device")),
    }
}

pub fn lost_name(seen: &Seen<'_>) -> Option<DangerReason> {
    let error = find(seen.scene.host, &seen.disk.named).err()?;
    Some(DangerReason { why: error.to_string(), hint: error.hint })
}

pub fn wrong_serial(seen: &Seen<'_>) -> Option<DangerReason> {
    let disk = seen.disk;
    let now = find(seen.scene.host, &disk.named).ok()?;
    if now.name == disk.name {
        return None;
    }
    DangerReason::new(format!("`{}` was {}, and is {} now", disk.named, disk.name, now.name))
}

pub fn swapped(seen: &Seen<'_>) -> Option<DangerReason> {
    let (host, disk) = (seen.scene.host, seen.disk);
    if !identity::still_there(&disk.identity, host) {
        return DangerReason::new(format!("{} is another disk than when it was found", disk.name));
    }
    let size = host.word(format!("/sys/block/{}/size", disk.name))?.parse::<u64>().ok()?;
    let bytes = size.saturating_mul(512);
    if bytes == disk.size_bytes {
        return None;
    }
    DangerReason::new(format!("{} had {} bytes, and has {bytes} now", disk.name, disk.size_bytes))
}

/// By its number: two names of one disk are one disk. So are two disks of one world-wide name,
/// which are two paths.
pub fn named_twice(seen: &Seen<'_>) -> Option<DangerReason> {
    let earlier = seen.scene.disks[..seen.at].iter();
    let same = |one: &&facts::inventory::disk::Disk| {
        one.identity.number == seen.disk.identity.number || one.name == seen.disk.name
    };
    let other = earlier.into_iter().find(same)?;
    DangerReason::new(format!("the plan names it as `{}` as well", other.named))
}

pub fn no_medium(seen: &Seen<'_>) -> Option<DangerReason> {
    if seen.disk.size_bytes > 0 {
        return None;
    }
    let removable = format!("/sys/block/{}/removable", seen.disk.name);
    match seen.scene.host.word(removable).as_deref() {
        Some("1") => DangerReason::new("it is removable, and no medium is in it"),
        _ => DangerReason::hint("it has 0 bytes", "attach what it shows, or name another disk"),
    }
}

pub fn too_small(seen: &Seen<'_>) -> Option<DangerReason> {
    let size = seen.disk.size_bytes;
    (1..SIZE_MIN_BYTES).contains(&size).then_some(())?;
    DangerReason::new(format!("it has {size} bytes; a disk has at least {SIZE_MIN_BYTES}"))
}

pub fn read_only(seen: &Seen<'_>) -> Option<DangerReason> {
    let disk = seen.disk;
    let word = seen.scene.host.word(format!("/sys/block/{}/ro", disk.name));
    if word.as_deref().unwrap_or("0") == "0" {
        return None;
    }
    let hint = match disk.name.starts_with("loop") {
        true => format!("losetup -d {}, and again without -r", disk.node.display()),
        false => format!("blockdev --setrw {}", disk.node.display()),
    };
    DangerReason::hint("the kernel takes no writes for it", hint)
}
