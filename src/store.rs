//! Campaigns in SQLite: one file, write-ahead log, a transaction per trial.
//!
//! Keeps raw counts and gives them back; computes nothing but what `query` is asked for. A kill at
//! any instant loses at most the trial in hand, because nothing is open while one runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use crate::measurement::Record;
use crate::sys::{Error, clock};

mod codec;
mod derived;
mod file;
pub mod query;
mod read;
mod write;

/// "BRKY": tells our files from other people's databases.
const APPLICATION_ID: i32 = 0x4252_4b59;
/// One entry a version of the schema; each takes the store from the version before.
const MIGRATIONS: &[&str] = &[
    include_str!("store/schema.sql"),
    include_str!("store/programs.sql"),
    include_str!("store/plans.sql"),
    include_str!("store/layouts.sql"),
    include_str!("store/engines.sql"),
    include_str!("store/reported.sql"),
    include_str!("store/metadata.sql"),
    include_str!("store/integrity.sql"),
    include_str!("store/verified.sql"),
    concat!(include_str!("store/derived.sql"), include_str!("store/derived_triggers.sql")),
    include_str!("store/light.sql"),
];
/// How long we wait for another program that is writing in the store.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// Device and inode, to tell whether the file of that name is still this one.
    identity: Option<(u64, u64)>,
    /// Files that we made and that hold no campaign yet.
    new: Vec<PathBuf>,
}

/// One execution of a plan on one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Its number in this store; 1 for the first.
    pub id: u64,
    /// Names its work directories, and tells it from the campaigns of other stores.
    pub uid: String,
    /// The plan's name: `evaluate`, or a workload's.
    pub plan: String,
    /// The engine that ran it; `file, command` where two did: each trial's settings know theirs.
    pub engine: String,
    /// The machine's name.
    pub host: String,
    /// Unix time in ns.
    pub started_unix_ns: u64,
    /// Decided the order of its trials and the blocks that they touched.
    pub seed: u64,
    /// Of the program.
    pub version: String,
    /// The command, as typed.
    pub argv: Vec<String>,
    /// What the server is made of; see `inventory`.
    pub inventory: serde_json::Value,
    /// Cells that the budget did not buy, each with the budget that would.
    pub not_bought: Vec<NotBought>,
    /// The plan as it was run, which a campaign that goes on must have too; `None` for `evaluate`.
    #[serde(default)]
    pub plan_json: Option<String>,
    /// What parts of the server cost, as the plan says; none where it does not.
    #[serde(default)]
    pub prices: BTreeMap<String, f64>,
}

/// A campaign in a list: without what is large in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Its number in this store.
    pub id: u64,
    /// The plan's name.
    pub plan: String,
    /// The engines that ran it.
    pub engine: String,
    /// The machine's name.
    pub host: String,
    /// Unix time in ns.
    pub started_unix_ns: u64,
    /// Whether it came to its end; one that was killed did not.
    pub ended: bool,
}

/// A campaign that can go on.
#[derive(Clone, Debug, Default)]
pub struct Unfinished {
    /// What it is.
    pub campaign: Campaign,
    /// Places in the plan's order of trials that need not be run again.
    pub over: BTreeSet<u32>,
    /// Trials kept so far, layouts and interrupted ones counted.
    pub trials: u32,
}

/// A cell that was left out for want of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotBought {
    /// What it would have measured.
    pub cell: String,
    /// The least `--budget` that buys it, in ns.
    pub budget_ns: u64,
}

