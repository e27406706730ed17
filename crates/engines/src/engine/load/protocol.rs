//! What the worker process and its parent say to each other, one line of JSON each.
//!
//! parent: [`LoadSpec`] · worker: `prepared` · parent: `go` · worker: `running` several times a
//! second, `flushing` · worker: `second_pass`, when the trial has one; parent: `go` · worker:
//! `result` or `failed` · parent: `bye`, or the end of the worker's input, and the worker exits.
//! `stop` at any time ends the load early.

use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::engine::Error;
use experiment::measurement::{
    Amount, Durable, Evidence, Integrity, Measurement, Note, Operation, SecondPass, Stream, Window,
    latency,
};
use experiment::plan::Trial;
use facts::counters::series::Series;
use host::sys::beneath::AnchorRecord;

/// What the worker is to do: the first line it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The trial's settings, as `Settings` serialises itself.
    pub settings: serde_json::Value,
    /// Draws the blocks that are read or written.
    pub seed: u64,
    /// Stamped into every block that is written.
    pub campaign: u64,
    /// The files of each stream, or the one folder that it works in. When the access reads they
    /// exist and are complete; a writing worker makes those that do not exist.
    pub streams: Vec<Vec<PathBuf>>,
    /// What only the benchmark of the loop itself asks for.
    #[serde(default)]
    pub bench: Bench,
    /// How the files are named in blocks that can be checked, in the order of `streams`; empty
    /// where nothing is checked.
    #[serde(default)]
    pub written: Vec<Vec<FileIdentity>>,
}

/// A [`LoadSpec`] as a parent sends it.
#[derive(Serialize)]
pub struct SentLoadSpec<'a> {
    /// What is to be done.
    #[serde(flatten)]
    pub spec: &'a LoadSpec,
    /// As [`WorkerDirectories::held`].
    pub held: Option<Vec<AnchorRecord>>,
}

/// What a worker may open, of the line that it is sent.
#[derive(Deserialize)]
pub struct WorkerDirectories {
    /// The directories below which its files lie, and below which alone it opens any; missing where
    /// a person starts a worker, and says by name what it is to use.
    #[serde(default)]
    pub held: Option<Vec<AnchorRecord>>,
}

/// Which file a block says that it belongs to, where blocks can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Its number, that no other file of its campaign and generation has.
    pub file: u64,
    /// The generation of its blocks; of those of a file that is written, the first.
    pub generation: u64,
}

impl LoadSpec {
    /// The load of a trial on these paths.
    ///
    /// # Errors
    /// When its settings cannot be written.
    pub fn new(
        trial: &Trial,
        campaign: u64,
        streams: Vec<Vec<PathBuf>>,
    ) -> Result<LoadSpec, Error> {
        let settings = serde_json::to_value(&trial.settings)
            .map_err(|why| Error::Failed(format!("cannot write the load's settings: {why}")))?;
        let bench = Bench::default();
        Ok(LoadSpec { settings, seed: trial.seed, campaign, streams, bench, written: Vec::new() })
    }
}

/// How the loop itself is measured; everything off in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bench {
    /// IORING_OP_NOP instead of every I/O.
    pub nop: bool,
    /// No latency is recorded.
    pub no_latency: bool,
}

/// What the parent says after the [`LoadSpec`], as plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum WorkerCommand {
    /// Let the streams go, or start the second pass.
    Go,
    /// End the load now; a result comes all the same.
    Stop,
    /// Exit.
    Bye,
}

impl WorkerCommand {
    /// Reads one line.
    pub fn parse(line: &str) -> Option<WorkerCommand> {
        line.trim().parse().ok()
    }

    /// The line, without its end.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What the worker says to its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// Everything is open, dropped or warmed, and ready; `go` is awaited.
    Prepared(Prepared),
    /// The load runs.
    Running(LoadProgress),
    /// The streams have stopped and make their writes durable.
    Flushing {},
    /// The first part is complete and its bytes are final; `go` starts the second reading.
    SecondPass {},
    /// The trial is over.
    Result(Box<LoadResult>),
    /// The trial has no result.
    Failed {
        /// Which kind.
        kind: Failure,
        /// What was tried, and the kernel's words.
        what: String,
    },
}

