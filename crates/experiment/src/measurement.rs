//! (pure) What one trial yielded, and the verdicts on it.
//!
//! Only raw counts, interval samples and histograms are kept (rule 3); figures, origin,
//! steadiness and the generator's confessions are functions of them, in the files below. Times are
//! nanoseconds since the trial's start, on the machine's monotonic clock.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

pub mod again;
mod bins;
mod computed;
pub mod confession;
pub mod consistency;
pub mod course;
pub mod digest;
pub mod evidence;
pub mod figure_names;
pub mod figures;
pub mod integrity;
pub mod judge;
pub mod latency;
pub mod limit;
pub mod machine;
mod named;
pub mod datagrams;
pub mod network;
pub mod nfs;
pub mod origin;
pub mod programs;
pub mod reported;
pub mod settling;
pub mod span;
pub mod start;
pub mod steady;
pub mod stopped;
pub mod verified;

use facts::counters::series::Series;

/// What the other machine of a trial counted has a name that begins so: `peer/stat`.
pub const PEER: &str = "peer/";
pub use digest::Digest;
pub use evidence::Evidence;
use facts::layout::Times;
pub use integrity::Integrity;
pub use programs::Programs;
pub use reported::Reported;
pub use verified::Verified;

/// Everything that one trial yielded.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// When the streams were let go, Unix time in ns.
    pub started_unix_ns: u64,
    /// From letting the streams go until the last had stopped, ns.
    pub elapsed_ns: u64,
    /// The time in which every stream was running; `None` when there was no such time.
    pub window: Option<Window>,
    /// One a stream, in order.
    pub streams: Vec<Stream>,
    /// What the load itself did, sampled: columns `read_bytes`, `read_ops`, `write_bytes`,
    /// `write_ops`, and `metadata_ops` of engines that do such, cumulative.
    pub load: Series,
    /// Latency of operations completed inside the window, by kind.
    pub latency: Vec<(Operation, Histogram<u64>)>,
    /// The writing, up to the moment at which all of it was on the device.
    pub durable: Option<Durable>,
    /// A second reading of blocks just read, to catch a cache behind the kernel.
    pub second_pass: Option<SecondPass>,
    /// What was checked of the bytes that were read; `None` when nothing was.
    pub integrity: Option<Integrity>,
    /// What a verification of a user's own files went through; `None` of any other trial.
    pub verified: Option<Verified>,
    /// The runs of the programs that were timed; `None` when the load was our own.
    pub programs: Option<Programs>,
    /// What others measured and printed: of a trial of `programs` beside what we counted of it,
    /// else alone. `None` when nobody did.
    pub reported: Option<Reported>,
    /// How long the layout that it ran on took to make; `None` in directories.
    pub layout: Option<Times>,
    /// Where the bytes came from and went to, as far as the machine can tell.
    pub evidence: Evidence,
    /// What the kernel counted, one series a source.
    pub counters: Vec<Series>,
    /// What whoever reads the figures must know.
    pub notes: Vec<Note>,
    /// What was computed of it, when its samples were let go; see [`digest`].
    pub digest: Option<Box<Digest>>,
}

impl Measurement {
    /// Latencies of the operations that were counted: a transaction is made of operations that are
    /// counted themselves, and is one of them only where there is nothing else.
    pub fn operations(&self) -> impl Iterator<Item = &Histogram<u64>> + Clone {
        let alone = self.latency.len() == 1;
        let counts = move |kind: Operation| alone || kind != Operation::Transaction;
        let parts = self.latency.iter().filter(move |(kind, _)| counts(*kind));
        parts.map(|(_, part)| part).filter(|part| !part.is_empty())
    }

    /// What a log of another tool tells over time.
    pub fn reported_series(&self) -> impl Iterator<Item = &reported::ReportedSeries> {
        self.reported.iter().flat_map(|reported| &reported.series)
    }

