//! (pure) What findings say of trials, for a machine: so those that exclude each other are found.

/// What a finding says of trials, for a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// What is said.
    pub says: Asserts,
    /// Numbers of the trials of which it is said, in ascending order.
    pub of: Vec<u32>,
    /// Numbers of those that they are held against, likewise.
    pub against: Vec<u32>,
    /// How likely figures that speak so clearly for it were if it were wrong.
    pub chance: f64,
    /// What is not decided when this is not said, at the start of a sentence: `Whether ... gets
    /// more with more streams`.
    pub subject: String,
}

/// What can be said of trials held against others. All are of the rate that a load is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asserts {
    /// The others get no more, to a tenth.
    NoMore,
    /// The others get more.
    More,
    /// The others get the same, to a tenth.
    Same,
    /// Replicates lie so far apart that sameness cannot be shown by so many.
    Apart,
}

impl Assertion {
    /// With the trials in order.
    pub fn new(says: Asserts, of: Vec<u32>, against: Vec<u32>, chance: f64) -> Assertion {
        let [of, against] = [of, against].map(|mut trials| {
            trials.sort_unstable();
            trials
        });
        Assertion { says, of, against, chance, subject: String::new() }
    }

    /// The same, with what is not decided where it is not said.
    pub fn about(self, subject: impl Into<String>) -> Assertion {
        Assertion { subject: subject.into(), ..self }
    }
}
