//! What `run` and `plan` take alike: a plan by its name or file, and knobs that win over it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::campaign;
use crate::campaign::apply::asks;
use base::value::parse_bytes;
use engines::engine::Engine;
use experiment::knob::Settings;
use experiment::plan::design::Plan;
use experiment::plan::layouts::TARGET;
use experiment::plan::refused::Refused;
use experiment::plan::{builtin, expand, file as plan_file};
use experiment::{knob, plan, workload};
use facts::bare;
use facts::inventory::Target;
use facts::inventory::disk::Disk;
use facts::share::is_export;
use host::inventory::{self, disk};
use host::provision::danger;
use host::sys::input::PLAN;
use host::sys::{Error, Host};

use super::outcome;

/// A plan and what to change in it.
#[derive(clap::Args, Clone, Debug)]
pub struct PlannedArguments {
    /// A workload, a plan that ships, or a plan file; `brickyard plan` lists those that ship
    #[arg(value_name = "PLAN")]
    pub plan: Option<String>,
    /// Knobs and their levels, which win over the plan's; several levels make several cells
    #[arg(value_name = "KNOB=LEVEL,LEVEL")]
    pub levels: Vec<String>,
    /// Where the files go; again for several [default: the plan's, or here]
    #[arg(long, value_name = "DIR")]
    pub dir: Vec<String>,
    /// A disk that layouts are made on; again for several [default: the plan's]
    ///
    /// `serial:...`, a link in /dev/disk/by-id, `loop:FILE`. All that is on it will be destroyed
    #[arg(long, value_name = "NAME", conflicts_with = "dir")]
    pub device: Vec<String>,
    /// A device that is only read, as it is; again for several [default: the plan's]
    ///
    /// By the same names as --device; an array or a volume by its link in /dev/disk/by-id. It may
    /// be mounted. Streams read parts of it, evenly spaced
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dir", "device"])]
    pub read_only_device: Vec<String>,
    /// How often each cell is run [default: the plan's, or 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub replicates: Option<u32>,
    /// What runs the trials, such as `file`, `sim` or `fio` [default: the plan's, or what its
    /// workload needs]; programs in a plan run on `command` beside `file`
    #[arg(long)]
    pub engine: Option<String>,
    /// Repeats the order of trials and the blocks of an earlier campaign
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=plan::SEED_MAX))]
    pub seed: Option<u64>,
}

/// A plan that can be run.
pub struct Planned {
    /// With everything that was typed in it, its directories checked.
    pub plan: Plan,
    /// What runs its first workload.
    pub engine: &'static dyn Engine,
    /// The plan's disks as they are now; none where it measures in directories.
    pub disks: Vec<Disk>,
}

/// Checks the settings of a cell with its own engine.
///
/// # Errors
/// When it cannot run here.
pub fn check(settings: &Settings) -> Result<(), Error> {
    outcome::engine(settings.engine())?.check(settings)
}

