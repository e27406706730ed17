//! Whichever order was asked for, told apart at each step: for loads whose operations cost so much
//! that a branch is not seen, which then need no copy of the loop for each order.

use super::{Address, Shuffle, Walk, Zipf};

/// One of the orders.
#[derive(Clone)]
pub enum Any {
    /// In order, backward, or in strides.
    Walk(Walk),
    /// Each block once in a round.
    Shuffle(Shuffle),
    /// Some blocks far more often than others.
    Zipf(Zipf),
}

impl Address for Any {
    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            Any::Walk(walk) => walk.next(),
            Any::Shuffle(shuffle) => shuffle.next(),
            Any::Zipf(zipf) => zipf.next(),
        }
    }
}
