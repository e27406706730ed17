//! Arrays of recorded machines, and one of this machine.

mod real;

use super::*;
use crate::inventory::recording::Recording;
use crate::inventory::{device, mounts};
use facts::inventory::server::Unread;

fn arrays(text: &str) -> (Vec<Array>, Vec<Unread>) {
    let machine = Recording::unpack(text);
    let host = machine.host();
    let mounts = mounts(&host).unwrap_or_default();
    let devices = device::all(&host, &mounts);
    let mut reading = Reading::new(&host);
    let pools = zfs::read(&mut reading, &mounts);
    let arrays = read(&mut reading, &devices, pools.as_ref());
    (arrays, reading.into_unread())
}

fn disk(name: &str) -> String {
    format!("/sys/class/block/{name}/size = 2048\n")
}

/// Hand-written: a RAID 5 of three, of which one failed and a spare takes its place.
fn rebuilding() -> String {
    let members: String = ["sda", "sdb", "sdc", "sdd"].map(disk).concat();
    members
        + "/sys/class/block/md0/size = 4096\n\
           /sys/class/block/md0/slaves/sda/\n/sys/class/block/md0/slaves/sdb/\n\
           /sys/class/block/md0/slaves/sdc/\n/sys/class/block/md0/slaves/sdd/\n\
           /sys/class/block/md0/md/metadata_version = 1.2\n\
           /sys/class/block/md0/md/level = raid5\n\
           /sys/class/block/md0/md/array_state = clean\n\
           /sys/class/block/md0/md/degraded = 1\n\
           /sys/class/block/md0/md/raid_disks = 3\n\
           /sys/class/block/md0/md/chunk_size = 524288\n\
           /sys/class/block/md0/md/sync_action = recover\n\
           /sys/class/block/md0/md/sync_completed = 512 / 2048\n\
           /sys/class/block/md0/md/dev-sda/state = in_sync\n\
           /sys/class/block/md0/md/dev-sda/errors = 3\n\
           /sys/class/block/md0/md/dev-sdb/state = in_sync,write_mostly\n\
           /sys/class/block/md0/md/dev-sdb/errors = 0\n\
           /sys/class/block/md0/md/dev-sdc/state = faulty\n\
           /sys/class/block/md0/md/dev-sdd/state = spare\n\
           /dev/md/data -> /dev/md0\n/dev/md0 = (a device file)\n"
}

#[test]
fn an_array_that_is_rebuilt_says_what_it_lacks_and_how_far_it_is() {
    let (arrays, unread) = arrays(&rebuilding());
    assert_eq!((arrays.len(), unread.len()), (1, 0));
    let md = &arrays[0];
    assert_eq!((md.name.as_str(), md.kind.as_str()), ("md0", "md"));
    assert_eq!((md.alias.as_deref(), md.level.as_deref()), (Some("/dev/md/data"), Some("raid5")));
    assert_eq!((md.chunk_bytes, md.missing, md.errors), (Some(524_288), Some(1), Some(3)));
    assert_eq!((md.busy_with.as_deref(), md.done_share), (Some("recover"), Some(0.25)));
    assert_eq!(md.members, ["sda", "sdb", "sdc", "sdd"]);
    assert_eq!(md.disks, ["sda", "sdb", "sdc", "sdd"]);
    assert_eq!(md.state.as_deref(), Some("clean"));
    assert_eq!(md.place, "/sys/block/md0/md/degraded");
}

#[test]
fn one_that_was_not_started_is_listed_and_one_that_is_idle_is_not_busy() {
    let stopped = rebuilding()
        .replace("array_state = clean", "array_state = inactive")
        .replace("/sys/class/block/md0/md/degraded = 1\n", "")
        .replace("/md0/size = 4096", "/md0/size = 0");
    let (found, _) = arrays(&stopped);
    assert_eq!((found[0].missing, found[0].state.as_deref()), (Some(1), Some("inactive")));
    let idle = rebuilding().replace("= recover", "= idle").replace("512 / 2048", "none");
    let (found, _) = arrays(&idle);
    assert_eq!((found[0].busy_with.as_deref(), found[0].done_share), (None, None));
    let container = stopped.replace("= 1.2", "= external:imsm");
    let (found, _) = arrays(&container);
    assert_eq!((found[0].level.as_deref(), found[0].missing), (Some("container"), None));
}

