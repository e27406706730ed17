//! What is computed of each trial, kept beside its raw counts so that a query of a hundred thousand
//! trials need not decode every one of them.
//!
//! A cache and nothing else: a row is written after its trial is safe, is of one version of the
//! formulae, goes when anything that it was computed from changes (by triggers, whichever program
//! changes it), and is computed anew where it is missing. Of which
//! tables and views a query consists is the business of `query`.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};

use super::{read, seal};
use experiment::campaign::Damage;
use experiment::knob::Settings;
use experiment::measurement::figures::Name;
use experiment::measurement::origin::{self, Verdict};
use experiment::measurement::steady::Steady;
use experiment::measurement::{Digest, Record};
#[cfg(test)]
use host::sys::fire::{Plant, planted};

pub mod light;
pub mod packed;
mod sound;

pub(super) use packed::{PackedValue, unpack};
pub(super) use sound::count_damaged;
use sound::{CacheDamage, column_sum, wrong};

/// The tables, without the triggers that keep them true.
const TABLES: &str = include_str!("derived.sql");
/// Of the formulae: a hash of their source, made by `build.rs`.
pub(super) const VERSION: i64 = match i64::from_str_radix(env!("BRICKYARD_FORMULAE"), 10) {
    Ok(version) => version,
    Err(_) => panic!("build.rs gives a number"),
};
/// Trials that are computed in one transaction. Whoever runs a plan meanwhile waits for its end,
/// some tenths of a second: so that nothing changes between the reading and the writing.
const BATCH: usize = 64;

/// Records that are decoded together: enough for all processors, and few in memory twice.
const TOGETHER: usize = 4096;

/// A trial of which nothing current is kept.
#[derive(Clone, Copy, Debug)]
struct Lacking {
    trial: i64,
    campaign: u64,
    number: u32,
}

/// The trials of a campaign without their samples, in order: those that are kept, and the rest
/// computed from the raw counts. Those that are damaged are left out, and told. Nothing is written.
pub(super) fn records(
    connection: &Connection,
    campaign: u64,
) -> Result<(Vec<Record>, Vec<Damage>)> {
    // What is kept and what it was computed from are of one moment.
    let moment = connection.unchecked_transaction()?;
    let kept = match kept(&moment, campaign) {
        // A cache that cannot be read is none.
        Err(error) if read::is_damage(&error) => Vec::new(),
        other => other?,
    };
    let list = seal::list(&moment, campaign)?;
    let (trials, mut damage): (Vec<(i64, u32, bool)>, Vec<Damage>) = match list {
        Some(list) => {
            let of = |entry: &seal::Entry| (entry.trial, entry.number, entry.is_sealed());
            (list.trials.iter().map(of).collect(), list.damage.into_iter().collect())
        }
        None => {
            let rows = read::rows_of(&moment, campaign)?.into_iter();
            (rows.map(|(trial, number)| (trial, number, true)).collect(), Vec::new())
        }
    };
    let mut kept = kept.into_iter().peekable();
    let mut records = Vec::with_capacity(trials.len().min(TOGETHER));
    let mut known = read::Known::new();
    for (trial, number, sealed) in trials {
        while kept.next_if(|(_, record)| record.trial.number < number).is_some() {}
        let is_it = |(of, record): &(i64, Record)| record.trial.number == number && *of == trial;
        match kept.next_if(|kept| is_it(kept) && sealed) {
            Some((_, record)) => records.push(record),
            None => match seal::checked(&moment, campaign, (trial, number), &mut known)? {
                Ok(record) => records.push(record.light()),
                Err(found) => damage.push(found),
            },
        }
    }
    origin::shared::share(&mut records);
    Ok((records, damage))
}

