//! (pure) Uniform random blocks, each once a round.
//!
//! Drawing with replacement would read some blocks twice before others once, and the second reading
//! comes from some cache. fio avoids that with a bit map; here a counter goes through a keyed
//! bijection of the smallest power of two that holds all blocks, and values beyond the last block
//! are walked over (Black and Rogaway 2002, cycle walking). No memory, and any place in the order
//! can be come back to.

use super::{AddressGenerator, mix};

/// A random permutation of the blocks; a new one every round.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    counter: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 2],
    blocks: u64,
    seed: u64,
    /// Blocks still to come this round.
    left: u64,
}

impl Shuffle {
    /// The blocks 0 to `blocks` - 1 in an order that `seed` decides.
    pub fn new(blocks: u64, seed: u64) -> Shuffle {
        let blocks = blocks.max(1);
        let mask = blocks.next_power_of_two() - 1;
        let shift = (mask.count_ones() / 2).max(1);
        let mut shuffle = Shuffle { counter: 0, mask, shift, keys: [0; 2], blocks, seed, left: 0 };
        shuffle.rekey();
        shuffle
    }

    fn rekey(&mut self) {
        self.seed = mix(self.seed);
        self.keys = [mix(self.seed ^ 1), mix(self.seed ^ 2)];
        self.counter = 0;
        self.left = self.blocks;
    }

    /// Where the bijection of this round sends block `block`: to a block, each to another.
    #[inline]
    pub fn image(&self, block: u64) -> u64 {
        let mut value = block;
        loop {
            value = self.permute(value);
            if value < self.blocks {
                return value;
            }
        }
    }

    /// A bijection of 0..=mask: adding, multiplying by an odd number and folding down the upper
    /// half each are one, modulo a power of two.
    #[inline]
    fn permute(&self, value: u64) -> u64 {
        let mut value = value.wrapping_add(self.keys[0]) & self.mask;
        value = value.wrapping_mul(0xD6E8_FEB8_6659_FD93) & self.mask;
        value ^= value >> self.shift;
        value = value.wrapping_add(self.keys[1]).wrapping_mul(0xCAA7_26C4_0A9B_2B6D) & self.mask;
        value ^= value >> self.shift;
        value = value.wrapping_mul(0x9E6C_63D0_876A_68DD) & self.mask;
        value ^ (value >> self.shift)
    }
}

impl AddressGenerator for Shuffle {
    #[inline]
    fn next(&mut self) -> u64 {
        if self.left == 0 {
            self.rekey();
        }
        self.left -= 1;
        loop {
            // More than half of the values are blocks, so this ends soon: after two on average.
            let block = self.permute(self.counter);
            self.counter = self.counter.wrapping_add(1);
            if block < self.blocks {
                return block;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_comes_once_a_round(blocks in 1_u64..600, seed: u64) {
            let mut shuffle = Shuffle::new(blocks, seed);
            for _ in 0..2 {
                let mut seen: Vec<u64> = (0..blocks).map(|_| shuffle.next()).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..blocks).collect::<Vec<u64>>());
            }
        }
    }

    #[test]
    fn a_part_of_a_round_is_spread_evenly_and_steps_are_far() {
        for blocks in [65_536_u64, 100_000, 262_144] {
            let mut shuffle = Shuffle::new(blocks, 11);
            let mut bins = [0_u32; 16];
            let (mut near, mut last) = (0, 0);
            for _ in 0..blocks / 8 {
                let block = shuffle.next();
                bins[(block * 16 / blocks) as usize] += 1;
                near += u32::from(block.abs_diff(last) < blocks / 100);
                last = block;
            }
            let mean = (blocks / 8) as f64 / 16.0;
            for bin in bins {
                assert!((f64::from(bin) - mean).abs() < 6.0 * mean.sqrt(), "{bins:?}");
            }
            // Two uniform blocks are nearer than 1 % with probability 2 %.
            let share = f64::from(near) / (blocks / 8) as f64;
            assert!((0.015..0.025).contains(&share), "{blocks}: {share}");
        }
    }

    #[test]
    fn other_seeds_and_other_rounds_give_other_orders() {
        let first = |mut shuffle: Shuffle| -> Vec<u64> { (0..8).map(|_| shuffle.next()).collect() };
        let mut later = Shuffle::new(1000, 1);
        let one = first(later);
        for _ in 0..1000 {
            later.next();
        }
        assert_ne!(one, first(Shuffle::new(1000, 2)));
        assert_ne!(one, first(later));
        assert_eq!(one, first(Shuffle::new(1000, 1)));
    }
}
