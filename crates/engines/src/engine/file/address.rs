//! (pure) Which block comes next: walks, shuffles and Zipf draws over the blocks of a stream.
//!
//! A stream's files are one row of blocks, 0 to n-1; which file a block lies in is the layout's
//! business. Each generator is a plain value: a copy of it yields the same blocks again, which is
//! what a second pass needs.

mod any;
mod shuffle;
mod walk;
mod zipf;

pub use any::AnyAddressGenerator;
pub use shuffle::Shuffle;
pub use walk::StrideWalk;
pub use zipf::Zipf;

/// Yields the blocks of a stream in some order, for ever.
pub trait AddressGenerator: Clone {
    /// The next block, below the number of blocks. No allocation, no system call.
    fn next(&mut self) -> u64;
}

/// A well-mixed 64-bit function of `value` (Steele et al. 2014, SplitMix64's finaliser).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Maps a well-mixed 64-bit number to 0..`bound` by multiply and shift (Lemire 2019; the bias is
/// below `bound` / 2^64).
#[inline]
pub fn below(bound: u64, mixed: u64) -> u64 {
    ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
}

/// SplitMix64: fast, seeded by any number, good enough for where to read next.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Starts from `seed`.
    pub fn new(seed: u64) -> Draws {
        Draws(mix(seed))
    }

    /// 64 well-mixed bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_repeatable() {
        let mut draws = Draws::new(3);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[below(10, draws.bits()) as usize] += 1;
        }
        // Chi-square with 9 degrees of freedom stays below 33.7 with probability 0.9999.
        let chi: f64 = counts.iter().map(|&count| (f64::from(count) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 33.7, "{chi}");
        let (mut one, mut two) = (Draws::new(5), Draws::new(5));
        assert_eq!(one.bits(), two.bits());
        assert!((0.0..1.0).contains(&one.unit()));
    }

    #[test]
    fn below_reaches_both_ends() {
        assert_eq!(below(7, 0), 0);
        assert_eq!(below(7, u64::MAX), 6);
        assert_eq!(below(1, u64::MAX), 0);
    }
}