/// Those that are kept and undamaged, with the number of their row, in the order of their numbers.
fn kept(connection: &Connection, campaign: u64) -> Result<Vec<(i64, Record)>> {
    let mut records = Vec::new();
    // A store of an older program that is only read has no such table, or one without checksums.
    if !seal::exist(connection)? {
        return Ok(records);
    }
    let mut statement = connection.prepare("SELECT id, name FROM derived_name")?;
    let names =
        statement.query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)))?;
    let names = names.filter(|name| !matches!(name, Ok((id, name)) if !is_number_of(*id, name)));
    let names = names.map(|name| name.map(|(id, name)| (id, Name::from(name))));
    let names: HashMap<u32, Name> = names.collect::<Result<_>>()?;
    let mut statement =
        connection.prepare("SELECT engine, settings FROM derived_knobs WHERE id = ?1")?;
    let mut known: HashMap<i64, Option<Settings>> = HashMap::new();
    let mut knobs = |id: i64| -> Result<Option<Settings>> {
        if let Some(settings) = known.get(&id) {
            return Ok(settings.clone());
        }
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let texts = statement.query_row([id], row).optional()?;
        let texts = texts.filter(|(engine, json)| knobs_number(engine, json) == id);
        let settings = texts.and_then(|(engine, json)| {
            let json = serde_json::from_str(&json).ok()?;
            Some(Settings::from_json(&engine, &json).completed())
        });
        known.insert(id, settings.clone());
        Ok(settings)
    };
    let sql = "SELECT * FROM derived_light WHERE campaign = ?1 AND version = ?2";
    let mut statement = connection.prepare(sql)?;
    let columns = seal::names(&statement);
    let mut rows = statement.query(params![campaign as i64, VERSION])?;
    let mut packed: Vec<(i64, u32, Settings, Vec<u8>)> = Vec::with_capacity(TOGETHER);
    // On all processors; what is damaged is computed anew.
    let unpack = |packed: &mut Vec<(i64, u32, Settings, Vec<u8>)>, records: &mut Vec<_>| {
        let of = |(trial, number, settings, bytes): (i64, u32, Settings, Vec<u8>)| {
            let record = light::unpack(&bytes, settings, &names)?;
            (record.trial.number == number).then_some((trial, record))
        };
        let unpacked: Vec<Option<(i64, Record)>> = packed.par_drain(..).map(of).collect();
        records.extend(unpacked.into_iter().flatten());
    };
    while let Some(row) = rows.next()? {
        if seal::of_row(row, &columns)? != row.get::<_, i64>("seal")? {
            continue;
        }
        let Some(settings) = knobs(row.get("knobs")?)? else { continue };
        let bytes = row.get_ref("light")?.as_blob()?.to_vec();
        packed.push((row.get("trial")?, row.get("number")?, settings, bytes));
        if packed.len() == TOGETHER {
            unpack(&mut packed, &mut records);
        }
    }
    unpack(&mut packed, &mut records);
    records.sort_by_key(|(_, record)| record.trial.number);
    Ok(records)
}

/// Keeps what is computed of trials that are safe already. What cannot be kept is computed when it
/// is asked for: no error of this may cost a trial. False when the connection keeps what comes next
/// no better than this.
pub(super) fn remember(
    connection: &mut Connection,
    campaign: u64,
    kept: &[(i64, &Record)],
) -> bool {
    // A power cut may take the cache: no wait for the disk.
    let was = connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0));
    let Ok(was) = was else { return true };
    let _ = connection.pragma_update(None, "synchronous", "NORMAL");
    let _ = (|| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writer = Writer::new(&transaction)?;
        for (trial, record) in kept {
            let lacking = Lacking { trial: *trial, campaign, number: record.trial.number };
            writer.write(lacking, record)?;
        }
        drop(writer);
        transaction.commit()
    })();
    #[cfg(test)]
    if planted(Plant::WeakPromiseStays) {
        return true;
    }
    connection.pragma_update(None, "synchronous", was).is_ok()
}

/// Whether everything that can be asked for is kept, undamaged.
pub(super) fn is_complete(connection: &Connection) -> Result<bool> {
    if !seal::exist(connection)? {
        return Ok(false);
    }
    // Triggers see to it that no row is of a trial that is gone. Not a plain count, which cannot
    // be stopped. Nor by an index, here and wherever rows of the cache are read: one that is
    // damaged may lead to a row twice, and to another never, and has a version of its own.
    let sql = "SELECT (SELECT count(*) FROM trial WHERE +id IS NOT NULL)
               = (SELECT count(*) FROM derived NOT INDEXED WHERE version = ?1)";
    let all: bool = connection.query_row(sql, [VERSION], |row| row.get(0))?;
    Ok(all && matches!(wrong(connection)?, CacheDamage::Nothing))
}

