//! Campaigns in SQLite: one file, write-ahead log, a transaction per trial.
//!
//! Keeps raw counts and gives them back; computes nothing but what `query` is asked for. A kill at
//! any instant loses at most the trial in hand, because nothing is open while one runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};

use experiment::measurement::Record;
#[cfg(test)]
use host::sys::fire::{Plant, planted};
use host::sys::{Error, clock};

mod again;
mod check;
pub mod codec;
mod connect;
pub mod derived;
mod file;
#[cfg(test)]
mod fire;
pub mod query;
mod read;
mod refusal;
mod running;
mod schema;
mod seal;
mod write;

pub use again::RerunSelection;
pub use check::Checked;
use connect::{BUSY_MAX, How, Work, connect};
use experiment::campaign::{Campaign, Damage};
use refusal::{no_room, refused};
pub use running::{Elsewhere, Running};

/// "BRKY": tells our files from other people's databases.
const APPLICATION_ID: i32 = 0x4252_4b59;
/// One entry a version of the schema; each takes the store from the version before.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("programs.sql"),
    include_str!("plans.sql"),
    include_str!("layouts.sql"),
    include_str!("engines.sql"),
    include_str!("reported.sql"),
    include_str!("metadata.sql"),
    include_str!("integrity.sql"),
    include_str!("verified.sql"),
    concat!(include_str!("derived.sql"), include_str!("derived_triggers.sql")),
    include_str!("light.sql"),
    include_str!("seals.sql"),
    include_str!("left_out.sql"),
];
/// The version that gave everything a checksum: what is older gets one as it is found.
const SEALED: usize = 12;
/// A commit outlives a power cut (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
const FULL: &str = "FULL";

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// What SQLite has worked for what is asked just now.
    work: Work,
    /// What was found damaged while it was read.
    damage: RefCell<BTreeSet<Damage>>,
    /// Device and inode, to tell whether the file of that name is still this one.
    identity: Option<(u64, u64)>,
    /// Files that we made and that hold no campaign yet.
    new: Vec<PathBuf>,
    /// What a commit outlives: see [`Store::repeatable`].
    synchronous: &'static str,
    /// Whether the connection may still promise less than that.
    unsure: bool,
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

impl Store {
    /// Opens the store for writing; makes it when there is none, and brings an older one up to
    /// this version. One that could not be made for want of room leaves nothing behind.
    ///
    /// # Errors
    /// When it cannot be written, is locked, is of a newer version, or is not ours.
    pub fn open(path: &Path) -> Result<Store, Error> {
        file::nameable(path)?;
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

    /// The files of a store at `path`, there or not: itself, and what SQLite and we keep beside it.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        file::all(path).chain([running::beside(path)]).collect()
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens or makes it; an error comes with whether there was no room for it.
    fn opened(path: &Path) -> Result<Store, (Error, bool)> {
        let failed = |error: rusqlite::Error| (refused(path, &error), no_room(path, &error));
        let mut store = Store::of(path, How::Write).map_err(failed)?;
        let version = store.version().map_err(|error| (error, false))?;
        store.migrate(version).map_err(failed)?;
        // SQLite syncs the folder of a new log, and does not look whether that went well.
        file::name_is_safe(path).map_err(|error| (error, false))?;
        store.identity = file::identity(path);
        Ok(store)
    }

    /// Opens an existing store for reading only.
    ///
    /// # Errors
    /// When there is none, or it is not ours or newer than this program.
    pub fn open_read_only(path: &Path) -> Result<Store, Error> {
        file::nameable(path)?;
        file::regular(path)?;
        if !path.exists() {
            let what = format!("cannot read the store {}", path.display());
            return Err(Error::new(what, "there is no such file")
                .hint("name it with --store FILE, or run `brickyard evaluate DIR` first"));
        }
        // A log that nobody can write holds nothing that is not in the file; SQLite would want to
        // make its shared memory beside it all the same.
        let how = if file::writable(path) { How::Read } else { How::Fixed };
        let mut store = Store::of(path, how).map_err(|error| refused(path, &error))?;
        store.identity = file::identity(path);
        match store.version()? {
            0 => Err(store.foreign()),
            _ => Ok(store),
        }
    }

    fn of(path: &Path, how: How) -> rusqlite::Result<Store> {
        let (connection, work) = connect(path, how)?;
        // Reading first: journal_mode would otherwise write into a file that is not ours.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let (path, damage) = (path.to_owned(), RefCell::default());
        let (identity, new, synchronous, unsure) = (None, Vec::new(), FULL, false);
        Ok(Store { path, connection, work, damage, identity, new, synchronous, unsure })
    }

    /// The schema's version, 0 for an empty file, once its tables are those of that version.
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
        let version = version.max(0) as usize;
        if let Some((why, hint)) = schema::wrong(&snapshot, version).map_err(failed)? {
            let what = format!("cannot use the store {}", self.path.display());
            return Err(Error::new(what, why).hint(hint));
        }
        Ok(version)
    }

