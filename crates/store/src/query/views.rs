//! The views of a query: a row a trial, a column a knob, a column a figure; and the list of them.
//!
//! They live on the query's own connection and are made of what `derived` keeps; the store itself
//! has none, as their columns depend on what was measured.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Result};

use super::super::derived::{self, PackedValue};
use experiment::query::{Relation, RelationColumn, RelationKind, column_name, is_bare, quoted};

/// The view of all workloads.
const ALL: &str = "trials";
/// Of SQLite's 2000 columns, what a view may have.
const COLUMNS_MAX: usize = 1900;
/// Our function in SQL: the value of a name in what was packed.
const UNPACK: &str = "brickyard_unpack";

/// The views of the store, then its tables.
pub(super) fn relations(connection: &Connection) -> Result<Vec<Relation>> {
    let tables = tables(connection)?;
    // Names of SQLite are the same in capitals.
    let mut taken: HashSet<String> = HashSet::from([ALL.to_owned()]);
    let sql = "SELECT name FROM main.sqlite_schema";
    let mut statement = connection.prepare(sql)?;
    for name in statement.query_map([], |row| row.get::<_, String>(0))? {
        taken.insert(name?.to_lowercase());
    }
    let workloads = workloads(connection)?;
    let current = format!("d.version = {}", derived::VERSION);
    let mut all = Names::default();
    workloads.values().for_each(|(_, names)| all.extend(names));
    let (name, alias) = (ALL.to_owned(), None);
    let (kind, columns) = (RelationKind::View, all.columns());
    let mut views = vec![Relation { name, kind, alias, columns, rows: current.clone() }];
    let mut free = |name: &str| {
        let usable = !name.contains('\0') && !name.to_lowercase().starts_with("sqlite_");
        usable && taken.insert(name.to_lowercase())
    };
    // One whose name is a table's is found among all.
    let named: Vec<_> = workloads.iter().filter(|(name, _)| free(name)).collect();
    for (name, (id, names)) in named {
        let rows = format!("{current} AND d.workload = {id}");
        let plain = column_name(name);
        // A name that has to be quoted all the same is no shorter way to say it.
        let usable = plain != *name && is_bare(&plain) && free(&plain);
        let alias = usable.then_some(plain);
        let columns = names.columns();
        views.push(Relation { name: name.clone(), kind: RelationKind::View, alias, columns, rows });
    }
    views.extend(tables);
    Ok(views)
}

/// The tables of raw counts.
fn tables(connection: &Connection) -> Result<Vec<Relation>> {
    let sql = "SELECT t.name, c.name FROM main.sqlite_schema AS t, pragma_table_info(t.name) AS c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
                 AND t.name <> 'derived' AND t.name NOT LIKE 'derived~_%' ESCAPE '~'
                 AND t.name NOT IN ('seal', 'seal_campaign')
               ORDER BY t.rowid, c.cid";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut tables: Vec<Relation> = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, column) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
        let column = RelationColumn { sql: quoted(&column), name: column };
        match tables.last_mut().filter(|table| table.name == name) {
            Some(table) => table.columns.push(column),
            None => {
                let (kind, alias, rows) = (RelationKind::Table, None, String::new());
                tables.push(Relation { name, kind, alias, columns: vec![column], rows });
            }
        }
    }
    Ok(tables)
}

/// Knobs and figures, with the numbers of their names.
#[derive(Debug, Default)]
struct Names {
    knobs: BTreeSet<(String, i64)>,
    figures: BTreeSet<(String, i64)>,
}

fn workloads(connection: &Connection) -> Result<BTreeMap<String, (i64, Names)>> {
    let sql = "SELECT c.workload, w.name, c.name, n.name, c.is_figure FROM derived_column AS c
               JOIN derived_name AS w ON w.id = c.workload JOIN derived_name AS n ON n.id = c.name
               WHERE c.version = ?1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([derived::VERSION])?;
    let mut workloads: BTreeMap<String, (i64, Names)> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let entry = workloads.entry(row.get(1)?).or_default();
        entry.0 = row.get(0)?;
        let name = (row.get(3)?, row.get(2)?);
        match row.get(4)? {
            true => entry.1.figures.insert(name),
            false => entry.1.knobs.insert(name),
        };
    }
    Ok(workloads)
}

