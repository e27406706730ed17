//! (pure) Factors and levels, expanded into trials.
//!
//! A plan says what to measure, how often and in which order. The order is random within each
//! replicate (blocked), seeded, and repeatable.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::knob::Settings;

mod bare;
pub mod builtin;
pub mod design;
pub mod expand;
pub mod file;
pub mod files;
pub mod labels;
pub mod layouts;
mod legs;
mod load;
pub mod needs;
pub mod order;
pub mod refused;
pub mod standard;
mod target;

/// One run of one cell.
#[derive(Clone, Debug)]
pub struct Trial {
    /// 1 for the first.
    pub number: u32,
    /// 1 for the first run of its cell.
    pub replicate: u32,
    /// Which group of cells it belongs to, for people: `streams, direct`.
    pub group: String,
    /// A value for every knob of the engine.
    pub settings: Settings,
    /// Number of the first file that it uses; like the seed, it does not tell cells apart.
    pub first_file: u32,
    /// Draws the blocks that this trial reads or writes; fits in 53 bits.
    pub seed: u64,
    /// Its place in the plan's order, 1 for the first; `None` for probes and layouts.
    pub planned: Option<u32>,
}

/// Groups of trials that make ready for others: they are kept and shown, and nothing is claimed
/// from them.
pub const PROBE: &str = "probe";
/// See [`PROBE`].
pub const LAYOUT: &str = "layout";

impl Trial {
    /// Whether it only makes ready for others: its files, or knowledge of how fast they are made.
    pub fn prepares(&self) -> bool {
        prepares(&self.group)
    }
}

/// Whether the trials of `group` only make ready for others.
pub fn prepares(group: &str) -> bool {
    group == PROBE || group == LAYOUT
}

/// The largest seed: JSON readers that use doubles show whole numbers of 53 bits exactly (RFC 8259,
/// section 6), and a seed that is shown wrongly repeats nothing.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// Cuts a seed that we drew ourselves to [`SEED_MAX`]; one that a person gave is refused instead.
pub fn exact_in_json(seed: u64) -> u64 {
    seed & SEED_MAX
}

/// Cells, expanded into trials: each replicate is a random permutation of all cells.
pub fn blocked(cells: &[(String, Settings)], replicates: u32, seed: u64) -> Vec<Trial> {
    let each = cells.iter().map(|(group, settings)| (group.clone(), settings.clone(), replicates));
    blocked_each(&each.collect::<Vec<_>>(), seed)
}

/// The same, with a number of replicates of its own for each cell: those of the cells that have
/// fewer are spread over the time of all.
pub fn blocked_each(cells: &[(String, Settings, u32)], seed: u64) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rounds = cells.iter().map(|(_, _, replicates)| *replicates).max().unwrap_or(0);
    let by = |round: u32, index: usize| round * cells[index].2 / rounds;
    let mut trials = Vec::new();
    for round in 0..rounds {
        let runs = |index: &usize| by(round, *index) < by(round + 1, *index);
        let mut order: Vec<usize> = (0..cells.len()).filter(runs).collect();
        shuffle(&mut order, &mut random);
        for index in order {
            let (group, settings, _) = &cells[index];
            trials.push(Trial {
                number: trials.len() as u32 + 1,
                replicate: by(round + 1, index),
                group: group.clone(),
                settings: settings.clone(),
                first_file: 0,
                seed: exact_in_json(random.next_u64()),
                planned: None,
            });
        }
    }
    trials
}

/// Fisher and Yates's shuffle.
pub fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        // Rejection keeps every permutation equally likely.
        let bound = last as u64 + 1;
        let limit = u64::MAX - u64::MAX % bound;
        let drawn = loop {
            let drawn = random.next_u64();
            if drawn < limit {
                break drawn % bound;
            }
        };
        items.swap(last, drawn as usize);
    }
}
