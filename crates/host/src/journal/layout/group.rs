//! LVM volume groups of ours, removed with all their volumes.

use std::path::{Path, PathBuf};

use super::{COMMAND_MAX, Now};
use crate::journal::fate::Fate;
use crate::sys::{Error, block, command};
use facts::identity::Identity;

/// Settings for every LVM command of ours (lvm.conf(5)): it sees these nodes alone, so nobody
/// else's volumes are touched; it makes nodes itself, with or without udev; it keeps no copies in
/// /etc, and starts no daemon.
pub fn lvm_config(nodes: &[PathBuf]) -> String {
    let accept = |node: &PathBuf| format!("\"a|^{}$|\"", node.display());
    let mut rules: Vec<String> = nodes.iter().map(accept).collect();
    rules.push("\"r|.*|\"".to_owned());
    let rules = rules.join(", ");
    format!(
        "devices {{ filter=[{rules}] global_filter=[{rules}] use_devicesfile=0 hints=\"none\" }} \
         activation {{ monitoring=0 udev_sync=0 udev_rules=0 verify_udev_operations=1 }} \
         backup {{ backup=0 archive=0 }}"
    )
}

pub(super) fn undo(now: &Now<'_>, name: &str, members: &[Identity]) -> Fate {
    if !name.starts_with("brickyard") {
        let what = format!("cannot remove the volume group {name}");
        return Fate::Failed(Error::new(what, "it has not a name that brickyard gives"));
    }
    let disks = now.names(members);
    if disks.is_empty() || command::find("vgs").is_none() {
        return Fate::Gone;
    }
    let nodes: Vec<PathBuf> = disks.iter().map(|disk| block::node(disk)).collect();
    let config = lvm_config(&nodes);
    let list = ["vgs", "--config", &config, "--noheadings", "-o", "vg_name"];
    let groups = match now.run(&list, COMMAND_MAX) {
        Ok(text) => text,
        Err(error) => return Fate::Failed(error),
    };
    let there = groups.lines().any(|line| line.trim() == name);
    let left = mapped(now, name, &disks);
    match (there, now.dry) {
        (false, _) if left.is_empty() => return Fate::Gone,
        (_, true) => return Fate::WouldRemove,
        (true, false) => {
            let remove = ["vgremove", "--config", &config, "--force", "--force", "--yes", name];
            if let Err(error) = now.run(&remove, COMMAND_MAX) {
                return Fate::Failed(error);
            }
        }
        (false, false) => {}
    }
    // A kill between a mapping and its note in the group leaves the mapping. Upper ones first.
    for _ in 0..4 {
        for volume in mapped(now, name, &disks) {
            let _ = now.run(&["dmsetup", "remove", "--noudevsync", &volume], COMMAND_MAX);
        }
    }
    match mapped(now, name, &disks).first() {
        None => Fate::Removed,
        Some(volume) => {
            let what = format!("cannot remove {}", Path::new("/dev/mapper").join(volume).display());
            Fate::Failed(Error::new(what, "it is in use").hint("dmsetup info; brickyard undo"))
        }
    }
}

/// Mappings of the group that lie on our disks.
fn mapped(now: &Now<'_>, group: &str, disks: &[String]) -> Vec<String> {
    let device = |device: String| {
        let name = now.host.word(format!("/sys/block/{device}/dm/name"))?;
        let ours = name.starts_with(&format!("{group}-")) && now.lies_on(&device, disks);
        ours.then_some(name)
    };
    now.host.list("/sys/block").into_iter().filter_map(device).collect()
}
