//! (pure) One workload of a plan: what is varied, and which combinations of levels are cells.

use crate::knob::{Knob, Settings};
use base::value::Value;

/// A knob that a plan varies, and the levels that it takes.
#[derive(Clone, Debug)]
pub struct Factor {
    /// What is varied.
    pub knob: &'static Knob,
    /// In the order given; at least one.
    pub levels: Vec<Value>,
}

/// One workload of a plan.
#[derive(Clone, Debug)]
pub struct Load {
    /// For people; tells the loads of a plan apart.
    pub name: String,
    /// What holds unless a factor says otherwise.
    pub settings: Settings,
    /// In the order given.
    pub factors: Vec<Factor>,
    /// Knobs that stay as they are here, whatever is typed: the size of the small files of a plan
    /// is not that of its large one.
    pub kept: Vec<&'static str>,
    /// Somebody says how large its files are.
    pub sized: bool,
}

/// Which combinations of levels are cells.
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Design {
    /// All.
    #[default]
    Full,
    /// A share of all, for factors of two levels each: a fraction of resolution IV, in which no
    /// main effect is mixed up with another or with an interaction of two factors (Box, Hunter and
    /// Hunter, Statistics for Experimenters, 2nd edition, chapter 6).
    Fractional,
    /// The first level of every factor, and from there each other level alone.
    OneAtATime,
}

impl Design {
    /// As written in a plan.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Load {
    /// How many combinations `design` makes of the factors.
    pub fn combinations(&self, design: Design) -> u64 {
        let levels = self.factors.iter().map(|factor| factor.levels.len() as u64);
        match design {
            Design::Full => levels.fold(1, u64::saturating_mul),
            Design::OneAtATime => 1 + levels.map(|levels| levels - 1).sum::<u64>(),
            Design::Fractional => 1 << base_factors(self.varied().count()),
        }
    }

    /// The levels of combination `index`, one for each factor, into `levels`.
    pub fn combination(&self, design: Design, index: u64, levels: &mut Vec<usize>) {
        levels.clear();
        match design {
            Design::Full => {
                let mut rest = index;
                levels.resize(self.factors.len(), 0);
                // The last factor changes fastest, as one reads.
                for (place, factor) in self.factors.iter().enumerate().rev() {
                    let count = factor.levels.len() as u64;
                    levels[place] = (rest % count) as usize;
                    rest /= count;
                }
            }
            Design::OneAtATime => {
                let mut rest = index;
                for factor in &self.factors {
                    let others = factor.levels.len() as u64 - 1;
                    levels.push(if (1..=others).contains(&rest) { rest as usize } else { 0 });
                    rest = if rest == 0 || rest <= others { 0 } else { rest - others };
                }
            }
            Design::Fractional => {
                let words = odd_words(base_factors(self.varied().count()));
                levels.resize(self.factors.len(), 0);
                for (place, word) in self.varied().zip(words) {
                    // Level 1 where an odd number of the word's base factors is at 1.
                    levels[place] = ((word & index).count_ones() % 2) as usize;
                }
            }
        }
    }

    /// Places of the factors that have more than one level.
    fn varied(&self) -> impl Iterator<Item = usize> {
        let places = self.factors.iter().enumerate();
        places.filter(|(_, factor)| factor.levels.len() > 1).map(|(place, _)| place)
    }

    /// Whether some cell may have `knob` at `level`.
    pub fn takes(&self, knob: &Knob, level: &Value) -> bool {
        match self.factors.iter().find(|factor| factor.knob.name == knob.name) {
            Some(factor) => factor.levels.contains(level),
            None => self.settings.named(knob.name) == Some(level),
        }
    }

    /// Settings of one combination.
    pub fn at(&self, levels: &[usize]) -> Settings {
        let mut settings = self.settings.clone();
        for (factor, level) in self.factors.iter().zip(levels) {
            settings.set_named(factor.knob.name, factor.levels[*level].clone());
        }
        settings
    }
}

/// How many factors are crossed in full, so that `factors` fit into a fraction of resolution IV:
/// m base factors have 2^(m-1) products of an odd number of them.
fn base_factors(factors: usize) -> u32 {
    match factors {
        0 | 1 => factors as u32,
        many => many.next_power_of_two().trailing_zeros() + 1,
    }
}

/// Products of an odd number of `base` factors, as sets of bits: the factors themselves, then the
/// longest products first. Any two of them multiply to an even product, which is no factor.
fn odd_words(base: u32) -> impl Iterator<Item = u64> {
    let mut words: Vec<u64> =
        (1..1_u64 << base).filter(|word| word.count_ones() % 2 == 1).collect();
    words.sort_by_key(|word| match word.count_ones() {
        1 => (0, *word),
        ones => (u64::BITS - ones, *word),
    });
    words.into_iter()
}
