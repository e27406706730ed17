//! (pure) What is done in which order to make a layout: the one list that is shown and that is run.

use std::path::{Path, PathBuf};

use super::step::{Does, LayoutIds, Phase, Step, node, words};
use super::{array, filesystem, pool, volumes};
use crate::journal::LayoutAct;
use facts::layout::precondition::passes;
use facts::layout::{Layout, Volumes};

/// All steps, in their order, and the nodes that the file system lies on; `at` is where it is
/// mounted.
pub fn all(layout: &Layout, ids: &LayoutIds, at: &Path) -> (Vec<Step>, Vec<PathBuf>) {
    let mut steps = vec![wipe(layout)];
    steps.extend(precondition(layout));
    let made = match layout.volumes() {
        Volumes::Md => array::steps(layout, ids, &mut steps),
        Volumes::Lvm => volumes::steps(layout, ids, &mut steps),
        Volumes::None | Volumes::Btrfs | Volumes::Zfs => {
            layout.disks.iter().map(|disk| disk.node.clone()).collect()
        }
    };
    let is_pool = layout.volumes() == Volumes::Zfs;
    match is_pool {
        true => pool::steps(layout, ids, &mut steps),
        false => filesystem::steps(layout, ids, &made, &mut steps),
    }
    steps.push(Step {
        phase: Phase::None,
        acts: vec![LayoutAct::Directory { path: at.display().to_string() }],
        does: Does::Directory(at.to_owned()),
    });
    steps.push(match is_pool {
        true => pool::mount(layout, &ids.group, at),
        false => filesystem::mount(layout, &made, at),
    });
    (steps, made)
}

/// What earlier owners left on the disks would be found again by udev, or by our own undo.
fn wipe(layout: &Layout) -> Step {
    let nodes = layout.all_disks().map(node);
    Step::run(
        Phase::None,
        words(&["wipefs", "--all", "--quiet"]).into_iter().chain(nodes).collect(),
    )
}

fn precondition(layout: &Layout) -> Vec<Step> {
    match layout.precondition.as_str() {
        "discard" => {
            let one = |disk| Step::run(Phase::Precondition, words(&["blkdiscard", &node(disk)]));
            layout.disks.iter().map(one).collect()
        }
        word if passes(word).all() > 0 => {
            let does = Does::Fill(passes(word));
            vec![Step { phase: Phase::Precondition, acts: Vec::new(), does }]
        }
        _ => Vec::new(),
    }
}
