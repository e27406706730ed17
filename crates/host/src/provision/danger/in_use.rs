//! Dangers of disks that somebody is using: nothing allows these but the end of that use.

use std::path::PathBuf;
use std::time::Duration;

use super::scene::{VisibleMount, is_busy};
use super::{DangerReason, Seen};
use crate::sys::{block, clock};

/// Whether a mount lies on the disk or a partition of it.
fn lies_on(mounted: &VisibleMount, seen: &Seen<'_>) -> bool {
    seen.numbers.contains(&mounted.number) || mounted.on.iter().any(|on| seen.names.contains(on))
}

fn mount_points(seen: &Seen<'_>, elsewhere: bool) -> Vec<String> {
    let mounts = seen.scene.mounts.iter().filter(|one| one.process.is_some() == elsewhere);
    let mut points: Vec<String> = mounts
        .filter(|one| lies_on(one, seen))
        .map(|one| match &one.process {
            Some(process) => format!("{} of process {process}", one.point),
            None => one.point.clone(),
        })
        .collect();
    // Containers may see one disk at very many places.
    points.truncate(4);
    points
}

pub fn mounted(seen: &Seen<'_>) -> Option<DangerReason> {
    let points = mount_points(seen, false);
    let first = points.first()?;
    let hint = match first.as_str() {
        "/" => "name another disk: this machine runs from it".to_owned(),
        first => format!("umount {first}"),
    };
    DangerReason::hint(format!("it is mounted on {}", points.join(", ")), hint)
}

pub fn mounted_elsewhere(seen: &Seen<'_>) -> Option<DangerReason> {
    let points = mount_points(seen, true);
    if points.is_empty() || !mount_points(seen, false).is_empty() {
        return None;
    }
    DangerReason::new(format!("it is mounted where we do not look: on {}", points.join(", ")))
}

pub fn btrfs_member(seen: &Seen<'_>) -> Option<DangerReason> {
    let host = seen.scene.host;
    for uuid in host.list("/sys/fs/btrfs") {
        let devices = host.list(format!("/sys/fs/btrfs/{uuid}/devices"));
        if devices.iter().any(|device| seen.names.contains(device)) {
            let all = devices.join(", ");
            return DangerReason::new(format!("it is in the mounted btrfs {uuid} of {all}"));
        }
    }
    None
}

pub fn swap(seen: &Seen<'_>) -> Option<DangerReason> {
    let host = seen.scene.host;
    let nodes = seen.nodes();
    let own = seen.scene.loops.iter().find(|one| one.name == seen.disk.name);
    for swap in &seen.scene.swaps {
        let real = host.resolve(swap).unwrap_or_else(|| swap.clone());
        let shown = own.is_some_and(|own| {
            own.which.is_some() && block::which_file(&host.path(&real)) == own.which
        });
        if shown || nodes.contains(&real) {
            let swap = swap.display();
            return DangerReason::hint(
                format!("the kernel swaps to {swap}"),
                format!("swapoff {swap}"),
            );
        }
    }
    None
}

pub fn root_disk(seen: &Seen<'_>) -> Option<DangerReason> {
    let lies = seen.scene.below_root.iter().any(|name| seen.names.contains(name));
    if lies { DangerReason::new("the root file system lies on it") } else { None }
}

/// What must survive: on the disk, or the very file that a loop device shows.
pub fn own_disk(seen: &Seen<'_>) -> Option<DangerReason> {
    let own = seen.scene.loops.iter().find(|one| one.name == seen.disk.name);
    let shown = own.and_then(|own| own.which);
    for (path, on) in &seen.scene.avoid {
        let is_file = shown.is_some()
            && shown == block::which_file(&seen.scene.host.path(super::absolute(path)));
        if is_file || on.iter().any(|name| seen.names.contains(name)) {
            let path = path.display();
            return DangerReason::hint(
                format!("{path} lies on it, which this run needs"),
                format!("move {path} to another disk (--store FILE for the store)"),
            );
        }
    }
    None
}

