//! Checksums of what is kept: whether a trial, with all that belongs to it, and a campaign are
//! still what they were when they were kept.
//!
//! SQLite finds a page that makes no sense; a bit that turned in a count makes another count. The
//! first eight bytes of BLAKE3 (which the cache uses already) over names and values of columns,
//! those that are NULL left out: so neither where SQLite puts a row nor a column that a later
//! version adds makes a difference. The campaign has the number of its trials and the exclusive or
//! of their checksums, which triggers keep: so one that is gone, or there twice, is missed. This
//! finds what disks, memory and programs do by mistake, not who forges results on purpose.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement, params};

use super::read::{self, Known};
use experiment::campaign::Damage;
use experiment::measurement::Record;

/// Tables with rows of a trial.
const PARTS: [&str; 6] = ["sample", "histogram", "note", "output", "fault", "problem"];
/// All tables of raw counts.
pub(super) const TABLES: [&str; 8] =
    ["campaign", "trial", "sample", "histogram", "note", "output", "fault", "problem"];
/// A kept column more than a checksum's own.
const OWN: &str = "seal";

/// A trial of a campaign's list; `None` where it has no checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub number: u32,
    pub trial: i64,
    sums: Option<(i64, i64)>,
}

impl Entry {
    /// Whether it has a checksum.
    pub(super) fn is_sealed(&self) -> bool {
        self.sums.is_some()
    }
}

/// The trials of a campaign, by number.
#[derive(Debug)]
pub(super) struct List {
    pub trials: Vec<Entry>,
    /// What is wrong with the list.
    pub damage: Option<Damage>,
}

/// Whether the store has checksums: one of an older program that is only read has none.
pub(super) fn exist(connection: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'seal_campaign'";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// Gives a trial its checksum.
pub(super) fn trial(connection: &Connection, campaign: i64, number: u32, id: i64) -> Result<()> {
    let (own, parts) = sums(connection, id)?;
    let sql = "INSERT INTO seal (campaign, number, trial, own, parts) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute(params![campaign, number, id, own, parts]).map(|_| ())
}

/// Gives a campaign its checksum, after each change of its row.
pub(super) fn campaign(connection: &Connection, id: i64) -> Result<()> {
    let sql = "INSERT INTO seal_campaign VALUES (?1, ?2, 0, 0, 0, 0)
               ON CONFLICT (campaign) DO UPDATE SET own = excluded.own";
    let own = own(connection, "campaign", id)?;
    connection.prepare_cached(sql)?.execute(params![id, own]).map(|_| ())
}

/// Gives all that has none a checksum, as it is found.
pub(super) fn all_as_found(connection: &Connection) -> Result<()> {
    let ids = |sql: &str| -> Result<Vec<(i64, i64, i64)>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    for (id, ..) in ids("SELECT id, 0, 0 FROM campaign")? {
        campaign(connection, id)?;
    }
    for (id, of, number) in ids("SELECT id, campaign, number FROM trial ORDER BY id")? {
        let Ok(number) = u32::try_from(number) else { continue };
        match trial(connection, of, number, id) {
            // It is none that could be read: a report says so, and opens all others.
            Err(error) if read::is_damage(&error) => {}
            other => other?,
        }
    }
    connection.execute("UPDATE seal_campaign SET as_found = 1", []).map(|_| ())
}

/// The trials that a campaign must have, and those that it has; `None` without checksums.
pub(super) fn list(connection: &Connection, campaign: u64) -> Result<Option<List>> {
    if !exist(connection)? {
        return Ok(None);
    }
    let sql = "SELECT number, trial, own, parts FROM seal WHERE campaign = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([campaign as i64])?;
    let (mut all, mut every) = (BTreeMap::new(), (0, 0));
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let (number, trial) = (row.get::<_, i64>(0)? as u32, row.get(1)?);
        let (own, parts) = (row.get(2)?, row.get(3)?);
        every = (every.0 ^ own, every.1 ^ parts);
        count += 1;
        if all.insert(number, Entry { number, trial, sums: Some((own, parts)) }).is_some() {
            break; // a table that leads back into itself has no end
        }
    }
    let sql = "SELECT trials, every_own, every_parts FROM seal_campaign WHERE campaign = ?1";
    let due = connection.prepare_cached(sql)?.query_row([campaign as i64], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    let whole = due.optional()?.is_some_and(|due| due == (count, every.0, every.1));
    let sql = "SELECT number, id FROM trial WHERE campaign = ?1 ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([campaign as i64])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (number, trial) = (row.get::<_, i64>(0)?, row.get(1)?);
        if last.replace(number).is_some_and(|last| last >= number) {
            break;
        }
        let entry = Entry { number: number as u32, trial, sums: None };
        all.entry(number as u32).or_insert(entry);
    }
    let damage = (!whole).then(|| Damage {
        campaign,
        trial: None,
        what: "the list of its trials is not as it was kept; some may be missing".to_owned(),
    });
    Ok(Some(List { trials: all.into_values().collect(), damage }))
}

