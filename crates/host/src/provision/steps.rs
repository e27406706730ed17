//! (pure) What is done in which order to make a layout: the one list that is shown and that is run.

use std::path::Path;

use super::step::{Does, Ids, Phase, Step, node, words};
use super::{array, filesystem, volumes};
use crate::journal::Act;
use facts::layout::{Layout, Volumes};

/// All steps, in their order; `at` is where it is mounted.
pub fn all(layout: &Layout, ids: &Ids, at: &Path) -> Vec<Step> {
    let mut steps = vec![wipe(layout)];
    steps.extend(precondition(layout));
    let made = match layout.volumes() {
        Volumes::Md => array::steps(layout, ids, &mut steps),
        Volumes::Lvm => volumes::steps(layout, ids, &mut steps),
        Volumes::None | Volumes::Btrfs => {
            layout.disks.iter().map(|disk| disk.node.clone()).collect()
        }
    };
    filesystem::steps(layout, ids, &made, &mut steps);
    steps.push(Step {
        phase: Phase::None,
        acts: vec![Act::Directory { path: at.display().to_string() }],
        does: Does::Directory(at.to_owned()),
    });
    steps.push(filesystem::mount(layout, &made, at));
    steps
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
    let fill = |passes| {
        vec![Step { phase: Phase::Precondition, acts: Vec::new(), does: Does::Fill(passes) }]
    };
    match layout.precondition.as_str() {
        "discard" => {
            let one = |disk| Step::run(Phase::Precondition, words(&["blkdiscard", &node(disk)]));
            layout.disks.iter().map(one).collect()
        }
        "fill" => fill(1),
        "fill-twice" => fill(2),
        _ => Vec::new(),
    }
}
