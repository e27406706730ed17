//! The bank itself: its tables, how they are made and opened, and whether its books balance.
//!
//! Tables, their numbers of rows and the least bytes of a row are TPC-B's (Revision 2.0, clauses
//! 3.2 and 4.2).

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use rustix::fs::{Mode, OFlags};

use super::draw::{ACCOUNTS, TELLERS, TransferDraw};
use super::rules::{BankSettings, Journal};
use super::vfs;
use crate::engine::load::protocol::{Failure, LoadFailure};
use host::sys::beneath;

/// Fills a row of accounts, tellers or branches to 100 bytes.
const FILLER_BYTES: usize = 96;
/// Fills a row of the history to 50 bytes.
pub const HISTORY_FILLER_BYTES: usize = 36;
/// A client that waits for another looks so often whether it is to stop.
const BUSY: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE branches (bid INTEGER PRIMARY KEY, bbalance INTEGER NOT NULL,
        filler BLOB NOT NULL);
    CREATE TABLE tellers (tid INTEGER PRIMARY KEY, bid INTEGER NOT NULL, tbalance INTEGER NOT NULL,
        filler BLOB NOT NULL);
    CREATE TABLE accounts (aid INTEGER PRIMARY KEY, bid INTEGER NOT NULL,
        abalance INTEGER NOT NULL, filler BLOB NOT NULL);
    CREATE TABLE history (tid INTEGER NOT NULL, bid INTEGER NOT NULL, aid INTEGER NOT NULL,
        delta INTEGER NOT NULL, mtime INTEGER NOT NULL, filler BLOB NOT NULL);
";

/// What went wrong, in SQLite's words.
pub fn broken(what: &str, why: &rusqlite::Error) -> LoadFailure {
    (Failure::Failed, format!("cannot {what}: SQLite says: {why}"))
}

/// Whether another client has the database.
pub fn is_busy(why: &rusqlite::Error) -> bool {
    let code = why.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A connection for the thread that opens it alone.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, LoadFailure> {
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let named = |why| broken(&format!("open {}", path.display()), &why);
    vfs::open(path, flags).map_err(named)
}

/// Makes a bank where nobody has an account balance yet, and puts it on the device.
///
/// # Errors
/// With what could not be done.
pub fn make(path: &Path, rules: &BankSettings, seed: u64) -> Result<(), LoadFailure> {
    let what = format!("make the tables of {}", path.display());
    let failed = |why| broken(&what, &why);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    // Nothing of it needs to outlive a crash before all of it is flushed below.
    set(&connection, "page_size", rules.page_bytes as i64).map_err(failed)?;
    set(&connection, "synchronous", 0).map_err(failed)?;
    connection.execute_batch("PRAGMA journal_mode = OFF").map_err(failed)?;
    fill(&mut connection, rules, seed).map_err(failed)?;
    // Of a log the database itself takes note; the other modes are each connection's own.
    journal(&connection, rules.journal)?;
    connection.close().map_err(|(_, why)| failed(why))?;
    flush(path).map_err(|why| {
        let why = std::io::Error::from(why);
        (Failure::Failed, format!("cannot flush {}: {why}", path.display()))
    })
}

fn fill(connection: &mut Connection, rules: &BankSettings, seed: u64) -> rusqlite::Result<()> {
    let mut draw = TransferDraw::new(rules.branches, seed);
    let mut filler = [0; FILLER_BYTES];
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    let mut branch = transaction.prepare("INSERT INTO branches VALUES (?1, 0, ?2)")?;
    let mut teller = transaction.prepare("INSERT INTO tellers VALUES (?1, ?2, 0, ?3)")?;
    let mut account = transaction.prepare("INSERT INTO accounts VALUES (?1, ?2, 0, ?3)")?;
    for number in 0..rules.branches as i64 {
        draw.fill(rules.data, &mut filler);
        branch.execute(params![number + 1, filler])?;
    }
    for (insert, each) in [(&mut teller, TELLERS), (&mut account, ACCOUNTS)] {
        for number in 0..(rules.branches * each) as i64 {
            draw.fill(rules.data, &mut filler);
            insert.execute(params![number + 1, number / each as i64 + 1, filler])?;
        }
    }
    drop((branch, teller, account));
    transaction.commit()
}

/// The file and the name of it. No connection may be open: closing any descriptor of a file ends
/// the locks that a process holds on it (fcntl(2)).
fn flush(path: &Path) -> Result<(), rustix::io::Errno> {
    let folder = path.parent().unwrap_or(path);
    for one in [path, folder] {
        let file = beneath::open(one, OFlags::RDONLY, Mode::empty())?;
        rustix::fs::fsync(&file)?;
    }
    Ok(())
}

/// Opens a bank as the rules say it is kept, and sees that SQLite does so.
///
/// # Errors
/// `Unsupported` when it cannot be kept so on this file system.
pub fn open(path: &Path, rules: &BankSettings) -> Result<Connection, LoadFailure> {
    let failed = |why| broken(&format!("open {}", path.display()), &why);
    let connection = connect(path, OpenFlags::empty())?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    journal(&connection, rules.journal)?;
    set(&connection, "synchronous", rules.synchronous.number()).map_err(failed)?;
    for (name, asked) in
        [("synchronous", rules.synchronous.number()), ("page_size", rules.page_bytes as i64)]
    {
        let found: i64 =
            connection.pragma_query_value(None, name, |row| row.get(0)).map_err(failed)?;
        if found != asked {
            let why = format!("SQLite keeps {name} at {found}, and {asked} was asked for");
            return Err((Failure::Failed, why));
        }
    }
    Ok(connection)
}

fn set(connection: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, name, value)
}

