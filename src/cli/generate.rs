//! `brickyard generate`: manual pages, completions and the reference, all from the program itself.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;
use serde_json::Value;

use super::concat::Numbers;
use super::list::{self, Table};
use super::outputs::{self, Force, Inputs};
use super::{Cli, examples, talk};
use engines::engine::ENGINES;
use engines::engine::concat::check;
use experiment::knob;
use experiment::measurement::consistency::{INVARIANTS, Invariant};
use experiment::workload::WORKLOADS;
use experiment::workload::sources::{FILES_MAX, tree};
use host::sys::output::{Folder, Output, OutputKind};
use host::sys::{Error, Host};

/// How many files a tree may have.
fn files(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=FILES_MAX).contains(count));
    count.ok_or_else(|| format!("1 to {FILES_MAX} files"))
}

/// The arguments of `brickyard generate`.
#[derive(clap::Args, Debug)]
pub struct GenerateArguments {
    #[command(subcommand)]
    what: GenerateCommand,
}

#[derive(Debug, Subcommand)]
enum GenerateCommand {
    /// Manual pages, one a command, into a directory
    #[command(help_template = examples::template("generate man"))]
    Man {
        /// Where they go
        #[arg(long = "output", short = 'o', alias = "out", value_name = "DIR")]
        #[arg(default_value = ".")]
        out: PathBuf,
        #[command(flatten)]
        force: Force,
    },
    /// Completions for a shell, to standard output
    #[command(help_template = examples::template("generate completions"))]
    Completions {
        /// Which shell
        shell: Shell,
        #[command(flatten)]
        to: outputs::ToFile,
    },
    /// A tree of C files with a Makefile, to compile as a load
    #[command(help_template = examples::template("generate sources"))]
    Sources {
        /// Where it goes; must not be there yet
        #[arg(long = "output", short = 'o', alias = "out", value_name = "DIR")]
        out: PathBuf,
        /// How many
        #[arg(long, default_value_t = 2000, value_parser = files)]
        files: u32,
        /// Another number makes other files
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Large netCDF files of float arrays, to join as a load
    #[command(help_template = examples::template("generate netcdf"))]
    Netcdf {
        /// Where they go; must not be there yet
        #[arg(long = "output", short = 'o', alias = "out", value_name = "DIR")]
        out: PathBuf,
        #[command(flatten)]
        numbers: Numbers,
        /// Leaves nothing of them in memory
        #[arg(long)]
        cold: bool,
    },
    /// The reference of commands and tables, as Markdown
    #[command(help_template = examples::template("generate reference"))]
    Reference {
        /// Where it goes
        #[arg(long = "output", short = 'o', alias = "out", value_name = "DIR")]
        #[arg(default_value = "docs/reference")]
        out: PathBuf,
        /// Only says whether what is there is current; exit status 1 when not
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        force: Force,
    },
}

/// Generates.
pub fn run(arguments: &GenerateArguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        GenerateCommand::Man { out, force } => man(out, *force)?,
        GenerateCommand::Sources { out, files, seed } => sources(out, *files, *seed)?,
        GenerateCommand::Netcdf { out, numbers, cold } => check::make(out, &numbers.made(), *cold)?,
        GenerateCommand::Completions { shell, to } => {
            to.decide(&Inputs::default())?.data(&completions(*shell))?;
        }
        GenerateCommand::Reference { out, check: true, .. } => return current(out),
        GenerateCommand::Reference { out, force, .. } => reference(out, *force)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A shell's script that completes commands, and the names of plans, workloads, knobs and engines.
fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut with_names(), "brickyard", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    match shell {
        // A knob wants its level right behind it.
        Shell::Bash => {
            let ours = "complete -F _brickyard_without_space ";
            format!("{BASH_WITHOUT_SPACE}{}", text.replace("complete -F _brickyard ", ours))
        }
        // What stands in no flag is not told by clap.
        Shell::Fish => text + &names_for_fish(),
        _ => text,
    }
}

const BASH_WITHOUT_SPACE: &str = "_brickyard_without_space() {
    _brickyard \"$@\"
    if [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}

";

fn names_for_fish() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let line = |of: &str, value: &PossibleValue| {
        let (name, about) = (value.get_name(), value.get_help());
        let about = quoted(&about.map(ToString::to_string).unwrap_or_default());
        let when = format!("__fish_brickyard_using_subcommand {of}");
        format!("complete -c brickyard -n \"{when}\" -a '{}' -d '{about}'\n", quoted(name))
    };
    let mut lines = String::new();
    for of in NAMING {
        plans().iter().chain(&knobs()).for_each(|value| lines.push_str(&line(of, value)));
    }
    lines
}

/// Commands that take the name of a plan or a workload, and knobs.
const NAMING: [&str; 2] = ["run", "plan"];

