//! SQL on a store: one statement that only reads, bounded in time and in what it gives.
//!
//! What may be asked is the business of `guard`, what can be asked of that of `views`. How an
//! answer is printed is left to `report`.

use std::path::Path;
use std::time::Duration;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection};

use super::{Store, derived, file, refused, seal};
use experiment::campaign::Damage;
use experiment::knob;
use host::sys::Error;

mod guard;
mod views;

use experiment::query::{Answer, Ran, Relation, SqlValue, quoted};

/// No answer takes more memory than this.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A store that can be asked.
#[derive(Debug)]
pub struct Query {
    store: Store,
    /// What is known to be damaged.
    damage: Vec<Damage>,
}

/// How far a query may go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// It is stopped after this time.
    pub time: Duration,
    /// Rows beyond these are left out.
    pub rows: usize,
}

impl Query {
    /// Opens an existing store, and computes what nobody has computed of its trials yet; tells how
    /// many are done, of how many. What was computed is kept, where the store can be written.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open(path: &Path, tell: &mut dyn FnMut(usize, usize)) -> Result<Query, Error> {
        let mut store = Store::open_read_only(path)?;
        let mut whole = complete(&store)?;
        if !whole && file::writable(path) {
            // Whatever is wrong with that: it is computed for this once, below.
            if let Ok(mut writable) = Store::open(path)
                && writable.repeatable(true).is_ok()
            {
                let _ = derived::fill(&mut writable.connection, tell);
            }
            store = Store::open_read_only(path)?;
            whole = complete(&store)?;
        }
        Query::of(store, whole, tell)
    }

    /// The same without a byte written: what nobody has computed yet is forgotten afterwards.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open_read_only(path: &Path) -> Result<Query, Error> {
        let store = Store::open_read_only(path)?;
        let whole = complete(&store)?;
        Query::of(store, whole, &mut |_, _| {})
    }

    /// Of a store; `whole` says whether everything that can be asked for is kept.
    fn of(
        mut store: Store,
        whole: bool,
        tell: &mut dyn FnMut(usize, usize),
    ) -> Result<Query, Error> {
        let path = store.path.clone();
        let failed = |error: rusqlite::Error| refused(&path, &error);
        guard::sort_in_memory(&store.connection).map_err(failed)?;
        store.work.anew();
        if !whole {
            derived::borrow(&store.connection).map_err(failed)?;
            derived::fill(&mut store.connection, tell).map_err(failed)?;
        }
        // A run may write meanwhile: all is of one moment.
        let moment = store.moment().map_err(failed)?;
        let mut damage = seal::campaigns(&moment).map_err(failed)?;
        damage.extend(seal::lists(&moment).map_err(failed)?);
        damage.extend(derived::damage(&moment).map_err(failed)?);
        drop(moment);
        let query = Query { store, damage };
        guard::limit(&query.store.connection).map_err(failed)?;
        views::function(&query.store.connection).map_err(failed)?;
        Ok(query)
    }

    /// What can be asked: a view of every workload, one of all trials, and the tables.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn relations(&self) -> Result<Vec<Relation>, Error> {
        let failed = |error: rusqlite::Error| refused(&self.store.path, &error);
        views::relations(&self.store.connection).map_err(failed)
    }

    /// Asks. It can be asked once: nothing but reading is possible afterwards.
    ///
    /// # Errors
    /// When SQLite does not understand `sql`, when it would do more than read, and when it takes
    /// too long.
    pub fn ask(mut self, sql: &str, bounds: Bounds) -> Result<Answer, Error> {
        let relations = self.relations()?;
        let path = self.store.path.clone();
        let ran = ran(&self.store.connection).map_err(|error| refused(&path, &error))?;
        let connection = &mut self.store.connection;
        views::make(connection, &relations, sql).map_err(|error| refused(&path, &error))?;
        let watch =
            guard::Watch::set(connection, bounds.time).map_err(|error| refused(&path, &error))?;
        let mut answer = answer(connection, sql, bounds).map_err(|error| match error {
            QueryError::Ours(error) => error,
            QueryError::Sqlite(error) => told(&error, &watch, &relations),
        })?;
        answer.damage = std::mem::take(&mut self.damage);
        answer.ran = ran;
        if watch.has_read(&seal::TABLES) {
            // Of the views every row has its own checksum; of the tables a whole trial has one.
            let failed = |error: rusqlite::Error| refused(&path, &error);
            guard::lift(&mut self.store.connection).map_err(failed)?;
            let moment = self.store.moment().map_err(failed)?;
            let raw = seal::trials(&moment, &mut |_| {});
            answer.damage.extend(raw.map_err(|error| told(&error, &watch, &relations))?);
            drop(moment);
            let file = self.store.file().map_err(failed)?;
            let damage = |what: String| Damage { campaign: 0, trial: None, what };
            answer.damage.extend(file.into_iter().take(1).map(damage));
        }
        answer.damage.sort();
        answer.damage.dedup_by_key(|damage| (damage.campaign, damage.trial));
        Ok(answer)
    }
}

