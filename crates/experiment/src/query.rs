//! (pure) What a store is asked in SQL, and what it answers.

use crate::campaign::Damage;

/// What a query gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Names, as SQLite gives them; two may be the same.
    pub columns: Vec<String>,
    /// As many cells as there are columns, each.
    pub rows: Vec<Vec<SqlValue>>,
    /// Whether there were more rows.
    pub truncated: bool,
    /// What of the store is damaged: it has no figures, and its counts may be any.
    pub damage: Vec<Damage>,
    /// Whose the figures may be: all campaigns of the store, by their numbers.
    pub ran: Vec<Ran>,
}

/// What ran a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// Its number.
    pub campaign: i64,
    /// The engines, as the campaign names them.
    pub engines: String,
    /// Whether another tool did, and its output was imported.
    pub imported: bool,
}

/// One value of an answer, of one of SQLite's types.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number; perhaps an infinite one.
    Real(f64),
    /// Text; bytes that are no UTF-8 were replaced.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Whether a relation is a view or a table of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// One row a trial, with settings and figures.
    View,
    /// Raw counts.
    Table,
}

impl RelationKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            RelationKind::View => "view",
            RelationKind::Table => "table",
        }
    }
}

/// Something that can be asked.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its name; with a dash it needs double quotes.
    pub name: String,
    /// What it is.
    pub kind: RelationKind,
    /// The same in another spelling, which needs no quotes.
    pub alias: Option<String>,
    /// Its columns, in order.
    pub columns: Vec<RelationColumn>,
    /// Of what rows the view is made; nothing for a table.
    pub rows: String,
}

/// A column of a view.
#[derive(Clone, Debug)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// What it is computed by.
    pub sql: String,
}

impl Relation {
    /// Names of its columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The statement that makes the view.
    pub fn sql(&self, name: &str) -> String {
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
pub fn quoted(name: &str) -> String {
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

/// Whether SQL takes a name without quotes (but for its own words).
pub fn is_bare(name: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(bare) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The name of a knob or figure as a column: nothing in it that SQL would want quoted.
pub fn column_name(name: &str) -> String {
    name.replace(['-', ' '], "_")
}
