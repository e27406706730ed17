//! The standard evaluation: probes, writes, buys cells with what is left of the budget, measures.

use std::collections::BTreeMap;

use self::spending::{Core, Spending};
use self::written::Written;
use super::{Run, prefill};
use base::value::{self, Stop, Value};
use experiment::campaign::{Campaign, NotBought};
use experiment::knob::{self, Access, Settings};
use experiment::measurement::confession;
use experiment::plan::standard::{
    self, BudgetAllocation, EvaluationTarget, LAYOUT_STREAMS, OVERHEAD_NS, PROBE_NS, Phase,
    REPLICATES, STREAMS_MAX, TRIAL_NS_MIN, Wish, Writing,
};
use experiment::plan::{self, Trial};
use experiment::progress::Event;
use host::inventory;
use host::sys::filesystem::space;
use host::sys::{Error, clock, direct};
use store::Store;

mod spending;
#[cfg(test)]
mod tests;
mod written;

/// Files of the probe; together they bound what a probe can leave dirty in memory.
const PROBE_FILE_BYTES_MAX: u64 = 256 << 20;
/// Files of each stream of a probe through memory, which together may take as much as may be used.
const PROBE_FILES_MAX: u64 = 4;
/// Slower disks take what memory hands them as fast as what goes around it; and half a second of
/// their writing is mostly the wait for one fsync, which says nothing of the rest.
const FAST_BYTES_PER_S: f64 = 500e6;
/// Below this a file is too short to say anything about reading it.
const FILE_BYTES_MIN: u64 = 64 << 10;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    /// Checked directories.
    pub directories: Vec<String>,
    /// How long it may take, ns.
    pub budget_ns: u64,
    /// How much room its files may take in all, bytes; `None` leaves it to the probe.
    pub space_bytes: Option<u64>,
    /// How large the files of the last evaluation of the same directories were, bytes: with the
    /// same sizes two of them can be held against each other.
    pub file_bytes: Option<u64>,
    /// Available memory, bytes.
    pub memory_bytes: u64,
}

/// How large the files of the newest evaluation of these directories are, bytes; `None` where there
/// was none.
///
/// # Errors
/// When the store cannot be read.
pub fn last_file_bytes(
    store: &Store,
    engine: &str,
    directories: &[String],
) -> Result<Option<u64>, Error> {
    // Older ones of other directories are of no use, and each has to be read.
    const LOOKED_AT: usize = 20;
    let of = |it: &Campaign| it.plan == "evaluate" && it.engine == engine;
    let campaigns = store.campaigns()?;
    for campaign in campaigns.iter().rev().filter(|it| of(it)).take(LOOKED_AT) {
        let records = store.light_records(campaign.id)?;
        let mut measured = records.iter().filter(|record| !record.trial.prepares());
        let Some(first) = measured.next() else { continue };
        let mut had: Vec<&String> =
            records.iter().flat_map(|record| record.trial.settings.directories()).collect();
        had.sort();
        had.dedup();
        let mut asked: Vec<&String> = directories.iter().collect();
        asked.sort();
        if had == asked {
            return Ok(Some(first.trial.settings.get(knob::FILE_SIZE)));
        }
    }
    Ok(None)
}

/// Refuses what there is no room for, before anything is made or kept.
///
/// # Errors
/// When `space_bytes` is too little to measure anything with or more than may be used, or a
/// directory lies on a file system that is full.
pub fn check_room(directories: &[String], space_bytes: Option<u64>) -> Result<(), Error> {
    let (places, files) = (directories.len() as u64, standard::files(STREAMS_MAX));
    if let Some(bytes) = space_bytes.filter(|bytes| bytes / places / files < FILE_BYTES_MIN) {
        return Err(too_small(bytes / places / files, files, places));
    }
    let mut asked: BTreeMap<u64, u64> = BTreeMap::new();
    for name in directories {
        let usable = space(name.as_ref())?.usable_bytes();
        if probe_file_bytes(usable, None) == 0 {
            return Err(full(name, usable));
        }
        let asked = asked.entry(super::directory::device(name)?).or_default();
        *asked += space_bytes.unwrap_or(0) / places;
        if *asked > usable {
            return Err(full(name, usable)
                .hint(format!("--space {} at most", Value::Bytes(usable >> 20 << 20))));
        }
    }
    Ok(())
}

