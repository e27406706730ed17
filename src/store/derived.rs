//! What is computed of each trial, kept beside its raw counts so that a query of a hundred thousand
//! trials need not decode every one of them.
//!
//! A cache and nothing else: a row is written after its trial is safe, is of one version of the
//! formulae, goes when anything that it was computed from changes (by triggers, whichever program
//! changes it), and is computed anew where it is missing. No other command reads it. Of which
//! tables and views a query consists is the business of `query`.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};

use super::read;
use crate::measurement::figures::figures;
use crate::measurement::origin::{Verdict, origin};
use crate::measurement::steady::{Steady, steady};
use crate::measurement::{Record, judge};

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

/// A trial of which nothing current is kept.
#[derive(Clone, Copy, Debug)]
struct Lacking {
    trial: i64,
    campaign: u64,
    number: u32,
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
        Writer::new(&transaction).write(lacking, record)?;
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
        let mut writer = Writer::new(&transaction);
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
}

impl<'a> Writer<'a> {
    fn new(to: &'a Connection) -> Writer<'a> {
        Writer { to, names: HashMap::new(), columns: HashSet::new() }
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
        let hash = blake3::hash(packed);
        let id = hash.as_bytes().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        let sql = "INSERT OR IGNORE INTO derived_settings VALUES (?1, ?2)";
        self.to.prepare_cached(sql)?.execute(params![id, packed])?;
        Ok(id)
    }

    fn write(&mut self, of: Lacking, record: &Record) -> Result<()> {
        let trial = &record.trial;
        let workload = self.name(&trial.group)?;
        let mut values = Vec::new();
        for (name, estimate) in figures(record) {
            let ends = estimate.interval.into_iter();
            let ends = ends.flat_map(|ends| [("_low", ends.low), ("_high", ends.high)]);
            for (end, value) in ends.filter(|(_, value)| value.is_finite()) {
                values.push((format!("{name}{end}"), Held::Real(value)));
            }
            values.push((name.into_owned(), Held::Real(estimate.value)));
        }
        let figures = self.pack(workload, true, values)?;
        let knobs = trial.settings.iter();
        let knobs = knobs.filter_map(|(knob, value)| Some((knob.to_owned(), setting(value)?)));
        let packed = self.pack(workload, false, knobs.collect())?;
        let settings = self.settings(&packed)?;
        let measurement = record.outcome.measurement();
        let from = measurement.map(|it| origin(it, &trial.settings).verdict);
        let settled = measurement.map(|it| steady(it, &trial.settings));
        let notes = judge::all(record);
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
                Steady::Tested(settled) => Some(settled),
                Steady::NotTested(_) => None,
            }),
            (!kinds.is_empty()).then(|| kinds.join(" ")),
            figures,
        ])?;
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
