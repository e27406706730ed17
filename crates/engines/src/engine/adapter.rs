//! Installed tools as engines: one table, one file a tool.
//!
//! An adapter is two pure functions: settings of a trial into the words of a command line, and
//! what the tool printed into figures of its own. What lies between them is the machinery of the
//! engine `command`: a worker process, the kernel's account of the run, counters, origin. The
//! tool's figures stand beside ours as reported ones (see [`experiment::measurement::reported`]);
//! nothing is computed of them but the change of unit. A setting that the tool cannot honour is
//! refused by name, never replaced.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::engine::command::{self, Spec, Start};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::typed::Setting;
use experiment::knob::{self, Knob, Settings};
use experiment::knob::{EngineKind, engines};
use experiment::measurement::reported::{Bound, Figure, Reported, Way};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;

mod bonnie;
mod dbench;
mod elbencho;
mod fio;
mod ior;
mod iozone;
mod iperf3;
mod json;
mod mdtest;
mod pgbench;
mod sysbench;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// One tool.
#[derive(Debug)]
pub struct Adapter {
    /// The tool's name and the engine's.
    pub name: &'static str,
    /// The program that is run.
    pub program: &'static str,
    /// How to get it: what one would type on Debian, or where it is to be had.
    pub get: &'static str,
    /// With these words it says its version.
    pub asks_version: &'static [&'static str],
    /// What is run for a trial, or why it cannot be honoured and what would do it.
    pub launch: fn(&Asked<'_>) -> Result<Launch, String>,
    /// What it printed; why it cannot be understood.
    pub parse: fn(&str) -> Result<Vec<Said>, String>,
    /// Whether a text, of whatever origin, looks like what it prints.
    pub knows: fn(&str) -> bool,
}

/// In the order of the reference.
pub const ADAPTERS: &[&Adapter] = &[
    &fio::FIO,
    &bonnie::BONNIE,
    &iozone::IOZONE,
    &dbench::DBENCH,
    &sysbench::SYSBENCH,
    &ior::IOR,
    &mdtest::MDTEST,
    &elbencho::ELBENCHO,
    &iperf3::IPERF3,
    &pgbench::PGBENCH,
];

/// The adapter of that name.
pub fn find(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name == name)
}

impl Adapter {
    /// What it printed, where that can be: no figure is negative, and none stands in one result
    /// twice, as it does where lines of two results, or of two tables, were put together.
    ///
    /// # Errors
    /// Why it cannot be understood.
    pub fn read(&self, text: &str) -> Result<Vec<Said>, String> {
        let results = (self.parse)(text)?;
        for said in &results {
            let mut known: BTreeSet<&str> = BTreeSet::new();
            for Figure { name, value, printed, .. } in &said.figures {
                if *value < 0.0 {
                    return Err(format!("its {name} is {printed}, and less than nothing"));
                }
                if !known.insert(name) {
                    return Err(format!(
                        "its {name} stands there twice, the second time {printed}"
                    ));
                }
            }
        }
        Ok(results)
    }
}

/// A trial as an adapter sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// A value for every knob that the tool obeys.
    pub settings: &'a Settings,
    /// The folders that were made for the trial, one a directory.
    pub places: &'a [String],
    /// Draws what is drawn.
    pub seed: u64,
    /// The user that we are; 0 is root, of whom some tools want to be told.
    pub user: u32,
    /// The machine's memory, where it is known.
    pub memory_bytes: Option<u64>,
    /// Processors that we may use.
    pub cpus: &'a [usize],
}

impl Asked<'_> {
    /// The only folder, for tools that use one.
    ///
    /// # Errors
    /// When there are several.
    pub fn place(&self, tool: &str) -> Result<&str, String> {
        match self.places {
            [place] => Ok(place),
            several => Err(format!(
                "{tool} uses one directory, and this trial has {} of them; give one --dir, or \
                 engine=fio",
                several.len()
            )),
        }
    }
}

/// What is run for a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Command lines that are run before, untimed, one after the other.
    pub prepare: Vec<Vec<String>>,
    /// The command line that is timed.
    pub words: Vec<String>,
    /// What the reader must know of it.
    pub notes: Vec<Note>,
}

/// One result that a tool printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The tool's version, as it printed it; empty where it does not.
    pub version: String,
    /// What it calls this result, where it has a name for it.
    pub title: String,
    /// Knobs as far as the output tells them, in the form of the store.
    pub settings: Map<String, Json>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// What it could not tell, and why.
    pub notes: Vec<Note>,
}