impl Store {
    /// Opens the store for writing; makes it when there is none, and brings an older one up to
    /// this version. One that could not be made for want of room leaves nothing behind.
    ///
    /// # Errors
    /// When it cannot be written, is locked, is of a newer version, or is not ours.
    pub fn open(path: &Path) -> Result<Store, Error> {
        file::regular(path)?;
        let new = file::missing(path);
        match Store::opened(path) {
            Ok(store) => Ok(Store { new, ..store }),
            Err((error, no_room)) => {
                if no_room {
                    file::forget(path, &new);
                }
                Err(error)
            }
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens or makes it; an error comes with whether there was no room for it.
    fn opened(path: &Path) -> Result<Store, (Error, bool)> {
        let failed = |error: rusqlite::Error| (refused(path, &error), no_room(path, &error));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let (path_owned, new) = (path.to_owned(), Vec::new());
        let mut store = Store { path: path_owned, connection, identity: None, new };
        store.prepare().map_err(failed)?;
        let version = store.version().map_err(|error| (error, false))?;
        store.migrate(version).map_err(failed)?;
        store.identity = file::identity(path);
        Ok(store)
    }

    /// Opens an existing store for reading only.
    ///
    /// # Errors
    /// When there is none, or it is not ours or newer than this program.
    pub fn open_read_only(path: &Path) -> Result<Store, Error> {
        file::regular(path)?;
        if !path.exists() {
            let what = format!("cannot read the store {}", path.display());
            return Err(Error::new(what, "there is no such file")
                .hint("name it with --store FILE, or run `brickyard evaluate DIR` first"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags);
        if !file::writable(path) {
            // A log that nobody can write holds nothing that is not in the file; without this,
            // SQLite wants to make its shared memory beside it.
            let uri = format!("file:{}?immutable=1", file::escaped(path));
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            connection = Connection::open_with_flags(uri, flags);
        }
        let connection = connection.map_err(|error| refused(path, &error))?;
        let (identity, new) = (file::identity(path), Vec::new());
        let store = Store { path: path.to_owned(), connection, identity, new };
        store.connection.busy_timeout(BUSY_MAX).map_err(|error| refused(path, &error))?;
        steady_plans(&store.connection).map_err(|error| refused(path, &error))?;
        match store.version()? {
            0 => Err(store.foreign()),
            _ => Ok(store),
        }
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(BUSY_MAX)?;
        steady_plans(&self.connection)?;
        // Reading first: journal_mode would otherwise write into a file that is not ours.
        self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    }

    /// The schema's version, 0 for an empty file.
    fn version(&self) -> Result<usize, Error> {
        let failed = |error: rusqlite::Error| refused(&self.path, &error);
        let pragma = |name: &str| {
            self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i32>(0))
        };
        // One snapshot for all three: another program may be making the tables just now.
        let snapshot = self.connection.unchecked_transaction().map_err(failed)?;
        let (application, version) =
            (pragma("application_id").map_err(failed)?, pragma("user_version").map_err(failed)?);
        let tables: i64 = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        drop(snapshot);
        if tables > 0 && application != APPLICATION_ID {
            return Err(self.foreign());
        }
        if version as usize > MIGRATIONS.len() {
            let what = format!("cannot use the store {}", self.path.display());
            let why = format!(
                "a newer brickyard made it (schema {version}; this one knows up to {})",
                MIGRATIONS.len()
            );
            return Err(
                Error::new(what, why).hint("use that brickyard, or another file: --store FILE")
            );
        }
        Ok(version.max(0) as usize)
    }

    fn foreign(&self) -> Error {
        let what = format!("cannot use the store {}", self.path.display());
        Error::new(what, "it is a database of some other program, or empty")
            .hint("name another file: --store FILE")
    }

    /// Takes the steps that are missing since `version`.
    fn migrate(&mut self, version: usize) -> rusqlite::Result<()> {
        self.write_ahead()?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        for (number, sql) in MIGRATIONS.iter().enumerate().skip(version) {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another program may have taken this step while we waited for the lock.
            let now: i32 =
                transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if now as usize > number {
                continue;
            }
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", number as i32 + 1)?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// Turns the write-ahead log on. Programs that do so at the same time are told "busy" without
    /// the wait that SQLite makes everywhere else.
    fn write_ahead(&self) -> rusqlite::Result<()> {
        let end_ns = clock::monotonic_ns() + BUSY_MAX.as_nanos() as u64;
        loop {
            match self.connection.pragma_update(None, "journal_mode", "WAL") {
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && clock::monotonic_ns() < end_ns =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other,
            }
        }
    }

    /// Keeps a new campaign and gives it its number. A store that was made for it and has no room
    /// for it is removed again.
    ///
    /// # Errors
    /// When the store cannot be written; nothing more can be kept in it then.
    pub fn begin(&mut self, campaign: &Campaign) -> Result<u64, Error> {
        let error = match write::campaign(&self.connection, campaign) {
            Ok(id) => {
                self.new.clear();
                return Ok(id);
            }
            Err(error) => error,
        };
        let new = std::mem::take(&mut self.new);
        if !new.is_empty()
            && no_room(&self.path, &error)
            && self.campaigns().is_ok_and(|all| all.is_empty())
        {
            // Its files can go when nobody holds them open, and that is us.
            if let Ok(nothing) = Connection::open_in_memory() {
                drop(std::mem::replace(&mut self.connection, nothing));
                file::forget(&self.path, &new);
            }
        }
        Err(refused(&self.path, &error))
    }

    /// Keeps what was learned about a campaign after it began.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn update(&mut self, campaign: &Campaign) -> Result<(), Error> {
        write::update(&self.connection, campaign).map_err(|error| refused(&self.path, &error))
    }

    /// The newest campaign of that plan, with what is over of it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unfinished(&self, plan_json: &str) -> Result<Option<Unfinished>, Error> {
        let campaigns = self.campaigns()?.into_iter().rev();
        let mut same =
            campaigns.filter(|campaign| campaign.plan_json.as_deref() == Some(plan_json));
        let Some(campaign) = same.next() else { return Ok(None) };
        let (over, trials) = read::over(&self.connection, campaign.id)
            .map_err(|error| refused(&self.path, &error))?;
        Ok(Some(Unfinished { campaign, over, trials }))
    }

    /// Marks a campaign that ended as going on.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn reopen(&mut self, campaign: u64) -> Result<(), Error> {
        let sql = "UPDATE campaign SET ended_unix_ns = NULL WHERE id = ?1";
        let done = self.connection.execute(sql, params![campaign as i64]);
        done.map(|_| ()).map_err(|error| refused(&self.path, &error))
    }

    /// Marks a campaign as ended.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn end(&mut self, campaign: u64, ended_unix_ns: u64) -> Result<(), Error> {
        self.connection
            .execute(
                "UPDATE campaign SET ended_unix_ns = ?2 WHERE id = ?1",
                params![campaign as i64, ended_unix_ns as i64],
            )
            .map(|_| ())
            .map_err(|error| refused(&self.path, &error))
    }

    /// Keeps a trial, all of it or nothing.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn append(&mut self, campaign: u64, record: &Record) -> Result<(), Error> {
        let trial = write::record(&mut self.connection, campaign, record)
            .map_err(|error| refused(&self.path, &error))?;
        derived::remember(&mut self.connection, trial, campaign, record);
        Ok(())
    }

