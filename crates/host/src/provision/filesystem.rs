//! File systems: one table of kinds, their mkfs and their mount.
//!
//! Each gets a UUID or a label that was chosen, and noted, before. Force flags are given because
//! the disks were claimed and wiped before. Where mkfs would discard a disk that was filled on
//! purpose, it is told not to; ext4 writes its inode tables and journal at once, not in the
//! background of the trials that follow, unless the plan's mkfs-options say otherwise.

use std::path::{Path, PathBuf};

use super::step::{Does, LayoutIds, Phase, Step, identities, node, signatures, words};
use crate::journal::LayoutAct;
use facts::inventory::disk::Disk;
use facts::layout::filesystem::{FilesystemKind, kind, profiles};
use facts::layout::{Layout, Volumes, precondition};

/// An external journal takes at most so much of its disk, bytes: XFS has no log over 2 GiB, and
/// nobody gains by more.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;

/// What the superblock of a kind bears, by which it is known to be ours.
fn mark<'a>(kind: &FilesystemKind, ids: &'a LayoutIds) -> &'a str {
    if kind.uuid.is_some() { &ids.uuid } else { &ids.label }
}

/// Adds the steps that make it on these nodes, until its bytes are durable.
pub fn steps(layout: &Layout, ids: &LayoutIds, made: &[PathBuf], steps: &mut Vec<Step>) {
    let Some(kind) = kind(&layout.filesystem) else { return };
    let mut acts = Vec::new();
    if matches!(layout.volumes(), Volumes::None | Volumes::Btrfs) {
        let disks: Vec<&Disk> = layout.disks.iter().collect();
        acts = signatures(&disks, kind.name, mark(kind, ids));
    }
    if let Some(journal) = &layout.journal {
        match kind.name {
            "xfs" => acts.extend(signatures(&[journal], "xfs_external_log", &ids.uuid)),
            _ => steps.push(journal_of_ext(layout, ids, journal)),
        }
    }
    steps.push(Step::run(Phase::Mkfs, mkfs(layout, kind, ids, made)).noting(acts));
    let nodes = made.iter().cloned().chain(layout.journal.iter().map(|disk| disk.node.clone()));
    let does = Does::Flush(nodes.collect());
    steps.push(Step { phase: Phase::Mkfs, acts: Vec::new(), does });
}

/// The block size of an ext file system with an external journal: both must have the same.
fn ext_block(layout: &Layout) -> &str {
    let options = &layout.mkfs_options;
    let given = options.windows(2).find(|pair| pair[0] == "-b").map(|pair| pair[1].as_str());
    given.unwrap_or("4096")
}

fn journal_of_ext(layout: &Layout, ids: &LayoutIds, journal: &Disk) -> Step {
    let block = ext_block(layout);
    let bytes = block.parse::<u64>().unwrap_or(4096).max(1024);
    let blocks = (journal.size_bytes.min(JOURNAL_BYTES_MAX) / bytes).to_string();
    let command = words(&[
        "mke2fs",
        "-q",
        "-F",
        "-O",
        "journal_dev",
        "-b",
        block,
        "-U",
        &ids.journal_uuid,
        &node(journal),
        &blocks,
    ]);
    Step::run(Phase::Mkfs, command).noting(signatures(&[journal], "jbd", &ids.journal_uuid))
}

fn mkfs(layout: &Layout, kind: &FilesystemKind, ids: &LayoutIds, made: &[PathBuf]) -> Vec<String> {
    let filled = precondition::fills(&layout.precondition);
    let mut command = words(kind.mkfs);
    if filled {
        command.extend(words(kind.keep));
    }
    let mut options = layout.mkfs_options.clone();
    if kind.is_ext() {
        extended(kind, filled, &mut options, &mut command);
    }
    if layout.volumes() == Volumes::Btrfs
        && let Some((data, metadata)) = profiles(&layout.raid)
    {
        command.extend(words(&["-d", data]));
        let given = ["-m", "--metadata"];
        if !options.iter().any(|word| given.iter().any(|given| word.starts_with(given))) {
            command.extend(words(&["-m", metadata]));
        }
    }
    if let Some(journal) = &layout.journal {
        match kind.name {
            "xfs" => {
                let size = (journal.size_bytes > JOURNAL_BYTES_MAX).then_some(",size=1g");
                let log = format!("logdev={}{}", node(journal), size.unwrap_or_default());
                command.extend(words(&["-l", &log]));
            }
            _ => {
                if !options.iter().any(|word| word == "-b") {
                    command.extend(words(&["-b", ext_block(layout)]));
                }
                command.extend(words(&["-J", &format!("device={}", node(journal))]));
            }
        }
    }
    command.extend(options);
    match kind.uuid {
        Some("-m") => command.extend(words(&["-m", &format!("uuid={}", ids.uuid)])),
        Some(long) if long.starts_with("--") => command.push(format!("{long}={}", ids.uuid)),
        Some(flag) => command.extend(words(&[flag, &ids.uuid])),
        None => command.extend(words(&[kind.label, &ids.label])),
    }
    command.extend(made.iter().map(|node| node.display().to_string()));
    command
}

/// mke2fs takes one -E alone, so that ours and the plan's are joined; the plan's words win.
fn extended(
    kind: &FilesystemKind,
    filled: bool,
    options: &mut Vec<String>,
    command: &mut Vec<String>,
) {
    let mut own = Vec::new();
    if kind.name == "ext4" {
        own.extend(["lazy_itable_init=0", "lazy_journal_init=0"]);
    }
    if filled {
        own.push("nodiscard");
    }
    let place = options.windows(2).position(|pair| pair[0] == "-E");
    let given = place.map(|place| options.drain(place..place + 2).nth(1).unwrap_or_default());
    let given = given.unwrap_or_default();
    let names = |word: &str| word.split('=').next().unwrap_or_default().replace("nodis", "dis");
    let says = |own: &str| given.split(',').any(|word| names(word) == names(own));
    own.retain(|word| !says(word));
    let given = Some(given.as_str()).filter(|given| !given.is_empty());
    let all: Vec<&str> = own.into_iter().chain(given).collect();
    if !all.is_empty() {
        command.extend(words(&["-E", &all.join(",")]));
    }
}

/// The step that mounts it. By mount(8), not mount(2): it knows which options are flags, and calls
/// the helpers that some kinds need (the cleaner of NILFS2). No option is added that the plan does
/// not give, but where to find the other devices.
pub fn mount(layout: &Layout, made: &[PathBuf], at: &Path) -> Step {
    let mut options: Vec<String> =
        Some(layout.mount_options.clone()).filter(|words| !words.is_empty()).into_iter().collect();
    if let Some(journal) = layout.journal.as_ref().filter(|_| layout.filesystem == "xfs") {
        options.push(format!("logdev={}", node(journal)));
    }
    options.extend(made.iter().skip(1).map(|node| format!("device={}", node.display())));
    let mut command = words(&["mount", "-t", &layout.filesystem]);
    if !options.is_empty() {
        command.extend(words(&["-o", &options.join(",")]));
    }
    command.extend(made.first().map(|node| node.display().to_string()));
    command.push(at.display().to_string());
    let mut disks = identities(&layout.disks);
    disks.extend(layout.journal.iter().map(|disk| disk.identity.clone()));
    let at = at.display().to_string();
    Step::run(Phase::Mount, command).noting(vec![LayoutAct::Mount { at, disks }])
}
