//! (pure) How fast a PCI Express link runs.

use serde::{Deserialize, Serialize};

/// A speed and a width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// Transfers per second and lane, 10^9/s.
    pub gt_per_s: f64,
    /// Lanes.
    pub lanes: u32,
}

impl Pace {
    /// From /sys: `8.0 GT/s PCIe` or `2.5 GT/s`, and `4`. `None` for `Unknown`, and for the widths
    /// 0 (no link) and 255 (what a card that is gone says).
    pub fn of_words(speed: &str, width: &str) -> Option<Pace> {
        let gt_per_s = speed.trim().split_once(" GT/s")?.0.parse::<f64>().ok()?;
        let lanes = width.trim().parse::<u32>().ok()?;
        let sane = gt_per_s.is_finite() && gt_per_s > 0.0 && (1..=32).contains(&lanes);
        sane.then_some(Pace { gt_per_s, lanes })
    }
}
