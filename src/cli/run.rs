//! `brickyard run`: one workload, with every combination of the levels given.

use std::path::PathBuf;
use std::process::ExitCode;

use super::outcome::{self, Request, Session};
use super::{Common, talk};
use crate::campaign::apply::{asks, preview};
use crate::campaign::{Run, directory, layout::check_space};
use crate::knob::Settings;
use crate::plan::{self, expand};
use crate::sys::{Host, signal};
use crate::value::Value;
use crate::{inventory, journal};

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
    /// What runs the trials: `file`, or `sim`, a simulated server
    #[arg(long, default_value = "file")]
    engine: String,
    /// Repeats the order of trials and the blocks of an earlier campaign; at most 2^53 - 1
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=plan::SEED_MAX))]
    seed: Option<u64>,
    /// Print what would be changed on this machine, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Draws the HTML report into FILE as well
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs a workload.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let engine = outcome::engine(&arguments.engine)?;
    let workload = expand::workload(&arguments.workload)?;
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
    let settings = || cells.iter().map(|(_, settings)| settings);
    let host = Host::live();
    let mut targets = Vec::new();
    if settings().any(asks) {
        let found = directories.iter().map(|name| inventory::target(&host, name.as_ref()));
        targets = found.collect::<Result<Vec<_>, _>>()?;
    }
    if arguments.dry_run {
        return dry_run(&preview::writes(&host, settings(), &targets)?, &directories, common);
    }
    preview::check(&host, settings(), &targets)?;
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

/// Prints what a run would change.
fn dry_run(writes: &[String], directories: &[String], common: &Common) -> anyhow::Result<ExitCode> {
    if common.json {
        let document = serde_json::json!({ "directories": directories, "writes": writes });
        talk::data(&serde_json::to_string_pretty(&document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: Vec<String> = Vec::new();
    for name in directories {
        text.push(format!("make {name}/brickyard-*, fill it with files, remove it at the end"));
    }
    text.extend_from_slice(writes);
    if !writes.is_empty() {
        let journal = journal::beside(&common.store);
        text.push(format!("note each in {} before, and put it back at the end", journal.display()));
    }
    talk::data(&text.join("\n"))?;
    Ok(ExitCode::SUCCESS)
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
