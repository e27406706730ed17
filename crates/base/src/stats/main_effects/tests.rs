//! Planted truth: split plots with noise of every stratum, whole and damaged.

use super::*;
use crate::stats::Interval;
use crate::stats::strata::Precision;
use crate::stats::testing::{Coverage, Random, null_limit, seeds};

mod interactions;
mod nested;
mod shares;
mod spread;
mod uneven;
mod wandering;

/// Noise of arrays, of settings within an array, of trials within a setting (of a logarithm).
const NOISE: [f64; 3] = [0.06, 0.03, 0.01];

/// Layout, file system (of the array's scope too), read-ahead, a second setting of the machine,
/// streams, block size; the last of each scope does nothing.
const FACTORS: [Factor; 6] = [
    Factor { levels: 2, stratum: 0 },
    Factor { levels: 2, stratum: 0 },
    Factor { levels: 2, stratum: 1 },
    Factor { levels: 2, stratum: 1 },
    Factor { levels: 3, stratum: 2 },
    Factor { levels: 2, stratum: 2 },
];

/// Logarithm of the rate of each level.
const PLANTED: [&[f64]; 6] =
    [&[0.0, 1.36], &[0.0, 0.0], &[0.0, 0.3], &[0.0, 0.0], &[0.0, 0.5, 0.6], &[0.0, 0.0]];

fn crossed(factors: &[Factor]) -> Vec<Vec<usize>> {
    factors.iter().fold(vec![Vec::new()], |cells, factor| {
        let grown = cells.iter().flat_map(|cell| {
            (0..factor.levels).map(move |level| [cell.as_slice(), &[level]].concat())
        });
        grown.collect()
    })
}

/// Runs of `cells` with noise drawn anew for each plot; what streams gain depends on the array.
fn split_plot(cells: &[Vec<usize>], replicates: u32, random: &mut Random) -> Vec<Run> {
    let mut runs = Vec::new();
    for replicate in 0..replicates {
        let mut plots: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        let block = 0.1 * random.normal();
        for cell in cells {
            let mut value = block + NOISE[2] * random.normal();
            for (place, noise) in NOISE[..2].iter().enumerate() {
                let key = cell[..2 * (place + 1)].to_vec();
                value += *plots.entry(key).or_insert_with(|| noise * random.normal());
            }
            value += PLANTED.iter().zip(cell).map(|(of, level)| of[*level]).sum::<f64>();
            // An interaction whose mean over either factor is 0: it changes no main effect.
            let sign = |level: usize| if level == 0 { -1.0 } else { 1.0 };
            value += 0.1 * sign(cell[0]) * [-1.0, 0.0, 1.0][cell[4]];
            runs.push(Run { replicate, levels: cell.clone(), value });
        }
    }
    runs
}

/// How well the planted effects are covered, and how often anything was claimed of a null factor.
#[derive(Default)]
struct Tally {
    of: [Coverage; 6],
    /// Of all pairs of the three levels at once.
    pairs: Coverage,
    level: Coverage,
    naive: Coverage,
    claims: u32,
}

impl Tally {
    fn add(&mut self, found: &MainEffects) {
        let mut claimed = false;
        for (number, effect) in found.effects.iter().enumerate() {
            let span = effect.span.unwrap();
            let planted = PLANTED[number];
            let truth = planted[span.most] - planted[span.least];
            self.of[number].add(span.difference.interval, truth);
            let null = planted.iter().all(|of| *of == 0.0);
            claimed |= null && span.chance.unwrap() <= CHANCE;
        }
        self.claims += u32::from(claimed);
        let span = found.effects[4].span.unwrap().difference;
        let of = found.effects[4].levels.iter().zip(PLANTED[4]);
        let off: Vec<f64> = of.map(|(found, planted)| found.value - planted).collect();
        self.pairs.add(span.interval.map(half), range(&off));
        let last = found.effects[4].levels[2].interval;
        self.level.add(last, 0.6 - mean(PLANTED[4]));
    }

    fn check(&self, what: &str) {
        for (number, coverage) in self.of.iter().enumerate() {
            // That of three levels holds for all pairs at once, so for each it covers more.
            match FACTORS[number].levels {
                2 => coverage.check(&format!("{what}: factor {number}")),
                _ => coverage.check_surely(&format!("{what}: factor {number}")),
            }
        }
        self.pairs.check(&format!("{what}: all pairs of levels"));
        self.level.check(&format!("{what}: one level"));
        let claims = f64::from(self.claims) / seeds().end as f64;
        assert!(claims <= null_limit(), "{what}: {} claims of null factors", self.claims);
    }
}

