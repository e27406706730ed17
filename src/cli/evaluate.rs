//! `brickyard evaluate`: from nothing to a report.

use std::path::PathBuf;
use std::process::ExitCode;

use super::outcome::{self, RunRequest as Kept};
use super::outputs::{self, Force, Inputs};
use super::{Common, talk};
use crate::campaign::{Run, directory, evaluate, limits};
use base::value;
use experiment::knob;
use experiment::plan;
use host::sys::{Error, Host, clock, signal, suspend};

/// The arguments of `brickyard evaluate`.
#[derive(clap::Args, Debug)]
pub struct EvaluateArguments {
    /// Directories of the storage in question; several are measured each alone, then all at once
    #[arg(value_name = "DIR")]
    directories: Vec<String>,
    /// How long it may take
    #[arg(long, value_name = "TIME", default_value = "3m")]
    budget: String,
    /// How much room its files may take in all [default: what a quarter of the budget can write, at
    /// most a quarter of what is free]
    #[arg(long, value_name = "SIZE")]
    space: Option<String>,
    /// What runs the trials: `file`, or `sim`, a simulated server
    #[arg(long, default_value = "file")]
    engine: String,
    /// Repeats the order of trials and the blocks of an earlier campaign; at most 2^53 - 1
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=plan::SEED_MAX))]
    seed: Option<u64>,
    /// Where the report goes
    #[arg(long = "output", short = 'o', alias = "report", value_name = "FILE")]
    #[arg(default_value = "brickyard-report.html")]
    report: PathBuf,
    /// Begins only when nobody else uses the machine and its disk
    #[arg(long)]
    wait_idle: bool,
    #[command(flatten)]
    force: Force,
}

/// No evaluation is shorter: the probe and one cell would not fit.
const BUDGET_NS_MIN: u64 = 20_000_000_000;

fn wrong(name: &str, why: String) -> Error {
    Error::new(format!("cannot use {name}"), why)
}

/// How long it may take, ns.
fn budget_ns(text: &str) -> Result<u64, Error> {
    let budget_ns =
        value::parse_duration_ns(text).map_err(|why| wrong("--budget", why).hint("--budget 3m"))?;
    if budget_ns < BUDGET_NS_MIN {
        let why = format!("{text} is too short to measure anything");
        return Err(wrong("--budget", why).hint("--budget 20s at least; 3m is usual"));
    }
    Ok(budget_ns)
}

/// Runs the standard evaluation.
pub fn run(arguments: &EvaluateArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let engine = outcome::engine(&arguments.engine)?;
    if !knob::Settings::defaults(engine.name()).has(knob::ACCESS) {
        let what = format!("cannot evaluate with the engine `{}`", engine.name());
        let why = "the standard evaluation reads and writes files of its own";
        return Err(Error::new(what, why).hint("brickyard run command command='...'").into());
    }
    if arguments.directories.is_empty() && !engine.kind().is_simulated() {
        let why = "it writes files of its own there, measures, and removes them";
        return Err(Error::new("cannot evaluate without a directory", why)
            .hint("brickyard evaluate /srv, or `brickyard evaluate .` for this one")
            .into());
    }
    let budget_ns = budget_ns(&arguments.budget)?;
    let space_bytes = arguments.space.as_deref().map(value::parse_bytes).transpose();
    let space_bytes = space_bytes.map_err(|why| wrong("--space", why).hint("--space 4GiB"))?;
    let inputs = Inputs::of_store(&common.store);
    let kind = outputs::report(outcome::html());
    let report = inputs.output(&arguments.report, "--output", kind, arguments.force)?;
    let directories = outcome::directories(engine, &arguments.directories, directory::checked)?;
    if !engine.kind().is_simulated() {
        evaluate::check_room(&directories, space_bytes)?;
        limits::check(&Host::live(), std::iter::empty())?;
    }
    let kept = Kept {
        plan: "evaluate".to_owned(),
        engine,
        directories: directories.clone(),
        disks: Vec::new(),
        seed: arguments.seed,
        report: Some(report),
        plan_json: None,
    };
    let stop = signal::stop()?;
    suspend::together()?;
    let mut session = outcome::Session::open(kept, common)?;
    session.introduce();
    let mut began_ns = clock::monotonic_ns();
    if !engine.kind().is_simulated() {
        session.look_for_others(arguments.wait_idle, &stop);
        if arguments.wait_idle {
            // The user's waiting is none of what it takes.
            began_ns = clock::monotonic_ns();
        }
    }
    session.measure_memory(&stop);
    // That is a part of the evaluation, too.
    let budget_ns = budget_ns.saturating_sub(clock::monotonic_ns() - began_ns);
    let memory_bytes = session.memory_bytes();
    if directories.len() > 1 {
        session.talk.tell_apart_by(vec!["directories"]);
    }
    let file_bytes = evaluate::last_file_bytes(&session.store, engine.name(), &directories)?;
    let request = evaluate::EvaluationRequest {
        directories,
        budget_ns,
        space_bytes,
        file_bytes,
        memory_bytes,
    };
    session.talk.tell_the_whole();
    let done = {
        let outcome::Session { host, store, campaign, kept, talk, .. } = &mut session;
        let work = if kept.engine.kind().is_simulated() { &[][..] } else { &kept.directories[..] };
        let campaign = campaign.clone();
        let mut run = Run::begin(host, store, campaign, kept.engine, work, talk, &stop)?;
        let result = evaluate::evaluate(&mut run, &request);
        let done = run.finish();
        result?;
        done?
    };
    session.conclude(done, common).inspect(|_| talk::line(""))
}
