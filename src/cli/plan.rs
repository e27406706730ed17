//! `brickyard plan`: the plans that ship, or what one would do, without touching anything.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::outputs::{self, Inputs};
use super::planned::{self, Planned};
use super::{Common, needs};
use crate::campaign::apply::preview;
use crate::campaign::{peer, prefill, provisioning};
use base::value;
use base::value::Stop;
use experiment::knob::{self, Scope};
use experiment::plan::design::Plan;
use experiment::plan::labels::Setup;
use experiment::plan::standard::expected_ns;
use experiment::plan::{builtin, file};
use facts::bare;
use facts::inventory::disk::Disk;
use findings::report::words;
use host::sys::Host;

/// The arguments of `brickyard plan`.
#[derive(clap::Args, Debug)]
pub struct PlanArguments {
    #[command(flatten)]
    planned: planned::PlannedArguments,
    #[command(flatten)]
    to: outputs::ToFile,
}

/// How many trials are shown one by one.
const SHOWN: usize = 12;
/// Of more cells than this only some are checked here, from all over the plan; `run` checks all.
const CHECKED: u64 = 2_000;

/// Lists plans, or shows one.
pub fn run(arguments: &PlanArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let planned = &arguments.planned;
    let mut inputs = Inputs::of_store(&common.store);
    if let Some(file) = planned.plan.as_deref().and_then(planned::file) {
        inputs.add("the plan", file);
    }
    let printed = arguments.to.decide(&inputs)?;
    if planned.plan.is_none() {
        let rows = listed();
        printed.data(&match common.json {
            true => serde_json::to_string_pretty(&rows)?,
            false => list_text(&rows),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let Planned { plan, disks, .. } = planned::resolve(planned)?;
    let step = plan.combinations().div_ceil(CHECKED).max(1) as usize;
    let some = plan.cells().step_by(step);
    planned::check_all(some.map(|cell| (cell.load, plan.settings(&cell))))?;
    let shown = Shown::of(&plan, &disks)?;
    printed.data(&match common.json {
        true => serde_json::to_string_pretty(&shown.json(&plan))? + "\n",
        false => shown.text(&plan),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The plans that ship, as rows of a table.
pub fn listed() -> Vec<Value> {
    let row = |built_in: &builtin::BuiltIn| {
        let plan = file::read(built_in.text, built_in.name, None).ok()?;
        Some(json!({ "name": plan.name, "about": plan.about, "trials": trials(&plan) }))
    };
    builtin::PLANS.iter().filter_map(row).collect()
}

fn list_text(rows: &[Value]) -> String {
    let mut text = String::new();
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let trials = value::counted(row["trials"].as_u64().unwrap_or(0), "trial");
        let _ = writeln!(text, "{:16} {} ({trials})", word("name"), word("about"));
    }
    text + "\nbrickyard plan NAME shows one; a workload's name is a plan too\n"
}

fn trials(plan: &Plan) -> u64 {
    plan.cells().count() as u64 * u64::from(plan.replicates)
}

/// What is worked out of a plan.
struct Shown {
    cells: u64,
    trials: u64,
    seed: u64,
    /// What a person must set up, in order.
    setups: Vec<Setup>,
    /// Of the trials that stop by time, ns, and how many others there are.
    takes_ns: u64,
    untimed: u64,
    /// Some of those that are counted in `takes_ns` may end earlier.
    bounded: bool,
    space: Vec<(String, u64)>,
    /// Why `run` would refuse it.
    no_room: Option<String>,
    /// What could not be told of this machine.
    lacking: Option<String>,
    /// Why `run` would refuse the plan's disks, whatever is confirmed, or measure something else.
    endangered: Option<String>,
    /// Settings of the machine that would be written.
    writes: Vec<String>,
    /// Settings of other machines that these would be asked for.
    at_peers: Vec<String>,
    /// Layouts that would be made on the plan's disks.
    layouts: provisioning::preview::Preview,
    /// Cells that make no sense, by the reason.
    senseless: BTreeMap<String, u64>,
}

impl Shown {
    fn of(plan: &Plan, disks: &[Disk]) -> anyhow::Result<Shown> {
        let replicates = u64::from(plan.replicates);
        let (mut cells, mut takes_ns, mut untimed, mut bounded) = (0, 0_u64, 0, false);
        // Few settings decide how long a trial takes; most cells share them.
        let mut known: BTreeMap<(usize, Vec<usize>), Option<u64>> = BTreeMap::new();
        for cell in plan.cells() {
            let key = (cell.load, plan.deciding(&cell, &["stop", "second-pass", "at-most"]));
            let takes = *known.entry(key).or_insert_with(|| {
                let settings = plan.settings(&cell);
                bounded |= settings.has(knob::STOP) && matches!(settings.stop(), Stop::Interval(_));
                expected_ns(&settings)
            });
            match takes {
                Some(ns) => takes_ns = takes_ns.saturating_add(ns.saturating_mul(replicates)),
                None => untimed += replicates,
            }
            cells += 1;
        }
        let (mut space, mut no_room, mut writes) = (Vec::new(), None, Vec::new());
        let mut at_peers = Vec::new();
        let layouts = provisioning::preview::Preview::for_plan(&Host::live(), plan, disks);
        takes_ns = takes_ns.saturating_add(layouts.takes_ns);
        if !plan.is_simulated() {
            let mut largest: BTreeMap<(usize, Vec<usize>), _> = BTreeMap::new();
            let mut systems: BTreeMap<(usize, Vec<usize>), _> = BTreeMap::new();
            let of_system = knob::KNOBS.iter().filter(|knob| knob.scope == Scope::System);
            let system: Vec<&str> = of_system.map(|knob| knob.name).collect();
            for cell in plan.cells() {
                let key = (cell.load, plan.deciding(&cell, &["streams", "files", "file-size"]));
                largest.entry(key).or_insert_with(|| plan.settings(&cell));
                let key = (cell.load, plan.deciding(&cell, &system));
                systems.entry(key).or_insert_with(|| plan.settings(&cell));
            }
            let host = Host::live();
            let targets = planned::targets(&host, plan, systems.values())?;
            writes = preview::writes(&host, systems.values(), &targets)?;
            if !disks.is_empty() {
                writes.extend(provisioning::preview::later(systems.values()));
            }
            at_peers = peer::lines(systems.values());
            let all = largest.values().map(|settings| (settings, 0));
            space = prefill::bytes_needed(all.clone()).into_iter().collect();
            if disks.is_empty() {
                no_room = prefill::check_space(all).err().map(|error| error.why);
            }
        }
        let (trials, seed) = (cells * replicates, plan.seed.unwrap_or(1));
        let senseless = plan.senseless();
        let setups = match plan.labels().is_empty() {
            true => Vec::new(),
            false => plan.setups(seed),
        };
        Ok(Shown {
            cells,
            trials,
            seed,
            setups,
            takes_ns,
            untimed,
            bounded,
            space,
            no_room,
            endangered: provisioning::never(&Host::live(), disks).or_else(|| {
                let needs = needs::check(&Host::live(), plan, disks);
                needs.err().map(|error| format!("{}: {}", error.what, error.why))
            }),
            lacking: needs::lacking(&Host::live(), plan, disks).map(|note| note.text),
            writes,
            at_peers,
            layouts,
            senseless,
        })
    }

    /// In words: how long, as far as it can be told.
    fn time(&self) -> String {
        let about = if self.bounded { "at most" } else { "about" };
        let timed = long(self.takes_ns);
        match self.untimed {
            0 if self.space.is_empty() => format!("{about} {timed}"),
            0 => format!("{about} {timed}, and the laying out of files"),
            some if some == self.trials => "not known before: no trial stops by time".to_owned(),
            1 => format!("{about} {timed}, and one trial that does not stop by time"),
            some => format!("{about} {timed}, and {some} trials that do not stop by time"),
        }
    }

    /// What is left out, what parts cost, and what a person does between the trials.
    fn conditions(&self, plan: &Plan, text: &mut String) {
        for line in words::left_out(&self.senseless) {
            let _ = writeln!(text, "{line}");
        }
        if !plan.prices.is_empty() {
            let money = &plan.currency;
            let prices = plan.prices.iter().map(|(name, price)| format!("{name} {price} {money}"));
            let prices = prices.map(|price| price.trim_end().to_owned());
            let prices = prices.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "prices: {prices}; the report gives the price of a GB/s");
        }
        if self.setups.len() > 1 {
            let count = self.setups.len();
            let _ = writeln!(text, "by hand: {count} set-ups; the run stops after each");
            for setup in &self.setups {
                let trials = setup.cells * u64::from(plan.replicates);
                let arguments = setup.arguments().join(" ");
                let many = if trials == 1 { "trial " } else { "trials" };
                let _ = writeln!(text, "  {trials:5} {many} with {arguments}");
            }
        }
    }

    fn text(&self, plan: &Plan) -> String {
        let mut text = format!("{}: {}\n\n", plan.name, plan.about);
        let each = match plan.replicates {
            1 => "once each".to_owned(),
            many => format!("{many} times each"),
        };
        let design = plan.design.name();
        // What was taken out of the plan is among its combinations no more.
        let taken: u64 = plan.without.values().sum();
        let senseless = self.senseless.values().sum::<u64>() - taken;
        let excluded = match plan.combinations().saturating_sub(self.cells + senseless) {
            0 => String::new(),
            some => format!(", {some} excluded"),
        };
        let _ = writeln!(
            text,
            "{} ({design} design{excluded}), {each}: {} on {}",
            value::counted(self.cells, "cell"),
            value::counted(self.trials, "trial"),
            on_engines(&plan.engine)
        );
        for load in &plan.loads {
            let _ = writeln!(text, "  {}", load.name);
            for factor in &load.factors {
                let levels: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
                let _ = writeln!(text, "    {} = {}", factor.knob.name, levels.join(", "));
            }
        }
        self.conditions(plan, &mut text);
        let _ = writeln!(text, "time: {}", self.time());
        if self.layouts.made > 0 {
            let _ = writeln!(
                text,
                "      of which {} to make {} (assumed: {} each, and {} per disk where one is \
                 written through)",
                long(self.layouts.takes_ns),
                value::counted(self.layouts.made, "layout"),
                value::duration(provisioning::preview::MAKING_NS as f64),
                value::throughput_short(provisioning::preview::DISK_BYTES_PER_S as f64),
            );
        }
        for (name, bytes) in &self.space {
            let bytes = value::bytes(*bytes as f64);
            let each = if plan.disks.is_empty() { "" } else { ", wherever each layout is mounted" };
            let _ = writeln!(text, "space: at most {bytes} in {name}{each}");
        }
        if let Some(why) = &self.no_room {
            let _ = writeln!(text, "does not fit: {why}");
        }
        if let Some(why) = &self.endangered {
            let _ = writeln!(text, "refused: {why}");
        }
        if let Some(what) = &self.lacking {
            let _ = writeln!(text, "not known: {what}");
        }
        for changed in self.changes(plan) {
            let _ = writeln!(text, "changes: {changed}");
        }
        let _ = writeln!(text, "\norder (seed {}):", self.seed);
        for trial in plan.trials(self.seed).take(SHOWN) {
            let _ = writeln!(text, "  {:5}  {}", trial.number, said(plan, &trial));
        }
        if self.trials > SHOWN as u64 {
            let _ = writeln!(text, "  ... {} more", self.trials - SHOWN as u64);
        }
        text
    }

    /// What would be changed on the machine.
    fn changes(&self, plan: &Plan) -> Vec<String> {
        let back = self.writes.iter().map(|write| format!("{write}, put back at the end"));
        let mut all = match plan.is_simulated() {
            true => vec!["nothing: the server is simulated".to_owned()],
            _ if !plan.disks.is_empty() => {
                let writes = self.writes.iter().map(|write| format!("{write}, put back after it"));
                self.layouts.lines().into_iter().chain(writes).collect()
            }
            _ if plan.directories.is_empty() => {
                let none = "no file is touched: nothing of it lies in a directory".to_owned();
                std::iter::once(none).chain(back).collect()
            }
            _ => plan
                .directories
                .iter()
                .map(|name| match bare::device(name) {
                    Some(device) => format!("nothing on {device}: it is opened to be read"),
                    None => {
                        format!("a directory {name}/brickyard-... is made, and removed at the end")
                    }
                })
                .chain(back)
                .collect(),
        };
        all.extend_from_slice(&self.at_peers);
        all
    }

    fn json(&self, plan: &Plan) -> Value {
        let order = plan.trials(self.seed).take(SHOWN).map(|trial| {
            json!({
                "number": trial.number,
                "replicate": trial.replicate,
                "workload": trial.group,
                "settings": trial.settings,
            })
        });
        let setups = self.setups.iter().map(|setup| {
            let labels: BTreeMap<_, _> = setup.levels.iter().cloned().collect();
            json!({ "labels": labels, "trials": setup.cells * u64::from(plan.replicates) })
        });
        json!({
            "plan": plan.name,
            "about": plan.about,
            "engine": plan.engine,
            "design": plan.design.name(),
            "replicates": plan.replicates,
            "seed": self.seed,
            "cells": self.cells,
            "trials": self.trials,
            "prices": plan.prices,
            "currency": plan.currency,
            "setups": setups.collect::<Vec<_>>(),
            "time_ns": self.takes_ns,
            "trials_without_time": self.untimed,
            "space_bytes": self.space.iter().cloned().collect::<BTreeMap<String, u64>>(),
            "does_not_fit": self.no_room,
            "refused": self.endangered,
            "not_known": self.lacking,
            "changes": self.changes(plan),
            "layouts_made": self.layouts.made,
            "layouts_time_ns": self.layouts.takes_ns,
            "layouts_written_bytes": self.layouts.written_bytes,
            "left_out": self.senseless,
            "first_trials": order.collect::<Vec<_>>(),
        })
    }
}

fn on_engines(names: &str) -> String {
    match names.rsplit_once(", ") {
        Some((first, last)) => format!("the engines {first} and {last}"),
        None => format!("the engine {names}"),
    }
}

/// A trial by what tells it from others.
fn said(plan: &Plan, trial: &experiment::plan::Trial) -> String {
    let mut text = format!("replicate {}: {}", trial.replicate, trial.group);
    let load = plan.loads.iter().find(|load| load.name == trial.group);
    for factor in load.into_iter().flat_map(|load| &load.factors) {
        let name = factor.knob.name;
        if let Some(level) = trial.settings.named(name) {
            let _ = write!(text, " {name}={level}");
        }
    }
    text
}

/// A time as one plans with it: seconds to weeks.
fn long(ns: u64) -> String {
    let hours = ns as f64 / 3.6e12;
    match hours {
        hours if hours < 48.0 => value::duration(ns as f64),
        hours if hours < 24.0 * 14.0 => format!("{:.1} days", hours / 24.0),
        hours => format!("{:.1} weeks", hours / 24.0 / 7.0),
    }
}
