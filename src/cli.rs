//! Arguments in, exit status out, one file a command.
//!
//! Standard output is data, standard error is talk. Exit status: 0 done; 1 done, but a trial
//! failed; 2 could not be done; 130 stopped by the user, by whatever signal.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

pub(crate) use import::files;

use host::sys::{limits, signal};

mod check;
mod compare;
mod concat;
mod cuts;
mod damage;
mod doctor;
mod evaluate;
mod examples;
mod flushed;
mod format;
mod generate;
mod groups;
mod hint;
mod inspect;
mod import;
mod kept;
mod labels;
mod list;
mod needs;
mod outcome;
mod outputs;
mod plan;
mod planned;
mod query;
mod receive;
mod report;
mod run;
mod send;
mod serve;
mod size;
mod talk;
mod undo;
mod verify;
mod version;
mod worker;

/// Evaluates a storage server: how fast, to how many at once, and whether to believe it.
#[derive(Debug, Parser)]
#[command(name = "brickyard", version, long_version = version::long())]
#[command(max_term_width = 100)]
#[command(help_template = groups::TEMPLATE, after_help = groups::text())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

/// Where the store lies when nobody says where.
const STORE: &str = "brickyard.db";

/// What every command takes.
#[derive(Args, Clone, Debug)]
struct Common {
    /// The file that keeps all results
    #[arg(long, global = true, value_name = "FILE", default_value = STORE)]
    store: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing on standard error but errors
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Tell progress in plain lines, one in ten seconds, as where it is no terminal
    #[arg(long, global = true)]
    plain: bool,
}

/// The commands. A new one is a file under `cli/`, a line here, its name in `cli/groups.rs` and
/// what to type in `cli/examples.rs`.
#[derive(Debug, Subcommand)]
enum Command {
    /// The standard evaluation of the storage under DIR, with a report
    #[command(help_template = examples::template("evaluate"))]
    Evaluate(evaluate::EvaluateArguments),
    /// A workload, a plan that ships or a plan file, and knob=level,level
    #[command(help_template = examples::template("run"))]
    Run(run::RunArguments),
    /// List plans, or show what one would do, without touching anything
    #[command(help_template = examples::template("plan"))]
    Plan(plan::PlanArguments),
    /// What the server is made of, and what each part can do at most
    #[command(help_template = examples::template("inspect"))]
    Inspect(inspect::InspectArguments),
    /// Read files over and over against checksums; writes nothing to them
    #[command(help_template = examples::template("verify"))]
    Verify(verify::VerifyArguments),
    /// Be the other end of another machine's network trials
    #[command(help_template = examples::template("receive"))]
    Receive(receive::ReceiveArguments),
    /// Measure the network to a machine where `brickyard receive` waits
    #[command(help_template = examples::template("send"))]
    Send(send::SendArguments),
    /// Draw the report of a campaign that was measured before
    #[command(help_template = examples::template("report"))]
    Report(report::ReportArguments),
    /// Campaigns side by side: what became better or worse
    #[command(help_template = examples::template("compare"))]
    Compare(compare::CompareArguments),
    /// What a throughput would take: disks, controllers, network cards
    #[command(help_template = examples::template("size"))]
    Size(size::SizeArguments),
    /// Ask the store by SQL that only reads
    #[command(help_template = examples::template("query"))]
    Query(query::QueryArguments),
    /// Whether a store is still what was kept in it; changes nothing
    #[command(help_template = examples::template("check"))]
    Check(check::CheckArguments),
    /// The store in a browser of this machine; changes nothing
    #[command(help_template = examples::template("serve"))]
    Serve(serve::ServeArguments),
    /// Results of other tools, and tables of published papers
    #[command(help_template = examples::template("import"))]
    Import(import::ImportArguments),
    /// What this machine lets us do, and how to get what is missing
    #[command(help_template = examples::template("doctor"))]
    Doctor(doctor::DoctorArguments),
    /// Put back what a killed run has left changed on this machine
    #[command(help_template = examples::template("undo"))]
    Undo(undo::UndoArguments),
    /// Knobs, workloads, engines, counters, questions, formats, campaigns
    #[command(help_template = examples::template("list"))]
    List(list::ListArguments),
    /// Manual pages, shell completions, the reference
    #[command(help_template = examples::template("generate"))]
    Generate(generate::GenerateArguments),
    /// Runs the load of one trial of an engine; started by brickyard itself
    #[command(hide = true)]
    Worker(worker::WorkerArguments),
    /// Answers one statement of SQL; started by brickyard itself
    #[command(hide = true)]
    QueryWorker,
    /// Joins files of a trial, or checks what came of it; started by brickyard itself
    #[command(hide = true)]
    ConcatWorker(concat::ConcatWorkerArguments),
}

/// The program.
pub fn main() -> ExitCode {
    signal::begin();
    if let Err(error) = limits::check_stack() {
        talk::error(&error.into());
        return ExitCode::from(2);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return hint::refuse(&error),
    };
    let common = &cli.common;
    let result = match &cli.command {
        Command::Evaluate(arguments) => evaluate::run(arguments, common),
        Command::Run(arguments) => run::run(arguments, common),
        Command::Plan(arguments) => plan::run(arguments, common),
        Command::Inspect(arguments) => inspect::run(arguments, common),
        Command::Verify(arguments) => verify::run(arguments, common),
        Command::Receive(arguments) => receive::run(arguments, common),
        Command::Send(arguments) => send::run(arguments, common),
        Command::Report(arguments) => report::run(arguments, common),
        Command::Compare(arguments) => compare::run(arguments, common),
        Command::Size(arguments) => size::run(arguments, common),
        Command::Query(arguments) => query::run(arguments, common),
        Command::Check(arguments) => check::run(arguments, common),
        Command::Serve(arguments) => serve::run(arguments, common),
        Command::Import(arguments) => import::run(arguments, common),
        Command::Doctor(arguments) => doctor::run(arguments, common),
        Command::Undo(arguments) => undo::run(arguments, common),
        Command::List(arguments) => list::run(arguments, common),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Worker(arguments) => worker::run(arguments),
        Command::QueryWorker => worker::query(),
        Command::ConcatWorker(arguments) => concat::run(arguments),
    };
    if let (Some(name), false) = (signal::asked_by(), common.quiet) {
        talk::line(&format!("told to stop by {name}"));
    }
    match result {
        Ok(code) => code,
        Err(error) => {
            talk::error(&error);
            ExitCode::from(2)
        }
    }
}
