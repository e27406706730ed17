//! (pure) Which generation of a piece of a file must be there, without a map of the file.
//!
//! Generation 0 writes every piece. Each later one writes over those that it chooses: where a hash
//! of seed, generation and piece falls in the share that was asked for. What must be in a piece is
//! thus a function of the newest generation alone: the newest that chose it.

/// Which pieces each generation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrites {
    seed: u64,
    /// Hashes up to this are chosen.
    chosen_max: u64,
}

impl Rewrites {
    /// Each generation after the first writes over about `share` (0 to 1) of all pieces; `seed`
    /// draws which.
    pub fn new(seed: u64, share: f64) -> Rewrites {
        // Saturates: a share of 1 is every hash.
        let chosen_max = (share.clamp(0.0, 1.0) * (u64::MAX as f64)) as u64;
        Rewrites { seed, chosen_max }
    }

    /// Whether `generation` writes `piece`.
    #[inline]
    pub fn chooses(&self, generation: u64, piece: u64) -> bool {
        generation == 0 || mix(mix(self.seed ^ mix(generation)) ^ piece) <= self.chosen_max
    }

    /// The generation that must be in `piece` when `newest` and all before it are complete. Looks
    /// back as far as that is: 1/share generations on average.
    pub fn expected(&self, newest: u64, piece: u64) -> u64 {
        (1..=newest).rev().find(|generation| self.chooses(*generation, piece)).unwrap_or(0)
    }
}

/// Stafford's mix 13 (2011), as in SplitMix64: every bit of the result depends on every bit given.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_what_replaying_every_generation_leaves() {
        for (seed, share) in [(1, 0.25), (2, 0.01), (3, 1.0), (u64::MAX, 0.6)] {
            let rewrites = Rewrites::new(seed, share);
            let mut map = vec![u64::MAX; 500];
            for generation in 0..40 {
                for (piece, held) in map.iter_mut().enumerate() {
                    if rewrites.chooses(generation, piece as u64) {
                        *held = generation;
                    }
                }
                let expected: Vec<u64> =
                    (0..500).map(|piece| rewrites.expected(generation, piece)).collect();
                assert_eq!(map, expected, "seed {seed}, share {share}, generation {generation}");
            }
        }
    }

    #[test]
    fn each_generation_writes_its_share_and_each_another_one() {
        let rewrites = Rewrites::new(7, 0.25);
        let chosen = |generation| (0..40_000).filter(move |it| rewrites.chooses(generation, *it));
        for generation in 1..6 {
            // Five standard deviations of a binomial: sqrt(40000 x 0.25 x 0.75) = 86.6.
            assert!(chosen(generation).count().abs_diff(10_000) < 433, "{generation}");
            let both = chosen(generation).filter(|it| rewrites.chooses(generation + 1, *it));
            assert!(both.count().abs_diff(2500) < 242, "{generation} and the next are alike");
        }
        assert_eq!(chosen(0).count(), 40_000);
        let all = Rewrites::new(7, 1.0);
        assert!((1..9).all(|generation| all.expected(generation, 3) == generation));
        let none = Rewrites::new(7, 0.0);
        assert_eq!(none.expected(1000, 3), 0);
    }

    /// A file that was written before the program was updated must be what the new one expects.
    #[test]
    fn the_choice_is_the_same_in_every_version() {
        let rewrites = Rewrites::new(0x0123_4567_89ab_cdef, 0.25);
        let first = |generation| -> Vec<u64> {
            (0..64).filter(|piece| rewrites.chooses(generation, *piece)).collect()
        };
        assert_eq!(first(1), [0, 6, 11, 23, 26, 27, 31, 32, 36, 43, 47, 51, 55, 58, 62]);
        assert_eq!(first(2), [0, 12, 15, 16, 20, 21, 24, 29, 30, 31, 32, 36, 38, 46, 61, 62]);
        let newest: Vec<u64> = (0..16).map(|piece| rewrites.expected(9, piece)).collect();
        assert_eq!(newest, [6, 0, 0, 7, 0, 6, 8, 7, 6, 0, 9, 1, 2, 9, 6, 7]);
    }
}
