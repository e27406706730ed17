//! (pure) Numbers in, numbers out.

use serde::{Deserialize, Serialize};

/// A number and how sure we are of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best single value.
    pub value: f64,
    /// Low and high end of the 95 % interval; `None` where none can be given honestly.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// A value of which nothing more is known.
    pub fn bare(value: f64) -> Estimate {
        Estimate { value, interval: None }
    }
}
