//! Campaigns and trials out of tables.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use super::{Overview, codec};
use experiment::campaign::Campaign;
use experiment::knob::Settings;
use experiment::measurement::integrity::{Fault, Lasting};
use experiment::measurement::programs::Output;
use experiment::measurement::verified::StoredProblem;
use experiment::measurement::{
    Amount, Integrity, Measurement, Note, Operation, Outcome, Programs, Record, Verified, Window,
    latency,
};
use experiment::plan::Trial;
use facts::counters::series::Series;

/// All campaigns together are shorter than this, bytes: inventories are some hundred KiB.
const CAMPAIGNS_BYTES_MAX: usize = 1 << 30;
/// A campaign and its inventory.
const CAMPAIGN_BYTES_MAX: usize = 32 << 20;
/// Rows of one trial in one table; honest ones are some hundred.
const ROWS_MAX: usize = 200_000;
/// Numbers in all series of one trial: half a GiB of memory.
const VALUES_MAX: usize = 64 << 20;

/// Campaigns that cannot be read: the number of each, and why.
pub(super) type Unreadable = Vec<(i64, String)>;

/// Campaigns in order, and those that cannot be read.
pub(super) fn campaigns(connection: &Connection) -> Result<(Vec<Campaign>, Unreadable)> {
    let mut statement = connection.prepare("SELECT * FROM campaign ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut all, mut damaged) = (Vec::new(), Vec::new());
    let (mut bytes, mut last) = (0, i64::MIN);
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        // A table that leads back into itself would never end.
        if id <= std::mem::replace(&mut last, id) {
            return Err(damaged_table("campaign"));
        }
        bytes += size(row);
        if bytes > CAMPAIGNS_BYTES_MAX {
            return Err(too_much("all campaigns together"));
        }
        match campaign(row) {
            Ok(campaign) => all.push(campaign),
            // One that is damaged must not hide the others.
            Err(error) if is_damage(&error) => damaged.push((id, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    Ok((all, damaged))
}

/// Bytes of text in a row.
fn size(row: &Row<'_>) -> usize {
    let columns = 0..row.as_ref().column_count();
    let bytes = columns.map(|place| match row.get_ref(place) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len(),
        _ => 0,
    });
    bytes.sum()
}

fn damaged_table(table: &str) -> rusqlite::Error {
    damaged(0, Type::Integer, &format!("the table `{table}` is damaged: it repeats itself"))
}

fn too_much(what: &str) -> rusqlite::Error {
    damaged(0, Type::Text, &format!("{what}: larger than any that brickyard keeps"))
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
    let overview = |row: &Row<'_>| -> Result<Overview> {
        Ok(Overview {
            id: whole(row, "id")?,
            plan: row.get("plan")?,
            engine: row.get("engine")?,
            host: row.get("host")?,
            started_unix_ns: whole(row, "started_unix_ns")?,
            ended: row.get("ended")?,
        })
    };
    let mut rows = statement.query([])?;
    let (mut all, mut bytes) = (Vec::<Overview>::new(), 0);
    while let Some(row) = rows.next()? {
        bytes += size(row);
        if bytes > CAMPAIGN_BYTES_MAX {
            return Err(too_much("the names of all campaigns"));
        }
        let overview = overview(row)?;
        if all.last().is_some_and(|last| last.id as i64 >= overview.id as i64) {
            return Err(damaged_table("campaign"));
        }
        all.push(overview);
    }
    Ok(all)
}

pub(super) fn outcomes(connection: &Connection, campaign: u64) -> Result<BTreeMap<String, u64>> {
    let sql = "SELECT outcome, count(*) AS trials FROM trial WHERE campaign = ?1 GROUP BY outcome";
    let mut statement = connection.prepare(sql)?;
    let rows = statement
        .query_map([campaign as i64], |row| Ok((row.get("outcome")?, whole(row, "trials")?)))?;
    rows.collect()
}

fn campaign(row: &Row<'_>) -> Result<Campaign> {
    if size(row) > CAMPAIGN_BYTES_MAX {
        return Err(too_much("a campaign with its inventory"));
    }
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
        currency: newer(row, "currency")?.unwrap_or_default(),
        left_out: match row.as_ref().column_index("left_out") {
            Ok(_) => json(row, "left_out")?.unwrap_or_default(),
            Err(_) => Default::default(),
        },
    })
}

