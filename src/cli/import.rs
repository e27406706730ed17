//! `brickyard import`: results of other tools, and tables of papers that ship, into the store.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use files::{FileImport, Imported};
use sources::Source;

use super::outputs::Inputs;
use super::{Common, talk};
use crate::campaign::new_uid;
use crate::retrieve::StoredSamples;
use experiment::campaign::Campaign;
use experiment::knob;
use experiment::measurement::Record;
use experiment::published::{self, Configuration, Set};
use findings::report::{self, Input};
use host::inventory::recording::Recording;
use host::inventory::server;
use host::sys::{Error, clock};
use store::Store;

pub mod files;
mod others;
mod sources;
mod summary;

/// The arguments of `brickyard import`.
#[derive(clap::Args, Debug)]
pub struct ImportArguments {
    /// What other tools printed, or a folder of it; `-` is standard input; one campaign of all
    #[arg(value_name = "PATH", conflicts_with = "published")]
    files: Vec<String>,
    /// Which tool printed them, where that cannot be told from the text
    #[arg(long, value_name = "TOOL", requires = "files")]
    from: Option<String>,
    /// A published set by its name; `--published --list` shows all
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    published: Option<String>,
    /// Show the published sets
    #[arg(long, requires = "published")]
    list: bool,
    /// A recording in the place of the set's own, of one of its machines: [MACHINE=]FILE
    #[arg(long, value_name = "FILE", requires = "published")]
    root: Vec<String>,
}

/// Imports a published set, or lists them.
pub fn run(arguments: &ImportArguments, common: &Common) -> anyhow::Result<ExitCode> {
    const HINT: &str =
        "name files, or a set: `brickyard import --published --list` shows those that ship";
    let sources = sources::sources(&arguments.files)?;
    let mut inputs = Inputs::default();
    sources.iter().for_each(|source| inputs.add("the imported file", source.name.as_ref()));
    for root in &arguments.root {
        let file = root.split_once('=').map_or(root.as_str(), |(_, file)| file);
        inputs.add("the recording", file.as_ref());
    }
    inputs.keep_apart(&common.store)?;
    if !sources.is_empty() {
        return import_files(&sources, arguments, common);
    }
    match arguments.published.as_deref() {
        _ if arguments.list => list(common),
        None | Some("") => {
            Err(Error::new("cannot import nothing", "neither a file nor a set was named")
                .hint(HINT)
                .into())
        }
        Some(name) => import(find(name)?, &arguments.root, common),
    }
}

/// Keeps what tools printed into these files. What is the output of no tool, or cannot be read, is
/// left out with its reason; where that was named by itself, the status tells.
fn import_files(
    sources: &[Source],
    arguments: &ImportArguments,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    let from = arguments.from.as_deref().map(files::tool).transpose()?;
    let bar = talk::counted_bar(sources.len(), common.quiet);
    let read = |source: &Source| {
        let read = files::read(source, from);
        bar.inc(1);
        read
    };
    let mut read: Vec<FileImport> = sources.iter().map(read).collect();
    bar.finish_and_clear();
    if read.iter().all(|file| file.parts.is_err()) {
        return Err(nothing(&mut read).into());
    }
    if !common.quiet {
        summary::lines(&read).iter().for_each(|line| talk::line(line));
    }
    let missed = read.iter().any(FileImport::is_missed);
    let Imported { engine, files, inventory } = files::imported(read);
    let (plan, host) = (files::plan(&arguments.files), "unknown".to_owned());
    let campaign = Campaign { plan, engine, host, inventory, ..Campaign::default() };
    keep(campaign, &files, common)?;
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Why none of these was read.
fn nothing(read: &mut Vec<FileImport>) -> Error {
    let many = read.len();
    let first = read.swap_remove(0).parts.map_err(|left| left.error);
    match first {
        Err(error) if many == 1 => error,
        Err(error) => {
            let what = format!("none of {many} files can be imported; the first: {}", error.what);
            Error { what, ..error }
        }
        Ok(_) => Error::new("cannot import nothing", "no file was named"),
    }
}

fn find(name: &str) -> Result<&'static Set, Error> {
    published::find(name).ok_or_else(|| {
        let names = || published::SETS.iter().map(|set| set.name.as_str());
        let hint = knob::meant(name, names(), |near| format!("--published {near}"))
            .unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")));
        Error::new(format!("cannot import `{name}`"), "there is no such published set").hint(hint)
    })
}