    fn foreign(&self) -> Error {
        let what = format!("cannot use the store {}", self.path.display());
        Error::new(what, "it is a database of some other program, or empty")
            .hint("name another file: --store FILE")
    }

    /// Takes the steps that are missing since `version`.
    fn migrate(&mut self, version: usize) -> rusqlite::Result<()> {
        self.write_ahead()?;
        self.connection.pragma_update(None, "synchronous", FULL)?;
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
            if number + 1 == SEALED {
                seal::all_as_found(&transaction)?;
            }
            #[cfg(test)]
            if planted(Plant::StepWithoutTransaction) {
                transaction.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
            }
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

    /// The connection, for whoever keeps something: its commits promise what was said.
    fn writer(&mut self) -> rusqlite::Result<&mut Connection> {
        if self.unsure {
            self.connection.pragma_update(None, "synchronous", self.synchronous)?;
            self.unsure = false;
        }
        Ok(&mut self.connection)
    }

    /// Keeps a new campaign and gives it its number. A store that was made for it and has no room
    /// for it is removed again.
    ///
    /// # Errors
    /// When the store cannot be written; nothing more can be kept in it then.
    pub fn begin(&mut self, campaign: &Campaign) -> Result<u64, Error> {
        let kept = self.writer().and_then(|writer| write::campaign(writer, campaign));
        let error = match kept {
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
            if let Ok(nothing) = connect::nothing() {
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
        let kept = self.writer().and_then(|writer| write::update(writer, campaign));
        kept.map_err(|error| refused(&self.path, &error))
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
        let (over, trials) = self.over(campaign.id).map_err(|error| refused(&self.path, &error))?;
        Ok(Some(Unfinished { campaign, over, trials }))
    }

    /// Places in the plan's order that are over, and the number of the last trial. A trial that was
    /// interrupted is not over, nor one that is damaged.
    fn over(&self, campaign: u64) -> rusqlite::Result<(BTreeSet<u32>, u32)> {
        let (mut over, mut last) = (BTreeSet::new(), 0);
        let moment = self.moment()?;
        let Some(list) = seal::list(&moment, campaign)? else {
            return Ok((over, last)); // a store that is written has checksums
        };
        self.note(list.damage);
        for entry in &list.trials {
            last = last.max(entry.number);
            match seal::damage(&moment, campaign, entry)? {
                None => over.extend(read::over(&moment, entry.trial)?),
                damage => self.note(damage),
            }
        }
        Ok((over, last))
    }

    /// What is read of one moment: checksums and what they are of, while others write.
    fn moment(&self) -> rusqlite::Result<Transaction<'_>> {
        self.connection.unchecked_transaction()
    }

    fn note(&self, damage: impl IntoIterator<Item = Damage>) {
        self.damage.borrow_mut().extend(damage);
    }

    /// What was found damaged so far while it was read: it is left out of what was given.
    pub fn damage(&self) -> Vec<Damage> {
        self.damage.borrow().iter().cloned().collect()
    }

    /// The same of one campaign; where it was taken for the newest, also of newer ones, which may
    /// be what was asked for and is gone.
    pub fn damage_of(&self, campaign: u64, newest: bool) -> Vec<Damage> {
        let mut damage = self.damage();
        damage
            .retain(|damage| damage.campaign == campaign || (newest && damage.campaign > campaign));
        damage
    }

    /// Takes trials that are to be run again out of those that are over; gives their numbers. Their
    /// records stay, and the later one of a place in the plan's order counts.
    ///
    /// # Errors
    /// When the store cannot be read, or one that was named has nothing to be run again for.
    pub fn again(
        &self,
        from: &mut Unfinished,
        which: &[RerunSelection],
    ) -> Result<Vec<u32>, Error> {
        let id = from.campaign.id;
        let kept = again::trials(&self.connection, id).map_err(|why| refused(&self.path, &why))?;
        let damaged = |number: u32| !matches!(self.record(id, number), Ok(Some(_)));
        let places = again::places(&kept, which, &damaged)?;
        from.over.retain(|place| !places.values().any(|again| again == place));
        Ok(places.into_keys().collect())
    }

    /// Marks a campaign that ended as going on.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn reopen(&mut self, campaign: u64) -> Result<(), Error> {
        let sql = "UPDATE campaign SET ended_unix_ns = NULL WHERE id = ?1";
        let values = params![campaign as i64];
        let done = self.writer().and_then(|writer| write::change(writer, campaign, sql, values));
        done.map_err(|error| refused(&self.path, &error))
    }

    /// Marks a campaign as ended.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn end(&mut self, campaign: u64, ended_unix_ns: u64) -> Result<(), Error> {
        let sql = "UPDATE campaign SET ended_unix_ns = ?2 WHERE id = ?1";
        let values = params![campaign as i64, ended_unix_ns as i64];
        let done = self.writer().and_then(|writer| write::change(writer, campaign, sql, values));
        done.map_err(|error| refused(&self.path, &error))
    }