    /// Keeps a trial that is still on its way, in the place of what was kept of it before, all of
    /// it or nothing: a kill leaves the state that was kept last.
    ///
    /// # Errors
    /// When the store cannot be written; what was kept before stays.
    pub fn renew(&mut self, campaign: u64, record: &Record) -> Result<(), Error> {
        let trial = write::renewed(&mut self.connection, campaign, record)
            .map_err(|error| refused(&self.path, &error))?;
        derived::remember(&mut self.connection, trial, campaign, record);
        Ok(())
    }

    /// Whether what was kept can be found again: SQLite writes happily into a file that has lost
    /// its name.
    ///
    /// # Errors
    /// When the file was removed or replaced after it was opened.
    pub fn still_there(&self) -> Result<(), Error> {
        if self.identity == file::identity(&self.path) {
            return Ok(());
        }
        let what = format!("cannot keep this campaign in {}", self.path.display());
        Err(Error::new(what, "that file was removed or replaced while we measured")
            .hint("what was printed is all there is: save it, or measure again"))
    }

    /// All campaigns, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn campaigns(&self) -> Result<Vec<Campaign>, Error> {
        read::campaigns(&self.connection).map_err(|error| refused(&self.path, &error))
    }

    /// All campaigns, oldest first, without what is large in them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn overviews(&self) -> Result<Vec<Overview>, Error> {
        read::overviews(&self.connection).map_err(|error| refused(&self.path, &error))
    }

    /// The campaign of that number, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn campaign(&self, id: u64) -> Result<Option<Campaign>, Error> {
        read::one_campaign(&self.connection, id).map_err(|error| refused(&self.path, &error))
    }

    /// How many trials of a campaign came to which outcome, in alphabetical order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn outcomes(&self, campaign: u64) -> Result<BTreeMap<String, u64>, Error> {
        read::outcomes(&self.connection, campaign).map_err(|error| refused(&self.path, &error))
    }

    /// The trials of a campaign, in order, with all their samples.
    #[cfg(test)]
    pub fn records(&self, campaign: u64) -> Result<Vec<Record>, Error> {
        read::records(&self.connection, campaign, |record| record)
            .map_err(|error| refused(&self.path, &error))
    }

    /// The trials of a campaign, in order, without their samples: no more of these is in memory
    /// than those of one trial; see [`Record::light`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn light_records(&self, campaign: u64) -> Result<Vec<Record>, Error> {
        derived::records(&self.connection, campaign).map_err(|error| refused(&self.path, &error))
    }

    /// One trial with its samples; `None` when the campaign has none of that number.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn record(&self, campaign: u64, number: u32) -> Result<Option<Record>, Error> {
        read::numbered(&self.connection, campaign, number)
            .map_err(|error| refused(&self.path, &error))
    }

    /// Whether the next trials can be repeated for nothing, as simulated ones: a power cut may then
    /// take the last of them with it. A transaction each remains, and a kill loses at most the
    /// trial in hand: only the wait for the disk goes (`synchronous=NORMAL`,
    /// <https://www.sqlite.org/pragma.html#pragma_synchronous>). What was kept before stays safe.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn repeatable(&mut self, repeatable: bool) -> Result<(), Error> {
        let mode = if repeatable { "NORMAL" } else { "FULL" };
        self.connection
            .pragma_update(None, "synchronous", mode)
            .map_err(|error| refused(&self.path, &error))
    }
}

