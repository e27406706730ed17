//! Whichever order was asked for, told apart at each step: for loads whose operations cost so much
//! that a branch is not seen, which then need no copy of the loop for each order.

use super::{AddressGenerator, Shuffle, StrideWalk, Zipf};

/// One of the orders, told apart at each step.
#[derive(Clone)]
pub enum AnyAddressGenerator {
    /// In order, backward, or in strides.
    Walk(StrideWalk),
    /// Each block once in a round.
    Shuffle(Shuffle),
    /// Some blocks far more often than others.
    Zipf(Zipf),
}

impl AddressGenerator for AnyAddressGenerator {
    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            AnyAddressGenerator::Walk(walk) => walk.next(),
            AnyAddressGenerator::Shuffle(shuffle) => shuffle.next(),
            AnyAddressGenerator::Zipf(zipf) => zipf.next(),
        }
    }
}
