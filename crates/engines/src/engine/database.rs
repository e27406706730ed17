//! Transactions of a bank on SQLite, by the profile of TPC-B.
//!
//! SQLite is the one that Brickyard itself is built with; what it calls of the kernel is its own
//! business, as any program's that keeps its data in it. A transaction is timed whole, from before
//! it begins until its commit has returned. What is drawn is the business of `draw`, the tables
//! that of `bank`, what SQLite promises that of `rules`, whether the kernel bears it out that of
//! `reached`; warm-up, window, samples and worker are those of [`super::clients`].

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use crate::engine::clients;
use crate::engine::clients::worker::{ClientEngine, Needs};
use crate::engine::load::protocol::{Failure, LoadSpec};
use crate::engine::load::room::{self, Room};
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys::{self, Host};

mod bank;
mod client;
mod draw;
pub mod reached;
mod rules;
mod vfs;

use client::DatabaseLoad;
use reached::Commits;
use rules::BankSettings;

/// The engine `database`.
pub struct DatabaseEngine;

impl Engine for DatabaseEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::DATABASE
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        BankSettings::new(settings).map_err(clients::refused)?;
        clients::check(settings).map(|_| ()).map_err(clients::refused)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let mut measured = clients::run(trial, context)?;
        let commits = Commits {
            count: measured.evidence.delivered.metadata_ops,
            clients: measured.streams.len() as u64,
            bytes_each: reached::SECTOR_BYTES,
        };
        if measured.durable.is_some()
            && let Some(note) = not_durable(context.host, &measured, commits)
        {
            measured.durable = None;
            measured.notes.push(note);
        }
        Ok(measured)
    }
}

/// Why commits that a database called done do not outlive a power cut; `None` when they may, as far
/// as the machine tells.
pub fn not_durable(host: &Host, measured: &Measurement, commits: Commits) -> Option<Note> {
    let evidence = &measured.evidence;
    if evidence.is_in_memory() {
        let text = "The files are memory: no commit outlives a power cut.";
        return Some(Note::new("not-durable", text));
    }
    let is_volatile = |disk: &String| {
        let cache = host.word(format!("/sys/block/{disk}/queue/write_cache"));
        cache.as_deref() == Some("write back")
    };
    reached::why_not(measured, commits, evidence.disks.iter().all(is_volatile))
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    let clients = ClientEngine { name: DatabaseEngine.name(), make, needs, run: client::run };
    talk::worker(|line, sender, talk| clients::worker::conduct(line, &clients, sender, talk))
}

fn make(settings: &Settings, spec: &LoadSpec) -> Result<(DatabaseLoad, Vec<Note>), Error> {
    let rules = BankSettings::new(settings)?;
    let mut shared = None;
    if let (true, Some(place)) = (rules.shared, spec.streams.first().and_then(|it| it.first())) {
        let path: PathBuf = place.join("bank.db");
        room::check_space(room_of(&rules), std::slice::from_ref(place), HINT)?;
        bank::make(&path, &rules, spec.seed)
            .map_err(|(kind, why): (Failure, String)| kind.error(why))?;
        shared = Some(path);
    }
    let work = DatabaseLoad {
        rules,
        seed: spec.seed,
        transactions: settings.get(knob::TRANSACTIONS),
        shared,
        committed: AtomicU64::new(0),
        left: AtomicUsize::new(spec.streams.len()),
    };
    Ok((work, rules.note().into_iter().collect()))
}

/// What makes a bank smaller.
const HINT: &str = "lower scale or streams";

/// What one bank takes: 100 000 rows of 100 bytes and SQLite's 16 or so beside each, a log of 1000
/// pages, and what a trial adds to the history.
fn room_of(rules: &BankSettings) -> Room {
    const BRANCH_BYTES: u64 = 12 << 20;
    const HISTORY_BYTES: u64 = 64 << 20;
    const LOG_PAGES: u64 = 1000;
    let bytes = rules.branches.saturating_mul(BRANCH_BYTES) + LOG_PAGES * rules.page_bytes;
    let bytes = bytes.saturating_add(HISTORY_BYTES);
    Room { bytes, largest_bytes: bytes, names: 5, shared_names: 0 }
}

