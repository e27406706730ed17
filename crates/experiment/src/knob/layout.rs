//! Knobs of what lies under the files: arrays, file systems, mounts. They need a new array or mkfs.
//!
//! On a plan's disks each of them gets a value, what tools do by default where nothing is said; in
//! directories all are `as-is`. What they come to is the business of `plan::layouts`; making and
//! unmaking it, of `provision`.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{Bytes, Count, OrAsIs, Setting, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;

const GIB: u64 = 1 << 30;

const fn knob<T: Setting>(name: &'static str, domain: Domain, about: &'static str) -> Knob<T> {
    let (scope, default, fio) = (Scope::Layout, "as-is", "");
    Knob { name, fio, about, domain, default, scope, apply: Apply::Layout, reads: PhantomData }
}

pub const DISKS: Knob<OrAsIs<Count>> = knob(
    "disks",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 1024 }),
    "How many of the target's disks are used, the first ones; all when nothing is said",
);
pub const RAID: Knob<OrAsIs<Word>> = knob(
    "raid",
    Domain::OrAsIs(&Domain::OneOf(&[
        "single", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "raid50", "raid60",
    ])),
    "How the disks are joined",
);
pub const VOLUMES: Knob<OrAsIs<Word>> = knob(
    "volumes",
    Domain::OrAsIs(&Domain::OneOf(&["md", "btrfs", "lvm", "zfs"])),
    "Who joins the disks; when nothing is said btrfs and zfs do it themselves, and md for others",
);
pub const CHUNK_SIZE: Knob<OrAsIs<Bytes>> = knob(
    "chunk-size",
    Domain::OrAsIs(&Domain::Bytes { min: 4096, max: GIB, step: 4096 }),
    "Bytes that lie on one disk before the next one's turn; the tool's choice when nothing is said",
);
pub const FILESYSTEM: Knob<OrAsIs<Word>> = knob(
    "filesystem",
    Domain::OrAsIs(&Domain::OneOf(&[
        "ext4", "ext3", "ext2", "xfs", "btrfs", "jfs", "nilfs2", "f2fs", "reiserfs", "bcachefs",
        "zfs",
    ])),
    "The file system that is made on the target's disks",
);
pub const MKFS_OPTIONS: Knob<OrAsIs<Word>> = knob(
    "mkfs-options",
    Domain::OrAsIs(&Domain::Text),
    "Words for mkfs, as typed there: \"-O ^has_journal\"; for zpool create: \"-o ashift=12\"",
);
pub const MOUNT_OPTIONS: Knob<OrAsIs<Word>> = knob(
    "mount-options",
    Domain::OrAsIs(&Domain::Text),
    "Words for mount -o, with commas: \"noatime,nobarrier\"",
);
pub const JOURNAL: Knob<OrAsIs<Word>> = knob(
    "journal",
    Domain::OrAsIs(&Domain::OneOf(&["internal", "external"])),
    "Where the journal (of ZFS: the log) lies: within, or on the last of the target's disks",
);
pub const ARRAY_STATE: Knob<OrAsIs<Word>> = knob(
    "array-state",
    Domain::OrAsIs(&Domain::OneOf(&["clean", "initialising", "degraded", "rebuilding", "rebuilt"])),
    "What the array does when the trial starts; rebuilt is clean, after a rebuild that is timed",
);
pub const SNAPSHOT: Knob<OrAsIs<Word>> = knob(
    "snapshot",
    Domain::OrAsIs(&Domain::OneOf(&["none", "lvm", "btrfs", "zfs"])),
    "A snapshot that is held while the trial runs",
);
pub const PRECONDITION: Knob<OrAsIs<Word>> = knob(
    "precondition",
    Domain::OrAsIs(&Domain::OneOf(&["none", "discard", "fill", "fill-twice", "random"])),
    "What is done to the disks before the layout is made; writing them through wears flash",
);
pub const FSCK: Knob<OrAsIs<bool>> = knob(
    "fsck",
    Domain::OrAsIs(&Domain::Flag),
    "The file system is unmounted and checked before each trial, and that is timed",
);
pub const FSTRIM: Knob<OrAsIs<bool>> = knob(
    "fstrim",
    Domain::OrAsIs(&Domain::Flag),
    "What the file system does not use is discarded before each trial, and that is timed",
);

/// Properties of a dataset of ZFS, in the order in which they are given; zfsprops(7).
pub const PROPERTIES: [&str; 6] =
    ["recordsize", "compression", "sync", "primarycache", "atime", "logbias"];

const fn property(name: usize, words: &'static Domain, about: &'static str) -> Knob<OrAsIs<Word>> {
    knob(PROPERTIES[name], Domain::OrAsIs(words), about)
}

pub const RECORDSIZE: Knob<OrAsIs<Bytes>> = knob(
    PROPERTIES[0],
    Domain::OrAsIs(&Domain::Bytes { min: 512, max: 16 << 20, step: 512 }),
    "ZFS: bytes of a file that are kept, checked and compressed as one; a power of two",
);
pub const COMPRESSION: Knob<OrAsIs<Word>> = property(
    1,
    &Domain::OneOf(&["off", "on", "lz4", "zstd", "gzip", "zle", "lzjb"]),
    "ZFS: how records are compressed",
);
pub const SYNC: Knob<OrAsIs<Word>> = property(
    2,
    &Domain::OneOf(&["standard", "always", "disabled"]),
    "ZFS: what fsync does; with disabled nothing, and a power cut loses what was confirmed",
);
pub const PRIMARYCACHE: Knob<OrAsIs<Word>> = property(
    3,
    &Domain::OneOf(&["all", "metadata", "none"]),
    "ZFS: what the ARC keeps of the files",
);
pub const ATIME: Knob<OrAsIs<Word>> =
    property(4, &Domain::OneOf(&["on", "off"]), "ZFS: whether reading a file notes when it was");
pub const LOGBIAS: Knob<OrAsIs<Word>> = property(
    5,
    &Domain::OneOf(&["latency", "throughput"]),
    "ZFS: whether writes with fsync go through the log, or straight to their place",
);