/// What is wrong with a trial of a list; nothing where it is as it was kept.
pub(super) fn damage(
    connection: &Connection,
    campaign: u64,
    entry: &Entry,
) -> Result<Option<Damage>> {
    let what = |what: &str| {
        Ok(Some(Damage { campaign, trial: Some(entry.number), what: what.to_owned() }))
    };
    let Some((own, parts)) = entry.sums else { return what("it has no checksum") };
    let found = match sums(connection, entry.trial) {
        Ok(found) => found,
        Err(rusqlite::Error::QueryReturnedNoRows) => return what("it is missing"),
        Err(error) if read::is_damage(&error) => return what(&error.to_string()),
        Err(error) => return Err(error),
    };
    match found == (own, parts) {
        true => Ok(None),
        false if found.0 != own => what("its counts or settings are not as they were kept"),
        false => what("its samples, histograms or notes are not as they were kept"),
    }
}

/// Reads a trial of a list, if it is as it was kept; else what is wrong with it.
pub(super) fn read(
    connection: &Connection,
    campaign: u64,
    entry: &Entry,
    known: &mut Known,
) -> Result<std::result::Result<Record, Damage>> {
    if let Some(damage) = damage(connection, campaign, entry)? {
        return Ok(Err(damage));
    }
    let damaged = |what: String| Damage { campaign, trial: Some(entry.number), what };
    match read::of_row(connection, entry.trial, known) {
        Ok(Some(record)) if record.trial.number == entry.number => Ok(Ok(record)),
        Ok(_) => Ok(Err(damaged("it has another number than it was kept by".to_owned()))),
        Err(error) if read::is_damage(&error) => Ok(Err(damaged(error.to_string()))),
        Err(error) => Err(error),
    }
}

/// Reads a trial, if it is as it was kept, or nobody can tell; else what is wrong with it.
pub(super) fn checked(
    connection: &Connection,
    campaign: u64,
    (trial, number): (i64, u32),
    known: &mut Known,
) -> Result<std::result::Result<Record, Damage>> {
    let sql = "SELECT own, parts FROM seal WHERE campaign = ?1 AND number = ?2 AND trial = ?3";
    if exist(connection)? {
        let sums = connection
            .prepare_cached(sql)?
            .query_row(params![campaign as i64, number, trial], |row| {
                Ok((row.get(0)?, row.get(1)?))
            });
        return read(connection, campaign, &Entry { number, trial, sums: sums.optional()? }, known);
    }
    let damaged = |what: String| Damage { campaign, trial: Some(number), what };
    match read::of_row(connection, trial, known) {
        Ok(Some(record)) => Ok(Ok(record)),
        Ok(None) => Ok(Err(damaged("it is missing".to_owned()))),
        Err(error) if read::is_damage(&error) => Ok(Err(damaged(error.to_string()))),
        Err(error) => Err(error),
    }
}

/// The row of a trial: by its checksum, else by its number.
pub(super) fn row_of(connection: &Connection, campaign: u64, number: u32) -> Result<Option<i64>> {
    let sealed = "SELECT trial FROM seal WHERE campaign = ?1 AND number = ?2";
    let there = "SELECT id FROM trial WHERE campaign = ?1 AND number = ?2";
    let sql = if exist(connection)? { &[sealed, there][..] } else { &[there][..] };
    for sql in sql {
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row(params![campaign as i64, number], |row| row.get(0));
        if let Some(trial) = found.optional()? {
            return Ok(Some(trial));
        }
    }
    Ok(None)
}

/// All trials of all campaigns that are not as they were kept, are missing, or are too many.
/// `tell` hears how many are looked at, and may end it.
pub(super) fn trials(connection: &Connection, tell: &mut dyn FnMut(usize)) -> Result<Vec<Damage>> {
    let mut all = Vec::new();
    let mut looked = 0;
    for campaign in numbers(connection)? {
        let Some(list) = list(connection, campaign)? else { continue };
        all.extend(list.damage);
        for entry in &list.trials {
            all.extend(damage(connection, campaign, entry)?);
            looked += 1;
            tell(looked);
        }
    }
    Ok(all)
}

/// What is wrong with the lists of trials.
pub(super) fn lists(connection: &Connection) -> Result<Vec<Damage>> {
    let lists = numbers(connection)?.into_iter().map(|campaign| list(connection, campaign));
    let mut all = Vec::new();
    for list in lists {
        all.extend(list?.and_then(|list| list.damage));
    }
    Ok(all)
}

