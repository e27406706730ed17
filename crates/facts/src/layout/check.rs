//! (pure) Which layouts make sense at all, on any machine.

use super::filesystem::{self, KINDS};
use super::{Layout, Volumes, level as levels};

/// Why a layout makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Senseless {
    /// As the end of a sentence: "raid5 takes 3 disks or more, and there are 2".
    pub why: String,
}

impl std::fmt::Display for Senseless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

type Checked = Result<(), Senseless>;

fn no(why: impl Into<String>) -> Checked {
    Err(Senseless { why: why.into() })
}

/// Fewest disks of each level; md(4), btrfs(5).
const FEWEST: [(&str, usize); 9] = [
    ("single", 1),
    ("raid0", 2),
    ("raid1", 2),
    ("raid4", 3),
    ("raid5", 3),
    ("raid6", 4),
    ("raid10", 4),
    ("raid50", 6),
    ("raid60", 8),
];
/// Options of mount(8) that would not mount what was made, or elsewhere.
const NO_MOUNT: [&str; 8] =
    ["bind", "rbind", "remount", "move", "loop", "noauto", "subvol", "subvolid"];
const STATES: [&str; 5] = ["clean", "initialising", "degraded", "rebuilding", "rebuilt"];
const PRECONDITIONS: [&str; 5] = ["none", "discard", "fill", "fill-twice", "random"];

/// All rules, the first that is broken.
pub fn check(layout: &Layout) -> Checked {
    disks(layout)?;
    level(layout)?;
    chunk(layout)?;
    kind(layout)?;
    properties(layout)?;
    journal(layout)?;
    state(layout)?;
    snapshot(layout)?;
    upkeep(layout)?;
    match layout.precondition.as_str() {
        known if PRECONDITIONS.contains(&known) => Ok(()),
        other => no(format!("precondition {other} is none of {}", PRECONDITIONS.join(", "))),
    }
}

fn disks(layout: &Layout) -> Checked {
    let all: Vec<&str> = layout.all_disks().map(|disk| disk.name.as_str()).collect();
    let twice = all.iter().enumerate().find(|(place, name)| all[..*place].contains(name));
    match twice {
        Some((_, name)) => no(format!("the disk {name} is taken twice")),
        None if layout.disks.is_empty() => no("there is no disk"),
        None => Ok(()),
    }
}

fn level(layout: &Layout) -> Checked {
    let (raid, count) = (layout.raid.as_str(), layout.disks.len());
    let Some((_, fewest)) = FEWEST.iter().find(|(name, _)| *name == raid) else {
        let names: Vec<&str> = FEWEST.iter().map(|(name, _)| *name).collect();
        return no(format!("raid {raid} is none of {}", names.join(", ")));
    };
    if count < *fewest {
        let are = if count == 1 { "is" } else { "are" };
        return no(format!("{raid} takes {fewest} disks or more, and there {are} {count}"));
    }
    if matches!(raid, "raid10" | "raid50" | "raid60") && count % 2 == 1 {
        return no(format!("{raid} takes an even number of disks, and there are {count}"));
    }
    match layout.volumes.as_str() {
        other if layout.filesystem == "zfs" && other != "zfs" => {
            no(format!("zfs lies on a pool of its own: volumes=zfs, not {other}"))
        }
        "md" if raid == "single" && count > 1 => {
            no(format!("single takes one disk of md, and there are {count}"))
        }
        "md" => Ok(()),
        "lvm" if matches!(raid, "single" | "raid0") => Ok(()),
        "lvm" => no(format!("LVM is used for single and raid0 alone, not for {raid}")),
        "btrfs" if raid == "single" && count == 1 => Ok(()),
        "btrfs" if layout.filesystem != "btrfs" => {
            no(format!("btrfs makes arrays of its own only, not for {}", layout.filesystem))
        }
        "btrfs" if filesystem::profiles(raid).is_none() => no(format!("btrfs has no {raid}")),
        "btrfs" => Ok(()),
        "zfs" if layout.filesystem != "zfs" => {
            no(format!("pools of ZFS are made for zfs alone, not for {}", layout.filesystem))
        }
        "zfs" if filesystem::vdevs(raid, count).is_none() => no(format!("ZFS has no {raid}")),
        "zfs" if raid == "single" && count > 1 => {
            no(format!("single takes one disk of ZFS, and there are {count}"))
        }
        "zfs" => Ok(()),
        other => no(format!("volumes {other} is none of md, btrfs, lvm, zfs")),
    }
}

