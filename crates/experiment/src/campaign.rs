//! (pure) A campaign: what was run, where and when, and what of it is missing.

use std::collections::BTreeMap;
use std::fmt;

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
    /// The engine that ran it; `file, command` where two did: each trial's settings know theirs.
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
    /// The plan as it was run, which a campaign that goes on must have too; `None` for `evaluate`.
    #[serde(default)]
    pub plan_json: Option<String>,
    /// What parts of the server cost, as the plan says; none where it does not.
    #[serde(default)]
    pub prices: BTreeMap<String, f64>,
    /// What the prices are in, as written; empty where they have none.
    #[serde(default)]
    pub currency: String,
    /// Why cells of the plan were left out, and how many for each reason.
    #[serde(default)]
    pub left_out: BTreeMap<String, u64>,
}

/// A cell that was left out for want of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotBought {
    /// What it would have measured.
    pub cell: String,
    /// The least `--budget` that buys it, in ns.
    pub budget_ns: u64,
}

/// Something that is not as it was kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Damage {
    /// Of which campaign; 0 where it is the file.
    pub campaign: u64,
    /// Which trial; `None` where it is the campaign itself, or the file.
    pub trial: Option<u32>,
    /// What of it, as the end of a sentence.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (campaign, what) = (self.campaign, &self.what);
        match self.trial {
            None if campaign == 0 => write!(f, "the file is damaged: {what}"),
            Some(number) => write!(f, "trial {number} of campaign {campaign} is damaged: {what}"),
            None => write!(f, "campaign {campaign} is damaged: {what}"),
        }
    }
}