/// What holds the disk or a partition of it, with what it is held by (sysfs, `holders`).
fn holders(seen: &Seen<'_>) -> Vec<(String, Holder)> {
    let host = seen.scene.host;
    let mut all = Vec::new();
    for on in &seen.names {
        for name in host.list(format!("/sys/class/block/{on}/holders")) {
            let uuid = host.word(format!("/sys/block/{name}/dm/uuid")).unwrap_or_default();
            let kind = match () {
                () if name.starts_with("md") => Holder::Md,
                () if name.starts_with("bcache") => Holder::Bcache,
                () if uuid.starts_with("LVM-") => Holder::Lvm,
                () if uuid.starts_with("mpath-") => Holder::Multipath,
                () if name.starts_with("dm-") => Holder::Mapper,
                () => Holder::Other,
            };
            let shown = host.word(format!("/sys/block/{name}/dm/name"));
            all.push((shown.unwrap_or(name), kind));
        }
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Md,
    Lvm,
    Multipath,
    Mapper,
    Bcache,
    Other,
}

fn held_by(seen: &Seen<'_>, kind: Holder, hint: &str) -> Option<DangerReason> {
    let held = holders(seen).into_iter().filter(|(_, holder)| *holder == kind);
    let names: Vec<String> = held.map(|(name, _)| name).collect();
    let first = names.first()?;
    DangerReason::hint(format!("{} holds it", names.join(", ")), hint.replace("{}", first))
}

pub fn md_member(seen: &Seen<'_>) -> Option<DangerReason> {
    held_by(seen, Holder::Md, "mdadm --stop /dev/{}")
}

pub fn lvm_in_use(seen: &Seen<'_>) -> Option<DangerReason> {
    held_by(seen, Holder::Lvm, "vgchange -an VG, for the volume group of {}")
}

pub fn multipath(seen: &Seen<'_>) -> Option<DangerReason> {
    held_by(seen, Holder::Multipath, "multipath -f {}, and stop multipathd")
}

pub fn dm_holder(seen: &Seen<'_>) -> Option<DangerReason> {
    held_by(seen, Holder::Mapper, "cryptsetup close {}, or dmsetup remove {}")
}

pub fn bcache(seen: &Seen<'_>) -> Option<DangerReason> {
    let hint = "echo 1 > /sys/block/DISK/bcache/stop, when it is clean";
    let hint = hint.replace("DISK", &seen.disk.name);
    let inside = |name: &&String| seen.scene.host.exists(format!("/sys/class/block/{name}/bcache"));
    held_by(seen, Holder::Bcache, &hint).or_else(|| {
        let name = seen.names.iter().find(inside)?;
        DangerReason::hint(format!("bcache has registered {name}"), hint)
    })
}

pub fn held(seen: &Seen<'_>) -> Option<DangerReason> {
    held_by(seen, Holder::Other, "stop {}")
}

/// Two loop devices on one file are one disk with two caches.
pub fn shown_twice(seen: &Seen<'_>) -> Option<DangerReason> {
    let own = seen.scene.loops.iter().find(|one| one.name == seen.disk.name)?;
    let same = |one: &&super::scene::Loop| {
        one.name != own.name
            && (one.file == own.file || (own.which.is_some() && one.which == own.which))
    };
    let other = seen.scene.loops.iter().find(same)?;
    DangerReason::hint(
        format!("{} shows the same file, {}", other.name, own.file),
        format!("losetup -d /dev/{}", other.name),
    )
}

pub fn loop_backing(seen: &Seen<'_>) -> Option<DangerReason> {
    let nodes = seen.nodes();
    let shows = |one: &&super::scene::Loop| {
        let real = one.file.starts_with('/').then(|| seen.scene.host.resolve(&one.file)).flatten();
        nodes.contains(&real.unwrap_or_else(|| PathBuf::from(&one.file)))
    };
    let one = seen.scene.loops.iter().find(shows)?;
    DangerReason::hint(
        format!("{} shows {}", one.name, one.file),
        format!("losetup -d /dev/{}", one.name),
    )
}

/// Programs that have it open without asking for it alone: a virtual machine, a database. One that
/// only looks, as udev does after a change, and mkfs.btrfs at all disks of the machine, is gone a
/// moment later; on a busy machine 0.3 s were no such moment.
pub fn open_elsewhere(seen: &Seen<'_>) -> Option<DangerReason> {
    const LOOK: Duration = Duration::from_millis(200);
    // For all disks together: the second was as long in others' hands as the first was looked at.
    const LOOKS_MAX: Duration = Duration::from_secs(2);
    let until_ns = seen.scene.looked_ns + LOOKS_MAX.as_nanos() as u64;
    opened_by(seen)?;
    let process = loop {
        std::thread::sleep(LOOK);
        let process = opened_by(seen)?;
        if clock::monotonic_ns() >= until_ns {
            break process;
        }
    };
    let name = seen.scene.host.word(format!("/proc/{process}/comm")).unwrap_or_default();
    DangerReason::hint(
        format!("process {process} ({name}) has it open"),
        format!("end process {process}, if you know what it does"),
    )
}

fn opened_by(seen: &Seen<'_>) -> Option<String> {
    let host = seen.scene.host;
    let nodes = seen.nodes();
    let own = std::process::id().to_string();
    let number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let processes = host.list("/proc").into_iter().filter(number);
    processes.filter(|pid| *pid != own || !host.is_live()).find(|pid| {
        let folder = format!("/proc/{pid}/fd");
        let files = host.list(&folder).into_iter();
        let mut targets = files.filter_map(|file| host.link(format!("{folder}/{file}")));
        targets.any(|target| nodes.contains(&target))
    })
}

pub fn busy(seen: &Seen<'_>) -> Option<DangerReason> {
    let node = seen.scene.host.path(&seen.disk.node);
    let error = (seen.scene.open_alone)(&node).err()?;
    let node = seen.disk.node.display();
    match is_busy(&error) {
        true => DangerReason::hint(
            "the kernel does not give it to us alone (O_EXCL): a mount, an array, a pool of ZFS, \
             a journal of another file system or a program has it",
            format!("lsblk {node}; fuser -v {node}"),
        ),
        false => DangerReason::hint(format!("cannot open it: {error}"), "run as root"),
    }
}

pub fn two_runs(seen: &Seen<'_>) -> Option<DangerReason> {
    let node = seen.scene.host.path(&seen.disk.node);
    // What cannot be opened is told by `busy`.
    let file = block::open(&node, block::How::Read).ok()?;
    match block::lock(&file) {
        Ok(true) => None,
        Ok(false) => {
            DangerReason::new("another run, or another tool that formats disks, has locked it")
        }
        Err(error) => DangerReason::new(format!("it cannot be locked: {error}")),
    }
}
