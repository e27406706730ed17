//! Arrays of throttled disks, in a guest whose kernel has md.

use std::time::Duration;

use crate::disk::alone;
use crate::guest::{Disks, Guest, bootable};
use crate::run::{draw, figure, trials};

/// Four disks of a drawn speed deliver four times as much as a stripe, and the guest's kernel says
/// so of an array that it was made without Brickyard's help.
#[test]
fn a_stripe_of_four_delivers_four_times_as_much() {
    if !bootable("md in a guest", &["mdadm", "mkfs.xfs"]) {
        return;
    }
    let _alone = alone();
    let mb = draw("MB/s of each disk", 15, 25);
    let disks = Disks { count: 4, mib: 256, bytes_per_s: mb * 1_000_000 };
    let script = "modprobe raid0
mdadm --create /dev/md0 --run --chunk=64 --level=0 --raid-devices=4 /dev/ubd[abcd]
mkfs.xfs -qf /dev/md0
mkdir /srv/x
mount /dev/md0 /srv/x
brickyard run sequential-read --dir /srv/x file-size=96MiB streams=1,4 block-size=512KiB stop=5s \
    --replicates 1 --json > /mnt/out/json";
    let guest = Guest::run(disks, 640, script, Duration::from_secs(240));
    let document = serde_json::from_str(&guest.wrote("json")).expect("JSON");
    for trial in trials(&document) {
        let rate = figure(trial, "throughput_bytes_per_s");
        let (streams, truth) = (trial["settings"]["streams"].as_u64(), (4 * mb * 1_000_000) as f64);
        let within = if streams == Some(4) { 0.03 } else { 0.05 };
        assert!((rate / truth - 1.0).abs() < within, "{streams:?} streams: {rate} of {truth}");
        assert_eq!(trial["origin"]["verdict"], "device");
    }
}
