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
use importers::IMPORTERS;
use store::Store;

/// What `list` takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// Which table
    #[arg(value_enum, default_value_t = Table::Workloads)]
    table: Table,
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
    let rows = match arguments.table {
        Table::Campaigns => campaigns(common, &mut damaged)?,
        table => rows(table),
    };
    if common.json {
        talk::data(&serde_json::to_string_pretty(&rows)?)?;
    } else {
        talk::data(&text(&rows))?;
    }
    Ok(damage::told(&damaged, &common.store, ExitCode::SUCCESS))
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
