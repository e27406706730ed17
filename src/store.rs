//! Campaigns in SQLite.

use serde::{Deserialize, Serialize};

/// One execution of a plan on one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Its number in this store; 1 for the first.
    pub id: u64,
    /// Names its work directories, and tells it from the campaigns of other stores.
    pub uid: String,
    /// The plan's name: `evaluate`, or a workload's.
    pub plan: String,
    /// The engine that ran it.
    pub engine: String,
    /// The machine's name.
    pub host: String,
    /// Unix time in ns.
    pub started_unix_ns: u64,
    /// Decided the order of its trials and the blocks that they touched.
    pub seed: u64,
    /// Of the program.
    pub version: String,
    /// The command, as typed.
    pub argv: Vec<String>,
    /// What the server is made of; see `inventory`.
    pub inventory: serde_json::Value,
    /// Cells that the budget did not buy, each with the budget that would.
    pub not_bought: Vec<NotBought>,
}

/// A cell that was left out for want of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotBought {
    /// What it would have measured.
    pub cell: String,
    /// The least `--budget` that buys it, in ns.
    pub budget_ns: u64,
}