#[test]
fn nonsense_in_the_files_of_an_array_is_no_figure() {
    for value in ["hex", "hex ff", "-1", "1e3", "99999999999999999999", "3 / 2", "0 / 0", "x / y"] {
        let text: String = rebuilding()
            .lines()
            .map(|line| match line.split_once(" = ") {
                Some((path, _)) if path.contains("/md/") => format!("{path} = {value}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let (found, _) = arrays(&text);
        let md = &found[0];
        assert_eq!((md.missing, md.chunk_bytes, md.errors), (None, None, None), "{value}");
        assert_eq!(md.done_share, None, "{value}");
    }
}

const BTRFS: &str = "\
/sys/fs/btrfs/features/raid56 = 0
/sys/fs/btrfs/0a1b/label = pool
/sys/fs/btrfs/0a1b/devices/sda/
/sys/fs/btrfs/0a1b/devices/sdb/
/sys/fs/btrfs/0a1b/devinfo/1/missing = 0
/sys/fs/btrfs/0a1b/devinfo/1/error_stats:
    write_errs 35
    read_errs 0
    flush_errs 1
    corruption_errs 0
    generation_errs 0
/sys/fs/btrfs/0a1b/devinfo/2/missing = 0
/sys/fs/btrfs/0a1b/devinfo/3/missing = 1
/sys/fs/btrfs/0a1b/allocation/data/raid1c3/total_bytes = 1073741824
/sys/fs/btrfs/0a1b/allocation/data/total_bytes = 1073741824
/sys/fs/btrfs/0a1b/exclusive_operation = none
/sys/fs/btrfs/2c3d/devices/sdc/
/sys/fs/btrfs/2c3d/devinfo/1/missing = 0
/sys/fs/btrfs/4e5f/devices/sdc/
/sys/fs/btrfs/4e5f/devices/sdd/
/sys/fs/btrfs/4e5f/allocation/data/single/total_bytes = 1
/sys/fs/btrfs/4e5f/allocation/data/raid1/total_bytes = 1
/sys/fs/btrfs/4e5f/exclusive_operation = balance
";

#[test]
fn a_btrfs_says_which_device_it_lacks() {
    let disks: String = ["sda", "sdb", "sdc", "sdd"].map(disk).concat();
    let (found, _) = arrays(&(disks + BTRFS));
    assert_eq!(found.len(), 2, "one device alone is no array");
    let pool = &found[0];
    assert_eq!((pool.name.as_str(), pool.alias.as_deref()), ("0a1b", Some("pool")));
    assert_eq!((pool.kind.as_str(), pool.level.as_deref()), ("btrfs", Some("raid1c3")));
    assert_eq!((pool.missing, pool.errors), (Some(1), Some(36)));
    assert_eq!(pool.place, "/sys/fs/btrfs/0a1b/devinfo/3/missing");
    assert_eq!((pool.disks.join(" "), pool.busy_with.as_deref()), ("sda sdb".into(), None));
    let other = &found[1];
    assert_eq!(other.missing, None, "an old kernel does not say");
    assert_eq!(other.level.as_deref(), Some("raid1, single"));
    assert_eq!(other.busy_with.as_deref(), Some("balance"));
}

/// A device of the device mapper on others.
fn dm(number: u32, name: &str, uuid: &str, on: &[&str]) -> String {
    let place = format!("/sys/class/block/dm-{number}");
    let slaves: String = on.iter().map(|below| format!("{place}/slaves/{below}/\n")).collect();
    format!(
        "{place}/size = 2048\n{place}/dm/name = {name}\n{place}/dm/uuid = {uuid}\n\
         {place}/dm/suspended = 0\n{slaves}"
    )
}

#[test]
fn stacks_of_the_device_mapper_are_told_apart_and_followed_down() {
    let text = [
        disk("sda"),
        disk("sdb"),
        "/sys/class/block/sda/device/state = running\n".to_owned(),
        "/sys/class/block/sdb/device/state = transport-offline\n".to_owned(),
        dm(0, "mpatha", "mpath-3600", &["sda", "sdb"]),
        dm(1, "mpatha1", "part1-mpath-3600", &["dm-0"]),
        dm(2, "luks", "CRYPT-LUKS2-abc", &["dm-1"]),
        dm(3, "vg-lv_rimage_0", "LVM-a", &["dm-2"]),
        dm(4, "vg-lv", "LVM-b", &["dm-3"]),
        dm(5, "odd", "odd", &[]),
    ]
    .concat();
    let (found, unread) = arrays(&text);
    let kinds: Vec<&str> = found.iter().map(|array| array.kind.as_str()).collect();
    assert_eq!(kinds, ["multipath", "partition", "crypt", "lvm", "lvm", "dm"]);
    assert_eq!((found[0].missing, found[1].missing), (Some(1), None));
    assert_eq!(found[4].disks, ["sda", "sdb"]);
    assert_eq!(found[4].alias.as_deref(), Some("/dev/mapper/vg-lv"));
    assert_eq!(found[4].state.as_deref(), Some("active"));
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].what, "the RAID level and state of /dev/mapper/vg-lv");
}

#[test]
fn a_cache_in_front_of_disks_says_its_mode_and_state() {
    let text = [
        disk("sda"),
        disk("nvme0n1"),
        "/sys/class/block/bcache0/size = 2048\n/sys/class/block/bcache0/bcache/state = dirty\n\
         /sys/class/block/bcache0/slaves/sda/\n/sys/class/block/bcache0/slaves/nvme0n1/\n\
         /sys/class/block/nvme0n1/bcache/nbuckets = 2048\n\
         /sys/class/block/bcache0/bcache/cache_mode = writethrough [writeback] none\n\
         /sys/class/block/sda/bcache/state = dirty\n"
            .to_owned(),
    ]
    .concat();
    let (found, _) = arrays(&text);
    assert_eq!(found.len(), 1);
    let cache = &found[0];
    assert_eq!((cache.kind.as_str(), cache.level.as_deref()), ("bcache", Some("writeback")));
    assert_eq!((cache.state.as_deref(), cache.disks.len()), (Some("dirty"), 2));
}

#[test]
fn a_zfs_pool_says_whether_it_is_well_and_not_what_it_lies_on() {
    let text = "/proc/spl/kstat/zfs/tank/state = DEGRADED\n/proc/spl/kstat/zfs/arcstats = 1\n\
                /proc/self/mountinfo:\n    30 1 0:50 / /tank/a rw - zfs tank/a rw,xattr\n    \
                31 1 0:51 / /old rw - zfs old rw,xattr\n";
    let (found, unread) = arrays(text);
    let states: Vec<(&str, Option<&str>)> =
        found.iter().map(|array| (array.name.as_str(), array.state.as_deref())).collect();
    assert_eq!(states, [("old", None), ("tank", Some("degraded"))]);
    assert_eq!(unread.len(), 2);
    assert_eq!(unread[1].hint, "zpool status -P tank");
}
