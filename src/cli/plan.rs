//! `brickyard plan`: the plans that ship, or what one would do, without touching anything.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::planned::{self, Planned};
use super::{Common, talk};
use crate::campaign::layout;
use crate::plan::design::Plan;
use crate::plan::standard::{OVERHEAD_NS, expected_ns};
use crate::plan::{builtin, file};
use crate::value;

/// What `plan` takes.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// A workload, a plan that ships, or a plan file; nothing lists those that ship
    #[arg(value_name = "PLAN")]
    plan: Option<String>,
    /// Knobs and their levels, which win over the plan's; several levels make several cells
    #[arg(value_name = "KNOB=LEVEL,LEVEL")]
    levels: Vec<String>,
    /// Where the files would go; again for several [default: the plan's, or here]
    #[arg(long, value_name = "DIR")]
    dir: Vec<String>,
    /// How often each cell is run [default: the plan's, or 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    replicates: Option<u32>,
    /// What would run the trials [default: the plan's, or file]
    #[arg(long)]
    engine: Option<String>,
    /// Shows the order that this seed gives [default: the plan's, or 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=crate::plan::SEED_MAX))]
    seed: Option<u64>,
}
