//! Planted spreads, alike and not, over seeds.

use super::*;
use crate::stats::testing::{Coverage, Random, long, seeds};

/// Relative standard deviation of a calm cell.
const CALM: f64 = 0.03;

/// How often the intervals of each sample held its truth, and the widths of all of them, before and
/// after spread is shared; how many of the samples shared one.
#[derive(Debug, Default)]
struct Judged {
    each: Vec<Coverage>,
    own: Vec<f64>,
    told: Vec<f64>,
    shares: usize,
}

impl Judged {
    fn all(&self) -> Coverage {
        let sum = |of: fn(&Coverage) -> u32| self.each.iter().map(of).sum();
        Coverage {
            asked: sum(|it| it.asked),
            given: sum(|it| it.given),
            covered: sum(|it| it.covered),
        }
    }

    /// The middle width after over the middle width before.
    fn narrower(&self) -> f64 {
        middle(&self.told) / middle(&self.own)
    }
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Cells whose truths lie far apart, each of `n` repeats that scatter so many times as far as
/// usual.
fn judged(times: &[f64], n: usize) -> Judged {
    let mut judged = Judged::default();
    judged.each.resize_with(times.len(), Coverage::default);
    let truth = |cell: usize| 100.0 * 2_f64.powi(cell as i32);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let draw = |(cell, times): (usize, &f64)| {
            (0..n).map(|_| truth(cell) * (1.0 + CALM * times * random.normal())).collect()
        };
        let samples: Vec<Vec<f64>> = times.iter().enumerate().map(draw).collect();
        let found = mean_intervals(&samples);
        for (cell, (values, found)) in samples.iter().zip(found).enumerate() {
            let (estimate, shared) = found.unwrap();
            let width =
                |of: Estimate| of.interval.map(|it| (it.high - it.low) / truth(cell)).unwrap();
            judged.each[cell].add(estimate.interval, truth(cell));
            judged.told.push(width(estimate));
            judged.own.push(width(mean_interval(values).unwrap()));
            judged.shares += usize::from(shared.is_some());
        }
    }
    judged
}

/// Eight cells of three repeats had t = 4.3 each, and a width that three repeats are worth.
#[test]
#[expect(clippy::print_stdout, reason = "how much is won is told with --nocapture")]
fn of_equal_spread_the_intervals_hold_as_often_as_they_say_and_are_narrower() {
    for cells in 2..=8 {
        for n in 2..=6 {
            let found = judged(&vec![1.0; cells], n);
            let what = format!("{cells} cells, n {n}, {:.3} times as wide", found.narrower());
            println!("{what}: covered {:.4}, {} share", found.all().share(), found.shares);
            found.all().check(&what);
            assert!((cells, n) != (8, 3) || found.narrower() <= 0.6, "{what}");
        }
    }
    // Of many cells the largest spreads are not cut off until the rest looks calm.
    for (cells, n) in [(30, 3), (100, 3), (30, 5)] {
        let found = judged(&vec![1.0; cells], n);
        found.all().check(&format!("{cells} cells, n {n}"));
    }
}

/// A cell that scatters more than its likes and happened to agree must not borrow their calm.
#[test]
#[expect(clippy::print_stdout, reason = "how often it is held is told with --nocapture")]
fn a_cell_that_scatters_more_is_held_nine_times_in_ten() {
    // Of 200 seeds 90 % may come out as 86 %.
    let least = if long() { 0.90 } else { 0.86 };
    for times in [3.0, 6.0] {
        for cells in 2..=8 {
            for n in 2..=6 {
                let mut all = vec![1.0; cells];
                all[cells / 2] = times;
                let found = judged(&all, n);
                let share = found.each[cells / 2].share();
                let what = format!("{times} times, among {cells} cells, n {n}");
                println!("{what}: covered {share:.4}, all {:.4}", found.all().share());
                assert!(share >= least, "{what}: {share}");
                found.all().check_least(&what);
            }
        }
    }
}

