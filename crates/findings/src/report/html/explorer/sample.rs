//! (pure) Which trials of a very large campaign have a row: its extremes, what failed, what
//! findings rest on, and others by chance.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::columns::Kept;
use crate::report::{Input, TrialView};

/// Trials with the lowest values of each figure that are kept, and as many with the highest.
const EXTREMES: usize = 20;

/// Places of the rows among the trials, ascending, at most `most`: the same for the same campaign,
/// as chance is seeded with its seed.
pub fn rows(input: &Input<'_>, kept: &[Kept], most: usize) -> Vec<usize> {
    let count = input.records.len().min(input.trials.len());
    if count <= most {
        return (0..count).collect();
    }
    let mut rows = extremes(input, kept);
    let cited: BTreeSet<u32> =
        input.findings.iter().flat_map(|finding| finding.evidence.iter().copied()).collect();
    let failed = |row: &usize| input.records[*row].outcome.measurement().is_none();
    let evidence = |row: &usize| cited.contains(&input.records[*row].trial.number);
    // At most a quarter each, so that most of what is drawn is without a preference.
    rows.extend((0..count).filter(failed).take(most / 4));
    rows.extend((0..count).filter(evidence).take(most / 4));
    let mut others: Vec<usize> = (0..count).filter(|row| !rows.contains(row)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(input.campaign.seed);
    for place in 0..most.saturating_sub(rows.len()).min(others.len()) {
        // Fisher and Yates; of 2^64 the remainder is no preference that could be seen.
        let left = (others.len() - place) as u64;
        others.swap(place, place + (random.next_u64() % left) as usize);
        rows.insert(others[place]);
    }
    rows.into_iter().take(most).collect()
}

/// Those with the lowest and the highest values of each figure.
fn extremes(input: &Input<'_>, kept: &[Kept]) -> BTreeSet<usize> {
    let trials = &input.trials;
    let of = |kept: &Kept| -> Vec<usize> {
        let Kept::Figure(name) = kept else { return Vec::new() };
        let mut place = 0;
        let value = |(row, view): (usize, &TrialView)| {
            Some((view.figures.get_near(name, &mut place)?.value, row))
        };
        let mut values: Vec<(f64, usize)> = trials.iter().enumerate().filter_map(value).collect();
        values.retain(|(value, _)| value.is_finite());
        let by_value = |(a, _): &(f64, usize), (b, _): &(f64, usize)| a.total_cmp(b);
        // A hundred thousand values need not be sorted for the sake of forty.
        for place in [EXTREMES, values.len().saturating_sub(EXTREMES)] {
            if place < values.len() {
                values.select_nth_unstable_by(place, by_value);
            }
        }
        let ends = values.iter().take(EXTREMES).chain(values.iter().rev().take(EXTREMES));
        ends.map(|(_, row)| *row).collect()
    };
    kept.par_iter().flat_map_iter(of).collect()
}
