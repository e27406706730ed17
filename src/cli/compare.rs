//! `brickyard compare`: campaigns side by side, and whether anything became worse.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::outputs::{Force, Inputs};
use super::{Common, STORE, damage, format, talk};
use crate::retrieve::{Retrieved, by_label, side_by_side};
use base::value::shell_words;
use experiment::knob::{self, Scope};
use experiment::measurement::figures::figures;
use findings::analysis::compare::{Change, Comparison, ComparisonRequest};
use findings::report::compare::FORMATS;
use findings::report::compare::exchange::{Exchanged, json, text};
use findings::report::pairs::{NamedCampaign, View};
use host::sys::Error;
use host::sys::output::{Output, OutputKind};
use store::Store;

/// The arguments of `brickyard compare`.
#[derive(clap::Args, Debug)]
pub struct CompareArguments {
    /// A campaign's number, or FILE or FILE:NUMBER of another store; the first is what the others
    /// are held against
    #[arg(value_name = "CAMPAIGN", required = true, num_args = 2..)]
    campaigns: Vec<String>,
    /// Tell apart what goes with each of these labels, of servers whose parts were exchanged:
    /// label,disk-model
    #[arg(long, value_name = "LABELS", value_delimiter = ',', conflicts_with = "all")]
    by: Vec<String>,
    /// Less of a difference than this does not matter
    #[arg(long, value_name = "SHARE", default_value = THRESHOLD)]
    threshold: String,
    /// The figure, as in `report --format csv` [default: what each load is about]
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    /// Also the cells that do not differ, which are a count otherwise
    #[arg(long)]
    all: bool,
    /// How: text, markdown, html, json
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Where it goes [default: brickyard-compare.html for html, standard output for the rest]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

/// The threshold where nobody types another.
const THRESHOLD: &str = "5%";

/// Compares, and ends with 1 when something became worse.
pub fn run(arguments: &CompareArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let typed = arguments.format.as_deref();
    let format = format::chosen(FORMATS, |format| format.name, typed, common, "text")?;
    let by = labels(&arguments.by, format.name)?;
    let asked = ComparisonRequest {
        threshold: share(&arguments.threshold)?,
        figure: arguments.figure.clone(),
    };
    let default = (format.name == "html").then(|| PathBuf::from("brickyard-compare.html"));
    let output = arguments.output.clone().or(default).map(|path| {
        let mut inputs = Inputs::of_store(&common.store);
        for typed in &arguments.campaigns {
            inputs.add_store(&named(typed, &common.store).0);
        }
        let kind = OutputKind { name: format.about, is: format.mark };
        inputs.output(&path, "--output", kind, arguments.force)
    });
    let output = output.transpose()?;
    let sides = arguments.campaigns.iter().map(|typed| side(typed, &common.store));
    let sides = sides.collect::<Result<Vec<Retrieved>, Error>>()?;
    known(asked.figure.as_deref(), &sides)?;
    let all: Vec<(&str, &Retrieved)> =
        arguments.campaigns.iter().map(String::as_str).zip(&sides).collect();
    let damage: Vec<_> = sides.iter().flat_map(|side| side.damage.clone()).collect();
    if !by.is_empty() {
        let text = exchanged(&all, &by, &asked, format.name)?;
        print(&text, output, common)?;
        return Ok(damage::told(&damage, &common.store, ExitCode::SUCCESS));
    }
    let (first, others) = all.split_first().expect("two are asked for");
    let view = View { all: arguments.all, command: to_see_all(arguments, common) };
    let (text, found) = side_by_side(*first, others, &asked, &view, format)?;
    print(&text, output, common)?;
    let is_empty = |comparison: &Comparison| {
        let held = comparison.held.iter().any(|held| held.nearest.is_some());
        comparison.cells.is_empty() && !held
    };
    if found.iter().all(is_empty) {
        let why = "no cell of the first campaign can be held against one of the others";
        return Err(Error::new("nothing was compared", why)
            .hint("the reasons are above; run both with the same plan")
            .into());
    }
    let worse = found.iter().any(|comparison| comparison.count(Change::Worse) > 0);
    let good = if worse { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    Ok(damage::told(&damage, &common.store, good))
}

/// To a file, or to standard output.
fn print(text: &str, output: Option<Output>, common: &Common) -> anyhow::Result<()> {
    match output {
        Some(output) => {
            output.write(text.as_bytes())?;
            if !common.quiet {
                talk::line(&format!("comparison: {}", output.path().display()));
            }
        }
        None => talk::data(text)?,
    }
    Ok(())
}

/// The labels that were typed, each once.
fn labels(typed: &[String], format: &str) -> Result<Vec<&'static str>, Error> {
    let mut by = Vec::new();
    let all = || knob::KNOBS.iter().filter(|knob| knob.scope == Scope::Label).map(|it| it.name);
    for name in typed {
        let found = all().find(|known| known == name).ok_or_else(|| {
            let hint = knob::meant(name, all(), |near| format!("--by {near}"));
            let known = all().collect::<Vec<_>>().join(", ");
            let why = "it is no label: what only a person can change";
            Error::new(format!("cannot compare by `{name}`"), why)
                .hint(hint.unwrap_or_else(|| format!("the labels are {known}")))
        })?;
        if !by.contains(&found) {
            by.push(found);
        }
    }
    if !by.is_empty() && !matches!(format, "text" | "json") {
        let why = "what goes with labels is printed as text or json alone";
        return Err(Error::new(format!("cannot print {format}"), why).hint("--format text"));
    }
    Ok(by)
}

/// What goes with each label.
fn exchanged(
    sides: &[(&str, &Retrieved)],
    by: &[&'static str],
    asked: &ComparisonRequest,
    format: &str,
) -> anyhow::Result<String> {
    for (place, (typed, side)) in sides.iter().enumerate() {
        let uid = &side.campaign.uid;
        if let Some((other, _)) = sides[..place].iter().find(|(_, of)| of.campaign.uid == *uid) {
            let why = format!("{typed} is the same campaign as {other}: it was set up once");
            let what = format!("cannot compare by {}", by.join(","));
            return Err(Error::new(what, why).hint("name each campaign once").into());
        }
    }
    let exchange = by_label(sides, by, asked)?;
    let told = sides.iter().map(|(typed, side)| NamedCampaign { typed, campaign: &side.campaign });
    let of = Exchanged { sides: told.collect(), exchange: &exchange };
    if exchange.workloads.is_empty() {
        let why = "no load was measured in every set-up";
        return Err(Error::new("nothing was compared", why)
            .hint("run all of them with the same plan")
            .into());
    }
    Ok(if format == "json" { json(&of)? } else { text(&of) })
}

/// What prints also the cells that do not differ.
fn to_see_all(arguments: &CompareArguments, common: &Common) -> String {
    let mut words = vec!["brickyard".to_owned(), "compare".to_owned()];
    words.extend(arguments.campaigns.iter().cloned());
    let store = (common.store != Path::new(STORE)).then(|| common.store.display().to_string());
    let threshold = (arguments.threshold != THRESHOLD).then(|| arguments.threshold.clone());
    for (flag, typed) in [
        ("--store", store),
        ("--threshold", threshold),
        ("--figure", arguments.figure.clone()),
        ("--format", arguments.format.clone()),
    ] {
        words.extend(typed.into_iter().flat_map(|typed| [flag.to_owned(), typed]));
    }
    words.push("--all".to_owned());
    shell_words(&words)
}

/// A share as typed: `5%`, `0.05`.
fn share(text: &str) -> Result<f64, Error> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse::<f64>(),
    };
    number.ok().filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| {
        let why = format!("`{text}` is no share above 0 and below 1");
        Error::new("cannot tell what does not matter", why).hint("--threshold 5%")
    })
}

