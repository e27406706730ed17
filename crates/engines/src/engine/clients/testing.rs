//! Whole trials of clients through the worker's `conduct`, in this process, on real files.

use std::io::{BufRead, BufReader, Write, pipe};
use std::path::Path;

use super::worker::{ClientEngine, conduct};
use crate::engine::load::protocol::{Failure, LoadResult, LoadSpec, WorkerMessage};
use crate::engine::load::talk::{ParentTalk, serve};

/// The campaign of all of them.
pub const CAMPAIGN: u64 = 22;

/// The end of a trial with so many clients in `folder`.
pub fn trial<W: Send + Sync + 'static>(
    engine: &ClientEngine<W>,
    settings: serde_json::Value,
    folder: &Path,
    clients: usize,
) -> Result<LoadResult, (Failure, String)> {
    trial_of(engine, settings, folder, clients, 11)
}

/// The same, of a trial of this seed.
pub fn trial_of<W: Send + Sync + 'static>(
    engine: &ClientEngine<W>,
    settings: serde_json::Value,
    folder: &Path,
    clients: usize,
    seed: u64,
) -> Result<LoadResult, (Failure, String)> {
    let streams = vec![vec![folder.to_owned()]; clients];
    let spec = LoadSpec {
        settings,
        seed,
        campaign: CAMPAIGN,
        streams,
        bench: Default::default(),
        written: Default::default(),
    };
    let (worker_reads, mut to_worker) = pipe().unwrap();
    let (from_worker, worker_writes) = pipe().unwrap();
    writeln!(to_worker, "{}", serde_json::to_string(&spec).unwrap()).unwrap();
    let parent = std::thread::spawn(move || {
        for line in BufReader::new(from_worker).lines().map_while(Result::ok) {
            let end = match serde_json::from_str(&line).unwrap() {
                WorkerMessage::Prepared(_) => {
                    to_worker.write_all(b"go\n").unwrap();
                    continue;
                }
                WorkerMessage::Result(result) => Ok(*result),
                WorkerMessage::Failed { kind, what } => Err((kind, what)),
                _ => continue,
            };
            to_worker.write_all(b"bye\n").unwrap();
            return Some(end);
        }
        None
    });
    let conduct =
        |line: &str, sender, talk: &mut ParentTalk<'_>| conduct(line, engine, sender, talk);
    serve(BufReader::new(worker_reads), worker_writes, conduct).unwrap();
    parent.join().unwrap().expect("the worker said how it ended")
}
