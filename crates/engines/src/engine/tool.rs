//! Installed tools as engines: one table, one file a tool.
//!
//! A tool is a pure function of settings into the words of a command line; what it printed is read
//! by its [importer](importers), as it is where somebody else ran it. What lies between them is the
//! machinery of the engine `command`: a worker process, the kernel's account of the run, counters,
//! origin. A setting that the tool cannot honour is refused by name, never replaced.

use crate::engine::command::{self, CommandSpec, ProgramStart};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::EngineKind;
use experiment::knob::typed::Setting;
use experiment::knob::{self, Knob, Settings};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;
use importers::{Importer, ToolResult};

mod bonnie;
mod dbench;
mod elbencho;
mod fio;
mod ior;
mod iozone;
mod mdtest;
mod pgbench;
mod sysbench;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use bonnie::BONNIE;
pub use dbench::DBENCH;
pub use elbencho::ELBENCHO;
pub use fio::FIO;
pub use ior::IOR;
pub use iozone::IOZONE;
pub use mdtest::MDTEST;
pub use pgbench::{PGBENCH, PgbenchEngine};
pub use sysbench::SYSBENCH;

/// An installed tool as an engine.
#[derive(Debug)]
pub struct ToolEngine {
    /// What is known of the engine that it is.
    pub kind: &'static EngineKind,
    /// What reads what it prints; of the same name.
    pub importer: &'static Importer,
    /// The program that is run.
    pub program: &'static str,
    /// How to get it: what one would type on Debian, or where it is to be had.
    pub get: &'static str,
    /// With these words it says its version.
    pub asks_version: &'static [&'static str],
    /// What is run for a trial, or why it cannot be honoured and what would do it.
    pub launch: fn(&ToolInput<'_>) -> Result<Launch, String>,
}

/// In the order of the reference.
pub const TOOLS: &[&ToolEngine] =
    &[&FIO, &BONNIE, &IOZONE, &DBENCH, &SYSBENCH, &IOR, &MDTEST, &ELBENCHO, &PGBENCH];

/// A trial as a tool sees it.
#[derive(Clone, Copy, Debug)]
pub struct ToolInput<'a> {
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

impl ToolInput<'_> {
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

impl Engine for ToolEngine {
    fn kind(&self) -> &'static EngineKind {
        self.kind
    }

    /// A trial that the tool cannot honour is skipped on its own: others of its plan can be run.
    fn check(&self, _: &Settings) -> Result<(), sys::Error> {
        Ok(())
    }

    fn worker(&self) -> Option<Serve> {
        Some(command::worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let user = rustix::process::getuid().as_raw();
        let memory_bytes = context.host.memory_bytes();
        let cpus = sys::processors::allowed();
        let ask = |places: &[String]| {
            let (settings, seed) = (&trial.settings, trial.seed);
            let asked = ToolInput { settings, places, seed, user, memory_bytes, cpus: &cpus };
            (self.launch)(&asked).map_err(Error::Unsupported)
        };
        // What can be told without a folder is told first; whether it is installed comes after what
        // no installation would change.
        let names: Vec<String> =
            context.work.iter().map(|work| work.to_string_lossy().into_owned()).collect();
        let launch = ask(&names)?;
        if sys::command::find(self.program).is_none() {
            let (name, get) = (self.name(), self.get);
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
        finish(self, measured, launch.notes, &words)
    }
}

/// What the tool said of a trial, beside what the kernel counted of it.
fn finish(
    tool: &ToolEngine,
    mut measured: Measurement,
    notes: Vec<Note>,
    words: &[String],
) -> Result<Measurement, Error> {
    let said = one(tool, &measured)?;
    // What the kernel counted of the run is in `programs`, the samples and the evidence. A rate
    // of it would be over the tool's own start and end, and over all of its phases at once.
    measured.window = None;
    measured.streams.clear();
    measured.notes.extend(notes);
    measured.notes.extend(said.notes.iter().cloned());
    let (place, says) = ("its own output".to_owned(), sys::command::line(words));
    measured.reported = Some(said.reported(tool.kind.name, place, says));
    Ok(measured)
}

/// What the worker is to do for a tool.
fn spec(launch: &Launch, places: &[String], settings: &Settings) -> CommandSpec {
    let start = |words: &Vec<String>| ProgramStart {
        words: words.clone(),
        // What we read is English.
        environment: vec![("LC_ALL".to_owned(), "C".to_owned())],
        directory: places.first().cloned().unwrap_or_else(|| "/".to_owned()),
    };
    let at_most_ns = settings.get(knob::AT_MOST);
    CommandSpec {
        copies: vec![start(&launch.words)],
        prepare: launch.prepare.iter().map(start).collect(),
        // What is made ready takes its time; a trial that hangs is ended by `at-most`.
        timeout_ns: at_most_ns.saturating_mul(2),
        at_most_ns,
        parent: std::process::id(),
        ..CommandSpec::default()
    }
}

/// What the tool said of the trial.
fn one(tool: &ToolEngine, measured: &Measurement) -> Result<ToolResult, Error> {
    let name = tool.kind.name;
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
    let mut all = tool
        .importer
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
fn tasks(asked: &ToolInput<'_>, words: Vec<String>) -> Vec<String> {
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
