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

use super::read;
use crate::knob::Settings;
use crate::measurement::figures::Name;
use crate::measurement::origin::{self, Verdict};
use crate::measurement::steady::Steady;
use crate::measurement::{Digest, Record};

mod light;
mod packed;

pub(super) use packed::{Held, unpack};

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
/// computed from the raw counts. Nothing is written.
pub(super) fn records(connection: &Connection, campaign: u64) -> Result<Vec<Record>> {
    // What is kept and what it was computed from are of one moment.
    let moment = connection.unchecked_transaction()?;
    let kept = kept(&moment, campaign)?;
    let sql = "SELECT number FROM trial WHERE campaign = ?1 ORDER BY number";
    let mut statement = moment.prepare(sql)?;
    let numbers = statement.query_map([campaign as i64], |row| row.get::<_, u32>(0))?;
    let numbers = numbers.collect::<Result<Vec<u32>>>()?;
    if kept.is_empty() {
        return read::records(&moment, campaign, Record::light);
    }
    if kept.iter().map(|record| record.trial.number).eq(numbers.iter().copied()) {
        return Ok(kept);
    }
    let mut kept = kept.into_iter().peekable();
    let mut records = Vec::with_capacity(numbers.len());
    for number in numbers {
        while kept.next_if(|record| record.trial.number < number).is_some() {}
        match kept.next_if(|record| record.trial.number == number) {
            Some(record) => records.push(record),
            None => records.extend(read::numbered(&moment, campaign, number)?.map(Record::light)),
        }
    }
    Ok(records)
}

/// Those that are kept, in the order of their numbers.
fn kept(connection: &Connection, campaign: u64) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    // A store of an older program that is only read has no such table.
    let sql = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'derived_light'";
    if connection.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(records);
    }
    let mut statement = connection.prepare("SELECT id, name FROM derived_name")?;
    let names =
        statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))?;
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
        let settings = texts.and_then(|(engine, json)| {
            Some(Settings::from_json(&engine, &serde_json::from_str(&json).ok()?))
        });
        known.insert(id, settings.clone());
        Ok(settings)
    };
    let sql = "SELECT number, knobs, light FROM derived_light WHERE campaign = ?1 AND version = ?2";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params![campaign as i64, VERSION])?;
    let mut packed: Vec<(u32, Settings, Vec<u8>)> = Vec::with_capacity(TOGETHER);
    // On all processors; what is damaged is computed anew.
    let unpack = |packed: &mut Vec<(u32, Settings, Vec<u8>)>, records: &mut Vec<Record>| {
        let of = |(number, settings, bytes): (u32, Settings, Vec<u8>)| {
            light::unpack(&bytes, settings, &names).filter(|it| it.trial.number == number)
        };
        let unpacked: Vec<Option<Record>> = packed.par_drain(..).map(of).collect();
        records.extend(unpacked.into_iter().flatten());
    };
    while let Some(row) = rows.next()? {
        let Some(settings) = knobs(row.get(1)?)? else { continue };
        packed.push((row.get(0)?, settings, row.get_ref(2)?.as_blob()?.to_vec()));
        if packed.len() == TOGETHER {
            unpack(&mut packed, &mut records);
        }
    }
    unpack(&mut packed, &mut records);
    records.sort_by_key(|record| record.trial.number);
    Ok(records)
}

/// Keeps what is computed of a trial that is safe already. What cannot be kept is computed when it
/// is asked for: no error of this may cost a trial.
pub(super) fn remember(connection: &mut Connection, trial: i64, campaign: u64, record: &Record) {
    // A power cut may take the cache: no wait for the disk.
    let was = connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0));
    let Ok(was) = was else { return };
    let _ = connection.pragma_update(None, "synchronous", "NORMAL");
    let _ = (|| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let lacking = Lacking { trial, campaign, number: record.trial.number };
        Writer::new(&transaction)?.write(lacking, record)?;
        transaction.commit()
    })();
    let _ = connection.pragma_update(None, "synchronous", was);
}

/// Whether everything that can be asked for is kept.
pub(super) fn is_complete(connection: &Connection) -> Result<bool> {
    if !exists(connection)? {
        return Ok(false);
    }
    // Triggers see to it that no row is of a trial that is gone.
    let sql = "SELECT (SELECT count(*) FROM trial)
               = (SELECT count(*) FROM derived WHERE version = ?1)";
    connection.query_row(sql, [VERSION], |row| row.get(0))
}