/// Names of plans and workloads.
fn plans() -> Vec<PossibleValue> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let plans = super::plan::listed().into_iter();
    let plans = plans.map(|row| PossibleValue::new(text(&row, "name")).help(text(&row, "about")));
    let workloads = WORKLOADS.iter();
    let workloads = workloads.map(|it| PossibleValue::new(it.name).help(it.about));
    plans.chain(workloads).collect()
}

/// Knobs, as they are begun.
fn knobs() -> Vec<PossibleValue> {
    let begun = |knob: &&knob::Knob| PossibleValue::new(format!("{}=", knob.name)).help(knob.about);
    knob::KNOBS.iter().map(|knob| begun(&&**knob)).collect()
}

/// The commands, with the names that the tables hold. Any other word may be typed as well, so the
/// program itself does not know them as the only ones.
fn with_names() -> clap::Command {
    let engines = ENGINES.iter();
    let engines = engines.map(|engine| PossibleValue::new(engine.name()).help(engine.kind().about));
    let engines = PossibleValuesParser::new(engines);
    let (plans, knobs) = (PossibleValuesParser::new(plans()), PossibleValuesParser::new(knobs()));
    NAMING.into_iter().fold(Cli::command(), |commands, of| {
        let (plans, knobs, engines) = (plans.clone(), knobs.clone(), engines.clone());
        commands.mut_subcommand(of, |command| {
            command
                .mut_arg("plan", |typed| typed.value_parser(plans))
                .mut_arg("levels", |typed| typed.value_parser(knobs))
                .mut_arg("engine", |typed| typed.value_parser(engines))
        })
    })
}

/// Writes the tree. Nothing that is there is touched.
fn sources(out: &Path, files: u32, seed: u64) -> anyhow::Result<()> {
    let failed = |path: &Path, why: std::io::Error| {
        Error::new(format!("cannot write {}", path.display()), why)
    };
    let new = Folder::create(out).map_err(|error| error.hint("--output NEW-DIRECTORY"))?;
    for source in tree(files, seed) {
        let mut file = new.file(source.path.as_ref())?;
        let written = file.write_all(source.text.as_bytes());
        written.map_err(|why| failed(&out.join(&source.path), why))?;
    }
    Ok(())
}

/// A file of several: its text, and where it goes once nothing stands against any of them.
type Page = (Output, Vec<u8>);

fn page(path: &Path, text: Vec<u8>, kind: OutputKind, force: Force) -> Result<Page, Error> {
    Ok((Inputs::default().output(path, "--output", kind, force)?, text))
}

/// Manual pages of ours are told by their heading (man(7)).
fn is_man(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(1024)]);
    head.lines().any(|line| line.starts_with(".TH BRICKYARD"))
}

fn is_reference(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(1024)]);
    head.lines().any(|line| line == GENERATED)
}

fn man(out: &Path, force: Force) -> anyhow::Result<()> {
    let mut command = Cli::command();
    command.build();
    let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
    let pages: Vec<clap::Command> = visible.chain([command.clone()]).collect();
    let kind = OutputKind { name: "manual page of brickyard", is: is_man };
    let mut decided = Vec::new();
    for command in pages {
        let title = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(command).title(title.to_uppercase()).render(&mut text)?;
        decided.push(page(&out.join(format!("{title}.1")), text, kind, force)?);
    }
    Ok(decided.iter().try_for_each(|(output, text)| output.write(text))?)
}

/// The files of the reference: name and text.
pub fn pages() -> Vec<(&'static str, String)> {
    let table = |title: &str, intro: &str, table: Table| {
        let mut text = format!("# {title}\n\n{GENERATED}\n\n{intro}\n\n");
        for row in list::rows(table) {
            row_text(&mut text, &row);
        }
        text
    };
    vec![
        ("commands.md", commands()),
        (
            "knobs.md",
            table(
                "Knobs",
                "Everything that can be varied: `brickyard run WORKLOAD knob=level,level`.",
                Table::Knobs,
            ),
        ),
        (
            "workloads.md",
            table(
                "Workloads",
                "Named presets of knobs; any knob given on the command line wins.",
                Table::Workloads,
            ),
        ),
        ("plans.md", table("Plans", "Plans that ship: `brickyard run NAME`.", Table::Plans)),
        ("engines.md", table("Engines", "What can run a trial: `--engine NAME`.", Table::Engines)),
        (
            "importers.md",
            table(
                "Importers",
                "Tools whose output is read: `brickyard import FILE`, with `--from NAME` where the \
                 text does not tell. Of each form of it the tests have outputs of the versions \
                 that are named under \"recorded\", and hold every figure against them.",
                Table::Importers,
            ),
        ),
        (
            "counters.md",
            table("Counters", "What the kernel is asked while a trial runs.", Table::Counters),
        ),
        ("questions.md", table("Questions", "What the analysis answers.", Table::Questions)),
        (
            "subsystems.md",
            table(
                "Subsystems",
                "What the inventory of a server is read from, and what a subsystem without a key \
                 of its own in the document of `inspect` tells under `server.parts`.",
                Table::Subsystems,
            ),
        ),
        ("warnings.md", table("Warnings", "What `brickyard inspect` warns of.", Table::Warnings)),
        (
            "formats.md",
            table("Formats", "What a report can be: `report --format NAME`.", Table::Formats),
        ),
        ("invariants.md", invariants()),
    ]
}