impl Said {
    /// Adds a figure in the unit of its name; one that is not finite is none.
    fn add(&mut self, name: impl Into<String>, value: f64, printed: impl Into<String>) {
        if value.is_finite() {
            let (name, printed) = (name.into(), printed.into());
            self.figures.push(Figure { name, value, printed, bound: Bound::Exact });
        }
    }

    /// As a figure of somebody else: `by` what, `says` which words.
    pub fn reported(self, tool: &str, place: String, says: String) -> Reported {
        let by = format!("{tool} {}", self.version).trim().to_owned();
        let way = Way::Untold;
        Reported { by, place, says, configuration: None, way, figures: self.figures }
    }
}

/// An adapter as an engine.
#[derive(Debug)]
pub struct Tool(pub &'static EngineKind, pub &'static Adapter);

/// The tools as engines.
pub const FIO: Tool = Tool(&engines::FIO, &fio::FIO);
/// See [`FIO`].
pub const BONNIE: Tool = Tool(&engines::BONNIE, &bonnie::BONNIE);
/// See [`FIO`].
pub const IOZONE: Tool = Tool(&engines::IOZONE, &iozone::IOZONE);
/// See [`FIO`].
pub const IOR: Tool = Tool(&engines::IOR, &ior::IOR);
/// See [`FIO`].
pub const MDTEST: Tool = Tool(&engines::MDTEST, &mdtest::MDTEST);
/// See [`FIO`].
pub const ELBENCHO: Tool = Tool(&engines::ELBENCHO, &elbencho::ELBENCHO);
/// See [`FIO`].
pub const DBENCH: Tool = Tool(&engines::DBENCH, &dbench::DBENCH);
/// See [`FIO`].
pub const SYSBENCH: Tool = Tool(&engines::SYSBENCH, &sysbench::SYSBENCH);
/// See [`FIO`].
pub const IPERF3: Tool = Tool(&engines::IPERF3, &iperf3::IPERF3);
/// See [`FIO`].
pub const PGBENCH: pgbench::Served = pgbench::Served(&engines::PGBENCH, &pgbench::PGBENCH);

impl Engine for Tool {
    fn kind(&self) -> &'static EngineKind {
        self.0
    }

    /// A trial that the tool cannot honour is skipped on its own: others of its plan can be run.
    fn check(&self, _: &Settings) -> Result<(), sys::Error> {
        Ok(())
    }

    fn worker(&self) -> Option<Serve> {
        Some(command::worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let adapter = self.1;
        let user = rustix::process::getuid().as_raw();
        let memory_bytes = context.host.memory_bytes();
        let cpus = sys::processors::allowed();
        let ask = |places: &[String]| {
            let (settings, seed) = (&trial.settings, trial.seed);
            let asked = Asked { settings, places, seed, user, memory_bytes, cpus: &cpus };
            (adapter.launch)(&asked).map_err(Error::Unsupported)
        };
        // What can be told without a folder is told first; whether it is installed comes after what
        // no installation would change.
        let names: Vec<String> =
            context.work.iter().map(|work| work.to_string_lossy().into_owned()).collect();
        let launch = ask(&names)?;
        if sys::command::find(adapter.program).is_none() {
            let (name, get) = (adapter.name, adapter.get);
            return Err(Error::Unsupported(format!("{name} is not installed here: {get}")));
        }
        let starts = launch.words.first().is_some_and(|program| program == MPIRUN);
        if starts && sys::command::find(MPIRUN).is_none() {
            let why = "mpirun, which starts several tasks, is not installed here: apt-get install \
                       openmpi-bin, or streams=1";
            return Err(Error::Unsupported(why.to_owned()));
        }
        let mut words = Vec::new();
        let measured = command::measure(trial, context, &mut |places| {
            let launch = ask(places)?;
            words.clone_from(&launch.words);
            Ok(spec(&launch, places, &trial.settings))
        })?;
        finish(adapter, measured, launch.notes, &words)
    }
}