/// Numbers of the campaigns that are there, or should be.
pub(super) fn numbers(connection: &Connection) -> Result<Vec<u64>> {
    let sql = match exist(connection)? {
        true => {
            "SELECT id FROM campaign UNION SELECT campaign FROM seal_campaign
             UNION SELECT campaign FROM seal"
        }
        false => "SELECT id FROM campaign",
    };
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok(row.get::<_, i64>(0)? as u64))?;
    rows.collect()
}

/// How many campaigns were kept before there were checksums.
pub(super) fn as_found(connection: &Connection) -> Result<u64> {
    let sql = "SELECT count(*) FROM seal_campaign WHERE as_found <> 0";
    connection.query_row(sql, [], |row| Ok(row.get::<_, i64>(0)? as u64))
}

/// What is wrong with one campaign's own row.
pub(super) fn one_campaign(connection: &Connection, id: u64) -> Result<Option<Damage>> {
    Ok(campaigns(connection)?.into_iter().find(|damage| damage.campaign == id))
}

/// Campaigns that are not as they were kept, or are missing.
pub(super) fn campaigns(connection: &Connection) -> Result<Vec<Damage>> {
    if !exist(connection)? {
        return Ok(Vec::new());
    }
    let ids = |sql: &str| -> Result<Vec<(i64, i64)>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows = rows.collect::<Result<Vec<(i64, i64)>>>()?;
        Ok(rows)
    };
    let mut all = Vec::new();
    let mut tell = |id: i64, what: &str| {
        all.push(Damage { campaign: id as u64, trial: None, what: what.to_owned() });
    };
    let sealed = ids("SELECT campaign, own FROM seal_campaign")?;
    for (id, due) in &sealed {
        match own(connection, "campaign", *id) {
            Ok(found) if found == *due => {}
            Ok(_) => tell(*id, "its plan, command or inventory is not as it was kept"),
            Err(rusqlite::Error::QueryReturnedNoRows) => tell(*id, "it is missing"),
            Err(error) if read::is_damage(&error) => tell(*id, &error.to_string()),
            Err(error) => return Err(error),
        }
    }
    for (id, _) in ids("SELECT id, 0 FROM campaign")? {
        if !sealed.iter().any(|(sealed, _)| *sealed == id) {
            tell(id, "it has no checksum");
        }
    }
    Ok(all)
}

/// Of a trial's row, and of all that belongs to it.
fn sums(connection: &Connection, trial: i64) -> Result<(i64, i64)> {
    let own = own(connection, "trial", trial)?;
    let mut parts = blake3::Hasher::new();
    for table in PARTS {
        let sql = format!("SELECT * FROM {table} WHERE trial = ?1 ORDER BY rowid");
        let mut statement = connection.prepare_cached(&sql)?;
        let names = names(&statement);
        let mut rows = statement.query([trial])?;
        while let Some(row) = rows.next()? {
            put(&mut parts, table, &ValueRef::Integer(1));
            columns(&mut parts, row, &names)?;
        }
    }
    Ok((own, first(&parts)))
}

fn own(connection: &Connection, table: &str, id: i64) -> Result<i64> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT * FROM {table} WHERE id = ?1"))?;
    let names = names(&statement);
    statement.query_row([id], |row| of_row(row, &names))
}

/// Names of columns, as often as statements are executed.
pub(super) fn names(statement: &Statement<'_>) -> Vec<String> {
    statement.column_names().map(str::to_owned).collect()
}

/// Of all columns of a row but the checksum itself.
pub(super) fn of_row(row: &Row<'_>, names: &[String]) -> Result<i64> {
    let mut sum = blake3::Hasher::new();
    columns(&mut sum, row, names)?;
    Ok(first(&sum))
}

fn columns(sum: &mut blake3::Hasher, row: &Row<'_>, names: &[String]) -> Result<()> {
    for (place, name) in names.iter().enumerate().filter(|(_, name)| *name != OWN) {
        put(sum, name, &row.get_ref(place)?);
    }
    Ok(())
}

fn put(sum: &mut blake3::Hasher, name: &str, value: &ValueRef<'_>) {
    let number;
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => return,
        ValueRef::Integer(whole) => {
            number = whole.to_le_bytes();
            (1, &number)
        }
        ValueRef::Real(real) => {
            number = real.to_bits().to_le_bytes();
            (2, &number)
        }
        ValueRef::Text(bytes) => (3, bytes),
        ValueRef::Blob(bytes) => (4, bytes),
    };
    sum.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes()).update(&[kind]);
    sum.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

pub(super) fn first(sum: &blake3::Hasher) -> i64 {
    sum.finalize().as_bytes().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}
