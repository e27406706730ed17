//! `brickyard size`: what a throughput would take, from what was measured.

use std::process::ExitCode;

use super::outputs::{self, Inputs};
use super::{Common, damage};
use base::value::{Domain, Value, parse_bytes, parse_price};
use experiment::campaign::Campaign;
use experiment::measurement::Record;
use findings::analysis::size::{Prices, SizingCampaign, SizingRequest, Unjoined, size_of_several};
use findings::report::size::{SizingReport, json, text};
use host::sys::Error;
use store::Store;

/// The arguments of `brickyard size`.
#[derive(clap::Args, Debug)]
pub struct SizeArguments {
    /// A campaign's number [default: the newest]; several of one machine are joined, as that of
    /// its disks and that of its network
    #[arg(value_name = "CAMPAIGN", num_args = 0..)]
    campaigns: Vec<u64>,
    /// From disks to the network: 40Gb/s, 5GB/s
    #[arg(long, value_name = "RATE")]
    throughput: String,
    /// What all disks together must hold: 200TB
    #[arg(long, value_name = "BYTES")]
    capacity: Option<String>,
    /// What one disk holds [default: as the disks that were measured]
    #[arg(long, value_name = "BYTES", requires = "capacity")]
    disk_capacity: Option<String>,
    /// Disks that a controller takes [default: as many as are behind it in the inventory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    ports: Option<u64>,
    /// Add up what it costs, at the prices below
    #[arg(long)]
    cost: bool,
    /// What one disk costs: 300USD
    #[arg(long, value_name = "PRICE", requires = "cost")]
    disk_price: Option<String>,
    /// What one controller costs
    #[arg(long, value_name = "PRICE", requires = "cost")]
    controller_price: Option<String>,
    /// What one network card costs
    #[arg(long, value_name = "PRICE", requires = "cost")]
    nic_price: Option<String>,
    #[command(flatten)]
    to: outputs::ToFile,
}

/// Computes, and prints.
pub fn run(arguments: &SizeArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let asked = SizingRequest {
        throughput_bytes_per_s: rate(&arguments.throughput)?,
        ports: arguments.ports,
        capacity_bytes: bytes("--capacity", "200TB", arguments.capacity.as_deref())?,
        disk_bytes: bytes("--disk-capacity", "2TB", arguments.disk_capacity.as_deref())?,
        prices: prices(arguments)?,
    };
    let printed = arguments.to.decide(&Inputs::of_store(&common.store))?;
    let store = Store::open_read_only(&common.store)?;
    let campaigns = all(&store, &arguments.campaigns, common)?;
    let records = campaigns.iter().map(|campaign| records(&store, campaign));
    let records = records.collect::<Result<Vec<Vec<Record>>, Error>>()?;
    let sources: Vec<SizingCampaign<'_>> =
        campaigns.iter().zip(&records).map(|(of, records)| source(of, records)).collect();
    let sizing = size_of_several(&sources, &asked).map_err(refused)?;
    let told = SizingReport { campaigns: &campaigns, sizing: &sizing };
    printed.data(&if common.json { json(&told)? } else { text(&told) })?;
    let damage = campaigns
        .iter()
        .flat_map(|campaign| store.damage_of(campaign.id, arguments.campaigns.is_empty()));
    Ok(damage::told(&damage.collect::<Vec<_>>(), &common.store, ExitCode::SUCCESS))
}

/// The campaigns that were typed, each once; the newest where none was.
fn all(store: &Store, typed: &[u64], common: &Common) -> Result<Vec<Campaign>, Error> {
    if typed.is_empty() {
        return Ok(vec![chosen(store, None, common)?]);
    }
    let mut all: Vec<Campaign> = Vec::new();
    for number in typed {
        let campaign = chosen(store, Some(*number), common)?;
        if !all.iter().any(|known| known.id == campaign.id) {
            all.push(campaign);
        }
    }
    Ok(all)
}

fn source<'a>(campaign: &'a Campaign, records: &'a [Record]) -> SizingCampaign<'a> {
    let Campaign { id, host, inventory, .. } = campaign;
    SizingCampaign { campaign: *id, host, records, inventory }
}