/// How large each file of a probe is: together they take a quarter of what may be used, and of
/// what the user allows for the directory.
fn probe_file_bytes(usable: u64, allowed: Option<u64>) -> u64 {
    let size = (usable / 4).min(allowed.unwrap_or(u64::MAX)) / LAYOUT_STREAMS;
    size.min(PROBE_FILE_BYTES_MAX) >> 20 << 20
}

/// Runs the standard evaluation.
///
/// # Errors
/// When the files do not fit or the store cannot be written.
pub fn evaluate(run: &mut Run<'_>, request: &EvaluationRequest) -> Result<(), Error> {
    let started_ns = clock::monotonic_ns();
    run.progress.ends_at_ns = Some(started_ns + request.budget_ns);
    let mut direct = true;
    for work in run.bed.work.values() {
        direct &= direct::accepted(work.path())?;
    }
    if !direct {
        run.observer.tell(&Event::Say(
            "this file system refuses O_DIRECT: everything goes through the page cache".to_owned(),
        ));
    }
    let rates = probe(run, request, direct)?;
    if run.stopped() {
        return Ok(());
    }
    let Some(rate) = rates.iter().map(|it| it.laying).reduce(f64::min) else { return Ok(()) };
    let files = standard::files(STREAMS_MAX);
    let writing = standard::writing(request.budget_ns, request.directories.len() as u64, rate);
    let file_size = file_size(run, request, &writing, files)?;
    let shape = EvaluationTarget {
        engine: run.engine.name(),
        directories: request.directories.clone(),
        direct,
        file_size,
        files,
        // Enough to be far from every CPU cache, and quick to fill from a slow disk.
        cache_bytes: (request.memory_bytes / 8).min(512 << 20).min((rate / 2.0) as u64),
    };
    announce(run, request, &shape, rate);
    write(run, &shape, &writing)?;
    if run.stopped() {
        return Ok(());
    }
    read(run, request, &shape, (started_ns, rates.iter().map(|it| it.around_memory).sum()))
}

/// Time spent so far. A simulated server's time passes faster than ours.
fn spent_ns(run: &Run<'_>, started_ns: u64) -> u64 {
    if !run.engine.kind().is_simulated() {
        return clock::monotonic_ns() - started_ns;
    }
    run.progress.measured_ns
}

/// What a probe of a directory said, bytes per second that are durable.
struct Probed {
    /// Around memory.
    around_memory: f64,
    /// As the files are laid, through memory; never faster than that.
    laying: f64,
}

/// Writes for two seconds in each directory; gives what that said, nothing where nothing could be
/// written. Around memory first, which takes no longer than it should
/// however slow the disk is; then new files through memory, as those of the evaluation will be
/// written: a quarter as much, for memory and the file system make that slower, by up to four.
fn probe(
    run: &mut Run<'_>,
    request: &EvaluationRequest,
    direct: bool,
) -> Result<Vec<Probed>, Error> {
    let mut rates = Vec::new();
    for name in &request.directories {
        let usable = usable_bytes(run, name)?;
        let places = request.directories.len() as u64;
        let size = probe_file_bytes(usable, request.space_bytes.map(|bytes| bytes / places));
        if size == 0 {
            return Err(full(name, usable));
        }
        let mut settings = writing(run.engine.name(), std::slice::from_ref(name), size, 1);
        settings.set(knob::DIRECT, direct);
        settings.set(knob::QUEUE_DEPTH, 4);
        settings.set(knob::STOP, Stop::After(PROBE_NS));
        let Some(rate) = probed(run, settings)? else { continue };
        // Who says how much room the files take has no use for a second opinion on it.
        let told = request.space_bytes.is_some();
        let through = match run.stopped() || told || rate < FAST_BYTES_PER_S {
            true => None,
            false => {
                let settings = through_memory(run.engine.name(), name, rate, usable, size);
                probed(run, settings)?
            }
        };
        // A probe this short may fall into a bad moment; measured on a virtual disk, memory cost a
        // factor of four. Half as much again is allowed for before the moment is blamed.
        let laying = rate.min(through.unwrap_or(rate).max(rate / 8.0));
        rates.push(Probed { around_memory: rate, laying });
    }
    Ok(rates)
}

