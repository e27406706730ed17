//! What the server is made of, and what each part could do at most.

use serde::{Deserialize, Serialize};

/// A limit that holds whatever the software does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Bytes per second; `None` when only operations are bounded.
    pub bytes_per_s: Option<f64>,
    /// Random reads per second, with one operation at a time in flight on each disk; `None` when
    /// only bytes are bounded.
    pub ops_per_s: Option<f64>,
    /// Where the limit comes from, as a clause: "the link runs at 6 Gb/s".
    pub why: String,
}