/// Why campaigns are not joined, and what to do.
fn refused(why: Unjoined) -> Error {
    let what = "cannot size from these campaigns together";
    match why {
        Unjoined::Reported(number) => {
            let why = format!("campaign {number} has figures that others reported");
            Error::new(what, why).hint(format!("by itself: `brickyard size {number} ...`"))
        }
        Unjoined::Machines(one, other, why) => {
            let why = format!("{one} and {other} are of two machines ({why})");
            Error::new(what, why).hint("name campaigns of one machine: what one server needs")
        }
    }
}

/// The rate that was typed, bytes per second.
fn rate(text: &str) -> Result<f64, Error> {
    let what = || format!("cannot size for --throughput {text}");
    match Domain::BytesPerSecond.parse(text.trim()) {
        Ok(Value::BytesPerSecond(rate)) if text.trim().ends_with("/s") => Ok(rate as f64),
        Ok(_) => Err(Error::new(what(), format!("`{text}` does not say that it is per second"))
            .hint("--throughput 40Gb/s, or 5GB/s")),
        Err(why) => Err(Error::new(what(), why).hint("--throughput 40Gb/s, or 5GB/s")),
    }
}

fn bytes(option: &str, example: &str, typed: Option<&str>) -> Result<Option<u64>, Error> {
    let Some(text) = typed else { return Ok(None) };
    let refused = |why: String| {
        Error::new(format!("cannot size for {option} {text}"), why)
            .hint(format!("{option} {example}"))
    };
    match parse_bytes(text.trim()) {
        Ok(0) => Err(refused("nothing at all needs no disk".to_owned())),
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) => Err(refused(why)),
    }
}

/// The prices, which are in one currency.
fn prices(arguments: &SizeArguments) -> Result<Prices, Error> {
    let mut prices = Prices::default();
    let mut first: Option<&str> = None;
    let parts = [
        (&arguments.disk_price, &mut prices.disk),
        (&arguments.controller_price, &mut prices.controller),
        (&arguments.nic_price, &mut prices.nic),
    ];
    for (typed, to) in parts {
        let Some(text) = typed.as_deref() else { continue };
        let (number, currency) = parse_price(text).map_err(|why| {
            Error::new(format!("cannot take the price {text}"), why).hint("--disk-price 300USD")
        })?;
        if first.is_some_and(|first| first != currency) {
            let why = format!("`{text}` is in another currency than the price before it");
            let hint = "give all prices in one currency: --disk-price 300USD --nic-price 400USD";
            return Err(Error::new("cannot add up these prices", why).hint(hint));
        }
        first = Some(currency);
        *to = Some(number);
    }
    if arguments.cost && first.is_none() {
        return Err(Error::new("cannot tell what it costs", "no price was given")
            .hint("--cost --disk-price 300USD --controller-price 500USD --nic-price 400USD"));
    }
    prices.currency = first.unwrap_or_default().to_owned();
    Ok(prices)
}

fn chosen(store: &Store, wanted: Option<u64>, common: &Common) -> Result<Campaign, Error> {
    let campaigns = store.campaigns()?;
    let newest = campaigns.last().map(|campaign| campaign.id);
    let at = common.store.display();
    let found = campaigns.into_iter().find(|campaign| Some(campaign.id) == wanted.or(newest));
    found.ok_or_else(|| match (wanted, newest) {
        (Some(wanted), Some(newest)) => {
            let why = format!("{at} has no such campaign; the newest is {newest}");
            Error::new(format!("cannot size from campaign {wanted}"), why)
                .hint(format!("`brickyard list campaigns --store {at}` shows all"))
        }
        _ => Error::new("cannot size anything", format!("there is no campaign in {at}")).hint(
            "measure first (`brickyard evaluate DIR`), or take published figures: `brickyard \
             import --published sara-2010`",
        ),
    })
}

/// The campaign's trials; those over a network with their counters, which tell the card.
fn records(store: &Store, campaign: &Campaign) -> Result<Vec<Record>, Error> {
    let records = store.light_records(campaign.id)?;
    let whole = |record: Record| {
        if !record.trial.settings.is_network() {
            return Ok(record);
        }
        Ok(store.record(campaign.id, record.trial.number)?.unwrap_or(record))
    };
    records.into_iter().map(whole).collect()
}