/// New files, written through memory: a quarter of what the first probe wrote around it at `rate`,
/// bytes per second, in files of `size` or smaller. On a small file system, with the files of the
/// first probe, no more than half of what is `usable`.
fn through_memory(engine: &str, name: &str, rate: f64, usable: u64, size: u64) -> Settings {
    let each = ((rate * PROBE_NS as f64 / 4e9) as u64).min(usable / 4) / LAYOUT_STREAMS;
    let files = each.div_ceil(size).clamp(1, PROBE_FILES_MAX);
    let size = ((each / files) >> 20 << 20).clamp(1 << 20, size);
    let mut settings = writing(engine, &[name.to_owned()], size, files);
    settings.set(knob::SUSTAINED, false);
    settings
}

/// Runs a probe; its durable rate, bytes per second.
fn probed(run: &mut Run<'_>, settings: Settings) -> Result<Option<f64>, Error> {
    let number = u64::from(run.progress.count);
    let seed = plan::exact_in_json(run.campaign.seed.wrapping_add(number).rotate_left(29));
    let group = plan::PROBE.to_owned();
    // Not the files of the probe before: these have their blocks already.
    let first_file = number as u32 * LAYOUT_STREAMS as u32;
    let trial = Trial { number: 0, replicate: 1, group, settings, first_file, seed, planned: None };
    let record = run.trial(trial)?;
    let durable = record.outcome.measurement().and_then(|measurement| measurement.durable);
    let durable = durable.filter(|durable| durable.durable_ns > 0);
    Ok(durable.map(|durable| durable.bytes as f64 * 1e9 / durable.durable_ns as f64))
}

fn usable_bytes(run: &Run<'_>, name: &str) -> Result<u64, Error> {
    if let Some(why) = run.bed.quarantine.why(name) {
        return Err(Error::new(format!("cannot measure in {name}"), why)
            .hint("name the other directories alone"));
    }
    match run.bed.work.get(name) {
        Some(work) => Ok(space(work.path())?.usable_bytes()),
        None => Ok(1 << 40), // a simulated server has room
    }
}

fn full(name: &str, usable: u64) -> Error {
    let why = format!(
        "only {} may be used there (5 % of the file system stay free)",
        value::bytes(usable as f64)
    );
    Error::new(format!("cannot measure in {name}"), why)
        .hint("make room, or name a directory on another file system")
}

/// Settings of a writing trial that makes `files` files for each of its streams.
fn writing(engine: &str, names: &[String], file_size: u64, files: u64) -> Settings {
    let mut settings = Settings::defaults(engine);
    settings.set(knob::ACCESS, Access::Write);
    settings.set(knob::DIRECT, false);
    settings.set(knob::STREAMS, LAYOUT_STREAMS);
    settings.set(knob::FILES, files);
    settings.set(knob::FILE_SIZE, file_size);
    let block = (file_size & file_size.wrapping_neg()).min(1 << 20);
    settings.set(knob::BLOCK_SIZE, block);
    settings.set(knob::STOP, Stop::Pass);
    settings.set(knob::DIRECTORIES, names);
    settings
}

/// How large each file may be: what a quarter of the budget can write, at most a quarter of what
/// is free, or what the user said.
fn file_size(
    run: &Run<'_>,
    request: &EvaluationRequest,
    writing_gets: &Writing,
    files: u64,
) -> Result<u64, Error> {
    let places = request.directories.len() as u64;
    let mut by_device: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for name in &request.directories {
        let device = run.bed.work.get(name).map_or(Ok(0), |_| super::directory::device(name))?;
        let entry = by_device.entry(device).or_insert((usable_bytes(run, name)?, 0));
        entry.1 += 1;
    }
    let quarter_of_free = by_device.values().map(|(usable, sharing)| usable / 4 / sharing).min();
    let in_time = writing_gets.files_bytes / places;
    let each = match request.space_bytes {
        Some(bytes) => bytes / places,
        None => in_time.min(quarter_of_free.unwrap_or(0)),
    };
    let size = each / files;
    let size = match request.space_bytes {
        Some(_) if size >= 4 << 20 => size >> 20 << 20,
        Some(_) => size >> 16 << 16,
        // Two evaluations of one disk have the same sizes, though no two probes are the same.
        None => match request.file_bytes.filter(|had| (size / 4..=size * 2).contains(had)) {
            Some(had) => had,
            None => (size + 1).next_power_of_two() / 2,
        },
    };
    if size < FILE_BYTES_MIN {
        return Err(too_small(size, files, places));
    }
    let settings = writing(run.engine.name(), &request.directories, size, files / LAYOUT_STREAMS);
    if !run.engine.kind().is_simulated() {
        let alone = request.directories.iter().map(|name| {
            let mut alone = settings.clone();
            alone.set(knob::DIRECTORIES, std::slice::from_ref(name));
            alone
        });
        let alone: Vec<Settings> = alone.collect();
        prefill::check_space(alone.iter().map(|settings| (settings, 0)))?;
    }
    Ok(size)
}