/// Statements that are compiled once stay as they are: without this SQLite, built to look at the
/// values that it is asked for, compiles them anew for each.
fn steady_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// Whether an error comes from a full file system. SQLite calls it an I/O error where it was the
/// memory shared by readers that found no room.
fn no_room(path: &Path, error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure) => file::is_full(path),
        _ => false,
    }
}

/// SQLite's refusals, with what to do about them.
fn refused(path: &Path, error: &rusqlite::Error) -> Error {
    let what = format!("cannot use the store {}", path.display());
    let (why, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            ("it is not a SQLite database".to_owned(), "name another file: --store FILE")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            "another program has locked it".to_owned(),
            "wait for that program to end, or use another file: --store FILE",
        ),
        Some(ErrorCode::CannotOpen) if path.exists() && !file::writable(path) => {
            ("it is read-only".to_owned(), "make it writable, or use another file: --store FILE")
        }
        Some(ErrorCode::ReadOnly) => {
            ("it is read-only".to_owned(), "make it writable, or use another file: --store FILE")
        }
        Some(ErrorCode::CannotOpen) => (
            format!("it cannot be opened or made there ({error})"),
            "choose a file in a directory that you may write in: --store FILE",
        ),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) if no_room(path, error) => {
            ("its file system is full".to_owned(), "make room, or use another file: --store FILE")
        }
        _ => (error.to_string(), "use another file: --store FILE"),
    };
    Error::new(what, why).hint(hint)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests;
