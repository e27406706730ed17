//! (pure) What the next transaction is, drawn by postmark's rules.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::engine::Error;
use experiment::knob::{self, Settings};

/// The biases are of ten.
const OF: u64 = 10;

/// The rules of postmark by which transactions are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MailRules {
    /// Files when the transactions begin.
    pub pool_files: usize,
    /// Smallest new file, bytes.
    pub low: u64,
    /// Largest new file, bytes.
    pub high: u64,
    log_normal: bool,
    read_bias: u64,
    create_bias: u64,
}

/// Half of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfTransaction {
    /// The file at this place of the pool is read whole.
    Read(usize),
    /// To the file at this place so many bytes are appended.
    Append(usize, u64),
    /// A file of so many bytes is made.
    Create(u64),
    /// The file at this place is deleted.
    Delete(usize),
}

impl MailRules {
    /// Reads them.
    ///
    /// # Errors
    /// `Unsupported` when sizes are upside down.
    pub fn new(settings: &Settings) -> Result<MailRules, Error> {
        let rules = MailRules {
            pool_files: settings.get(knob::POOL_FILES) as usize,
            low: settings.get(knob::SIZE_LOW),
            high: settings.get(knob::SIZE_HIGH),
            log_normal: settings.get(knob::SIZE_DISTRIBUTION) == "log-normal",
            read_bias: settings.get(knob::READ_BIAS),
            create_bias: settings.get(knob::CREATE_BIAS),
        };
        match rules.low <= rules.high {
            true => Ok(rules),
            false => Err(Error::Unsupported(format!(
                "size-low={} is more than size-high={}",
                rules.low, rules.high
            ))),
        }
    }

    /// Files that a pool may hold at most. A bias would fill or empty it otherwise: at the top a
    /// file is deleted, and at the bottom one is created, whatever was drawn.
    pub fn most_files(&self) -> usize {
        self.pool_files.saturating_mul(2).max(2)
    }
}

/// Draws the transactions of one client.
#[derive(Clone, Debug)]
pub struct MailDraw {
    rules: MailRules,
    random: Xoshiro256PlusPlus,
}

impl MailDraw {
    /// The same for the same seed.
    pub fn new(rules: MailRules, seed: u64) -> MailDraw {
        MailDraw { rules, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product: at most one in 2^40 too often for pools and sizes here.
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    fn share(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The size of a new file, bytes.
    pub fn size(&mut self) -> u64 {
        let MailRules { low, high, log_normal, .. } = self.rules;
        if !log_normal {
            return low + self.below(high - low + 1);
        }
        // Box and Muller; the bounds lie two deviations from the middle.
        let (radius, angle) = (1.0 - self.share(), self.share());
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
        let (bottom, top) = ((low as f64).ln(), (high as f64).ln());
        let drawn = f64::midpoint(bottom, top) + normal * (top - bottom) / 4.0;
        (drawn.exp().round() as u64).clamp(low, high)
    }

    /// What is done with a file that is there, of a pool that is not empty; `size_of` tells the
    /// size of one.
    pub fn use_one(&mut self, files: usize, size_of: impl Fn(usize) -> u64) -> HalfTransaction {
        let place = self.below(files as u64) as usize;
        match self.below(OF) < self.rules.read_bias {
            true => HalfTransaction::Read(place),
            false => {
                // A file that is full takes one byte more, so that every transaction is one.
                let room = self.rules.high.saturating_sub(size_of(place)).max(1);
                HalfTransaction::Append(place, 1 + self.below(room))
            }
        }
    }

    /// Whether a file comes or goes.
    pub fn change(&mut self, files: usize) -> HalfTransaction {
        let create = self.below(OF) < self.rules.create_bias;
        // One file at least stays, for the next transaction to read.
        if (create && files < self.rules.most_files()) || files <= 1 {
            return HalfTransaction::Create(self.size());
        }
        HalfTransaction::Delete(self.below(files as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::value::Value;

    fn rules(knobs: &[(&str, Value)]) -> MailRules {
        let mut settings = Settings::defaults("mail");
        for (name, value) in knobs {
            settings.set_named(name, value.clone());
        }
        MailRules::new(&settings).unwrap()
    }

    #[test]
    fn both_halves_come_as_often_as_their_bias_says() {
        let rules = rules(&[("read-bias", Value::Count(3)), ("create-bias", Value::Count(8))]);
        let mut draw = MailDraw::new(rules, 7);
        let (mut reads, mut creations) = (0, 0);
        for _ in 0..20_000 {
            reads += u32::from(matches!(draw.use_one(10, |_| 500), HalfTransaction::Read(_)));
            creations += u32::from(matches!(draw.change(10), HalfTransaction::Create(_)));
        }
        // Five deviations of a binomial of 20 000.
        assert!(u32::abs_diff(reads, 6000) < 325, "{reads}");
        assert!(u32::abs_diff(creations, 16_000) < 285, "{creations}");
    }

    #[test]
    fn sizes_lie_between_their_bounds_and_have_the_middle_of_their_distribution() {
        for (word, middle) in [("uniform", 5250.0), ("log-normal", 2236.0)] {
            let of = [("size-distribution", Value::Word(word.into()))];
            let mut draw = MailDraw::new(rules(&of), 7);
            let mut sizes: Vec<u64> = (0..20_001).map(|_| draw.size()).collect();
            sizes.sort_unstable();
            assert!(sizes[0] >= 500 && sizes[20_000] <= 10_000, "{word}");
            let median = sizes[10_000] as f64;
            assert!((median / middle - 1.0).abs() < 0.05, "{word}: {median}");
        }
        let one = [("size-low", Value::Bytes(10_000))];
        assert_eq!(MailDraw::new(rules(&one), 1).size(), 10_000);
    }

    #[test]
    fn an_append_fills_up_to_the_largest_size_and_a_pool_is_never_empty_nor_overfull() {
        let only_appends = rules(&[("read-bias", Value::Count(0))]);
        let mut draw = MailDraw::new(only_appends, 7);
        for _ in 0..1000 {
            let HalfTransaction::Append(place, bytes) = draw.use_one(3, |_| 9000) else { panic!() };
            assert!(place < 3 && (1..=1000).contains(&bytes));
            assert_eq!(draw.use_one(1, |_| 10_000), HalfTransaction::Append(0, 1));
        }
        for bias in [0, 10] {
            let rules = rules(&[("create-bias", Value::Count(bias))]);
            let mut draw = MailDraw::new(rules, 7);
            assert!(matches!(draw.change(1), HalfTransaction::Create(_)));
            assert!(matches!(draw.change(1000), HalfTransaction::Delete(_)));
        }
    }
}
