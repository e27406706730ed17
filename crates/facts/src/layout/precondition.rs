//! (pure) What preconditioning writes to each disk.

/// How often the bytes of each disk are written, in sizes of that disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// From the first byte to the last.
    pub in_order: u32,
    /// After that, in blocks of 4 KiB at random places of the whole disk.
    pub at_random: u32,
}

impl Passes {
    /// All of them.
    pub fn all(self) -> u32 {
        self.in_order + self.at_random
    }
}

/// What a word of the knob `precondition` writes; nothing where it writes none.
///
/// `random` is SNIA's workload-dependent preconditioning for small random writes (Solid State
/// Storage Performance Test Specification, 3.3): every block was written, and then overwritten out
/// of order. After twice its size at random places one block in seven still lies where the first
/// pass left it.
pub fn passes(word: &str) -> Passes {
    let (in_order, at_random) = match word {
        "fill" => (1, 0),
        "fill-twice" => (2, 0),
        "random" => (1, 2),
        _ => (0, 0),
    };
    Passes { in_order, at_random }
}

/// Whether it leaves no erased blocks on flash: whoever writes then is not flattered by them.
pub fn fills(word: &str) -> bool {
    passes(word).all() > 0
}
