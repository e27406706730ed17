//! Random draws from a fixed seed, for intervals that have no formula and for the simulated server:
//! the same data give the same interval, and the same plan the same campaign.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Uniform, exponential and normal draws.
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The same seed gives the same draws.
    pub fn new(seed: u64) -> Draws {
        Draws(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal (Box and Muller, "A note on the generation of random normal
    /// deviates", 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
