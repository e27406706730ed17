//! Evidence about the same files is shared: a disk of a guest whose host begins to keep its blocks
//! at a drawn moment. No counter of the guest's can show it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::neighbour::Neighbour;
use super::nodes::held_by_the_media;
use super::{Found, Slow, amount, choose};
use crate::guest::{Disks, Guest};

/// Runs the program in a guest on a disk whose host keeps nothing until some time after the files
/// were laid out, and everything from then on.
fn begins_to_keep(number: u64, tenths: (u64, u64), arguments: &str) -> Found {
    let mut slow = Slow::with(number, 700, &["ext4"]);
    slow.bytes_per_s = amount(number, "media, MB/s", 15, 26) * 1_000_000;
    assert!(slow.disk.limit(slow.bytes_per_s, 400_000_000), "a throttle");
    let folder = tempfile::tempdir_in(&slow.mount.path).expect("a folder on the disk");
    let out = folder.path().join("out");
    let image = folder.path().join("disk0.img");
    let (laid, done) = (out.join("laid"), out.join("status"));
    let delay = amount(number, "keeps after, tenths of a second", tenths.0, tenths.1);
    let mut since: Option<Instant> = None;
    let host = Neighbour::doing(move || {
        if since.is_none() && laid.exists() {
            since = Some(Instant::now());
        }
        let keeps = since.is_some_and(|it| it.elapsed() > Duration::from_millis(100 * delay));
        if !keeps && !done.exists() {
            forget(&image);
        }
        std::thread::sleep(Duration::from_millis(20));
    });
    let filesystem = choose(number, "file system of the guest", &["ext4", "xfs"]);
    let script = format!(
        "echo '98:0 0' > /sys/fs/cgroup/blkio/blkio.throttle.read_bps_device
echo '98:0 0' > /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
modprobe xfs || true
mkfs.{filesystem} -q /dev/ubda; mkdir /srv/x; mount /dev/ubda /srv/x
mkfifo /root/said
while read -r line; do case $line in *layout*) touch /mnt/out/laid ;; esac; done < /root/said &
brickyard {arguments} --json 2> /root/said > /mnt/out/json || true
touch /mnt/out/laid",
    );
    let disks = Disks { count: 1, mib: 400, bytes_per_s: 1_000_000_000 };
    let guest = Guest::run_in(folder, disks, 640, &script, Duration::from_secs(240));
    drop(host);
    let document: Value = serde_json::from_str(&guest.wrote("json")).expect("JSON");
    drop(guest);
    for trial in crate::run::trials(&document) {
        let rate = trial["figures"]["throughput_bytes_per_s"]["value"].as_f64();
        println!(
            "  trial {}: {} at {:?} of the media's: {}",
            trial["number"],
            crate::run::verdict(trial),
            rate.map(|rate| (rate / slow.bytes_per_s as f64 * 100.0).round() / 100.0),
            crate::run::reason(trial)
        );
    }
    held_by_the_media(&document, slow.bytes_per_s)
}

fn forget(image: &Path) {
    if let Ok(file) = std::fs::File::open(image) {
        let _ = file.sync_data();
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// "12 MiB read 260 times".
pub fn over_and_over(number: u64) -> Found {
    let mib = amount(number, "file, MiB", 12, 25);
    let access = choose(number, "access", &["sequential-read", "random-read"]);
    begins_to_keep(
        number,
        (3, 15),
        &format!(
            "run {access} --dir /srv/x file-size={mib}MiB stop=8s block-size=64KiB queue-depth=4 \
             --replicates 1"
        ),
    )
}

/// One of the replicates has the moment in it, or it lies between two.
pub fn again_and_again(number: u64) -> Found {
    let mib = amount(number, "file, MiB", 16, 40);
    begins_to_keep(
        number,
        (10, 60),
        &format!(
            "run sequential-read --dir /srv/x file-size={mib}MiB stop=2s block-size=128KiB \
             queue-depth=2 --replicates 4"
        ),
    )
}

/// Cells of other block sizes read the same files.
pub fn several_cells(number: u64) -> Found {
    let mib = amount(number, "file, MiB", 16, 40);
    let second = choose(number, "second pass", &["true", "false"]);
    begins_to_keep(
        number,
        (10, 50),
        &format!(
            "run sequential-read --dir /srv/x file-size={mib}MiB stop=3s \
             block-size=64KiB,256KiB,1MiB second-pass={second} --replicates 1"
        ),
    )
}

/// "`evaluate` says 2174 though trial 5 found the cache", of media of 15.4.
pub fn evaluated(number: u64) -> Found {
    begins_to_keep(number, (20, 90), "evaluate /srv/x --budget 30s --space 96MiB")
}
