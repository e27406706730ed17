//! What a budget was too small for.

use serde::{Deserialize, Serialize};

/// A cell that was left out for want of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotBought {
    /// What it would have measured.
    pub cell: String,
    /// The least `--budget` that buys it, in ns.
    pub budget_ns: u64,
}