/// Whether the store has the tables: one of an older program that is only read has none.
fn exists(connection: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'derived'";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// Makes the tables for this connection alone, with what the store has of them.
pub(super) fn borrow(connection: &Connection) -> Result<()> {
    let tables = TABLES
        .replace("CREATE TABLE ", "CREATE TABLE temp.")
        .replace("CREATE INDEX ", "CREATE INDEX temp.");
    connection.execute_batch(&tables)?;
    if !exists(connection)? {
        return Ok(());
    }
    for table in ["derived_name", "derived_settings", "derived_column"] {
        let sql = format!("INSERT INTO temp.{table} SELECT * FROM main.{table}");
        connection.execute(&sql, [])?;
    }
    let sql = "INSERT INTO temp.derived SELECT * FROM main.derived WHERE version = ?1";
    connection.execute(sql, [VERSION]).map(|_| ())
}

/// Computes what is missing; tells how many trials are done, of how many.
pub(super) fn fill(connection: &mut Connection, tell: &mut dyn FnMut(usize, usize)) -> Result<()> {
    let lacking = lacking(connection)?;
    for (place, batch) in lacking.chunks(BATCH).enumerate() {
        tell(place * BATCH, lacking.len());
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writer = Writer::new(&transaction)?;
        for trial in batch {
            match read::numbered(&transaction, trial.campaign, trial.number) {
                Ok(Some(record)) => writer.write(*trial, &record)?,
                Ok(None) => {}
                // One damaged trial must not hide the others.
                Err(rusqlite::Error::FromSqlConversionFailure(..)) => writer.damaged(*trial)?,
                Err(error) => return Err(error),
            }
        }
        transaction.commit()?;
    }
    Ok(())
}

fn lacking(connection: &Connection) -> Result<Vec<Lacking>> {
    let sql = "SELECT id, campaign, number FROM trial
               WHERE id NOT IN (SELECT trial FROM derived WHERE version = ?1) ORDER BY id";
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

    /// The number of a name, a new one where it has none.
    fn name(&mut self, name: &str) -> Result<u32> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let sql = "SELECT id FROM derived_name WHERE name = ?1";
        let known = self.to.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                let sql = "INSERT INTO derived_name (name) VALUES (?1) RETURNING id";
                self.to.prepare_cached(sql)?.query_row([name], |row| row.get(0))?
            }
        };
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Packs values, each a column of the workload.
    fn pack(
        &mut self,
        workload: u32,
        is_figure: bool,
        values: Vec<(String, Held<'_>)>,
    ) -> Result<Vec<u8>> {
        let mut numbered = Vec::with_capacity(values.len());
        for (name, held) in values {
            let id = self.name(&name)?;
            if self.columns.insert((workload, id, is_figure)) {
                let sql = "INSERT OR IGNORE INTO derived_column VALUES (?1, ?2, ?3, ?4)";
                let row = params![VERSION, workload, id, is_figure];
                self.to.prepare_cached(sql)?.execute(row)?;
            }
            numbered.push((id, held));
        }
        Ok(packed::pack(numbered))
    }

    fn settings(&mut self, packed: &[u8]) -> Result<i64> {
        let id = number_of(&blake3::hash(packed));
        let sql = "INSERT OR IGNORE INTO derived_settings VALUES (?1, ?2)";
        self.to.prepare_cached(sql)?.execute(params![id, packed])?;
        Ok(id)
    }

    fn write(&mut self, of: Lacking, record: &Record) -> Result<()> {
        let trial = &record.trial;
        let workload = self.name(&trial.group)?;
        let digest = Digest::of(record);
        let mut values = Vec::new();
        for (name, estimate) in digest.iter().flat_map(|digest| digest.figures.iter()) {
            let ends = estimate.interval.into_iter();
            let ends = ends.flat_map(|ends| [("_low", ends.low), ("_high", ends.high)]);
            for (end, value) in ends.filter(|(_, value)| value.is_finite()) {
                values.push((format!("{name}{end}"), Held::Real(value)));
            }
            values.push((name.to_string(), Held::Real(estimate.value)));
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
        self.light(of, record, digest.as_ref())
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
        let mut hash = blake3::Hasher::new();
        hash.update(settings.engine().as_bytes()).update(b"\n").update(json.as_bytes());
        let id = number_of(&hash.finalize());
        let sql = "INSERT OR IGNORE INTO derived_knobs VALUES (?1, ?2, ?3)";
        self.to.prepare_cached(sql)?.execute(params![id, settings.engine(), json])?;
        let sql = "INSERT OR REPLACE INTO derived_light VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (campaign, number) = (of.campaign as i64, of.number);
        let row = params![of.trial, VERSION, campaign, number, id, packed];
        self.to.prepare_cached(sql)?.execute(row)?;
        Ok(())
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
        Ok(())
    }
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
fn setting(value: &crate::value::Value) -> Option<Held<'static>> {
    use serde_json::Value as Json;
    Some(match serde_json::to_value(value).ok()? {
        Json::Null => return None,
        Json::Bool(on) => Held::Integer(i64::from(on)),
        Json::String(word) => Held::Text(word.into()),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Held::Integer(whole),
            None => Held::Real(number.as_f64()?),
        },
        list => Held::Text(list.to_string().into()),
    })
}
