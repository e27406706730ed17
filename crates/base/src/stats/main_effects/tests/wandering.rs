//! Planted effects on a machine that wanders: each trial resembles the one before it (AR(1)), in
//! the order in which plans run their cells.

use super::interactions::{CROSSED, TOGETHER};
use super::*;

fn planted(cell: &[usize]) -> f64 {
    0.5 * cell[0] as f64 + 0.2 * cell[2] as f64 + TOGETHER[cell[0]][cell[2]]
}

/// Numbers up to `many` in random order.
fn shuffled(many: usize, random: &mut Random) -> Vec<usize> {
    let mut all: Vec<(f64, usize)> = (0..many).map(|it| (random.uniform(), it)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, it)| it).collect()
}

/// Three replicates, each in an order of its own: of all cells, or, where a layout is `dear`, of
/// layouts and of the cells within each.
fn runs(phi: f64, dear: bool, random: &mut Random) -> Vec<Run> {
    let within = CROSSED[1].levels * CROSSED[2].levels;
    let many = CROSSED[0].levels * within;
    let noise = random.ar1(3 * many, phi, 0.0, 0.05);
    let mut order = Vec::new();
    for replicate in 0..3 {
        let cells: Vec<usize> = match dear {
            false => shuffled(many, random),
            true => shuffled(CROSSED[0].levels, random)
                .into_iter()
                .flat_map(|layout| {
                    let cells = shuffled(within, random).into_iter();
                    cells.map(move |cell| layout * within + cell).collect::<Vec<_>>()
                })
                .collect(),
        };
        order.extend(cells.into_iter().map(|cell| (replicate, cell)));
    }
    let run = |((replicate, cell), noise): ((u32, usize), f64)| {
        let levels = vec![
            cell / within,
            cell / CROSSED[2].levels % CROSSED[1].levels,
            cell % CROSSED[2].levels,
        ];
        Run { replicate, value: planted(&levels) + noise, levels }
    };
    order.into_iter().zip(noise).map(run).collect()
}

#[test]
fn what_was_planted_is_covered_where_each_trial_resembles_the_one_before() {
    let mean = |streams: usize| (planted(&[0, 0, streams]) + planted(&[1, 0, streams])) / 2.0;
    let layouts = |at: usize| (0..4).map(|it| planted(&[at, 0, it])).sum::<f64>() / 4.0;
    for (phi, dear) in [(0.5, false), (0.9, false), (0.5, true), (0.9, true)] {
        let what = format!("phi {phi}, layouts dear: {dear}");
        let stratum = |it: &Factor| Factor { stratum: usize::from(dear && it.stratum > 0), ..*it };
        let factors = CROSSED.each_ref().map(stratum);
        let [mut layout, mut streams, mut fours] = [(); 3].map(|()| Coverage::default());
        let mut claims = 0;
        for seed in seeds() {
            let mut random = Random::new(seed);
            let found = main_effects(&factors, &runs(phi, dear, &mut random)).unwrap();
            let span = |factor: usize| found.effects[factor].span.unwrap();
            let sign = if span(0).most == 1 { 1.0 } else { -1.0 };
            layout.add(span(0).difference.interval, sign * (layouts(1) - layouts(0)));
            let all = (0..4).map(mean).sum::<f64>() / 4.0;
            streams.add(found.effects[2].levels[3].interval, mean(3) - all);
            let pairs = found.interactions.as_ref().unwrap();
            // Of equals the later depends on the earlier, and what is dear depends on nothing.
            let of = |factor: usize, on: usize| {
                let pair = pairs.iter().find(|it| (it.factor, it.on) == (factor, on));
                pair.unwrap().most.as_ref().unwrap()
            };
            let most = of(2, 0);
            let gain = |on: usize| {
                let [more, less] = most.levels.map(|streams| planted(&[on, 0, streams]));
                more - less
            };
            let [first, other] = most.under.map(gain);
            fours.add(most.difference.interval, first - other);
            let wrong = span(1).chance.unwrap() <= CHANCE
                || [of(1, 0), of(2, 1)].iter().any(|it| it.chance.unwrap() <= CHANCE);
            claims += u32::from(wrong);
        }
        layout.check(&format!("layouts, {what}"));
        streams.check(&format!("streams, {what}"));
        // It holds for all fours at once, so for each it covers more.
        fours.check_least(&format!("fours, {what}"));
        let claims = f64::from(claims) / seeds().end as f64;
        assert!(claims <= null_limit(), "{what}: {claims} claims of what does nothing");
    }
}