/// Makes the tables for this connection alone, with what the store has of them.
pub(super) fn borrow(connection: &Connection) -> Result<()> {
    let tables = TABLES
        .replace("CREATE TABLE ", "CREATE TABLE temp.")
        .replace("CREATE INDEX ", "CREATE INDEX temp.");
    connection.execute_batch(&tables)?;
    for table in ["derived", "derived_column"] {
        let sql = format!("ALTER TABLE temp.{table} ADD COLUMN seal INTEGER NOT NULL DEFAULT 0");
        connection.execute_batch(&sql)?;
    }
    if !seal::exist(connection)? {
        return Ok(());
    }
    let copy = || -> Result<()> {
        for table in ["derived_name", "derived_settings", "derived_column"] {
            let sql = format!("INSERT INTO temp.{table} SELECT * FROM main.{table}");
            connection.execute(&sql, [])?;
        }
        let sql = "INSERT INTO temp.derived
                   SELECT * FROM main.derived NOT INDEXED WHERE version = ?1";
        connection.execute(sql, [VERSION]).map(|_| ())
    };
    match copy() {
        Err(error) if read::is_damage(&error) => connection.execute_batch(EMPTY),
        other => other,
    }
}

/// Empties what can be asked for.
const EMPTY: &str = "DELETE FROM derived; DELETE FROM derived_column;
    DELETE FROM derived_settings; DELETE FROM derived_name";

/// Computes what is missing or damaged; tells how many trials are done, of how many.
pub(super) fn fill(connection: &mut Connection, tell: &mut dyn FnMut(usize, usize)) -> Result<()> {
    // Of one moment: a run that writes meanwhile would look like damage.
    let moment = connection.unchecked_transaction()?;
    let found = wrong(&moment)?;
    drop(moment);
    match found {
        CacheDamage::Nothing => {}
        CacheDamage::All => {
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {EMPTY}; COMMIT"))?;
        }
        CacheDamage::Rows(rows) => {
            for trial in rows {
                connection.execute("DELETE FROM derived WHERE trial = ?1", [trial])?;
            }
        }
    }
    let lacking = lacking(connection)?;
    let mut known = read::Known::new();
    for (place, batch) in lacking.chunks(BATCH).enumerate() {
        tell(place * BATCH, lacking.len());
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writer = Writer::new(&transaction)?;
        for of in batch {
            let (campaign, trial) = (of.campaign, (of.trial, of.number));
            match seal::checked(&transaction, campaign, trial, &mut known)? {
                Ok(record) => writer.write(*of, &record)?,
                // One damaged trial must not hide the others.
                Err(_) => writer.damaged(*of)?,
            }
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Trials that are kept as damaged ones, and those of which nothing is kept though they should be.
pub(super) fn damage(connection: &Connection) -> Result<Vec<Damage>> {
    let told = |sql: &str, what: &str| -> Result<Vec<Damage>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let campaign = row.get::<_, i64>(0)? as u64;
            Ok(Damage { campaign, trial: Some(row.get(1)?), what: what.to_owned() })
        })?;
        rows.collect()
    };
    let sql = "SELECT campaign, number FROM derived WHERE notes = 'damaged'";
    let mut all = told(sql, "it is not as it was kept, and has no figures")?;
    if seal::exist(connection)? {
        let sql = "SELECT campaign, number FROM seal
                   WHERE trial NOT IN (SELECT id FROM main.trial)";
        all.extend(told(sql, "it is missing")?);
    }
    Ok(all)
}

fn lacking(connection: &Connection) -> Result<Vec<Lacking>> {
    let sql = "SELECT id, campaign, number FROM trial
               WHERE id NOT IN (SELECT trial FROM derived NOT INDEXED WHERE version = ?1)
               ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([VERSION], |row| {
        let campaign = row.get::<_, i64>(1)? as u64;
        Ok(Lacking { trial: row.get(0)?, campaign, number: row.get(2)? })
    })?;
    rows.collect()
}

/// Writes rows in one transaction.
struct Writer<'a> {
    to: &'a Connection,
    names: HashMap<String, u32>,
    columns: HashSet<(u32, u32, bool)>,
    /// Whether records without samples are kept too: not for one query alone.
    lights: bool,
}

