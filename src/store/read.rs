//! Campaigns and trials out of tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hdrhistogram::serialization::Deserializer;
use rusqlite::types::Type;
use rusqlite::{Connection, Result, Row, params};

use super::{Campaign, Overview, codec};
use crate::knob::Settings;
use crate::measurement::integrity::{Fault, Lasting};
use crate::measurement::programs::Output;
use crate::measurement::verified::Problem;
use crate::measurement::{
    Amount, Integrity, Measurement, Note, Operation, Outcome, Programs, Record, Series, Verified,
    Window,
};
use crate::plan::Trial;

pub(super) fn campaigns(connection: &Connection) -> Result<Vec<Campaign>> {
    let mut statement = connection.prepare("SELECT * FROM campaign ORDER BY id")?;
    let rows = statement.query_map([], campaign)?;
    rows.collect()
}

pub(super) fn one_campaign(connection: &Connection, id: u64) -> Result<Option<Campaign>> {
    // A number that SQLite cannot hold is no campaign's.
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    let mut statement = connection.prepare("SELECT * FROM campaign WHERE id = ?1")?;
    let mut rows = statement.query_map([id], campaign)?;
    rows.next().transpose()
}

pub(super) fn overviews(connection: &Connection) -> Result<Vec<Overview>> {
    let sql = "SELECT id, plan, engine, host, started_unix_ns, ended_unix_ns IS NOT NULL AS ended
               FROM campaign ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(Overview {
            id: whole(row, "id")?,
            plan: row.get("plan")?,
            engine: row.get("engine")?,
            host: row.get("host")?,
            started_unix_ns: whole(row, "started_unix_ns")?,
            ended: row.get("ended")?,
        })
    })?;
    rows.collect()
}

pub(super) fn outcomes(connection: &Connection, campaign: u64) -> Result<BTreeMap<String, u64>> {
    let sql = "SELECT outcome, count(*) AS trials FROM trial WHERE campaign = ?1 GROUP BY outcome";
    let mut statement = connection.prepare(sql)?;
    let rows = statement
        .query_map([campaign as i64], |row| Ok((row.get("outcome")?, whole(row, "trials")?)))?;
    rows.collect()
}

fn campaign(row: &Row<'_>) -> Result<Campaign> {
    Ok(Campaign {
        id: whole(row, "id")?,
        uid: row.get("uid")?,
        plan: row.get("plan")?,
        engine: row.get("engine")?,
        host: row.get("host")?,
        started_unix_ns: whole(row, "started_unix_ns")?,
        seed: whole(row, "seed")?,
        version: row.get("version")?,
        argv: json(row, "argv")?.unwrap_or_default(),
        inventory: json(row, "inventory")?.unwrap_or_default(),
        not_bought: json(row, "not_bought")?.unwrap_or_default(),
        plan_json: newer(row, "plan_json")?,
        prices: match row.as_ref().column_index("prices") {
            Ok(_) => json(row, "prices")?.unwrap_or_default(),
            Err(_) => Default::default(),
        },
    })
}

/// Places in the plan's order that are over, and the number of the last trial. A trial that was
/// interrupted is not over.
pub(super) fn over(connection: &Connection, campaign: u64) -> Result<(BTreeSet<u32>, u32)> {
    let sql = "SELECT planned FROM trial WHERE campaign = ?1 AND planned IS NOT NULL
               AND outcome <> 'interrupted'";
    let mut statement = connection.prepare(sql)?;
    let over = statement.query_map([campaign as i64], |row| row.get(0))?;
    let over = over.collect::<Result<BTreeSet<u32>>>()?;
    let sql = "SELECT coalesce(max(number), 0) FROM trial WHERE campaign = ?1";
    let last = connection.query_row(sql, [campaign as i64], |row| row.get(0))?;
    Ok((over, last))
}

/// A column that older stores lack: one that is only read is not brought up to this version.
fn newer<T: rusqlite::types::FromSql>(row: &Row<'_>, column: &str) -> Result<Option<T>> {
    match row.as_ref().column_index(column) {
        Ok(index) => row.get(index),
        Err(_) => Ok(None),
    }
}

/// Settings that were read before, by their engine and text: replicates share one copy.
type Known = HashMap<(String, String), Settings>;

/// Trials; older ones do not say which engine ran them, and the campaign does.
const TRIALS: &str = "SELECT trial.*, campaign.engine AS of_campaign
    FROM trial JOIN campaign ON campaign.id = trial.campaign WHERE trial.campaign = ?1";