/// The state of things before the clock starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Bytes of the files in memory; `None` when that cannot be told.
    pub resident_before_bytes: Option<u64>,
    /// Bytes of the files in all.
    pub file_bytes: u64,
    /// What whoever reads the figures must know, so far.
    pub notes: Vec<Note>,
}

/// How far a load is, and how fast it went since it was told last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Since the streams were let go, ns.
    pub elapsed_ns: u64,
    /// When it will be over, ns since the start, as far as is known.
    pub expected_ns: Option<u64>,
    /// Since the last such line.
    pub bytes_per_s: f64,
    /// Since the last such line.
    pub ops_per_s: f64,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Failure {
    /// Cannot be done here.
    Unsupported,
    /// Was tried and failed.
    Failed,
    /// A connection broke off: the other end has failed, and knows why.
    Disconnected,
    /// Has I/O in the kernel that does not come back.
    Hung,
}

/// What ends a stream, a client or an end early, and the trial with it: whose fault it is, and in
/// words what was tried and why it failed.
pub type LoadFailure = (Failure, String);

impl Failure {
    /// Of a call on a socket that failed so.
    pub fn of_socket(why: &io::Error) -> Failure {
        match why.raw_os_error() {
            Some(libc::EPIPE | libc::ECONNRESET | libc::ECONNREFUSED) => Failure::Disconnected,
            _ => Failure::Failed,
        }
    }

    /// The engine's error.
    pub fn error(self, what: String) -> Error {
        match self {
            Failure::Unsupported => Error::Unsupported(what),
            Failure::Failed | Failure::Disconnected => Error::Failed(what),
            Failure::Hung => Error::Hung(what),
        }
    }
}

/// What the load itself can tell about a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadResult {
    /// When the streams were let go, CLOCK_MONOTONIC of this machine in ns.
    pub started_monotonic_ns: u64,
    /// The same moment, Unix time in ns.
    pub started_unix_ns: u64,
    /// Until the last stream had stopped, ns; a second pass is not in it.
    pub elapsed_ns: u64,
    /// The time in which every stream was running.
    pub window: Option<Window>,
    /// One a stream.
    pub streams: Vec<Stream>,
    /// What was done, sampled every 100 ms, cumulative.
    pub load: Series,
    /// Latency in the window: HdrHistogram V2, in base64.
    pub latency: Vec<(Operation, String)>,
    /// The writing, up to durability.
    pub durable: Option<Durable>,
    /// The second reading.
    pub second_pass: Option<SecondPass>,
    /// What was checked of the bytes that were read.
    #[serde(default)]
    pub integrity: Option<Integrity>,
    /// Bytes of the files in memory before the start.
    pub resident_before_bytes: Option<u64>,
    /// Bytes of the files in all.
    pub file_bytes: u64,
    /// As [`Evidence::reread_bytes`].
    #[serde(default)]
    pub reread_bytes: Option<u64>,
    /// As [`Evidence::wire`].
    #[serde(default)]
    pub wire: Option<facts::inventory::Ceiling>,
    /// What the load itself counted besides, ns since the release.
    #[serde(default)]
    pub counters: Vec<Series>,
    /// All notes, those of `prepared` too.
    pub notes: Vec<Note>,
}

impl LoadResult {
    /// The measurement, with the evidence that only the load has; counters and the rest of the
    /// evidence are the parent's to add.
    ///
    /// # Errors
    /// When a histogram cannot be read.
    pub fn into_measurement(self) -> Result<Measurement, Error> {
        let latency = self.latency.iter().map(|(kind, text)| Ok((*kind, read_histogram(text)?)));
        let delivered = self.streams.iter().fold(Amount::default(), |sum, s| sum.plus(&s.total));
        Ok(Measurement {
            latency: latency.collect::<Result<_, Error>>()?,
            started_unix_ns: self.started_unix_ns,
            elapsed_ns: self.elapsed_ns,
            window: self.window,
            streams: self.streams,
            load: self.load,
            durable: self.durable,
            second_pass: self.second_pass,
            integrity: self.integrity,
            verified: None,
            programs: None,
            layout: None,
            reported: None,
            evidence: Evidence {
                delivered,
                resident_before_bytes: self.resident_before_bytes,
                file_bytes: self.file_bytes,
                reread_bytes: self.reread_bytes,
                wire: self.wire,
                ..Evidence::default()
            },
            counters: self.counters,
            notes: self.notes,
            digest: None,
        })
    }
}