    /// Keeps a trial, all of it or nothing.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn append(&mut self, campaign: u64, record: &Record) -> Result<(), Error> {
        self.append_all(campaign, std::slice::from_ref(record))
    }

    /// Keeps trials as one: all of them, or none. A file of somebody's results is not half kept.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn append_all(&mut self, campaign: u64, records: &[Record]) -> Result<(), Error> {
        self.work.anew();
        let kept = self.writer().and_then(|writer| write::records(writer, campaign, records));
        let trials = kept.map_err(|error| refused(&self.path, &error))?;
        let kept: Vec<_> = trials.into_iter().zip(records).collect();
        self.unsure = !derived::remember(&mut self.connection, campaign, &kept);
        Ok(())
    }

    /// Keeps a trial that is still on its way, in the place of what was kept of it before, all of
    /// it or nothing: a kill leaves the state that was kept last.
    ///
    /// # Errors
    /// When the store cannot be written; what was kept before stays.
    pub fn renew(&mut self, campaign: u64, record: &Record) -> Result<(), Error> {
        self.work.anew();
        let kept = self.writer().and_then(|writer| write::renewed(writer, campaign, record));
        let trial = kept.map_err(|error| refused(&self.path, &error))?;
        self.unsure = !derived::remember(&mut self.connection, campaign, &[(trial, record)]);
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
        self.work.anew();
        let failed = |error: rusqlite::Error| refused(&self.path, &error);
        let moment = self.moment().map_err(failed)?;
        let (campaigns, unreadable) = read::campaigns(&moment).map_err(failed)?;
        self.note(seal::campaigns(&moment).map_err(failed)?);
        let damage = |(id, what): (i64, String)| Damage { campaign: id as u64, trial: None, what };
        self.note(unreadable.into_iter().map(damage));
        Ok(campaigns)
    }

    /// All campaigns, oldest first, without what is large in them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn overviews(&self) -> Result<Vec<Overview>, Error> {
        self.work.anew();
        read::overviews(&self.connection).map_err(|error| refused(&self.path, &error))
    }

    /// The campaign of that number, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn campaign(&self, id: u64) -> Result<Option<Campaign>, Error> {
        self.work.anew();
        let failed = |error: rusqlite::Error| refused(&self.path, &error);
        let moment = self.moment().map_err(failed)?;
        self.note(seal::one_campaign(&moment, id).map_err(failed)?);
        read::one_campaign(&moment, id).map_err(failed)
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
    /// than those of one trial; see [`Record::light`]. Those that are damaged are left out; see
    /// [`Store::damage`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn light_records(&self, campaign: u64) -> Result<Vec<Record>, Error> {
        self.work.anew();
        // What was measured again since is damaged no more.
        let other = |damage: &Damage| damage.campaign != campaign || damage.trial.is_none();
        self.damage.borrow_mut().retain(other);
        let (records, damage) = derived::records(&self.connection, campaign)
            .map_err(|error| refused(&self.path, &error))?;
        self.note(damage);
        Ok(records)
    }

    /// One trial with its samples; `None` when the campaign has none of that number, or it is
    /// damaged.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn record(&self, campaign: u64, number: u32) -> Result<Option<Record>, Error> {
        self.work.anew();
        let failed = |error: rusqlite::Error| refused(&self.path, &error);
        let moment = self.moment().map_err(failed)?;
        let entry = seal::row_of(&moment, campaign, number).map_err(failed)?;
        let Some(trial) = entry else { return Ok(None) };
        let mut known = read::Known::new();
        let read = seal::checked(&moment, campaign, (trial, number), &mut known);
        Ok(match read.map_err(failed)? {
            Ok(record) => Some(record),
            Err(damage) => {
                self.note([damage]);
                None
            }
        })
    }

    /// Whether the next trials can be repeated for nothing, as simulated ones: a power cut may then
    /// take the last of them with it. A transaction each remains, and a kill loses at most the
    /// trial in hand: only the wait for the disk goes (`synchronous=NORMAL`,
    /// <https://www.sqlite.org/pragma.html#pragma_synchronous>). What was kept before stays safe.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn repeatable(&mut self, repeatable: bool) -> Result<(), Error> {
        let mode = if repeatable { "NORMAL" } else { FULL };
        let told = self.connection.pragma_update(None, "synchronous", mode);
        told.map_err(|error| refused(&self.path, &error))?;
        (self.synchronous, self.unsure) = (mode, false);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests;
