//! Figures: rates, percentiles and shares, computed from raw counts when asked.

use std::collections::BTreeMap;

use crate::knob::Settings;
use crate::stats::Estimate;

/// Figures by the names of the JSON contract, such as `throughput_bytes_per_s`.
pub type Figures = BTreeMap<&'static str, Estimate>;

/// All replicates of one combination of settings.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which group of the plan it belongs to.
    pub group: String,
    /// Its settings.
    pub settings: Settings,
    /// Numbers of its trials that were done.
    pub trials: Vec<u32>,
    /// Figures over those trials.
    pub figures: Figures,
}
