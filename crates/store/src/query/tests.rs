//! What a query gives, and what it refuses.

use super::*;
use experiment::campaign::Campaign;
use experiment::knob::Settings;
use experiment::measurement::figures::figures;
use experiment::measurement::{
    Amount, Measurement, Operation, Outcome, Record, Window, latency_histogram,
};
use experiment::plan::Trial;
use experiment::query::RelationKind;
use experiment::query::typed;
use facts::counters::series::Series;

const BOUNDS: Bounds = Bounds { time: Duration::from_secs(60), rows: 1000 };

/// A second of reading at so many MB/s.
fn record(number: u32, group: &str, rate: u64) -> Record {
    let trial = Trial {
        number,
        replicate: number,
        group: group.to_owned(),
        settings: Settings::defaults("file"),
        first_file: 0,
        seed: 1,
        planned: Some(number),
    };
    let done = Amount { read_bytes: rate * 1_000_000, read_ops: rate, ..Amount::default() };
    let mut histogram = latency_histogram();
    (1..100).for_each(|ns| histogram += ns * 1000);
    let load = Series { source: "load".into(), ..Series::default() };
    Record::new(
        trial,
        Outcome::Done(Box::new(Measurement {
            elapsed_ns: 1_000_000_000,
            window: Some(Window { start_ns: 0, end_ns: 1_000_000_000, done }),
            latency: vec![(Operation::Read, histogram)],
            load,
            ..Measurement::default()
        })),
    )
}

/// A store with trials of two workloads, and one that failed.
fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&Campaign { plan: "p".into(), ..Campaign::default() }).unwrap();
    for number in 1..=5 {
        store.append(id, &record(number, "sequential-read", u64::from(number) * 100)).unwrap();
    }
    store.append(id, &record(6, "it's \"odd\"", 7)).unwrap();
    let failed = Outcome::Failed("EIO".into());
    store.append(id, &Record { outcome: failed, ..record(7, "sequential-read", 0) }).unwrap();
    (folder, path)
}

fn ask(path: &Path, sql: &str) -> Result<Answer, Error> {
    Query::open(path, &mut |_, _| {})?.ask(sql, BOUNDS)
}

fn rows(path: &Path, sql: &str) -> Vec<Vec<SqlValue>> {
    ask(path, sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).rows
}

fn numbers(path: &Path, sql: &str) -> Vec<i64> {
    let cell = |row: Vec<SqlValue>| match row[0] {
        SqlValue::Integer(number) => number,
        SqlValue::Real(number) => number as i64,
        ref other => panic!("{other:?}"),
    };
    rows(path, sql).into_iter().map(cell).collect()
}

/// Runs SQL as another program would, in a store that has its checksums anew: what such a program
/// changes is damaged otherwise.
fn change(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.execute_batch("DELETE FROM seal").unwrap();
    seal::all_as_found(&connection).unwrap();
}

#[test]
fn a_workload_is_a_view_with_a_row_a_trial() {
    let (_folder, path) = filled();
    let sql = "SELECT * FROM \"sequential-read\" ORDER BY throughput DESC LIMIT 20";
    let answer = ask(&path, sql).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (6, false));
    let place = |name: &str| answer.columns.iter().position(|column| column == name);
    for name in ["trial", "origin", "block_size", "latency_ns_p99", "iops", "throughput"] {
        assert!(place(name).is_some(), "{name}: {:?}", answer.columns);
    }
    let at = place("throughput_bytes_per_s").unwrap();
    assert_eq!(answer.rows[0][at], SqlValue::Real(500e6));
    assert_eq!(answer.rows[5][place("reason").unwrap()], SqlValue::Text("EIO".into()));
    assert_eq!(answer.rows[5][at], SqlValue::Null, "what failed has no figure");
    assert_eq!(answer.rows[0][place("block_size").unwrap()], SqlValue::Integer(1 << 20));
    let sql = "SELECT trial FROM sequential_read WHERE throughput > 2e8 AND block_size = 1048576";
    assert_eq!(numbers(&path, &format!("{sql} ORDER BY 1")), [3, 4, 5]);
    let odd = "SELECT count(*) FROM \"it's \"\"odd\"\"\"";
    assert_eq!(numbers(&path, odd), [1]);
    assert_eq!(numbers(&path, "SELECT count(*) FROM trials WHERE plan = 'p'"), [7]);
}