/// Where spreads are of many sizes some are too near to each other for any test. The intervals of
/// all together hold, and those of the most restless cells nearly.
#[test]
#[expect(clippy::print_stdout, reason = "how often it is held is told with --nocapture")]
fn of_spreads_of_many_sizes_all_together_hold() {
    let ladder: Vec<f64> = (0..8).map(|place| 4_f64.powf(f64::from(place) / 7.0)).collect();
    let half = |times: f64| (0..8).map(|cell| if cell % 2 == 0 { 1.0 } else { times }).collect();
    let one = |times: f64| (0..8).map(|cell| if cell == 7 { times } else { 1.0 }).collect();
    let cases: [Vec<f64>; 6] = [ladder, half(2.0), half(3.0), one(1.5), one(2.0), one(0.33)];
    for times in cases {
        for n in [2, 3, 5] {
            let found = judged(&times, n);
            let worst = found.each.iter().map(Coverage::share).fold(1.0, f64::min);
            let what = format!("{times:.2?}, n {n}");
            println!("{what}: all {:.4}, worst {worst:.4}", found.all().share());
            let (all, one) = if long() { (0.92, 0.86) } else { (0.90, 0.82) };
            assert!(found.all().share() >= all && worst >= one, "{what}: {found:?}");
        }
    }
}

/// Slow runs are slower than fast ones are fast: of skewed noise Student's interval holds less
/// often than it says. A pool must not make that worse.
#[test]
#[expect(clippy::print_stdout, reason = "how often it is held is told with --nocapture")]
fn of_skewed_noise_a_pool_holds_no_less_often_than_a_cell_alone() {
    for (cells, n) in [(4, 3), (8, 2), (8, 3), (8, 5)] {
        let (mut told, mut alone) = (Coverage::default(), Coverage::default());
        for seed in seeds() {
            let mut random = Random::new(seed);
            let mut run = || 100.0 + 3.0 * (1.0 + random.uniform().ln());
            let samples: Vec<Vec<f64>> =
                (0..cells).map(|_| (0..n).map(|_| run()).collect()).collect();
            for (values, found) in samples.iter().zip(mean_intervals(&samples)) {
                told.add(found.unwrap().0.interval, 100.0);
                alone.add(mean_interval(values).unwrap().interval, 100.0);
            }
        }
        let (told, alone) = (told.share(), alone.share());
        println!("skewed, {cells} cells, n {n}: covered {told:.4}, alone {alone:.4}");
        assert!(told > alone - 0.01, "{cells} cells, n {n}: {told} {alone}");
    }
}

#[test]
fn a_restless_cell_keeps_its_own_and_the_others_share_theirs() {
    let calm = |truth: f64| vec![truth * 0.98, truth, truth * 1.02];
    let samples = [calm(10.0), calm(20.0), vec![20.0, 40.0, 60.0], calm(30.0), vec![5.0]];
    let found: Vec<_> = mean_intervals(&samples).into_iter().flatten().collect();
    let shares: Vec<Option<u32>> = found.iter().map(|it| it.1.map(|of| of.samples)).collect();
    assert_eq!(shares, [Some(3), Some(3), None, Some(3), None]);
    assert_eq!(found[2].0, mean_interval(&samples[2]).unwrap());
    assert_eq!(found[4].0, Estimate::bare(5.0), "one value has no interval, whatever its likes");
    // 2 % in each, six degrees of freedom: t is 2.447 where it was 4.303.
    let ends = found[0].0.interval.unwrap();
    let times = (2.4469 * 0.02 / 3_f64.sqrt()).exp();
    assert!((ends.high - 10.0 * times).abs() < 1e-3, "{ends:?}");
}

#[test]
fn what_is_alone_or_does_not_scatter_shares_nothing_that_could_mislead() {
    assert!(mean_intervals(&[]).is_empty());
    let odd = [vec![], vec![f64::NAN, 1.0], vec![-1.0, 1.0], vec![0.0, 0.0], vec![3.0, 3.1]];
    for (values, found) in odd.iter().zip(mean_intervals(&odd)) {
        assert_eq!(found.map(|it| it.0), mean_interval(values));
        assert!(found.is_none_or(|it| it.1.is_none()), "{values:?}");
    }
    // One that does not scatter does not make its likes calm, and they do not make it restless.
    let mixed = [vec![2.0; 3], vec![1.0, 1.1, 0.9], vec![5.0, 5.3, 4.9]];
    assert!(mean_intervals(&mixed).iter().flatten().all(|it| it.1.is_none()));
    let same = mean_intervals(&[vec![2.0; 3], vec![7.0; 2]]);
    let ends = same.iter().flatten().map(|it| it.0.interval.unwrap());
    assert!(ends.map(|it| it.high - it.low).all(|width| width == 0.0));
}
