//! Planted interactions, and none; replicated and measured once.

use super::*;

/// Layouts, read-ahead, streams: what streams gain depends on the layout, and read-ahead on
/// nothing.
pub const CROSSED: [Factor; 3] = [
    Factor { levels: 2, stratum: 0 },
    Factor { levels: 3, stratum: 1 },
    Factor { levels: 4, stratum: 2 },
];

/// How much more each layout makes of each number of streams (of a logarithm).
pub const TOGETHER: [[f64; 4]; 2] = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.04, 0.4, 0.42]];

/// Runs with noise of each stratum; `together` times the planted interaction.
fn planted(replicates: u32, together: f64, random: &mut Random) -> Vec<Run> {
    let mut runs = Vec::new();
    for replicate in 0..replicates {
        let mut plots: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        for cell in crossed(&CROSSED) {
            let mut value = 0.5 * cell[0] as f64 + 0.2 * cell[2] as f64 + 0.02 * random.normal();
            value += together * TOGETHER[cell[0]][cell[2]];
            for (most, noise) in [(1, 0.1), (2, 0.02)] {
                let key = cell[..most].to_vec();
                value += *plots.entry(key).or_insert_with(|| noise * random.normal());
            }
            runs.push(Run { replicate, levels: cell, value });
        }
    }
    runs
}

fn of(found: &MainEffects, factor: usize, on: usize) -> &Interaction {
    let all = found.interactions.as_ref().unwrap();
    all.iter().find(|it| (it.factor, it.on) == (factor, on)).unwrap()
}

fn matters(it: &Interaction) -> bool {
    it.most.as_ref().unwrap().chance.unwrap() <= CHANCE
}

/// What a planted table says of levels of streams on layouts.
fn gain(levels: [usize; 2], under: usize) -> f64 {
    let value = |level: usize| 0.2 * level as f64 + TOGETHER[under][level];
    value(levels[0]) - value(levels[1])
}

fn covers(replicates: u32, lose: bool) {
    let [mut simple, mut differing, mut lines, mut fours] = [(); 4].map(|()| Coverage::default());
    let (mut found_it, mut wrong) = (0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut runs = planted(replicates, 1.0, &mut random);
        runs.retain(|_| !lose || random.uniform() > 0.1);
        let found = main_effects(&CROSSED, &runs).unwrap();
        let it = of(&found, 2, 0);
        found_it += u32::from(matters(it));
        wrong += u32::from(matters(of(&found, 1, 0)) || matters(of(&found, 2, 1)));
        let most = it.most.as_ref().unwrap();
        let truth = most.under.map(|under| gain(most.levels, under));
        differing.add(most.difference.interval, truth[0] - truth[1]);
        // Fixed in advance: most streams on the second layout, against all there.
        if let Some(line) = it.lines.get(1) {
            let all: f64 = (0..4).map(|level| gain([level, 0], 1)).sum::<f64>() / 4.0;
            lines.add(line[3].interval, gain([3, 0], 1) - all);
            simple.add(most.effects[0].interval, truth[0]);
            // Layouts are two: of all fours the worst is off by the range of what levels are off.
            let off = |level: usize| {
                let [first, other] = [0, 1].map(|under| it.lines[under][level].value);
                other - first - TOGETHER[1][level]
            };
            let off: Vec<f64> = (0..4).map(off).collect();
            fours.add(most.difference.interval.map(half), range(&off));
        }
    }
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(wrong) <= null_limit(), "{wrong} claims of pairs that act alone");
    assert!(share(found_it) > 0.9, "found {found_it} times");
    // It holds for all fours at once, so for each it covers more.
    differing.check_surely("the four that differ most");
    // Where trials are missing, what negative parts of a variance would take away is left in.
    for (what, coverage) in [("lines", &lines), ("fours", &fours)] {
        match lose {
            false => coverage.check(what),
            true => coverage.check_surely(what),
        }
    }
    simple.check_surely("what streams gain where it is most");
}

#[test]
fn a_planted_interaction_is_found_within_its_interval_and_no_other_is() {
    covers(3, false);
}

#[test]
fn trials_that_are_missing_widen_an_interaction_and_do_not_move_it() {
    covers(4, true);
}

/// Each test by itself at 5 % claims something in one of five such campaigns.
#[test]
fn where_nothing_acts_together_nothing_is_claimed_of_all_pairs() {
    let (mut claims, mut any, mut alone) = (0, 0, 0);
    for seed in seeds() {
        let found = main_effects(&CROSSED, &planted(3, 0.0, &mut Random::new(seed))).unwrap();
        let all = found.interactions.as_ref().unwrap();
        claims += u32::from(all.iter().any(matters));
        let raw = |it: &Interaction| {
            let most = it.most.as_ref().unwrap();
            most.judged.unwrap().chance(most.difference.value) <= CHANCE
        };
        alone += u32::from(all.iter().any(raw));
        any += u32::from(matters(&all[0]));
    }
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(claims) <= null_limit(), "{claims} claims");
    assert!(share(alone) > share(claims) && any <= claims, "{alone} without the correction");
}

