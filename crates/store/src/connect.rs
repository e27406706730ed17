//! The one place where a store is opened, and what stands around every connection: bounds of time,
//! memory and size, and nothing that a file could have us run.
//!
//! A store may come from anybody, and be damaged. Whoever reads it believes nothing: names are
//! names of files (not SQLite's URIs), a schema runs no function that could do harm
//! (<https://www.sqlite.org/security.html>), and no answer takes for ever.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Result};

use super::file;
use host::sys::{clock, signal};

/// How long we wait for another program that is writing in the store.
pub(super) const BUSY_MAX: Duration = Duration::from_secs(5);
/// No value is longer than this, bytes: inventories and samples are far shorter.
const VALUE_BYTES_MAX: i32 = 64 << 20;
/// SQLite may take this much memory in all.
const MEMORY_BYTES_MAX: i64 = 1 << 30;
/// Statements that stay compiled: those of one trial with all that belongs to it.
const STATEMENTS: usize = 64;
/// SQLite's instructions from one look at the clock to the next: less than a millisecond.
const STEPS: i32 = 10_000;
/// What SQLite itself may work for one thing that is asked of a store. A million trials take less.
const WORK_MAX_NS: u64 = 120_000_000_000;
/// Longer than this no [`STEPS`] take: the rest of the time was ours, not SQLite's.
const STEPS_MAX_NS: u64 = 2_000_000;
/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Reading; others may write meanwhile.
    Read,
    /// Reading a file that nobody can write: SQLite makes nothing beside it.
    Fixed,
    /// Reading and writing; the file is made where there is none.
    Write,
}

/// What SQLite has worked for what is asked just now, ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Work(Arc<AtomicU64>);

impl Work {
    /// Something else is asked: it has all the time again.
    pub(super) fn anew(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Opens the file of that name.
pub(super) fn connect(path: &Path, how: How) -> Result<(Connection, Work)> {
    let access = match how {
        How::Read | How::Fixed => OpenFlags::SQLITE_OPEN_READ_ONLY,
        How::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | file::links(path);
    // Without the leading slash SQLite takes some names for something else than a file's: nothing,
    // `:memory:`, and what begins with `file:`.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut connection = if how == How::Fixed {
        let uri = format!("file://{}?immutable=1", file::escaped(&path));
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        open(&path, flags)?
    };
    let work = Work::default();
    guard(&mut connection, how, &work)?;
    Ok((connection, work))
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    #[cfg(test)]
    if host::sys::fire::MountedDisk::any() {
        return Connection::open_with_flags_and_vfs(path, flags, host::sys::fire::NAME);
    }
    Connection::open_with_flags(path, flags)
}

/// A store of nothing, in memory.
pub(super) fn nothing() -> Result<Connection> {
    Connection::open_in_memory()
}

/// Sets what stands around every connection for as long as it lives.
fn guard(connection: &mut Connection, how: How, work: &Work) -> Result<()> {
    connection.busy_timeout(BUSY_MAX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Statements that are compiled once stay as they are: without this SQLite, built to look at
    // the values that it is asked for, compiles them anew for each.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    let (work, last) = (Arc::clone(&work.0), AtomicU64::new(0));
    let reads = how != How::Write;
    let look = move || {
        let now = clock::monotonic_ns();
        let took = now.saturating_sub(last.swap(now, Ordering::Relaxed)).min(STEPS_MAX_NS);
        let all = work.fetch_add(took, Ordering::Relaxed) + took;
        // Who writes has a trial in hand that is to be kept; who reads is in nobody's way.
        all > WORK_MAX_NS || (reads && signal::asked())
    };
    connection.progress_handler(STEPS, Some(look))?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update_and_check(None, "hard_heap_limit", MEMORY_BYTES_MAX, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use rusqlite::ErrorCode;

    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

    /// Only `query` had bounds: whatever else read a store that somebody had made up took all time
    /// and all memory that there was.
    #[test]
    fn every_connection_has_bounds_of_time_and_of_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        for how in [How::Write, How::Read, How::Fixed] {
            let (connection, work) = connect(&path, how).unwrap();
            let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            work.0.store(WORK_MAX_NS - 1_000_000, Ordering::Relaxed);
            let error = ask(ENDLESS).unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{how:?}");
            work.anew();
            assert_eq!(ask("SELECT 7").unwrap(), 7);
            let error = ask("SELECT length(hex(zeroblob(60 << 20)))").unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::TooBig), "{how:?}");
            let limit = ask("PRAGMA hard_heap_limit").unwrap();
            assert!(limit > 0 && limit <= MEMORY_BYTES_MAX, "{limit}");
            assert_eq!(ask("PRAGMA trusted_schema").unwrap(), 0);
            assert!(connection.execute_batch("ATTACH ':memory:' AS other").is_err());
        }
    }
}
