//! Plans in which a knob goes with some levels of another alone, as the plans that ship have them.

use std::collections::BTreeMap;

use super::*;
use experiment::knob;
use experiment::plan::{builtin, file};

/// The cells of the first workload of a plan that ships, on so many disks, so many times.
fn shipped(name: &str, disks: usize, typed: &[&str], replicates: u32) -> Vec<(u32, Settings)> {
    let mut plan = file::read(builtin::find(name).unwrap().text, name, None).unwrap();
    let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
    plan.vary(&typed).unwrap();
    plan.disks = (0..disks).map(|disk| format!("serial:{disk}")).collect();
    let cells: Vec<Settings> =
        plan.cells().filter(|cell| cell.load == 0).map(|cell| plan.settings(&cell)).collect();
    (1..=replicates).flat_map(|it| cells.iter().map(move |cell| (it, cell.clone()))).collect()
}

/// Figures with noise of layouts and of trials; `worth` is the logarithm of what settings give.
fn drawn(cells: &[(u32, Settings)], seed: u64, worth: impl Fn(&Settings) -> f64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let mut layouts: BTreeMap<(u32, String), f64> = BTreeMap::new();
    records(cells.to_vec(), |replicate, settings| {
        let layout =
            ["raid", "filesystem", "disks"].map(|it| settings.named(it).unwrap().to_string());
        let layout = (replicate, layout.join(" "));
        let layout = *layouts.entry(layout).or_insert_with(|| 0.03 * random.normal());
        1e8 * (worth(settings) + layout + 0.01 * random.normal()).exp()
    })
}

fn of<'a>(found: &'a Effects, name: &str) -> &'a KnobEffect {
    found.knobs.iter().find(|of| of.knob == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Whether anything but `real` is claimed.
fn claims_else(found: &Effects, real: &[&str]) -> bool {
    let knobs = found.knobs.iter().filter(|it| !real.contains(&it.knob));
    let mut pairs = found.interactions.iter().flatten();
    let mut knobs = knobs.filter(|it| it.matters == Some(true));
    knobs.next().is_some()
        || pairs.any(|it| it.matters == Some(true))
        || found.knobs.iter().any(|it| it.spread_matters == Some(true))
}

/// ext4 is the reference; XFS and btrfs are off it by these.
fn file_systems(settings: &Settings, xfs: f64, btrfs: f64) -> f64 {
    match settings.get(knob::FILESYSTEM) {
        Some("xfs") => xfs,
        Some("btrfs") => btrfs,
        _ => 0.0,
    }
}

/// As shipped, with btrfs among the file systems, `raid-filesystem` said that `filesystem` "is not
/// separable from `volumes`", which nobody had set, and nothing of ext4 against XFS.
#[test]
fn raid_filesystem_tells_ext4_from_xfs_and_btrfs_beside_them_and_claims_nothing_else() {
    let cells = shipped("raid-filesystem", 8, &["filesystem=ext4,xfs,btrfs"], 3);
    // Of five levels btrfs has no RAID 50.
    assert_eq!(cells.len(), (5 * 3 - 1) * 3 * 3);
    let (mut within, mut between) = (Coverage::default(), Coverage::default());
    let (mut missed, mut claims, mut null) = (0, 0, 0);
    for seed in seeds() {
        let planted = effects(&drawn(&cells, seed, |of| file_systems(of, 0.2, -0.4))).remove(0);
        let filesystem = of(&planted, "filesystem");
        let (span, beside) =
            (filesystem.span.as_ref().unwrap(), filesystem.beside.as_ref().unwrap());
        let levels = (span.most.to_string(), span.least.to_string());
        let btrfs = [Value::Word("btrfs".into())];
        let right = levels == ("xfs".into(), "ext4".into()) && beside.least == btrfs;
        within.add(span.ratio.interval, 0.2_f64.exp());
        between.add(beside.ratio.interval, 0.5_f64.exp());
        let shown = |chance: Option<f64>| chance.is_some_and(|it| it <= CHANCE);
        missed += u32::from(!(right && shown(span.chance) && shown(beside.chance)));
        claims += u32::from(claims_else(&planted, &["filesystem"]));
        let nothing = effects(&drawn(&cells, seed, |_| 0.0)).remove(0);
        null += u32::from(claims_else(&nothing, &[]));
        if seed == 0 {
            let claim = tell::tell(&planted).whole();
            let most = "In `scan`: `filesystem` matters most: xfs gives 1.2";
            assert!(claim.starts_with(most), "{claim}");
            assert!(claim.contains("), and the mean of ext4 and xfs is 1.6"), "{claim}");
            assert!(claim.contains(" times that with btrfs ("), "{claim}");
            let follows = "`volumes` was not varied by itself, but follows `filesystem`: with \
                           btrfs it is btrfs, with ext4 and xfs it is md.";
            assert!(claim.contains(follows), "{claim}");
            assert!(!claim.contains("not separable"), "{claim}");
        }
    }
    within.check("ext4 against XFS");
    between.check("btrfs beside them");
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(missed) <= 0.02, "{missed} missed");
    assert!(share(claims) <= null_limit(), "{claims} claims of what does nothing");
    assert!(share(null) <= null_limit(), "{null} claims where nothing does anything");
}

