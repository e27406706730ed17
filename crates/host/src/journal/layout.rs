//! Acts of provisioning, as the journal holds them, and how each is undone.
//!
//! No command line is stored: a line says what was about to be made of which disks, under which
//! name or UUID. That was chosen before it was given, so a kill at any point leaves a line that
//! tells ours from what somebody else has put there since. Making is the business of `provision`.
//!
//! After a reboot mounts are gone. Disks are known by serial number or WWID alone, and only what
//! still bears our own UUID or label is taken from them; an array that was assembled by itself is
//! stopped when it has our UUID and lies on our disks. A loop device is gone, and its file, which
//! is the user's, keeps what was written in it. Directories stay, and are removed when empty.

use crate::journal::identity;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fate::Fate;
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, block, clock, command};
use facts::identity::Identity;

mod array;
mod group;
mod mount;
mod pool;
mod share;
pub mod signature;

pub use array::same_uuid;
pub use group::lvm_config;
pub use mount::mounted_at;

/// How long something of ours that is in use may take to come free: udev looks into every device
/// that appears, and holds it meanwhile.
const BUSY_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a command may take that only changes names and superblocks.
const COMMAND_MAX: Duration = Duration::from_secs(120);

/// One thing of a layout that is about to be made, as the journal notes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutAct {
    /// An empty directory, to mount on.
    Directory {
        /// Absolute; a part of it begins with `brickyard`.
        path: String,
    },
    /// A superblock on a whole disk: of a file system, a journal, an array's member, a volume.
    Signature {
        /// The disk.
        disk: Identity,
        /// What blkid(8) will call it: `ext4`, `linux_raid_member`.
        kind: String,
        /// The UUID or label that it will bear.
        mark: String,
    },
    /// An md array.
    Array {
        /// The kernel's name: `md100`; assembled anew, it may have another.
        name: String,
        /// The array's UUID.
        uuid: String,
        /// The disks below, through arrays that it lies on.
        members: Vec<Identity>,
    },
    /// An LVM volume group with all its volumes.
    Group {
        /// Its name.
        name: String,
        /// Its physical volumes.
        members: Vec<Identity>,
    },
    /// A pool of ZFS with its dataset.
    Pool {
        /// Its name.
        name: String,
        /// Its disks, that of its log too.
        members: Vec<Identity>,
    },
    /// A mount.
    Mount {
        /// Where; absolute, without links; a part of it begins with `brickyard`.
        at: String,
        /// The disks below, that of an external journal too.
        disks: Vec<Identity>,
    },
    /// A mount of a server's directory by NFS.
    Share {
        /// Where; absolute, without links; a part of it begins with `brickyard`.
        at: String,
        /// `SERVER:/EXPORT`.
        source: String,
    },
}

impl LayoutAct {
    /// What people, and the line that ends it, call it.
    pub fn called(&self) -> String {
        match self {
            LayoutAct::Directory { path } => path.clone(),
            LayoutAct::Signature { disk, kind, mark } => {
                format!("the {kind} signature {mark} on {}", disk.name)
            }
            LayoutAct::Array { name, uuid, .. } => format!("the array {name} ({uuid})"),
            LayoutAct::Group { name, .. } => format!("the volume group {name}"),
            LayoutAct::Pool { name, .. } => format!("the pool {name}"),
            LayoutAct::Mount { at, .. } | LayoutAct::Share { at, .. } => {
                format!("the mount at {at}")
            }
        }
    }

    /// The disks that it is about.
    pub fn disks(&self) -> &[Identity] {
        match self {
            LayoutAct::Directory { .. } | LayoutAct::Share { .. } => &[],
            LayoutAct::Signature { disk, .. } => std::slice::from_ref(disk),
            LayoutAct::Array { members, .. }
            | LayoutAct::Group { members, .. }
            | LayoutAct::Pool { members, .. } => members,
            LayoutAct::Mount { disks, .. } => disks,
        }
    }

    /// Undoes it, whether it was done, half done or only noted.
    pub(super) fn undo(&self, host: &Host, same_boot: bool, dry: bool) -> Fate {
        let now = Now { host, same_boot, dry };
        match self {
            LayoutAct::Directory { path } => directory(&now, path),
            LayoutAct::Signature { disk, mark, .. } => signature::undo(&now, disk, mark),
            LayoutAct::Array { uuid, members, .. } => array::undo(&now, uuid, members),
            LayoutAct::Group { name, members } => group::undo(&now, name, members),
            LayoutAct::Pool { name, members } => pool::undo(&now, name, members),
            LayoutAct::Mount { at, disks } => mount::undo(&now, at, disks),
            LayoutAct::Share { at, source } => share::undo(&now, at, source),
        }
    }
}

