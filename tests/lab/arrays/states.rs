//! Disks, levels, file systems and states of arrays in one plan: what cannot be is told before and
//! after, and what is run delivers what its disks do.

use std::time::Duration;

use serde_json::Value;

use super::UNHELD;
use crate::disk::beside_this_machine;
use crate::guest::{Disks, Guest, bootable};
use crate::run::{draw, figure, trials};

const PLAN: &str = "[plan]
name = \"states\"
replicates = 1
stop = \"4s\"

[target]
devices = DEVICES

[factors]
disks = [3, 4]
raid = [\"raid0\", \"raid5\"]
filesystem = [\"ext4\", \"btrfs\"]
volumes = \"md\"
array-state = [\"clean\", \"degraded\"]

[[workload]]
use = \"sequential-read\"
file-size = \"200MiB\"
block-size = \"512KiB\"
queue-depth = 16
streams = 1
";

/// How many disks' rate a layout delivers. Each of a clean array, as its parity is passed over; of
/// one that lacks a disk, those that are left, which one stream reads in order without reading
/// again what it computes the missing chunk of. (Four streams did: 1.4 disks of a degraded four.)
fn disks_that_deliver(settings: &Value) -> f64 {
    let disks = settings["disks"].as_u64().expect("disks") as f64;
    if settings["array-state"] == "degraded" { disks - 1.0 } else { disks }
}

/// Rule 12, and knobs that only some levels of another have, in a guest whose kernel has md:
/// a stripe without parity cannot lack a disk.
#[test]
fn states_of_arrays_are_crossed_with_disks_and_what_cannot_be_is_counted() {
    if !std::env::var("BRICKYARD_LONG").is_ok_and(|value| value == "1") {
        println!("states of arrays: twelve layouts, with BRICKYARD_LONG=1");
        return;
    }
    if !bootable("states of arrays", &["mdadm", "mkfs.ext4", "mkfs.btrfs"]) {
        return;
    }
    let _beside = beside_this_machine();
    let mb = draw("MB/s of each disk", 16, 22);
    let mib = 160;
    let disks = Disks { count: 4, mib, bytes_per_s: mb * 1_000_000 };
    let name = |letter: char| format!("path:/dev/ubd{letter},size={}", mib << 20);
    let named: Vec<String> = "abcd".chars().map(name).collect();
    let plan = PLAN.replace("DEVICES", &format!("{named:?}"));
    let wiped: String = named.iter().map(|name| format!(" --wipe {name}")).collect();
    let script = format!(
        "cat > plan.toml <<'END'\n{plan}\nEND\n{UNHELD}\
         brickyard run plan.toml{wiped} --dry-run > /mnt/out/before 2>&1\n\
         brickyard run plan.toml{wiped} --json > /mnt/out/json\n\
         blkid -p /dev/ubd[abcd] && exit 1; test -z \"$(ls -d /run/brickyard-*)\""
    );
    let guest = Guest::run(disks, 640, &script, Duration::from_secs(1800));
    let document: Value = serde_json::from_str(&guest.wrote("json")).expect("JSON");
    // Two numbers of disks under two file systems.
    let left_out = document["left_out"].as_object().expect("what was left out");
    let (reason, many) = left_out.iter().next().expect("a reason");
    println!("{many} cells: {reason}");
    assert_eq!((left_out.len(), many), (1, &4.into()), "{left_out:#?}");
    assert!(reason.contains("raid0"), "{reason}");
    let before = guest.wrote("before").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(before.contains(reason.as_str()), "not told before: {reason}\n{before}");
    let all = trials(&document);
    assert_eq!(all.len(), 12, "{}", guest.said);
    for trial in all {
        let settings = &trial["settings"];
        assert_eq!(trial["outcome"], "done", "{}: {settings:#}\n{}", trial["reason"], guest.said);
        assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
        assert!(settings["raid"] == "raid5" || settings["array-state"] == "clean", "{settings:#}");
        let truth = disks_that_deliver(settings) * (mb * 1_000_000) as f64;
        let share = figure(trial, "throughput_bytes_per_s") / truth;
        println!(
            "{} disks, {}, {}, {}: {share:.3} of what they can",
            settings["disks"], settings["raid"], settings["filesystem"], settings["array-state"]
        );
        assert!((0.90..1.05).contains(&share), "{share}: {settings:#}");
    }
}