fn list(common: &Common) -> anyhow::Result<ExitCode> {
    let row = |set: &Set| {
        let machines = set.configurations.iter();
        let machines = machines.map(|it| json!({ "name": it.name, "about": it.about }));
        json!({
            "name": set.name,
            "about": set.about,
            "title": set.title,
            "by": set.by,
            "figures": set.figures(),
            "configurations": machines.collect::<Vec<_>>(),
        })
    };
    if common.json {
        let rows: Vec<Value> = published::SETS.iter().map(row).collect();
        talk::data(&(serde_json::to_string_pretty(&rows)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for set in published::SETS.iter() {
        writeln!(text, "{}: {}", set.name, set.about)?;
        writeln!(text, "  {}, {}: {} figures", set.by, set.title, set.figures())?;
        for machine in &set.configurations {
            writeln!(text, "  {}: {}", machine.name, machine.about)?;
        }
    }
    talk::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps the figures of a set as a campaign of their own, and prints what they come to.
fn import(set: &'static Set, roots: &[String], common: &Common) -> anyhow::Result<ExitCode> {
    let campaign = Campaign {
        plan: set.name.clone(),
        engine: published::ENGINE.to_owned(),
        host: set.host.clone(),
        inventory: inventory(set, roots)?,
        ..Campaign::default()
    };
    keep(campaign, std::slice::from_ref(&set.records), common)?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps records of others as a campaign of their own, those of each file as one, and prints what
/// they come to.
fn keep(campaign: Campaign, files: &[Vec<Record>], common: &Common) -> anyhow::Result<()> {
    let mut store = Store::open(&common.store)?;
    let started_unix_ns = clock::unix_ns();
    let mut campaign = Campaign {
        uid: new_uid(started_unix_ns ^ u64::from(std::process::id()) << 20),
        started_unix_ns,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        argv: std::env::args().collect(),
        ..campaign
    };
    campaign.id = store.begin(&campaign)?;
    for records in files {
        store.append_all(campaign.id, records)?;
    }
    store.end(campaign.id, clock::unix_ns())?;
    let samples = StoredSamples { store: &store, campaign: campaign.id };
    let records = files.concat();
    let input = Input::new(&campaign, &records).with(&samples);
    let format = report::find(if common.json { "json" } else { "text" });
    let format = format.expect("the formats include text and json");
    talk::bytes(&format.bytes(&input)?)?;
    if !common.quiet {
        talk::line(&format!("kept as campaign {} in {}", campaign.id, common.store.display()));
    }
    Ok(())
}

/// Where the figures come from, and what each of the set's machines is made of.
fn inventory(set: &Set, roots: &[String]) -> Result<Value, Error> {
    let mut machines = Map::new();
    let replaced = replaced(set, roots)?;
    for machine in &set.configurations {
        let given = replaced.iter().find(|(name, _)| *name == machine.name);
        let recording = match given {
            Some((_, file)) => Recording::open_path(Path::new(file))?,
            None => Recording::of_shipped(&machine.name, &machine.recording)?,
        };
        let server = server::server(&recording.host());
        let about = given.map_or(machine.about.as_str(), |(_, file)| file);
        machines.insert(machine.name.clone(), json!({ "about": about, "server": server }));
    }
    Ok(json!({ "published": set.source(), "configurations": machines }))
}

/// `[MACHINE=]FILE` by machine; the name may be left out where the set has one machine.
fn replaced<'a>(set: &'a Set, roots: &'a [String]) -> Result<Vec<(&'a str, &'a str)>, Error> {
    let names = || set.configurations.iter().map(|machine: &Configuration| machine.name.as_str());
    let known = |name: &str| names().any(|known| known == name);
    let one = |root: &'a String| match (root.split_once('='), set.configurations.as_slice()) {
        (Some((name, file)), _) if known(name) => Ok((name, file)),
        (_, [only]) => Ok((only.name.as_str(), root.as_str())),
        (_, []) => {
            let why = format!("{} has no recording that another could take the place of", set.name);
            Err(Error::new(format!("cannot use {root}"), why).hint("leave --root out"))
        }
        _ => {
            let names: Vec<&str> = names().collect();
            let why = format!("{} has several machines: {}", set.name, names.join(", "));
            let first = names.first().copied().unwrap_or_default();
            let what = format!("cannot tell whose recording {root} is");
            Err(Error::new(what, why).hint(format!("name it: --root {first}={root}")))
        }
    };
    roots.iter().map(one).collect()
}
