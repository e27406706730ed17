//! Whether a store has the tables that its version is to have, and nothing that runs code of
//! others.
//!
//! A file is asked by our statements only once it is what they were written for: a view in the
//! place of a table could compute for ever, a trigger could write what nobody measured. Further
//! tables of a user's own are nobody's business; views, triggers and virtual tables are refused
//! wherever they are, and so are indexes on our tables, which SQLite would read in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result, Row};

use super::{MIGRATIONS, connect};

/// Ours are some dozen; more than this is no store.
const OBJECTS_MAX: usize = 1000;
/// Longer than this is no statement of ours, bytes.
const SQL_BYTES_MAX: usize = 64 << 10;
/// So much of a foreign name is shown.
const SHOWN: usize = 40;

/// A table, an index, a view or a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    kind: String,
    name: String,
    /// Of which table.
    of: String,
    /// Without what makes no difference; nothing for an index that SQLite makes by itself.
    sql: String,
    root: i64,
}

/// What is wrong with the schema, and what removes it; `None` where nothing is.
pub(super) fn wrong(connection: &Connection, version: usize) -> Result<Option<(String, String)>> {
    const ELSE: &str = "name another file: --store FILE";
    let found = match objects(connection)? {
        Ok(found) => found,
        Err(why) => return Ok(Some((why, ELSE.to_owned()))),
    };
    let versions = versions()?;
    let newest = &versions[MIGRATIONS.len()];
    let due = versions.get(version).unwrap_or(newest);
    for (name, due) in due {
        let Some(found) = found.get(name) else {
            return Ok(Some((format!("its {} `{name}` is missing", due.kind), ELSE.to_owned())));
        };
        if found.kind != due.kind || (found.kind == "table" && found.root <= 0) {
            let what = kind(found);
            let why = format!("`{name}` is a {what} where a {} is due", due.kind);
            return Ok(Some((why, ELSE.to_owned())));
        }
        if found.of != due.of || found.sql != due.sql {
            let (what, of) = (&due.kind, MIGRATIONS.len());
            let why = if what == "table" {
                columns(connection, name, due)?
            } else {
                format!("its {what} `{name}` is another than that of schema {version} of {of}")
            };
            return Ok(Some((why, ELSE.to_owned())));
        }
    }
    let mut roots = BTreeSet::new();
    for object in found.values() {
        let (what, name) = (kind(object), shown(&object.name));
        if object.root > 0 && !roots.insert(object.root) {
            let why = format!("its {what} `{name}` lies where another table does");
            return Ok(Some((why, ELSE.to_owned())));
        }
        if due.contains_key(&object.name) {
            continue;
        }
        let ours = due.get(&object.of).is_some_and(|of| of.kind == "table");
        let why = if newest.contains_key(&object.name) {
            format!("its {what} `{name}` belongs to a later schema than {version}")
        } else if what == "table" || (what == "index" && !ours) {
            continue;
        } else {
            format!("another program has put a {what} `{name}` in it")
        };
        return Ok(Some((why, removal(object).unwrap_or_else(|| ELSE.to_owned()))));
    }
    Ok(None)
}

fn kind(object: &Object) -> &str {
    match object.kind.as_str() {
        "table" if object.root <= 0 => "virtual table",
        kind @ ("table" | "index" | "view" | "trigger") => kind,
        _ => "thing of no kind",
    }
}

/// What to type to be rid of it; nothing for a name that a shell or SQL would take for more.
fn removal(object: &Object) -> Option<String> {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let kind = match kind(object) {
        "virtual table" => "TABLE",
        "index" => "INDEX",
        "view" => "VIEW",
        "trigger" => "TRIGGER",
        _ => return None,
    };
    let name = Some(&object.name).filter(|name| name.len() <= SHOWN && name.chars().all(bare))?;
    Some(format!("on a copy: sqlite3 FILE 'DROP {kind} {name}'; or name another: --store FILE"))
}

/// A foreign name as it can be printed.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(SHOWN).collect();
    let end = if short.len() < name.len() { "..." } else { "" };
    format!("{}{end}", short.escape_debug())
}

/// Which column makes the difference.
fn columns(connection: &Connection, table: &str, due: &Object) -> Result<String> {
    let names = |of: &Connection| -> Result<Vec<String>> {
        let mut statement = of.prepare("SELECT name FROM pragma_table_xinfo(?1) LIMIT 2000")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        names.collect()
    };
    let fresh = connect::nothing()?;
    fresh.execute_batch(&due.sql)?;
    let (there, due) = (names(connection)?, names(&fresh)?);
    if let Some(lost) = due.iter().find(|name| !there.contains(name)) {
        return Ok(format!("its table `{table}` has no column `{lost}`"));
    }
    Ok(match there.iter().find(|name| !due.contains(name)) {
        Some(new) => format!("its table `{table}` has a column `{}` too many", shown(new)),
        None => format!("its table `{table}` is declared otherwise than by brickyard"),
    })
}

/// All there is, by name; or why it is no store's.
fn objects(
    connection: &Connection,
) -> Result<std::result::Result<BTreeMap<String, Object>, String>> {
    let sql = "SELECT type, name, tbl_name, sql, rootpage FROM main.sqlite_schema";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if found.len() >= OBJECTS_MAX {
            return Ok(Err(format!("it has more than {OBJECTS_MAX} tables and indexes")));
        }
        let text = |column: &str| text(row, column);
        let (Some(kind), Some(name), Some(of), Some(sql)) =
            (text("type")?, text("name")?, text("tbl_name")?, text("sql")?)
        else {
            return Ok(Err("one of its tables has no name, or no end".to_owned()));
        };
        let root = row.get::<_, Option<i64>>("rootpage")?.unwrap_or(0);
        let object = Object { kind, name: name.clone(), of, sql: plain(&sql), root };
        if found.insert(name.clone(), object).is_some() {
            return Ok(Err(format!("it has two tables `{}`", shown(&name))));
        }
    }
    Ok(Ok(found))
}