/// The figures are those of every other command, each of them.
#[test]
fn the_columns_are_the_figures_and_the_settings() {
    let (_folder, path) = filled();
    let record = record(3, "sequential-read", 300);
    for (name, estimate) in figures(&record).iter() {
        let sql = format!("SELECT {name} FROM sequential_read WHERE trial = 3");
        assert_eq!(rows(&path, &sql), [[SqlValue::Real(estimate.value)]], "{name}");
    }
    let named = Query::open(&path, &mut |_, _| {}).unwrap().relations().unwrap();
    let view = named.iter().find(|relation| relation.name == "sequential-read").unwrap();
    for (knob, _) in record.trial.settings.iter() {
        let column = knob.replace('-', "_");
        assert!(view.names().any(|name| name == column), "{knob}");
    }
    assert!(named.iter().any(|it| it.name == "sample" && it.kind == RelationKind::Table));
    assert!(!named.iter().any(|it| it.name.starts_with("derived")), "a cache is nobody's table");
}

/// A figure that was kept must never outlive what it was computed from.
#[test]
fn what_another_program_changes_is_computed_anew() {
    let (_folder, path) = filled();
    let sql = "SELECT max(throughput) FROM sequential_read";
    assert_eq!(numbers(&path, sql), [500_000_000]);
    change(&path, "UPDATE trial SET window_read_bytes = window_read_bytes / 2");
    assert_eq!(numbers(&path, sql), [250_000_000]);
    change(&path, "DELETE FROM trial WHERE number = 5");
    assert_eq!(numbers(&path, sql), [200_000_000]);
    change(&path, "DELETE FROM histogram");
    assert_eq!(rows(&path, "SELECT max(latency_ns_p50) FROM trials"), [[SqlValue::Null]]);
    change(&path, "INSERT INTO note SELECT id, 'odd', 'x' FROM trial WHERE number = 1");
    let sql = "SELECT count(*) FROM trials WHERE notes LIKE '%odd%'";
    assert_eq!(numbers(&path, sql), [1]);
}

/// A number of this version for a figure of another one would be the wrong figure.
#[test]
fn what_another_version_has_computed_is_computed_anew() {
    let (_folder, path) = filled();
    let stale = "UPDATE derived SET version = version - 1, figures = x'00000000'";
    change(&path, stale);
    let sql = "SELECT max(throughput) FROM sequential_read";
    assert_eq!(numbers(&path, sql), [500_000_000]);
    assert_eq!(
        numbers(
            &path,
            "SELECT count(*) FROM derived WHERE length(figures) < 5 AND outcome = 'done'"
        ),
        [0]
    );
    change(&path, "DELETE FROM derived; DELETE FROM derived_column; DELETE FROM derived_name");
    assert_eq!(numbers(&path, sql), [500_000_000]);
}

/// Of a store that cannot be written, or was made by an older program, the cache is in memory.
#[test]
fn without_the_cache_the_answer_is_the_same() {
    let (folder, path) = filled();
    change(&path, "PRAGMA journal_mode = DELETE; DELETE FROM derived WHERE trial > 3");
    let store = Store::open_read_only(&path).unwrap();
    derived::borrow(&store.connection).unwrap();
    let mut connection = store.connection;
    let mut told = Vec::new();
    derived::fill(&mut connection, &mut |done, of| told.push((done, of))).unwrap();
    assert_eq!(told, [(0, 4)], "what is there is not computed again");
    views::function(&connection).unwrap();
    let relations = views::relations(&connection).unwrap();
    let sql = "SELECT max(throughput) FROM sequential_read";
    views::make(&connection, &relations, sql).unwrap();
    let max: f64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(max, 500e6);
    drop((connection, folder));
}

/// A blob that is damaged hid all trials of a campaign from every command.
#[test]
fn a_damaged_trial_hides_no_other() {
    let (_folder, path) = filled();
    change(&path, "UPDATE histogram SET latency = x'00' WHERE trial = 2");
    let sql = "SELECT trial FROM sequential_read WHERE notes = 'damaged'";
    assert_eq!(numbers(&path, sql), [2]);
    assert_eq!(numbers(&path, "SELECT count(throughput) FROM sequential_read"), [4]);
}

