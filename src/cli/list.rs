//! `brickyard list`: every table of the program, and the campaigns of a store.

use std::fmt::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Common, damage, talk};
use engines::engine;
use experiment::campaign::Damage;
use experiment::knob::Knob;
use experiment::workload::Workload;
use experiment::{knob, workload};
use findings::{analysis, report, warning};
use host::counters;
use host::inventory::server::{self, Read, Subsystem};
use host::provision::danger;
use host::sys::Error;
use importers::IMPORTERS;
use store::Store;

/// What `list` takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// Which table
    #[arg(value_enum, default_value_t = Table::Workloads)]
    table: Table,
    /// Only what mentions this word
    word: Option<String>,
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
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let mut damaged = Vec::new();
    let mut rows = match arguments.table {
        Table::Campaigns => campaigns(common, &mut damaged)?,
        table => rows(table),
    };
    if let Some(word) = &arguments.word {
        rows.retain(|row| mentions(row, word));
        if rows.is_empty() {
            let table = arguments.table.to_possible_value();
            let table = table.as_ref().map_or("", |value| value.get_name());
            let what = format!("no {table} to list");
            let why = format!("none mentions \"{word}\" in its name or in what is said of it");
            return Err(Error::new(what, why).hint(format!("brickyard list {table}")).into());
        }
    }
    if common.json {
        talk::data(&serde_json::to_string_pretty(&rows)?)?;
    } else {
        talk::data(&text(&rows))?;
    }
    Ok(damage::told(&damaged, &common.store, ExitCode::SUCCESS))
}

/// Whether a row has this word in its name, in what is said of it, or in what others call it.
fn mentions(row: &Value, word: &str) -> bool {
    let word = word.to_lowercase();
    let told = ["name", "about", "takes", "fio", "settings"].iter();
    told.filter_map(|key| row[key].as_str()).any(|text| text.to_lowercase().contains(&word))
}

/// One JSON object a row; the first two keys are `name` and `about`.
pub fn rows(table: Table) -> Vec<Value> {
    let plain = |name: &str, about: &str| json!({ "name": name, "about": about });
    match table {
        Table::Knobs => knob::KNOBS.iter().map(|knob| of_knob(knob)).collect(),
        Table::Workloads => workload::WORKLOADS.iter().map(of_workload).collect(),
        Table::Plans => super::plan::listed(),
        Table::Engines => {
            engine::ENGINES.iter().map(|engine| plain(engine.name(), engine.kind().about)).collect()
        }
        Table::Importers => {
            IMPORTERS.iter().map(|importer| plain(importer.name, importer.about)).collect()
        }
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

fn of_knob(knob: &Knob) -> Value {
    json!({
        "name": knob.name,
        "about": knob.about,
        "takes": knob.domain.describe(),
        "default": knob.default,
        "scope": knob.scope.name(),
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

fn text(rows: &[Value]) -> String {
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let width = rows.iter().map(|row| word(row, "name").len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
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
}