    /// Whether its course was sampled, so that it can be drawn.
    pub fn has_course(&self) -> bool {
        match &self.digest {
            Some(digest) => digest.sampled,
            None => {
                self.load.at_ns.len() > 1
                    || self.counters.iter().any(|series| series.at_ns.len() > 1)
                    || self.reported_series().any(|series| series.at_ns.len() > 1)
            }
        }
    }
}

/// What an operation did; latency is kept apart for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    /// Bytes came to us.
    Read,
    /// Bytes went from us.
    Write,
    /// A file was made, and opened.
    Create,
    /// A file that was there was opened.
    Open,
    /// A file was closed.
    Close,
    /// What is known of a file was asked for, by its name or by its handle.
    Stat,
    /// Times, mode, owner or length of a file were changed.
    Setattr,
    /// How full the file system is was asked for.
    Statfs,
    /// Names of a directory were read.
    Readdir,
    /// A file got another name.
    Rename,
    /// A file got one name more.
    Link,
    /// A name of a file was removed, and the file with its last.
    Unlink,
    /// A directory was made.
    Mkdir,
    /// An empty directory was removed.
    Rmdir,
    /// What was written to a file was put on the device.
    Fsync,
    /// A range of a file was locked or unlocked.
    Lock,
    /// Several operations that count as one, as their workload defines it.
    Transaction,
}

impl Operation {
    /// All of them.
    pub const ALL: &[Operation] = <Operation as strum::VariantArray>::VARIANTS;

    /// The word of the store and of the JSON contract: `read`, `unlink`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The operation of that name.
    pub fn find(name: &str) -> Option<Operation> {
        Operation::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

/// Operations and bytes, cumulative or in some interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Bytes read.
    pub read_bytes: u64,
    /// Read operations.
    pub read_ops: u64,
    /// Bytes written, as accepted by the kernel.
    pub write_bytes: u64,
    /// Write operations.
    pub write_ops: u64,
    /// Operations that move no bytes of files, such as create, stat and unlink.
    #[serde(default)]
    pub metadata_ops: u64,
}

impl Amount {
    /// Bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }

    /// Operations of every kind.
    pub fn ops(&self) -> u64 {
        self.read_ops + self.write_ops + self.metadata_ops
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Amount) -> Amount {
        Amount {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            read_ops: self.read_ops.saturating_sub(earlier.read_ops),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
            write_ops: self.write_ops.saturating_sub(earlier.write_ops),
            metadata_ops: self.metadata_ops.saturating_sub(earlier.metadata_ops),
        }
    }

    /// Both together.
    pub fn plus(&self, other: &Amount) -> Amount {
        Amount {
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            read_ops: self.read_ops.saturating_add(other.read_ops),
            write_bytes: self.write_bytes.saturating_add(other.write_bytes),
            write_ops: self.write_ops.saturating_add(other.write_ops),
            metadata_ops: self.metadata_ops.saturating_add(other.metadata_ops),
        }
    }

    /// This without the other, 0 where that is more.
    pub fn minus(&self, other: &Amount) -> Amount {
        Amount {
            read_bytes: self.read_bytes.saturating_sub(other.read_bytes),
            read_ops: self.read_ops.saturating_sub(other.read_ops),
            write_bytes: self.write_bytes.saturating_sub(other.write_bytes),
            write_ops: self.write_ops.saturating_sub(other.write_ops),
            metadata_ops: self.metadata_ops.saturating_sub(other.metadata_ops),
        }
    }
}

/// The time in which all streams were running: from the moment at which the last of them had
/// completed its first operation to the moment before the first was told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// All started.
    pub start_ns: u64,
    /// First stopped.
    pub end_ns: u64,
    /// Completed in between, by all streams.
    pub done: Amount,
}

