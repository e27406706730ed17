//! (pure) A step of making a layout, and the words for it.

use std::path::PathBuf;

use crate::journal::LayoutAct;
use crate::sys::command;
use facts::identity::Identity;
use facts::inventory::disk::Disk;
use facts::layout::precondition::Passes;
use facts::layout::{Layout, Times};

/// Which measured time a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// To none: looking, wiping, making a directory.
    None,
    /// [`super::Times::precondition_ns`].
    Precondition,
    /// [`super::Times::array_ns`].
    Array,
    /// [`super::Times::mkfs_ns`].
    Mkfs,
    /// [`super::Times::mount_ns`].
    Mount,
    /// [`super::Times::rebuild_ns`].
    Rebuild,
    /// [`super::Times::fsck_ns`].
    Fsck,
    /// [`super::Times::fstrim_ns`].
    Fstrim,
}

impl Phase {
    /// Counts what a step of it took, ns.
    pub fn add(self, took_ns: u64, times: &mut Times) {
        let sum = match self {
            Phase::None => return,
            Phase::Precondition => &mut times.precondition_ns,
            Phase::Array => &mut times.array_ns,
            Phase::Rebuild => &mut times.rebuild_ns,
            Phase::Mkfs => &mut times.mkfs_ns,
            Phase::Mount => &mut times.mount_ns,
            Phase::Fsck => &mut times.fsck_ns,
            Phase::Fstrim => &mut times.fstrim_ns,
        };
        *sum += took_ns;
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where its time counts.
    pub phase: Phase,
    /// What is noted in the journal before it.
    pub acts: Vec<LayoutAct>,
    /// What is done.
    pub does: Does,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// Runs a program, without a shell.
    Run(Vec<String>),
    /// Writes every byte of all disks, so often.
    Fill(Passes),
    /// Waits until an array is in the state asked for.
    Settle(String, Goal),
    /// Makes durable what was written to these nodes.
    Flush(Vec<PathBuf>),
    /// Waits until udev has looked at all that changed before.
    Udev,
    /// Makes a directory that only we may enter.
    Directory(PathBuf),
}

/// When an array is in the state asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All members hold what they should, and nothing works in the background.
    Clean,
    /// At once; how far it is is noted.
    Initialising,
    /// One member is missing.
    Degraded,
    /// A member is being filled; how far it is is noted.
    Rebuilding,
    /// A member that came in blank holds what it should, and nothing works in the background; what
    /// may have bounded how fast that went is noted.
    Rebuilt,
}

impl Goal {
    /// As the end of "wait until md100 ...".
    pub fn words(self) -> &'static str {
        match self {
            Goal::Clean => "is synchronised",
            Goal::Initialising => "synchronises",
            Goal::Degraded => "is degraded",
            Goal::Rebuilding => "rebuilds",
            Goal::Rebuilt => "is rebuilt",
        }
    }
}

/// Names and UUIDs of a layout, chosen before anything is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutIds {
    /// Of the file system.
    pub uuid: String,
    /// Of the file system where it takes no UUID; at most 16 bytes, as much as ext4, JFS and
    /// ReiserFS hold.
    pub label: String,
    /// The volume group.
    pub group: String,
    /// Numbers of md arrays that are free, three of them.
    pub arrays: [u32; 3],
    /// Their UUIDs.
    pub array_uuids: [String; 3],
    /// Of an external journal of ext3 or ext4; one of XFS has its file system's.
    pub journal_uuid: String,
    /// UUIDs of physical volumes, as LVM writes them.
    pub volume_uuids: Vec<String>,
}

impl LayoutIds {
    /// Stand-ins, to show what would be run.
    pub fn shown(disks: usize) -> LayoutIds {
        LayoutIds {
            uuid: "UUID".into(),
            label: "brickyard-ID".into(),
            group: "brickyard_ID".into(),
            arrays: [100, 101, 102],
            array_uuids: ["UUID".into(), "UUID".into(), "UUID".into()],
            journal_uuid: "UUID".into(),
            volume_uuids: vec!["UUID".into(); disks],
        }
    }
}

impl Step {
    /// A command that changes nothing which the journal does not hold already.
    pub fn run(phase: Phase, words: Vec<String>) -> Step {
        Step { phase, acts: Vec::new(), does: Does::Run(words) }
    }

    /// The same step, with what is noted before it.
    #[must_use]
    pub fn noting(self, acts: Vec<LayoutAct>) -> Step {
        Step { acts, ..self }
    }

    /// As a line for people; commands can be typed as they stand.
    pub fn shown(&self, layout: &Layout) -> String {
        let nodes = |nodes: &[PathBuf]| {
            nodes.iter().map(|node| node.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        match &self.does {
            Does::Run(words) => command::line(words),
            Does::Fill(passes) => {
                let disks: Vec<PathBuf> = layout.disks.iter().map(|d| d.node.clone()).collect();
                let often = if passes.in_order == 1 { "once" } else { "twice" };
                let then = match passes.at_random {
                    0 => String::new(),
                    times => {
                        format!(
                            ", then 4 KiB at random places of it, {times} times its size in all"
                        )
                    }
                };
                format!("# write every byte of {} {often}{then}", nodes(&disks))
            }
            Does::Settle(array, goal) => format!("# wait until {array} {}", goal.words()),
            Does::Flush(all) => format!("sync {}", nodes(all)),
            Does::Udev => "# wait until udev is through: udevadm settle".to_owned(),
            Does::Directory(path) => format!("mkdir -m 0700 {}", path.display()),
        }
    }
}

/// Words of a command.
pub fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// A node as a word.
pub fn node(disk: &Disk) -> String {
    disk.node.display().to_string()
}

/// The superblocks that are about to be put on these disks.
pub fn signatures(disks: &[&Disk], kind: &str, mark: &str) -> Vec<LayoutAct> {
    let one = |disk: &&Disk| LayoutAct::Signature {
        disk: disk.identity.clone(),
        kind: kind.to_owned(),
        mark: mark.to_owned(),
    };
    disks.iter().map(one).collect()
}

/// What tells these disks from others.
pub fn identities(disks: &[Disk]) -> Vec<Identity> {
    disks.iter().map(|disk| disk.identity.clone()).collect()
}