/// What one client needs: SQLite keeps 2000 KiB of pages in memory (`PRAGMA cache_size`), and as
/// much again while it puts a transaction together.
fn needs(work: &DatabaseLoad) -> Needs {
    let room = match work.shared {
        // Was looked for when it was made.
        Some(_) => Room::default(),
        None => room_of(&work.rules),
    };
    Needs { memory_bytes: 4 << 20, kinds: 1, descriptors: 8, room, hint: HINT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::clients::testing::trial;
    use crate::engine::load::protocol::read_histogram;
    use crate::engine::load::testing::assert_all_have_a_class;
    use experiment::measurement::Operation;
    use serde_json::json;

    const ENGINE: ClientEngine<DatabaseLoad> =
        ClientEngine { name: "database", make, needs, run: client::run };

    #[test]
    fn each_transaction_is_one_operation_and_a_row_of_the_history() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({
            "stop": "pass", "warm-up": 0, "sustained": false, "transactions": 200,
        });
        let result = trial(&ENGINE, settings, folder.path(), 1).unwrap();
        // The first one opens the window.
        let (kind, histogram) = &result.latency[0];
        assert_eq!((*kind, result.latency.len()), (Operation::Transaction, 1));
        assert_eq!(read_histogram(histogram).unwrap().len(), 199);
        assert_eq!(result.streams[0].total.metadata_ops, 200);
        let durable = result.durable.unwrap();
        assert!(durable.bytes == 0 && durable.durable_ns > 0);
        assert_eq!(result.notes, []);
        let rules = BankSettings::new(&Settings::defaults("database")).unwrap();
        let bank = bank::open(&folder.path().join("client0/bank.db"), &rules).unwrap();
        assert_eq!(bank::check(&bank, 200), Ok(()));
        assert!(bank::check(&bank, 199).is_err());
        assert_all_have_a_class(&result.into_measurement().unwrap());
    }

    /// Clients of one database wait for each other; what they have committed is counted together.
    #[test]
    fn clients_that_share_a_database_lose_no_transaction_in_any_mode() {
        for (journal, synchronous) in [("wal", "full"), ("delete", "off")] {
            let folder = tempfile::tempdir().unwrap();
            let settings = json!({
                "stop": "pass", "warm-up": 0, "transactions": 20, "shared-database": true,
                "journal-mode": journal, "synchronous": synchronous, "data": "zero",
            });
            let result = trial(&ENGINE, settings, folder.path(), 3).unwrap();
            let all: u64 = result.streams.iter().map(|it| it.total.metadata_ops).sum();
            assert!(all >= 60, "{journal}: {all}");
            assert_eq!(result.durable.is_some(), synchronous == "full", "{journal}");
            let noted = result.notes.iter().any(|note| note.kind == "not-durable");
            assert_eq!(noted, synchronous != "full", "{journal}");
            assert!(!folder.path().join("client0").exists());
        }
    }

    /// A bank of a thousand branches takes 12 GB: it would have filled the file system.
    #[test]
    fn a_bank_that_does_not_fit_is_refused_before_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        for shared in [true, false] {
            let settings = json!({"scale": 100_000, "shared-database": shared, "stop": "1s"});
            let why = trial(&ENGINE, settings, folder.path(), 1).unwrap_err();
            let (Failure::Unsupported, why) = why else { panic!("{why:?}") };
            assert!(why.contains("lower scale"), "{why}");
            assert!(!folder.path().join("bank.db").exists());
        }
    }

    #[test]
    fn a_page_size_that_sqlite_has_not_is_refused_before_anything_runs() {
        let mut settings = Settings::defaults("database");
        assert!(DatabaseEngine.check(&settings).is_ok());
        settings.set(knob::PAGE_SIZE, 1536);
        let why = DatabaseEngine.check(&settings).unwrap_err().to_string();
        assert!(why.contains("page-size=1536"), "{why}");
    }
}