/// Checks cells, each with the number of its workload. A workload of which no cell can run is let
/// through beside one that can: its trials are skipped with the reason, as C library I/O is where
/// everything else goes around the page cache.
///
/// # Errors
/// When some cells of a workload cannot run and others can, or when none of any can.
pub fn check_all(cells: impl Iterator<Item = (usize, Settings)>) -> Result<(), Error> {
    let mut loads: BTreeMap<usize, (bool, Option<Error>)> = BTreeMap::new();
    for (load, settings) in cells {
        let (runs, refused) = loads.entry(load).or_default();
        match check(&settings) {
            Ok(()) => *runs = true,
            Err(error) => *refused = refused.take().or(Some(error)),
        }
    }
    let any = loads.values().any(|(runs, _)| *runs);
    let in_the_way = |(runs, _): &(bool, Option<Error>)| *runs || !any;
    match loads.into_values().filter(in_the_way).find_map(|(_, refused)| refused) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Finds the plan, changes it as was typed, and checks that it can be run here.
///
/// # Errors
/// When there is no such plan, when it or what was typed is wrong, or a directory cannot be used.
pub fn resolve(arguments: &PlannedArguments) -> anyhow::Result<Planned> {
    let named = arguments.engine.as_deref().map(outcome::engine).transpose()?;
    let Some(name) = &arguments.plan else { return Err(none_named()) };
    let mut plan = find(name, named.map(|engine| engine.name()))?;
    let first = plan.loads.first().map_or("", |load| load.settings.engine());
    let engine = outcome::engine(first)?;
    if plan.twice_memory && !engine.kind().is_simulated() {
        plan.vary(&twice_memory(&arguments.levels, Host::live().memory_bytes()))?;
    }
    plan.vary(&arguments.levels)?;
    plan.replicates = arguments.replicates.unwrap_or(plan.replicates);
    plan.seed = arguments.seed.or(plan.seed);
    plan.cut_into_legs()?;
    take_target(&mut plan, arguments, engine);
    plan.check_target()?;
    let disks = disks(&plan.disks)?;
    if let Some(bytes) = read_only(&plan.read_only)? {
        plan.use_whole_devices(bytes);
    }
    let placed = plan
        .loads
        .iter()
        .any(|load| load.settings.has(knob::DIRECTORIES) || !load.settings.is_network());
    let named = !arguments.dir.is_empty() || !disks.is_empty() || !plan.read_only.is_empty();
    if named && !placed {
        let what = format!("cannot run `{}` in a directory or on a device", plan.name);
        return Err(Error::new(what, "nothing of it touches a file")
            .hint("leave out --dir and --device")
            .into());
    }
    let named = if arguments.dir.is_empty() { &plan.directories } else { &arguments.dir };
    let named = if disks.is_empty() { named.clone() } else { vec![TARGET.to_owned()] };
    plan.directories = match disks.is_empty() {
        _ if !plan.read_only.is_empty() => {
            plan.read_only.iter().map(|named| bare::place(named)).collect()
        }
        false => named.clone(),
        true if !placed => Vec::new(),
        true => outcome::directories(engine, &named, campaign::directory::checked_or_export)?,
    };
    for load in plan.loads.iter_mut().filter(|load| load.settings.has(knob::DIRECTORIES)) {
        let own = load.settings.directories();
        let real = named.iter().zip(&plan.directories);
        let some: Vec<String> =
            real.filter(|(name, _)| own.contains(name)).map(|(_, real)| real.clone()).collect();
        // What is typed wins over what a workload chooses among the plan's own.
        let all = some.is_empty() || !arguments.dir.is_empty();
        let names = if all { plan.directories.clone() } else { some };
        load.settings.set(knob::DIRECTORIES, &names);
    }
    take_out_what_lies_elsewhere(&mut plan);
    Ok(Planned { plan, engine, disks })
}

/// Takes those workloads out of a plan whose other end is on another machine that have both ends
/// here, as the jumbo frames of a veth pair: nothing of them could run. A plan of which nothing is
/// left stays as it is, and is refused with the reason.
fn take_out_what_lies_elsewhere(plan: &mut Plan) {
    let refused: Vec<Option<String>> =
        (0..plan.loads.len()).map(|number| lies_elsewhere(plan, number)).collect();
    if refused.iter().all(Option::is_some) {
        return;
    }
    for (number, why) in refused.into_iter().enumerate().rev() {
        let Some(why) = why else { continue };
        let load = plan.loads.remove(number);
        let cells = load.combinations(plan.design);
        *plan.without.entry(format!("of `{}`: {why}", load.name)).or_default() += cells;
    }
}

/// Why no cell of a workload can run whose other end is on another machine.
fn lies_elsewhere(plan: &Plan, number: usize) -> Option<String> {
    let mut cells = plan.cells().filter(|cell| cell.load == number).map(|it| plan.settings(&it));
    let first = cells.next()?;
    first.get(knob::PEER)?;
    let error = check(&first).err()?;
    // What to type instead is for whoever typed it, and not for the reader of a report.
    let why = error.why.split("; ").next().unwrap_or_default().to_owned();
    cells.all(|settings| check(&settings).is_err()).then_some(why)
}

/// Files of twice the memory that the load may use, rounded up to MiB, unless a size is typed: what
/// was written is then read from the device, whatever the page cache does (bonnie++'s own default).
fn twice_memory(levels: &[String], memory_bytes: Option<u64>) -> Vec<String> {
    let typed =
        |name: &str| levels.iter().filter_map(|it| it.split_once('=')).find(|it| it.0 == name);
    let Some(whole) = memory_bytes.filter(|_| typed("file-size").is_none()) else {
        return Vec::new();
    };
    let limits = typed("memory-limit").map_or("", |(_, levels)| levels).split(',');
    let most =
        limits.map(|level| parse_bytes(level.trim()).map_or(whole, |limit| limit.min(whole)));
    let bytes = most.max().unwrap_or(whole).saturating_mul(2).next_multiple_of(1 << 20);
    vec![format!("file-size={bytes}B")]
}

/// What is typed wins over what the plan says of its target; a simulated server has none.
fn take_target(plan: &mut Plan, arguments: &PlannedArguments, engine: &dyn Engine) {
    let PlannedArguments { dir, device, read_only_device, .. } = arguments;
    let typed = [dir, device, read_only_device].iter().any(|names| !names.is_empty());
    if typed || engine.kind().is_simulated() {
        plan.disks.clone_from(device);
        plan.read_only.clone_from(read_only_device);
    }
}

/// The size of the largest of devices that are only read, bytes; `None` where there are none.
fn read_only(named: &[String]) -> Result<Option<u64>, Error> {
    let host = Host::live();
    let found: Result<Vec<Disk>, Error> =
        named.iter().map(|named| disk::find_to_read(&host, named)).collect();
    let found = each_once(found?)?;
    Ok(found.iter().map(|disk| disk.size_bytes).max())
}

/// The disks of these names, each once.
fn disks(named: &[String]) -> Result<Vec<Disk>, Error> {
    each_once(danger::find_all(&Host::live(), named)?)
}

fn each_once(found: Vec<Disk>) -> Result<Vec<Disk>, Error> {
    for (at, disk) in found.iter().enumerate() {
        if let Some(same) = found[..at].iter().find(|other| other.name == disk.name) {
            let what = format!("cannot use the disk `{}` twice", disk.named);
            return Err(Error::new(what, format!("it is {}, as is `{}`", disk.name, same.named))
                .hint("name each disk once"));
        }
    }
    Ok(found)
}

/// What the directories of a plan lie on; nothing when none of `cells` would change the machine.
///
/// # Errors
/// When a directory cannot be looked at.
pub fn targets<'a>(
    host: &Host,
    plan: &Plan,
    mut cells: impl Iterator<Item = &'a Settings>,
) -> Result<Vec<Target>, Error> {
    // What layouts lie on is known when they are made.
    if !plan.disks.is_empty() || !cells.any(asks) {
        return Ok(Vec::new());
    }
    let local = plan.directories.iter().filter(|name| !is_export(name));
    local.map(|name| inventory::raw::target_of_place(host, name)).collect()
}