impl<'a> Writer<'a> {
    fn new(to: &'a Connection) -> Result<Writer<'a>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'derived_light')
                   AND NOT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = 'derived')";
        let lights = to.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(Writer { to, names: HashMap::new(), columns: HashSet::new(), lights })
    }

    /// The number of a name: of those that it can have, the first that no other has.
    fn name(&mut self, name: &str) -> Result<u32> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let first = name_number(name);
        for id in (0..NAMESAKES).map(|more| first.wrapping_add(more)) {
            let sql = "SELECT name FROM derived_name WHERE id = ?1";
            let mut statement = self.to.prepare_cached(sql)?;
            let held: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
            drop(statement);
            match held {
                Some(held) if held != name && is_number_of(id, &held) => continue,
                Some(held) if held == name => {}
                _ => {
                    // What is damaged stands in the way of what is right.
                    let sql = "DELETE FROM derived_name WHERE id = ?1 OR name = ?2";
                    self.to.prepare_cached(sql)?.execute(params![id, name])?;
                    let sql = "INSERT INTO derived_name (id, name) VALUES (?1, ?2)";
                    self.to.prepare_cached(sql)?.execute(params![id, name])?;
                }
            }
            self.names.insert(name.to_owned(), id);
            return Ok(id);
        }
        Err(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Packs values, each a column of the workload.
    fn pack(
        &mut self,
        workload: u32,
        is_figure: bool,
        values: Vec<(String, PackedValue<'_>)>,
    ) -> Result<Vec<u8>> {
        let mut numbered = Vec::with_capacity(values.len());
        for (name, held) in values {
            let id = self.name(&name)?;
            if self.columns.insert((workload, id, is_figure)) {
                let sql = "INSERT OR REPLACE INTO derived_column VALUES (?1, ?2, ?3, ?4, ?5)";
                let sum = column_sum([VERSION, workload.into(), id.into(), is_figure.into()]);
                let row = params![VERSION, workload, id, is_figure, sum];
                self.to.prepare_cached(sql)?.execute(row)?;
            }
            numbered.push((id, held));
        }
        Ok(packed::pack(numbered))
    }

    fn settings(&mut self, packed: &[u8]) -> Result<i64> {
        let id = number_of(&blake3::hash(packed));
        let sql = "INSERT OR REPLACE INTO derived_settings VALUES (?1, ?2)";
        self.to.prepare_cached(sql)?.execute(params![id, packed])?;
        Ok(id)
    }

    fn write(&mut self, of: Lacking, record: &Record) -> Result<()> {
        let trial = &record.trial;
        let workload = self.name(&trial.group)?;
        let digest = Digest::from_record(record);
        let mut values = Vec::new();
        for (name, estimate) in digest.iter().flat_map(|digest| digest.figures.iter()) {
            let ends = estimate.interval.into_iter();
            let ends = ends.flat_map(|ends| [("_low", ends.low), ("_high", ends.high)]);
            for (end, value) in ends.filter(|(_, value)| value.is_finite()) {
                values.push((format!("{name}{end}"), PackedValue::Real(value)));
            }
            values.push((name.to_string(), PackedValue::Real(estimate.value)));
        }
        let figures = self.pack(workload, true, values)?;
        let knobs = trial.settings.iter();
        let knobs = knobs.filter_map(|(knob, value)| Some((knob.to_owned(), setting(value)?)));
        let packed = self.pack(workload, false, knobs.collect())?;
        let settings = self.settings(&packed)?;
        let measurement = record.outcome.measurement();
        let from = measurement.map(|it| origin::from(it, &trial.settings));
        let settled = digest.as_ref().map(|digest| &digest.steady);
        let notes = digest.as_ref().map_or(record.notes.as_slice(), |digest| digest.notes.as_ref());
        let kinds: Vec<&str> = notes.iter().map(|note| note.kind.as_str()).collect();
        self.to.prepare_cached(INSERT)?.execute(params![
            of.trial,
            VERSION,
            workload,
            settings,
            of.campaign as i64,
            trial.number,
            trial.replicate,
            record.outcome.name(),
            Some(trial.settings.engine()).filter(|engine| !engine.is_empty()),
            from.filter(|verdict| *verdict != Verdict::None).map(Verdict::name),
            settled.and_then(|settled| match settled {
                Steady::Tested(settled) => Some(*settled),
                Steady::NotTested(_) => None,
            }),
            (!kinds.is_empty()).then(|| kinds.join(" ")),
            figures,
        ])?;
        self.seal("derived", &format!("{ROWS} WHERE d.trial = ?1"), of.trial)?;
        self.light(of, record, digest.as_ref())
    }

    /// Gives a row its checksum, which `row` reads.
    fn seal(&self, table: &str, row: &str, trial: i64) -> Result<()> {
        let mut statement = self.to.prepare_cached(row)?;
        let columns = seal::names(&statement);
        let sum = statement.query_row([trial], |row| seal::of_row(row, &columns))?;
        let sql = format!("UPDATE {table} SET seal = ?2 WHERE trial = ?1");
        self.to.prepare_cached(&sql)?.execute(params![trial, sum]).map(|_| ())
    }

    /// Keeps the record without its samples.
    fn light(&mut self, of: Lacking, record: &Record, digest: Option<&Digest>) -> Result<()> {
        if !self.lights {
            return Ok(());
        }
        let Some(packed) = light::pack(record, digest, |name| self.name(name))? else {
            return Ok(());
        };
        let settings = &record.trial.settings;
        let Ok(json) = serde_json::to_string(settings) else { return Ok(()) };
        let id = knobs_number(settings.engine(), &json);
        // In the place of a damaged one.
        let sql = "INSERT OR REPLACE INTO derived_knobs VALUES (?1, ?2, ?3)";
        self.to.prepare_cached(sql)?.execute(params![id, settings.engine(), json])?;
        let sql = "INSERT OR REPLACE INTO derived_light VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
        let (campaign, number) = (of.campaign as i64, of.number);
        let row = params![of.trial, VERSION, campaign, number, id, packed];
        self.to.prepare_cached(sql)?.execute(row)?;
        self.seal("derived_light", "SELECT * FROM derived_light WHERE trial = ?1", of.trial)
    }

    /// A trial that cannot be decoded, without settings and figures.
    fn damaged(&mut self, of: Lacking) -> Result<()> {
        let sql = "SELECT cell_group, replicate, outcome FROM trial WHERE id = ?1";
        let (group, replicate, outcome) = self.to.query_row(sql, [of.trial], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        })?;
        let workload = self.name(&group)?;
        let nothing = self.pack(workload, true, Vec::new())?;
        let settings = self.settings(&nothing)?;
        let (none, damaged) = (None::<&str>, Some("damaged"));
        let campaign = of.campaign as i64;
        self.to.prepare_cached(INSERT)?.execute(params![
            of.trial, VERSION, workload, settings, campaign, of.number, replicate, outcome, none,
            none, none, damaged, nothing,
        ])?;
        self.seal("derived", &format!("{ROWS} WHERE d.trial = ?1"), of.trial)
    }
}

