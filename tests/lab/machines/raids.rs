//! RAID levels and file systems, ZFS among them, on six disks of one speed: the effect of each has
//! an interval, and the best is the one that was planted.

use std::time::Duration;

use serde_json::Value;

use super::{Machine, bootable};
use crate::disk::beside_this_machine;
use crate::run::{draw, trials};

/// One command; a file of each stream is read for longer than a trial takes.
const SCRIPT: &str = r#"
disks=
for at in 1 2 3 4 5 6; do disks="$disks --device serial:disk$at --wipe disk$at"; done
brickyard run raid-filesystem $disks raid=raid0,raid10 streams=4 file-size=40MiB stop=3s \
    --store /root/raids.sqlite --json > /mnt/out/raids.json
udevadm settle
for disk in vda vdb vdc vdd vde vdf; do wipefs --noheadings /dev/$disk; done > /mnt/out/left
brickyard report --store /root/raids.sqlite --format text > /mnt/out/report
"#;

const FILESYSTEMS: [&str; 4] = ["btrfs", "ext4", "xfs", "zfs"];

/// Of a figure of a workload, what is told of a knob.
fn effect<'a>(document: &'a Value, group: &str, origin: &str, knob: &str) -> &'a Value {
    let all = document["effects"].as_array().expect("effects");
    let of = all.iter().find(|it| it["group"] == group && it["origin"] == origin);
    let of = of.unwrap_or_else(|| panic!("nothing of {group}, {origin}: {all:#?}"));
    let knobs = of["knobs"].as_array().expect("knobs");
    let found = knobs.iter().find(|it| it["knob"] == knob);
    found.unwrap_or_else(|| panic!("nothing of {knob}: {of:#}"))
}

/// A ratio with its interval.
fn ratio(of: &Value) -> (f64, f64, f64) {
    let number = |name: &str| of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of:#}"));
    (number("value"), number("low"), number("high"))
}

/// Writing to a stripe of six is twice as fast as to three mirrors of two, whatever lies on it: no
/// file system and no reading, which both halves of a mirror share, is planted to differ.
#[test]
fn levels_and_file_systems_are_told_apart_and_the_planted_best_is_found() {
    if !bootable("RAID levels and file systems of six disks", "zfs") {
        return;
    }
    let _beside = beside_this_machine();
    let limit = draw("bytes per second of each of six disks", 4_000_000, 6_000_000);
    let limited = limit.to_string();
    let environment = [("LIMIT", limited.as_str()), ("DISKS", "6"), ("MIB", "144")];
    let machine = Machine::run("zfs", &environment, SCRIPT, Duration::from_secs(3600));
    println!("{}", machine.wrote("report"));
    assert_eq!(machine.wrote("left"), "", "signatures that were left");
    let document = machine.json("raids.json");
    for trial in trials(&document) {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
    }
    let raid = effect(&document, "sequential-write", "none", "raid");
    assert_eq!(raid["matters"], true, "{raid:#}");
    let span = &raid["span"];
    assert_eq!((&span["most"], &span["least"]), (&"raid0".into(), &"raid10".into()), "{span:#}");
    let (value, low, high) = ratio(&span["ratio"]);
    println!("a stripe of six writes {value:.3} ({low:.3} to {high:.3}) times what mirrors do");
    assert!((1.8..2.1).contains(&value) && high > 1.94, "{span:#}");
    let filesystem = effect(&document, "sequential-write", "none", "filesystem");
    let levels = filesystem["levels"].as_array().expect("levels");
    let names: Vec<&str> = levels.iter().filter_map(|it| it["level"].as_str()).collect();
    assert_eq!(names, FILESYSTEMS, "{filesystem:#}");
    for level in levels {
        let (value, low, high) = ratio(&level["ratio"]);
        println!("{}: {value:.3} ({low:.3} to {high:.3}) of the mean", level["level"]);
        assert!(low < value && value < high, "{level:#}");
    }
    // The first screen shows no figure of a cache: the best stripe, at the limit of six disks.
    let figures = document["summary"]["figures"].as_array().expect("figures");
    for (name, least) in [("sequential_read", 0.9), ("sequential_write", 0.9)] {
        let figure = figures.iter().find(|it| it["name"] == name).expect(name);
        let share = figure["value"].as_f64().expect("a rate") / (6 * limit) as f64;
        println!("{name}: {share:.4} of the limit");
        assert!((least..1.05).contains(&share), "{figure:#}");
    }
}