/// What ran every campaign; one whose inventory is damaged counts as not imported, and is told as
/// damage.
fn ran(connection: &Connection) -> rusqlite::Result<Vec<Ran>> {
    let sql = "SELECT id, engine, json_valid(inventory)
               AND json_type(inventory, '$.imported') IS NOT NULL FROM campaign ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(Ran { campaign: row.get(0)?, engines: row.get(1)?, imported: row.get(2)? })
    })?;
    rows.collect()
}

/// Whether all is kept that can be asked for.
fn complete(store: &Store) -> Result<bool, Error> {
    let complete = store.moment().and_then(|moment| derived::is_complete(&moment));
    complete.map_err(|error| refused(&store.path, &error))
}

/// Why a query failed: an error of ours with its hint, or one of SQLite.
enum QueryError {
    Ours(Error),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> QueryError {
        QueryError::Sqlite(error)
    }
}

const CANNOT: &str = "cannot run this query";
const LISTED: &str = "`brickyard query` without SQL shows the views, their columns and an example";

fn answer(connection: &Connection, sql: &str, bounds: Bounds) -> Result<Answer, QueryError> {
    let ours = |why: &str, hint: &str| QueryError::Ours(Error::new(CANNOT, why).hint(hint));
    if sql.contains('\0') {
        let why = "it has a NUL character, at which SQLite would stop reading";
        return Err(ours(why, "write char(0) instead"));
    }
    // Not `prepare`, which looks at the rest of a text by calling itself: a text of many
    // statements would take all of the stack.
    let mut batch = Batch::new(connection, sql);
    let Some(mut statement) = batch.next()? else { return Err(ours("it is empty", LISTED)) };
    if !matches!(batch.next(), Ok(None)) {
        return Err(ours("these are two statements", "one at a time"));
    }
    if !statement.readonly() {
        return Err(ours("it would write", READS));
    }
    if statement.parameter_count() > 0 {
        return Err(ours("it has parameters, which nothing fills", "write values instead"));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut answer = Answer { columns, ..Answer::default() };
    let mut bytes = 0;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if answer.rows.len() >= bounds.rows || bytes > ANSWER_BYTES_MAX {
            answer.truncated = true;
            break;
        }
        let mut cells = Vec::with_capacity(answer.columns.len());
        for column in 0..answer.columns.len() {
            let value = row.get_ref(column)?;
            bytes += size_of::<SqlValue>() + cell_bytes(&value);
            cells.push(cell(value));
        }
        answer.rows.push(cells);
    }
    Ok(answer)
}

fn cell_bytes(value: &ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 0,
    }
}

fn cell(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Blob(bytes.to_owned()),
    }
}

const READS: &str = "`query` only reads, by one SELECT (or VALUES, WITH, EXPLAIN)";

/// SQLite's words, with what to type next.
fn told(error: &rusqlite::Error, watch: &guard::Watch, relations: &[Relation]) -> Error {
    if let Some(what) = watch.refused() {
        return Error::new(CANNOT, format!("{what}: not authorized")).hint(READS);
    }
    if watch.is_over() {
        let why = format!("it ran longer than {}", base::value::duration(watch.time_ns() as f64));
        return Error::new(CANNOT, why).hint("ask for less, or give it longer: --timeout 10m");
    }
    let why = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(msg)) => msg.clone(),
        other => other.to_string(),
    };
    let hint = hint(&why, relations);
    Error::new(CANNOT, why).hint(hint)
}

fn hint(why: &str, relations: &[Relation]) -> String {
    if let Some(name) = why.strip_prefix("no such table: ") {
        let names = relations.iter().map(|relation| relation.name.as_str());
        if let Some(meant) = knob::meant(name, names, quoted) {
            return format!("{meant} {LISTED}");
        }
    }
    if let Some(name) = why.strip_prefix("no such column: ") {
        let name = name.rsplit('.').next().unwrap_or(name);
        // It is there, and not in what was asked.
        let has = |relation: &&Relation| relation.names().any(|own| own == name);
        let holders: Vec<String> =
            relations.iter().filter(has).take(4).map(|it| quoted(&it.name)).collect();
        if !holders.is_empty() {
            return format!("`{name}` is a column of {}; {LISTED}", holders.join(", "));
        }
        let names = relations.iter().flat_map(|relation| relation.names());
        if let Some(meant) = knob::meant(name, names, str::to_owned) {
            return format!("{meant} {LISTED}");
        }
    }
    if why == "out of memory" {
        return "it sorts or joins too much: ask for less".to_owned();
    }
    if why.starts_with("near \"-\"") {
        return format!(
            "a name with a dash stands in double quotes: \"sequential-read\"; {LISTED}"
        );
    }
    LISTED.to_owned()
}

#[cfg(test)]
mod tests;
