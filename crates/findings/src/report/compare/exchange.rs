//! (pure) What goes with which label: some lines for the terminal, and one document.

use serde_json::{Value as Json, json};

use crate::analysis::compare::Change;
use crate::analysis::compare::exchange::{Alone, Exchange, Parted, Share};
use crate::report::lines::folded;
use crate::report::nature::Nature;
use crate::report::pairs::{NamedCampaign, ends};
use crate::report::words;
use base::value::{Value, counted, setting, shell_words, significant};
use experiment::campaign::Campaign;

/// No line is wider, but for a command.
const WIDTH: usize = 80;
/// Loads that are not compared and are named; the rest is in the document.
const APART_MAX: usize = 3;

/// Campaigns, and what came of telling them apart.
#[derive(Debug)]
pub struct Exchanged<'a> {
    /// As asked for.
    pub sides: Vec<NamedCampaign<'a>>,
    /// What goes with each label.
    pub exchange: &'a Exchange,
}

/// How the title goes on behind the version.
pub const TITLE: &str = "- what goes with ";

/// For people.
pub fn text(of: &Exchanged<'_>) -> String {
    let exchange = of.exchange;
    let natures: Vec<Nature> = of.sides.iter().map(|it| Nature::of_campaign(it.campaign)).collect();
    let odd = natures.iter().find(|it| **it != Nature::Measured);
    let tail = odd.map_or(String::new(), |nature| nature.tail());
    let by = exchange.by.join(" and ");
    let title = format!("Brickyard {}{tail} {TITLE}{by}", env!("CARGO_PKG_VERSION"));
    let mut lines = folded("", &title, WIDTH);
    exchange.workloads.iter().for_each(|it| lines.extend(workload(it)));
    if exchange.workloads.is_empty() {
        lines.extend([String::new(), "No load is in every set-up.".to_owned()]);
    }
    lines.push(String::new());
    lines.extend(folded("", &exchange.rests_on(), WIDTH));
    if !exchange.also.is_empty() {
        let also = exchange.also.join("; ");
        let told = format!("Not the same in all set-ups either, so in these ratios too: {also}.");
        lines.extend(folded("", &told, WIDTH));
    }
    lines.extend(next(of));
    lines.extend([String::new(), "Set-ups".to_owned()]);
    for set_up in &exchange.set_ups {
        let levels: Vec<String> = set_up.levels.iter().map(setting).collect();
        let side = &of.sides[set_up.campaign];
        let lead = format!("  {}  ", side.typed);
        lines.extend(folded(&lead, &format!("{}: {}", levels.join(", "), side.said()), WIDTH));
    }
    apart(exchange, &mut lines);
    lines.join("\n") + "\n"
}

/// The ratios of a workload, a line each, and below it what they are in each part.
fn workload(of: &Parted) -> Vec<String> {
    let from = match of.origin {
        "none" => String::new(),
        origin => format!(", origin of the bytes: {origin}"),
    };
    let less = if of.less_is_better { " (less is better)" } else { "" };
    let figure = words::figure(&of.figure);
    let loads = counted(of.loads.len() as u64, "load");
    let mut lines = vec![String::new()];
    lines.extend(folded("", &format!("{}: {figure}{less}, {loads}{from}", of.group), WIDTH));
    lines.extend(folded("", &of.said, WIDTH));
    let name = |effect: &Share| {
        let (level, base) = (setting(&effect.level), setting(&effect.base));
        format!("{} {level} / {base}", effect.knob)
    };
    let wide = of.effects.iter().map(|it| name(it).chars().count()).max().unwrap_or(0);
    lines.push(format!("  {:wide$}  {:>6}  {:<15}", "", "ratio", "95 %").trim_end().to_owned());
    for effect in &of.effects {
        let name = name(effect);
        let Some(ratio) = &effect.ratio else {
            let told = match &effect.entangled[..] {
                [] => "cannot be told apart".to_owned(),
                others => format!("cannot be told apart from {}", others.join(", ")),
            };
            lines.push(format!("  {name:wide$}  {told}"));
            continue;
        };
        let (bounds, said) = match effect.change {
            Some(Change::Untested) | None => (effect.by_repeats.as_ref(), "by repeats, not tested"),
            Some(change) => (Some(ratio), change.said()),
        };
        let bounds = bounds.map(ends).unwrap_or_default();
        let value = significant(ratio.value);
        lines.push(format!("  {name:wide$}  {value:>6}  {bounds:<15}  {}", said.to_lowercase()));
        if let Some(parts) = parts(effect) {
            lines.extend(folded("      ", &parts, WIDTH));
        }
    }
    lines
}

