//! How many trials each cell gets, decided by pilots on which no figure rests.
//!
//! A rule that stops when an interval looks narrow picks the times at which the scatter happens to
//! look small, and what it then prints covers the truth less often than it says. Here short pilots
//! tell how far the trials of a cell scatter. From that alone follows how many trials it gets,
//! before the first of them runs. Given the pilots each cell has a fixed number of independent
//! trials, and Student's interval of those covers what it says: over all cells, over those that got
//! the least, over those that got more, and however trials are distributed. It is the first of
//! Stein's two stages, asked for the size alone. What it costs is the pilots' time.
//!
//! Source: Stein, "A two-sample test for a linear hypothesis whose power is independent of the
//! variance", Annals of Mathematical Statistics 16 (1945).

use super::{sample_variance, t_quantile};

/// What pilots told of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilots {
    /// The figure of each pilot; what is not positive says nothing.
    pub values: Vec<f64>,
    /// What one more trial of the cell takes, ns.
    pub trial_ns: u64,
}

/// What is wanted of every cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Each gets so many trials, whatever its pilots said; two or more.
    pub least: u32,
    /// None gets more.
    pub most: u32,
    /// The half width that is aimed at, as a share of the figure.
    pub share: f64,
}

/// Few pilots say little of a scatter: that of the other cells counts as so many values more.
const OTHERS_WEIGHT: f64 = 1.0;

/// How many trials each cell gets, when `left_ns` is there beside the least of each. Time goes to
/// where an interval shrinks most for it, and to whole steps alone: a cell that cannot come within
/// the share in what is left is not chased, and neither is one that is within it already.
pub fn allocated(cells: &[Pilots], wanted: &Wanted, left_ns: u64) -> Vec<u32> {
    let spreads = spreads(cells);
    let mut open: Vec<AllocationCandidate> = Vec::new();
    for (cell, spread) in spreads.iter().enumerate() {
        let needed = (wanted.least..=wanted.most).find(|n| half(*spread, *n) <= wanted.share);
        let Some(needed) = needed.filter(|needed| *needed > wanted.least) else { continue };
        let more = u64::from(needed - wanted.least);
        let cost_ns = cells[cell].trial_ns.saturating_mul(more).max(1);
        let shrinks = half(*spread, wanted.least) - half(*spread, needed);
        open.push(AllocationCandidate { cell, needed, cost_ns, worth: shrinks / cost_ns as f64 });
    }
    open.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let mut counts = vec![wanted.least; cells.len()];
    let mut left_ns = left_ns;
    for step in open {
        if let Some(less) = left_ns.checked_sub(step.cost_ns) {
            left_ns = less;
            counts[step.cell] = step.needed;
        }
    }
    counts
}

/// How many trials bring a cell within the wanted share, and what they cost in ns.
struct AllocationCandidate {
    cell: usize,
    needed: u32,
    cost_ns: u64,
    /// By how much its interval shrinks, for each ns.
    worth: f64,
}

/// The half width that so many trials are expected to have, as a share.
fn half(spread: f64, trials: u32) -> f64 {
    let n = f64::from(trials);
    (t_quantile(0.975, n - 1.0) * spread / n.sqrt()).exp() - 1.0
}

/// How far the trials of each cell scatter, of their logarithms.
fn spreads(cells: &[Pilots]) -> Vec<f64> {
    let own: Vec<Option<(f64, f64)>> = cells.iter().map(own_spread).collect();
    let mut known: Vec<f64> = own.iter().flatten().map(|(variance, _)| *variance).collect();
    known.sort_by(f64::total_cmp);
    // Of several, one that is disturbed says nothing of the rest.
    let usual = known.get(known.len() / 2).copied().unwrap_or(f64::INFINITY);
    let of = |own: &Option<(f64, f64)>| match own {
        Some((variance, freedom)) => {
            (freedom * variance + OTHERS_WEIGHT * usual) / (freedom + OTHERS_WEIGHT)
        }
        None => usual,
    };
    own.iter().map(|own| of(own).sqrt()).collect()
}