impl Window {
    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// What one stream did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Its first operation was submitted.
    pub started_ns: u64,
    /// Its timed pass was complete; `None` when the trial ended first.
    pub pass_end_ns: Option<u64>,
    /// Done in the timed pass.
    pub pass: Amount,
    /// Its last operation was complete.
    pub stopped_ns: u64,
    /// Done in all, timed and untimed.
    pub total: Amount,
    /// Processor time of its thread.
    pub cpu_ns: u64,
}

/// What was written and when it was safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durable {
    /// All that was accepted until the end.
    pub bytes: u64,
    /// The last write was accepted, ns since the start.
    pub accepted_ns: u64,
    /// The last fsync had returned, ns since the start.
    pub durable_ns: u64,
}

/// The same blocks read twice, one pass straight after the other, by the same streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondPass {
    /// Bytes of each pass.
    pub bytes: u64,
    /// Length of the first pass, ns.
    pub first_ns: u64,
    /// Length of the second pass, ns.
    pub second_ns: u64,
    /// How far the first pass had come, from time to time: ns since its start, and bytes. Its own
    /// ups and downs say what a faster second pass is worth. Empty in old stores.
    #[serde(default)]
    pub first_marks: Vec<(u64, u64)>,
}

impl SecondPass {
    /// The marks of a first pass that took so long, from the samples of the load.
    pub fn marks(load: &Series, first_ns: u64) -> Vec<(u64, u64)> {
        let Some(read) = load.column("read_bytes") else { return Vec::new() };
        let rows = load.at_ns.iter().map(|&at_ns| at_ns as u64).zip(read.values.iter().copied());
        rows.take_while(|(at_ns, _)| *at_ns <= first_ns).collect()
    }
}

/// Something that whoever reads a figure must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Kebab-case, stable, for programs: `generator-bound`, `not-steady`.
    pub kind: String,
    /// One sentence for people.
    pub text: String,
}

impl Note {
    /// A note of `kind` that says `text`.
    pub fn new(kind: &str, text: impl Into<String>) -> Note {
        Note { kind: kind.to_owned(), text: text.into() }
    }
}

/// How a trial ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Measured.
    Done(Box<Measurement>),
    /// Tried, and failed; with what the kernel said.
    Failed(String),
    /// Cannot be done here, and was not replaced by something else.
    Skipped(String),
    /// Stopped by the user before it was complete.
    Interrupted,
}

/// Why there is no measurement of a trial that was stopped.
pub const INTERRUPTED: &str = "stopped before it was complete";

impl Outcome {
    /// The word of the JSON contract.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Done(_) => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Skipped(_) => "skipped",
            Outcome::Interrupted => "interrupted",
        }
    }

    /// Why there is no measurement, where there is none.
    pub fn why(&self) -> Option<&str> {
        match self {
            Outcome::Done(_) => None,
            Outcome::Failed(why) | Outcome::Skipped(why) => Some(why),
            Outcome::Interrupted => Some(INTERRUPTED),
        }
    }

    /// The measurement, when there is one.
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Outcome::Done(measurement) => Some(measurement),
            _ => None,
        }
    }
}

/// Three significant digits from 1 ns to one hour: the histogram of every latency in Brickyard.
/// Recording never allocates and never fails; what lies beyond is counted at the end.
pub fn latency_histogram() -> Histogram<u64> {
    const HOUR_NS: u64 = 3_600_000_000_000;
    Histogram::new_with_bounds(1, HOUR_NS, 3).expect("1 ns to 1 h with 3 digits is a valid range")
}

/// A trial and what came of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// What was asked.
    pub trial: crate::plan::Trial,
    /// What came.
    pub outcome: Outcome,
    /// What whoever reads of it must know, when there is no measurement that has its own notes.
    pub notes: Vec<Note>,
    /// Which of its figures it contradicts, as far as somebody asked.
    pub judged: consistency::Judged,
}

impl Record {
    /// A record without notes of its own.
    pub fn new(trial: crate::plan::Trial, outcome: Outcome) -> Record {
        Record { trial, outcome, notes: Vec::new(), judged: consistency::Judged::default() }
    }
}
