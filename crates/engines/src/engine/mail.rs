//! Small files of a mail server: a pool, and transactions on it, by the rules of postmark.
//!
//! A transaction is two things: a whole file is read or one is appended to, and a file is created
//! or one is deleted (Katcher, "PostMark: a new file system benchmark", NetApp TR-3022, 1997). What
//! is drawn is the business of `draw`, what is done that of `client`; warm-up, window, samples and
//! worker are those of [`super::clients`].

use crate::engine::clients;
use crate::engine::clients::worker::{ClientEngine, Needs};
use crate::engine::file::job;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::room::Room;
use crate::engine::load::talk::{self, NotifyResult};
use crate::engine::{Context, Engine, Error, Serve};
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;

mod client;
mod draw;

use client::MailLoad;
use draw::MailRules;

/// The engine `mail`.
pub struct MailEngine;

impl Engine for MailEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::MAIL
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        clients::check(settings).map_err(clients::refused)?;
        MailRules::new(settings).map(|_| ()).map_err(clients::refused)
    }

    fn worker(&self) -> Option<Serve> {
        Some(worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        clients::run(trial, context)
    }
}

/// The worker process: serves one trial on standard input and output.
///
/// # Errors
/// When the parent cannot be told: a trial that fails is told to it, and is no error here.
pub fn worker() -> NotifyResult {
    let clients = ClientEngine { name: MailEngine.name(), make, needs, run: client::run };
    talk::worker(|line, sender, talk| clients::worker::conduct(line, &clients, sender, talk))
}

fn make(settings: &Settings, spec: &LoadSpec) -> Result<(MailLoad, Vec<Note>), Error> {
    let work = MailLoad {
        rules: MailRules::new(settings)?,
        seed: spec.seed,
        block_bytes: settings.get(knob::BLOCK_SIZE) as usize,
        transactions: settings.get(knob::TRANSACTIONS),
        sync_files: settings.get(knob::SYNC_FILES),
        data: job::data(settings),
    };
    Ok((work, Vec::new()))
}

/// What one mailbox needs when its pool is full and every file of it has grown to the largest size.
fn needs(work: &MailLoad) -> Needs {
    const BLOCK: u64 = 4096;
    let files = work.rules.most_files() as u64;
    let bytes = work.rules.high.saturating_add(1).next_multiple_of(BLOCK).saturating_mul(files);
    let source = clients::source::pool_bytes(work.block_bytes);
    Needs {
        memory_bytes: (source + work.block_bytes) as u64 + files * client::LETTER_BYTES,
        kinds: 8,
        descriptors: 2,
        room: Room { bytes, largest_bytes: work.rules.high, names: files + 1, shared_names: 0 },
        hint: "lower pool-files, size-high, block-size or streams",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::clients::testing::trial;
    use crate::engine::load::testing::assert_all_have_a_class;
    use experiment::measurement::Operation;
    use serde_json::json;

    const ENGINE: ClientEngine<MailLoad> =
        ClientEngine { name: "mail", make, needs, run: client::run };

    /// postmark's own arithmetic: as many reads and appends together as transactions, and as many
    /// creations and deletions.
    #[test]
    fn a_transaction_is_a_read_or_an_append_and_a_creation_or_a_deletion() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({
            "stop": "pass", "warm-up": 0, "sustained": false, "transactions": 400,
            "pool-files": 50, "block-size": 4096, "sync-files": true,
        });
        // One client: its own first operation opens the window, and its last one closes it.
        let result = trial(&ENGINE, settings, folder.path(), 1).unwrap();
        let of = |kind: Operation| {
            let found = result.latency.iter().find(|(of, _)| *of == kind);
            crate::engine::load::protocol::read_histogram(&found.unwrap().1).unwrap().len()
        };
        assert!((399..=400).contains(&of(Operation::Transaction)), "of 400");
        // Opened to be read or appended to, and made.
        let (open, create) = (of(Operation::Open), of(Operation::Create));
        assert!((398..=400).contains(&open), "{open}");
        let changed = create + of(Operation::Unlink);
        assert!((398..=400).contains(&changed), "{changed}");
        let closed = of(Operation::Close);
        assert!(closed.abs_diff(open + create) <= 4, "{closed} of {open} and {create}");
        // Whatever is in the folders is what the pools have left.
        let left: usize = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap().count())
            .sum();
        let (creations, deletions) = (create as i64, of(Operation::Unlink) as i64);
        assert!((left as i64 - (50 + creations - deletions)).abs() <= 4, "{left}");
        assert_all_have_a_class(&result.into_measurement().unwrap());
    }

    #[test]
    fn sizes_that_are_upside_down_are_refused() {
        let mut settings = Settings::defaults("mail");
        assert!(MailEngine.check(&settings).is_ok());
        settings.set(knob::SIZE_LOW, 20_000);
        let why = MailEngine.check(&settings).unwrap_err().to_string();
        assert!(why.contains("size-low=20000 is more than size-high=10000"), "{why}");
    }
}
