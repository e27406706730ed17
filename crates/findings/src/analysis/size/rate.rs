//! The rates of one part, and how many parts a target takes at these.

use serde::Serialize;

/// The throughput that one part gave, bytes per second, with its lower and upper end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartRate {
    /// Of one of them, bytes per second.
    pub bytes_per_s: f64,
    /// Lower end.
    pub low_bytes_per_s: f64,
    /// Upper end; `None` where nothing says how much more one could give.
    pub high_bytes_per_s: Option<f64>,
    /// How many shared what was measured; the rates are one's part of it.
    pub cards: usize,
    /// How many disks were read.
    pub disks: Option<usize>,
    /// Lanes of the card's link.
    pub lanes: Option<u32>,
    /// What it is of, and where it stands.
    pub said: String,
    /// Numbers of the trials.
    pub trials: Vec<u32>,
    /// The number of their campaign, where several are joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<u64>,
    /// Disks that are behind one controller in the inventory.
    pub ends: Option<u64>,
    /// Place of the machine among those of the campaign.
    #[serde(skip)]
    pub machine: usize,
}

impl PartRate {
    /// The same for a part of which there are `number`.
    pub fn over(&self, number: usize) -> PartRate {
        let part = number.max(1) as f64;
        PartRate {
            bytes_per_s: self.bytes_per_s / part,
            low_bytes_per_s: self.low_bytes_per_s / part,
            high_bytes_per_s: self.high_bytes_per_s.map(|high| high / part),
            ..self.clone()
        }
    }

    fn sane(&self) -> bool {
        self.bytes_per_s.is_finite() && self.bytes_per_s > 0.0
    }
}

/// How many of a part a target throughput takes: at best, at least and at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartsNeeded {
    /// By the best rate; `None` where no rate is known.
    pub value: Option<u64>,
    /// As few may do; `None` with `value`, and 1 where nothing says how much more one could give.
    pub low: Option<u64>,
    /// As many may be needed; `None` where no rate bounds it.
    pub high: Option<u64>,
    /// What it rests on, the best first.
    pub rates: Vec<PartRate>,
    /// Why it is not known.
    pub why: Option<String>,
}

impl PartsNeeded {
    /// For `target` bytes per second, by `rates`; where there are none, `why`.
    pub fn for_target(target: f64, rates: Vec<PartRate>, why: &str) -> PartsNeeded {
        let mut rates: Vec<PartRate> = rates.into_iter().filter(PartRate::sane).collect();
        rates.sort_by(|a, b| b.bytes_per_s.total_cmp(&a.bytes_per_s));
        let Some(best) = rates.first() else {
            return PartsNeeded { why: Some(why.to_owned()), ..PartsNeeded::default() };
        };
        let value = whole(target / best.bytes_per_s);
        let most = rates.iter().map(|rate| rate.high_bytes_per_s.unwrap_or(f64::INFINITY));
        let least = rates.iter().map(|rate| rate.low_bytes_per_s);
        let (most, least) = (most.fold(0.0, f64::max), least.fold(f64::INFINITY, f64::min));
        PartsNeeded {
            value: Some(value),
            low: Some(whole(target / most).min(value)),
            high: (least > 0.0).then(|| whole(target / least).max(value)),
            rates,
            why: None,
        }
    }

    /// The rate of the best.
    pub fn best(&self) -> Option<&PartRate> {
        self.rates.first()
    }

    /// What the best one gives in a slot of so many lanes, bytes per second: only what ran over no
    /// wider a link is known to. Nothing where none did.
    pub fn in_slot(&self, lanes: u32) -> f64 {
        let fits = |rate: &&PartRate| rate.lanes.is_none_or(|needed| needed <= lanes);
        self.rates.iter().find(fits).map_or(0.0, |rate| rate.bytes_per_s)
    }
}

/// Rounded up; what is over a whole number by rounding of the division alone is not.
fn whole(parts: f64) -> u64 {
    const ROUNDING: f64 = 1e-9;
    let rounded = parts.round();
    let close = (parts - rounded).abs() <= ROUNDING * rounded.max(1.0);
    // Saturates; not a number is 0.
    (if close { rounded } else { parts.ceil() } as u64).max(1)
}
