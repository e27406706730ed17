//! Every server of the lab boots, and its devices are as its file says.

use std::time::Duration;

use super::{Machine, Piece, Shared, bootable};
use crate::disk::beside_this_machine;

pub static NVME: Shared = Shared::new("nvme", 300, || {
    vec![
        (
            "devices",
            "lsblk -n -o NAME,SERIAL; smartctl -i -A /dev/nvme0; lspci -vv -s 0:12\n\
             cat /sys/class/nvme/nvme*/address"
                .to_owned(),
        ),
        ("inspected", super::inspected::SCRIPT.to_owned()),
        ("heated", super::heated::script()),
    ]
});
pub static DISKS: Shared = Shared::new("disks", 300, || {
    vec![
        (
            "devices",
            "lsscsi; for disk in /dev/sd?; do smartctl -i $disk || true; done\n\
             cat /sys/block/vda/serial"
                .to_owned(),
        ),
        ("inspected", super::inspected::SCRIPT.to_owned()),
    ]
});
pub static CARDS: Shared = Shared::new("cards", 300, || {
    vec![
        (
            "devices",
            "for card in /sys/class/net/e*; do ethtool -i ${card##*/}; done\n\
             card=$(basename $(ls -d /sys/bus/pci/drivers/e1000e/0*/net/* | head -n 1))\n\
             ethtool -g $card; ethtool -c $card; ethtool -C $card rx-usecs 40; ethtool -c $card"
                .to_owned(),
        ),
        ("inspected", super::inspected::SCRIPT.to_owned()),
    ]
});

/// Words that one of them must have said; versions of a tool differ in how they align them.
fn says(piece: &Piece<'_>, words: &[&str]) {
    let said = piece.said.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(said.contains(word), "no {word:?} in:\n{}", piece.said);
    }
}

#[test]
fn three_nvme_drives_have_serials_health_and_the_links_that_were_planted() {
    let Some(piece) = NVME.piece("NVMe drives of a server", "devices") else { return };
    says(&piece, &["NVME0001", "NVME0002", "NVME0003", "50 Celsius"]);
    // The port could do more than the drive behind it.
    says(&piece, &["Speed 16GT/s, Width x4", "Speed 2.5GT/s, Width x1"]);
}

#[test]
fn disks_stand_behind_the_controllers_that_were_planted() {
    let Some(piece) = DISKS.piece("disks on four controllers", "devices") else { return };
    says(&piece, &["LABSATA", "SATA0001", "SATA0002", "RAID0001", "RAID0002", "7200 rpm"]);
    says(&piece, &["SAS00001", "SAS00002", "Solid State Device", "10000 rpm", "VIRT0001"]);
}

#[test]
fn cards_are_set_by_ethtool() {
    let Some(piece) = CARDS.piece("network cards of a server", "devices") else { return };
    says(&piece, &["driver: e1000e", "driver: vmxnet3", "driver: virtio_net", "driver: e1000 "]);
    says(&piece, &["driver: 8139cp", "RX: 4096", "rx-usecs: 3 ", "rx-usecs: 40 "]);
}

#[test]
fn targets_of_iscsi_and_nvme_are_mounted_over_tcp_and_as_slow_as_their_disks() {
    if !bootable("targets of a server", "target") {
        return;
    }
    let _beside = beside_this_machine();
    let script = "lsscsi -t; nvme list; for disk in sda nvme0n1; do
        dd if=/dev/$disk of=/dev/null bs=512k count=60 iflag=direct 2>&1 | tail -n 1
    done";
    let limit = crate::run::draw("MB/s of the targets' disks", 8, 16);
    let limit_bytes = (limit * 1_000_000).to_string();
    let environment = [("LIMIT", limit_bytes.as_str())];
    let machine = Machine::run("target", &environment, script, Duration::from_secs(300));
    for word in ["iqn.2000-01.lab:disk", "LABvdb"] {
        assert!(machine.said.contains(word), "{}", machine.said);
    }
    let rates: Vec<f64> = machine
        .said
        .lines()
        .filter_map(|line| line.strip_suffix(" MB/s")?.rsplit(' ').next()?.parse().ok())
        .collect();
    assert_eq!(rates.len(), 2, "{}", machine.said);
    for rate in rates {
        println!("{rate} of {limit} MB/s");
        // The limit lets a tenth of a second pass at once, and dd's time is rounded.
        assert!((rate / limit as f64 - 1.0).abs() < 0.1, "{}", machine.said);
    }
}

#[test]
fn two_machines_are_joined_by_a_wire_of_the_speed_that_was_planted() {
    if !bootable("a pair of servers", "pair") {
        return;
    }
    let _beside = beside_this_machine();
    let script = "far hostname; far lsblk -n -o NAME; ping -c 3 -q 10.8.0.2\n\
                  far 'shape 5mbit'; far 'iperf3 -s -D -1'; iperf3 -c 10.8.0.2 -R -t 5 -f m\n\
                  far 'exit 3' || echo far ended with $?";
    let machine = Machine::run("pair", &[], script, Duration::from_secs(300));
    for word in ["lab2", "vda", "0% packet loss", "far ended with 3"] {
        assert!(machine.said.contains(word), "no {word:?} in:\n{}", machine.said);
    }
    let received = machine.said.lines().find(|line| line.ends_with("receiver")).expect("iperf3");
    let words: Vec<&str> = received.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "Mbits/sec").expect("a rate");
    let rate: f64 = words[at - 1].parse().expect("a number");
    println!("{rate} of 5 Mb/s");
    // Never faster; slower where two emulated machines wait for the same busy processors.
    assert!((1.0..5.2).contains(&rate), "{}", machine.said);
}

/// `zpool` waits for udev to tell of each partition, on a busy machine not long enough.
const ZFS: &str = "cat /sys/module/zfs/version; zfs version
create=\"zpool create -f -O mountpoint=/tank tank raidz vda vdb vdc vdd log vde cache vdf\"
for try in 1 2 3 4; do $create && break; done
dd if=/dev/urandom of=/tank/file bs=1M count=16 conv=fsync
sum=$(md5sum < /tank/file)
zpool export tank
zpool import -d /dev tank
zpool status -P
test \"$sum\" = \"$(md5sum < /tank/file)\"
grep '^hits' /proc/spl/kstat/zfs/arcstats";

#[test]
fn a_pool_of_zfs_is_made_and_read_on_a_server() {
    if !bootable("ZFS on a server", "zfs") {
        return;
    }
    let _beside = beside_this_machine();
    let machine = Machine::run("zfs", &[], ZFS, Duration::from_secs(700));
    for word in ["raidz1-0", "logs", "cache", "ONLINE", "hits", "zfs-kmod"] {
        assert!(machine.said.contains(word), "no {word:?} in:\n{}", machine.said);
    }
}
