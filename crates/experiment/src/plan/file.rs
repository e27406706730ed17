//! Plan files: TOML, read with the place of every word, so that a mistake is shown where it is.
//!
//! What may stand in a file: docs/reference/plans.md. Nothing is guessed: unknown keys and knobs,
//! levels outside a domain and factors that no workload uses are refused before anything runs.

use std::collections::BTreeMap;

use crate::knob::{self, EngineKind, Knob, Settings};
use crate::workload::{self, Workload};
use base::value::{Domain, Stop, Value};

use super::SEED_MAX;
use super::design::{self, Design, Exclude, Factor, Load, Plan};
use super::needs::Need;
use super::refused::Refused;

mod table;

use table::{Entry, Mistake, TomlTable};

/// What a plan's replicates are where it does not say: the least that give an interval worth
/// having.
pub const REPLICATES: u32 = 3;

/// Reads a plan; `file` is its name, for messages. `engine` wins over the plan's own; programs run
/// on the engine `command` whatever the others run on.
///
/// # Errors
/// At the first mistake: what is wrong, with file, line and column, and what to write instead.
pub fn read(text: &str, file: &str, engine: Option<&str>) -> Result<Plan, Refused> {
    let plan = parse(text, engine).map_err(|mistake| mistake.refuse(text, file))?;
    let refused = |refused: Refused| Refused { why: format!("{file}: {}", refused.why), ..refused };
    plan.check().map_err(refused)?;
    if let Some(engine) = engine.filter(|engine| !plan.runs_on(engine)) {
        let why = format!("no workload of this plan runs on the engine `{engine}`");
        let hint = format!("leave --engine out: they run on {}", plan.engine);
        return Err(refused(Refused { why, hint }));
    }
    Ok(plan)
}

fn parse(text: &str, engine: Option<&str>) -> Result<Plan, Mistake> {
    let document = table::document(text)?;
    let mut document = TomlTable::from_toml(document.get_ref(), 0..0);
    let mut head = document.need("plan")?.table()?;
    let name = head.need("name")?.text()?;
    let about = head.take("about").map(|entry| entry.text()).transpose()?.unwrap_or_default();
    let replicates = head.take("replicates").map(|entry| entry.whole(1, 1000)).transpose()?;
    let seed = head.take("seed").map(|entry| entry.whole(0, SEED_MAX)).transpose()?;
    let design = head.take("design").map(design_of).transpose()?.unwrap_or_default();
    let own = head.take("engine").map(|entry| Ok((engine_name(&entry)?, entry))).transpose()?;
    let given = engine;
    let engine = given.or(own.as_ref().map(|(name, _)| *name)).unwrap_or("file");
    let twice_memory = head.take("file-size").map(|entry| twice_memory(&entry)).transpose()?;
    let needs = head.take("needs").map(|entry| needs(&entry)).transpose()?.unwrap_or_default();
    let stop_entry = head.take("stop");
    let stop = stop_entry.as_ref().map(|entry| stops(entry, engine)).transpose()?;
    head.finish("a plan")?;
    let Target { directories, disks, read_only } = match document.take("target") {
        Some(entry) => target(entry.table()?)?,
        None => Target::default(),
    };
    let factors = match document.take("factors") {
        Some(entry) => factors(entry.table()?)?,
        None => Vec::new(),
    };
    let stop = stop.unwrap_or_default();
    let loads = loads(&mut document, engine, &stop, &factors, &directories)?;
    if let (None, Some((name, entry))) = (given, &own)
        && loads.iter().all(|load| load.settings.engine() != *name)
    {
        return Err(entry.wrong(
            format!("no workload of this plan runs on the engine `{name}`"),
            format!("leave it out: they run on {}", design::engines(&loads)),
        ));
    }
    let timed = loads.iter().any(|load| load.settings.has(knob::STOP));
    if let Some(entry) = stop_entry.filter(|_| !timed) {
        return Err(entry.wrong_key(
            "no workload of this plan stops by `stop`: programs end by themselves",
            "leave it out, or write at-least or at-most in the workload",
        ));
    }
    let excludes = match document.take("exclude") {
        Some(entry) => entry.tables()?.into_iter().map(|table| exclude(table, &loads)).collect(),
        None => Ok(Vec::new()),
    };
    let excludes = excludes?;
    let (prices, currency) = match document.take("prices") {
        Some(entry) => prices(entry.table()?)?,
        None => Default::default(),
    };
    document.finish("a plan file")?;
    let plan = Plan {
        name,
        about,
        engine: design::engines(&loads),
        replicates: replicates.map_or(REPLICATES, |count| count as u32),
        seed,
        design,
        directories,
        disks,
        read_only,
        loads,
        without: BTreeMap::new(),
        needs,
        twice_memory: twice_memory.unwrap_or(false),
        excludes,
        prices,
        currency,
    };
    Ok(plan)
}

/// `needs = ["nfs"]`: what must be there.
fn needs(entry: &Entry<'_>) -> Result<Vec<Need>, Mistake> {
    let one = |item: Entry<'_>| {
        let name = item.text()?;
        let found = Need::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, need)| *need).ok_or_else(|| {
            item.unknown("need of a plan", &name, Need::NAMES.iter().map(|(name, _)| *name))
        })
    };
    entry.list()?.into_iter().map(one).collect()
}

