//! Plan files: TOML, read with the place of every word, so that a mistake is shown where it is.
//!
//! What may stand in a file is DESIGN section 5. Nothing is guessed: unknown keys, unknown knobs,
//! levels outside a domain and factors that no workload uses are refused before anything runs.

use crate::knob::{self, Knob, Settings};
use crate::value::{Stop, Value};
use crate::workload::{self, Workload};

use super::SEED_MAX;
use super::design::{Design, Exclude, Factor, Load, Plan};
use super::expand::Refused;

mod table;

use table::{Entry, Mistake, Table};

/// What a plan's replicates are where it does not say: the least that give an interval worth
/// having.
pub const REPLICATES: u32 = 3;

/// Reads a plan; `file` is its name, for messages. `engine` wins over the plan's own.
///
/// # Errors
/// At the first mistake: what is wrong, with file, line and column, and what to write instead.
pub fn read(text: &str, file: &str, engine: Option<&str>) -> Result<Plan, Refused> {
    let plan = parse(text, engine).map_err(|mistake| mistake.refuse(text, file))?;
    plan.check()
        .map_err(|refused| Refused { why: format!("{file}: {}", refused.why), ..refused })?;
    Ok(plan)
}

fn parse(text: &str, engine: Option<&str>) -> Result<Plan, Mistake> {
    let document = table::document(text)?;
    let mut document = Table::of(document.get_ref(), 0..0);
    let mut head = document.need("plan")?.table()?;
    let name = head.need("name")?.text()?;
    let about = head.take("about").map(|entry| entry.text()).transpose()?.unwrap_or_default();
    let replicates = head.take("replicates").map(|entry| entry.whole(1, 1000)).transpose()?;
    let seed = head.take("seed").map(|entry| entry.whole(0, SEED_MAX)).transpose()?;
    let design = head.take("design").map(design).transpose()?.unwrap_or_default();
    let own = head.take("engine").map(engine_name).transpose()?;
    let engine = engine.map(str::to_owned).or(own).unwrap_or_else(|| "file".to_owned());
    let stop = head.take("stop").map(|entry| stops(&entry, &engine)).transpose()?;
    head.finish("a plan")?;
    let Target { directories, disks } = match document.take("target") {
        Some(entry) => target(entry.table()?)?,
        None => Target::default(),
    };
    let factors = match document.take("factors") {
        Some(entry) => factors(entry.table()?)?,
        None => Vec::new(),
    };
    let stop = stop.unwrap_or_default();
    let loads = loads(&mut document, &engine, &stop, &factors, &directories)?;
    let excludes = match document.take("exclude") {
        Some(entry) => entry.tables()?.into_iter().map(|table| exclude(table, &loads)).collect(),
        None => Ok(Vec::new()),
    };
    let excludes = excludes?;
    document.finish("a plan file")?;
    let plan = Plan {
        name,
        about,
        engine,
        replicates: replicates.map_or(REPLICATES, |count| count as u32),
        seed,
        design,
        directories,
        disks,
        loads,
        excludes,
    };
    Ok(plan)
}

fn design(entry: Entry<'_>) -> Result<Design, Mistake> {
    let name = entry.text()?;
    let found = Design::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, design)| *design).ok_or_else(|| {
        let names = Design::NAMES.map(|(name, _)| name);
        entry.unknown("design", &name, names.into_iter())
    })
}

fn engine_name(entry: Entry<'_>) -> Result<String, Mistake> {
    const PLANNED: [&str; 3] = ["file", "command", "sim"];
    let name = entry.text()?;
    match PLANNED.contains(&name.as_str()) {
        true => Ok(name),
        false => Err(entry.unknown("engine", &name, PLANNED.into_iter())),
    }
}