fn too_small(size: u64, files: u64, places: u64) -> Error {
    let least = Value::Bytes(FILE_BYTES_MIN * files * places);
    let what = format!("cannot make {files} files of {} each", value::bytes(size as f64));
    Error::new(what, "they are too small to measure anything with")
        .hint(format!("--space {least} at least, or a longer --budget"))
}

fn announce(run: &mut Run<'_>, request: &EvaluationRequest, shape: &EvaluationTarget, rate: f64) {
    let places = shape.directories.len() as u64;
    let total = shape.file_size * shape.files * places;
    run.observer.tell(&Event::Say(format!(
        "writes at {}: will fill {} with {} files and remove them at the end; \
         about {} in all (--budget, --space change that)",
        value::throughput_short(rate),
        value::bytes(total as f64),
        shape.files * places,
        value::duration(request.budget_ns as f64),
    )));
}

/// Writes all files, a third in each replicate: that is the writing measured, and the layout. What
/// a trial cannot write in its share of the time is written after it, as a layout.
fn write(run: &mut Run<'_>, shape: &EvaluationTarget, gets: &Writing) -> Result<(), Error> {
    let part = shape.files / u64::from(REPLICATES);
    let cell = |name: &String| {
        let names = std::slice::from_ref(name);
        let files = part / LAYOUT_STREAMS;
        let mut settings = writing(shape.engine, names, shape.file_size, files);
        settings.set(knob::AT_LEAST, gets.at_least_ns);
        settings.set(knob::AT_MOST, gets.at_most_ns);
        ("write".to_owned(), settings)
    };
    let cells: Vec<(String, Settings)> = shape.directories.iter().map(cell).collect();
    let trials = plan::blocked(&cells, REPLICATES, run.campaign.seed);
    run.progress.of = run.progress.count + trials.len() as u32;
    for mut trial in trials {
        if run.stopped() {
            break;
        }
        trial.first_file = (trial.replicate - 1) * part as u32;
        run.lay_whole(trial)?;
    }
    Ok(())
}