/// The store that was typed, and the number of a campaign in it: a number in `store`, a store
/// itself, or a store with a number.
fn named(typed: &str, store: &Path) -> (PathBuf, Option<u64>) {
    let number = |text: &str| text.parse::<u64>().ok();
    match (number(typed), typed.rsplit_once(':')) {
        (Some(wanted), _) => (store.to_owned(), Some(wanted)),
        (None, Some((path, last))) if number(last).is_some() && !Path::new(typed).exists() => {
            (PathBuf::from(path), number(last))
        }
        _ => (PathBuf::from(typed), None),
    }
}

/// The campaign that was typed; a store's newest where no number was.
fn side(typed: &str, store: &Path) -> Result<Retrieved, Error> {
    let (path, wanted) = named(typed, store);
    let store = Store::open_read_only(&path)?;
    let campaigns = store.campaigns()?;
    let what = || format!("cannot compare with {typed}");
    let newest = campaigns.last().map(|campaign| campaign.id);
    let campaign = campaigns.into_iter().find(|campaign| Some(campaign.id) == wanted.or(newest));
    let campaign = campaign.ok_or_else(|| match newest {
        None => Error::new(what(), format!("there is no campaign in {}", path.display()))
            .hint("run `brickyard evaluate DIR` first"),
        Some(newest) => {
            let why = format!("{} has no such campaign; the newest is {newest}", path.display());
            let list = format!("`brickyard list campaigns --store {}` shows all", path.display());
            Error::new(what(), why).hint(list)
        }
    })?;
    let id = campaign.id;
    let retrieved = Retrieved::new(&store, campaign)?;
    // A newer one that is gone is what would have been compared.
    Ok(Retrieved { damage: store.damage_of(id, wanted.is_none()), ..retrieved })
}

/// Refuses a figure that no trial has.
fn known(figure: Option<&str>, sides: &[Retrieved]) -> Result<(), Error> {
    let Some(name) = figure else { return Ok(()) };
    let records = sides.iter().flat_map(|side| &side.records);
    let all: Vec<_> = records.map(figures).collect();
    if all.iter().any(|of| of.contains_key(name)) {
        return Ok(());
    }
    let names = all.iter().flat_map(|of| of.keys().map(AsRef::as_ref));
    let hint = knob::meant(name, names, |near| format!("--figure {near}"))
        .unwrap_or_else(|| "`brickyard report --format csv` shows all figures".to_owned());
    Err(Error::new(format!("cannot compare by `{name}`"), "no trial has such a figure").hint(hint))
}