#[test]
fn names_of_tables_and_of_views_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&Campaign::default()).unwrap();
    let names =
        ["trial", "Trials", "derived", "sqlite_x", "a-b", "a_b", "A_B", "", "'", "nul\0", "1, 2"];
    for (number, name) in (1..).zip(names) {
        store.append(id, &record(number, name, 1)).unwrap();
    }
    assert_eq!(numbers(&path, "SELECT count(*) FROM trials"), [names.len() as i64]);
    assert_eq!(numbers(&path, "SELECT count(first_file) FROM trial"), [names.len() as i64]);
    let sql = "SELECT trial FROM \"a-b\" UNION ALL SELECT trial FROM \"A_b\"";
    assert_eq!(numbers(&path, sql).len(), 2);
    let listed = Query::open(&path, &mut |_, _| {}).unwrap().relations().unwrap();
    assert!(listed.iter().all(|relation| relation.names().count() > 0));
    // `1, 2` has no shorter name: `1,_2` would have to be quoted as well.
    assert!(listed.iter().flat_map(|relation| &relation.alias).all(|alias| typed(alias) == *alias));
}

#[test]
fn whatever_does_more_than_read_is_refused() {
    let (folder, path) = filled();
    let other = folder.path().join("other.db");
    let attach = format!("ATTACH '{}' AS o", other.display());
    let into = format!("VACUUM INTO '{}'", other.display());
    for sql in [
        "INSERT INTO note VALUES (1, 'a', 'b')",
        "UPDATE trial SET number = 9",
        "DELETE FROM trial",
        "DROP TABLE trial",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "CREATE TEMP VIEW x AS SELECT 1",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "WITH x AS (SELECT 1) DELETE FROM note",
        "REPLACE INTO derived_name VALUES (1, 'x')",
        "PRAGMA journal_mode",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA query_only = 0",
        "PRAGMA writable_schema = 1",
        "PRAGMA hard_heap_limit = 0",
        "SELECT * FROM pragma_journal_mode",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "BEGIN",
        "BEGIN IMMEDIATE",
        "SAVEPOINT x",
        "VACUUM",
        "ANALYZE",
        "REINDEX",
        "DETACH main",
        &attach,
        &into,
        "SELECT 1; DROP TABLE trial",
        "SELECT 1; SELECT 2",
        "SELECT 1; nonsense",
        "",
        " ; -- nothing\n",
        "SELECT ?1",
    ] {
        let error = ask(&path, sql).unwrap_err();
        assert_eq!(error.what, CANNOT, "{sql}: {error:?}");
        assert!(error.hint.is_some(), "{sql}: {error:?}");
    }
    assert!(!other.exists());
    assert_eq!(numbers(&path, "SELECT count(*) FROM trial"), [7]);
    for sql in ["SELECT 1;", "VALUES (1)", "EXPLAIN QUERY PLAN SELECT id FROM trial;; -- end"] {
        assert_eq!(rows(&path, sql).len(), 1, "{sql}");
    }
    assert!(rows(&path, "PRAGMA table_info(trial)").len() > 20);
    assert!(rows(&path, "SELECT * FROM pragma_table_info('trial')").len() > 20);
    // A text of many statements took the stack, by a call for each.
    let many = "SELECT 1;".repeat(100_000);
    assert!(ask(&path, &many).unwrap_err().why.contains("two statements"));
}

#[test]
fn what_never_ends_is_ended() {
    let (_folder, path) = filled();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
    let bounds = Bounds { time: Duration::from_millis(50), ..BOUNDS };
    let query = Query::open(&path, &mut |_, _| {}).unwrap();
    let error = query.ask(&format!("{endless} count(*) FROM n"), bounds).unwrap_err();
    assert!(error.why.contains("longer than 50.0 ms"), "{error:?}");
    assert!(error.hint.unwrap().contains("--timeout"));
    let answer = ask(&path, &format!("{endless} i FROM n")).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (1000, true));
    for large in ["zeroblob(2000000000)", "printf('%.*c', 2000000000, 'x')"] {
        let error = ask(&path, &format!("SELECT length({large} || 'x')")).unwrap_err();
        assert!(error.why.contains("too big"), "{large}: {error:?}");
    }
}

