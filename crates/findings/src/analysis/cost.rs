//! What do a GB/s, an I/O per second and a usable TB cost, and is the cheapest surely the cheapest?
//!
//! Only where prices were given, and only of bytes that the device moved: memory's speed would make
//! any disk look cheap, and what was accepted is no more the device's than what was cached. The
//! hardware of a cell is what its settings and the inventory say: so many disks, and one of each
//! other part that has a price. Printing the price of each cell is left to `report::prices`.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::curve::{CellReplicates, cells};
use super::workloads::by_origin;
use super::{AnalysisInput, Finding, Question, words};
use base::stats::{Estimate, Interval, RatioOfMeans, mean_interval};
use base::value::{Value, setting, significant};
use experiment::knob::Access;
use experiment::knob::typed::{OrAsIs, Word};
use experiment::knob::{self, Scope, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::origin::Verdict;
use facts::layout::disks_of_data;

#[cfg(test)]
mod tests;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "cost",
    about: "What do a GB/s, an I/O per second and a usable TB cost at the prices that were given?",
    answer,
};

/// Price of the hardware over its throughput in 10^9 bytes per second.
pub const PRICE_PER_GB_PER_S: &str = "price_per_gb_per_s";
/// Price of the hardware over its usable size in 10^12 bytes.
pub const PRICE_PER_TB: &str = "price_per_tb";
/// Price of the hardware over its I/O operations per second.
pub const PRICE_PER_IOPS: &str = "price_per_iops";

/// How likely any cheapest may be called surely cheaper though it is not.
const CHANCE: f64 = 0.05;
/// So many hardwares are named in one sentence.
const NAMED_MAX: usize = 5;
/// Layout knobs that say what is bought; with labels, which a person sets.
const HARDWARE: &[&str] = &["disks", "raid", "volumes"];

/// What the hardware of a cell costs: each disk of it, and one of all else that has a price. `None`
/// without prices, and where disks have one and nobody knows how many there are.
pub fn price(asked: &AnalysisInput<'_>, settings: &Settings) -> Option<f64> {
    if asked.prices.is_empty() || settings.is_simulated() {
        return None;
    }
    let mut sum = 0.0;
    for (part, price) in asked.prices {
        sum += price * if part == "disk" { disks(asked, settings)? } else { 1.0 };
    }
    Some(sum)
}

/// How many disks a cell was measured on: as its settings say, else those of the inventory.
fn disks(asked: &AnalysisInput<'_>, settings: &Settings) -> Option<f64> {
    if let Some(disks) = made_of(settings) {
        return Some(disks as f64);
    }
    let mut names: Vec<&str> = Vec::new();
    for target in targets(asked) {
        let disks = target["disks"].as_array()?;
        names.extend(disks.iter().filter_map(Json::as_str));
    }
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then_some(names.len() as f64)
}

/// The disks of a layout that was made for the trial.
fn made_of(settings: &Settings) -> Option<u64> {
    settings.get(knob::DISKS)
}

/// Bytes that the hardware of a cell can hold: of a layout that was made, what its RAID level
/// leaves of that many of the target's disks, each taken for as large as the smallest; else the
/// file systems that were there when the campaign began, each once. What a file system takes for
/// itself is not taken off a layout.
pub fn usable_bytes(asked: &AnalysisInput<'_>, settings: &Settings) -> Option<f64> {
    if let Some(count) = made_of(settings) {
        let all = asked.inventory["disks"].as_array()?;
        let sizes = all.iter().take(count as usize).map(|disk| disk["size_bytes"].as_f64());
        let sizes: Vec<f64> = sizes.collect::<Option<_>>()?;
        let least = sizes.iter().copied().fold(f64::MAX, f64::min);
        let word = |knob| settings.get::<OrAsIs<Word>>(knob).unwrap_or_default();
        let worth = disks_of_data(word(knob::RAID), word(knob::VOLUMES), count)?;
        return (sizes.len() as u64 == count).then_some(worth * least);
    }
    let mut sizes: Vec<(&str, f64)> = Vec::new();
    for target in targets(asked) {
        let (source, bytes) = (target["source"].as_str()?, target["total_bytes"].as_f64()?);
        if sizes.iter().all(|(other, _)| *other != source) {
            sizes.push((source, bytes));
        }
    }
    let sum: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    (sum > 0.0).then_some(sum)
}