/// HdrHistogram's V2 format in base64.
///
/// # Errors
/// When the histogram is too large for its format, which one of ours never is.
pub fn write_histogram(histogram: &Histogram<u64>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let written = V2Serializer::new().serialize(histogram, &mut bytes);
    written.map_err(|why| Error::Failed(format!("cannot write a latency histogram: {why:?}")))?;
    Ok(STANDARD.encode(bytes))
}

/// Reads what [`write_histogram`] wrote.
///
/// # Errors
/// When the text is something else.
pub fn read_histogram(text: &str) -> Result<Histogram<u64>, Error> {
    let bad = |why: String| Error::Failed(format!("cannot read a latency histogram: {why}"));
    let bytes = STANDARD.decode(text).map_err(|why| bad(why.to_string()))?;
    latency::decode(&bytes).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::latency_histogram;

    fn result() -> LoadResult {
        let mut histogram = latency_histogram();
        histogram.saturating_record(1500);
        let total = Amount { read_bytes: 4096, read_ops: 1, ..Amount::default() };
        LoadResult {
            elapsed_ns: 5,
            streams: vec![Stream { total, ..Stream::default() }; 2],
            latency: vec![(Operation::Read, write_histogram(&histogram).unwrap())],
            file_bytes: 9,
            ..LoadResult::default()
        }
    }

    #[test]
    fn a_result_survives_its_line_and_becomes_a_measurement() {
        let line = serde_json::to_string(&WorkerMessage::Result(Box::new(result()))).unwrap();
        assert!(!line.contains('\n'));
        let WorkerMessage::Result(read) = serde_json::from_str(&line).unwrap() else {
            panic!("{line}")
        };
        let measurement = read.into_measurement().unwrap();
        assert_eq!(measurement.evidence.delivered.read_bytes, 8192);
        assert_eq!(measurement.evidence.file_bytes, 9);
        let (kind, histogram) = &measurement.latency[0];
        assert_eq!((*kind, histogram.len()), (Operation::Read, 1));
        assert!(histogram.equivalent(histogram.max(), 1500));
    }

    #[test]
    fn lines_look_as_the_parent_expects_them() {
        let running =
            LoadProgress { elapsed_ns: 1, expected_ns: None, bytes_per_s: 2.0, ops_per_s: 0.5 };
        let line = |message| serde_json::to_string(&message).unwrap();
        assert_eq!(line(WorkerMessage::Flushing {}), r#"{"flushing":{}}"#);
        assert_eq!(line(WorkerMessage::SecondPass {}), r#"{"second_pass":{}}"#);
        assert_eq!(
            line(WorkerMessage::Running(running)),
            r#"{"running":{"elapsed_ns":1,"expected_ns":null,"bytes_per_s":2.0,"ops_per_s":0.5}}"#
        );
        let failed = WorkerMessage::Failed { kind: Failure::Unsupported, what: "x".into() };
        assert_eq!(line(failed), r#"{"failed":{"kind":"unsupported","what":"x"}}"#);
    }

    #[test]
    fn cut_or_strange_lines_are_refused_without_a_panic() {
        let line = serde_json::to_string(&WorkerMessage::Result(Box::new(result()))).unwrap();
        for end in 0..line.len() {
            assert!(serde_json::from_str::<WorkerMessage>(&line[..end]).is_err());
        }
        let text = &result().latency[0].1;
        for end in (0..text.len()).step_by(4) {
            assert!(read_histogram(&text[..end]).is_err(), "{end}");
        }
        assert_eq!(WorkerCommand::parse("go\n"), Some(WorkerCommand::Go));
        assert_eq!(WorkerCommand::parse("gone"), None);
    }
}