/// The trials of a campaign, in order, one at a time: what the caller does not keep of one is gone
/// before the next is read.
pub(super) fn records(
    connection: &Connection,
    campaign: u64,
    keep: impl Fn(Record) -> Record,
) -> Result<Vec<Record>> {
    let mut statement = connection.prepare(&format!("{TRIALS} ORDER BY number"))?;
    let mut known = Known::new();
    let rows = statement.query_map(params![campaign as i64], |row| {
        record(connection, row, &mut known).map(&keep)
    })?;
    rows.collect()
}

/// One trial of a campaign, by its number.
pub(super) fn numbered(
    connection: &Connection,
    campaign: u64,
    number: u32,
) -> Result<Option<Record>> {
    let mut statement = connection.prepare_cached(&format!("{TRIALS} AND number = ?2"))?;
    let mut rows = statement.query(params![campaign as i64, number])?;
    rows.next()?.map(|row| record(connection, row, &mut Known::new())).transpose()
}

fn record(connection: &Connection, row: &Row<'_>, known: &mut Known) -> Result<Record> {
    let trial = Trial {
        number: row.get("number")?,
        replicate: row.get("replicate")?,
        group: row.get("cell_group")?,
        settings: settings(row, known)?,
        first_file: row.get("first_file")?,
        seed: whole(row, "seed")?,
        planned: newer(row, "planned")?,
    };
    let reason = row.get::<_, Option<String>>("reason")?.unwrap_or_default();
    let outcome = match row.get::<_, String>("outcome")?.as_str() {
        "done" => Outcome::Done(Box::new(measurement(connection, row)?)),
        "failed" => Outcome::Failed(reason),
        "skipped" => Outcome::Skipped(reason),
        _ => Outcome::Interrupted,
    };
    let mut record = Record::new(trial, outcome);
    if record.outcome.measurement().is_none() {
        record.notes = notes(connection, row.get("id")?)?;
    }
    Ok(record)
}

fn settings(row: &Row<'_>, known: &mut Known) -> Result<Settings> {
    let text: Option<String> = row.get("settings")?;
    let engine = newer::<String>(row, "engine")?;
    let engine = engine.map_or_else(|| row.get("of_campaign"), Ok)?;
    let key = (engine, text.unwrap_or_default());
    if let Some(settings) = known.get(&key) {
        return Ok(settings.clone());
    }
    let settings = Settings::from_json(&key.0, &json(row, "settings")?.unwrap_or_default());
    known.insert(key, settings.clone());
    Ok(settings)
}

fn measurement(connection: &Connection, row: &Row<'_>) -> Result<Measurement> {
    let id: i64 = row.get("id")?;
    let mut all = series(connection, id)?;
    let load = all.iter().position(|series| series.source == "load").map(|at| all.remove(at));
    Ok(Measurement {
        started_unix_ns: whole(row, "started_unix_ns")?,
        elapsed_ns: whole(row, "elapsed_ns")?,
        window: window(row)?,
        streams: json(row, "streams")?.unwrap_or_default(),
        load: load.unwrap_or_default(),
        latency: latency(connection, id)?,
        durable: json(row, "durable")?,
        second_pass: json(row, "second_pass")?,
        integrity: integrity(connection, row, id)?,
        verified: verified(connection, row, id)?,
        programs: programs(connection, row, id)?,
        reported: later(row, "reported")?,
        layout: later(row, "layout")?,
        evidence: json(row, "evidence")?.unwrap_or_default(),
        counters: all,
        notes: notes(connection, id)?,
        digest: None,
    })
}

/// A JSON column that older stores lack; `None` in one of these that is only read.
fn later<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<Option<T>> {
    match row.as_ref().column_index(column) {
        Ok(_) => json(row, column),
        Err(_) => Ok(None),
    }
}