/// `stop = "20s"`, or `{ after, until = "steady", at-most }`: knobs that every workload starts
/// with.
fn stops(entry: &Entry<'_>, engine: &str) -> Result<Vec<(&'static Knob, Value)>, Mistake> {
    let knob = |name| knob::find(name).expect("a test reads the keys of `stop`");
    if !entry.is_table() {
        return Ok(vec![(knob("stop"), entry.level(knob("stop"), engine)?)]);
    }
    let mut table = entry.table()?;
    let until = table.take("until");
    let after = table.take("after");
    let at_most = table.take("at-most");
    table.finish("`stop`")?;
    let mut set = Vec::new();
    match &until {
        Some(until) => {
            let value = until.level(knob("stop"), engine)?;
            if value != Value::Stop(Stop::Steady) {
                return Err(until.wrong("`until` takes \"steady\"", "leave it out to stop by time"));
            }
            set.push((knob("stop"), value));
            if let Some(after) = after {
                set.push((knob("at-least"), after.level(knob("at-least"), engine)?));
            }
        }
        None => match after {
            Some(after) => set.push((knob("stop"), after.level(knob("stop"), engine)?)),
            None => {
                return Err(entry.wrong("`stop` needs `after` or `until`", "write stop = \"20s\""));
            }
        },
    }
    if let Some(at_most) = at_most {
        set.push((knob("at-most"), at_most.level(knob("at-most"), engine)?));
    }
    Ok(set)
}

/// Where a plan measures.
#[derive(Default)]
struct Target {
    directories: Vec<String>,
    disks: Vec<String>,
}

fn target(mut table: Table<'_>) -> Result<Target, Mistake> {
    if let Some(entry) = table.take("read-only-devices") {
        return Err(entry.wrong(
            "this version does not read bare devices, and takes no `read-only-devices`",
            "measure in `directories` of a file system that lies on them",
        ));
    }
    let Some(devices) = table.take("devices") else {
        let directories = names(&table.need("directories")?, "directory")?;
        table.finish("`target`")?;
        return Ok(Target { directories, ..Target::default() });
    };
    if table.get("directories").is_some() {
        return Err(devices.wrong_key(
            "a target is either `directories` or `devices`",
            "leave one of them out: file systems are made on devices, directories lie on some",
        ));
    }
    let disks = names(&devices, "device")?;
    table.finish("`target`")?;
    Ok(Target { disks, ..Target::default() })
}

/// A list of names, each once.
fn names(entry: &Entry<'_>, kind: &str) -> Result<Vec<String>, Mistake> {
    let mut names: Vec<String> = Vec::new();
    for item in entry.list()? {
        let name = item.text()?;
        if names.contains(&name) {
            return Err(item.wrong(format!("this {kind} is there twice"), "name each once"));
        }
        names.push(name);
    }
    match names.is_empty() {
        true => {
            Err(entry.wrong(format!("there is no {kind} here"), "name one, or leave `target` out"))
        }
        false => Ok(names),
    }
}

/// Those of the target's directories that one workload runs on.
fn some_of(entry: &Entry<'_>, all: &[String]) -> Result<Vec<String>, Mistake> {
    let mut some = Vec::new();
    for item in entry.list()? {
        let name = item.text()?;
        if !all.contains(&name) {
            let known = all.iter().map(String::as_str);
            return Err(item.unknown("directory of [target]", &name, known));
        }
        some.push(name);
    }
    match some.is_empty() {
        true => Err(entry.wrong("there is no directory here", "leave it out to run on all")),
        false => Ok(some),
    }
}

/// A factor and where it stands.
struct Placed<'a> {
    factor: Factor,
    entry: Entry<'a>,
}

