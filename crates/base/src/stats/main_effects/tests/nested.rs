//! Planted truth in nested factors: what goes with some levels alone.

use super::*;

/// RAID level, file system and streams: btrfs, the last, joins disks by itself, and has no RAID 50.
const FACTORS: [Factor; 3] = [
    Factor { levels: 3, stratum: 0 },
    Factor { levels: 3, stratum: 0 },
    Factor { levels: 2, stratum: 1 },
];

fn cells() -> Vec<Vec<usize>> {
    let mut cells = crossed(&FACTORS);
    cells.retain(|cell| (cell[0], cell[1]) != (2, 2));
    cells
}

/// Runs whose file systems are worth so much, with noise of layouts and of trials.
fn runs(of: [f64; 3], random: &mut Random) -> Vec<Run> {
    let mut runs = Vec::new();
    for replicate in 0..3 {
        let mut plots: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for cell in cells() {
            let layout = (cell[0], cell[1]);
            let layout = *plots.entry(layout).or_insert_with(|| 0.03 * random.normal());
            let raid = [0.0, 0.5, 0.2][cell[0]];
            let value = raid + of[cell[1]] + layout + 0.01 * random.normal();
            runs.push(Run { replicate, levels: cell, value });
        }
    }
    runs
}

fn claimed(span: Option<Span>) -> bool {
    span.is_some_and(|span| span.chance.is_some_and(|chance| chance <= CHANCE))
}

/// One btrfs among ext4 and XFS made the file system "not separable" from who joins the disks:
/// neither ext4 against XFS came out nor anything else of file systems.
#[test]
fn levels_are_told_from_each_other_within_a_class_and_classes_beside_each_other() {
    let classes = [Vec::new(), vec![0, 0, 1], Vec::new()];
    let (mut within, mut between) = (Coverage::default(), Coverage::default());
    let (mut claims, mut missed) = (0, 0);
    for seed in seeds() {
        let found = |of: [f64; 3]| {
            let runs = runs(of, &mut Random::new(seed));
            with_shares(&FACTORS, &classes, &runs).unwrap().effects
        };
        let planted = found([0.0, 0.3, -0.5]);
        let (span, beside) = (planted[1].span.unwrap(), planted[1].beside.unwrap());
        assert_eq!((span.most, span.least), (1, 0), "of ext4 and XFS");
        assert_eq!((beside.most, beside.least), (0, 1), "btrfs is the slower class");
        within.add(span.difference.interval, 0.3);
        between.add(beside.difference.interval, 0.15 + 0.5);
        missed += u32::from(!claimed(Some(span)) || !claimed(Some(beside)));
        assert!(planted[0].beside.is_none() && planted[2].beside.is_none());
        // What btrfs is off by is no effect of ext4 against XFS.
        let apart = found([0.0, 0.0, -0.5]);
        claims += u32::from(claimed(apart[1].span) || claimed(apart[2].span));
        missed += u32::from(!claimed(apart[1].beside));
        let null = found([0.0; 3]);
        claims += u32::from(claimed(null[1].span) || claimed(null[1].beside));
    }
    within.check("within a class");
    between.check("between classes");
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(claims) <= 2.0 * null_limit(), "{claims} claims of what does nothing");
    assert!(share(missed) <= 0.02, "{missed} missed");
}