/// As far as an interval goes to either side of its middle.
fn half(ends: Interval) -> Interval {
    let half = (ends.high - ends.low) / 2.0;
    Interval { low: -half, high: half }
}

/// How far the largest is from the least.
fn range(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(*it), b.max(*it)));
    high - low
}

/// What one gets who pools all trials: an error as if every trial had an array of its own.
fn naive(runs: &[Run], factor: usize) -> Estimate {
    let one: Vec<Factor> = FACTORS.iter().map(|factor| Factor { stratum: 0, ..*factor }).collect();
    let found = main_effects(&one, runs).unwrap();
    let span = found.effects[factor].span.unwrap();
    let flipped = |it: f64| if span.most == 1 { it } else { -it };
    let ends = span.difference.interval.unwrap();
    let (a, b) = (flipped(ends.low), flipped(ends.high));
    Estimate::within(flipped(span.difference.value), a.min(b), a.max(b))
}

/// File systems were compared on one array each, with the scatter of trials on it. Pooled so, an
/// interval of what the array was worth holds the truth one time in three.
#[test]
fn each_stratum_covers_its_truth_where_pooling_all_trials_does_not() {
    let (mut tally, cells) = (Tally::default(), crossed(&FACTORS));
    for seed in seeds() {
        let runs = split_plot(&cells, 3, &mut Random::new(seed));
        tally.add(&main_effects(&FACTORS, &runs).unwrap());
        tally.naive.add(naive(&runs, 0).interval, 1.36);
    }
    tally.check("whole");
    assert!(tally.naive.share() < 0.6, "pooled: {:?}", tally.naive);
}

#[test]
fn missing_trials_change_the_width_and_not_the_truth() {
    let (mut tally, cells) = (Tally::default(), crossed(&FACTORS));
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut runs = split_plot(&cells, 4, &mut random);
        // One in ten fails, and one array was not made at all in the last replicate.
        runs.retain(|_| random.uniform() > 0.1);
        runs.retain(|run| run.replicate < 3 || run.levels[..2] != [1, 1]);
        tally.add(&main_effects(&FACTORS, &runs).unwrap());
    }
    tally.check("missing");
}

#[test]
fn without_trials_missing_an_error_is_exactly_that_of_its_stratum() {
    // Two arrays, two replicates, two trials on each: means of arrays 1 and 5, 2 and 9.
    let values = [(0, 0, 0.0), (0, 0, 2.0), (0, 1, 4.0), (0, 1, 6.0)];
    let values = values.into_iter().chain([(1, 0, 1.5), (1, 0, 2.5), (1, 1, 8.0), (1, 1, 10.0)]);
    let runs: Vec<Run> = values
        .enumerate()
        .map(|(number, (replicate, array, value))| Run {
            replicate,
            levels: vec![array, number % 2],
            value,
        })
        .collect();
    let factors = [Factor { levels: 2, stratum: 7 }, Factor { levels: 2, stratum: 9 }];
    let found = main_effects(&factors, &runs).unwrap();
    let array = found.effects[0].span.unwrap();
    // Differences of arrays 4 and 7 in the two replicates: mean 5.5, standard error 1.5, t 12.706.
    assert!((array.difference.value - 5.5).abs() < 1e-9);
    let ends = array.difference.interval.unwrap();
    assert!((ends.high - 5.5 - 12.7062 * 1.5).abs() < 1e-3, "{ends:?}");
    // Second trials gain 2, 2, 1, 2: the error of the differences within arrays, 2 degrees.
    let trial = found.effects[1].span.unwrap();
    assert!((trial.difference.value - 1.75).abs() < 1e-9);
    let table = Table::of(&factors, &runs);
    let weights = [-0.5, 0.5, -0.5, 0.5];
    let error: Precision = table.strata.contrast(&weights).unwrap().error.unwrap();
    assert!((error.freedom - 2.0).abs() < 1e-9, "{error:?}");
    // Within arrays: gains less their mean over replicates, 0.5, 0, -0.5, 0; variance of a gain
    // 2 * 0.25 / 2 = 0.25; of their mean a quarter.
    assert!((error.variance - 0.0625).abs() < 1e-9, "{error:?}");
    let shares: f64 = found.effects.iter().map(|effect| effect.share).sum();
    assert!(shares + found.together <= 1.0 + 1e-9 && found.together < 0.01);
}