fn chunk(layout: &Layout) -> Checked {
    let Some(bytes) = layout.chunk_bytes else { return Ok(()) };
    match layout.volumes() {
        _ if matches!(layout.raid.as_str(), "single" | "raid1") => {
            no(format!("{} has no chunks", layout.raid))
        }
        Volumes::Btrfs => no("btrfs always stripes by 64 KiB: leave chunk-size out"),
        Volumes::Zfs => no("ZFS stripes by records: say recordsize, not chunk-size"),
        _ if bytes < 4096 || !bytes.is_power_of_two() || bytes > 1 << 30 => {
            no(format!("a chunk is a power of two of 4 KiB or more, and {bytes} bytes is not"))
        }
        _ => Ok(()),
    }
}

fn kind(layout: &Layout) -> Checked {
    let name = layout.filesystem.as_str();
    let Some(kind) = filesystem::kind(name) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return no(format!("filesystem {name} is none of {}", names.join(", ")));
    };
    let taken = |word: &&String| {
        kind.taken.iter().any(|taken| {
            // `-Lname` is one word, `-n size=8k` of XFS is not `-name`.
            if taken.ends_with('=') { word.contains(taken) } else { word.starts_with(taken) }
        })
    };
    if let Some(word) = layout.mkfs_options.iter().find(taken) {
        return no(format!("mkfs-options may not say {word}: it would undo what brickyard gives"));
    }
    let mut options = layout.mount_options.split(',');
    if layout.mount_options.contains(char::is_whitespace) {
        return no("mount-options are joined by commas, without blanks");
    }
    let refused = |word: &&str| NO_MOUNT.contains(&word.split('=').next().unwrap_or_default());
    match options.find(refused) {
        Some(word) => no(format!("mount-options may not say {word}: it mounts something else")),
        None => Ok(()),
    }
}

fn properties(layout: &Layout) -> Checked {
    match layout.properties.first() {
        Some((name, _)) if layout.filesystem != "zfs" => {
            no(format!("{name} is a property of ZFS, and {} has none", layout.filesystem))
        }
        _ => Ok(()),
    }
}

fn journal(layout: &Layout) -> Checked {
    match (&layout.journal, layout.filesystem.as_str()) {
        (None, _) | (Some(_), "ext3" | "ext4" | "xfs" | "zfs") => Ok(()),
        (Some(_), "jfs") => no(
            "an external journal of jfs bears no mark by which undo would know it: it is not built",
        ),
        (Some(_), other) => no(format!("{other} has no external journal")),
    }
}

fn state(layout: &Layout) -> Checked {
    let state = layout.array_state.as_str();
    if !STATES.contains(&state) {
        return no(format!("array-state {state} is none of {}", STATES.join(", ")));
    }
    match layout.volumes() {
        _ if state == "clean" => Ok(()),
        Volumes::Md if levels::is_redundant(&layout.raid) => Ok(()),
        Volumes::Md | Volumes::None => {
            no(format!("{} cannot be {state}: it has no spare bytes", layout.raid))
        }
        Volumes::Btrfs | Volumes::Lvm | Volumes::Zfs => {
            no(format!("array-state={state} is built for md alone"))
        }
    }
}

fn snapshot(layout: &Layout) -> Checked {
    match layout.snapshot.as_str() {
        "none" => Ok(()),
        "btrfs" if layout.filesystem == "btrfs" => Ok(()),
        "btrfs" => no(format!("{} has no snapshots of btrfs", layout.filesystem)),
        "zfs" if layout.filesystem == "zfs" => Ok(()),
        "zfs" => no(format!("{} has no snapshots of ZFS", layout.filesystem)),
        "lvm" if layout.volumes() == Volumes::Lvm => Ok(()),
        "lvm" => no("a snapshot of LVM takes volumes=lvm"),
        other => no(format!("snapshot {other} is none of none, lvm, btrfs, zfs")),
    }
}

