//! What makes it dangerous to write on a disk: one table, looked through before any disk of a plan
//! is touched, and a claim at the moment of use.
//!
//! Nothing is assumed: what cannot be looked at is refused. A disk that bears something is taken
//! when `--wipe` names it; one that is in use is taken by nothing.

use std::path::{Path, PathBuf};

use crate::inventory::disk;
use crate::sys::{Error, Host};
use facts::inventory::disk::Disk;

mod bearing;
mod borne;
mod claim;
mod identity;
mod in_use;
mod scene;

pub use bearing::tags;
pub use claim::{Claim, claim};
use scene::{Scene, Seen};
pub use scene::{swapped_to, wipe_words};

/// A situation in which a disk is not written.
pub struct Danger {
    /// Kebab-case.
    pub name: &'static str,
    /// When it holds, as a clause.
    pub about: &'static str,
    /// What would allow the disk.
    pub allowed_by: &'static str,
    /// Whether `--wipe`, naming this very disk, allows it.
    wipe: bool,
    check: fn(&Seen<'_>) -> Option<DangerReason>,
}

/// Why a danger holds for a disk.
#[derive(Debug)]
struct DangerReason {
    why: String,
    /// What to type next; the danger's own remedy when there is nothing better.
    hint: Option<String>,
}

impl DangerReason {
    fn new(why: impl Into<String>) -> Option<DangerReason> {
        Some(DangerReason { why: why.into(), hint: None })
    }

    fn hint(why: impl Into<String>, hint: impl Into<String>) -> Option<DangerReason> {
        Some(DangerReason { why: why.into(), hint: Some(hint.into()) })
    }
}

/// Why one disk is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// As the plan names it, with the kernel's name: `serial:X (sdb)`; or what `--wipe` said.
    pub disk: String,
    /// Which of [`DANGERS`].
    pub danger: &'static str,
    /// What was seen.
    pub why: String,
    /// What to type next.
    pub hint: String,
}

