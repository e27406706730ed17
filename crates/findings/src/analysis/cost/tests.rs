//! What costs how much on servers made by hand.

use std::collections::BTreeMap;

use super::*;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use experiment::knob::testing::settings;
use experiment::measurement::Record;
use experiment::measurement::limit::testing::Scene;

fn prices() -> BTreeMap<String, f64> {
    [("disk".to_owned(), 300.0), ("controller".to_owned(), 600.0)].into()
}

fn eight_disks() -> Json {
    let disk = |place: u64| serde_json::json!({ "size_bytes": (2_000 + place) * 1_000_000_000 });
    serde_json::json!({ "disks": (0..8).map(disk).collect::<Vec<_>>() })
}

/// Three replicates of reading on 4 disks under a RAID level.
fn read(first: u32, raid: &str, access: &str, rate: &mut dyn FnMut() -> f64) -> Vec<Record> {
    let word = |text: &str| Value::Word(text.to_owned());
    let one = |replicate: u32| {
        let scene = Scene { bytes_per_s: rate(), ..Scene::default() };
        let scene = scene.with("disks", Value::Count(4)).with("raid", word(raid));
        let scene = scene.with("volumes", word("md")).with("access", word(access));
        scene.record(first + replicate)
    };
    (0..3).map(one).collect()
}

fn told(records: &[Record], inventory: &Json) -> Vec<Finding> {
    answer(&AnalysisInput::new(records, inventory, &prices()))
}

#[test]
fn a_usable_tb_is_dearer_the_more_a_level_keeps_twice() {
    let inventory = eight_disks();
    let prices = prices();
    let asked = AnalysisInput::new(&[], &inventory, &prices);
    let layout = |raid: &str, volumes: &str, disks: &str| {
        let knobs = [("raid", raid), ("volumes", volumes), ("disks", disks)];
        usable_bytes(&asked, &settings("file", &knobs)).map(|bytes| bytes / 2e12)
    };
    for (raid, disks, data) in [
        ("single", "1", 1.0),
        ("raid0", "8", 8.0),
        ("raid1", "2", 1.0),
        ("raid1", "3", 1.0),
        ("raid4", "8", 7.0),
        ("raid5", "8", 7.0),
        ("raid6", "8", 6.0),
        ("raid10", "8", 4.0),
        ("raid50", "8", 6.0),
        ("raid60", "8", 4.0),
    ] {
        assert_eq!(layout(raid, "md", disks), Some(data), "{raid} on {disks}");
    }
    assert_eq!(layout("raid1", "btrfs", "8"), Some(4.0), "two copies, however many disks");
    assert_eq!(layout("raid0", "md", "9"), None, "there are 8");
    assert_eq!(layout("raid6", "md", "2"), None, "nothing is left");
    let file = settings("file", &[]);
    assert_eq!((price(&asked, &file), usable_bytes(&asked, &file)), (None, None));
}

#[test]
fn the_cheapest_hardware_is_told_against_the_next() {
    let mut random = Random::new(1);
    let mut around = |mean: f64| mean * (1.0 + 0.01 * random.normal());
    let mut records = read(1, "raid0", "read", &mut || around(1.2e9));
    records.extend(read(4, "raid5", "read", &mut || around(0.9e9)));
    records.extend(read(7, "raid0", "random-read", &mut || around(1e7)));
    let found = told(&records, &eight_disks());
    let [throughput, iops, room] = &found[..] else { panic!("{found:#?}") };
    let claim = &throughput.claim;
    assert!(claim.starts_with("The cheapest GB/s read costs 15"), "{claim}");
    assert!(claim.contains(") on raid0 on 4 disks: Sequential reading"), "{claim}");
    assert!(claim.contains("Next is raid5 on 4 disks with 1.3"), "{claim}");
    assert!(claim.ends_with("which is more than chance."), "{claim}");
    assert_eq!(throughput.evidence, [1, 2, 3, 4, 5, 6]);
    assert!(iops.claim.starts_with("One I/O per second of random reading costs 4"), "{iops:?}");
    let wanted = "A usable TB costs 225 as raid0 on 4 disks, 300 as raid5 on 4 disks.";
    assert_eq!(room.claim, wanted);
    assert_eq!(
        answer(&AnalysisInput::from_records(&records)),
        [],
        "nobody said what anything costs"
    );
}

#[test]
fn the_price_of_a_rate_is_covered_and_equals_are_not_told_apart() {
    let (mut coverage, mut claims) = (Coverage::default(), 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut around = || 1e9 * (1.0 + 0.03 * random.normal());
        let one = read(1, "raid0", "read", &mut around);
        let rates: Vec<f64> = one
            .iter()
            .filter_map(|of| experiment::measurement::figures::rate(of, figure_names::THROUGHPUT))
            .collect();
        let cost = per(1800.0, mean_interval(&rates).unwrap(), 1e9);
        coverage.add(cost.interval, 1800.0);
        let both = [one, read(4, "raid10", "read", &mut around)].concat();
        claims += u32::from(told(&both, &Json::Null)[0].claim.contains("is more than chance"));
    }
    coverage.check("price of a GB/s");
    let share = f64::from(claims) / seeds().count() as f64;
    assert!(share <= null_limit(), "{claims} claims");
}

#[test]
fn what_memory_moved_has_no_price() {
    let mut records = read(1, "raid0", "read", &mut || 1e9);
    for record in &mut records {
        let changed = Scene { bytes_per_s: 9e9, ..Scene::default() }.cached();
        let settings = record.trial.settings.clone();
        *record = changed.record(record.trial.number);
        record.trial.settings = settings;
    }
    let found = told(&records, &eight_disks());
    assert!(found.iter().all(|finding| finding.claim.starts_with("A usable TB")), "{found:?}");
}