/// The place of a trial in the plan's order, where it is over; `None` where it was interrupted.
pub(super) fn over(connection: &Connection, trial: i64) -> Result<Option<u32>> {
    let sql = "SELECT planned FROM trial WHERE id = ?1 AND planned IS NOT NULL
               AND outcome <> 'interrupted'";
    connection.prepare_cached(sql)?.query_row([trial], |row| row.get(0)).optional()
}

/// The rows and the numbers of a campaign's trials.
pub(super) fn rows_of(connection: &Connection, campaign: u64) -> Result<Vec<(i64, u32)>> {
    let sql = "SELECT id, number FROM trial WHERE campaign = ?1 ORDER BY number";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([campaign as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// A column that older stores lack: one that is only read is not brought up to this version.
fn newer<T: rusqlite::types::FromSql>(row: &Row<'_>, column: &str) -> Result<Option<T>> {
    match row.as_ref().column_index(column) {
        Ok(index) => row.get(index),
        Err(_) => Ok(None),
    }
}

/// Settings that were read before, by their engine and text: replicates share one copy.
pub(super) type Known = HashMap<(String, String), Settings>;

/// Trials; older ones do not say which engine ran them, and the campaign does.
#[cfg(test)]
const TRIALS: &str = "SELECT trial.*, campaign.engine AS of_campaign
    FROM trial JOIN campaign ON campaign.id = trial.campaign WHERE trial.campaign = ?1";

/// The trials of a campaign, in order, one at a time: what the caller does not keep of one is gone
/// before the next is read.
#[cfg(test)]
pub(super) fn records(
    connection: &Connection,
    campaign: u64,
    keep: impl Fn(Record) -> Record,
) -> Result<Vec<Record>> {
    let mut statement = connection.prepare(&format!("{TRIALS} ORDER BY number"))?;
    let mut known = Known::new();
    let rows = statement
        .query_map([campaign as i64], |row| record(connection, row, &mut known).map(&keep))?;
    rows.collect()
}

/// One trial, by its row.
pub(super) fn of_row(
    connection: &Connection,
    trial: i64,
    known: &mut Known,
) -> Result<Option<Record>> {
    let sql = "SELECT trial.*, campaign.engine AS of_campaign
               FROM trial JOIN campaign ON campaign.id = trial.campaign WHERE trial.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([trial])?;
    rows.next()?.map(|row| record(connection, row, known)).transpose()
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
    let settings = settings.completed();
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
    integrity.faults = few(rows, "faults")?;
    Ok(Some(integrity))
}

fn verified(connection: &Connection, row: &Row<'_>, trial: i64) -> Result<Option<Verified>> {
    let Some(mut verified) = later::<Verified>(row, "verified")? else { return Ok(None) };
    let sql = "SELECT path, kind, why FROM problem WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([trial], |row| {
        Ok(StoredProblem { path: row.get("path")?, kind: row.get("kind")?, why: row.get("why")? })
    })?;
    verified.problems = few(rows, "problems")?;
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
    programs.outputs = few(rows, "outputs")?;
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
    // What few bytes inflate to has a bound for all together.
    let mut left = VALUES_MAX;
    let rows = statement.query_map([trial], |row| {
        let blob = row.get_ref(0)?.as_blob()?;
        let series = codec::decode(blob, left)
            .ok_or_else(|| damaged(0, Type::Blob, "a series is damaged, or far too long"))?;
        left = left.saturating_sub(series.at_ns.len() * (series.columns.len() + 1));
        Ok(series)
    })?;
    few(rows, "samples")
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
        let blob = row.get_ref(1)?.as_blob()?;
        let histogram = latency::decode(blob)
            .map_err(|error| damaged(1, Type::Blob, &format!("a histogram is damaged: {error}")))?;
        Ok((operation, histogram))
    })?;
    few(rows, "histograms")
}

fn notes(connection: &Connection, trial: i64) -> Result<Vec<Note>> {
    let sql = "SELECT kind, text FROM note WHERE trial = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows =
        statement.query_map([trial], |row| Ok(Note { kind: row.get(0)?, text: row.get(1)? }))?;
    few(rows, "notes")
}

/// As many as one trial can have.
fn few<T>(rows: impl Iterator<Item = Result<T>>, of: &str) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for row in rows {
        if all.len() >= ROWS_MAX {
            return Err(too_much(&format!("the {of} of a trial")));
        }
        all.push(row?);
    }
    Ok(all)
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

/// Whether an error tells of a damaged file, not of a busy or a full one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    use rusqlite::ErrorCode;
    match error {
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => true,
        Utf8Error(..) => true,
        other => matches!(
            other.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::TooBig)
        ),
    }
}
