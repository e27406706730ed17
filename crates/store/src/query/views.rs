//! The views of a query: a row a trial, a column a knob, a column a figure; and the list of them.
//!
//! They live on the query's own connection and are made of what `derived` keeps; the store itself
//! has none, as their columns depend on what was measured.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Result};

use super::super::derived::{self, Held};

/// The view of all workloads.
const ALL: &str = "trials";
/// Of SQLite's 2000 columns, what a view may have.
const COLUMNS_MAX: usize = 1900;
/// Our function in SQL: the value of a name in what was packed.
const UNPACK: &str = "brickyard_unpack";

/// What a relation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One row a trial, with settings and figures.
    View,
    /// Raw counts.
    Table,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::View => "view",
            Kind::Table => "table",
        }
    }
}

/// Something that can be asked.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its name; with a dash it needs double quotes.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The same in another spelling, which needs no quotes.
    pub alias: Option<String>,
    columns: Vec<Column>,
    /// Of what rows the view is made; nothing for a table.
    rows: String,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    sql: String,
}

impl Relation {
    /// Names of its columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    fn sql(&self, name: &str) -> String {
        let columns = self.columns.iter();
        let columns: Vec<String> =
            columns.map(|column| format!("{} AS {}", column.sql, quoted(&column.name))).collect();
        let name = quoted(name);
        let (columns, rows) = (columns.join(", "), &self.rows);
        // An index that is damaged may lead to a row twice.
        let from = "FROM derived AS d NOT INDEXED";
        format!("CREATE TEMP VIEW {name} AS SELECT {columns} {from} WHERE {rows}")
    }
}

/// A name as it stands in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as it stands in SQL.
pub fn literal(text: &str) -> String {
    match text.contains('\0') {
        // A statement ends at the first.
        true => {
            let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("CAST(x'{bytes}' AS TEXT)")
        }
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// The column of a knob or figure in the views, as a person types it.
pub fn column(name: &str) -> String {
    typed(&column_name(name))
}

/// A name as a person types it in SQL: with quotes where it needs them.
pub fn typed(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { quoted(name) }
}

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
    let (kind, columns) = (Kind::View, all.columns());
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
        views.push(Relation { name: name.clone(), kind: Kind::View, alias, columns, rows });
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
        let column = Column { sql: quoted(&column), name: column };
        match tables.last_mut().filter(|table| table.name == name) {
            Some(table) => table.columns.push(column),
            None => {
                let (kind, alias, rows) = (Kind::Table, None, String::new());
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
    fn columns(&self) -> Vec<Column> {
        let fixed = FIXED.iter().map(|(name, sql)| ((*name).to_owned(), (*sql).to_owned()));
        let figures = || self.figures.iter().map(|(name, id)| (name, figure(*id)));
        let named = figures().map(|(name, sql)| (column_name(name), sql));
        let aliases = figures().filter_map(|(name, sql)| Some((short(name)?.to_owned(), sql)));
        let knobs = self.knobs.iter().map(|(name, id)| (column_name(name), knob(*id)));
        let mut taken = HashSet::new();
        let mut columns: Vec<Column> = Vec::new();
        // A short name gives way to every other.
        for (name, sql) in fixed.chain(named).chain(knobs).chain(aliases) {
            if taken.insert(name.to_lowercase()) && columns.len() < COLUMNS_MAX {
                columns.push(Column { name, sql });
            }
        }
        columns
    }
}

/// Whether SQL takes a name without quotes (but for its own words).
fn is_bare(name: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(bare) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The name of a knob or figure as a column: nothing in it that SQL would want quoted.
fn column_name(name: &str) -> String {
    name.replace(['-', ' '], "_")
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
            Some(Held::Integer(number)) => Value::Integer(number),
            Some(Held::Real(number)) => Value::Real(number),
            Some(Held::Text(text)) => Value::Text(text.into_owned()),
        }))
    })
}

/// Makes those views that `sql` may name.
pub(super) fn make(connection: &Connection, relations: &[Relation], sql: &str) -> Result<()> {
    let sql = sql.to_lowercase();
    for view in relations.iter().filter(|relation| relation.kind == Kind::View) {
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