/// A table that was measured once: layouts have nothing to be judged by, all else has.
#[test]
fn measured_once_interactions_of_three_are_the_error_where_there_are_enough() {
    let (mut streams, mut wrong, mut pair) = (Coverage::default(), 0, Coverage::default());
    for seed in seeds() {
        let found = main_effects(&CROSSED, &planted(1, 1.0, &mut Random::new(seed))).unwrap();
        assert_eq!((found.borrowed, found.replicates), (Some(3), 1));
        let span = |factor: usize| found.effects[factor].span.unwrap();
        assert!(span(0).difference.interval.is_none() && span(0).chance.is_none());
        assert!(span(1).chance.is_none(), "two degrees of freedom between settings of a layout");
        let last = found.effects[2].levels[3].interval;
        let mean = |level: usize| 0.2 * level as f64 + TOGETHER[1][level] / 2.0;
        streams.add(last, mean(3) - (0..4).map(mean).sum::<f64>() / 4.0);
        let most = of(&found, 2, 0).most.as_ref().unwrap();
        let truth = most.under.map(|under| gain(most.levels, under));
        pair.add(most.difference.interval, truth[0] - truth[1]);
        wrong += u32::from(matters(of(&found, 2, 1)));
    }
    streams.check("streams");
    pair.check_surely("the four that differ most");
    let share = f64::from(wrong) / seeds().end as f64;
    assert!(share <= null_limit(), "{wrong} claims of a pair that acts alone");
}

/// Two knobs, measured once: their interaction is the error. Where there is one, the error is too
/// large, and nothing that is not there is claimed.
#[test]
fn measured_once_two_factors_are_judged_by_their_interaction_and_claim_less_where_there_is_one() {
    let factors = [Factor { levels: 3, stratum: 0 }, Factor { levels: 4, stratum: 0 }];
    let (mut plain, mut large, mut claims) = (Coverage::default(), Coverage::default(), [0; 2]);
    for seed in seeds() {
        let mut random = Random::new(seed);
        for (place, together) in [(0, 0.0), (1, 0.1)] {
            let cells = crossed(&factors).into_iter();
            let run = |levels: Vec<usize>| {
                // Its sums over either factor are 0.
                let both = [-1.0, 0.0, 1.0][levels[0]] * [-1.0, 1.0, 1.0, -1.0][levels[1]];
                let value = 0.3 * levels[0] as f64 + together * both + 0.02 * random.normal();
                Run { replicate: 7, levels, value }
            };
            let found = main_effects(&factors, &cells.map(run).collect::<Vec<_>>()).unwrap();
            assert!(found.borrowed == Some(2) && found.interactions.is_none());
            let coverage = if place == 0 { &mut plain } else { &mut large };
            coverage.add(found.effects[0].levels[2].interval, 0.3);
            claims[place] += u32::from(found.effects[1].span.unwrap().chance.unwrap() <= CHANCE);
        }
    }
    plain.check("without an interaction");
    assert!(large.share() > 0.95, "with one: {large:?}");
    let share = claims.map(|many| f64::from(many) / seeds().end as f64);
    assert!(share[0] <= null_limit() && share[1] <= null_limit(), "{claims:?}");
}

#[test]
fn measured_once_too_few_degrees_of_freedom_are_no_error() {
    let factors = [Factor { levels: 2, stratum: 0 }, Factor { levels: 3, stratum: 0 }];
    let run = |levels: Vec<usize>| Run { replicate: 0, value: levels[1] as f64, levels };
    let runs: Vec<Run> = crossed(&factors).into_iter().map(run).collect();
    let found = main_effects(&factors, &runs).unwrap();
    assert_eq!(found.borrowed, None, "two degrees of freedom");
    assert!(found.effects.iter().all(|effect| effect.span.unwrap().chance.is_none()));
    assert!(found.interactions.unwrap()[0].most.as_ref().unwrap().chance.is_none());
}

#[test]
fn combinations_that_were_not_measured_leave_an_interaction_undecided() {
    let factors = [Factor { levels: 2, stratum: 0 }; 2];
    let run = |replicate: u32| {
        let cells = crossed(&factors).into_iter().filter(|cell| cell != &[1, 1]);
        cells.map(move |levels| Run { replicate, value: levels[0] as f64, levels })
    };
    let runs: Vec<Run> = (0..3).flat_map(run).collect();
    let found = main_effects(&factors, &runs).unwrap();
    assert!(found.interactions.unwrap()[0].most.is_none());
    // 25 levels of 26 make more columns than are solved.
    let many = [Factor { levels: 26, stratum: 0 }; 2];
    let runs: Vec<Run> =
        (0..26).map(|at| Run { replicate: 0, levels: vec![at, at], value: 0.0 }).collect();
    assert!(main_effects(&many, &runs).unwrap().interactions.is_none());
}