fn targets<'a>(asked: &AnalysisInput<'a>) -> impl Iterator<Item = &'a Json> + use<'a> {
    asked.inventory["targets"].as_array().into_iter().flatten()
}

/// The price of so many `unit`s of what was `moved`: dear where they are few.
pub fn per(price: f64, moved: Estimate, unit: f64) -> Estimate {
    let of = |moved: f64| price / (moved / unit);
    let interval = moved.interval.filter(|interval| interval.low > 0.0);
    let interval =
        interval.map(|interval| Interval { low: of(interval.high), high: of(interval.low) });
    Estimate { value: of(moved.value), interval }
}

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    if asked.prices.is_empty() {
        return Vec::new();
    }
    let cells = cells(asked.records);
    let of =
        |cell| Some(Priced { price: price(asked, (cell as &CellReplicates<'_>).settings)?, cell });
    let priced: Vec<Priced<'_>> = cells.iter().filter_map(of).collect();
    let mut findings = Vec::new();
    findings.extend(rate(&priced, "GB/s read", figure_names::THROUGHPUT, 1e9, |access| {
        access == Access::Read
    }));
    findings.extend(rate(
        &priced,
        "GB/s written durably",
        figure_names::DURABLE_THROUGHPUT,
        1e9,
        |it| it == Access::Write,
    ));
    findings.extend(rate(
        &priced,
        "I/O per second of random reading",
        figure_names::IOPS,
        1.0,
        |access| access == Access::RandomRead,
    ));
    findings.extend(room(asked, &priced));
    findings
}

/// A cell with the price of its hardware.
struct Priced<'a> {
    cell: &'a CellReplicates<'a>,
    price: f64,
}

impl Priced<'_> {
    /// What of it is bought: `raid5 on 4 disks, card areca`; empty where the plan varies nothing.
    fn hardware(&self) -> String {
        let settings = self.cell.settings;
        let label = |(name, value): (&'static str, &Value)| {
            let is_label = knob::find(name).is_some_and(|knob| knob.scope == Scope::Label);
            (is_label && !value.is_as_is() && *value != Value::Word(String::new()))
                .then(|| format!("{name} {}", setting(value)))
        };
        let mut parts: Vec<String> = Vec::new();
        if let Some(disks) = made_of(settings) {
            let raid = settings.get(knob::RAID).unwrap_or_default();
            let by = match settings.get(knob::VOLUMES).unwrap_or_default() {
                "" | "md" => String::new(),
                other => format!(" of {other}"),
            };
            let disks = if disks == 1 { "1 disk".to_owned() } else { format!("{disks} disks") };
            parts.push(format!("{raid}{by} on {disks}"));
        }
        parts
            .extend(settings.iter().filter(|(name, _)| !HARDWARE.contains(name)).filter_map(label));
        parts.join(", ")
    }

    /// The figure of each trial, when all of its bytes are the device's.
    fn values(&self, figure: &str) -> Option<Vec<f64>> {
        let origins = by_origin(&self.cell.records);
        let [(Verdict::Device | Verdict::None, of)] = &origins[..] else { return None };
        let values = self.cell.values(figure);
        let good = values.iter().all(|value| *value > 0.0);
        (good && !values.is_empty() && values.len() == of.len()).then_some(values)
    }
}

/// The cheapest rate of each hardware.
struct Cheapest<'a> {
    priced: &'a Priced<'a>,
    /// Price of a unit, one a trial.
    costs: Vec<f64>,
    value: f64,
}

