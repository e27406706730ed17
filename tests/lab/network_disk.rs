//! Files of a disk of known speed, over TCP to their readers: what arrives is what the disk gives,
//! round after round, by every way, and what limits it is told.

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, beside_another_disk, usable};
use crate::network::limit;
use crate::run::{brickyard, draw, figure, noted, parse, trials};

/// A mount on a disk that reads at so many bytes a second; `None` when this kernel cannot throttle.
fn slow(bytes_per_s: u64) -> Option<(Disk, Mount)> {
    let mut disk = Disk::new(512);
    let mount = Mount::format(&disk, "ext4");
    disk.limit(bytes_per_s, 4 << 30).then_some((disk, mount))
}

fn run(at: &Mount, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = at.name();
    let ask = ["run", "file-stream", "--dir", &dir, "--replicates", "1", "--json", "--quiet"];
    let arguments = [&ask[..], more].concat();
    parse(&brickyard(folder.path(), &arguments).output().expect("brickyard can be started"))
}

/// sendfile leaves the last megabytes of a round in the sockets, where they cannot be dropped from
/// memory; whoever drops them all the same, or does not, sends them again at the speed of memory.
/// The files are small, so that each trial goes round many times.
#[test]
fn files_arrive_at_the_speed_of_their_disk_by_every_way_round_after_round() {
    if !usable("a throttled disk", &["mkfs.ext4", "ip"]) {
        return;
    }
    // A map of a file is read ahead less beside tests that use both processors: 0.949 of the rate.
    // The throttled ones hardly use them.
    let _beside = beside_another_disk();
    let rate = draw("rate of the disk that is sent, MB/s", 30, 90) * 1_000_000;
    let Some((_disk, mount)) = slow(rate) else {
        println!("SKIP files over TCP: this kernel has no throttle that holds for every process");
        return;
    };
    let ways = "send-path=write,sendfile,sendfile-ahead,splice,mmap,uring,uring-zerocopy";
    let size = draw("size of a file that is sent, MiB", 16, 40);
    let size = format!("file-size={size}MiB");
    let document = run(&mount, &[ways, &size, "stop=3s", "streams=2"]);
    assert_eq!(trials(&document).len(), 7);
    for trial in trials(&document) {
        let way = trial["settings"]["send-path"].as_str().unwrap_or_default();
        let share = figure(trial, "throughput_bytes_per_s") / rate as f64;
        let disk = figure(trial, "disk_throughput_bytes_per_s") / rate as f64;
        println!("{way}: {share:.4} of the disk's rate arrived, {disk:.4} was read");
        assert!((share - 1.0).abs() < 0.05, "{way}: {share} of the disk's rate: {trial:#}");
        assert_eq!(trial["origin"]["verdict"], "device", "{way}: {trial:#}");
        assert!(noted(trial, "over-namespaces"), "{trial:#}");
    }
}

/// A disk on the slow one: nothing limits it but what lies below. That more clients get no more of
/// it and that it is always busy tells of the device; it waits between two requests now and then,
/// and the limit of the disk below it, which its bytes use up, is told then. Both hold, and which
/// is said hung on a percent of idleness.
fn a_disk_on_a_slow_one_is_named(slow: &Mount, bytes_per_s: u64) {
    let disk = Disk::over(&slow.path, 200, &["--direct-io=on"]);
    let mount = Mount::format(&disk, "ext4");
    let asked = ["file-size=32MiB", "stop=3s", "send-path=splice", "streams=1,4"];
    let (word, claim) = limit(&run(&mount, &asked));
    let allowed = format!("of {}.0 MB/s that a control group allows", bytes_per_s / 1_000_000);
    assert!(word == "device" || (word == "cgroup-io" && claim.contains(&allowed)), "{claim}");
}

/// A network that was bought because the disk behind it is slow would not be faster.
#[test]
fn a_disk_that_is_slower_than_the_wire_is_what_limits_and_a_wire_that_is_slower_is() {
    if !usable("a throttled disk", &["mkfs.ext4", "ip", "tc"]) {
        return;
    }
    let _alone = alone();
    let rate = draw("rate of the disk that limits, MB/s", 20, 60) * 1_000_000;
    let Some((mut disk, mount)) = slow(rate) else {
        println!("SKIP limits of files over TCP: this kernel has no throttle");
        return;
    };
    let asked = ["file-size=64MiB", "stop=3s", "send-path=sendfile", "verify=crc32c"];
    let (word, claim) = limit(&run(&mount, &asked));
    assert_eq!(word, "cgroup-io", "{claim}");
    a_disk_on_a_slow_one_is_named(&mount, rate);
    assert!(disk.limit(2 << 30, 4 << 30));
    let pair = crate::network::Pair::new();
    pair.shape(draw("rate of the wire that limits, Mb/s", 100, 400));
    let dir = mount.name();
    // No round ends within the trial: a kernel that frees what another processor has read when the
    // next packet comes (skb_attempt_defer_free) keeps pages of a file busy after it has arrived.
    // A pause of up to 85 ms that they were waited for, 98.9 % of the wire, is the load's, and what
    // a pause may cost is held by the test above.
    let more = ["--dir", &dir, "file-size=208MiB", "send-path=splice"];
    let folder = tempfile::tempdir().expect("a folder");
    let document = pair.run_workload("file-stream", folder.path(), &more);
    let (word, claim) = limit(&document);
    assert_eq!(word, "network", "{claim}");
    let trial = trials(&document)[0];
    let share = figure(trial, "throughput_bytes_per_s") / pair.at_most();
    assert!((share - 1.0).abs() < 0.01, "{share} of what the wire carries: {trial:#}");
    assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
}
