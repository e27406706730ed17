//! (pure) File systems that can be made.

/// One kind of file system: how it is made, mounted, checked and recognised.
#[derive(Debug)]
pub struct FilesystemKind {
    /// As plans, mount(8) and blkid(8) call it.
    pub name: &'static str,
    /// The program that makes it, and its first words.
    pub mkfs: &'static [&'static str],
    /// The Debian package that brings the program.
    pub package: &'static str,
    /// The kernel's module.
    pub module: &'static str,
    /// The kernel's setting for it.
    pub config: &'static str,
    /// How mkfs is told not to discard; empty when it never does.
    pub keep: &'static [&'static str],
    /// Before the UUID.
    pub uuid: Option<&'static str>,
    /// Before the label.
    pub label: &'static str,
    /// Words of the plan that would undo ours.
    pub taken: &'static [&'static str],
    /// The program that checks one that is not mounted, without changing it, and its first words;
    /// else why there is none, as the end of a sentence.
    pub check: Result<&'static [&'static str], &'static str>,
}

const EXT: FilesystemKind = FilesystemKind {
    name: "ext4",
    mkfs: &["mkfs.ext4", "-q", "-F"],
    package: "e2fsprogs",
    module: "ext4",
    config: "EXT4_FS",
    // In -E, with others.
    keep: &[],
    uuid: Some("-U"),
    label: "-L",
    taken: &["-U", "-L", "-J", "-n"],
    check: Ok(&["e2fsck", "-f", "-n"]),
};

/// All that can be made.
pub const KINDS: [FilesystemKind; 11] = [
    EXT,
    FilesystemKind { name: "ext3", mkfs: &["mkfs.ext3", "-q", "-F"], ..EXT },
    FilesystemKind { name: "ext2", mkfs: &["mkfs.ext2", "-q", "-F"], ..EXT },
    FilesystemKind {
        name: "xfs",
        mkfs: &["mkfs.xfs", "-q", "-f"],
        package: "xfsprogs",
        module: "xfs",
        config: "XFS_FS",
        keep: &["-K"],
        // As a part of -m.
        uuid: Some("-m"),
        label: "-L",
        taken: &["-L", "-N", "uuid=", "logdev="],
        check: Ok(&["xfs_repair", "-n"]),
    },
    FilesystemKind {
        name: "btrfs",
        mkfs: &["mkfs.btrfs", "-q", "-f"],
        package: "btrfs-progs",
        module: "btrfs",
        config: "BTRFS_FS",
        keep: &["-K"],
        uuid: Some("-U"),
        label: "-L",
        taken: &["-U", "--uuid", "-L", "--label", "-d", "--data"],
        check: Ok(&["btrfs", "check", "--readonly"]),
    },
    FilesystemKind {
        name: "jfs",
        mkfs: &["mkfs.jfs", "-q"],
        package: "jfsutils",
        module: "jfs",
        config: "JFS_FS",
        keep: &[],
        uuid: None,
        label: "-L",
        taken: &["-L", "-j", "-J"],
        // It writes one byte all the same: which half of its own log is the newer one.
        check: Ok(&["fsck.jfs", "-n", "-f"]),
    },
    FilesystemKind {
        name: "nilfs2",
        mkfs: &["mkfs.nilfs2", "-q", "-f"],
        package: "nilfs-tools",
        module: "nilfs2",
        config: "NILFS2_FS",
        keep: &["-K"],
        uuid: None,
        label: "-L",
        taken: &["-L", "-n"],
        check: Err("its tools have no program that checks it"),
    },
    FilesystemKind {
        name: "f2fs",
        mkfs: &["mkfs.f2fs", "-q", "-f"],
        package: "f2fs-tools",
        module: "f2fs",
        config: "F2FS_FS",
        keep: &["-t", "0"],
        uuid: None,
        label: "-l",
        taken: &["-l", "-U", "-c"],
        check: Ok(&["fsck.f2fs", "--dry-run"]),
    },
    FilesystemKind {
        name: "reiserfs",
        mkfs: &["mkfs.reiserfs", "-q", "-f", "-f"],
        package: "reiserfsprogs",
        module: "reiserfs",
        config: "REISERFS_FS",
        keep: &[],
        uuid: Some("-u"),
        label: "-l",
        taken: &["-u", "-l", "-j"],
        check: Err("reiserfsck --check writes its superblock"),
    },
    FilesystemKind {
        name: "bcachefs",
        mkfs: &["bcachefs", "format", "--quiet", "--force"],
        package: "bcachefs-tools",
        module: "bcachefs",
        config: "BCACHEFS_FS",
        keep: &[],
        uuid: Some("--uuid"),
        label: "--fs_label",
        taken: &["--uuid", "--fs_label", "-U", "-L"],
        check: Ok(&["bcachefs", "fsck", "-n"]),
    },
    FilesystemKind {
        name: "zfs",
        // Of the pool; its dataset comes with it.
        mkfs: &["zpool", "create", "-f"],
        package: "zfsutils-linux",
        module: "zfs",
        // It is no part of the kernel.
        config: "",
        // zpool discards nothing unless autotrim is on.
        keep: &[],
        uuid: None,
        label: "",
        taken: &[
            "-n",
            "-m",
            "-R",
            "-t",
            "-d",
            "cachefile=",
            "altroot=",
            "mountpoint=",
            "canmount=",
        ],
        check: Err("zpool scrub checks a pool in use, which is another thing; \
             on a pool of your own time it with zpool scrub -w POOL"),
    },
];

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static FilesystemKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl FilesystemKind {
    /// Whether it is ext2, ext3 or ext4.
    pub fn is_ext(&self) -> bool {
        self.module == "ext4"
    }
}

/// The groups of a pool of ZFS for a level: the word before each one's disks, and how many they
/// are (zpoolconcepts(7)). `None` where ZFS has no such level. RAID 5 and 6 stand for raidz1 and
/// raidz2, RAID 10 for mirrors of two.
pub fn vdevs(raid: &str, disks: usize) -> Option<Vec<(&'static str, usize)>> {
    Some(match raid {
        "single" | "raid0" => vec![("", disks)],
        "raid1" => vec![("mirror", disks)],
        "raid10" => vec![("mirror", 2); disks / 2],
        "raid5" => vec![("raidz1", disks)],
        "raid6" => vec![("raidz2", disks)],
        "raid50" => vec![("raidz1", disks / 2); 2],
        "raid60" => vec![("raidz2", disks / 2); 2],
        _ => return None,
    })
}

/// Profiles for mkfs.btrfs, of data and of metadata: metadata as btrfs(5) advises, since its own
/// RAID 5 and 6 are not for metadata. `None` where btrfs has no such level.
pub fn profiles(raid: &str) -> Option<(&'static str, &'static str)> {
    Some(match raid {
        "single" | "raid0" => (if raid == "raid0" { "raid0" } else { "single" }, "raid1"),
        "raid1" => ("raid1", "raid1"),
        "raid10" => ("raid10", "raid10"),
        "raid5" => ("raid5", "raid1"),
        "raid6" => ("raid6", "raid1c3"),
        _ => return None,
    })
}
