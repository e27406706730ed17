//! `brickyard list`: every table of the program, and the campaigns of a store.

use std::fmt::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::outputs::{self, Inputs};
use super::{Common, damage};
use engines::engine;
use experiment::campaign::Damage;
use experiment::knob::{Group, Knob};
use experiment::workload::Workload;
use experiment::{knob, workload};
use findings::{analysis, report, warning};
use host::counters;
use host::inventory::server::{self, Read, Subsystem};
use host::provision::danger;
use host::sys::Error;
use importers::{Form, IMPORTERS, Importer};
use store::Store;

/// The arguments of `brickyard list`.
#[derive(clap::Args, Debug)]
pub struct ListArguments {
    /// Which table
    #[arg(value_enum, default_value_t = Table::Workloads)]
    table: Table,
    /// Only what mentions this word; of knobs also a group or a scope, as `network` or `layout`
    word: Option<String>,
    #[command(flatten)]
    to: outputs::ToFile,
}

/// The tables that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// Everything that can be varied
    Knobs,
    /// Named presets of knobs
    Workloads,
    /// Plans that ship
    Plans,
    /// What can run a trial
    Engines,
    /// Tools whose output `import` reads
    Importers,
    /// What the kernel is asked while a trial runs
    Counters,
    /// What the analysis answers
    Questions,
    /// What a report can be printed as
    Formats,
    /// Situations in which a disk is not written
    Dangers,
    /// What the inventory of a server is read from
    Subsystems,
    /// What `inspect` warns of
    Warnings,
    /// What the store holds
    Campaigns,
}

/// Prints a table.
pub fn run(arguments: &ListArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let printed = arguments.to.decide(&Inputs::of_store(&common.store))?;
    let mut damaged = Vec::new();
    let mut rows = match arguments.table {
        Table::Campaigns => campaigns(common, &mut damaged)?,
        table => rows(table),
    };
    if let Some(word) = &arguments.word {
        let names: Vec<String> = rows.iter().filter_map(name).collect();
        rows.retain(|row| mentions(row, word));
        if rows.is_empty() {
            let table = arguments.table.to_possible_value();
            let table = table.as_ref().map_or("", |value| value.get_name());
            let what = format!("no {table} to list");
            let why = format!("none mentions \"{word}\" in its name or in what is said of it");
            let all = format!("brickyard list {table}");
            let names = names.iter().map(String::as_str);
            let meant = knob::meant(word, names, |near| format!("`{near}`"));
            let hint = meant.map_or(all.clone(), |meant| format!("{meant} `{all}` shows all"));
            return Err(Error::new(what, why).hint(hint).into());
        }
    }
    if common.json {
        printed.data(&serde_json::to_string_pretty(&rows)?)?;
    } else {
        printed.data(&text(&rows))?;
    }
    Ok(damage::told(&damaged, &common.store, ExitCode::SUCCESS))
}

fn name(row: &Value) -> Option<String> {
    Some(row["name"].as_str()?.to_owned())
}

/// Whether a row has this word in its name, in what is said of it, in what others call it, or in
/// what it belongs to.
fn mentions(row: &Value, word: &str) -> bool {
    let word = word.to_lowercase();
    let told = ["name", "about", "takes", "fio", "settings", "group", "scope"].iter();
    told.filter_map(|key| row[key].as_str()).any(|text| text.to_lowercase().contains(&word))
}

/// One JSON object a row; the first two keys are `name` and `about`.
pub fn rows(table: Table) -> Vec<Value> {
    let plain = |name: &str, about: &str| json!({ "name": name, "about": about });
    match table {
        Table::Knobs => {
            let groups = knob::grouped().into_iter();
            groups.flat_map(|(group, of)| of.into_iter().map(|it| of_knob(group, it))).collect()
        }
        Table::Workloads => workload::WORKLOADS.iter().map(of_workload).collect(),
        Table::Plans => super::plan::listed(),
        Table::Engines => {
            engine::ENGINES.iter().map(|engine| plain(engine.name(), engine.kind().about)).collect()
        }
        Table::Importers => IMPORTERS.iter().copied().map(of_importer).collect(),
        Table::Counters => {
            counters::SOURCES.iter().map(|source| plain(source.name, source.about)).collect()
        }
        Table::Questions => {
            analysis::QUESTIONS.iter().map(|asked| plain(asked.name, asked.about)).collect()
        }
        Table::Formats => {
            let formats = report::FORMATS.iter();
            formats
                .map(|format| {
                    json!({
                        "name": format.name,
                        "about": format.about,
                        "extension": format.extension,
                    })
                })
                .collect()
        }
        Table::Dangers => danger::DANGERS
            .iter()
            .map(|danger| {
                json!({
                    "name": danger.name,
                    "about": danger.about,
                    "allowed_by": danger.allowed_by,
                })
            })
            .collect(),
        Table::Subsystems => server::SUBSYSTEMS.iter().map(of_subsystem).collect(),
        Table::Warnings => {
            warning::WARNINGS.iter().map(|kind| plain(kind.name, kind.about)).collect()
        }
        Table::Campaigns => Vec::new(),
    }
}

