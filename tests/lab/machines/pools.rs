//! Pools of ZFS that the program makes: measured, and gone after it, however it ended.

use std::time::Duration;

use super::{Machine, bootable};
use crate::disk::beside_this_machine;
use crate::run::{draw, figure, trials, verdict};

/// A mirror is made, measured and unmade; then a run is killed at a drawn moment of its making, and
/// undone. At the end it tells what is on the disks, and what a third, which was not given, holds.
const SCRIPT: &str = r#"
disks="--device serial:disk1 --device serial:disk2 --wipe disk1 --wipe disk2"
head -c 4096 /dev/urandom | tee /root/before > /dev/vdc
brickyard run sequential-read $disks filesystem=zfs raid=raid1 recordsize=1MiB block-size=1MiB \
    queue-depth=1 file-size=96MiB stop=3s --replicates 1 --store /root/one.sqlite --json \
    > /mnt/out/mirror.json
udevadm settle
left() {
    for disk in vda vdb; do
        echo "$1 $disk: $(wipefs --noheadings /dev/$disk | wc -l) signatures," \
            "$(ls -d /sys/block/$disk/$disk* 2>/dev/null | wc -l) partitions"
    done
    echo "$1 pools: $(zpool list -H -o name | wc -l)"
}
left run >> /mnt/out/left
$program run sequential-read $disks filesystem=zfs raid=raid0 file-size=32MiB stop=3s \
    --replicates 1 --store /root/two.sqlite 2> /root/said &
pid=$!
until grep -q "$MOMENT" /root/said; do sleep 0.05; done
sleep "$LATER"
kill -9 $pid; wait $pid || true
cat /root/said
$program undo --store /root/two.sqlite
udevadm settle
left undo >> /mnt/out/left
ls /run | grep -c brickyard >> /mnt/out/left || true
cmp -n 4096 /root/before /dev/vdc
"#;

/// `zpool create` waited 30 s for udev, which waited for the lock that we held on the disk: "failed
/// to detect device partitions on '/dev/vda1'".
#[test]
fn a_pool_is_made_measured_and_undone() {
    if !bootable("a pool of ZFS that the program makes", "zfs") {
        return;
    }
    let _beside = beside_this_machine();
    let limit = draw("bytes per second of a server's disks", 6_000_000, 9_000_000);
    let moments = ["makes zfs", "zpool create", "zpool sync", "mount -t zfs", "sequential-read"];
    let moment = moments[draw("moment of the kill", 0, moments.len() as u64) as usize];
    let later = draw("tenths of a second after it", 0, 20) as f64 / 10.0;
    let (limited, later) = (limit.to_string(), later.to_string());
    let environment = [
        ("LIMIT", limited.as_str()),
        ("DISKS", "3"),
        ("MIB", "256"),
        ("MOMENT", moment),
        ("LATER", later.as_str()),
    ];
    let machine = Machine::run("zfs", &environment, SCRIPT, Duration::from_secs(900));
    println!("{}", machine.said);
    let document = machine.json("mirror.json");
    let trial = trials(&document)[0];
    let share = figure(trial, "throughput_bytes_per_s") / limit as f64;
    println!("{share:.4} of one disk's limit, {}", verdict(trial));
    // Both halves of a mirror are read, each as fast as it can.
    assert_eq!(verdict(trial), "device", "{trial:#}");
    assert!((0.9..2.1).contains(&share), "{share}: {trial:#}");
    let clean = ["vda: 0 signatures, 0 partitions", "vdb: 0 signatures, 0 partitions", "pools: 0"];
    let all = ["run", "undo"].map(|when| clean.map(|what| format!("{when} {what}")));
    let expected = format!("{}\n0\n", all.concat().join("\n"));
    assert_eq!(machine.wrote("left"), expected, "killed at {moment}");
}
