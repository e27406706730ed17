//! (pure) Random blocks of which some are wanted far more often than others.
//!
//! The method of Gray et al. (Quickly generating billion-record synthetic databases, SIGMOD 1994),
//! as in YCSB: rank k is drawn in proportion to k^-theta. Ranks are then scattered over the blocks
//! by a bijection, so that the wanted blocks do not lie side by side.

use super::{AddressGenerator, Draws, Shuffle};

/// Zipf-distributed blocks.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    draws: Draws,
    blocks: u64,
    zeta: f64,
    eta: f64,
    alpha: f64,
    second: f64,
    /// Always in its first round: which blocks are wanted is the same for all streams and trials.
    scatter: Shuffle,
}

impl Zipf {
    /// Draws from 0..`blocks` with skew `theta`, above 0 and below 1.
    pub fn new(blocks: u64, theta: f64, seed: u64) -> Zipf {
        let blocks = blocks.max(1);
        let zeta = zeta(blocks, theta);
        let two = zeta_exact(blocks.min(2), theta);
        let share = 2.0 / blocks as f64;
        let eta = (1.0 - share.powf(1.0 - theta)) / (1.0 - two / zeta);
        Zipf {
            draws: Draws::new(seed),
            blocks,
            zeta,
            eta: if eta.is_finite() { eta } else { 1.0 },
            alpha: 1.0 / (1.0 - theta),
            second: 1.0 + 0.5_f64.powf(theta),
            scatter: Shuffle::new(blocks, 0x005C_A77E),
        }
    }

    /// A rank, 0 the most wanted.
    #[inline]
    fn rank(&mut self) -> u64 {
        let unit = self.draws.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.second {
            return 1.min(self.blocks - 1);
        }
        let rank = self.blocks as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.blocks - 1)
    }
}

impl AddressGenerator for Zipf {
    #[inline]
    fn next(&mut self) -> u64 {
        let rank = self.rank();
        self.scatter.image(rank)
    }
}

/// The sum of k^-theta for k from 1 to `count`.
fn zeta_exact(count: u64, theta: f64) -> f64 {
    (1..=count).map(|k| (k as f64).powf(-theta)).sum()
}

/// The same, by Euler and Maclaurin's formula beyond the first hundred thousand terms; what it
/// leaves out is below 1e-6 of one term.
fn zeta(count: u64, theta: f64) -> f64 {
    const EXACT: u64 = 100_000;
    if count <= EXACT {
        return zeta_exact(count, theta);
    }
    let (low, high) = (EXACT as f64, count as f64);
    let integral = (high.powf(1.0 - theta) - low.powf(1.0 - theta)) / (1.0 - theta);
    let ends = 0.5 * (high.powf(-theta) - low.powf(-theta));
    zeta_exact(EXACT, theta) + integral + ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_in_proportion_to_their_power() {
        const DRAWS: u32 = 400_000;
        let theta = 0.9;
        let mut zipf = Zipf::new(1000, theta, 5);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..DRAWS {
            counts[zipf.rank() as usize] += 1;
        }
        // Ranks 0 and 1 are exact in Gray's method, the others an approximation.
        for rank in [0_usize, 1] {
            let power = ((rank + 1) as f64).powf(-theta);
            let expected = f64::from(DRAWS) * power / zeta_exact(1000, theta);
            let got = f64::from(counts[rank]);
            assert!((got - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {got} {expected}");
        }
        let hundred: u32 = counts[..100].iter().sum();
        let expected = zeta_exact(100, theta) / zeta_exact(1000, theta);
        assert!((f64::from(hundred) / f64::from(DRAWS) - expected).abs() < 0.02);
    }

    #[test]
    fn wanted_blocks_are_scattered_and_all_blocks_are_in_range() {
        for blocks in [1, 2, 3, 1000, 1 << 20] {
            let mut zipf = Zipf::new(blocks, 0.9, 1);
            assert!((0..1000).all(|_| zipf.next() < blocks), "{blocks}");
        }
        let zipf = Zipf::new(1000, 0.9, 1);
        let mut images: Vec<u64> = (0..1000).map(|rank| zipf.scatter.image(rank)).collect();
        assert!(images[0].abs_diff(images[1]) > 1);
        images.sort_unstable();
        assert_eq!(images, (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn the_sum_of_many_powers_is_the_sum_of_all() {
        let (quick, exact) = (zeta(300_000, 0.9), zeta_exact(300_000, 0.9));
        assert!((quick / exact - 1.0).abs() < 1e-9, "{quick} {exact}");
    }
}