/// As shipped: two of the four join the disks by themselves.
#[test]
fn of_two_that_join_disks_by_themselves_each_is_compared_with_those_on_md() {
    let cells = shipped("raid-filesystem", 8, &[], 3);
    assert_eq!(cells.len(), (5 * 4 - 1) * 3 * 3);
    let worth = |of: &Settings| match of.get(knob::FILESYSTEM) {
        Some("zfs") => -0.2,
        _ => file_systems(of, 0.1, -0.4),
    };
    let found = effects(&drawn(&cells, 1, worth)).remove(0);
    let filesystem = of(&found, "filesystem");
    let beside = filesystem.beside.as_ref().unwrap();
    let ends = beside.ratio.interval.unwrap();
    assert!(ends.low < 0.45_f64.exp() && 0.45_f64.exp() < ends.high, "{beside:?}");
    assert_eq!(beside.least, [Value::Word("btrfs".into())]);
    let level = |name: &str| {
        let of = filesystem.levels.iter().find(|it| it.level.to_string() == name);
        of.unwrap_or_else(|| panic!("no {name}")).ratio.value
    };
    let by_hand = level("zfs") / level("ext4");
    assert!((by_hand / (-0.2_f64).exp() - 1.0).abs() < 0.05, "{by_hand}");
    let claim = tell::tell(&found).whole();
    let follows = "with btrfs it is btrfs, with ext4 and xfs it is md, with zfs it is zfs";
    assert!(claim.contains(follows), "{claim}");
}

#[test]
fn brick_tells_four_file_systems_apart_and_btrfs_beside_them() {
    let cells = shipped("brick", 16, &[], 2);
    assert_eq!(cells.len(), 3 * 4 * 5 * 2 * 2 * 2);
    let (mut missed, mut claims) = (0, 0);
    let many = seeds().end / 20;
    for seed in 0..many {
        let found = effects(&drawn(&cells, seed, |of| file_systems(of, 0.2, -0.4))).remove(0);
        let filesystem = of(&found, "filesystem");
        let most = filesystem.span.as_ref().map(|span| span.most.to_string());
        let beside = filesystem.beside.as_ref().unwrap();
        let right = most.as_deref() == Some("xfs") && beside.most.len() == 4;
        missed += u64::from(!right || filesystem.matters != Some(true));
        assert_eq!(found.following.len(), 1, "{:?}", found.following);
        claims += u64::from(claims_else(&found, &["filesystem"]));
    }
    assert_eq!(missed, 0);
    assert!(claims as f64 <= 0.2 * many as f64, "{claims} of {many}");
}

/// Of two file systems, one of which joins disks by itself, there is no other to compare within.
#[test]
fn what_nobody_set_never_stands_in_the_way_of_what_somebody_did() {
    let two = shipped("raid-filesystem", 8, &["filesystem=ext4,btrfs", "raid=raid0,raid10"], 3);
    let found = effects(&drawn(&two, 1, |of| file_systems(of, 0.0, -0.4))).remove(0);
    let filesystem = of(&found, "filesystem");
    assert_eq!((filesystem.matters, filesystem.beside.is_none()), (Some(true), true));
    assert_eq!(found.following[0].knob, "volumes");
    // One disk without RAID, and all of them with it.
    let single = shipped("raid-filesystem", 4, &["filesystem=ext4,xfs", "raid=single,raid5"], 3);
    let found =
        effects(&drawn(
            &single,
            1,
            |of| {
                if of.get(knob::RAID) == Some("single") { -1.0 } else { 0.0 }
            },
        ))
        .remove(0);
    assert_eq!(of(&found, "raid").matters, Some(true));
    let disks = &found.following[0];
    assert_eq!((disks.knob, &disks.from[..]), ("disks", &["raid"][..]));
    let claim = tell::tell(&found).whole();
    let follows = "`disks` was not varied by itself, but follows `raid`: with raid5 it is 4, with \
                   single it is 1.";
    assert!(claim.contains(follows), "{claim}");
    // Both file systems, with and without RAID: btrfs is `single` over all disks.
    let both = shipped("raid-filesystem", 4, &["filesystem=ext4,btrfs", "raid=single,raid0"], 3);
    let found = effects(&drawn(&both, 1, |_| 0.0)).remove(0);
    let names: Vec<&str> = found.following.iter().map(|it| it.knob).collect();
    assert_eq!(names, ["disks", "volumes"]);
    assert_eq!(found.following[0].from, ["filesystem", "raid"]);
    assert!(found.knobs.iter().all(|it| it.span.is_some()), "{:?}", found.knobs);
}

/// What somebody set, so that it always changes with another, is still not told apart.
#[test]
fn a_number_of_disks_that_was_varied_is_a_knob_of_its_own() {
    let cells = shipped("raid-filesystem", 8, &["filesystem=ext4", "disks=4,8", "raid=raid0"], 3);
    let found =
        effects(&drawn(&cells, 1, |of| 0.5 * f64::from(of.get(knob::DISKS).unwrap_or(0) == 8)))
            .remove(0);
    assert_eq!(of(&found, "disks").matters, Some(true));
    assert!(found.following.is_empty());
}
