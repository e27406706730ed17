//! ZFS of recorded machines.

use facts::inventory::server::zfs::{Dataset, Vdev, VdevLeaf};

use super::*;
use crate::inventory::mounts;
use crate::inventory::recording::Recording;
use facts::inventory::server::Unread;

fn read_of(text: &str) -> (Option<Zfs>, Vec<Unread>) {
    let machine = Recording::unpack(text);
    let host = machine.host();
    let mut reading = Reading::new(&host);
    let zfs = read(&mut reading, &mounts(&host).unwrap_or_default());
    (zfs, reading.into_unread())
}

#[test]
fn a_machine_without_zfs_has_none() {
    assert_eq!(read_of("/proc/self/mountinfo:\n    20 1 8:1 / / rw - ext4 /dev/sda1 rw\n").0, None);
}

#[test]
fn the_arc_says_how_large_it_may_grow_and_what_was_set() {
    let rows = ["size 4 5001", "c 4 6000", "c_min 4 100", "c_max 4 8000", "arc_meta_used 4 77"];
    let rows: String = rows.map(|row| format!("    {row}\n")).concat();
    let text = format!(
        "/proc/spl/kstat/zfs/arcstats:\n    13 1 0x01 123 33456 1 2\n    name type data\n{rows}\
         /sys/module/zfs/parameters/zfs_arc_max = 8000\n/sys/module/zfs/version = 2.1.11-1\n"
    );
    let zfs = read_of(&text).0.unwrap();
    let arc = zfs.arc.unwrap();
    assert_eq!(
        (arc.least_bytes, arc.most_bytes, arc.set_most_bytes),
        (Some(100), Some(8000), Some(8000))
    );
    assert_eq!((arc.usage.size_bytes, arc.usage.metadata_bytes), (Some(5001), Some(77)));
    assert_eq!((zfs.version.as_deref(), zfs.pools.len()), (Some("2.1.11-1"), 0));
    let by_default = text.replace("zfs_arc_max = 8000", "zfs_arc_max = 0");
    assert_eq!(read_of(&by_default).0.unwrap().arc.unwrap().set_most_bytes, None);
}

#[test]
fn what_was_recorded_of_a_pool_is_read_back_and_what_was_not_is_owned_up_to() {
    let pool = Pool {
        name: "tank".to_owned(),
        state: Some("online".to_owned()),
        vdevs: vec![Default::default()],
        ..Pool::default()
    };
    let json = serde_json::to_string(&pool).unwrap();
    let machine = format!(
        "/proc/self/mountinfo:\n    30 1 0:50 / /tank rw - zfs tank rw\n    \
         31 1 0:51 / /other rw - zfs other/a rw\n/.brickyard/zfs/tank.json = {json}\n"
    );
    let (zfs, unread) = read_of(&machine);
    let zfs = zfs.unwrap();
    assert_eq!(zfs.pool("tank"), Some(&pool));
    assert_eq!(zfs.pool("other").unwrap().state, None);
    let missed: Vec<&str> = unread.iter().map(|unread| unread.what.as_str()).collect();
    assert_eq!(missed, ["the disks of the ZFS pool other"]);
    let host = Recording::unpack(&machine);
    assert_eq!(below(&host.host(), "tank/data").unwrap(), pool);
    assert!(below(&host.host(), "other/a").is_err());
}

/// /sys shows a volume as a disk on nothing: its links in /dev/zvol lead to its pool.
#[test]
fn a_volume_lies_on_the_devices_of_its_pool_through_its_memory() {
    let leaf = VdevLeaf { device: Some("vda1".to_owned()), ..VdevLeaf::default() };
    let disk = Vdev { leaves: vec![leaf], ..Vdev::default() };
    let volume = |compression: &str| Dataset {
        name: "tank/a/vm".to_owned(),
        settings: [("compression".to_owned(), compression.to_owned())].into(),
        ..Default::default()
    };
    let machine = |compression: &str| {
        let pool = Pool {
            name: "tank".to_owned(),
            vdevs: vec![disk.clone()],
            datasets: vec![volume(compression)],
            ..Pool::default()
        };
        format!(
            "/proc/self/mountinfo = 30 1 230:1 / /srv rw - ext4 /dev/zd0p1 rw\n\
             /.brickyard/zfs/tank.json = {}\n\
             /sys/devices/virtual/block/zd0/dev = 230:0\n\
             /sys/devices/virtual/block/zd0/size = 4096\n\
             /sys/devices/virtual/block/zd0/zd0p1/dev = 230:1\n\
             /sys/devices/virtual/block/zd0/zd0p1/partition = 1\n\
             /sys/devices/virtual/block/vda/vda1/partition = 1\n\
             /sys/devices/virtual/block/vda/size = 8192\n\
             /sys/dev/block/230:1 -> /sys/devices/virtual/block/zd0/zd0p1\n\
             /sys/class/block/zd0 -> /sys/devices/virtual/block/zd0\n\
             /sys/class/block/zd0p1 -> /sys/devices/virtual/block/zd0/zd0p1\n\
             /sys/class/block/vda -> /sys/devices/virtual/block/vda\n\
             /sys/class/block/vda1 -> /sys/devices/virtual/block/vda/vda1\n\
             /dev/zd0 = x\n/dev/zd0p1 = x\n\
             /dev/zvol/tank/a/vm -> /dev/zd0\n/dev/zvol/tank/a/vm-part1 -> /dev/zd0p1\n\
             /srv/x = 1\n",
            serde_json::to_string(&pool).unwrap()
        )
    };
    for (compression, packed) in [("off", false), ("lz4", true)] {
        let recording = Recording::unpack(&machine(compression));
        let host = recording.host();
        let target = crate::inventory::target(&host, std::path::Path::new("/srv")).unwrap();
        let volume = target.devices.iter().find(|device| device.name == "zd0").unwrap();
        let backing = volume.backing.clone().expect("what holds it");
        assert_eq!((backing.file.as_str(), backing.packed), ("tank/a/vm", packed));
        assert_eq!(backing.devices, ["vda1"]);
        let leaves = target.leaves();
        assert_eq!((leaves[0].name.as_str(), leaves[0].caches.join(" ")), ("vda", "zd0".into()));
    }
}