fn upkeep(layout: &Layout) -> Checked {
    let Some(kind) = filesystem::kind(&layout.filesystem) else { return Ok(()) };
    match kind.check {
        Err(why) if layout.fsck => no(format!("fsck is not for {}: {why}", kind.name)),
        _ if layout.fstrim && kind.name == "zfs" => {
            no("fstrim is not for zfs: zpool trim discards on a pool, which is another thing")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::testing::layout;

    fn why(change: impl FnOnce(&mut Layout)) -> String {
        let mut layout = layout("md", "raid5", 4);
        change(&mut layout);
        check(&layout).err().map_or("makes sense".into(), |senseless| senseless.why)
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_says_why() {
        for (volumes, raid, count, says) in [
            ("md", "raid5", 2, "raid5 takes 3 disks or more, and there are 2"),
            ("btrfs", "raid5", 2, "raid5 takes 3 disks or more, and there are 2"),
            ("md", "raid10", 5, "raid10 takes an even number of disks, and there are 5"),
            ("md", "raid50", 4, "raid50 takes 6 disks or more, and there are 4"),
            ("md", "raid60", 9, "raid60 takes an even number of disks, and there are 9"),
            ("md", "single", 2, "single takes one disk of md, and there are 2"),
            (
                "md",
                "raid7",
                4,
                "raid raid7 is none of single, raid0, raid1, raid4, raid5, raid6, \
              raid10, raid50, raid60",
            ),
            ("lvm", "raid1", 2, "LVM is used for single and raid0 alone, not for raid1"),
            ("btrfs", "raid50", 8, "btrfs has no raid50"),
            ("btrfs", "raid4", 4, "btrfs has no raid4"),
            ("zfs", "raid0", 4, "pools of ZFS are made for zfs alone, not for ext4"),
            ("ccd", "raid0", 4, "volumes ccd is none of md, btrfs, lvm, zfs"),
            ("md", "raid0", 0, "there is no disk"),
        ] {
            let mut layout = layout(volumes, raid, count);
            if volumes == "btrfs" {
                layout.filesystem = "btrfs".into();
            }
            assert_eq!(check(&layout).unwrap_err().why, says);
        }
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        assert_eq!(why(|_| {}), "makes sense");
        let own = |layout: &mut Layout| layout.volumes = "btrfs".into();
        assert!(why(own).contains("not for ext4"));
        assert!(why(|layout| layout.chunk_bytes = Some(5000)).contains("power of two"));
        assert!(why(|layout| layout.chunk_bytes = Some(0)).contains("power of two"));
        assert_eq!(why(|layout| layout.chunk_bytes = Some(65536)), "makes sense");
        let mirror = |layout: &mut Layout| {
            (layout.raid, layout.chunk_bytes) = ("raid1".into(), Some(65536));
        };
        assert_eq!(why(mirror), "raid1 has no chunks");
        assert!(why(|layout| layout.filesystem = "zfs".into()).contains("volumes=zfs, not md"));
        assert!(why(|layout| layout.filesystem = "ext5".into()).contains("none of ext4, ext3"));
        let options = |word: &str| why(|layout| layout.mkfs_options = vec![word.into()]);
        assert!(options("-Lmine").contains("may not say -Lmine"));
        assert_eq!(options("-T"), "makes sense");
        let mounted = |word: &str| why(|layout| layout.mount_options = word.into());
        assert!(mounted("noatime,bind").contains("may not say bind"));
        assert!(mounted("noatime, discard").contains("without blanks"));
        assert_eq!(mounted("noatime,data=ordered"), "makes sense");
        assert!(why(|layout| layout.array_state = "dirty".into()).contains("none of clean"));
        let striped = |layout: &mut Layout| {
            (layout.raid, layout.array_state) = ("raid0".into(), "degraded".into());
        };
        assert!(why(striped).contains("raid0 cannot be degraded"));
        assert!(why(|layout| layout.snapshot = "lvm".into()).contains("volumes=lvm"));
        assert!(why(|layout| layout.snapshot = "btrfs".into()).contains("ext4 has no"));
        assert!(why(|layout| layout.precondition = "twice".into()).contains("is none of none"));
        for word in PRECONDITIONS {
            assert_eq!(why(|layout| layout.precondition = word.into()), "makes sense");
        }
    }

    #[test]
    fn a_pool_of_zfs_has_its_own_levels_and_properties() {
        let pool = |raid: &str, disks: usize, change: fn(&mut Layout)| {
            let mut layout = layout("zfs", raid, disks);
            layout.filesystem = "zfs".into();
            change(&mut layout);
            check(&layout).err().map_or("makes sense".into(), |senseless| senseless.why)
        };
        for (raid, disks) in [
            ("single", 1),
            ("raid0", 3),
            ("raid1", 2),
            ("raid10", 4),
            ("raid5", 3),
            ("raid6", 4),
            ("raid50", 6),
            ("raid60", 8),
        ] {
            assert_eq!(pool(raid, disks, |_| {}), "makes sense", "{raid}");
            let groups = filesystem::vdevs(raid, disks).unwrap();
            assert_eq!(groups.iter().map(|(_, of)| of).sum::<usize>(), disks, "{raid}");
        }
        assert_eq!(pool("raid4", 4, |_| {}), "ZFS has no raid4");
        assert_eq!(pool("single", 2, |_| {}), "single takes one disk of ZFS, and there are 2");
        let chunk = pool("raid0", 2, |it| it.chunk_bytes = Some(65536));
        assert!(chunk.contains("recordsize"), "{chunk}");
        let degraded = pool("raid5", 3, |it| it.array_state = "degraded".into());
        assert!(degraded.contains("for md alone"), "{degraded}");
        let moved = pool("raid0", 2, |it| it.mkfs_options = vec!["mountpoint=/srv".into()]);
        assert!(moved.contains("may not say mountpoint=/srv"), "{moved}");
        assert_eq!(pool("raid0", 2, |it| it.snapshot = "zfs".into()), "makes sense");
        let small = |it: &mut Layout| it.properties = vec![("recordsize".into(), "16384".into())];
        assert_eq!(pool("raid0", 2, small), "makes sense");
        assert_eq!(why(small), "recordsize is a property of ZFS, and ext4 has none");
    }

    /// No tool may change what the trial after it finds, and what cannot be checked so is said.
    #[test]
    fn what_cannot_be_checked_without_changing_it_is_refused_by_name() {
        let with = |kind: &'static str| {
            why(move |this| {
                *this = Layout { filesystem: kind.into(), fsck: true, ..layout("md", "single", 1) };
                this.volumes = if kind == "zfs" { "zfs".into() } else { "md".into() };
            })
        };
        for kind in KINDS.iter().filter(|kind| kind.check.is_ok()) {
            assert_eq!(with(kind.name), "makes sense");
        }
        assert_eq!(
            with("nilfs2"),
            "fsck is not for nilfs2: its tools have no program that checks it"
        );
        assert!(with("reiserfs").ends_with("reiserfsck --check writes its superblock"));
        assert!(with("zfs").contains("zpool scrub checks a pool in use"), "{}", with("zfs"));
        let trimmed = |kind: &str, volumes: &str| {
            let plain = layout(volumes, "single", 1);
            let filesystem = kind.into();
            check(&Layout { filesystem, fstrim: true, ..plain }).map_err(|senseless| senseless.why)
        };
        assert_eq!(trimmed("nilfs2", "md"), Ok(()));
        assert!(trimmed("zfs", "zfs").unwrap_err().contains("zpool trim"));
    }

    #[test]
    fn an_external_journal_is_for_those_that_have_one_on_a_disk_of_its_own() {
        let with = |kind: &str, disk: usize| {
            why(|this| {
                this.filesystem = kind.into();
                this.journal = Some(layout("md", "raid0", 9).disks.remove(disk));
            })
        };
        for kind in ["ext3", "ext4", "xfs"] {
            assert_eq!(with(kind, 8), "makes sense");
        }
        assert!(with("jfs", 8).contains("no mark"));
        assert_eq!(with("btrfs", 8), "btrfs has no external journal");
        assert_eq!(with("ext2", 8), "ext2 has no external journal");
        assert_eq!(with("ext4", 0), "the disk loop0 is taken twice");
    }
}
