//! File servers as their clients see them: NFS from a guest's own kernel, over a link of its own.

use std::time::Duration;

use serde_json::Value;

use crate::disk::beside_this_machine;
use crate::guest::{Disks, Guest, bootable};
use crate::run::{draw, figure, noted, said, trials};

/// Frames of a link with an MTU of 1500 as a token bucket counts them, and the payload of TCP in
/// each, with time stamps.
const PAYLOAD: f64 = 1448.0 / 1514.0;

const SCRIPT: &str = r#"
# What is written is not measured, and in one kernel a client's dirty memory holds up its server.
echo '98:0 0' > /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
read='run sequential-read --dir 10.9.0.1:/x --replicates 1 --json direct=false block-size=128KiB
    queue-depth=4 second-pass=false'
client $read nfs-version=3,4.2 file-size=110MiB stop=4s drop-caches=true nfs-read-size=1MiB \
    > /mnt/out/disk
tc qdisc replace dev server0 root tbf rate @LINK@mbit burst 128kb latency 100ms
client $read nfs-version=4.2 nconnect=2 file-size=80MiB stop=5s drop-caches=true > /mnt/out/link
tc qdisc delete dev server0 root
client $read cold=false file-size=16MiB stop=60s --quiet --store /mnt/killed.db > /mnt/ran 2>&1 &
until grep -q ' nfs4\? ' /proc/mounts; do sleep 0.1; done
sleep @KILL@
pkill -KILL -f killed.db; wait || true
grep ' nfs4\? ' /proc/mounts > /mnt/out/left
client undo --store /mnt/killed.db > /mnt/out/undone
grep ' nfs4\? ' /proc/mounts >> /mnt/out/left || true
client undo --store /mnt/killed.db > /mnt/out/again
client $read cold=false file-size=32MiB stop=1s > /mnt/out/cache
client $read nfs-version=3 nfs-transport=udp file-size=1MiB stop=1s > /mnt/out/udp && exit 1
test -z "$(grep ' nfs4\? ' /proc/mounts)$(ls -d /run/brickyard-* /x/brickyard-* 2> /dev/null)"
"#;

fn document(guest: &Guest, name: &str) -> Value {
    serde_json::from_str(&guest.wrote(name)).expect("JSON")
}

fn bottleneck(document: &Value) -> Vec<(String, String)> {
    let findings = document["findings"].as_array().expect("findings are an array");
    let found = findings.iter().filter(|finding| finding["question"] == "bottleneck");
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let all: Vec<(String, String)> =
        found.map(|finding| (word(finding, "limit"), said(finding))).collect();
    all.iter().for_each(|(_, claim)| println!("{claim}"));
    all
}

/// A client cannot see a server's disk, and its own rate looks the same whatever holds it back;
/// with both ends in one kernel the record must tell which it was. Nothing may stay mounted.
#[test]
fn nfs_delivers_what_its_disk_does_or_its_link_and_which_it_was_is_named() {
    let tools = ["mkfs.ext4", "mount.nfs", "rpc.nfsd", "exportfs", "rpc.mountd", "rpcbind", "tc"];
    if !bootable("NFS in a guest", &tools) {
        return;
    }
    let _beside = beside_this_machine();
    let mb = draw("MB/s of the server's disk", 19, 24);
    let link = draw("Mb/s of the link", 90, 110);
    let disks = Disks { count: 1, mib: 400, bytes_per_s: mb * 1_000_000 };
    let kill = draw("killed after, tenths of a second", 0, 30);
    let kill = format!("{}.{}", kill / 10, kill % 10);
    let script = SCRIPT.replace("@LINK@", &link.to_string()).replace("@KILL@", &kill);
    let script = format!("{}\n{script}", include_str!("guest/nfs.sh"));
    let guest = Guest::run(disks, 1024, &script, Duration::from_secs(240));

    let disk = document(&guest, "disk");
    let mut versions = Vec::new();
    for trial in trials(&disk) {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let (rate, truth) = (figure(trial, "throughput_bytes_per_s"), (mb * 1_000_000) as f64);
        println!("NFS {}: {:.4} of the disk's", trial["settings"]["nfs-version"], rate / truth);
        assert!((rate / truth - 1.0).abs() < 0.05, "{rate} of {truth}: {trial:#}");
        // The client's account, the server's threads and the sectors agree.
        assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
        // With so little memory the server takes less at a time than was asked for.
        assert!(noted(trial, "nfs-mount") && noted(trial, "setting-rounded"), "{trial:#}");
        assert!(!noted(trial, "others-io"), "{trial:#}");
        // Its threads may have been on the CPU at no tick of the clock.
        assert!(figure(trial, "server_cpu_seconds_per_gb") >= 0.0, "{trial:#}");
        assert!(figure(trial, "server_context_switches_per_s") > 0.0, "{trial:#}");
        assert!(figure(trial, "nfs_read_rtt_ns_mean") > 1e6, "{trial:#}");
        versions.push(trial["settings"]["nfs-version"].as_str().unwrap_or_default().to_owned());
    }
    versions.sort();
    assert_eq!(versions, ["3", "4.2"]);
    for (limit, claim) in bottleneck(&disk) {
        // Its speed is set by a control group, which the claim names with the disk.
        assert_eq!(limit, "cgroup-io", "{claim}");
        assert!(claim.contains("98:0"), "{claim}");
    }

    let shaped = document(&guest, "link");
    let trial = trials(&shaped)[0];
    let (rate, truth) =
        (figure(trial, "throughput_bytes_per_s"), link as f64 * 1e6 / 8.0 * PAYLOAD);
    println!("over the link: {:.4} of what TCP can get through", rate / truth);
    assert!((0.95..1.01).contains(&(rate / truth)), "{rate} of {truth}: {trial:#}");
    let (limit, claim) = &bottleneck(&shaped)[0];
    // A host that is busy with others leaves the guest's only CPU no time to spare, and then nobody
    // can tell; to name anything but the network would be wrong.
    let busy = trial["counters"]["cpu_busy_share"].as_f64().unwrap_or(0.0);
    let known = limit == "network" && claim.contains("the server had to send waited");
    assert!(known || (limit == "unknown" && busy > 0.8), "{claim}: {shaped:#}");

    // One that was killed leaves its mount, and what undoes it finds it in the journal alone. Its
    // folder is the next run's to remove.
    assert_eq!(guest.wrote("left").lines().count(), 1, "{}", guest.wrote("left"));
    let undone = guest.wrote("undone");
    assert!(undone.contains("the mount at /run/brickyard-"), "{undone}");
    assert!(guest.wrote("again").contains("nothing to undo"), "{}", guest.wrote("again"));

    let cached = document(&guest, "cache");
    let trial = trials(&cached)[0];
    assert_eq!(trial["origin"]["verdict"], "cache", "{trial:#}");
    let (limit, claim) = &bottleneck(&cached)[0];
    assert!(!["network", "cgroup-io", "device"].contains(&limit.as_str()), "{claim}");

    let udp = document(&guest, "udp");
    let trial = trials(&udp)[0];
    assert_eq!(trial["outcome"], "skipped", "{trial:#}");
    let reason = trial["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("not supported"), "{reason}");
}