/// The ratio with each combination of the others, and over the loads.
fn parts(effect: &Share) -> Option<String> {
    let one = |alone: &Alone| {
        let with: Vec<String> = alone.with.iter().map(setting).collect();
        format!("{} with {}", significant(alone.ratio), with.join(" and "))
    };
    let with = effect.alone.iter().filter(|it| !it.with.is_empty()).map(one);
    let mut parts = vec![with.collect::<Vec<_>>().join(", ")];
    if effect.of_loads.len() > 1 {
        let least = effect.of_loads.iter().copied().fold(f64::INFINITY, f64::min);
        let most = effect.of_loads.iter().copied().fold(0.0, f64::max);
        parts.push(format!("by load {} to {}", significant(least), significant(most)));
    }
    parts.retain(|part| !part.is_empty());
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What to set up next, and what to type there.
fn next(of: &Exchanged<'_>) -> Vec<String> {
    let exchange = of.exchange;
    let open = |effect: &Share| {
        use Change::{Open, PerhapsBetter, PerhapsWorse, Untested};
        let open = [Open, PerhapsBetter, PerhapsWorse, Untested];
        effect.change.is_some_and(|change| open.contains(&change))
    };
    let is_open = exchange.workloads.iter().flat_map(|it| &it.effects).any(open);
    let mut lines = Vec::new();
    for (place, levels) in exchange.would_tell.iter().enumerate() {
        let lead = if place == 0 { "To tell them apart, set up" } else { "Then set up" };
        lines.extend(one(of, lead, levels));
    }
    let narrow = exchange.would_narrow.as_ref().filter(|_| is_open);
    if let Some(levels) = narrow {
        let lead = match exchange.freedom < 0.5 {
            true => "To test it, set up",
            false => "To decide it, set up",
        };
        lines.extend(one(of, lead, levels));
    }
    lines
}

fn one(of: &Exchanged<'_>, lead: &str, levels: &[Value]) -> Vec<String> {
    let by = &of.exchange.by;
    let told = typed(by, levels);
    let again = of.exchange.set_ups.iter().any(|it| it.levels == levels);
    let again = if again { " once more" } else { "" };
    let sentence = format!("{lead} {}{again}, then type there:", told.join(" with "));
    let mut lines = folded("", &sentence, WIDTH);
    lines.push(format!("  {}", command(of, levels)));
    lines
}

/// `label=server-a`, ...
fn typed(by: &[&'static str], levels: &[Value]) -> Vec<String> {
    by.iter().zip(levels).map(|(knob, level)| format!("{knob}={level}")).collect()
}

/// What measures another set-up: the command of the campaign that shares most with it, of the knob
/// that was named first before all.
pub fn command(of: &Exchanged<'_>, levels: &[Value]) -> String {
    let exchange = of.exchange;
    let near = |it: &&crate::analysis::compare::exchange::Labelled| {
        let same: Vec<bool> = it.levels.iter().zip(levels).map(|(a, b)| a == b).collect();
        (same.iter().filter(|same| **same).count(), same)
    };
    // The first of those that are as near: `max_by_key` gives the last.
    let nearest = exchange.set_ups.iter().rev().max_by_key(near);
    let campaign = nearest.map(|it| of.sides[it.campaign].campaign);
    campaign.map_or(String::new(), |campaign| retyped(campaign, &typed(&exchange.by, levels)))
}

/// The command of a campaign with other labels, as a new campaign with a seed of its own.
fn retyped(campaign: &Campaign, labels: &[String]) -> String {
    let names: Vec<String> =
        labels.iter().filter_map(|it| Some(format!("{}=", it.split_once('=')?.0))).collect();
    let mut words = vec!["brickyard".to_owned()];
    let mut left: Vec<&String> = labels.iter().collect();
    let mut argv = campaign.argv.iter().skip(1);
    while let Some(word) = argv.next() {
        let (option, bare) = match word.strip_prefix("--label=") {
            Some(bare) => ("--label=", bare),
            None => ("", word.as_str()),
        };
        match names.iter().position(|name| bare.starts_with(name.as_str())) {
            Some(place) => {
                words.push(format!("{option}{}", labels[place]));
                left.retain(|it| **it != labels[place]);
            }
            // The other order of trials, and a campaign of its own.
            None if word == "--seed" => _ = argv.next(),
            None if word == "--resume" || word.starts_with("--seed=") => {}
            None => words.push(word.clone()),
        }
    }
    words.extend(left.into_iter().cloned());
    shell_words(&words)
}

/// Loads that are not compared.
fn apart(exchange: &Exchange, lines: &mut Vec<String>) {
    if exchange.apart.is_empty() {
        return;
    }
    lines.extend([String::new(), "Not compared".to_owned()]);
    for it in exchange.apart.iter().take(APART_MAX) {
        lines.extend(folded("  ", &format!("{}: {}", it.load, it.reason), WIDTH));
    }
    let more = exchange.apart.len().saturating_sub(APART_MAX);
    if more > 0 {
        lines.push(format!("  and {more} more: --json"));
    }
}

/// For programs: the document of `compare`, without a pair.
///
/// # Errors
/// When it is no JSON.
pub fn json(of: &Exchanged<'_>) -> Result<String, serde_json::Error> {
    let exchange = of.exchange;
    let mut told = serde_json::to_value(exchange)?;
    let set_ups = exchange.set_ups.iter().map(|it| {
        json!({
            "campaign": of.sides[it.campaign].json(), "levels": it.levels, "trials": it.trials,
        })
    });
    told["set_ups"] = Json::Array(set_ups.collect());
    let wanted = |levels: &Vec<Value>| json!({ "levels": levels, "command": command(of, levels) });
    told["would_tell"] = exchange.would_tell.iter().map(wanted).collect();
    told["would_narrow"] = exchange.would_narrow.as_ref().map_or(Json::Null, wanted);
    told["rests_on"] = exchange.rests_on().into();
    serde_json::to_string_pretty(&json!({
        "brickyard": env!("CARGO_PKG_VERSION"),
        "comparisons": [],
        "by_label": told,
    }))
}

#[cfg(test)]
mod tests;