/// What every trial has, before its settings and figures.
const FIXED: [(&str, &str); 13] = [
    ("campaign", "d.campaign"),
    ("plan", "(SELECT c.plan FROM main.campaign AS c WHERE c.id = d.campaign)"),
    ("trial", "d.number"),
    ("replicate", "d.replicate"),
    ("workload", "(SELECT n.name FROM derived_name AS n WHERE n.id = d.workload)"),
    ("engine", "d.engine"),
    ("outcome", "d.outcome"),
    ("reason", "(SELECT t.reason FROM main.trial AS t WHERE t.id = d.trial)"),
    ("origin", "d.origin"),
    ("steady", "d.steady"),
    ("notes", "d.notes"),
    ("started_unix_ns", "(SELECT t.started_unix_ns FROM main.trial AS t WHERE t.id = d.trial)"),
    ("elapsed_ns", "(SELECT t.elapsed_ns FROM main.trial AS t WHERE t.id = d.trial)"),
];

impl Names {
    fn extend(&mut self, other: &Names) {
        self.knobs.extend(other.knobs.iter().cloned());
        self.figures.extend(other.figures.iter().cloned());
    }

    /// Each name once, whatever the case: SQLite would number the second.
    fn columns(&self) -> Vec<RelationColumn> {
        let fixed = FIXED.iter().map(|(name, sql)| ((*name).to_owned(), (*sql).to_owned()));
        let figures = || self.figures.iter().map(|(name, id)| (name, figure(*id)));
        let named = figures().map(|(name, sql)| (column_name(name), sql));
        let aliases = figures().filter_map(|(name, sql)| Some((short(name)?.to_owned(), sql)));
        let knobs = self.knobs.iter().map(|(name, id)| (column_name(name), knob(*id)));
        let mut taken = HashSet::new();
        let mut columns: Vec<RelationColumn> = Vec::new();
        // A short name gives way to every other.
        for (name, sql) in fixed.chain(named).chain(knobs).chain(aliases) {
            if taken.insert(name.to_lowercase()) && columns.len() < COLUMNS_MAX {
                columns.push(RelationColumn { name, sql });
            }
        }
        columns
    }
}

/// `throughput` for `throughput_bytes_per_s`, `ops` for `ops_per_s`.
fn short(name: &str) -> Option<&str> {
    name.strip_suffix("_bytes_per_s").or_else(|| name.strip_suffix("_per_s"))
}

fn figure(id: i64) -> String {
    format!("{UNPACK}(d.figures, {id})")
}

fn knob(id: i64) -> String {
    // Only where it is asked for: a join would look for the settings of every trial.
    format!("(SELECT {UNPACK}(s.packed, {id}) FROM derived_settings AS s WHERE s.id = d.settings)")
}

/// Teaches a connection our function.
pub(super) fn function(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(UNPACK, 2, flags, |context| {
        let name = match context.get_raw(1) {
            ValueRef::Integer(name) => u32::try_from(name).ok(),
            _ => None,
        };
        let held = match (context.get_raw(0), name) {
            (ValueRef::Blob(packed), Some(name)) => derived::unpack(packed, name),
            _ => None,
        };
        Ok(ToSqlOutput::Owned(match held {
            None => Value::Null,
            Some(PackedValue::Integer(number)) => Value::Integer(number),
            Some(PackedValue::Real(number)) => Value::Real(number),
            Some(PackedValue::Text(text)) => Value::Text(text.into_owned()),
        }))
    })
}

/// Makes those views that `sql` may name.
pub(super) fn make(connection: &Connection, relations: &[Relation], sql: &str) -> Result<()> {
    let sql = sql.to_lowercase();
    for view in relations.iter().filter(|relation| relation.kind == RelationKind::View) {
        for name in std::iter::once(&view.name).chain(&view.alias) {
            // As it stands in SQL, where a quote in a name is doubled.
            if sql.contains(&name.to_lowercase().replace('"', "\"\"")) || name.contains(['\'', '`'])
            {
                connection.execute_batch(&view.sql(name))?;
            }
        }
    }
    Ok(())
}