#[test]
fn one_replicate_gives_arrays_that_saturate_their_combinations_no_interval_or_test() {
    let cells = crossed(&FACTORS);
    let found = main_effects(&FACTORS, &split_plot(&cells, 1, &mut Random::new(1))).unwrap();
    assert_eq!(found.replicates, 1);
    for effect in &found.effects[..2] {
        let span = effect.span.unwrap();
        assert!(span.difference.interval.is_none() && span.chance.is_none());
        assert!(span.detectable.is_none() && span.difference.value.is_finite());
        assert!(effect.levels.iter().all(|level| level.interval.is_none()));
    }
    // A second replicate that was stopped after its first array repeats no pair of arrays.
    let mut runs = split_plot(&cells, 2, &mut Random::new(1));
    runs.retain(|run| run.replicate == 0 || run.levels[..2] == [0, 0]);
    let found = main_effects(&FACTORS, &runs).unwrap();
    let given = |place: usize| found.effects[place].span.unwrap().difference.interval.is_some();
    assert!(!given(0) && !given(1), "no array was repeated");
    assert!(given(2) && given(4), "what was varied within that array was");
}

#[test]
fn factors_that_always_change_together_are_not_separable() {
    let three = [Factor { levels: 2, stratum: 0 }; 3];
    let mut cells = crossed(&three);
    cells.retain(|cell| cell[0] == cell[1]);
    let run = |replicate: u32| {
        cells.iter().map(move |cell| Run {
            replicate,
            levels: cell.clone(),
            value: cell[2] as f64 + 0.01 * f64::from(replicate),
        })
    };
    let runs: Vec<Run> = (0..2).flat_map(run).collect();
    let found = main_effects(&three, &runs).unwrap();
    assert!(found.effects[0].span.is_none() && found.effects[1].span.is_none());
    assert_eq!(
        (&found.effects[0].aliases[..], &found.effects[1].aliases[..]),
        (&[1][..], &[0][..])
    );
    let third = found.effects[2].span.unwrap();
    assert!((third.difference.value - 1.0).abs() < 1e-9);
    assert_eq!((third.most, third.least), (1, 0));
}

/// A cell that is in one replicate and the cell that it is compared with in another: what a
/// replicate was worth would be taken for the effect.
#[test]
fn cells_that_share_no_replicate_are_not_compared() {
    let factors = [Factor { levels: 2, stratum: 0 }];
    let runs = [0, 1].map(|level| Run {
        replicate: level as u32,
        levels: vec![level],
        value: level as f64,
    });
    let found = main_effects(&factors, &runs).unwrap();
    assert!(found.effects[0].span.is_none() && found.effects[0].aliases.is_empty());
    assert!(main_effects(&factors, &[]).is_none() && main_effects(&[], &runs).is_none());
}

/// One at a time, and combinations that were excluded: the additive model has the planted effects.
#[test]
fn designs_that_are_not_crossed_in_full_give_the_planted_effects() {
    let factors = [Factor { levels: 3, stratum: 0 }, Factor { levels: 2, stratum: 1 }];
    let of = |cells: &[[usize; 2]]| {
        let runs = (0..3).flat_map(|replicate| {
            cells.iter().map(move |cell| Run {
                replicate,
                levels: cell.to_vec(),
                value: [0.0, 1.0, 3.0][cell[0]] + [0.0, 0.5][cell[1]],
            })
        });
        main_effects(&factors, &runs.collect::<Vec<_>>()).unwrap()
    };
    for cells in [&[[0, 0], [1, 0], [2, 0], [0, 1]][..], &[[0, 0], [1, 0], [1, 1], [2, 1]]] {
        let found = of(cells);
        let first = found.effects[0].span.unwrap();
        assert_eq!((first.most, first.least), (2, 0));
        assert!((first.difference.value - 3.0).abs() < 1e-9);
        assert!((found.effects[1].span.unwrap().difference.value - 0.5).abs() < 1e-9);
        // Without scatter the ends are the value, and the claim is sure.
        assert_eq!(first.chance, Some(0.0));
        assert!(found.together < 1e-9, "{}", found.together);
    }
}