/// Nobody said which.
fn none_named() -> anyhow::Error {
    let hint = "`brickyard plan` lists those that ship, `brickyard list workloads` the workloads";
    Refused { why: "no plan is named".to_owned(), hint: hint.to_owned() }.into()
}

/// A file where there is one or its name says so, a plan that ships, or a workload's name.
/// The file that a plan is in; `None` for a name of one that ships.
pub fn file(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is = path.extension().is_some_and(|ending| ending == "toml") || name.contains('/');
    is.then_some(path)
}

fn find(name: &str, engine: Option<&str>) -> anyhow::Result<Plan> {
    if let Some(path) = file(name) {
        return Ok(plan_file::read(&PLAN.text(path)?, name, engine)?);
    }
    if let Some(built_in) = builtin::find(name) {
        return Ok(plan_file::read(built_in.text, name, engine)?);
    }
    if let Some(workload) = workload::find(name) {
        let engine = engine.or(workload.engines.first().copied()).unwrap_or("file");
        if !workload.engines.contains(&engine) {
            return Err(Refused {
                why: format!("the engine `{engine}` cannot run `{name}`"),
                hint: format!("use --engine {}, or leave it out", workload.engines.join(" or ")),
            }
            .into());
        }
        return Ok(expand::of_workload(engine, workload));
    }
    if let Some((why, hint)) = outcome::only_read(name) {
        return Err(Refused { why, hint }.into());
    }
    let plans = builtin::PLANS.iter().map(|plan| plan.name);
    let names = || plans.clone().chain(workload::WORKLOADS.iter().map(|workload| workload.name));
    let hint = match knob::meant(name, names(), |near| format!("`{near}`")) {
        Some(meant) => format!("{meant} `brickyard plan` shows all"),
        None => format!("choose one of {}, or FILE.toml", names().collect::<Vec<_>>().join(", ")),
    };
    Err(Refused { why: format!("there is no plan or workload `{name}`"), hint }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell whose settings are these words.
    fn cell(load: usize, words: &[(&str, &str)]) -> (usize, Settings) {
        let mut settings = Settings::defaults("file");
        for (name, text) in words {
            settings.set_named(name, knob::find(name).unwrap().domain.parse(text).unwrap());
        }
        (load, settings)
    }

    /// `create` on the engine `file` would have to write something else.
    #[test]
    fn every_workload_is_refused_on_every_engine_that_cannot_run_it_by_both_names() {
        let mut refused = 0;
        for workload in workload::WORKLOADS {
            // A plan of that name comes first.
            if builtin::find(workload.name).is_some() {
                continue;
            }
            for engine in knob::ENGINES.iter().map(|engine| engine.name) {
                match find(workload.name, Some(engine)) {
                    Ok(plan) => {
                        assert!(workload.engines.contains(&engine), "{engine} {}", workload.name);
                        assert_eq!(plan.engine, engine);
                    }
                    Err(error) => {
                        let error: Refused = error.downcast().unwrap();
                        let why = format!("the engine `{engine}` cannot run `{}`", workload.name);
                        assert_eq!(error.why, why);
                        assert!(error.hint.contains(workload.engines[0]), "{error:?}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused >= 8 * knob::ENGINES.len(), "{refused}");
    }

    #[test]
    fn files_are_twice_the_memory_unless_a_size_is_typed() {
        let size = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            twice_memory(&typed, Some((8 << 30) + 1))
        };
        assert_eq!(size(&["streams=4"]), ["file-size=17180917760B"]);
        assert_eq!(size(&["memory-limit=1GiB,2GiB"]), ["file-size=4294967296B"]);
        assert_eq!(size(&["memory-limit=1GiB,as-is"]), size(&[]));
        assert!(size(&["file-size=1GiB"]).is_empty());
        assert!(twice_memory(&[], None).is_empty());
    }

    /// `send HOST network` skipped half of its trials, one by one: jumbo frames are those of a veth
    /// pair of our own.
    #[test]
    fn what_has_both_ends_here_is_taken_out_of_a_plan_whose_other_end_is_elsewhere() {
        let sent = |name: &str| {
            let mut plan = plan_file::read(builtin::find(name).unwrap().text, name, None).unwrap();
            plan.vary(&["peer=10.0.0.2".to_owned()]).unwrap();
            take_out_what_lies_elsewhere(&mut plan);
            plan
        };
        let network = sent("network");
        assert_eq!((network.loads.len(), network.cells().count()), (1, 5));
        let left_out = network.left_out();
        assert_eq!(left_out.values().sum::<u64>(), 5, "{left_out:?}");
        let why = left_out.keys().next().unwrap();
        assert!(why.starts_with("of `tcp-stream, wire namespaces, mtu 9000`: peer=10.0.0.2"));
        // The wires of its own are left out, and the one card that leads there is measured.
        let nic = sent("multi-nic");
        assert_eq!((nic.loads.len(), nic.cells().count()), (1, 2));
        // Nothing of it would be left: it is refused as ever.
        let mut jumbo = sent("network");
        jumbo.vary(&["mtu=9000".to_owned()]).unwrap();
        take_out_what_lies_elsewhere(&mut jumbo);
        assert_eq!(jumbo.loads.len(), 1);
        let cells = jumbo.cells().map(|cell| (cell.load, jumbo.settings(&cell)));
        assert!(check_all(cells).is_err());
        for built_in in builtin::PLANS {
            let mut plan = plan_file::read(built_in.text, built_in.name, None).unwrap();
            let loads = plan.loads.len();
            take_out_what_lies_elsewhere(&mut plan);
            assert_eq!(plan.loads.len(), loads, "{}: nobody named a peer", built_in.name);
        }
    }

    #[test]
    fn a_workload_that_cannot_run_at_all_is_let_through_beside_one_that_can() {
        let stdio = || cell(1, &[("io-engine", "stdio")]);
        let good = |load| cell(load, &[("block-size", "4KiB")]);
        assert_eq!(check_all([good(0), stdio()].into_iter()), Ok(()));
        let why = |cells: Vec<(usize, Settings)>| check_all(cells.into_iter()).unwrap_err().why;
        assert!(why(vec![stdio()]).contains("direct=false"), "nothing would run");
        assert!(why(vec![good(0), good(1), stdio()]).contains("direct=false"), "a slip");
    }
}