fn of_importer(importer: &Importer) -> Value {
    let form = |form: &Form| {
        json!({
            "bring": form.bring,
            "recorded": form.recorded,
            "read": form.read,
            "not_read": form.not_read,
        })
    };
    json!({
        "name": importer.name,
        "about": importer.about,
        "forms": importer.forms.iter().map(form).collect::<Vec<_>>(),
    })
}

fn of_knob(group: &Group, knob: &Knob) -> Value {
    json!({
        "name": knob.name,
        "about": knob.about,
        "takes": knob.domain.describe(),
        "default": knob.default,
        "scope": knob.scope.name(),
        "group": group.name,
        "fio": knob.fio,
        "engines": knob.obeying(),
    })
}

fn of_workload(workload: &&Workload) -> Value {
    let pairs = workload.settings.iter();
    let settings: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    json!({ "name": workload.name, "about": workload.about, "settings": settings.join(" ") })
}

fn of_subsystem(subsystem: &Subsystem) -> Value {
    let facts: &[(&str, &str)] = match subsystem.read {
        Read::Field(_) => &[],
        Read::Part { facts, .. } => facts,
    };
    let told: Vec<String> =
        facts.iter().map(|(name, about)| format!("`{name}` ({about})")).collect();
    json!({ "name": subsystem.name, "about": subsystem.about, "facts": told.join(", ") })
}

fn campaigns(common: &Common, damaged: &mut Vec<Damage>) -> anyhow::Result<Vec<Value>> {
    let store = Store::open_read_only(&common.store)?;
    let campaigns = store.campaigns()?;
    *damaged = store.damage();
    Ok(campaigns
        .iter()
        .map(|campaign| {
            json!({
                "name": campaign.id.to_string(),
                "about": format!(
                    "{} on {}, {}",
                    campaign.plan,
                    campaign.host,
                    report::words::date(campaign.started_unix_ns)
                ),
                "command": report::words::command(campaign),
                "started_unix_ns": campaign.started_unix_ns,
            })
        })
        .collect())
}

/// What stands above the knobs of a group: what they are about, and what it takes to change them.
fn heading(group: &str, scope: &str) -> String {
    let about = knob::GROUPS.iter().find(|known| known.name == group).map_or("", |it| it.about);
    format!("{}: {about} (scope {scope})", group.to_uppercase())
}

fn text(rows: &[Value]) -> String {
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let width = rows.iter().map(|row| word(row, "name").len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut under = String::new();
    for row in rows {
        let group = word(row, "group");
        if group != under {
            let space = if under.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{space}{}", heading(&group, &word(row, "scope")));
            under = group;
        }
        let _ = writeln!(text, "{:width$}  {}", word(row, "name"), word(row, "about"));
        for key in ["takes", "settings", "command", "allowed_by"] {
            let mut more = word(row, key);
            if more.is_empty() {
                continue;
            }
            if key == "allowed_by" {
                more = format!("allowed by: {more}");
            }
            let default = match word(row, "default") {
                default if default.is_empty() => String::new(),
                default => format!("; default {default}"),
            };
            let _ = writeln!(text, "{:width$}    {more}{default}", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 162 knobs are seven screens; who looks for one knows a word of it.
    #[test]
    fn a_word_finds_the_knobs_that_mention_it_by_whatever_name() {
        let found = |word: &str| -> Vec<String> {
            let rows = rows(Table::Knobs).into_iter().filter(|row| mentions(row, word));
            rows.filter_map(|row| Some(row["name"].as_str()?.to_owned())).collect()
        };
        assert!(found("READ-AHEAD").contains(&"read-ahead".to_owned()));
        assert!(found("iodepth").contains(&"queue-depth".to_owned()), "by fio's name");
        assert!(found("fdatasync").contains(&"datasync".to_owned()));
        assert!(found("no such word").is_empty());
        assert!(found("").len() == knob::KNOBS.len());
    }

    /// 162 knobs stood below each other without a heading, and `list knobs layout` found those
    /// alone that say the word.
    #[test]
    fn knobs_are_listed_in_groups_and_found_by_group_and_by_scope() {
        let all = rows(Table::Knobs);
        let told = text(&all);
        let headings: Vec<&str> = told.lines().filter(|line| line.contains(" (scope ")).collect();
        assert_eq!(headings.len(), knob::GROUPS.len(), "{headings:?}");
        assert!(headings[0].starts_with("LOAD: "), "{headings:?}");
        let below = |heading: &str, name: &str| {
            let (_, after) = told.split_once(heading).unwrap();
            let group = after.split("\n\n").next().unwrap();
            group.lines().any(|line| line.split(' ').next() == Some(name))
        };
        assert!(below("\nLAYOUT: ", "raid") && below("\nSIM: ", "sim-bus"), "{told}");
        assert!(below("LOAD: ", "warm-up") && !below("\nREPLAY: ", "warm-up"), "{told}");
        let found = |word: &str| -> Vec<Value> {
            all.iter().filter(|row| mentions(row, word)).cloned().collect()
        };
        for (word, key) in [("layout", "scope"), ("label", "scope"), ("interface", "group")] {
            let of = all.iter().filter(|row| row[key] == word);
            assert!(of.clone().count() > 5 && of.clone().all(|row| found(word).contains(row)));
        }
        assert_eq!(text(&found("LAYOUT")).matches("LAYOUT: ").count(), 1);
        // Tables without groups have no headings.
        assert!(!text(&rows(Table::Workloads)).contains("(scope"));
    }
}
