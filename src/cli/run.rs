//! `brickyard run`: one workload, with every combination of the levels given.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Common;
use super::outcome::{self, Request, Session};
use crate::campaign::{Run, directory, layout::check_space};
use crate::knob::Settings;
use crate::plan::{self, expand};
use crate::sys::signal;
use crate::value::Value;

/// What `run` takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// A workload; `brickyard list workloads` shows them
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    /// Knobs and their levels; several levels make several cells
    #[arg(value_name = "KNOB=LEVEL,LEVEL")]
    levels: Vec<String>,
    /// Where the files go; again for several [default: here]
    #[arg(long, value_name = "DIR")]
    dir: Vec<String>,
    /// How often each cell is run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    replicates: u32,
    /// What runs the trials: `file`, `command` or `sim` [default: what the workload needs]
    #[arg(long)]
    engine: Option<String>,
    /// Repeats the order of trials and the blocks of an earlier campaign; at most 2^53 - 1
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=plan::SEED_MAX))]
    seed: Option<u64>,
    /// Draws the HTML report into FILE as well
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs a workload.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let workload = expand::workload(&arguments.workload)?;
    let usual = workload.engines.first().copied().unwrap_or("file");
    let engine = outcome::engine(arguments.engine.as_deref().unwrap_or(usual))?;
    let mut cells = expand::cells(engine.name(), workload, &arguments.levels)?;
    let directories = outcome::directories(engine.name(), &arguments.dir, directory::checked)?;
    for (_, settings) in &mut cells {
        settings.set("directories", Value::Words(directories.clone()));
        engine.check(settings)?;
    }
    if engine.name() != "sim" {
        let settings: Vec<&Settings> = cells.iter().map(|(_, settings)| settings).collect();
        check_space(settings.into_iter().map(|settings| (settings, 0)))?;
    }
    let kept = Request {
        plan: workload.name.to_owned(),
        engine,
        directories,
        seed: arguments.seed,
        report: arguments.report.clone(),
    };
    let stop = signal::stop()?;
    let mut session = Session::open(kept, common)?;
    session.introduce();
    let done = {
        let Session { host, store, campaign, kept, talk, .. } = &mut session;
        let campaign = campaign.clone();
        let trials = plan::blocked(&cells, arguments.replicates, campaign.seed);
        let work = if engine.name() == "sim" { &[][..] } else { &kept.directories[..] };
        let mut run = Run::begin(host, store, campaign, engine, work, talk, &stop)?;
        let result = run.trials(trials);
        let done = run.finish();
        result?;
        done?
    };
    session.conclude(done, common)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Cli;

    /// A seed above 2^53 was cut to 53 bits without a word: the campaign that it should have
    /// repeated was another one.
    #[test]
    fn a_seed_that_json_cannot_show_exactly_is_refused() {
        for command in ["run random-read", "evaluate"] {
            let parse = |seed: &str| {
                let line = format!("brickyard {command} --seed {seed}");
                Cli::try_parse_from(line.split_whitespace())
            };
            assert!(parse("9007199254740991").is_ok());
            let error = parse("9007199254740992").unwrap_err().to_string();
            assert!(error.contains("0..=9007199254740991"), "{error}");
        }
    }
}
