//! The folder that `sos report` makes: outputs of commands in `sos_commands`, and copies of some
//! files of /proc and /sys.
//!
//! The outputs are read as what people paste. Of the copies those are taken that tell more than
//! they do: CPUs, nodes, board, and settings of the kernel. No link is followed.

use std::fs;
use std::path::Path;

use super::pasted::{self, Named};
use super::text::{Node, Tree};
use crate::sys::input::KERNEL;

/// Files of each, and bytes of one, that are looked at.
const FILES_MAX: usize = 20_000;
const BYTES_MAX: u64 = 4 << 20;
const DEPTH_MAX: usize = 8;
/// Whose files are copied as they are.
const COPIED: &[&str] = &[
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/sys",
    "proc/self/mountinfo",
    "proc/spl/kstat/zfs/arcstats",
    "sys/devices/system/cpu",
    "sys/devices/system/node",
    "sys/class/dmi/id",
    "sys/module/zfs/version",
    "sys/module/zfs/parameters",
];
/// Outputs that are read, by the beginnings of their names, and folders that they stand in.
const OUTPUTS: &[(&str, &[&str])] = &[
    ("block", &["lsblk"]),
    ("pci", &["lspci"]),
    ("processor", &["lscpu"]),
    ("md", &["mdadm_-D", "mdadm_--detail"]),
    ("hardware", &["dmidecode"]),
    ("networking", &["ethtool_", "ip_-j", "ip_-d_", "ip_-s_-d_link"]),
    ("nvme", &["nvme_list", "nvme_smart-log", "smartctl"]),
    ("ata", &["smartctl"]),
    ("scsi", &["smartctl"]),
    ("megaraid", &["smartctl"]),
    ("zfs", &["zpool_status", "zpool_list", "zpool_get", "zfs_get"]),
];

/// Whether a folder is such a report.
pub fn is_one(root: &Path) -> bool {
    root.join("sos_commands").is_dir()
}

/// What it tells.
///
/// # Errors
/// When nothing of it can be read.
pub fn tree(root: &Path) -> Result<Tree, String> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for (folder, beginnings) in OUTPUTS {
        let place = root.join("sos_commands").join(folder);
        let Ok(entries) = fs::read_dir(&place) else { continue };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names.into_iter().take(FILES_MAX) {
            if !beginnings.iter().any(|beginning| name.starts_with(beginning)) {
                continue;
            }
            if let Some(text) = text_of(&place.join(&name)) {
                // The name of the file is the command, with blanks and slashes made other signs.
                let command = name.replace(".dev.", "/dev/").replace('_', " ");
                let at = format!("sos_commands/{folder}/{name}");
                texts.push((at, format!("# {command}\n{text}")));
            }
        }
    }
    if let Some(text) = text_of(&root.join("proc/mdstat")) {
        texts.push(("proc/mdstat".to_owned(), text));
    }
    let named: Vec<Named<'_>> = texts.iter().map(|(name, text)| Named { name, text }).collect();
    let copied = COPIED.iter().copied().filter(|place| root.join(place).symlink_metadata().is_ok());
    let mut tree = pasted::gathered(&named, &copied.collect::<Vec<_>>())?;
    for place in COPIED {
        copy(root, place, 0, &mut FILES_MAX.clone(), &mut tree);
    }
    Ok(tree)
}

/// A file's text; none of what is no file of its own, or is no text.
fn text_of(path: &Path) -> Option<String> {
    let there = fs::symlink_metadata(path).ok()?;
    if !there.is_file() || there.len() > BYTES_MAX {
        return None;
    }
    String::from_utf8(KERNEL.read(path).ok()?).ok().filter(|text| !text.contains('\0'))
}

/// Copies a file, or the files below a folder, to the same place of the tree. What cannot be there
/// is left out.
fn copy(root: &Path, place: &str, depth: usize, left: &mut usize, tree: &mut Tree) {
    let path = root.join(place);
    let Ok(there) = fs::symlink_metadata(&path) else { return };
    if there.is_file() {
        if let Some(text) = text_of(&path).filter(|text| !text.trim().is_empty()) {
            let _ = tree.insert(&format!("/{place}"), Node::File(text.into_bytes()));
        }
        return;
    }
    if !there.is_dir() || depth >= DEPTH_MAX {
        return;
    }
    let Ok(entries) = fs::read_dir(&path) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if *left == 0 {
            return;
        }
        *left -= 1;
        copy(root, &format!("{place}/{name}"), depth + 1, left, tree);
    }
}