/// Rows with what the views take of the trial itself, which their checksum covers as well.
const ROWS: &str = "SELECT d.*, t.reason AS of_reason, t.started_unix_ns AS of_started_unix_ns,
    t.elapsed_ns AS of_elapsed_ns
    FROM derived AS d NOT INDEXED LEFT JOIN main.trial AS t ON t.id = d.trial";
/// So many names may have numbers that follow each other.
const NAMESAKES: u32 = 8;

/// The first number that a name can have: its hash, so that one who reads both sees damage.
fn name_number(name: &str) -> u32 {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn is_number_of(id: u32, name: &str) -> bool {
    id.wrapping_sub(name_number(name)) < NAMESAKES
}

fn knobs_number(engine: &str, json: &str) -> i64 {
    let mut hash = blake3::Hasher::new();
    hash.update(engine.as_bytes()).update(b"\n").update(json.as_bytes());
    number_of(&hash.finalize())
}

/// Names what was hashed.
fn number_of(hash: &blake3::Hash) -> i64 {
    hash.as_bytes().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

const INSERT: &str = "INSERT OR REPLACE INTO derived
    (trial, version, workload, settings, campaign, number, replicate, outcome, engine, origin,
     steady, notes, figures)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// A setting as the JSON contract has it: sizes in bytes, times in ns; a switch is 0 or 1.
fn setting(value: &base::value::Value) -> Option<PackedValue<'static>> {
    use serde_json::Value as Json;
    Some(match serde_json::to_value(value).ok()? {
        Json::Null => return None,
        Json::Bool(on) => PackedValue::Integer(i64::from(on)),
        Json::String(word) => PackedValue::Text(word.into()),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => PackedValue::Integer(whole),
            None => PackedValue::Real(number.as_f64()?),
        },
        list => PackedValue::Text(list.to_string().into()),
    })
}
