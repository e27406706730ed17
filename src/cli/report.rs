//! `brickyard report`: what was measured before, once more.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use super::outputs::{self, Force, Inputs};
use super::{Common, damage, format, talk};
use crate::retrieve::{Retrieved, StoredSamples};
use experiment::campaign::Campaign;
use findings::report;
use host::sys::Error;
use store::Store;

/// The arguments of `brickyard report`.
#[derive(clap::Args, Debug)]
pub struct ReportArguments {
    /// The campaign's number [default: the newest]
    #[arg(value_name = "CAMPAIGN")]
    campaign: Option<u64>,
    /// How: html, text, json, ...; `brickyard list formats` shows all
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Where it goes [default: brickyard-report.html for html, standard output for the rest]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

/// Prints or draws a campaign.
pub fn run(arguments: &ReportArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let (typed, all) = (arguments.format.as_deref(), report::FORMATS);
    let format = format::chosen(all, |format| format.name, typed, common, "html")?;
    let default = (format.name == "html").then(|| PathBuf::from("brickyard-report.html"));
    let output = arguments.output.clone().or(default).map(|path| {
        let inputs = Inputs::of_store(&common.store);
        inputs.output(&path, "--output", outputs::report(format), arguments.force)
    });
    let output = output.transpose()?;
    let store = Store::open_read_only(&common.store)?;
    let campaign = find(&store, arguments.campaign, common)?;
    let samples = StoredSamples { store: &store, campaign: campaign.id };
    let id = campaign.id;
    let retrieved = Retrieved::new(&store, campaign)?;
    let input = retrieved.input(&samples);
    match output {
        Some(output) => {
            output.write(&format.bytes(&input)?)?;
            if format.name == "html" && !common.quiet {
                talk::line(&format!("report: {}", output.path().display()));
            }
        }
        None if format.is_binary() && std::io::stdout().is_terminal() => {
            let (name, extension) = (format.name, format.extension);
            let what = format!("cannot print {name} to a terminal");
            let hint = format!("brickyard report --format {name} --output trials.{extension}");
            return Err(Error::new(what, "only programs can read it").hint(hint).into());
        }
        None => talk::bytes(&format.bytes(&input)?)?,
    }
    // The process ends now and its memory with it: to give the records of 100 000 trials back one
    // by one first takes a twentieth of a whole report.
    std::mem::forget(input);
    std::mem::forget(retrieved);
    let newest = arguments.campaign.is_none();
    let damage = store.damage_of(id, newest);
    Ok(damage::told(&damage, &common.store, ExitCode::SUCCESS))
}

/// The campaign of that number, or the newest.
fn find(store: &Store, number: Option<u64>, common: &Common) -> Result<Campaign, Error> {
    let campaigns = store.campaigns()?;
    let what = || format!("cannot report from {}", common.store.display());
    let Some(newest) = campaigns.last().cloned() else {
        return Err(Error::new(what(), "there is no campaign in it")
            .hint("run `brickyard evaluate DIR` first"));
    };
    let Some(number) = number else { return Ok(newest) };
    let newest = newest.id;
    campaigns.into_iter().find(|campaign| campaign.id == number).ok_or_else(|| {
        Error::new(what(), format!("there is no campaign {number}; the newest is {newest}"))
            .hint("`brickyard list campaigns` shows all")
    })
}