fn journal(connection: &Connection, asked: Journal) -> Result<(), LoadFailure> {
    let word = asked.word();
    let found = connection
        .pragma_update_and_check(None, "journal_mode", word, |row| row.get::<_, String>(0))
        .map_err(|why| broken(&format!("set journal-mode={word}"), &why))?;
    if found == word {
        return Ok(());
    }
    // A log needs memory that is shared through a file (sqlite.org/wal.html).
    let why = format!(
        "SQLite cannot have journal-mode={word} on this file system, it stays at {found}; \
         journal-mode={found} works"
    );
    Err((Failure::Unsupported, why))
}

/// Whether the books balance: accounts, tellers, branches and the history come to the same sum, and
/// the history has a row for each of the `committed` transactions (TPC-B, clause 2.3).
///
/// # Errors
/// With the sums, when they do not.
pub fn check(connection: &Connection, committed: u64) -> Result<(), LoadFailure> {
    const SUMS: &str = "SELECT (SELECT sum(abalance) FROM accounts),
        (SELECT sum(tbalance) FROM tellers), (SELECT sum(bbalance) FROM branches),
        (SELECT coalesce(sum(delta), 0) FROM history), (SELECT count(*) FROM history)";
    let sums = connection.query_row(SUMS, [], |row| {
        Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?], row.get::<_, i64>(4)?))
    });
    let (sums, rows): ([i64; 4], i64) =
        sums.map_err(|why| broken("look whether the books balance", &why))?;
    if sums.iter().any(|sum| *sum != sums[0]) {
        let [accounts, tellers, branches, history] = sums;
        let why = format!(
            "the books do not balance: accounts have {accounts}, tellers {tellers}, branches \
             {branches}, and the history {history}"
        );
        return Err((Failure::Failed, why));
    }
    if rows as u64 != committed {
        let why = format!("{committed} transactions were committed, and the history has {rows}");
        return Err((Failure::Failed, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn rules(typed: &[(&str, &str)]) -> BankSettings {
        BankSettings::new(&settings("database", typed)).unwrap()
    }

    #[test]
    fn a_bank_is_made_as_the_rules_say_and_its_rows_are_as_long_as_tpc_b_asks() {
        let folder = tempfile::tempdir().unwrap();
        for journal in ["wal", "persist"] {
            let path = folder.path().join(journal);
            let rules = rules(&[("journal-mode", journal), ("page-size", "8KiB")]);
            make(&path, &rules, 7).unwrap();
            let bank = open(&path, &rules).unwrap();
            let of = |sql: &str| bank.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(of("SELECT count(*) FROM accounts WHERE bid = 1"), 100_000);
            assert_eq!(of("SELECT count(*) FROM tellers WHERE bid = 1"), 10);
            assert_eq!(of("SELECT count(*) FROM branches"), 1);
            assert_eq!(of("SELECT count(DISTINCT filler) FROM accounts"), 100_000);
            // What pages hold, not what they could: 100 bytes for each account.
            let held = of("SELECT sum(payload) FROM dbstat WHERE name = 'accounts'");
            assert!(held >= 100 * 100_000, "{held}");
            assert_eq!(check(&bank, 0), Ok(()));
        }
    }

    #[test]
    fn books_that_do_not_balance_and_commits_that_are_not_there_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, rules) = (folder.path().join("bank.db"), rules(&[("data", "zero")]));
        make(&path, &rules, 7).unwrap();
        let bank = open(&path, &rules).unwrap();
        let why = |committed| check(&bank, committed).unwrap_err().1;
        assert!(why(1).contains("1 transactions were committed, and the history has 0"));
        bank.execute("UPDATE tellers SET tbalance = 5 WHERE tid = 3", []).unwrap();
        assert!(why(0).contains("do not balance: accounts have 0, tellers 5"), "{}", why(0));
        bank.execute("INSERT INTO history VALUES (3, 1, 9, 5, 0, x'00')", []).unwrap();
        bank.execute("UPDATE accounts SET abalance = 5 WHERE aid = 9", []).unwrap();
        bank.execute("UPDATE branches SET bbalance = 5", []).unwrap();
        assert_eq!(check(&bank, 1), Ok(()));
    }
}