#[test]
fn hints_say_what_was_meant() {
    let (_folder, path) = filled();
    for (sql, hint) in [
        ("SELECT throughptu FROM trials", "did you mean throughput?"),
        ("SELECT t.iosp FROM trials AS t", "did you mean iops, bios or host?"),
        ("SELECT throughp FROM trials", "did you mean throughput"),
        ("SELECT * FROM trails", "did you mean \"trials\" or \"trial\"?"),
        ("SELECT * FROM sequential", "did you mean \"sequential-read\"?"),
        ("SELECT * FROM sequential-read", "a name with a dash"),
        ("SELEC 1", "without SQL"),
        ("SELECT 'x", "without SQL"),
        ("SELECT \0 1", "char(0)"),
    ] {
        let error = ask(&path, sql).unwrap_err();
        let said = error.hint.clone().unwrap();
        assert!(said.contains(hint), "{sql}: {error:?}");
    }
    let error = ask(&path, "SELECT x FROM trials").unwrap_err();
    assert_eq!(error.why, "no such column: x", "SQLite's words");
}

/// "no such column: campaign; did you mean campaign?": it is there, and not in what was asked.
#[test]
fn no_hint_asks_whether_one_meant_what_one_typed() {
    let (_folder, path) = filled();
    for sql in ["SELECT nowhere.campaign FROM trials", "SELECT nowhere.iops FROM trials"] {
        let error = ask(&path, sql).unwrap_err();
        let (hint, name) = (error.hint.unwrap(), error.why.rsplit('.').next().unwrap().to_owned());
        assert!(!hint.contains(&format!("did you mean {name}?")), "{sql}: {hint}");
        assert!(hint.contains(&format!("`{name}` is a column of ")), "{sql}: {hint}");
    }
}

/// A run that writes must not wait for whoever asks, nor the other way round.
#[test]
fn it_is_asked_while_a_run_writes() {
    let (_folder, path) = filled();
    let mut store = Store::open(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; UPDATE campaign SET host = 'x'").unwrap();
    assert_eq!(numbers(&path, "SELECT count(*) FROM trials"), [7]);
    connection.execute_batch("ROLLBACK").unwrap();
    store.append(1, &record(8, "sequential-read", 900)).unwrap();
    assert_eq!(numbers(&path, "SELECT max(throughput) FROM sequential_read"), [900_000_000]);
}

#[test]
fn a_store_without_trials_and_bytes_that_are_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    assert!(ask(&path, "SELECT 1").unwrap_err().why.contains("no such file"));
    assert!(!path.exists(), "nothing is made of a name");
    drop(Store::open(&path).unwrap());
    assert!(rows(&path, "SELECT * FROM trials").is_empty());
    let cells = rows(&path, "SELECT CAST(x'ff41' AS TEXT), x'ff', NULL, 9e999, 1");
    let text = SqlValue::Text("\u{fffd}A".into());
    let (blob, real) = (SqlValue::Blob(vec![255]), SqlValue::Real(f64::INFINITY));
    assert_eq!(cells, [[text, blob, SqlValue::Null, real, SqlValue::Integer(1)]]);
}

/// SQLite reads a statement up to a NUL and no further: what stood behind one, a second statement
/// or the end of a condition, was left out and nothing was said.
#[test]
fn a_statement_with_a_nul_in_it_is_refused_whole() {
    let (_folder, path) = filled();
    for sql in ["SELECT 1\0; DELETE FROM trial", "SELECT 1 \0", "\0"] {
        let error = ask(&path, sql).unwrap_err();
        assert!(error.why.contains("NUL") && error.hint.is_some(), "{sql:?}: {error}");
    }
    assert_eq!(rows(&path, "SELECT length('a' || char(0))"), [[SqlValue::Integer(1)]]);
}

/// What looks and writes nothing may be asked of a store whose figures nobody has computed.
#[test]
fn a_store_is_asked_without_a_byte_written_where_that_is_wanted() {
    let (_folder, path) = filled();
    let store = Store::open(&path).unwrap();
    store.connection.execute_batch("DELETE FROM derived").unwrap();
    let kept = || -> i64 {
        let sql = "SELECT count(*) FROM derived";
        store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let sql = "SELECT count(throughput) FROM trials";
    let answer = Query::open_read_only(&path).unwrap().ask(sql, BOUNDS).unwrap();
    assert_eq!(answer.rows, [[SqlValue::Integer(6)]]);
    assert_eq!(kept(), 0, "it was written");
    assert_eq!(rows(&path, sql), [[SqlValue::Integer(6)]]);
    assert_eq!(kept(), 7);
}