fn integrity(connection: &Connection, row: &Row<'_>, trial: i64) -> Result<Option<Integrity>> {
    let Some(mut integrity) = later::<Integrity>(row, "integrity")? else { return Ok(None) };
    // Where the column is, the table is.
    let sql = "SELECT * FROM fault WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        let word: String = row.get("lasting")?;
        let lasting = Lasting::ALL.iter().find(|lasting| lasting.name() == word);
        let unknown = || damaged(0, Type::Text, &format!("a fault lasts `{word}`"));
        Ok(Fault {
            at_ns: whole(row, "at_ns")?,
            file: row.get("file")?,
            offset: whole(row, "offset")?,
            kind: row.get("kind")?,
            what: row.get("what")?,
            rereads: json(row, "rereads")?.unwrap_or_default(),
            lasting: *lasting.ok_or_else(unknown)?,
            excerpt_at: whole(row, "excerpt_at")?,
            expected: row.get("expected")?,
            found: row.get("found")?,
            kernel: json(row, "kernel")?.unwrap_or_default(),
        })
    })?;
    integrity.faults = rows.collect::<Result<_>>()?;
    Ok(Some(integrity))
}

fn verified(connection: &Connection, row: &Row<'_>, trial: i64) -> Result<Option<Verified>> {
    let Some(mut verified) = later::<Verified>(row, "verified")? else { return Ok(None) };
    let sql = "SELECT path, kind, why FROM problem WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        Ok(Problem { path: row.get("path")?, kind: row.get("kind")?, why: row.get("why")? })
    })?;
    verified.problems = rows.collect::<Result<_>>()?;
    Ok(Some(verified))
}

fn programs(connection: &Connection, row: &Row<'_>, trial: i64) -> Result<Option<Programs>> {
    // An older store that is only read has no such column.
    if row.as_ref().column_index("programs").is_err() {
        return Ok(None);
    }
    let Some(mut programs) = json::<Programs>(row, "programs")? else { return Ok(None) };
    let sql = "SELECT copy, stream, bytes, head, tail FROM output WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        Ok(Output {
            copy: row.get("copy")?,
            stream: row.get("stream")?,
            bytes: whole(row, "bytes")?,
            head: row.get("head")?,
            tail: row.get("tail")?,
        })
    })?;
    programs.outputs = rows.collect::<Result<_>>()?;
    Ok(Some(programs))
}

fn window(row: &Row<'_>) -> Result<Option<Window>> {
    if row.get::<_, Option<i64>>("window_start_ns")?.is_none() {
        return Ok(None);
    }
    Ok(Some(Window {
        start_ns: whole(row, "window_start_ns")?,
        end_ns: whole(row, "window_end_ns")?,
        done: Amount {
            read_bytes: whole(row, "window_read_bytes")?,
            read_ops: whole(row, "window_read_ops")?,
            write_bytes: whole(row, "window_write_bytes")?,
            write_ops: whole(row, "window_write_ops")?,
            metadata_ops: whole(row, "window_metadata_ops")?,
        },
    }))
}

fn series(connection: &Connection, trial: i64) -> Result<Vec<Series>> {
    let sql = "SELECT series FROM sample WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        let blob: Vec<u8> = row.get(0)?;
        codec::decode(&blob).ok_or_else(|| damaged(0, Type::Blob, "a series is damaged"))
    })?;
    rows.collect()
}

fn latency(
    connection: &Connection,
    trial: i64,
) -> Result<Vec<(Operation, hdrhistogram::Histogram<u64>)>> {
    let sql = "SELECT operation, latency FROM histogram WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        let name: String = row.get(0)?;
        let operation = Operation::find(&name).ok_or_else(|| {
            damaged(0, Type::Text, &format!("a histogram of an unknown operation, `{name}`"))
        })?;
        let blob: Vec<u8> = row.get(1)?;
        let histogram = Deserializer::new()
            .deserialize(&mut blob.as_slice())
            .map_err(|error| damaged(1, Type::Blob, &format!("a histogram is damaged: {error}")))?;
        Ok((operation, histogram))
    })?;
    rows.collect()
}

fn notes(connection: &Connection, trial: i64) -> Result<Vec<Note>> {
    let sql = "SELECT kind, text FROM note WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows =
        statement.query_map([trial], |row| Ok(Note { kind: row.get(0)?, text: row.get(1)? }))?;
    rows.collect()
}

fn whole(row: &Row<'_>, column: &str) -> Result<u64> {
    Ok(row.get::<_, i64>(column)? as u64)
}

/// A JSON column; `None` where it is NULL.
fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<Option<T>> {
    let Some(text) = row.get::<_, Option<String>>(column)? else { return Ok(None) };
    let index = row.as_ref().column_index(column)?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| damaged(index, Type::Text, &format!("{column} is damaged: {error}")))
}

fn damaged(index: usize, kind: Type, why: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, kind, why.to_owned().into())
}