/// Under which circumstances something is undone.
struct Now<'a> {
    host: &'a Host,
    same_boot: bool,
    dry: bool,
}

impl Now<'_> {
    /// What that very disk is called now; `None` when it is not there, or not to be recognised.
    fn name(&self, disk: &Identity) -> Option<String> {
        match self.same_boot {
            true => identity::still_there(disk, self.host).then(|| disk.name.clone()),
            false => identity::name_after_reboot(disk, self.host),
        }
    }

    fn names(&self, disks: &[Identity]) -> Vec<String> {
        disks.iter().filter_map(|disk| self.name(disk)).collect()
    }

    /// Whether all that `device` lies on is among these disks.
    fn lies_on(&self, device: &str, disks: &[String]) -> bool {
        let leaves = leaves(self.host, device);
        !leaves.is_empty() && leaves.iter().all(|leaf| disks.contains(leaf))
    }

    /// Runs a command, again for as long as it says that something is busy.
    fn run(&self, words: &[&str], at_most: Duration) -> Result<String, Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let begun_ns = clock::monotonic_ns();
        loop {
            let result = command::run(&words, at_most, &Stop::new());
            let waited = Duration::from_nanos(clock::monotonic_ns() - begun_ns);
            match result {
                Err(error) if error.errno == Some(libc::EBUSY) && waited < BUSY_MAX => {
                    std::thread::sleep(LOOK_EVERY);
                }
                result => return result,
            }
        }
    }
}

/// The disks that a device lies on, itself when it lies on none; empty when there is no such
/// device.
fn leaves(host: &Host, device: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = vec![device.to_owned()];
    // Devices cannot lie on themselves, but a recording may say so.
    for _ in 0..1000 {
        let Some(name) = next.pop() else { break };
        let below = host.list(format!("/sys/class/block/{name}/slaves"));
        if !below.is_empty() {
            next.extend(below);
        } else if host.exists(format!("/sys/class/block/{name}")) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether a path is one that we would make: a journal must not have us unmount or remove others.
fn is_our_place(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("")
        && !path.split('/').any(|part| part == ".." || part == ".")
        && parts.any(|part| part.starts_with("brickyard"))
}

fn not_our_place(path: &str) -> Fate {
    let why = "no part of it has a name that brickyard gives";
    Fate::Failed(Error::new(format!("cannot undo what the journal tells of {path}"), why))
}

fn directory(now: &Now<'_>, path: &str) -> Fate {
    if !is_our_place(path) {
        return not_our_place(path);
    }
    if now.host.path(path).symlink_metadata().is_err() {
        return Fate::Gone;
    }
    if mounted_at(now.host, path).is_some() && !now.dry {
        let what = format!("cannot remove {path}");
        return Fate::Failed(
            Error::new(what, "something is mounted there").hint(format!("umount {path}")),
        );
    }
    if !now.host.list(path).is_empty() && mounted_at(now.host, path).is_none() {
        return Fate::ChangedByOthers("files".into(), "nothing".into());
    }
    match now.dry {
        true => Fate::WouldRemove,
        // rmdir(2) removes an empty directory alone, never what a link leads to.
        false => now.host.remove_directory(path).map_or_else(Fate::Failed, |()| Fate::Removed),
    }
}

/// The node of a disk when it is really that disk's; else why it is not touched.
fn node_of(now: &Now<'_>, disk: &Identity) -> Result<std::path::PathBuf, Fate> {
    let Some(name) = now.name(disk) else {
        let known = |kind: &str| disk.known_as.as_ref().is_some_and(|word| word.starts_with(kind));
        return Err(match now.same_boot {
            true if identity::of_device(now.host, &disk.name).is_some() => Fate::AnotherDevice,
            false if !known("serial:") && !known("wwid:") && !known("file:") => Fate::Unrecognised,
            _ => Fate::Gone,
        });
    };
    let node = block::node(&name);
    let number = identity::of_device(now.host, &name).and_then(|device| device.number);
    match number.is_some_and(|number| block::is(&node, &number)) {
        true => Ok(node),
        false => {
            let what = format!("cannot undo what was made on {name}");
            let why = format!("{} is not its node", Path::new(&node).display());
            Err(Fate::Failed(Error::new(what, why)))
        }
    }
}

#[cfg(test)]
mod tests;