/// A text that is no longer than ours; empty for NULL.
fn text(row: &Row<'_>, column: &str) -> Result<Option<String>> {
    let bytes = match row.get_ref(column)? {
        ValueRef::Null => return Ok(Some(String::new())),
        ValueRef::Text(bytes) => bytes,
        _ => return Ok(None),
    };
    let short = Some(bytes).filter(|bytes| bytes.len() <= SQL_BYTES_MAX);
    Ok(short.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned))
}

/// What stores of all versions have, from that of none on; made once, as every opening asks.
///
/// # Errors
/// Where memory runs out; the next opening tries again.
pub(super) fn versions() -> Result<&'static [BTreeMap<String, Object>]> {
    static VERSIONS: OnceLock<Vec<BTreeMap<String, Object>>> = OnceLock::new();
    if let Some(versions) = VERSIONS.get() {
        return Ok(versions);
    }
    let fresh = connect::nothing()?;
    let mut versions = vec![BTreeMap::new()];
    for sql in MIGRATIONS {
        fresh.execute_batch(sql)?;
        versions.push(objects(&fresh)?.unwrap_or_default());
    }
    Ok(VERSIONS.get_or_init(|| versions))
}

/// A statement without comments, and with one space wherever there are some outside of quotes.
fn plain(sql: &str) -> String {
    let mut plain = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map(|at| at + 2),
            '[' => rest.find(']').map(|at| at + 1),
            _ => None,
        };
        if let Some(end) = end {
            plain.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if rest.starts_with("--") {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |at| &rest[at + 2..]);
        } else {
            rest = &rest[first.len_utf8()..];
            match first.is_ascii_whitespace() {
                false => plain.push(first),
                true if !plain.ends_with(' ') => plain.push(' '),
                true => {}
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_spaces_make_no_difference_and_quotes_do() {
        let one = "CREATE TABLE a (\n  b TEXT, -- it's a comment\n  c TEXT /* so */ )";
        assert_eq!(plain(one), "CREATE TABLE a ( b TEXT, c TEXT )");
        assert_eq!(plain("x '--  y' \"/* \""), "x '--  y' \"/* \"");
        assert_ne!(plain("DEFAULT 'a  b'"), plain("DEFAULT 'a b'"));
        assert_eq!(plain("a -- no end"), "a ");
        assert_eq!(plain("'no end  é"), "'no end é");
    }

    #[test]
    fn every_version_is_what_its_steps_make() {
        for version in 1..=MIGRATIONS.len() {
            let fresh = connect::nothing().unwrap();
            MIGRATIONS[..version].iter().for_each(|sql| fresh.execute_batch(sql).unwrap());
            assert_eq!(wrong(&fresh, version).unwrap(), None, "{version}");
            for other in (1..=MIGRATIONS.len()).filter(|other| *other != version) {
                assert!(wrong(&fresh, other).unwrap().is_some(), "{version} taken for {other}");
            }
        }
    }

    /// `list campaigns` on a store with a view that never ends took 10.5 GB, and `serve` did not
    /// end at TERM.
    #[test]
    fn what_runs_code_of_others_is_named_and_tables_of_ones_own_are_not() {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        for (sql, named) in [
            ("CREATE VIEW mine AS SELECT 1", "view `mine`"),
            ("CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM note; END", "trigger `t`"),
            ("CREATE VIRTUAL TABLE v USING fts5(a)", "virtual table `v`"),
            ("CREATE INDEX i ON trial(number)", "index `i`"),
            ("ALTER TABLE trial DROP COLUMN evidence", "no column `evidence`"),
            ("ALTER TABLE note ADD COLUMN more TEXT", "column `more` too many"),
            ("ALTER TABLE note ADD COLUMN x TEXT AS (kind)", "column `x` too many"),
            ("DROP TRIGGER derived_note_new", "trigger `derived_note_new` is missing"),
            ("DROP INDEX note_trial", "index `note_trial` is missing"),
            (
                &format!("DROP TABLE note; CREATE VIEW note AS {endless} SELECT i FROM n"),
                "`note` is a view where a table is due",
            ),
            ("DROP TABLE note; CREATE VIRTUAL TABLE note USING fts5(kind, text)", "virtual table"),
            (
                "DROP TABLE note; CREATE TABLE note (trial INTEGER, kind TEXT, text TEXT)",
                "`note` is declared otherwise",
            ),
        ] {
            let fresh = connect::nothing().unwrap();
            MIGRATIONS.iter().for_each(|sql| fresh.execute_batch(sql).unwrap());
            fresh.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            fresh.execute_batch(sql).unwrap();
            let (why, hint) = wrong(&fresh, MIGRATIONS.len()).unwrap().expect(sql);
            // Whatever else goes with it, something of it is named.
            assert!(why.contains(named) || sql.starts_with("DROP TABLE"), "{sql}: {why}");
            assert!(hint.contains("--store"), "{sql}: {hint}");
        }
        let fresh = connect::nothing().unwrap();
        MIGRATIONS.iter().for_each(|sql| fresh.execute_batch(sql).unwrap());
        let mine = "CREATE TABLE mine (a); CREATE INDEX my ON mine(a); ANALYZE";
        fresh.execute_batch(mine).unwrap();
        assert_eq!(wrong(&fresh, MIGRATIONS.len()).unwrap(), None);
    }
}
