//! What the process that watches over the programs and its parent say to each other, one line of
//! JSON each: parent: [`CommandSpec`] · worker: `ready` · parent: `go` · worker: `running` now and
//! then, then `over` · parent: `counted` · worker: `result` or `failed` · parent: `bye`, or the end
//! of the worker's input. `stop` at any time ends it early.

use serde::{Deserialize, Serialize};

use experiment::measurement::{Note, Programs, Stream, Window};
use facts::counters::series::Series;

/// A program and what it is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStart {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// On top of our own environment.
    pub environment: Vec<(String, String)>,
    /// Where it is started.
    pub directory: String,
}

/// A program that serves the copies, part of the load: started last before them, ended first after
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// What is started.
    pub start: ProgramStart,
    /// When it can be used.
    pub ready: ServerReadiness,
    /// The signal that ends it in order.
    pub ends_by: i32,
    /// The signal that ends it at once, when nobody waits for a result.
    pub drops_by: i32,
}

/// What tells that a server can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerReadiness {
    /// It has said this on standard error.
    Says(String),
    /// This, run again and again, ends with status 0.
    Succeeds(ProgramStart),
}

/// What the worker of a trial of programs is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// One a copy.
    pub copies: Vec<ProgramStart>,
    /// Run before, one after the other.
    pub prepare: Vec<ProgramStart>,
    /// Run after, one after the other, when every copy came to its end: one that fails, fails the
    /// trial.
    #[serde(default)]
    pub check: Vec<ProgramStart>,
    /// Run after that, one after the other, whatever came of it.
    pub cleanup: Vec<ProgramStart>,
    /// What the copies are served by, when they are.
    #[serde(default)]
    pub server: Option<Server>,
    /// As typed.
    pub extract: Vec<String>,
    /// See the knobs of these names.
    pub timeout_ns: u64,
    /// See the knob.
    pub at_least_ns: u64,
    /// See the knob.
    pub at_most_ns: u64,
    /// See the knob.
    pub sustained: bool,
    /// Whether copies that keep up the load come to their end when the last timed one has ended:
    /// what each of them read can be told then.
    #[serde(default)]
    pub drains: bool,
    /// The process that started the worker; the programs do not outlive it.
    pub parent: u32,
}

/// What the worker of a trial of programs says to its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandWorkerMessage {
    /// Prepared; every copy waits to be let go.
    Ready {},
    /// The programs run.
    Running {
        /// Since they were let go, ns.
        elapsed_ns: u64,
        /// Since the last such line.
        bytes_per_s: f64,
    },
    /// The programs have ended; what follows is no part of the load. Waits for `counted`.
    Over {},
    /// The trial is over.
    Result(Box<Outcome>),
    /// The trial has no result.
    Failed(String),
    /// It cannot be run here.
    Skipped(String),
    /// It has none, and a program was left behind that no signal ends.
    Hung(String),
}

/// What came of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// When the copies were let go, CLOCK_MONOTONIC in ns.
    pub started_monotonic_ns: u64,
    /// The same moment, Unix time in ns.
    pub started_unix_ns: u64,
    /// Until the last had ended, ns.
    pub elapsed_ns: u64,
    /// All copies let go until the first was told to stop.
    pub window: Option<Window>,
    /// One a copy.
    pub streams: Vec<Stream>,
    /// Bytes from and to storage, sampled.
    pub load: Series,
    /// Every run.
    pub programs: Programs,
    /// What whoever reads the figures must know.
    pub notes: Vec<Note>,
    /// Whether it was told to stop.
    pub stopped: bool,
}