/// The variance of the logarithms of its pilots, with its degrees of freedom.
fn own_spread(cell: &Pilots) -> Option<(f64, f64)> {
    let counts = |value: &&f64| **value > 0.0 && value.is_finite();
    let logs: Vec<f64> = cell.values.iter().filter(counts).map(|value| value.ln()).collect();
    (logs.len() >= 2).then(|| (sample_variance(&logs), (logs.len() - 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::testing::{Coverage, Random, seeds};
    use crate::stats::{mean, mean_interval};

    const WANTED: Wanted = Wanted { least: 6, most: 24, share: 0.05 };
    const SECOND_NS: u64 = 1_000_000_000;

    fn pilots(values: &[f64]) -> Pilots {
        Pilots { values: values.to_vec(), trial_ns: SECOND_NS }
    }

    #[test]
    fn time_goes_to_the_cell_that_it_brings_within_the_share() {
        let quiet = pilots(&[100.0, 100.5, 99.8]);
        let noisy = pilots(&[100.0, 108.0, 95.0]);
        let hopeless = pilots(&[100.0, 300.0, 40.0]);
        let cells = [quiet.clone(), noisy, hopeless];
        let counts = allocated(&cells, &WANTED, 60 * SECOND_NS);
        assert_eq!((counts[0], counts[2]), (6, 6), "{counts:?}");
        assert!((7..=24).contains(&counts[1]), "{counts:?}");
        // What cannot be finished is not begun.
        assert_eq!(allocated(&cells, &WANTED, SECOND_NS / 2), [6, 6, 6]);
        assert_eq!(allocated(&[quiet], &WANTED, 60 * SECOND_NS), [6]);
        assert!(allocated(&[], &WANTED, SECOND_NS).is_empty());
    }

    /// A pilot that failed, was cut short or ran against a cache has no figure, or an absurd one.
    #[test]
    fn pilots_that_say_nothing_give_the_least() {
        for values in
            [&[][..], &[5.0], &[0.0, -1.0, f64::NAN], &[f64::INFINITY, 2.0], &[1.0, 1e300]]
        {
            assert_eq!(allocated(&[pilots(values)], &WANTED, u64::MAX), [6], "{values:?}");
        }
        let same = Pilots { trial_ns: 0, ..pilots(&[7.0, 7.0]) };
        assert_eq!(allocated(&[same], &WANTED, 0), [6]);
        let endless = Pilots { trial_ns: u64::MAX, ..pilots(&[100.0, 108.0, 95.0]) };
        assert_eq!(allocated(&[endless], &WANTED, SECOND_NS), [6]);
    }

    /// A trial's figure: what it is about, and how one comes about.
    type Draw = fn(&mut Random, f64) -> f64;

    const OPERATIONS: usize = 200;

    /// A trial is a mean of operations, whose times have heavy tails, and all of it scatters by
    /// `spread` from trial to trial.
    fn of_operations(random: &mut Random, spread: f64, draw: fn(&mut Random) -> f64) -> f64 {
        let operations: Vec<f64> = (0..OPERATIONS).map(|_| draw(random)).collect();
        mean(&operations) * (1.0 + spread * random.normal())
    }

    const CASES: &[(&str, f64, Draw)] = &[
        ("normal", 1.0, |random, spread| 1.0 + spread * random.normal()),
        ("AR(1)", 1.0, |random, spread| mean(&random.ar1(50, 0.9, 1.0, 4.0 * spread))),
        ("lognormal, sigma 1", 1.648_721, |random, spread| {
            of_operations(random, spread, |random| random.normal().exp())
        }),
        ("1 % of stalls, 50 times as long", 1.49, |random, spread| {
            of_operations(random, spread, |random| if random.uniform() < 0.01 { 50.0 } else { 1.0 })
        }),
    ];

    /// Naive stopping at 5 % covers 90 to 93 %. What pilots decide covers 95 %: over those that
    /// stopped at the least, and over those that got more.
    #[test]
    fn what_pilots_decided_covers_the_truth_where_it_stopped_early_and_where_it_did_not() {
        const CELLS: usize = 11;
        for (what, truth, draw) in CASES {
            let (mut early, mut late) = (Coverage::default(), Coverage::default());
            let (mut ours, mut fixed) = (Vec::new(), Vec::new());
            for seed in seeds() {
                let mut random = Random::new(seed);
                let spreads: Vec<f64> =
                    (0..CELLS).map(|_| random.between(0.01_f64.ln(), 0.1_f64.ln()).exp()).collect();
                let mut trials = |cell: usize, n: u32| -> Vec<f64> {
                    (0..n).map(|_| draw(&mut random, spreads[cell])).collect()
                };
                let asked: Vec<Pilots> = (0..CELLS).map(|cell| pilots(&trials(cell, 3))).collect();
                let counts = allocated(&asked, &WANTED, 60 * SECOND_NS);
                // A pilot lasts half as long as a trial.
                let spent = 1.5 * CELLS as f64 + counts.iter().map(|n| f64::from(*n)).sum::<f64>();
                let same = (spent / CELLS as f64).round() as u32;
                for (cell, count) in counts.iter().enumerate() {
                    let ends = mean_interval(&trials(cell, *count)).and_then(|it| it.interval);
                    let of = if *count == WANTED.least { &mut early } else { &mut late };
                    of.add(ends, *truth);
                    let width = |ends: Option<crate::stats::Interval>| {
                        ends.map_or(f64::NAN, |ends| (ends.high / ends.low).ln())
                    };
                    ours.push(width(ends));
                    fixed
                        .push(width(mean_interval(&trials(cell, same)).and_then(|it| it.interval)));
                }
            }
            early.check_least(&format!("{what}, the least"));
            late.check_least(&format!("{what}, more"));
            let ratio = mean(&ours) / mean(&fixed);
            assert!(ratio <= 1.25, "{what}: {ratio} times as wide as a fixed number of trials");
        }
    }
}
