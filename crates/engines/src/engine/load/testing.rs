//! Whole trials through a worker's end of the talk, in this process.

use std::io::{BufReader, PipeReader, PipeWriter, Write, pipe};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use serde_json::Value;

use super::control::LoadEvent;
use super::protocol::{Failure, LoadResult, LoadSpec, Prepared, WorkerMessage};
use super::talk::{ConductResult, ParentTalk, serve};
use experiment::measurement::{Measurement, latency};

/// What was recorded in histograms has been counted by class, each once.
pub fn assert_all_have_a_class(measurement: &Measurement) {
    let recorded: u64 = measurement.operations().map(|histogram| histogram.len()).sum();
    let series = latency::class_series(measurement);
    let last = series.iter().flat_map(|series| &series.columns).filter_map(|of| of.values.last());
    assert_eq!(last.sum::<u64>(), recorded, "{series:?}");
    for column in series.iter().flat_map(|series| &series.columns) {
        assert!(latency::class_of(&column.name).is_some() && column.values.is_sorted());
    }
}

/// What a trial said on its way.
#[derive(Default)]
pub struct Said {
    /// The state of things before the clock started.
    pub prepared: Option<Prepared>,
    /// What it said besides, in order.
    pub words: Vec<&'static str>,
    /// Its result.
    pub end: Option<Result<LoadResult, (Failure, String)>>,
}

/// Answers as the protocol says; with `stop`, ends the load as soon as it runs.
fn answer(mut to: PipeWriter, from: PipeReader, stop: bool, before_go: impl FnOnce()) -> Said {
    use std::io::BufRead;
    let mut said = Said::default();
    let mut before_go = Some(before_go);
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        match serde_json::from_str(&line).unwrap() {
            WorkerMessage::Prepared(prepared) => {
                said.prepared = Some(prepared);
                if let Some(act) = before_go.take() {
                    act();
                }
                to.write_all(b"go\n").unwrap();
            }
            WorkerMessage::SecondPass {} => {
                said.words.push("second_pass");
                to.write_all(b"go\n").unwrap();
            }
            WorkerMessage::Running(_) => {
                said.words.push("running");
                if stop {
                    to.write_all(b"stop\n").unwrap();
                }
            }
            WorkerMessage::Flushing {} => said.words.push("flushing"),
            WorkerMessage::Result(result) => said.end = Some(Ok(*result)),
            WorkerMessage::Failed { kind, what } => said.end = Some(Err((kind, what))),
        }
        if said.end.is_some() {
            to.write_all(b"bye\n").unwrap();
        }
    }
    said
}

/// Has `conduct` run a trial; with `stop`, ends it as soon as it runs.
pub fn converse(
    conduct: impl FnOnce(&str, Sender<LoadEvent>, &mut ParentTalk<'_>) -> ConductResult,
    settings: Value,
    streams: Vec<Vec<PathBuf>>,
    stop: bool,
) -> Said {
    let (bench, written) = Default::default();
    let spec = LoadSpec { settings, seed: 11, campaign: 22, streams, bench, written };
    converse_about(conduct, &spec, stop, || ())
}

/// As [`converse`], about this very load; `before_go` is done when everything is open and ready.
pub fn converse_about(
    conduct: impl FnOnce(&str, Sender<LoadEvent>, &mut ParentTalk<'_>) -> ConductResult,
    spec: &LoadSpec,
    stop: bool,
    before_go: impl FnOnce() + Send + 'static,
) -> Said {
    let (worker_reads, mut to_worker) = pipe().unwrap();
    let (from_worker, worker_writes) = pipe().unwrap();
    writeln!(to_worker, "{}", serde_json::to_string(spec).unwrap()).unwrap();
    let parent = std::thread::spawn(move || answer(to_worker, from_worker, stop, before_go));
    serve(BufReader::new(worker_reads), worker_writes, conduct).unwrap();
    parent.join().unwrap()
}