/// What each part costs, and in which money, where that is written: one for all.
fn prices(table: TomlTable<'_>) -> Result<(BTreeMap<String, f64>, String), Mistake> {
    let (mut prices, mut first) = (BTreeMap::new(), None);
    for entry in table.rest() {
        let (price, currency) = entry.price()?;
        prices.insert(entry.own_name()?, price);
        if *first.get_or_insert_with(|| currency.clone()) != currency {
            return Err(entry.wrong(
                "this price is in another currency than the one before it",
                "give all prices in one currency, or none of them",
            ));
        }
    }
    Ok((prices, first.unwrap_or_default()))
}

fn design_of(entry: Entry<'_>) -> Result<Design, Mistake> {
    let name = entry.text()?;
    let names = <Design as strum::VariantNames>::VARIANTS;
    name.parse().map_err(|_| entry.unknown("design", &name, names.iter().copied()))
}

fn engine_name(entry: &Entry<'_>) -> Result<&'static str, Mistake> {
    let name = entry.text()?;
    let found = EngineKind::named(&name).map(|engine| engine.name);
    found.ok_or_else(|| {
        let names = || knob::ENGINES.iter().map(|engine| engine.name);
        if knob::nearest(&name, names()).is_some() {
            return entry.unknown("engine", &name, names());
        }
        // Of more tools than are launched the output is read.
        let known = names().collect::<Vec<_>>().join(", ");
        let hint =
            format!("choose one of {known}; or import what it printed: brickyard import FILE");
        entry.wrong(format!("there is no engine `{name}`"), hint)
    })
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
    read_only: Vec<String>,
}

fn target(mut table: TomlTable<'_>) -> Result<Target, Mistake> {
    if let Some(entry) = table.take("read-only-devices") {
        if let Some(other) = ["directories", "devices"].iter().find(|it| table.get(it).is_some()) {
            return Err(entry.wrong_key(
                format!("a target is either `read-only-devices` or `{other}`"),
                "leave one of them out: what is only read stands in a plan of its own",
            ));
        }
        let read_only = names(&entry, "device")?;
        table.finish("`target`")?;
        return Ok(Target { read_only, ..Target::default() });
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

/// What a workload is called: its own name, or its preset's; where that is taken, with what it
/// sets besides (`levels`), or by its place where that tells it from no other.
fn named(
    own: Option<Entry<'_>>,
    preset: &str,
    levels: &[(&Knob, Value)],
    loads: &[Load],
) -> Result<String, Mistake> {
    let taken = |name: &str| loads.iter().any(|other| other.name == name);
    let Some(entry) = own else {
        let same = loads.iter().filter(|other| other.name.starts_with(preset)).count();
        let first = (same == 0).then(|| preset.to_owned());
        // Of a command the least matters for its name: how it is started.
        let is_text = |(knob, _): &(&Knob, Value)| matches!(knob.domain, Domain::Text);
        let levels = if levels.iter().any(is_text) { &levels[..0] } else { levels };
        let told = levels.iter();
        let told: Vec<String> =
            told.map(|(knob, level)| format!("{} {level}", knob.name)).collect();
        let with = (!told.is_empty()).then(|| format!("{preset}, {}", told.join(", ")));
        let with = with.filter(|name| name.chars().count() <= NAME_MAX);
        let numbered = (same + 1..).map(|number| format!("{preset} {number}"));
        let free = first.into_iter().chain(with).chain(numbered).find(|name| !taken(name));
        return Ok(free.unwrap_or_default());
    };
    let name = entry.text()?;
    let fits = !name.trim().is_empty() && name.chars().count() <= NAME_MAX;
    match (fits && !name.chars().any(char::is_control), taken(&name) || super::prepares(&name)) {
        (true, false) => Ok(name),
        (true, true) => Err(entry.wrong("this name is taken", "another one, or none")),
        (false, _) => {
            let why = format!("a name is one line of 1 to {NAME_MAX} characters");
            Err(entry.wrong(why, "name = \"curl from nginx\""))
        }
    }
}

/// Knobs of a workload that are not changed by what is typed.
fn kept(entry: &Entry<'_>, settings: &Settings) -> Result<Vec<&'static str>, Mistake> {
    let one = |item: Entry<'_>| {
        let name = item.text()?;
        let known: Vec<&'static str> = settings.iter().map(|(name, _)| name).collect();
        let found = known.iter().copied().find(|known| *known == name);
        found.ok_or_else(|| item.unknown("knob of this workload", &name, known.into_iter()))
    };
    entry.list()?.into_iter().map(one).collect()
}

/// `file-size = "twice-memory"` under `[plan]`.
fn twice_memory(entry: &Entry<'_>) -> Result<bool, Mistake> {
    match entry.text()?.as_str() {
        "twice-memory" => Ok(true),
        _ => Err(entry.wrong(
            "here `file-size` takes \"twice-memory\"",
            "give other sizes under [factors], or in a workload",
        )),
    }
}

/// Characters of a workload's own name at most: it heads a table.
const NAME_MAX: usize = 60;

/// A factor and where it stands.
struct Placed<'a> {
    factor: Factor,
    entry: Entry<'a>,
}

fn factors(table: TomlTable<'_>) -> Result<Vec<Placed<'_>>, Mistake> {
    let placed = table.rest().into_iter().map(|entry| {
        let knob = entry.knob()?;
        let levels = entry.levels(knob, None)?;
        Ok(Placed { factor: Factor { knob, levels }, entry })
    });
    placed.collect()
}

/// Every `[[workload]]`, with the factors of the plan that it does not set itself.
fn loads(
    document: &mut TomlTable<'_>,
    engine: &str,
    stop: &[(&'static Knob, Value)],
    factors: &[Placed<'_>],
    directories: &[String],
) -> Result<Vec<Load>, Mistake> {
    let tables = document.need("workload")?.tables()?;
    let mut loads: Vec<Load> = Vec::new();
    let mut used = vec![false; factors.len()];
    for mut table in tables {
        let (preset, engine) = preset(&mut table, engine)?;
        let mut load = load(preset, engine, stop);
        let name = table.take("name");
        if let Some(entry) = table.take("directories") {
            load.settings.set(knob::DIRECTORIES, &some_of(&entry, directories)?);
        }
        if let Some(entry) = table.take("keep") {
            load.kept = kept(&entry, &load.settings)?;
        }
        let (mut own, mut single) = (Vec::new(), Vec::new());
        for entry in table.rest() {
            let knob = entry.knob()?;
            let levels = entry.levels(knob, Some(engine))?;
            own.push(knob.name);
            match &levels[..] {
                [level] => {
                    load.settings.set_named(knob.name, level.clone());
                    single.push((knob, level.clone()));
                }
                _ => load.factors.push(Factor { knob, levels }),
            }
        }
        load.sized |= own.contains(&knob::FILE_SIZE.name);
        load.name = named(name, preset.name, &single, &loads)?;
        for (placed, used) in factors.iter().zip(&mut used) {
            let knob = placed.factor.knob;
            if knob.obeyed_by(engine) && !own.contains(&knob.name) {
                load.sized |= knob.name == knob::FILE_SIZE.name;
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

/// What a `[[workload]]` starts from, what it uses or a command, and its engine: the plan's, but
/// `command` for programs.
fn preset<'e>(
    table: &mut TomlTable<'_>,
    engine: &'e str,
) -> Result<(&'static Workload, &'e str), Mistake> {
    let entry = match (table.take("use"), table.get("command")) {
        (Some(entry), _) => entry,
        (None, Some(command)) => {
            let found = workload::find("command").expect("a test reads plans with commands");
            let runs = runs_on(found, engine).map(|engine| (found, engine));
            let text = command.text()?;
            return runs.ok_or_else(|| {
                command.wrong(
                    format!("the engine `{engine}` runs no programs, and `{text}` is one"),
                    format!("take this workload out of the plan, or run it without {engine}"),
                )
            });
        }
        (None, None) => table.need("use")?,
    };
    let name = entry.text()?;
    let Some(known) = workload::find(&name) else {
        let names = workload::WORKLOADS.iter().map(|workload| workload.name);
        return Err(entry.unknown("workload", &name, names));
    };
    runs_on(known, engine).map(|engine| (known, engine)).ok_or_else(|| {
        entry.wrong(
            format!("the engine `{engine}` cannot run `{name}`"),
            format!("write engine = \"{}\" under [plan]", known.engines.join("\" or \"")),
        )
    })
}

/// The engine of a workload in a plan whose engine is `engine`.
fn runs_on<'e>(workload: &Workload, engine: &'e str) -> Option<&'e str> {
    match (workload.engines.contains(&engine), workload.engines) {
        (true, _) => Some(engine),
        // Names and programs beside real files; beside a simulated server their times would be of
        // another machine.
        (false, [own]) if engine == knob::engines::FILE.name => Some(*own),
        (false, _) => None,
    }
}

/// A workload as it is before a plan says more.
pub fn load(preset: &Workload, engine: &str, stop: &[(&'static Knob, Value)]) -> Load {
    let mut settings = Settings::defaults(engine);
    for (name, text) in preset.settings {
        let knob = knob::find(name).expect("a test checks every workload's knobs");
        if settings.named(name).is_some() {
            let value = knob.domain.parse(text).expect("a test checks every workload's values");
            settings.set_named(name, value);
        }
    }
    // Programs end by themselves: a compilation cut off after the time of a read is no figure.
    let stops = settings.has(knob::STOP);
    for (knob, value) in stop.iter().filter(|_| stops) {
        settings.set_named(knob.name, value.clone());
    }
    let sized = preset.settings.iter().any(|(name, _)| *name == knob::FILE_SIZE.name);
    let name = preset.name.to_owned();
    Load { name, settings, factors: Vec::new(), kept: Vec::new(), sized }
}

fn exclude(mut table: TomlTable<'_>, loads: &[Load]) -> Result<Exclude, Mistake> {
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