/// What the tool said of a trial, beside what the kernel counted of it.
fn finish(
    adapter: &Adapter,
    mut measured: Measurement,
    notes: Vec<Note>,
    words: &[String],
) -> Result<Measurement, Error> {
    let said = one(adapter, &measured)?;
    // What the kernel counted of the run is in `programs`, the samples and the evidence. A rate
    // of it would be over the tool's own start and end, and over all of its phases at once.
    measured.window = None;
    measured.streams.clear();
    measured.notes.extend(notes);
    measured.notes.extend(said.notes.iter().cloned());
    let (place, says) = ("its own output".to_owned(), sys::command::line(words));
    measured.reported = Some(said.reported(adapter.name, place, says));
    Ok(measured)
}

/// What the worker is to do for a tool.
fn spec(launch: &Launch, places: &[String], settings: &Settings) -> Spec {
    let start = |words: &Vec<String>| Start {
        words: words.clone(),
        // What we read is English.
        environment: vec![("LC_ALL".to_owned(), "C".to_owned())],
        directory: places.first().cloned().unwrap_or_else(|| "/".to_owned()),
    };
    let at_most_ns = settings.get(knob::AT_MOST);
    Spec {
        copies: vec![start(&launch.words)],
        prepare: launch.prepare.iter().map(start).collect(),
        // What is made ready takes its time; a trial that hangs is ended by `at-most`.
        timeout_ns: at_most_ns.saturating_mul(2),
        at_most_ns,
        parent: std::process::id(),
        ..Spec::default()
    }
}

/// What the tool said of the trial.
fn one(adapter: &Adapter, measured: &Measurement) -> Result<Said, Error> {
    let name = adapter.name;
    if let Some(cut) = measured.notes.iter().find(|note| note.kind == "cut-short") {
        let hint = "give it more with at-most=";
        return Err(Error::Failed(format!("{name} has no result: {} {hint}", cut.text)));
    }
    let outputs = measured.programs.iter().flat_map(|programs| &programs.outputs);
    let stdout = outputs.clone().find(|output| output.stream == "stdout");
    let text = stdout.map(|output| (format!("{}{}", output.head, output.tail), output.bytes));
    let (text, bytes) = text.unwrap_or_default();
    if bytes > 2 * command::KEPT_BYTES as u64 {
        let why = format!("{name} printed {bytes} bytes, of which the middle was not kept");
        return Err(Error::Failed(why));
    }
    let mut all = adapter
        .read(&text)
        .map_err(|why| Error::Failed(format!("what {name} printed cannot be read: {why}")))?;
    match (all.pop(), all.len()) {
        (Some(said), 0) => Ok(said),
        (_, others) => {
            let results = others + 1;
            Err(Error::Failed(format!("{name} printed {results} results for one trial")))
        }
    }
}

/// Starts the tasks of a parallel program.
const MPIRUN: &str = "mpirun";

/// The words that start so many tasks of a parallel program: by Open MPI's mpirun where there are
/// several. That counts hardware threads and refuses root unless told otherwise (mpirun(1)).
fn tasks(asked: &Asked<'_>, words: Vec<String>) -> Vec<String> {
    let streams = asked.settings.get(knob::STREAMS);
    if streams <= 1 {
        return words;
    }
    let as_root = (asked.user == 0).then_some("--allow-run-as-root");
    let number = streams.to_string();
    let starting = [MPIRUN].into_iter().chain(as_root);
    let starting = starting.chain(["--oversubscribe", "-np", &number]);
    starting.map(str::to_owned).chain(words).collect()
}

/// Refuses a word that is none of `known`: `knob=word` names it, `instead` says what would do it.
fn one_of<'k>(
    settings: &Settings,
    tool: &str,
    knob: Knob<impl Setting>,
    known: &[(&str, &'k str)],
) -> Result<&'k str, String> {
    let (knob, word) = (knob.name, settings.value(knob).to_string());
    let found = known.iter().find(|(ours, _)| *ours == word).map(|(_, theirs)| *theirs);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(ours, _)| *ours).collect();
        format!(
            "{tool} has no {knob}={word}; it takes {knob}={}, and engine=file has the others",
            names.join(" or ")
        )
    })
}

/// The adapter whose output a text looks like.
///
/// # Errors
/// When none or several do, with what to type.
pub fn recognise(text: &str) -> Result<&'static Adapter, String> {
    let knowing: Vec<_> = ADAPTERS.iter().filter(|adapter| (adapter.knows)(text)).collect();
    match knowing.as_slice() {
        [one] => Ok(one),
        [] => Err("it looks like the output of no tool that is known".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|adapter| adapter.name).collect();
            Err(format!("it looks like the output of {}", names.join(" and of ")))
        }
    }
}
