//! Planted spread: levels at which repeats differ more, with normal and with heavy tails.

use super::*;
use crate::stats::testing::Random;

const FACTORS: [Factor; 3] = [
    Factor { levels: 3, stratum: 0 },
    Factor { levels: 2, stratum: 1 },
    Factor { levels: 4, stratum: 2 },
];

/// Runs of which repeats differ `times` as much at the second level of the second factor; tails of
/// Student's t of 4 degrees of freedom if `heavy`; `dear` is the noise of layouts.
fn runs(replicates: u32, times: f64, heavy: bool, dear: f64, seed: u64) -> Vec<Run> {
    let mut draws = Random::new(seed);
    let mut runs = Vec::new();
    for replicate in 0..replicates {
        let layouts: Vec<f64> = (0..3).map(|_| dear * draws.normal()).collect();
        for cell in crossed(&FACTORS) {
            let tail = if heavy { (draws.chi_squared(4.0) / 4.0).sqrt() } else { 1.0 };
            let deviation = 0.02 * if cell[1] == 1 { times } else { 1.0 };
            let value = 0.3 * cell[2] as f64 + layouts[cell[0]] + deviation * draws.normal() / tail;
            runs.push(Run { replicate, levels: cell, value });
        }
    }
    runs
}

fn alone(stratum: usize) -> Vec<Factor> {
    FACTORS.iter().map(|factor| Factor { stratum: stratum * factor.stratum, ..*factor }).collect()
}

/// By the variance that is known for normal values, one campaign in four of heavy tails claims
/// something.
#[test]
fn planted_spread_is_covered_and_none_is_claimed_with_normal_and_heavy_tails() {
    for (heavy, replicates) in [(false, 3), (true, 3), (true, 6)] {
        let (mut coverage, mut claims, mut missed) = (Coverage::default(), 0, 0);
        for seed in seeds() {
            let of = |times: f64| {
                main_effects(&alone(0), &runs(replicates, times, heavy, 0.0, seed)).unwrap().spread
            };
            let claimed = |span: &Option<Span>| span.unwrap().chance.unwrap() <= CHANCE;
            let planted = of(6.0);
            let span = planted[1].unwrap();
            let truth = if span.most == 1 { 6.0_f64.ln() } else { -(6.0_f64.ln()) };
            coverage.add(span.difference.interval, truth);
            missed += u32::from(!claimed(&planted[1]));
            claims += u32::from(of(1.0).iter().any(claimed));
        }
        let share = |many: u32| f64::from(many) / seeds().end as f64;
        coverage.check(&format!("heavy {heavy}, {replicates} replicates"));
        assert!(share(claims) <= null_limit(), "heavy {heavy}: {claims} claims");
        assert!(share(missed) < 0.1, "heavy {heavy}: {missed} missed");
    }
}

/// Cells of one layout differ by what that layout was worth: judged by cells, layouts that are
/// alike were said to differ in how well they repeat.
#[test]
fn layouts_are_not_judged_by_cells_that_share_them() {
    let (mut claims, mut pooled) = (0, 0);
    for seed in seeds() {
        let runs = runs(3, 1.0, false, 0.06, seed);
        let claimed = |factors: &[Factor]| {
            let found = main_effects(factors, &runs).unwrap().spread;
            found.iter().flatten().any(|span| span.chance.is_some_and(|chance| chance <= CHANCE))
        };
        claims += u32::from(claimed(&alone(1)));
        pooled += u32::from(claimed(&alone(0)));
    }
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(claims) <= null_limit(), "{claims} claims");
    assert!(share(pooled) > 0.3, "pooled: {pooled}");
}

#[test]
fn two_repeats_or_none_that_differ_tell_nothing_of_spread() {
    assert!(main_effects(&FACTORS, &runs(2, 4.0, false, 0.0, 1)).unwrap().spread.is_empty());
    let mut same = runs(3, 4.0, false, 0.0, 1);
    same.iter_mut().for_each(|run| run.value = run.levels[2] as f64);
    assert!(main_effects(&FACTORS, &same).unwrap().spread.is_empty());
}
