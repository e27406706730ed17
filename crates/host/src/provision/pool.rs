//! (pure) Pools of ZFS: the commands that make one, take it out of memory and hold a snapshot.
//!
//! The file system comes with the pool, so that there is no mkfs of its own. No file of /etc knows
//! the pool (`cachefile=none`): it is imported by nobody but us, and mounted as others are.

use std::path::Path;

use super::step::{Does, LayoutIds, Phase, Step, identities, node, words};
use crate::journal::LayoutAct;
use crate::sys::Error;
use facts::inventory::disk::Disk;
use facts::layout::Layout;
use facts::layout::filesystem::{kind, vdevs};

/// The name of the snapshot that is held while a trial runs.
const SNAPSHOT: &str = "held";

/// Adds the step that makes the pool and its dataset.
pub fn steps(layout: &Layout, ids: &LayoutIds, steps: &mut Vec<Step>) {
    let Some((kind, groups)) =
        kind(&layout.filesystem).zip(vdevs(&layout.raid, layout.disks.len()))
    else {
        return;
    };
    let mut command = words(kind.mkfs);
    command.extend(words(&["-o", "cachefile=none", "-O", "mountpoint=legacy"]));
    for (name, value) in &layout.properties {
        command.extend(words(&["-O", &format!("{name}={value}")]));
    }
    command.extend(layout.mkfs_options.iter().cloned());
    command.push(ids.group.clone());
    let mut disks = layout.disks.iter();
    for (word, count) in groups {
        command.extend(Some(word.to_owned()).filter(|word| !word.is_empty()));
        command.extend(disks.by_ref().take(count).map(node));
    }
    if let Some(log) = &layout.journal {
        command.extend(words(&["log", &node(log)]));
    }
    let all: Vec<Disk> = layout.all_disks().cloned().collect();
    let act = LayoutAct::Pool { name: ids.group.clone(), members: identities(&all) };
    steps.push(Step { phase: Phase::None, acts: Vec::new(), does: Does::Udev });
    steps.push(Step::run(Phase::Mkfs, command).noting(vec![act]));
    let flush = words(&["zpool", "sync", &ids.group]);
    steps.push(Step::run(Phase::Mkfs, flush));
}

/// Whether zpool(8) gave up on udev. What it was about to make can be made once more.
pub fn udev_was_late(error: &Error) -> bool {
    error.errno == Some(libc::ETIMEDOUT)
}

/// The step that mounts it.
pub fn mount(layout: &Layout, pool: &str, at: &Path) -> Step {
    let all: Vec<Disk> = layout.all_disks().cloned().collect();
    let at = at.display().to_string();
    let command = mounting(layout, pool, &at);
    Step::run(Phase::Mount, command).noting(vec![LayoutAct::Mount { at, disks: identities(&all) }])
}

fn mounting(layout: &Layout, pool: &str, at: &str) -> Vec<String> {
    let mut command = words(&["mount", "-t", "zfs"]);
    if !layout.mount_options.is_empty() {
        command.extend(words(&["-o", &layout.mount_options]));
    }
    command.extend(words(&[pool, at]));
    command
}

/// What takes all of the pool out of memory and brings it back: nothing else empties the ARC of
/// one pool alone. It looks for the pool on these nodes only.
pub fn cool(layout: &Layout, pool: &str, at: &Path, nodes: &[String]) -> Vec<Vec<String>> {
    let at = at.display().to_string();
    let mut import = words(&["zpool", "import", "-N", "-o", "cachefile=none"]);
    import.extend(nodes.iter().flat_map(|node| words(&["-d", node])));
    import.push(pool.to_owned());
    vec![
        words(&["umount", &at]),
        words(&["zpool", "export", pool]),
        import,
        mounting(layout, pool, &at),
    ]
}

/// Makes the snapshot.
pub fn hold(pool: &str) -> Vec<String> {
    words(&["zfs", "snapshot", &format!("{pool}@{SNAPSHOT}")])
}

/// Removes the snapshot.
pub fn release(pool: &str) -> Vec<String> {
    words(&["zfs", "destroy", &format!("{pool}@{SNAPSHOT}")])
}
