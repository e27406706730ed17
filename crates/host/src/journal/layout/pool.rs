//! Pools of ZFS of ours: destroyed where they are imported, and their labels and partitions wiped.
//!
//! zpool(8) parts a whole disk into two, and puts its labels into the first: a kill at any point
//! leaves a pool, labels without one, or partitions alone.

use super::{COMMAND_MAX, Now, node_of, signature};
use crate::journal::fate::Fate;
use crate::sys::{Error, Host, block, command};
use facts::identity::Identity;
use std::path::Path;

/// What blkid(8) calls a label of ZFS.
const LABEL: &str = "zfs_member";
/// What it calls the two halves of a partition table.
const TABLES: [&str; 2] = ["gpt", "PMBR"];
/// How a partition that zpool(8) made for a pool begins its name: `zfs-` and 16 digits.
const PARTITION: &str = "zfs-";

pub(super) fn undo(now: &Now<'_>, name: &str, members: &[Identity]) -> Fate {
    if !name.starts_with("brickyard") {
        let what = format!("cannot destroy the pool {name}");
        return Fate::Failed(Error::new(what, "it has not a name that brickyard gives"));
    }
    let disks = now.names(members);
    let imported = match is_imported(now, name, &disks) {
        Ok(imported) => imported,
        Err(error) => return Fate::Failed(error),
    };
    if imported && now.dry {
        return Fate::WouldRemove;
    }
    if imported && let Err(error) = now.run(&["zpool", "destroy", "-f", name], COMMAND_MAX) {
        return Fate::Failed(error);
    }
    let first = if imported { Fate::Removed } else { Fate::Gone };
    members.iter().map(|disk| wiped(now, disk, name)).fold(first, worse)
}

/// The one of two that is further from undone: a disk that failed is never forgotten for another
/// that somebody else changed.
pub(super) fn worse(one: Fate, other: Fate) -> Fate {
    let rank = |fate: &Fate| match fate {
        Fate::Gone => 0,
        Fate::Removed => 1,
        Fate::WouldRemove => 3,
        Fate::Failed(_) => 4,
        _ => 2,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

/// Whether a pool of that name is there and lies on our disks alone.
///
/// # Errors
/// When it lies on others, or nobody tells.
pub(super) fn is_imported(now: &Now<'_>, name: &str, disks: &[String]) -> Result<bool, Error> {
    if command::find("zpool").is_none() || !now.host.exists("/proc/spl/kstat/zfs") {
        return Ok(false);
    }
    let names = now.run(&["zpool", "list", "-H", "-o", "name"], COMMAND_MAX)?;
    if !names.lines().any(|line| line.trim() == name) {
        return Ok(false);
    }
    let text = now.run(&["zpool", "list", "-v", "-H", "-P", name], COMMAND_MAX)?;
    let strange = leaves(&text).into_iter().find(|path| {
        let node = path.strip_prefix("/dev/");
        let disk = node.map(|name| block::whole_of(now.host, name).unwrap_or(name.to_owned()));
        disk.is_none_or(|disk| !disks.contains(&disk))
    });
    match strange {
        None => Ok(true),
        Some(path) => {
            let what = format!("cannot destroy the pool {name}");
            Err(Error::new(what, format!("it lies on {path}, which is none of our disks"))
                .hint(format!("see what it is: zpool status {name}")))
        }
    }
}

/// Nodes in what `zpool list -v -H -P` prints: those that begin with a slash.
pub fn leaves(text: &str) -> Vec<String> {
    let word = |line: &str| line.split_whitespace().next().map(str::to_owned);
    text.lines().filter_map(word).filter(|word| word.starts_with('/')).collect()
}

/// Takes our labels and partitions from a disk; nothing where somebody else's are on it.
fn wiped(now: &Now<'_>, disk: &Identity, pool: &str) -> Fate {
    let node = match node_of(now, disk) {
        Ok(node) => node,
        Err(fate) => return fate,
    };
    let name = node.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let parts = block::partitions(now.host, &name);
    let mut found = Vec::new();
    for part in &parts {
        match signature::look(now, &block::node(part)) {
            Err(error) => return Fate::Failed(error),
            Ok(more) => found.extend(more),
        }
    }
    let own = match signature::look(now, &node) {
        Err(error) => return Fate::Failed(error),
        Ok(own) => own,
    };
    if own.is_empty() && parts.is_empty() {
        return Fate::Gone;
    }
    let is_label = |one: &&signature::DiskSignature| one.is_of(&[LABEL]) && one.is_marked(pool);
    let tables = own.iter().filter(|one| !one.is_of(&TABLES));
    if let Some(other) = tables.chain(&found).find(|one| !is_label(one)) {
        return Fate::ChangedByOthers(other.to_string(), "nothing".into());
    }
    // Killed before its labels were written, the pool's partitions bear its maker's mark alone.
    let labelled = own.iter().chain(&found).any(|one| is_label(&one));
    if !labelled && !parts.iter().any(|part| is_of_zpool(now.host, part)) {
        return Fate::ChangedByOthers("a partition table".into(), "nothing".into());
    }
    if now.dry {
        return Fate::WouldRemove;
    }
    let nodes = parts.iter().map(|part| block::node(part)).chain([node.clone()]);
    for node in nodes {
        if let Err(error) = signature::wipe(now, &node) {
            return Fate::Failed(error);
        }
    }
    match block::flush(&node).and_then(|()| forget_partitions(now, &name, &node)) {
        Ok(()) => Fate::Removed,
        Err(error) => Fate::Failed(error),
    }
}

/// Has the kernel look for partitions anew: it keeps what it knew where udev had one of them open.
fn forget_partitions(now: &Now<'_>, disk: &str, node: &Path) -> Result<(), Error> {
    if block::partitions(now.host, disk).is_empty() {
        return Ok(());
    }
    now.run(&["blockdev", "--rereadpt", &node.display().to_string()], COMMAND_MAX).map(|_| ())
}

/// Whether zpool(8) made that partition.
fn is_of_zpool(host: &Host, part: &str) -> bool {
    let text = host.read(format!("/sys/class/block/{part}/uevent")).unwrap_or_default();
    text.lines()
        .any(|line| line.strip_prefix("PARTNAME=").is_some_and(|name| name.starts_with(PARTITION)))
}