fn factors(table: Table<'_>) -> Result<Vec<Placed<'_>>, Mistake> {
    let placed = table.rest().into_iter().map(|entry| {
        let knob = entry.knob()?;
        let levels = entry.levels(knob, None)?;
        Ok(Placed { factor: Factor { knob, levels }, entry })
    });
    placed.collect()
}

/// Every `[[workload]]`, with the factors of the plan that it does not set itself.
fn loads(
    document: &mut Table<'_>,
    engine: &str,
    stop: &[(&'static Knob, Value)],
    factors: &[Placed<'_>],
    directories: &[String],
) -> Result<Vec<Load>, Mistake> {
    let tables = document.need("workload")?.tables()?;
    let mut loads: Vec<Load> = Vec::new();
    let mut used = vec![false; factors.len()];
    for mut table in tables {
        let preset = preset(&mut table, engine)?;
        let mut load = load(preset, engine, stop);
        // A workload that is used twice is told apart by its place.
        let same = loads.iter().filter(|other| other.name.starts_with(preset.name)).count();
        if same > 0 {
            load.name = format!("{} {}", preset.name, same + 1);
        }
        if let Some(entry) = table.take("directories") {
            load.settings.set("directories", Value::Words(some_of(&entry, directories)?));
        }
        let mut own = Vec::new();
        for entry in table.rest() {
            let knob = entry.knob()?;
            let mut levels = entry.levels(knob, Some(engine))?;
            own.push(knob.name);
            match levels.len() {
                1 => load.settings.set(knob.name, levels.remove(0)),
                _ => load.factors.push(Factor { knob, levels }),
            }
        }
        for (placed, used) in factors.iter().zip(&mut used) {
            let knob = placed.factor.knob;
            if knob.obeyed_by(engine) && !own.contains(&knob.name) {
                load.factors.push(placed.factor.clone());
                *used = true;
            }
        }
        loads.push(load);
    }
    match factors.iter().zip(used).find(|(_, used)| !used) {
        Some((placed, _)) => Err(placed.entry.wrong_key(
            format!("no workload of this plan uses the factor `{}`", placed.factor.knob.name),
            "leave it out, or leave it to the factors in the workloads that set it themselves",
        )),
        None => Ok(loads),
    }
}

/// What a `[[workload]]` starts from: what it uses, or a command.
fn preset(table: &mut Table<'_>, engine: &str) -> Result<&'static Workload, Mistake> {
    let find = |name: &str| workload::find(name).filter(|found| found.engines.contains(&engine));
    let entry = match (table.take("use"), table.get("command")) {
        (Some(entry), _) => entry,
        (None, Some(command)) => {
            return find("command").ok_or_else(|| {
                command.wrong_key(
                    format!("the engine `{engine}` runs no commands, and a plan has one engine"),
                    "write engine = \"command\" under [plan]; other workloads go into their own",
                )
            });
        }
        (None, None) => table.need("use")?,
    };
    let name = entry.text()?;
    find(&name).ok_or_else(|| match workload::find(&name) {
        Some(known) => entry.wrong(
            format!("the engine `{engine}` cannot run `{name}`"),
            format!("write engine = \"{}\" under [plan]", known.engines.join("\" or \"")),
        ),
        None => {
            let names = workload::WORKLOADS.iter().map(|workload| workload.name);
            entry.unknown("workload", &name, names)
        }
    })
}

/// A workload as it is before a plan says more.
pub fn load(preset: &Workload, engine: &str, stop: &[(&'static Knob, Value)]) -> Load {
    let mut settings = Settings::defaults(engine);
    for (name, text) in preset.settings {
        let knob = knob::find(name).expect("a test checks every workload's knobs");
        if settings.has(name) {
            let value = knob.domain.parse(text).expect("a test checks every workload's values");
            settings.set(name, value);
        }
    }
    for (knob, value) in stop {
        if !settings.has(knob.name) {
            continue;
        }
        settings.set(knob.name, value.clone());
    }
    Load { name: preset.name.to_owned(), settings, factors: Vec::new() }
}

fn exclude(mut table: Table<'_>, loads: &[Load]) -> Result<Exclude, Mistake> {
    let workload = match table.take("workload") {
        None => None,
        Some(entry) => {
            let name = entry.text()?;
            if !loads.iter().any(|load| load.name == name) {
                let names = loads.iter().map(|load| load.name.as_str());
                return Err(entry.unknown("workload of this plan", &name, names));
            }
            Some(name)
        }
    };
    let mut levels = Vec::new();
    let mut places = Vec::new();
    for entry in table.rest() {
        let knob = entry.knob()?;
        levels.push((knob, entry.levels(knob, None)?));
        places.push(entry);
    }
    let rule = Exclude { workload, levels };
    // A rule that matches nothing is a slip of the pen: what it was to leave out would run.
    for ((knob, levels), entry) in rule.levels.iter().zip(&places) {
        let varies = |load: &&Load| rule.workload.as_ref().is_none_or(|name| *name == load.name);
        let has = |load: &Load| levels.iter().any(|level| load.takes(knob, level));
        if !loads.iter().filter(varies).any(has) {
            return Err(entry.wrong(
                format!("`{}` takes none of these levels in this plan", knob.name),
                "give a level that the factors name, or leave the rule out",
            ));
        }
    }
    Ok(rule)
}

#[cfg(test)]
mod tests;
