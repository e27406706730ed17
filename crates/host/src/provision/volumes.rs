//! LVM volume groups: one linear or striped volume over all disks, and its snapshot.
//!
//! A fifth of the group is left free when the layout asks for a snapshot.

use std::path::PathBuf;

use super::step::{LayoutIds, Phase, Step, identities, node, signatures, words};
use crate::journal::{LayoutAct, lvm_config};
use facts::layout::Layout;

/// Our volume in its group.
const VOLUME: &str = "data";
/// Its snapshot.
pub const SNAPSHOT: &str = "held";

/// The `--config` that every command gets.
pub fn config(layout: &Layout) -> String {
    let nodes: Vec<PathBuf> = layout.disks.iter().map(|disk| disk.node.clone()).collect();
    lvm_config(&nodes)
}

/// Adds the steps that make the volume, and gives its node.
pub fn steps(layout: &Layout, ids: &LayoutIds, steps: &mut Vec<Step>) -> Vec<PathBuf> {
    let config = config(layout);
    let mut run = |list: &[&str], acts: Vec<LayoutAct>| {
        steps.push(Step::run(Phase::Array, words(list)).noting(acts));
    };
    for (disk, uuid) in layout.disks.iter().zip(&ids.volume_uuids) {
        let acts = signatures(&[disk], "LVM2_member", uuid);
        let node = node(disk);
        run(
            &[
                "pvcreate",
                "--config",
                &config,
                "-ff",
                "-y",
                "--norestorefile",
                "--uuid",
                uuid,
                &node,
            ],
            acts,
        );
    }
    let nodes: Vec<String> = layout.disks.iter().map(node).collect();
    let mut group = vec!["vgcreate", "--config", &config, &ids.group];
    group.extend(nodes.iter().map(String::as_str));
    let members = identities(&layout.disks);
    run(&group, vec![LayoutAct::Group { name: ids.group.clone(), members }]);
    let share = if layout.snapshot == "lvm" { "80%VG" } else { "100%FREE" };
    let mut volume = words(&["lvcreate", "--config", &config, "-y", "-Wy", "-l", share]);
    if layout.raid == "raid0" {
        volume.extend(words(&["-i", &layout.disks.len().to_string()]));
        if let Some(bytes) = layout.chunk_bytes {
            volume.extend(words(&["-I", &format!("{}k", bytes / 1024)]));
        }
    }
    volume.extend(words(&["-n", VOLUME, &ids.group]));
    steps.push(Step::run(Phase::Array, volume));
    vec![PathBuf::from(format!("/dev/mapper/{}-{VOLUME}", ids.group))]
}

/// Makes the snapshot.
pub fn hold(layout: &Layout, group: &str) -> Vec<String> {
    let origin = format!("{group}/{VOLUME}");
    let config = config(layout);
    words(&["lvcreate", "--config", &config, "-y", "-s", "-l", "100%FREE", "-n", SNAPSHOT, &origin])
}

/// Removes the snapshot.
pub fn release(layout: &Layout, group: &str) -> Vec<String> {
    let snapshot = format!("{group}/{SNAPSHOT}");
    words(&["lvremove", "--config", &config(layout), "--force", "--yes", &snapshot])
}
