//! (pure) The evidence on a trial's reads, and the questions that both kinds of verdict ask.

use super::AGREEMENT;
use crate::knob::{self, Settings};
use crate::measurement::Evidence;

/// What the origin of a trial's bytes is judged by: the evidence, and questions about it.
pub struct OriginFacts<'a> {
    /// What the machine says.
    pub evidence: &'a Evidence,
    /// What was asked of the load.
    pub settings: &'a Settings,
}

impl OriginFacts<'_> {
    /// D: what the load was given.
    pub fn delivered(&self) -> f64 {
        self.evidence.delivered.read_bytes as f64
    }

    /// `part` as a share of what was delivered.
    pub fn share(&self, part: u64) -> f64 {
        part as f64 / self.delivered()
    }

    /// Whether `part` covers what was delivered. More is well: read-ahead, and other processes.
    pub fn covers(&self, part: u64) -> bool {
        self.share(part) >= 1.0 - AGREEMENT
    }

    /// Whether direct I/O was asked for.
    pub fn direct(&self) -> bool {
        self.settings.get(knob::DIRECT)
    }

    /// R as a share of the files, where it is known.
    pub fn resident_share(&self) -> Option<f64> {
        let resident = self.evidence.resident_before_bytes? as f64;
        (self.evidence.file_bytes > 0).then(|| resident / self.evidence.file_bytes as f64)
    }

    /// Whether all of the files was in memory before, as far as is known.
    pub fn all_resident(&self) -> bool {
        self.resident_share().is_some_and(|share| share >= 1.0 - AGREEMENT)
    }

    /// Whether none of the files was in memory before, as far as is known.
    pub fn none_resident(&self) -> bool {
        self.resident_share().is_some_and(|share| share <= AGREEMENT)
    }
}