/// What every record is held against.
fn invariants() -> String {
    let mut text = format!(
        "# Invariants\n\n{GENERATED}\n\nWhat every trial's figures are held against. See \
         [the judge of records](../concepts/consistency.md).\n\n"
    );
    for Invariant { name, about, tolerance, takes, .. } in INVARIANTS {
        let _ = write!(text, "## `{name}`\n\n{about}.\n\n- Allowed for: {tolerance}\n");
        let _ = write!(text, "- Takes: {}\n\n", takes.in_words());
    }
    text
}

const GENERATED: &str = "<!-- made by `brickyard generate reference`; do not edit -->";

fn row_text(text: &mut String, row: &Value) {
    let word = |key: &str| row[key].as_str().filter(|word| !word.is_empty());
    let about = word("about").unwrap_or("");
    let stop = if about.ends_with('?') { "" } else { "." };
    let _ = write!(text, "## `{}`\n\n{about}{stop}\n\n", word("name").unwrap_or(""));
    for (key, label) in [
        ("takes", "Takes"),
        ("default", "Default"),
        ("scope", "Scope"),
        ("group", "Group"),
        ("fio", "fio calls it"),
        ("settings", "Stands for"),
        ("facts", "Tells"),
    ] {
        if let Some(value) = word(key) {
            let plain = ["takes", "facts"].contains(&key);
            let quoted = if plain { value.to_owned() } else { format!("`{value}`") };
            let _ = writeln!(text, "- {label}: {quoted}");
        }
    }
    let engines = row["engines"].as_array().map(Vec::as_slice).unwrap_or_default();
    let engines: Vec<&str> = engines.iter().filter_map(Value::as_str).collect();
    if !engines.is_empty() {
        let _ = writeln!(text, "- Only for the engine: {}", engines.join(", "));
    }
    forms(text, row);
    while text.ends_with('\n') {
        text.pop();
    }
    text.push_str("\n\n");
}

/// The table of what an importer reads.
fn forms(text: &mut String, row: &Value) {
    let Some(forms) = row["forms"].as_array() else { return };
    text.push_str("| bring | recorded | read | not read |\n|---|---|---|---|\n");
    for form in forms {
        let word = |key: &str| form[key].as_str().unwrap_or_default();
        let recorded = form["recorded"].as_array().map(Vec::as_slice).unwrap_or_default();
        // Behind the version of a fixture stands which output of it this is.
        let version = |of: &str| of.split('-').next().unwrap_or_default().to_owned();
        let mut recorded: Vec<String> =
            recorded.iter().filter_map(Value::as_str).map(version).collect();
        recorded.dedup();
        let (bring, read, not_read) = (word("bring"), word("read"), word("not_read"));
        let _ = writeln!(text, "| {bring} | {} | {read} | {not_read} |", recorded.join(", "));
    }
}

fn commands() -> String {
    let mut command = Cli::command().term_width(96);
    command.build();
    let mut text = format!("# Commands\n\n{GENERATED}\n\n");
    let visible: Vec<clap::Command> =
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect();
    let _ = writeln!(text, "```text\n{}\n```\n", command.render_long_help().to_string().trim_end());
    for mut sub in visible.into_iter().filter(|sub| sub.get_name() != "help") {
        let help = sub.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let name = sub.get_name();
        let _ = writeln!(text, "## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    }
    text
}

/// The files of the reference as they should be, with where each is.
fn due(out: &Path) -> impl Iterator<Item = (PathBuf, String)> + '_ {
    let ended = |(name, text): (&str, String)| (out.join(name), format!("{}\n", text.trim_end()));
    pages().into_iter().map(ended)
}

fn reference(out: &Path, force: Force) -> anyhow::Result<()> {
    let kind = OutputKind { name: "reference of brickyard", is: is_reference };
    let all = due(out).map(|(path, text)| page(&path, text.into_bytes(), kind, force));
    let decided = all.collect::<Result<Vec<Page>, Error>>()?;
    Ok(decided.iter().try_for_each(|(output, text)| output.write(text))?)
}

/// Says whether the reference is as it should be.
fn current(out: &Path) -> anyhow::Result<ExitCode> {
    let mut stale = Vec::new();
    for (path, text) in due(out) {
        let absolute = std::path::absolute(&path)
            .map_err(|error| Error::new(format!("cannot find {}", path.display()), error))?;
        if Host::live().read(&absolute).ok().as_deref() != Some(text.as_str()) {
            stale.push(path.display().to_string());
        }
    }
    if stale.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    talk::line(&format!("error: not current: {}", stale.join(", ")));
    talk::line("hint: brickyard generate reference");
    Ok(ExitCode::from(1))
}