const fn never(
    name: &'static str,
    about: &'static str,
    allowed_by: &'static str,
    check: fn(&Seen<'_>) -> Option<DangerReason>,
) -> Danger {
    Danger { name, about, allowed_by, wipe: false, check }
}

const fn unless_wiped(
    name: &'static str,
    about: &'static str,
    check: fn(&Seen<'_>) -> Option<DangerReason>,
) -> Danger {
    Danger { name, about, allowed_by: WIPE, wipe: true, check }
}

const WIPE: &str = "`--wipe` with its serial number";
const UNMOUNT: &str = "`umount` it";
const STOP: &str = "stop what holds it";
const ANOTHER: &str = "nothing: name another disk";

/// Every situation in which a disk is refused, in the order in which they are told. A new one is a
/// line here and a function beside.
pub const DANGERS: &[Danger] = &[
    never("partition", "it is a part of a disk", "the whole disk", identity::partition),
    never("stacked", "it is made of other devices", "the disks below it", identity::stacked),
    never(
        "not-a-device",
        "its node is no block device, or another one's",
        "a node that udev makes",
        identity::not_a_device,
    ),
    never(
        "lost-name",
        "the plan's name leads to no disk, or out of /dev, any more",
        "a name that leads to it",
        identity::lost_name,
    ),
    never(
        "wrong-serial",
        "the plan's name leads to another disk than before",
        "start again",
        identity::wrong_serial,
    ),
    never(
        "swapped",
        "another disk has taken its place since it was found",
        "start again",
        identity::swapped,
    ),
    never(
        "named-twice",
        "the plan names it twice, perhaps by two names",
        "name it once",
        identity::named_twice,
    ),
    never(
        "no-medium",
        "it has no bytes: no medium is in it",
        "put a medium in",
        identity::no_medium,
    ),
    never("too-small", "no file system fits on it", "a larger disk", identity::too_small),
    never(
        "read-only",
        "the kernel takes no writes for it",
        "`blockdev --setrw`, unless it is protected by a switch",
        identity::read_only,
    ),
    never("mounted", "it, or a partition of it, is mounted", UNMOUNT, in_use::mounted),
    never(
        "mounted-elsewhere",
        "it is mounted where another process lives, as in a container",
        "stop the container, or unmount it there",
        in_use::mounted_elsewhere,
    ),
    never(
        "btrfs-member",
        "it is one of several devices of a mounted btrfs",
        UNMOUNT,
        in_use::btrfs_member,
    ),
    never("swap", "the kernel swaps to it, or to a file that it shows", "`swapoff`", in_use::swap),
    never("root-disk", "the root file system lies on it", ANOTHER, in_use::root_disk),
    never(
        "own-disk",
        "the store, the program or a directory of the plan lies on it",
        "--store FILE on another disk",
        in_use::own_disk,
    ),
    never("md-member", "it is in an array of md that runs", "`mdadm --stop`", in_use::md_member),
    never(
        "lvm-in-use",
        "it holds logical volumes that are active",
        "`vgchange -an`",
        in_use::lvm_in_use,
    ),
    never(
        "multipath",
        "it is one path to a disk that has several",
        "`multipath -f`, and one path named by its world-wide name",
        in_use::multipath,
    ),
    never(
        "dm-holder",
        "the device mapper holds it, as an encrypted volume does",
        "`dmsetup remove`, `cryptsetup close`",
        in_use::dm_holder,
    ),
    never(
        "bcache",
        "bcache holds it, as a cache or behind one",
        "stop that bcache",
        in_use::bcache,
    ),
    never("held", "another driver holds it", STOP, in_use::held),
    never(
        "shown-twice",
        "its file is shown by a second loop device",
        "`losetup -d` one of them",
        in_use::shown_twice,
    ),
    never(
        "loop-backing",
        "a loop device shows it, or a partition of it",
        "`losetup -d`",
        in_use::loop_backing,
    ),
    never(
        "open",
        "another program has it open, as a virtual machine does",
        "end that program",
        in_use::open_elsewhere,
    ),
    never("busy", "the kernel does not give it to us alone (O_EXCL)", STOP, in_use::busy),
    never(
        "two-runs",
        "another run, or another tool that formats disks, has locked it",
        "wait until it has ended",
        in_use::two_runs,
    ),
    never(
        "unreadable",
        "what it bears cannot be found out",
        "`blkid`, and a disk that can be read",
        borne::unreadable,
    ),
    unless_wiped(
        "network-disk",
        "it lies on another machine, which may give it to others",
        borne::network_disk,
    ),
    unless_wiped("partitions", "it has partitions", borne::partitions),
    unless_wiped("partition-table", "it bears a partition table", borne::partition_table),
    unless_wiped(
        "raid-member",
        "it bears the mark of an array of md that does not run",
        borne::raid_member,
    ),
    unless_wiped(
        "raid-card",
        "it bears the mark of a RAID card, or of a mainboard's RAID",
        borne::raid_card,
    ),
    unless_wiped("lvm-member", "it bears the mark of LVM", borne::lvm_member),
    unless_wiped("zfs-member", "it bears the mark of a ZFS pool", borne::zfs_member),
    unless_wiped("bcache-member", "it bears the mark of bcache", borne::bcache_member),
    unless_wiped("encrypted", "it bears the mark of an encrypted volume", borne::encrypted),
    unless_wiped("ambiguous", "it bears more than one mark", borne::ambiguous),
    unless_wiped("signature", "it bears a file system, or swap space", borne::signature),
    unless_wiped("data", "it bears no mark, and is not empty", borne::data),
];

/// Looks at disks that are to be written; an error tells all that is against it, not only what was
/// found first. To be called before any of them is claimed: a claim of our own shows as another
/// run's. `wipe` is what the person confirms, `avoid` what must survive: the store, the program,
/// directories of the plan.
///
/// # Errors
/// Each disk's dangers, and each word of `wipe` that names none of the disks.
pub fn check(
    host: &Host,
    disks: &[Disk],
    wipe: &[String],
    avoid: &[PathBuf],
) -> Result<(), Vec<Refusal>> {
    let mut refusals: Vec<Refusal> =
        wipe.iter().filter_map(|word| wiped_elsewhere(host, disks, word)).collect();
    if !disks.is_empty() {
        match Scene::look(host, disks, wipe, avoid) {
            Ok(scene) => refusals.extend(scene.seen().iter().flat_map(refusals_of)),
            Err(error) => refusals.push(Refusal {
                disk: "every disk".to_owned(),
                danger: "unreadable",
                why: error.to_string(),
                hint: "mount /proc and /sys: what cannot be looked at is not written".to_owned(),
            }),
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// What is against one disk.
fn refusals_of(seen: &Seen<'_>) -> Vec<Refusal> {
    let there = DANGERS.iter().filter(|danger| !(danger.wipe && seen.confirmed()));
    let found = there.filter_map(|danger| Some((danger, (danger.check)(seen)?)));
    let refusal = |(danger, found): (&Danger, DangerReason)| Refusal {
        disk: seen.title(),
        danger: danger.name,
        why: found.why,
        hint: found.hint.unwrap_or_else(|| match danger.wipe {
            true => format!("to destroy all that is on it: --wipe {}", quoted(&seen.wipe_word())),
            false => danger.allowed_by.to_owned(),
        }),
    };
    found.map(refusal).collect()
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

/// A word of `--wipe` that names no disk of the plan: a slip of the finger, or the wrong plan.
fn wiped_elsewhere(host: &Host, disks: &[Disk], word: &str) -> Option<Refusal> {
    if disks.iter().any(|disk| scene::wipe_words(host, disk).iter().any(|own| own == word)) {
        return None;
    }
    let words: Vec<String> =
        disks.iter().filter_map(|disk| scene::wipe_words(host, disk).into_iter().next()).collect();
    let hint = match words.is_empty() {
        true => "leave --wipe out: this plan writes on no disk as a whole".to_owned(),
        false => format!("its disks are {}", words.join(", ")),
    };
    Some(Refusal {
        disk: format!("--wipe {word}"),
        danger: "wrong-serial",
        why: "the plan writes on no disk of that serial number".to_owned(),
        hint,
    })
}

/// All refusals as one error, a line each.
pub fn refused(refusals: &[Refusal]) -> Error {
    let line = |refusal: &Refusal| {
        let Refusal { disk, danger, why, hint } = refusal;
        format!("\n  {disk}: {why} ({danger})\n    {hint}")
    };
    let why: String = refusals.iter().map(line).collect();
    Error::new("cannot write on the disks of this plan", why)
        .hint("nothing was written; the lines above say what would allow each disk")
}

/// Finds the disks that a plan names.
///
/// # Errors
/// All names that lead to no disk.
pub fn find_all(host: &Host, named: &[String]) -> Result<Vec<Disk>, Error> {
    let (mut disks, mut lost) = (Vec::new(), Vec::new());
    for name in named {
        match disk::find(host, name) {
            Ok(disk) => disks.push(disk),
            Err(error) => lost.push(error),
        }
    }
    if lost.len() < 2 {
        return lost.pop().map_or(Ok(disks), Err);
    }
    let line = |error: &Error| {
        format!("\n  {error}\n    {}", error.hint.as_deref().unwrap_or("change the plan"))
    };
    let why: String = lost.iter().map(line).collect();
    Err(Error::new("cannot find the disks of this plan", why)
        .hint("the lines above say what to write instead"))
}

/// Absolute, whether or not it exists.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
