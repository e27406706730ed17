//! `brickyard concat-worker`: the programs of the engine `concat`, started by brickyard itself.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::talk;
use base::value::parse_bytes;
use engines::engine::concat::check::{ConcatInputs, check};
use engines::engine::concat::join::join;
use experiment::workload::netcdf::VARIABLES_MAX;

/// By which numbers files are made.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Numbers {
    /// How many
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    files: u64,
    /// How large each is, but for less than a slice of each of its arrays
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes)]
    file_size: u64,
    /// How many arrays each has
    #[arg(long, default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(VARIABLES_MAX)))]
    variables: u32,
    /// Another number makes other values
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Numbers {
    /// The same, for whoever makes or checks them.
    pub fn made(self) -> ConcatInputs {
        let Numbers { files, file_size, variables, seed } = self;
        ConcatInputs { files, file_bytes: file_size, variables, seed }
    }
}

/// The arguments of `brickyard concat-worker`.
#[derive(clap::Args, Debug)]
pub struct ConcatWorkerArguments {
    #[command(subcommand)]
    what: ConcatWorkerCommand,
}

#[derive(Debug, Subcommand)]
enum ConcatWorkerCommand {
    /// Joins files into one and makes it durable
    Join {
        /// What is written, over what is there
        #[arg(long)]
        out: PathBuf,
        /// Bytes of a write
        #[arg(long)]
        block_size: usize,
        /// What is read
        files: Vec<PathBuf>,
    },
    /// Holds what files were joined into against what must be there
    Check {
        /// What they were joined into
        #[arg(long)]
        joined: PathBuf,
        #[command(flatten)]
        numbers: Numbers,
    },
}

/// Joins or checks.
pub fn run(arguments: &ConcatWorkerArguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        ConcatWorkerCommand::Join { out, block_size, files } => {
            let done = join(files, out, *block_size)?;
            let seconds = |ns: u64| ns as f64 / 1e9;
            let said = json!({
                "read_bytes": done.read_bytes,
                "written_bytes": done.written_bytes,
                "reading_s": seconds(done.reading_ns),
                "writing_s": seconds(done.writing_ns),
                "flushing_s": seconds(done.flushing_ns),
            });
            talk::data(&format!("{said}\n"))?;
        }
        ConcatWorkerCommand::Check { joined, numbers } => check(joined, &numbers.made())?,
    }
    Ok(ExitCode::SUCCESS)
}