/// Buys cells with what is left, says which, and runs them: phase by phase, and in each of them one
/// replicate of every cell after the other, shuffled. It all began at `started_ns`, and probes
/// wrote `bytes_per_s` in all directories together.
fn read(
    run: &mut Run<'_>,
    request: &EvaluationRequest,
    shape: &EvaluationTarget,
    (started_ns, bytes_per_s): (u64, f64),
) -> Result<(), Error> {
    let mut wishes = standard::wishes(shape);
    let left_ns = request.budget_ns.saturating_sub(spent_ns(run, started_ns));
    let bought = standard::buy(&wishes, left_ns, OVERHEAD_NS);
    let most_bytes = standard::writing_s(&wishes, &bought) * bytes_per_s;
    // What memory takes wears nothing, and is no matter of the probe's rate.
    let most_bytes = shape.direct.then_some(most_bytes as u64);
    let written = Written::new(most_bytes, bytes_per_s);
    let mut spending = Spending::new(request.budget_ns, started_ns, written);
    not_bought(run, request, shape, &wishes[bought.cells..])?;
    say(run, &wishes, &bought, most_bytes);
    let whole = wishes.iter().take_while(|wish| wish.is_core()).count();
    let curves = wishes.split_off(bought.cells.min(whole));
    let mut core = Core { spare_ns: bought.spare_ns, wishes, length_ns: bought.core_ns };
    // Where what is written over goes elsewhere it leaves files in pieces, and reading them in
    // order is another load afterwards.
    let phases = match writes_elsewhere(run) {
        true => [Phase::CoreReads, Phase::Curves, Phase::CoreWrites, Phase::MixedLoads],
        false => [Phase::CoreReads, Phase::CoreWrites, Phase::Curves, Phase::MixedLoads],
    };
    // Curves are bought again when it is known what the core set took.
    let (mut chosen, mut trial_ns) = (None, bought.trial_ns);
    for (place, phase) in phases.iter().enumerate() {
        if run.stopped() {
            break;
        }
        let seed = run.campaign.seed.rotate_left(17 + place as u32);
        if matches!(phase, Phase::CoreReads | Phase::CoreWrites) {
            let mut left_out = core.run(run, &mut spending, &phases[place..], seed)?;
            if !left_out.is_empty() {
                say_left_out(run, &left_out);
                left_out.extend(curves.iter().cloned());
                not_bought(run, request, shape, &left_out)?;
            }
            continue;
        }
        if chosen.is_none() && core.wishes.len() == whole {
            let still_ns = core.still_ns(&phases[place..], spending.overhead_ns());
            let left_ns = spending.left_ns(run).saturating_sub(still_ns);
            let again = standard::buy(&curves, left_ns, spending.overhead_ns());
            not_bought(run, request, shape, &curves[again.cells..])?;
            trial_ns = again.trial_ns;
            chosen = Some(again.cells);
        }
        let of = curves[..chosen.unwrap_or(0)].iter().filter(|wish| wish.phase == *phase);
        let cells = of.map(|wish| standard::timed(wish, trial_ns)).collect::<Vec<_>>();
        spending.reserve(core.least_ns(&phases[place + 1..], spending.overhead_ns()));
        spending.run(run, &cells, seed, |_| ())?;
    }
    for said in [spending.written.said(), spending.said()].into_iter().flatten() {
        run.observer.tell(&Event::Say(said));
    }
    run.progress.complete = !run.stopped();
    Ok(())
}

/// Keeps what a longer budget would buy, with that budget.
fn not_bought(
    run: &mut Run<'_>,
    request: &EvaluationRequest,
    shape: &EvaluationTarget,
    rest: &[Wish],
) -> Result<(), Error> {
    // Probes are what the budget pays besides writing, which gets a quarter of it.
    let probes_ns = shape.directories.len() as u64 * TRIAL_NS_MIN;
    let mut all = standard::wishes(shape);
    let mut missing = Vec::new();
    for wish in &mut all {
        let of = rest.iter().find(|one| one.settings == wish.settings);
        wish.least_ns = of.map_or(0, |one| one.least_ns);
        missing.push(of.is_some());
    }
    let budgets = standard::budgets_ns(&all, probes_ns);
    run.campaign.not_bought = all
        .iter()
        .zip(&budgets)
        .zip(missing)
        .filter_map(|(of, missing)| missing.then_some(of))
        .map(|(wish, &budget)| NotBought {
            cell: wish.name.clone(),
            // Writing may have taken longer than its quarter; never name less than was given.
            budget_ns: budget.max(request.budget_ns + 10_000_000_000),
        })
        .collect();
    run.store.update(&run.campaign)
}

fn say(run: &mut Run<'_>, wishes: &[Wish], bought: &BudgetAllocation, most_bytes: Option<u64>) {
    let what = match bought.cells {
        0 => "no load is within the budget".to_owned(),
        cells => format!("{cells} of {} loads", wishes.len()),
    };
    let about = value::duration(bought.total_ns as f64);
    let most = most_bytes.filter(|bytes| *bytes > 0).map(|bytes| value::bytes(bytes as f64));
    let most = most.map_or(String::new(), |most| format!(", which write no more than {most}"));
    run.observer.tell(&Event::Say(format!("{what}, about {about} from here{most}")));
}

fn say_left_out(run: &mut Run<'_>, cells: &[Wish]) {
    let names: Vec<&str> = cells.iter().map(|wish| wish.name.as_str()).collect();
    let names = names.join(", ");
    run.observer.tell(&Event::Say(format!("left out, as they take too long here: {names}")));
}

/// Whether one of its file systems puts what is written over in another place.
fn writes_elsewhere(run: &Run<'_>) -> bool {
    run.bed.work.values().any(|work| {
        let target = inventory::target(run.host, work.path());
        target.is_ok_and(|target| {
            let names = [&target.filesystem, &target.holding_filesystem];
            names.iter().any(|name| confession::writes_elsewhere(name))
        })
    })
}