/// What a unit of `figure` costs: the cheapest hardware, each at the load at which it is cheapest,
/// and whether the next is surely dearer.
fn rate(
    priced: &[Priced<'_>],
    what: &str,
    figure: &str,
    unit: f64,
    counts: impl Fn(Access) -> bool,
) -> Option<Finding> {
    let mut best: HashMap<String, Cheapest<'_>> = HashMap::new();
    for one in priced.iter().filter(|one| one.cell.settings.get(knob::ACCESS).is_some_and(&counts))
    {
        let Some(values) = one.values(figure) else { continue };
        let costs: Vec<f64> = values.iter().map(|value| one.price / (value / unit)).collect();
        let value = per(one.price, mean_interval(&values)?, unit).value;
        let known = best.entry(one.hardware()).or_insert_with(|| Cheapest {
            priced: one,
            costs: costs.clone(),
            value,
        });
        if value < known.value {
            *known = Cheapest { priced: one, costs, value };
        }
    }
    let mut all: Vec<(String, Cheapest<'_>)> = best.into_iter().collect();
    all.sort_by(|a, b| a.1.value.total_cmp(&b.1.value).then_with(|| a.0.cmp(&b.0)));
    let ((name, first), others) = all.split_first()?;
    let cell = first.priced.cell;
    let moved = mean_interval(&first.priced.values(figure)?)?;
    let told = of_money(&per(first.priced.price, moved, unit));
    let load = cell.load(&["block-size", "queue-depth", "streams"]);
    let place = if name.is_empty() { String::new() } else { format!(" on {name}") };
    let (lead, next, mut evidence) = match others.first() {
        None => ("One", String::new(), Vec::new()),
        Some(next) => ("The cheapest", against(first, next, others.len()), next.1.evidence()),
    };
    let claim = format!("{lead} {what} costs {told}{place}: {load}.{next}");
    evidence.splice(0..0, cell.evidence());
    Some(Finding::info(QUESTION.name, claim, evidence))
}

impl Cheapest<'_> {
    fn evidence(&self) -> Vec<u32> {
        self.priced.cell.evidence()
    }
}

/// How much dearer the next is, and whether that is more than chance. Any of them might have been
/// the cheapest by chance, so there are as many tests (Bonferroni).
fn against(first: &Cheapest<'_>, next: &(String, Cheapest<'_>), others: usize) -> String {
    let (name, next) = next;
    let Some(ratio) = RatioOfMeans::from_samples(&next.costs, &first.costs) else {
        return String::new();
    };
    let chance = ratio.chance_above(1.0).map(|chance| chance * (others + 1) as f64);
    let sure = match chance {
        Some(chance) if chance < CHANCE => "which is more than chance",
        Some(_) => "which is not more than chance",
        None => "of which chance cannot be judged without replicates",
    };
    let times = words::number(&ratio.estimate(), " times that");
    format!(" Next is {name} with {times}, {sure}.")
}

/// Money with its interval.
fn of_money(price: &Estimate) -> String {
    let value = significant(price.value);
    match price.interval {
        Some(ends) => format!("{value} ({} to {})", significant(ends.low), significant(ends.high)),
        None => format!("{value} (no interval)"),
    }
}

/// What a usable TB costs, which needs no measuring: every hardware, the cheapest first.
fn room(asked: &AnalysisInput<'_>, priced: &[Priced<'_>]) -> Option<Finding> {
    let mut all: Vec<(f64, String, u32)> = Vec::new();
    for one in priced {
        let name = one.hardware();
        if all.iter().any(|(_, known, _)| *known == name) {
            continue;
        }
        let Some(bytes) = usable_bytes(asked, one.cell.settings) else { continue };
        all.push((one.price / (bytes / 1e12), name, one.cell.records[0].trial.number));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let told = all.iter().take(NAMED_MAX).map(|(per_tb, name, _)| match name.is_empty() {
        true => significant(*per_tb),
        false => format!("{} as {name}", significant(*per_tb)),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return None;
    }
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", and {more} dearer"),
    };
    let claim = format!("A usable TB costs {}{more}.", told.join(", "));
    let evidence = all.iter().take(NAMED_MAX).map(|(.., number)| *number).collect();
    Some(Finding::info(QUESTION.name, claim, evidence))
}
